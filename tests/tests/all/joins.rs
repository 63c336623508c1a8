//! Random chains of concatenations, slices, pads and reversals along one sharded dimension give the same results in
//! shards, whether rows are sent op by op or all together. All are of integers, so results are compared bit for bit.
//!
//! `JOINS_FROM` and `JOINS_PROGRAMS` choose the seeds.

use std::fmt::Write;

use fastrand::Rng;
use passes::plan::Search;
use shardc::{Backend, CompileOptions, Compiler, ExecuteOptions, Interface, PrintOptions, Source, random_inputs};
use shardc_tests::sharded::{self, done, messages, number, ty};

/// A program being written: its lines, and the values so far with their rows.
struct Writer {
    random: Rng,
    lines: String,
    values: Vec<(String, i64)>,
    /// The dimension (of two) along which rows are moved.
    dim: usize,
}

impl Writer {
    fn shape(&self, rows: i64) -> Vec<i64> {
        if self.dim == 0 { vec![rows, 3] } else { vec![3, rows] }
    }

    fn ty(&self, rows: i64) -> String {
        ty(&self.shape(rows), "i32")
    }

    /// Returns a value, usually one of the last.
    fn value(&mut self) -> (String, i64) {
        let n = self.values.len();
        let first = if self.random.u8(0..3) == 0 { 0 } else { n.saturating_sub(2) };
        self.values[self.random.usize(first..n)].clone()
    }

    fn add(&mut self, rows: i64, line: impl FnOnce(&str) -> String) {
        let name = format!("%v{}", self.values.len());
        writeln!(self.lines, "  {}", line(&name)).unwrap();
        self.values.push((name, rows));
    }

    fn op(&mut self) {
        let (x, rows) = self.value();
        let from = self.ty(rows);
        match self.random.u8(0..8) {
            0 | 1 => {
                let (start, limit) =
                    (self.random.i64(0..rows.clamp(1, 9)), rows - self.random.i64(0..rows.clamp(1, 9)));
                if start <= limit {
                    let (to, range) = (self.ty(limit - start), [format!("{start}:{limit}"), "0:3".to_owned()]);
                    let range = [&range[self.dim], &range[1 - self.dim]].map(String::as_str).join(", ");
                    self.add(limit - start, |r| format!("{r} = stablehlo.slice {x} [{range}] : ({from}) -> {to}"));
                }
            }
            2 => {
                let (low, high) = (self.random.i64(-2..6), self.random.i64(-2..6));
                let padded = rows + low + high;
                if (0..80).contains(&padded) {
                    let (to, fill) = (self.ty(padded), ["%seven", "%least"][self.random.usize(0..2)]);
                    let [low, high] = [low, high].map(|n| if self.dim == 0 { [n, 0] } else { [0, n] });
                    self.add(padded, |r| {
                        let edges = format!("low = {low:?}, high = {high:?}, interior = [0, 0]");
                        format!("{r} = stablehlo.pad {x}, {fill}, {edges} : ({from}, tensor<i32>) -> {to}")
                    });
                }
            }
            3 | 4 => {
                let dim = self.dim;
                self.add(rows, |r| format!("{r} = stablehlo.reverse {x}, dims = [{dim}] : {from}"));
            }
            5 => {
                let y = self.values.iter().rev().find(|v| v.1 == rows).unwrap().0.clone();
                self.add(rows, |r| format!("{r} = stablehlo.add {x}, {y} : {from}"));
            }
            _ => {
                let mut parts = vec![(x, rows)];
                for _ in 0..self.random.usize(1..4) {
                    parts.push(self.value());
                }
                let all: i64 = parts.iter().map(|p| p.1).sum();
                if all < 80 {
                    let (to, dim) = (self.ty(all), self.dim);
                    let names: Vec<&str> = parts.iter().map(|p| p.0.as_str()).collect();
                    let types: Vec<String> = parts.iter().map(|p| self.ty(p.1)).collect();
                    let (names, types) = (names.join(", "), types.join(", "));
                    self.add(all, |r| format!("{r} = stablehlo.concatenate {names}, dim = {dim} : ({types}) -> {to}"));
                }
            }
        }
    }
}

fn program(seed: u64) -> String {
    let random = Rng::with_seed(seed);
    let mut w = Writer { random, lines: String::new(), values: Vec::new(), dim: 0 };
    w.dim = w.random.usize(0..2);
    let meshes = ["\"x\"=2", "\"x\"=3", "\"x\"=4", "\"x\"=8", "\"x\"=5, \"y\"=2"];
    let mesh = meshes[w.random.usize(0..meshes.len())];
    // Arguments and results are rarely sharded differently.
    let place = |w: &mut Writer| {
        let dims = match w.random.u8(0..8) {
            0 => ["", "\"x\""],
            1 => ["", ""],
            2 if mesh.contains('y') => ["\"x\", \"y\"", ""],
            _ => ["\"x\"", ""],
        };
        let dims = if w.dim == 0 { dims } else { [dims[1], dims[0]] };
        format!("{{sdy.sharding = #sdy.sharding<@mesh, [{{{}}}, {{{}}}]>}}", dims[0], dims[1])
    };
    // Sizes that divide evenly and sizes that don't.
    let size = |w: &mut Writer| if w.random.bool() { 8 * w.random.i64(1..4) } else { w.random.i64(1..25) };
    let first = size(&mut w);
    let rows: Vec<i64> = (0..3).map(|i| if i == 1 && w.random.bool() { first } else { size(&mut w) }).collect();
    let mut given = Vec::new();
    for (i, &n) in [first, rows[1], rows[2]].iter().enumerate() {
        given.push(format!("%a{i}: {} {}", w.ty(n), place(&mut w)));
        w.values.push((format!("%a{i}"), n));
    }
    for _ in 0..w.random.usize(2..8) {
        w.op();
    }
    let last: Vec<(String, i64)> = w.values.iter().rev().take(2).cloned().collect();
    let results: Vec<String> = last.iter().map(|v| format!("{} {}", w.ty(v.1), place(&mut w))).collect();
    let names: Vec<&str> = last.iter().map(|v| v.0.as_str()).collect();
    let types: Vec<String> = last.iter().map(|v| w.ty(v.1)).collect();
    format!(
        "module {{\n  sdy.mesh @mesh = <[{mesh}]>\n  func.func @main({}) -> ({}) {{\n  %seven = stablehlo.constant dense<7> : \
         tensor<i32>\n  %least = stablehlo.constant dense<-3> : tensor<i32>\n{}  return {} : {}\n  }}\n}}\n",
        given.join(", "),
        results.join(", "),
        w.lines,
        names.join(", "),
        types.join(", ")
    )
}

/// Checks that the per-device program computes the program's results; returns whether it sends rows of several values
/// together.
fn same(compiler: &Compiler, text: &str, (search, target): (Search, &str)) -> Result<bool, String> {
    let module = done(compiler.parse(Source::new("program.mlir", text)))?;
    let options = CompileOptions { search, target: Some(target.to_owned()), ..CompileOptions::default() };
    let planned = done(compiler.compile(module.clone(), "planned", &options))?;
    let device = done(compiler.compile(module.clone(), "compile", &options))?;
    let inputs = random_inputs(&Interface::of(&module).ok_or("no interface")?.arguments, 1, 1);
    let execute = ExecuteOptions { backend: Backend::Reference, ..ExecuteOptions::default() };
    let want = done(compiler.evaluate(&module, &inputs))?;
    for program in [&planned, &device] {
        let got = compiler.execute(program, &inputs, &execute);
        let Some(got) = got.value else { return Err(messages(got.diagnostics)) };
        if want != got.results {
            return Err("the results differ".to_owned());
        }
    }
    Ok(compiler.print(&planned, PrintOptions::default()).contains("shardc.assemble"))
}

#[test]
fn rows_that_are_put_together_mean_the_same_in_shards() {
    let compiler = sharded::compiler();
    let (from, count) = (number("JOINS_FROM", 0), number("JOINS_PROGRAMS", 60));
    let (mut faults, mut together) = (Vec::new(), 0);
    for seed in from..from + count {
        let text = program(seed);
        for options in [(Search::Full, "slow"), (Search::Full, "flat"), (Search::Greedy, "slow")] {
            match same(&compiler, &text, options) {
                Ok(found) => together += u64::from(found),
                Err(fault) => faults.push(format!("seed {seed}, {options:?}: {fault}\n{text}")),
            }
        }
    }
    assert!(faults.is_empty(), "{} of {count} programs:\n{}", faults.len(), faults[..faults.len().min(3)].join("\n"));
    println!("rows are sent together in {together} of {} plans", 3 * count);
    assert!(together * 4 >= count, "rows are sent together in only {together} of {} plans", 3 * count);
}
