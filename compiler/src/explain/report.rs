//! Explanations of collectives, in words and as data.

use std::borrow::Cow;

use dialect::diagnostic::{Diagnostic as Plain, Span};
use dialect::ir::{Op, Program, Stage, Value, ValueSource};
use dialect::ops::func;
use dialect::sharding::{AxisRef, ReductionKind, ShardingTable, TensorSharding};
use dialect::text::CAUSE;

use super::causes::{Annotation, Cause, Origins, written};
use super::changes::Change;
use super::groups::Group;
use super::removals::{GroupRemoval, Removing};
use super::{CollectiveGroup, Explained, ExplainedCollective, LEAST_CHANGE, Removal};
use crate::diagnostic::Diagnostic;
use crate::module::Module;
use crate::module::main_block;
use crate::place::{place, value_name};
use crate::units;

/// The data that the texts refer to.
pub(super) struct Report<'a> {
    /// Whether changes were tried.
    pub(super) tried: bool,
    /// The program before propagation.
    pub(super) imported: &'a Program,
    /// The planned program and its text.
    pub(super) planned: &'a Module,
    /// The origins of the axes.
    pub(super) origins: &'a Origins,
    /// The shardings of the values.
    pub(super) shardings: &'a ShardingTable,
    /// Seconds of a step.
    pub(super) step: f64,
}

impl Report<'_> {
    /// Explains a group in words, by its first member.
    fn remark(&self, explained: &[Explained], group: &Group, found: &GroupRemoval) -> Plain {
        let e = &explained[group.members[0]];
        let cause = &e.cause;
        let (mut labels, mut notes) = (Vec::new(), Vec::new());
        if cause.manual {
            labels.extend(self.by_hand(cause, &mut notes));
        } else {
            if let Some((from, to)) = &cause.step {
                notes.push(format!("one of several steps: from {} to {}", self.short(from), self.short(to)));
            }
            self.places(cause, &mut labels, &mut notes);
            self.reasons(cause, &mut notes);
        }
        notes.extend(self.others(explained, group));
        if e.price.guessed {
            notes.push(format!(
                "{} times is a guess, because the loop's condition doesn't determine its iterations; --trip-count N \
                states them",
                e.price.count
            ));
        }
        if e.price.together > 0 {
            let others = if e.price.together == 1 { "one other" } else { &format!("{} others", e.price.together) };
            notes.push(format!("sent together with {others}; its time is its share of the total"));
        }
        if !cause.manual {
            notes.extend(self.advice(group, found));
        }
        let message = self.headline(e, group);
        Plain { labels, notes, ..Plain::remark(Span::default(), message) }
    }

    /// `32 x all_gather over "data": 1 MiB -> 2 MiB on each device, 8 times, 23.3 us each, 746 us together`
    fn headline(&self, e: &Explained, group: &Group) -> String {
        let kind = &e.cause.kind;
        let over = self.axes(e).join(", ");
        let over = if over.is_empty() { String::new() } else { format!(" over {over}") };
        let (operand, result) = (e.price.operand_bytes as f64, e.price.result_bytes as f64);
        let bytes = format!("{} -> {}", units::bytes(operand), units::bytes(result));
        let about = if e.price.guessed { "about " } else { "" };
        let times = if e.price.count > 1 { format!(", {about}{} times", e.price.count) } else { String::new() };
        let seconds = units::seconds(group.seconds);
        match group.members.len() {
            1 => format!("{kind}{over}: {bytes} on each device{times}, {seconds}"),
            n => {
                let each = units::seconds(group.seconds / n as f64);
                format!("{n} x {kind}{over}: {bytes} on each device{times}, {each} each, {seconds} together")
            }
        }
    }

    /// Returns the author of a collective that no reshard created. The place is JAX's line if it was recorded, or else
    /// a label in the text.
    fn by_hand(&self, cause: &Cause, notes: &mut Vec<String>) -> Option<(Span, String)> {
        let p = self.planned.program();
        let (what, joint) = match made_for(p, cause.op) {
            Some(what) => (what, "at"),
            None if p.made_by_differentiation(p.op(cause.op).loc) => ("created by JAX's differentiation", "of"),
            None => ("written by hand", "at"),
        };
        match self.line(cause.op) {
            Some(line) => {
                notes.push(format!("{what} {joint} {line}"));
                None
            }
            None => Some((p.op(cause.op).span, what.to_owned())),
        }
    }

    /// Returns the values that the other members of a group move, each with its line if the line differs.
    fn others(&self, explained: &[Explained], group: &Group) -> Option<String> {
        const NAMED: usize = 2;
        let (p, source) = (self.planned.program(), self.planned.source());
        let place_of = |e: &Explained| {
            let op = e.cause.user.filter(|_| !e.cause.manual).map_or(e.cause.op, |user| user.0);
            place(p, source, op)
        };
        let (&first, others) = group.members.split_first()?;
        let known = place_of(&explained[first]);
        // If only one more would be left, name it too.
        let shown = if others.len() == NAMED + 1 { others.len() } else { NAMED };
        let named = others.iter().take(shown).map(|&i| {
            let place = place_of(&explained[i]).filter(|place| Some(place) != known.as_ref());
            value_name(p, explained[i].cause.value) + &place.map_or(String::new(), |place| format!(" at {place}"))
        });
        let named: Vec<String> = named.collect();
        match named.split_last() {
            None => None,
            Some(_) if others.len() > shown => {
                Some(format!("likewise for {} and {} others", named.join(", "), others.len() - shown))
            }
            Some((last, [])) => Some(format!("likewise for {last}")),
            Some((last, before)) => Some(format!("likewise for {} and {last}", before.join(", "))),
        }
    }

    /// Returns the change that removes a group, or the reason why none is named.
    fn advice(&self, group: &Group, found: &GroupRemoval) -> Option<String> {
        let it = if group.members.len() == 1 { "it" } else { "them" };
        let Some(Removing { changes, saves, adds }) = &found.removal else {
            let far = if found.untried { ", as far as --tries and --budget go" } else { "" };
            return self.tried.then(|| format!("no change of one annotation removes {it}{far}"));
        };
        if !matters(*saves, self.step) {
            let least = units::small_percent(LEAST_CHANGE, 1.0);
            return Some(format!("removing {it} by another annotation changes the step by less than {least}"));
        }
        let what = self.change(changes)?;
        let spec = changes[0].spec(self.imported).map_or(String::new(), |spec| format!(", in JAX {spec},"));
        let what = format!("{what}{spec}");
        let share = units::percent(saves.abs(), self.step);
        let memory = match adds {
            b if *b >= 1.0 => format!(", and each device {} more memory", units::bytes(*b)),
            b if *b <= -1.0 => format!(", and each device {} less memory", units::bytes(-b)),
            _ => String::new(),
        };
        let seconds = units::seconds(saves.abs());
        Some(if *saves > 0.0 {
            format!("{what} removes {it}: a step takes {seconds} less ({share}){memory}")
        } else {
            format!("{what} removes {it}, but a step takes {seconds} more ({share}){memory}")
        })
    }

    /// `annotating %arg0 and 31 like it as <@mesh, [{}]>`
    fn change(&self, changes: &[Change]) -> Option<String> {
        Some(changes.first()?.text(changes.len() - 1, self.imported, self.planned.source()))
    }

    /// Adds where the value comes from and where it is needed: JAX's lines if recorded, or else labels in the text.
    fn places(&self, cause: &Cause, labels: &mut Vec<(Span, String)>, notes: &mut Vec<String>) {
        let p = self.planned.program();
        if cause.neighbors {
            let (name, op) = (value_name(p, cause.value), self.op_text(cause.op));
            match (cause.user, self.line(cause.op)) {
                (_, Some(line)) => notes.push(format!("{op} at {line} reads {name} across shard boundaries")),
                (Some((op, i)), None) => {
                    let span = Some(p.view(op).operand_span(i)).filter(|s| !s.is_empty()).unwrap_or(p.op(op).span);
                    labels.push((span, format!("{name} is read across shard boundaries")));
                }
                (None, None) => {}
            }
            notes.push("only the neighbors' boundary rows are sent".to_owned());
            return;
        }
        let sharded = cause.from.as_ref().map(|s| self.short(s)).unwrap_or_default();
        let wanted = cause.to.as_ref().map(|s| self.short(s)).unwrap_or_default();
        let user = cause.user.map(|(op, i)| (op, i, self.line(op)));
        if let Some((op, _, Some(line))) = &user {
            let by = if p.view(*op).def().terminator() { "the result".to_owned() } else { self.op_text(*op) };
            notes.push(format!("required as {wanted} by {by} at {line}"));
            let made = match p.value_source(cause.value) {
                ValueSource::Result(op, _) => self.line(op).map(|l| format!("produced by {} at {l}", self.op_text(op))),
                ValueSource::Arg(..) => Some("an argument".to_owned()),
            };
            let made = made.map(|m| format!(", {m}")).unwrap_or_default();
            notes.push(format!("{} is sharded as {sharded}{made}", value_name(p, cause.value)));
            return;
        }
        // Compiler-made ops have no place in the text, so the note names the value and the op.
        let name = value_name(p, cause.value);
        if let Some((op, i, None)) = user {
            let span = Some(p.view(op).operand_span(i)).filter(|s| !s.is_empty()).unwrap_or(p.op(op).span);
            if span.is_empty() {
                let place = place(p, self.planned.source(), op).map_or(String::new(), |place| format!(" at {place}"));
                notes.push(format!("{name} is required as {wanted} by {}{place}", self.op_text(op)));
            } else {
                labels.push((span, format!("required as {wanted}")));
            }
        }
        if p.value_span(cause.value).is_empty() {
            let made = match p.value_source(cause.value) {
                ValueSource::Result(op, _) => place(p, self.planned.source(), op),
                ValueSource::Arg(..) => None,
            };
            let made = made.map_or(String::new(), |place| format!(", produced at {place}"));
            notes.push(format!("{name} is sharded as {sharded}{made}"));
        } else {
            labels.push((p.value_span(cause.value), format!("sharded as {sharded}")));
        }
    }

    /// Adds the annotations that both shardings come from.
    fn reasons(&self, cause: &Cause, notes: &mut Vec<String>) {
        let p = self.planned.program();
        let unreduced = cause.from.as_ref().filter(|s| !s.unreduced.is_empty());
        let reduction = unreduced.map(|s| match s.kind {
            ReductionKind::Sum => "sum",
            ReductionKind::Max => "maximum",
            ReductionKind::Min => "minimum",
        });
        for &axis in &cause.axes {
            let name = self.axis(axis);
            // A sum over the axis has an operand that is sharded along it.
            if let Some(reduction) = reduction {
                if let ValueSource::Result(op, _) = p.value_source(cause.value)
                    && let Some((v, d)) = self.carrier(op, axis, None, false)
                {
                    let because = self.because(v, axis, d);
                    notes.push(format!(
                        "a {reduction} over {name}: {} reads dimension {d} of {} sharded along it{because}",
                        self.op_text(op),
                        value_name(p, v)
                    ));
                }
                continue;
            }
            let from = cause.from.as_ref().or_else(|| self.shardings.get(cause.value).map(|s| &**s));
            let sharded = from.and_then(|s| dimension(s, axis));
            let own = sharded.map_or(String::new(), |d| self.because(cause.value, axis, d));
            if !own.is_empty() {
                notes.push(format!("{name} shards {}{own}", value_name(p, cause.value)));
            } else if sharded.is_some()
                && let ValueSource::Result(op, _) = p.value_source(cause.value)
                && let Some((v, d)) = self.carrier(op, axis, None, false)
            {
                // The plan computes the op with its operands' sharding.
                let because = self.because(v, axis, d);
                let (op, v, of) = (self.op_text(op), value_name(p, v), value_name(p, cause.value));
                notes.push(format!("{name} shards {of}: {op} reads dimension {d} of {v} sharded along it{because}"));
            }
            if let Some((user, operand)) = cause.user
                && !p.view(user).def().terminator()
                && let Some((v, d)) = self.carrier(user, axis, Some(operand), true)
            {
                let because = self.because(v, axis, d);
                let whose = match p.value_source(v) {
                    ValueSource::Result(op, _) if op == user => "its result".to_owned(),
                    _ => value_name(p, v),
                };
                notes.push(format!("{} uses {name} for dimension {d} of {whose}{because}", self.op_text(user)));
            }
        }
        if let Some((user, i)) = cause.user
            && p.view(user).def().terminator()
            && self.in_main(user)
        {
            let main = func::function(self.imported, "main");
            let annotated = main.and_then(|f| func::result_sharding(self.imported, f, i)).is_some();
            let why = if annotated { "is annotated with this sharding" } else { "has this sharding from propagation" };
            notes.push(format!("result {i} {why}"));
        }
    }

    /// Returns whether `op` terminates `@main` itself, not a region in it.
    fn in_main(&self, op: Op) -> bool {
        let main = func::function(self.planned.program(), "main");
        let block = main.and_then(|f| func::block(self.planned.program(), f));
        block.and_then(|b| self.planned.program().terminator(b)) == Some(op)
    }

    /// Returns a tensor of `op` that `axis` shards, and the dimension. It searches the results if `results` is set, and
    /// then the operands except `but`.
    fn carrier(&self, op: Op, axis: AxisRef, but: Option<usize>, results: bool) -> Option<(Value, usize)> {
        let p = self.planned.program();
        let operands = p.op(op).operands.iter().enumerate().filter(|o| Some(o.0) != but).map(|o| *o.1);
        let all: Vec<Value> = if results { p.results(op).chain(operands).collect() } else { operands.collect() };
        all.into_iter().find_map(|v| Some((written(p, v), dimension(self.shardings.get(v)?, axis)?)))
    }

    /// `, by its annotation`; `, from the annotation of %arg1 through stablehlo.dot_general (4:10)`
    fn because(&self, value: Value, axis: AxisRef, d: usize) -> String {
        if !self.origins.sharded(value, axis, d) {
            return String::new();
        }
        let Some((annotation, path)) = self.origins.find(self.planned.program(), value, axis) else {
            return String::new();
        };
        let p = self.planned.program();
        let of = match annotation {
            Annotation::Argument(i) => {
                let block = main_block(p);
                let argument = block.and_then(|b| p.block_args(b).get(i)).copied();
                if argument == Some(value) {
                    return ", as annotated".to_owned();
                }
                argument.map_or(format!("argument {i}"), |v| value_name(p, v))
            }
            Annotation::Result(i) => format!("result {i}"),
            Annotation::Op(op) => {
                // Propagation turns constraints into reshards; show the op that the user wrote.
                let wrote = if p.op(op).is_made() { p } else { self.imported };
                format!("the {} at {}", wrote.op_name(op), place(p, self.planned.source(), op).unwrap_or_default())
            }
        };
        let mut through: Vec<String> = path.iter().map(|&op| self.op_text(op)).collect();
        through.dedup();
        if through.len() > 4 {
            let more = through.len() - 3;
            through.splice(2..through.len() - 1, [format!("{more} more ops")]);
        }
        let through = if through.is_empty() { String::new() } else { format!(" through {}", through.join(", ")) };
        format!(", from the annotation of {of}{through}")
    }

    /// Returns the op's name, without the prefix `stablehlo.`.
    fn op_text(&self, op: Op) -> String {
        let name = self.planned.program().op_name(op);
        name.strip_prefix("stablehlo.").unwrap_or(name).to_owned()
    }

    /// Returns JAX's line of an op with its function; `None` for lines of the text itself, which are shown as labels.
    fn line(&self, op: Op) -> Option<String> {
        let frame = self.planned.program().user_frame(self.planned.program().op(op).loc).filter(|f| !f.of_text)?;
        let last = |f: &Cow<'_, str>| format!(" in {}", f.rsplit('.').next().unwrap_or(f));
        let function = frame.function.as_ref().map(last).unwrap_or_default();
        Some(format!("{}:{}:{}{function}", frame.file, frame.line, frame.column))
    }

    fn axis(&self, axis: AxisRef) -> String {
        let name = self.planned.program().name_text(axis.name);
        axis.sub.map_or(format!("\"{name}\""), |s| format!("\"{name}\":({}){}", s.pre, s.size))
    }

    /// Returns the axes of a collective, quoted as in a sharding.
    fn axes(&self, e: &Explained) -> Vec<String> {
        if !e.cause.manual {
            return e.cause.axes.iter().map(|&a| self.axis(a)).collect();
        }
        let quoted = |axis: &String| match axis.split_once(':') {
            Some((name, part)) => format!("\"{name}\":{part}"),
            None => format!("\"{axis}\""),
        };
        e.price.axes.iter().map(quoted).collect()
    }

    /// Returns a sharding without its mesh.
    fn short(&self, sharding: &TensorSharding) -> String {
        let text = self.planned.program().sharding_text(sharding);
        text.split_once(", ").map_or(text.clone(), |t| t.1.trim_end_matches('>').to_owned())
    }

    /// Returns everything known about one collective except what would remove it.
    pub(super) fn collective(&self, e: &Explained) -> ExplainedCollective {
        let (p, source) = (self.planned.program(), self.planned.source());
        let sharding = |s: &Option<TensorSharding>| s.as_ref().map(|s| p.sharding_text(s));
        let located = if e.cause.manual { Some(e.cause.op) } else { e.cause.user.map(|(op, _)| op) };
        ExplainedCollective {
            kind: e.cause.kind.clone(),
            axes: self.axes(e).iter().map(|a| a.replace('"', "")).collect(),
            operand_bytes: e.price.operand_bytes,
            result_bytes: e.price.result_bytes,
            count: e.price.count,
            guessed: e.price.guessed,
            time_s: e.price.seconds,
            value: value_name(p, e.cause.value),
            from: sharding(&e.cause.from),
            to: sharding(&e.cause.to),
            user: e.cause.user.map(|(op, _)| p.op_name(op).to_owned()),
            loc: located.and_then(|op| place(p, source, op)),
            manual: e.cause.manual && made_for(p, e.cause.op).is_none(),
            differentiated: e.cause.manual && p.made_by_differentiation(p.op(e.cause.op).loc),
            removal: None,
        }
    }

    /// Returns a group with the change that removes it.
    pub(super) fn group(&self, explained: &[Explained], group: &Group, found: &GroupRemoval) -> CollectiveGroup {
        let named = found.removal.as_ref().filter(|r| matters(r.saves, self.step));
        let each = named.into_iter().flat_map(|r| &r.changes);
        let changes = each.map(|change| change.text(0, self.imported, self.planned.source())).collect();
        let removal = named.and_then(|r| {
            Some(Removal {
                change: self.change(&r.changes)?,
                annotations: r.changes.len(),
                spec: r.changes[0].spec(self.imported),
                saves_s: r.saves,
                adds_bytes: r.adds,
            })
        });
        CollectiveGroup {
            count: group.members.len(),
            time_s: group.seconds,
            members: group.members.clone(),
            removal,
            changes,
            remark: Diagnostic::new(self.planned.source(), &self.remark(explained, group, found)),
        }
    }
}

/// Returns why the compiler created a collective that isn't a reshard; `None` for the user's collectives.
fn made_for(program: &Program, op: Op) -> Option<&'static str> {
    let data = program.op(op);
    if data.is_made() {
        Some("runs on one device, which sends the result to the others")
    } else if program.attr(op, CAUSE).is_some() {
        Some("created by the plan of its mesh")
    } else {
        (data.created == Stage::OneMesh).then_some("sends a value from one mesh to another")
    }
}

/// Returns whether a change of the step time is large enough to report.
fn matters(saves: f64, step: f64) -> bool {
    saves.abs() >= step * LEAST_CHANGE
}

/// Returns the dimension that `axis` or a part of it shards.
fn dimension(sharding: &TensorSharding, axis: AxisRef) -> Option<usize> {
    sharding.dims.iter().position(|d| d.axes.iter().any(|a| a.name == axis.name))
}
