//! Lists the result of propagation in lines; see `tests/oracles/propagate.py`, which writes Shardy's.

use std::collections::{BTreeMap, HashMap};
use std::fmt::Write;

use dialect::diagnostic::{Diagnostics, Severity};
use dialect::ir::{AttrData, Block, Op, Program};
use dialect::ops::func;
use dialect::sharding::{AxisRef, MeshRef, TensorSharding};
use passes::propagate::{PropagateOptions, propagate};

#[derive(Default)]
struct Listing {
    table: HashMap<String, usize>,
    order: Vec<String>,
    lines: String,
}

impl Listing {
    fn of(program: &Program) -> String {
        let mut listing = Self::default();
        for function in program.top_level("func.func").collect::<Vec<_>>() {
            listing.function(program, function);
        }
        let mut text = String::new();
        for (i, sharding) in listing.order.iter().enumerate() {
            writeln!(text, "{i} <{sharding}>").unwrap();
        }
        text + "\n" + &listing.lines
    }

    fn number(&mut self, program: &Program, sharding: Option<&TensorSharding>) -> String {
        let Some(sharding) = sharding else {
            return "-".to_owned();
        };
        let text = sharding_text(program, sharding);
        if let Some(i) = self.table.get(&text) {
            return i.to_string();
        }
        self.table.insert(text.clone(), self.order.len());
        self.order.push(text);
        (self.order.len() - 1).to_string()
    }

    fn add(&mut self, depth: usize, what: &str, numbers: &[String]) {
        let mut parts = vec![format!("{}{what}", "  ".repeat(depth))];
        parts.extend_from_slice(numbers);
        self.lines.push_str(&parts.join(" "));
        self.lines.push('\n');
    }

    fn function(&mut self, program: &Program, function: Op) {
        self.add(0, &format!("func {}", func::symbol(program, function).unwrap()), &[]);
        let signature = func::signature(program, function);
        let (inputs, results) = (signature.inputs.len(), signature.results.len());
        for i in 0..inputs {
            let number = self.number(program, func::arg_sharding(program, function, i));
            self.add(1, &format!("arg {i}"), &[number]);
        }
        for i in 0..results {
            let number = self.number(program, func::result_sharding(program, function, i));
            self.add(1, &format!("result {i}"), &[number]);
        }
        self.block(program, func::block(program, function).unwrap(), 1);
    }

    fn block(&mut self, program: &Program, block: Block, depth: usize) {
        for &op in program.block_ops(block) {
            let view = program.view(op);
            let mut name = view.name().to_owned();
            if name.ends_with(".constant") {
                continue;
            }
            if let Some(callee) = func::callee(view) {
                write!(name, " @{callee}").unwrap();
            }
            let list = |name: &str| match view.attr(name) {
                Some(AttrData::ShardingPerValue(list)) => list.clone(),
                Some(AttrData::Sharding(one)) => vec![one.clone()],
                _ => Vec::new(),
            };
            let mut numbers = Vec::new();
            if name == "sdy.manual_computation" || name == "sdy.named_computation" {
                numbers.extend(list("in_shardings").iter().map(|s| self.number(program, Some(s))));
                numbers.push("|".to_owned());
                numbers.extend(list("out_shardings").iter().map(|s| self.number(program, Some(s))));
            } else {
                let own = ["sharding", "out_sharding", "sdy.sharding"].map(list).into_iter().find(|l| !l.is_empty());
                match own {
                    Some(list) => numbers.extend(list.iter().map(|s| self.number(program, Some(s)))),
                    None => numbers.resize(view.result_count(), "-".to_owned()),
                }
            }
            self.add(depth, &name, &numbers);
            for &region in &program.op(op).regions {
                for &inner in program.region_blocks(region) {
                    self.block(program, inner, depth + 1);
                }
            }
        }
    }
}

/// Writes a sharding as MLIR prints it between `<` and `>`.
fn sharding_text(program: &Program, sharding: &TensorSharding) -> String {
    let axes = |axes: &[AxisRef]| {
        let axis = |a: &AxisRef| match a.sub {
            Some(sub) => format!("\"{}\":({}){}", program.name_text(a.name), sub.pre, sub.size),
            None => format!("\"{}\"", program.name_text(a.name)),
        };
        axes.iter().map(axis).collect::<Vec<_>>()
    };
    let MeshRef::Symbol(mesh) = &sharding.mesh else {
        return "an inlined mesh is left".to_owned();
    };
    let dims = sharding.dims.iter().map(|d| {
        let mut inside = axes(&d.axes);
        inside.extend(d.open.then(|| "?".to_owned()));
        let priority = d.priority.map(|p| format!("p{p}")).unwrap_or_default();
        format!("{{{}}}{priority}", inside.join(", "))
    });
    let mut text = format!("@{}, [{}]", program.name_text(*mesh), dims.collect::<Vec<_>>().join(", "));
    for (word, list) in [("replicated", &sharding.replicated), ("unreduced", &sharding.unreduced)] {
        if !list.is_empty() {
            write!(text, ", {word}={{{}}}", axes(list).join(", ")).unwrap();
        }
    }
    text
}

/// Returns the listing of `program` after propagation, or its errors.
pub(crate) fn listing_of(text: &str, options: &PropagateOptions) -> Result<String, String> {
    let mut diagnostics = Diagnostics::default();
    let mut program = dialect::parse(text, &mut diagnostics);
    let errors = |what: &str, d: &Diagnostics| match d.iter().find(|d| d.severity == Severity::Error) {
        Some(error) => Err(format!("{what}: {}", error.message)),
        None => Ok(()),
    };
    errors("not read", &diagnostics)?;
    dialect::verify(&program, &mut diagnostics);
    errors("not valid", &diagnostics)?;
    propagate(&mut program, options, &mut diagnostics);
    errors("not propagated", &diagnostics)?;
    dialect::verify(&program, &mut diagnostics);
    errors("not valid after propagation", &diagnostics)?;
    Ok(Listing::of(&program))
}

/// Lists the sharding rule of every op that has one, function by function.
pub(crate) fn rules_of(text: &str, options: &PropagateOptions) -> Result<String, String> {
    let mut diagnostics = Diagnostics::default();
    let mut program = dialect::parse(text, &mut diagnostics);
    if let Some(error) = diagnostics.iter().find(|d| d.severity == Severity::Error) {
        return Err(format!("not read: {}", error.message));
    }
    let mut lines = String::from("\n");
    for function in program.top_level("func.func").collect::<Vec<_>>() {
        writeln!(lines, "func {}", func::symbol(&program, function).unwrap_or_default()).unwrap();
        let Some(block) = func::block(&program, function) else {
            continue;
        };
        for op in program.ops_under(block) {
            let view = program.view(op);
            let rule = match view.attr("sdy.sharding_rule") {
                Some(AttrData::ShardingRule(rule)) => Some((**rule).clone()),
                _ if options.conservative => view.def().conservative_rule(view),
                _ => view.def().propagation_rule(view),
            };
            let Some(rule) = rule else { continue };
            let name = view.name().to_owned();
            let attr = program.intern_attr(AttrData::ShardingRule(Box::new(rule)));
            writeln!(lines, "  {name} {}", program.attr_text(attr)).unwrap();
        }
    }
    Ok(lines)
}

/// Returns the listing of each function with its shardings written out.
pub(crate) fn by_function(listing: &str) -> BTreeMap<String, String> {
    let (table, lines) = listing.split_once("\n\n").unwrap_or(("", listing.trim_start_matches('\n')));
    let table: HashMap<&str, &str> = table.lines().filter_map(|l| l.split_once(' ')).collect();
    let (mut functions, mut name) = (BTreeMap::new(), String::new());
    for line in lines.lines() {
        if let Some(function) = line.strip_prefix("func ") {
            name = function.to_owned();
        }
        let what =
            if line.trim_start().starts_with("arg ") || line.trim_start().starts_with("result ") { 2 } else { 1 };
        let text: &mut String = functions.entry(name.clone()).or_default();
        text.push_str(&line[..line.len() - line.trim_start().len()]);
        for (i, word) in line.split_whitespace().enumerate() {
            text.push_str(if i < what { word } else { table.get(word).copied().unwrap_or(word) });
            text.push(' ');
        }
        text.push('\n');
    }
    functions
}

/// Returns the first line that differs.
pub(crate) fn difference(found: &str, expected: &str) -> Option<String> {
    if found == expected {
        return None;
    }
    let mut lines = found.lines().zip(expected.lines()).enumerate();
    let first = lines.find(|(_, (f, e))| f != e);
    Some(match first {
        Some((i, (f, e))) => format!("line {}: found `{f}`, expected `{e}`", i + 1),
        None => format!("{} lines, expected {}", found.lines().count(), expected.lines().count()),
    })
}
