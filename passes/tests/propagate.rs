//! Propagation gives what Shardy's propagation gives: the same ops but for constants, the same shardings.
//!
//! Expected listings were made by Shardy itself (`tests/oracles/propagate.py` says how and what a listing is): for the
//! programs of `tests/corpus` they stand in `propagate/corpus`, for others behind the program in one file.

use std::collections::HashMap;
use std::fmt::Write;
use std::fs;
use std::path::{Path, PathBuf};

use dialect::diagnostic::Diagnostics;
use dialect::ir::{AttrData, Block, Op, Program};
use dialect::ops::func;
use dialect::sharding::{AxisRef, MeshRef, TensorSharding};
use passes::propagate::{PropagateOptions, propagate};

/// What stands between a program and its listing.
const EXPECTED: &str = "// expected\n";

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
        let Some(sharding) = sharding else { return "-".to_owned() };
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
            if name == "sdy.manual_computation" {
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

/// As MLIR prints it between `<` and `>`.
fn sharding_text(program: &Program, sharding: &TensorSharding) -> String {
    let axes = |axes: &[AxisRef]| {
        let axis = |a: &AxisRef| match a.sub {
            Some(sub) => format!("\"{}\":({}){}", program.name_text(a.name), sub.pre, sub.size),
            None => format!("\"{}\"", program.name_text(a.name)),
        };
        axes.iter().map(axis).collect::<Vec<_>>()
    };
    let MeshRef::Symbol(mesh) = &sharding.mesh else { panic!("an inlined mesh is left") };
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

fn listing_of(name: &str, text: &str) -> String {
    let mut diagnostics = Diagnostics::default();
    let mut program = dialect::parse(text, &mut diagnostics);
    assert!(!diagnostics.has_errors(), "{name}: {diagnostics:?}");
    propagate(&mut program, &PropagateOptions::default(), &mut diagnostics);
    assert!(!diagnostics.has_errors(), "{name}: {diagnostics:?}");
    dialect::verify(&program, &mut diagnostics);
    assert!(!diagnostics.has_errors(), "{name}: {diagnostics:?}\n{}", dialect::print(&program));
    Listing::of(&program)
}

/// The first line that differs.
fn difference(found: &str, expected: &str) -> Option<String> {
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

fn report(differences: &[String], count: usize) {
    assert!(count > 0, "no programs found");
    let equal = count - differences.len();
    assert!(differences.is_empty(), "{equal} of {count} programs as Shardy has them; not:\n{}", differences.join("\n"));
}

fn files(folder: &str, extension: &str) -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join(folder);
    let mut files: Vec<PathBuf> = fs::read_dir(&folder)
        .unwrap_or_else(|e| panic!("{}: {e}", folder.display()))
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|e| e == extension))
        .collect();
    files.sort();
    files
}

#[test]
fn corpus_as_shardy() {
    let listings = files("tests/propagate/corpus", "txt");
    let mut differences = Vec::new();
    for path in &listings {
        let name = path.file_stem().unwrap().to_str().unwrap();
        let program = Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/corpus").join(name).join("program.mlir");
        let found = listing_of(name, &fs::read_to_string(&program).unwrap());
        let expected = fs::read_to_string(path).unwrap();
        differences.extend(difference(&found, &expected).map(|d| format!("{name}: {d}")));
    }
    report(&differences, listings.len());
}

fn programs_as_shardy(folder: &str) {
    let programs = files(folder, "mlir");
    let mut differences = Vec::new();
    for path in &programs {
        let name = path.file_stem().unwrap().to_str().unwrap();
        let text = fs::read_to_string(path).unwrap();
        let (program, expected) = text.split_once(EXPECTED).unwrap_or_else(|| panic!("{name} has no listing"));
        let expected: String = expected
            .lines()
            .map(|l| l.strip_prefix("//").unwrap_or(l))
            .fold(String::new(), |text, line| text + line.strip_prefix(' ').unwrap_or(line) + "\n");
        let found = listing_of(name, program);
        differences.extend(difference(&found, &expected).map(|d| format!("{name}: {d}")));
    }
    report(&differences, programs.len());
}

#[test]
fn layers_as_shardy() {
    programs_as_shardy("tests/propagate/layers");
}

#[test]
fn random_programs_as_shardy() {
    programs_as_shardy("tests/propagate/random");
}
