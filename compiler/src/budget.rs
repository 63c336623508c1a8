//! Budgets: assertions about the compiled program, written in comments of a program.
//!
//! `// shardc: expect all_gather <= 4, bytes <= 1 GiB, peak <= 12 GiB`

use dialect::codes;
use dialect::diagnostic::{Diagnostic as Plain, Diagnostics as Plains, Span};
use dialect::ops::func;
use dialect::text::nearest;
use passes::CompileOptions;
use passes::options::parse_bytes;

use crate::compiler::Compiler;
use crate::cost::{CollectiveCost, Cost};
use crate::diagnostic::Outcome;
use crate::module::Module;
use crate::source::Source;
use crate::units;

/// The prefix of a comment that states budgets.
const MARK: &str = "shardc: expect";

/// The collectives whose count can be limited, as `cost` names them.
const COLLECTIVES: [&str; 6] =
    ["all_gather", "all_reduce", "reduce_scatter", "all_to_all", "collective_permute", "collective_broadcast"];

/// The quantity that a budget limits.
#[derive(Clone, Copy, PartialEq, Debug)]
enum Quantity {
    /// The number of collectives in the per-device program, of one kind or of all kinds.
    Count(Option<&'static str>),
    /// Bytes that a device sends in a step.
    Bytes,
    /// The maximum number of live bytes on a device.
    Peak,
}

/// One assertion.
#[derive(Clone, PartialEq, Debug)]
struct Budget {
    quantity: Quantity,
    relation: &'static str,
    limit: f64,
    span: Span,
}

impl Compiler {
    /// Checks the budgets in the comments of a program: `// shardc: expect all_gather <= 4, bytes <= 1 GiB, peak <= 12
    /// GiB`. A global program is compiled first; a per-device program is checked as it is. A budget that doesn't hold
    /// or can't be parsed is an error at its comment.
    pub fn check_budgets(&self, module: &Module, options: &CompileOptions) -> Outcome<()> {
        let (budgets, faults) = read(module.source());
        if faults.has_errors() {
            return Outcome::new(module.source(), None, &faults);
        }
        if budgets.is_empty() {
            return Outcome::of(module.source(), Ok(()));
        }
        let program = module.program();
        let main = func::function(program, "main");
        let cost = if main.is_some_and(|main| dialect::signature::is_stated(program, main)) {
            self.estimate(module, options)
        } else {
            // Drop the warnings: the compilation that writes the program reports them.
            match self.compile(module.clone(), "compile", options).into_result() {
                Ok(device) => self.estimate(&device, options),
                Err(diagnostics) => return Outcome { value: None, diagnostics },
            }
        };
        cost.and_then(|cost| {
            let mut faults = Plains::default();
            budgets.iter().filter_map(|budget| budget.fault(&cost)).for_each(|fault| faults.push(fault));
            let held = if faults.has_errors() { None } else { Some(()) };
            Outcome::new(module.source(), held, &faults)
        })
    }
}

impl Budget {
    /// Returns an error if the budget doesn't hold.
    fn fault(&self, cost: &Cost) -> Option<Plain> {
        let found = self.quantity.found(cost);
        let holds = match self.relation {
            "<=" => found <= self.limit,
            "<" => found < self.limit,
            ">=" => found >= self.limit,
            ">" => found > self.limit,
            _ => found == self.limit,
        };
        let message = format!(
            "expected {} {} {}, found {}",
            self.quantity.name(),
            self.relation,
            self.text(self.limit),
            self.text(found)
        );
        let note =
            "'shardc cost' lists collectives and peak memory, 'shardc explain' gives the reason for each collective";
        (!holds).then(|| Plain::error(codes::BUDGET, self.span, message).note(note))
    }

    fn text(&self, value: f64) -> String {
        match self.quantity {
            Quantity::Count(_) => format!("{value}"),
            // Print all digits where rounding would hide a difference.
            _ if units::bytes(value) == units::bytes(self.limit) && value != self.limit => format!("{value} bytes"),
            _ => units::bytes(value),
        }
    }
}

impl Quantity {
    fn of(name: &str) -> Option<Self> {
        match name {
            "collectives" => Some(Self::Count(None)),
            "bytes" => Some(Self::Bytes),
            "peak" => Some(Self::Peak),
            _ => COLLECTIVES.into_iter().find(|kind| *kind == name).map(|kind| Self::Count(Some(kind))),
        }
    }

    fn name(self) -> &'static str {
        match self {
            Self::Count(kind) => kind.unwrap_or("collectives"),
            Self::Bytes => "bytes",
            Self::Peak => "peak",
        }
    }

    fn found(self, cost: &Cost) -> f64 {
        match self {
            Self::Count(kind) => {
                cost.collectives.iter().filter(|c| kind.is_none_or(|kind| c.kind == kind)).count() as f64
            }
            Self::Bytes => cost.collectives.iter().map(|c| (sent(c) * c.count as f64).round()).sum(),
            Self::Peak => cost.peak_bytes as f64,
        }
    }
}

/// Returns the bytes that each device sends in one execution, assuming the algorithm that sends the fewest.
fn sent(c: &CollectiveCost) -> f64 {
    let (operand, result, group) = (c.operand_bytes as f64, c.result_bytes as f64, c.group.max(1) as f64);
    match c.kind {
        "all_gather" => result - operand,
        "reduce_scatter" => operand - result,
        "all_reduce" => 2.0 * operand * (group - 1.0) / group,
        "all_to_all" => operand * (group - 1.0) / group,
        _ => operand,
    }
}

/// Returns all budgets of a text, and errors for those that can't be parsed.
fn read(source: &Source) -> (Vec<Budget>, Plains) {
    let (mut budgets, mut faults) = (Vec::new(), Plains::default());
    if !source.text.contains(MARK) {
        return (budgets, faults);
    }
    for line in 0..source.line_count() {
        let range = source.line(line);
        let text = &source.text[range.clone()];
        let Some(rest) = text.trim_start().strip_prefix("//").map(str::trim_start).and_then(|t| t.strip_prefix(MARK))
        else {
            continue;
        };
        let mut at = range.end - rest.len();
        for clause in rest.split(',') {
            let start = at + clause.len() - clause.trim_start().len();
            let span = Span::new(start, start + clause.trim().len().max(1));
            at += clause.len() + 1;
            match budget(clause.trim(), span) {
                Ok(budget) => budgets.push(budget),
                Err(fault) => faults.push(Plain::error(codes::BUDGET_SYNTAX, span, fault).note(HOW)),
            }
        }
    }
    (budgets, faults)
}

const HOW: &str = "write // shardc: expect all_gather <= 4, bytes <= 1 GiB, peak <= 12 GiB";

fn budget(text: &str, span: Span) -> Result<Budget, String> {
    let relation = ["<=", ">=", "==", "<", ">"].into_iter().filter_map(|r| Some((text.find(r)?, r)));
    let Some((at, relation)) = relation.min_by_key(|&(at, r)| (at, std::cmp::Reverse(r.len()))) else {
        return Err(format!("expected a limit such as all_gather <= 4, found '{text}'"));
    };
    let (name, value) = (text[..at].trim(), text[at + relation.len()..].trim());
    let names = || COLLECTIVES.into_iter().chain(["collectives", "bytes", "peak"]);
    let Some(quantity) = Quantity::of(name) else {
        let near = nearest(name, names()).map_or_else(
            || format!("; the limits are {}", names().collect::<Vec<_>>().join(", ")),
            |near| format!("; did you mean '{near}'?"),
        );
        return Err(format!("'{name}' can't be limited{near}"));
    };
    let limit = match quantity {
        Quantity::Count(_) => value.parse::<u32>().ok().map(f64::from),
        _ => parse_bytes(value).map(|bytes| bytes as f64),
    };
    let what = if matches!(quantity, Quantity::Count(_)) { "a number" } else { "a number of bytes such as 1 GiB" };
    let limit = limit.ok_or_else(|| format!("expected {what} after '{relation}', found '{value}'"))?;
    Ok(Budget { quantity, relation, limit, span })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A budget's quantity, relation, limit and text.
    type Row = (Quantity, &'static str, f64, String);

    /// Returns the budgets and the faults of a program.
    fn texts(source: &str) -> (Vec<Row>, Vec<String>) {
        let of = Source::new("a", source);
        let (budgets, faults) = read(&of);
        let place = |span: Span| source[span.start as usize..span.end as usize].to_owned();
        let budgets = budgets.iter().map(|b| (b.quantity, b.relation, b.limit, place(b.span))).collect();
        (budgets, faults.iter().map(|d| d.message.clone()).collect())
    }

    #[test]
    fn budgets_are_read_with_their_places() {
        let (budgets, faults) = texts(
            "module {\n  // shardc: expect all_gather <= 4, bytes<1.5 GiB,peak == 12 MB\n}\n//shardc: expect collectives > 0",
        );
        assert_eq!(faults, [""; 0]);
        let expected = [
            (Quantity::Count(Some("all_gather")), "<=", 4.0, "all_gather <= 4"),
            (Quantity::Bytes, "<", 1_610_612_736.0, "bytes<1.5 GiB"),
            (Quantity::Peak, "==", 12_000_000.0, "peak == 12 MB"),
            (Quantity::Count(None), ">", 0.0, "collectives > 0"),
        ];
        assert_eq!(budgets, expected.map(|(q, r, l, t)| (q, r, l, t.to_owned())));
        assert_eq!(texts("// nothing\n%0 = a // shardc: expect bytes <= 1").0.len(), 0);
    }

    #[test]
    fn malformed_budgets_say_what_was_expected() {
        let fault = |text: &str| texts(&format!("// shardc: expect {text}")).1.join("|");
        assert_eq!(fault("all_gather"), "expected a limit such as all_gather <= 4, found 'all_gather'");
        assert_eq!(fault("al_gather <= 4"), "'al_gather' can't be limited; did you mean 'all_gather'?");
        assert_eq!(fault("all_gather <= 4 KiB"), "expected a number after '<=', found '4 KiB'");
        assert_eq!(fault("peak <= twelve"), "expected a number of bytes such as 1 GiB after '<=', found 'twelve'");
        assert_eq!(
            fault("bytes <= 1, , x"),
            "expected a limit such as all_gather <= 4, found ''|expected a limit such as all_gather <= 4, found 'x'"
        );
    }

    #[test]
    fn bytes_are_those_a_device_sends() {
        let of = |kind, operand_bytes, result_bytes, group| {
            let (axes, dim, loc) = (Vec::new(), None, None);
            sent(&CollectiveCost {
                kind,
                axes,
                dim,
                operand_bytes,
                result_bytes,
                group,
                time_s: 0.0,
                count: 1,
                guessed: false,
                loc,
                of: None,
            })
        };
        assert_eq!(of("all_gather", 8, 32, 4), 24.0);
        assert_eq!(of("reduce_scatter", 32, 8, 4), 24.0);
        assert_eq!(of("all_reduce", 32, 32, 4), 48.0);
        assert_eq!(of("all_to_all", 32, 32, 4), 24.0);
        assert_eq!(of("collective_permute", 32, 32, 2), 32.0);
    }
}
