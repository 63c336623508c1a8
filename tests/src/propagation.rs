//! Comparison of our propagation with Shardy's, program by program.

use std::collections::BTreeMap;
use std::path::Path;

use dialect::diagnostic::Diagnostics;
use dialect::ir::AttrData;
use dialect::sharding::FactorKind;
use passes::propagate::{PropagateOptions, Strategy};
use serde_json::{Value, json};

use crate::{listing, oracle};

/// The result of comparing programs.
#[derive(Default)]
pub struct Comparison {
    /// The number of programs with the same listing of shardings.
    pub equal: usize,
    /// The programs with different listings.
    pub different: Vec<Difference>,
    /// The programs that Shardy rejects: name and reason.
    pub refused: Vec<(String, String)>,
    /// For each op name, the number of such ops in the compared programs.
    pub ops: BTreeMap<String, usize>,
}

/// A program whose shardings differ.
pub struct Difference {
    /// The name of the case.
    pub name: String,
    /// The first line that differs.
    pub what: String,
    /// The program.
    pub program: String,
    /// Shardy's listing.
    pub expected: String,
    /// Our listing.
    pub found: String,
}

impl Comparison {
    /// Adds the results of another comparison.
    pub fn append(&mut self, other: Self) {
        self.equal += other.equal;
        self.different.extend(other.different);
        self.refused.extend(other.refused);
        for (name, count) in other.ops {
            *self.ops.entry(name).or_default() += count;
        }
    }

    /// Returns the number of programs for which Shardy has a listing.
    pub fn compared(&self) -> usize {
        self.equal + self.different.len()
    }
}

/// Compares the random programs with these seeds.
pub fn random(python: &Path, seeds: std::ops::Range<u64>) -> Comparison {
    compare(python, seeds.map(|seed| json!({ "name": format!("{seed}"), "seed": seed })))
}

/// Compares the programs in the `.mlir` files of a folder.
///
/// # Panics
/// If the folder can't be read.
pub fn programs(python: &Path, folder: &Path) -> Comparison {
    let mut files: Vec<_> = std::fs::read_dir(folder).expect("a folder").flatten().map(|entry| entry.path()).collect();
    files.retain(|path| path.extension().is_some_and(|e| e == "mlir"));
    files.sort();
    let case = |path: &std::path::PathBuf| {
        let name = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        json!({ "name": name, "text": std::fs::read_to_string(path).expect("a program") })
    };
    compare(python, files.iter().map(case))
}

/// Compares Shardy's listings of `cases` (see `oracles/propagate.py`) with ours.
///
/// # Panics
/// If the oracle doesn't answer every case.
pub fn compare(python: &Path, cases: impl Iterator<Item = Value>) -> Comparison {
    let cases: Vec<Value> = cases.collect();
    let verdicts = oracle::verdicts(python, "propagate.py", cases.clone());
    let mut comparison = Comparison::default();
    for (case, verdict) in cases.iter().zip(&verdicts) {
        let text = |key: &str| verdict[key].as_str().unwrap_or_default().to_owned();
        let (name, program) = (text("name"), text("program"));
        if let Some(reason) = verdict["error"].as_str() {
            comparison.refused.push((name, reason.to_owned()));
            continue;
        }
        count_ops(&program, &mut comparison.ops);
        let expected = text("listing");
        let (found, what) = match listing::listing_of(&program, &options(case)) {
            Ok(found) => {
                let what = listing::difference(&found, &expected);
                (found, what)
            }
            Err(error) => (String::new(), Some(error)),
        };
        match what {
            None => comparison.equal += 1,
            Some(what) => comparison.different.push(Difference { name, what, program, expected, found }),
        }
    }
    comparison
}

/// Returns the propagation options of a case.
fn options(case: &Value) -> PropagateOptions {
    let option = |name: &str| case["options"][name].as_str();
    let mut options = PropagateOptions {
        conservative: option("conservative-propagation") == Some("true"),
        op_priorities: option("run-op-priority-propagation") != Some("false"),
        ..PropagateOptions::default()
    };
    if option("propagation-strategy") == Some("basic") {
        options.strategy = Strategy::Basic;
    }
    options
}

/// A function of Shardy's tests.
pub struct Function {
    /// The file, the program's number in the file, and the function's name.
    pub name: String,
    /// The difference of the listings, or the reason why one is missing; `None` if both are equal.
    pub difference: Option<String>,
}

/// Compares all functions of Shardy's own propagation tests, under the options of their `RUN` lines.
///
/// # Errors
/// If the checkout has no such tests.
pub fn shardy_tests(python: &Path, checkout: &Path) -> std::io::Result<Vec<Function>> {
    let folder = checkout.join("shardy/dialect/sdy/transforms/propagation/test");
    let mut files: Vec<_> = std::fs::read_dir(&folder)?.flatten().map(|entry| entry.path()).collect();
    files.retain(|path| path.extension().is_some_and(|e| e == "mlir"));
    files.sort();
    let mut cases = Vec::new();
    for path in &files {
        let text = std::fs::read_to_string(path)?;
        let run: String = text.lines().filter(|l| l.contains("RUN:")).collect();
        let file = path.file_stem().unwrap_or_default().to_string_lossy();
        for (i, program) in text.split("// -----").enumerate() {
            cases.push(json!({
                "name": format!("{file} {i}"), "text": program, "options": options_of_run(&run),
                "rules": run.contains("populate-op-sharding-rules"),
            }));
        }
    }
    let verdicts = oracle::verdicts(python, "propagate.py", cases.clone());
    Ok(cases.iter().zip(&verdicts).flat_map(|(case, verdict)| functions_of(case, verdict)).collect())
}

/// Returns the options of a `RUN` line. Our layers correspond to Shardy's passes: the basic one has no op priorities,
/// the next one has its own strategy.
fn options_of_run(run: &str) -> Value {
    let mut options = serde_json::Map::new();
    let mut set = |name: &str, value: &str| options.insert(name.to_owned(), value.into());
    if run.contains("sdy-basic-propagate") {
        set("propagation-strategy", "basic");
    }
    if run.contains("sdy-basic-propagate") || run.contains("sdy-aggressive-propagate") {
        set("run-op-priority-propagation", "false");
    }
    if run.contains("conservative-propagation=true") {
        set("conservative-propagation", "true");
    }
    Value::Object(options)
}

fn functions_of(case: &Value, verdict: &Value) -> Vec<Function> {
    let text = |key: &str| verdict[key].as_str().unwrap_or_default();
    let program = text("program");
    let rules = case["rules"] == true;
    let found = match rules {
        true => listing::rules_of(program, &options(case)),
        false => listing::listing_of(program, &options(case)),
    };
    let expected = match verdict["error"].as_str() {
        Some(error) => Err(format!("refused by Shardy: {}", error.replace('\n', " "))),
        None => Ok(listing::by_function(text("listing"))),
    };
    let (found, expected) = match (found, expected) {
        (Ok(found), Ok(expected)) => (listing::by_function(&found), expected),
        (found, expected) => {
            // Report a difference for every function in the text.
            let why = expected.err().or(found.err()).unwrap_or_default();
            let count = program.matches("func.func").count();
            let name = |i: usize| format!("{} #{i}", text("name"));
            return (0..count).map(|i| Function { name: name(i), difference: Some(why.clone()) }).collect();
        }
    };
    let names: std::collections::BTreeSet<&String> = found.keys().chain(expected.keys()).collect();
    let compare = |name: &String| {
        let difference = match (found.get(name), expected.get(name)) {
            (Some(a), Some(b)) if rules => listing::difference(&spread_by(a), &spread_by(b)),
            (Some(a), Some(b)) => listing::difference(a, b),
            (found, _) => Some(format!("only {} has it", if found.is_some() { "ours" } else { "Shardy's" })),
        };
        Function { name: format!("{} @{name}", text("name")), difference }
    };
    names.into_iter().map(compare).collect()
}

/// Extracts the parts of sharding rules that propagation uses, one rule per line after the name of its op: dimensions
/// with the factors that several tensors share, the factors' sizes, and whether they pass through. Other kinds of
/// factors differ between Shardy and us: sharded windows of a convolution give partial sums in Shardy, but need
/// replication here.
fn spread_by(rules: &str) -> String {
    let mut out = String::new();
    for line in rules.lines() {
        out += &line
            .trim()
            .split_once(' ')
            .and_then(|(name, rule)| Some(format!("{name} {}", parsed(rule)?)))
            .unwrap_or(line.into());
        out.push('\n');
    }
    out
}

fn parsed(rule: &str) -> Option<String> {
    let text = format!("\"a.rule\"() {{sdy.sharding_rule = {}}} : () -> ()", rule.trim());
    let program = dialect::parse(&text, &mut Diagnostics::default());
    let op = program.ops_under(program.body()).into_iter().next()?;
    let Some(AttrData::ShardingRule(rule)) = program.view(op).attr("sdy.sharding_rule") else {
        return None;
    };
    let tensors = || rule.operands.iter().chain(&rule.results);
    let holds = |f: u32| tensors().filter(|t| t.iter().flatten().any(|&g| g == f)).count();
    let shared = |f: u32| holds(f) > 1 && !rule.factors[f as usize].blocked;
    let mut names: Vec<u32> = Vec::new();
    let mut text = String::new();
    for dim in tensors().flat_map(|t| t.iter().map(Some).chain([None])) {
        let Some(dim) = dim else {
            text += "| ";
            continue;
        };
        for &f in dim.iter().filter(|&&f| dim.len() > 1 || shared(f)) {
            let number = names.iter().position(|&n| n == f).unwrap_or_else(|| {
                names.push(f);
                names.len() - 1
            });
            let factor = rule.factors[f as usize];
            let through = if factor.kind == FactorKind::PassThrough { "" } else { "*" };
            let alone = if shared(f) { "" } else { "alone" };
            text += &format!("{number}:{}{through}{alone} ", factor.size);
        }
        text += ", ";
    }
    Some(text)
}

fn count_ops(text: &str, counts: &mut BTreeMap<String, usize>) {
    let program = dialect::parse(text, &mut Diagnostics::default());
    for op in program.ops_under(program.body()) {
        let view = program.view(op);
        let name = match view.attr("call_target_name") {
            Some(AttrData::String(target)) => format!("{} @{}", view.name(), target.shown()),
            _ => view.name().to_owned(),
        };
        *counts.entry(name).or_default() += 1;
    }
}
