//! Random programs of ops that move or combine neighboring elements (slices, pads, reversals, rolls, windows,
//! convolutions, gradients of both) along sharded dimensions give the same results in shards. All are of integers, so
//! results are compared bit for bit.
//!
//! `WINDOWS_FROM` and `WINDOWS_PROGRAMS` choose the seeds.

use std::fmt::Write;

use fastrand::Rng;
use passes::plan::Search;
use shardc::{Backend, CompileOptions, Compiler, ExecuteOptions, Interface, PrintOptions, Source, random_inputs};
use shardc_tests::sharded::{self, done, messages, number};

/// A program being written: its lines, and the values so far with their shapes.
struct Writer {
    random: Rng,
    lines: String,
    values: Vec<(String, Vec<i64>)>,
    /// The number of values written.
    count: usize,
}

fn ty(shape: &[i64]) -> String {
    format!("tensor<{}i32>", shape.iter().map(|n| format!("{n}x")).collect::<String>())
}

impl Writer {
    fn value(&mut self) -> (String, Vec<i64>) {
        let i = self.random.usize(0..self.values.len());
        self.values[i].clone()
    }

    fn add(&mut self, shape: Vec<i64>, line: impl FnOnce(&str) -> String) {
        let name = format!("%v{}", self.count);
        self.count += 1;
        writeln!(self.lines, "  {}", line(&name)).unwrap();
        self.values.push((name, shape));
    }

    fn slice(&mut self) {
        let (x, shape) = self.value();
        let mut kept = Vec::new();
        let mut ranges = Vec::new();
        for &n in &shape {
            let whole = self.random.u8(0..3) == 0;
            let (start, stride) = if whole { (0, 1) } else { (self.random.i64(0..n.min(5)), self.random.i64(1..3)) };
            let limit = if whole || self.random.bool() { n } else { self.random.i64(start + 1..n + 1) };
            kept.push((limit - start + stride - 1) / stride);
            ranges.push(format!("{start}:{limit}:{stride}"));
        }
        let types = format!("({}) -> {}", ty(&shape), ty(&kept));
        self.add(kept, |r| format!("{r} = stablehlo.slice {x} [{}] : {types}", ranges.join(", ")));
    }

    fn pad(&mut self) {
        let (x, shape) = self.value();
        let (mut low, mut high, mut interior, mut padded) = (vec![], vec![], vec![], vec![]);
        for &n in &shape {
            let edge = |random: &mut Rng| if random.bool() { 0 } else { random.i64(-2..6) };
            let (l, h) = (edge(&mut self.random), edge(&mut self.random));
            let i = if self.random.u8(0..4) == 0 { self.random.i64(0..3) } else { 0 };
            let size = n + (n - 1) * i + l + h;
            let (l, h, i, size) = if (1..40).contains(&size) { (l, h, i, size) } else { (0, 0, 0, n) };
            low.push(l);
            high.push(h);
            interior.push(i);
            padded.push(size);
        }
        let types = format!("({}, tensor<i32>) -> {}", ty(&shape), ty(&padded));
        self.add(padded, |r| {
            format!(
                "{r} = stablehlo.pad {x}, %seven, low = {low:?}, high = {high:?}, interior = {interior:?} : {types}"
            )
        });
    }

    fn reverse(&mut self) {
        let (x, shape) = self.value();
        let dims: Vec<usize> = (0..shape.len()).filter(|_| self.random.bool()).collect();
        let ty = ty(&shape);
        self.add(shape, |r| format!("{r} = stablehlo.reverse {x}, dims = {dims:?} : {ty}"));
    }

    /// Writes two slices of one value, concatenated in the other order.
    fn roll(&mut self) {
        let (x, shape) = self.value();
        let d = self.random.usize(0..shape.len());
        if shape[d] < 2 {
            return;
        }
        let by = self.random.i64(1..shape[d]);
        let mut parts = Vec::new();
        for (start, limit) in [(by, shape[d]), (0, by)] {
            let mut part = shape.clone();
            part[d] = limit - start;
            let range = |(i, n): (usize, &i64)| if i == d { format!("{start}:{limit}") } else { format!("0:{n}") };
            let ranges: Vec<String> = shape.iter().enumerate().map(range).collect();
            let types = format!("({}) -> {}", ty(&shape), ty(&part));
            self.add(part.clone(), |r| format!("{r} = stablehlo.slice {x} [{}] : {types}", ranges.join(", ")));
            parts.push(self.values.last().unwrap().clone());
        }
        self.concatenate_values(&parts, d);
    }

    fn concatenate_values(&mut self, parts: &[(String, Vec<i64>)], d: usize) {
        let mut shape = parts[0].1.clone();
        shape[d] = parts.iter().map(|p| p.1[d]).sum();
        let names: Vec<&str> = parts.iter().map(|p| p.0.as_str()).collect();
        let types: Vec<String> = parts.iter().map(|p| ty(&p.1)).collect();
        let result = ty(&shape);
        self.add(shape, |r| {
            let (names, types) = (names.join(", "), types.join(", "));
            format!("{r} = stablehlo.concatenate {names}, dim = {d} : ({types}) -> {result}")
        });
    }

    fn concatenate(&mut self) {
        let first = self.value();
        let d = self.random.usize(0..first.1.len());
        let fits = |v: &&(String, Vec<i64>)| (0..v.1.len()).all(|i| i == d || v.1[i] == first.1[i]);
        let fitting: Vec<_> = self.values.iter().filter(fits).cloned().collect();
        let mut parts = vec![first];
        for _ in 0..self.random.usize(1..3) {
            parts.push(fitting[self.random.usize(0..fitting.len())].clone());
        }
        if parts.iter().map(|p| p.1[d]).sum::<i64>() < 60 {
            self.concatenate_values(&parts, d);
        }
    }

    fn reduce_window(&mut self) {
        let (x, shape) = self.value();
        let (mut sizes, mut strides, mut dilations, mut bases, mut padding, mut counts) =
            (vec![], vec![], vec![], vec![], vec![], vec![]);
        for &n in &shape {
            let plain = self.random.u8(0..3) == 0;
            let mut one = |end: i64| if plain { 1 } else { self.random.i64(1..end) };
            let (size, stride, dilation, base) = (one(5), one(3), one(3), one(3));
            let (low, high) = if plain { (0, 0) } else { (self.random.i64(-1..4), self.random.i64(-1..4)) };
            let padded = (n - 1) * base + 1 + low + high;
            let window = (size - 1) * dilation + 1;
            if padded < window {
                return;
            }
            counts.push((padded - window) / stride + 1);
            sizes.push(size);
            strides.push(stride);
            dilations.push(dilation);
            bases.push(base);
            padding.push(vec![low, high]);
        }
        let list = |v: &[i64]| v.iter().map(i64::to_string).collect::<Vec<_>>().join(", ");
        let op = ["add", "maximum"][self.random.usize(0..2)];
        let types = format!("({}, tensor<i32>) -> {}", ty(&shape), ty(&counts));
        let attributes = format!(
            "base_dilations = array<i64: {}>, padding = dense<{padding:?}> : tensor<{}x2xi64>, \
             window_dilations = array<i64: {}>, window_dimensions = array<i64: {}>, window_strides = array<i64: {}>",
            list(&bases),
            shape.len(),
            list(&dilations),
            list(&sizes),
            list(&strides)
        );
        self.add(counts, |r| {
            format!(
                "{r} = \"stablehlo.reduce_window\"({x}, %seven) <{{{attributes}}}> ({{\n  ^bb0(%p: tensor<i32>, %q: \
                 tensor<i32>):\n    %s = stablehlo.{op} %p, %q : tensor<i32>\n    stablehlo.return %s : tensor<i32>\n  }}) : {types}"
            )
        });
    }

    /// Writes a select-and-scatter of a value, sometimes of a padded copy whose padding is removed again.
    fn select_and_scatter(&mut self) {
        let (x, shape) = self.value();
        let random = &mut self.random;
        let padded = random.bool();
        let (mut sizes, mut strides, mut padding, mut counts) = (vec![], vec![], vec![], vec![]);
        let (mut low, mut high, mut around) = (vec![], vec![], vec![]);
        for &n in &shape {
            let plain = random.u8(0..4) == 0;
            let mut one = |end: i64| if plain { 1 } else { random.i64(1..end) };
            let (size, stride) = (one(4), one(4));
            let mut edge = |from: i64| if plain { 0 } else { random.i64(from..3) };
            let (before, after) = if padded { (edge(0), edge(0)) } else { (0, 0) };
            let (l, h) = if padded { (0, 0) } else { (edge(-1), edge(-1)) };
            let all = n + before + after + l + h;
            if all < size {
                return;
            }
            counts.push((all - size) / stride + 1);
            sizes.push(size);
            strides.push(stride);
            padding.push(vec![l, h]);
            low.push(before);
            high.push(after);
            around.push(n + before + after);
        }
        let mut operand = x;
        if padded {
            let (interior, types) = (vec![0; low.len()], format!("({}, tensor<i32>) -> {}", ty(&shape), ty(&around)));
            self.add(around.clone(), |r| {
                format!("{r} = stablehlo.pad {operand}, %least, low = {low:?}, high = {high:?}, interior = {interior:?} : {types}")
            });
            operand = self.values.pop().unwrap().0;
        }
        // The sources are the windows' numbers and, if one has the shape, another value.
        let (line, wide) = (vec![counts.iter().product::<i64>()], counts.clone());
        self.add(line.clone(), |r| format!("{r} = stablehlo.iota dim = 0 : {}", ty(&line)));
        let flat = self.values.pop().unwrap().0;
        self.add(wide.clone(), |r| format!("{r} = stablehlo.reshape {flat} : ({}) -> {}", ty(&line), ty(&wide)));
        let source = self.values.iter().find(|v| v.1 == wide).unwrap().0.clone();
        let list = |v: &[i64]| v.iter().map(i64::to_string).collect::<Vec<_>>().join(", ");
        let compare = ["GE", "GT", "LE"][self.random.usize(0..3)];
        let op = ["add", "maximum", "subtract"][self.random.usize(0..3)];
        let attributes = format!(
            "padding = dense<{padding:?}> : tensor<2x2xi64>, window_dimensions = array<i64: {}>, \
             window_strides = array<i64: {}>",
            list(&sizes),
            list(&strides)
        );
        let types = format!("({}, {}, tensor<i32>) -> {}", ty(&around), ty(&wide), ty(&around));
        self.add(around.clone(), |r| {
            format!(
                "{r} = \"stablehlo.select_and_scatter\"({operand}, {source}, %seven) <{{{attributes}}}> ({{\n  ^bb0(%p: \
                 tensor<i32>, %q: tensor<i32>):\n    %s = stablehlo.compare {compare}, %p, %q : (tensor<i32>, \
                 tensor<i32>) -> tensor<i1>\n    stablehlo.return %s : tensor<i1>\n  }}, {{\n  ^bb0(%p: tensor<i32>, \
                 %q: tensor<i32>):\n    %s = stablehlo.{op} %p, %q : tensor<i32>\n    stablehlo.return %s : \
                 tensor<i32>\n  }}) : {types}"
            )
        });
        if padded && self.random.u8(0..4) > 0 {
            let wide = self.values.pop().unwrap().0;
            let ranges: Vec<String> = low.iter().zip(&shape).map(|(l, n)| format!("{l}:{}", l + n)).collect();
            let types = format!("({}) -> {}", ty(&around), ty(&shape));
            self.add(shape, |r| format!("{r} = stablehlo.slice {wide} [{}] : {types}", ranges.join(", ")));
        }
    }

    /// Writes a convolution of two values, reshaped to batch and one spatial dimension, with one feature.
    fn convolution(&mut self) {
        let ((x, a), (y, b)) = (self.value(), self.value());
        let random = &mut self.random;
        let (stride, low, high) = (random.i64(1..3), random.i64(-1..4), random.i64(-1..4));
        let (base, dilation, reverse) = (random.i64(1..3), random.i64(1..3), random.bool());
        let (padded, window) = ((a[1] - 1) * base + 1 + low + high, (b[1] - 1) * dilation + 1);
        if padded < window || a[0] * b[0] > 200 {
            return;
        }
        let count = (padded - window) / stride + 1;
        let (lhs, rhs) = (vec![a[0], a[1], 1], vec![b[0], b[1], 1]);
        for (value, from, to) in [(&x, &a, &lhs), (&y, &b, &rhs)] {
            let types = format!("({}) -> {}", ty(from), ty(to));
            self.add(to.clone(), |r| format!("{r} = stablehlo.reshape {value} : {types}"));
        }
        let n = self.values.len();
        let (left, right) = (self.values[n - 2].0.clone(), self.values[n - 1].0.clone());
        let shape = vec![a[0], count, b[0]];
        let types = format!("({}, {}) -> {}", ty(&lhs), ty(&rhs), ty(&shape));
        self.add(shape.clone(), |r| {
            format!(
                "{r} = stablehlo.convolution({left}, {right}) dim_numbers = [b, 0, f]x[o, 0, i]->[b, 0, f], window = {{stride = \
                 [{stride}], pad = [[{low}, {high}]], lhs_dilate = [{base}], rhs_dilate = [{dilation}], reverse = [{reverse}]}} \
                 {{batch_group_count = 1 : i64, feature_group_count = 1 : i64}} : {types}"
            )
        });
        let convolved = self.values.last().unwrap().0.clone();
        let flat = vec![a[0] * b[0], count];
        let types = format!("({}) -> {}", ty(&shape), ty(&[a[0], b[0], count]));
        let transposed = vec![a[0], b[0], count];
        self.add(transposed.clone(), |r| format!("{r} = stablehlo.transpose {convolved}, dims = [0, 2, 1] : {types}"));
        let moved = self.values.last().unwrap().0.clone();
        let types = format!("({}) -> {}", ty(&transposed), ty(&flat));
        self.add(flat, |r| format!("{r} = stablehlo.reshape {moved} : {types}"));
        // Later steps use only values of two dimensions.
        self.values.retain(|v| v.1.len() == 2);
    }

    fn sum(&mut self) {
        let (x, shape) = self.value();
        let same: Vec<String> = self.values.iter().filter(|v| v.1 == shape).map(|v| v.0.clone()).collect();
        let y = same[self.random.usize(0..same.len())].clone();
        let ty = ty(&shape);
        self.add(shape, |r| format!("{r} = stablehlo.add {x}, {y} : {ty}"));
    }
}

/// Returns the axes of both dimensions, as text.
fn sharding(random: &mut Rng, axes: &[&str]) -> String {
    let mut dims = [String::new(), String::new()];
    for axis in axes {
        let d = random.usize(0..3);
        if let Some(dim) = dims.get_mut(d) {
            dim.push_str(if dim.is_empty() { "" } else { ", " });
            write!(dim, "\"{axis}\"").unwrap();
        }
    }
    format!("{{sdy.sharding = #sdy.sharding<@mesh, [{{{}}}, {{{}}}]>}}", dims[0], dims[1])
}

fn program(seed: u64) -> String {
    let mut w = Writer { random: Rng::with_seed(seed), lines: String::new(), values: Vec::new(), count: 0 };
    let meshes: [&[(&str, i64)]; 6] =
        [&[("x", 2)], &[("x", 4)], &[("x", 3)], &[("x", 8)], &[("x", 2), ("y", 3)], &[("x", 2), ("y", 2), ("z", 3)]];
    let mesh = meshes[w.random.usize(0..meshes.len())];
    let axes: Vec<&str> = mesh.iter().map(|a| a.0).collect();
    let arguments: Vec<(String, Vec<i64>)> =
        (0..2).map(|i| (format!("%a{i}"), vec![w.random.i64(1..25), w.random.i64(1..25)])).collect();
    let given: Vec<String> = arguments
        .iter()
        .map(|(name, shape)| format!("{name}: {} {}", ty(shape), sharding(&mut w.random, &axes)))
        .collect();
    w.values = arguments;
    for _ in 0..w.random.usize(1..6) {
        match w.random.u8(0..10) {
            0 | 1 => w.slice(),
            2 => w.pad(),
            3 => w.reverse(),
            4 => w.roll(),
            5 => w.concatenate(),
            6 => w.reduce_window(),
            7 => w.convolution(),
            8 => w.select_and_scatter(),
            _ => w.sum(),
        }
    }
    let last: Vec<(String, Vec<i64>)> = w.values.iter().rev().take(2).cloned().collect();
    let results: Vec<String> =
        last.iter().map(|(_, s)| format!("{} {}", ty(s), sharding(&mut w.random, &axes))).collect();
    let (names, types): (Vec<&str>, Vec<String>) = last.iter().map(|(n, s)| (n.as_str(), ty(s))).unzip();
    let sizes: Vec<String> = mesh.iter().map(|(name, n)| format!("\"{name}\"={n}")).collect();
    format!(
        "module {{\n  sdy.mesh @mesh = <[{}]>\n  func.func @main({}) -> ({}) {{\n  %seven = stablehlo.constant dense<7> : \
         tensor<i32>\n  %least = stablehlo.constant dense<-3> : tensor<i32>\n{}  return {} : {}\n  }}\n}}\n",
        sizes.join(", "),
        given.join(", "),
        results.join(", "),
        w.lines,
        names.join(", "),
        types.join(", ")
    )
}

/// Checks that the per-device program, planned with this search, computes the program's results; returns whether rows
/// move between neighbors in it.
fn same(compiler: &Compiler, text: &str, search: Search) -> Result<bool, String> {
    let module = done(compiler.parse(Source::new("program.mlir", text)))?;
    let options = CompileOptions { search, target: Some("slow".to_owned()), ..CompileOptions::default() };
    let device = done(compiler.compile(module.clone(), "compile", &options))?;
    let inputs = random_inputs(&Interface::of(&module).ok_or("no interface")?.arguments, 1, 1);
    let want = compiler.evaluate(&module, &inputs);
    let execute = ExecuteOptions { backend: Backend::Reference, ..ExecuteOptions::default() };
    let got = compiler.execute(&device, &inputs, &execute);
    let (Some(want), Some(got)) = (want.value, got.value) else { return Err(messages(got.diagnostics)) };
    if want != got.results {
        return Err("the results differ".to_owned());
    }
    Ok(compiler.print(&device, PrintOptions::default()).contains("collective_permute"))
}

#[test]
fn what_moves_between_neighbors_means_the_same_in_shards() {
    let compiler = sharded::compiler();
    let (from, count) = (number("WINDOWS_FROM", 0), number("WINDOWS_PROGRAMS", 120));
    let (mut faults, mut permutes) = (Vec::new(), 0);
    for seed in from..from + count {
        let text = program(seed);
        for search in [Search::Full, Search::Greedy] {
            match same(&compiler, &text, search) {
                Ok(moves) => permutes += u64::from(moves),
                Err(fault) => faults.push(format!("seed {seed}, {search:?}: {fault}\n{text}")),
            }
        }
    }
    assert!(faults.is_empty(), "{} of {count} programs:\n{}", faults.len(), faults.join("\n"));
    println!("rows move between neighbors in {permutes} of {} plans", 2 * count);
    assert!(permutes * 2 >= count, "rows move between neighbors in only {permutes} of {} plans", 2 * count);
}
