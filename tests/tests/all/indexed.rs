//! Random programs of ops that read and write at positions given by indices (dynamic slices and updates, gather,
//! scatter) give the same results in shards, bit for bit. Indices are drawn from before the first position to past the
//! last one, with duplicates; slices take any part of a dimension.
//!
//! `INDEXED_FROM` and `INDEXED_PROGRAMS` choose the seeds.

use dialect::literal::Literal;
use dialect::scalar::Scalar;
use fastrand::Rng;
use shardc::{Backend, CompileOptions, Compiler, ExecuteOptions, Interface, PrintOptions, Source};
use shardc_tests::sharded::{self, done, messages, number, sharding, ty};

/// One op over arguments of these names and types, and its results.
struct Body {
    arguments: Vec<(&'static str, Vec<i64>, &'static str)>,
    lines: String,
    results: Vec<(&'static str, Vec<i64>)>,
}

fn joined<T: std::fmt::Display>(list: &[T]) -> String {
    list.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ")
}

const STARTS: [&str; 3] = ["%s0", "%s1", "%s2"];

fn shape(random: &mut Rng) -> Vec<i64> {
    (0..random.usize(1..4)).map(|_| random.i64(1..10)).collect()
}

/// Returns the size of a part of a dimension: often one position or all.
fn part(random: &mut Rng, size: i64) -> i64 {
    match random.u8(0..4) {
        0 => 1,
        1 => size,
        _ => random.i64(1..size + 1),
    }
}

fn dynamic_slice(random: &mut Rng) -> Body {
    let shape = shape(random);
    let sizes: Vec<i64> = shape.iter().map(|&n| part(random, n)).collect();
    let starts = &STARTS[..shape.len()];
    let mut arguments = vec![("%a", shape.clone(), "i32")];
    arguments.extend(starts.iter().map(|&s| (s, vec![], "i16")));
    let lines = format!(
        "  %r = stablehlo.dynamic_slice %a, {}, sizes = [{}] : ({}, {}) -> {}\n",
        joined(starts),
        joined(&sizes),
        ty(&shape, "i32"),
        joined(&vec!["tensor<i16>"; starts.len()]),
        ty(&sizes, "i32")
    );
    Body { arguments, lines, results: vec![("%r", sizes)] }
}

fn dynamic_update_slice(random: &mut Rng) -> Body {
    let shape = shape(random);
    let sizes: Vec<i64> = shape.iter().map(|&n| part(random, n)).collect();
    let starts = &STARTS[..shape.len()];
    let mut arguments = vec![("%a", shape.clone(), "i32"), ("%u", sizes.clone(), "i32")];
    arguments.extend(starts.iter().map(|&s| (s, vec![], "i32")));
    let lines = format!(
        "  %r = stablehlo.dynamic_update_slice %a, %u, {} : ({}, {}, {}) -> {}\n",
        joined(starts),
        ty(&shape, "i32"),
        ty(&sizes, "i32"),
        joined(&vec!["tensor<i32>"; starts.len()]),
        ty(&shape, "i32")
    );
    Body { arguments, lines, results: vec![("%r", shape)] }
}

/// A random layout of slices in an operand.
struct Slices {
    operand: Vec<i64>,
    indices: Vec<i64>,
    slices: Vec<i64>,
    sizes: Vec<i64>,
    window: Vec<usize>,
    collapsed: Vec<usize>,
    batching: Vec<(usize, usize)>,
    index_map: Vec<usize>,
    vector: usize,
}

impl Slices {
    fn new(random: &mut Rng) -> Self {
        let operand = shape(random);
        let batch: Vec<i64> = (0..random.usize(0..3)).map(|_| random.i64(1..6)).collect();
        let mut this = Self {
            sizes: operand.iter().map(|&n| part(random, n)).collect(),
            operand,
            indices: batch.clone(),
            slices: Vec::new(),
            window: Vec::new(),
            collapsed: Vec::new(),
            batching: Vec::new(),
            index_map: Vec::new(),
            vector: batch.len(),
        };
        let mut windows = Vec::new();
        for d in 0..this.operand.len() {
            let paired: Vec<usize> = this.batching.iter().map(|p| p.1).collect();
            let mut free = (0..batch.len()).filter(|i| !paired.contains(i));
            match random.u8(0..8) {
                0 | 1 if free.clone().next().is_some() => {
                    this.batching.push((d, free.next().unwrap_or_default()));
                    this.sizes[d] = 1;
                    continue;
                }
                2 | 3 => {
                    this.collapsed.push(d);
                    this.sizes[d] = 1;
                }
                _ => windows.push(d),
            }
            // Most dimensions are indexed; a few are read from their first position.
            if random.u8(0..6) > 0 {
                this.index_map.push(d);
            }
        }
        for &(d, i) in &this.batching {
            this.indices[i] = this.operand[d];
        }
        let batch = this.indices.clone();
        random.shuffle(&mut this.index_map);
        if this.index_map.len() != 1 || random.bool() {
            this.vector = random.usize(0..batch.len() + 1);
            this.indices.insert(this.vector, this.index_map.len() as i64);
        }
        // Update the indices' batching dimensions to their new positions.
        this.batching
            .iter_mut()
            .for_each(|(_, i)| *i += usize::from(this.indices.len() > batch.len() && *i >= this.vector));
        let rank = batch.len() + windows.len();
        let mut places: Vec<usize> = (0..rank).collect();
        random.shuffle(&mut places);
        this.window = places[..windows.len()].to_vec();
        this.window.sort_unstable();
        let (mut batch, mut windows) = (batch.into_iter(), windows.into_iter());
        this.slices = (0..rank)
            .map(|d| match this.window.contains(&d) {
                true => this.sizes[windows.next().expect("as many windows as places")],
                false => batch.next().expect("as many batch dimensions as places"),
            })
            .collect();
        this
    }

    fn numbers(&self, kind: &str, [window, collapsed, operand, indices, map]: [&str; 5]) -> String {
        let paired = |list: Vec<usize>| joined(&list);
        format!(
            "#stablehlo.{kind}<{window} = [{}], {collapsed} = [{}], {operand} = [{}], {indices} = [{}], {map} = [{}], \
             index_vector_dim = {}>",
            joined(&self.window),
            joined(&self.collapsed),
            paired(self.batching.iter().map(|p| p.0).collect()),
            paired(self.batching.iter().map(|p| p.1).collect()),
            joined(&self.index_map),
            self.vector
        )
    }
}

/// Returns the name of indices of windows that fit, computed from `%i`, or `%i` itself.
fn indices(random: &mut Rng, s: &Slices) -> (&'static str, String) {
    if random.bool() || s.index_map.is_empty() {
        return ("%i", String::new());
    }
    let last: Vec<i64> = s.index_map.iter().map(|&d| s.operand[d] - s.sizes[d]).collect();
    let (of, line) = (ty(&s.indices, "i32"), ty(&[last.len() as i64], "i32"));
    let high = match s.vector < s.indices.len() {
        true => format!(
            "  %last = stablehlo.constant dense<[{}]> : {line}\n  %high = stablehlo.broadcast_in_dim %last, dims = [{}] : \
             ({line}) -> {of}\n",
            joined(&last),
            s.vector
        ),
        false => format!("  %high = stablehlo.constant dense<{}> : {of}\n", last[0]),
    };
    let lines =
        format!("  %low = stablehlo.constant dense<0> : {of}\n{high}  %j = stablehlo.clamp %low, %i, %high : {of}\n");
    ("%j", lines)
}

fn gather(random: &mut Rng) -> Body {
    let s = Slices::new(random);
    let numbers = s.numbers(
        "gather",
        [
            "offset_dims",
            "collapsed_slice_dims",
            "operand_batching_dims",
            "start_indices_batching_dims",
            "start_index_map",
        ],
    );
    let lines = format!(
        "  %r = \"stablehlo.gather\"(%a, %i) <{{dimension_numbers = {numbers}, slice_sizes = array<i64: {}>}}> : ({}, {}) \
         -> {}\n",
        joined(&s.sizes),
        ty(&s.operand, "i32"),
        ty(&s.indices, "i32"),
        ty(&s.slices, "i32")
    );
    let arguments = vec![("%a", s.operand, "i32"), ("%i", s.indices, "i32")];
    Body { arguments, lines, results: vec![("%r", s.slices)] }
}

fn scatter(random: &mut Rng) -> Body {
    let s = Slices::new(random);
    let numbers = s.numbers(
        "scatter",
        [
            "update_window_dims",
            "inserted_window_dims",
            "input_batching_dims",
            "scatter_indices_batching_dims",
            "scatter_dims_to_operand_dims",
        ],
    );
    let (operand, indices, updates) = (ty(&s.operand, "i32"), ty(&s.indices, "i32"), ty(&s.slices, "i32"));
    let op = |random: &mut Rng| ["add", "multiply", "minimum", "maximum", "subtract"][random.usize(0..5)];
    let attributes = format!("<{{scatter_dimension_numbers = {numbers}}}>");
    let (at, clamped) = self::indices(random, &s);
    if random.u8(0..4) > 0 {
        let combine = match random.u8(0..4) {
            0 => "    stablehlo.return %y : tensor<i32>\n".to_owned(),
            _ => format!(
                "    %z = stablehlo.{} %x, %y : tensor<i32>\n    stablehlo.return %z : tensor<i32>\n",
                op(random)
            ),
        };
        let lines = format!(
            "{clamped}  %r = \"stablehlo.scatter\"(%a, {at}, %u) {attributes} ({{\n  ^bb0(%x: tensor<i32>, %y: tensor<i32>):\n\
             {combine}  }}) : ({operand}, {indices}, {updates}) -> {operand}\n"
        );
        let arguments = vec![("%a", s.operand.clone(), "i32"), ("%i", s.indices, "i32"), ("%u", s.slices, "i32")];
        return Body { arguments, lines, results: vec![("%r", s.operand)] };
    }
    let (first, second) = (op(random), op(random));
    let lines = format!(
        "{clamped}  %r:2 = \"stablehlo.scatter\"(%a, %b, {at}, %u, %v) {attributes} ({{\n  ^bb0(%x: tensor<i32>, %w: tensor<i32>, \
         %y: tensor<i32>, %z: tensor<i32>):\n    %p = stablehlo.{first} %x, %y : tensor<i32>\n    %q = \
         stablehlo.{second} %w, %z : tensor<i32>\n    stablehlo.return %p, %q : tensor<i32>, tensor<i32>\n  }}) : \
         ({operand}, {operand}, {indices}, {updates}, {updates}) -> ({operand}, {operand})\n"
    );
    let arguments = vec![
        ("%a", s.operand.clone(), "i32"),
        ("%b", s.operand.clone(), "i32"),
        ("%i", s.indices, "i32"),
        ("%u", s.slices.clone(), "i32"),
        ("%v", s.slices, "i32"),
    ];
    Body { arguments, lines, results: vec![("%r#0", s.operand.clone()), ("%r#1", s.operand)] }
}

fn program(seed: u64) -> (String, Vec<&'static str>) {
    let mut random = Rng::with_seed(seed);
    let meshes: [&[(&str, i64)]; 5] =
        [&[("x", 2)], &[("x", 4)], &[("x", 3)], &[("x", 2), ("y", 3)], &[("x", 2), ("y", 2)]];
    let mesh = meshes[random.usize(0..meshes.len())];
    let axes: Vec<&str> = mesh.iter().map(|a| a.0).collect();
    let make = [dynamic_slice, dynamic_update_slice, gather, gather, scatter, scatter][random.usize(0..6)];
    let body = make(&mut random);
    let sizes: Vec<String> = mesh.iter().map(|(name, n)| format!("\"{name}\"={n}")).collect();
    let mut stated =
        |shape: &[i64], element: &str| format!("{} {}", ty(shape, element), sharding(&mut random, &axes, shape.len()));
    let arguments: Vec<String> =
        body.arguments.iter().map(|(name, shape, element)| format!("{name}: {}", stated(shape, element))).collect();
    let results: Vec<String> = body.results.iter().map(|(_, shape)| stated(shape, "i32")).collect();
    let types: Vec<String> = body.results.iter().map(|(_, shape)| ty(shape, "i32")).collect();
    let names: Vec<&str> = body.results.iter().map(|r| r.0).collect();
    let text = format!(
        "module {{\n  sdy.mesh @mesh = <[{}]>\n  func.func @main({}) -> ({}) {{\n{}  return {} : {}\n  }}\n}}\n",
        joined(&sizes),
        joined(&arguments),
        joined(&results),
        body.lines,
        joined(&names),
        joined(&types)
    );
    (text, body.arguments.iter().map(|a| a.0).collect())
}

/// Checks that the per-device program computes the program's results; returns whether devices look up positions in
/// their shards without gathering anything.
fn same(compiler: &Compiler, text: &str, arguments: &[&str], seed: u64) -> Result<bool, String> {
    let module = done(compiler.parse(Source::new("program.mlir", text)))?;
    let options = CompileOptions { target: Some("slow".to_owned()), ..CompileOptions::default() };
    let device = done(compiler.compile(module.clone(), "compile", &options))?;
    let mut random = Rng::with_seed(seed);
    let types = Interface::of(&module).ok_or("no interface")?.arguments;
    let input = |(ty, name): (&dialect::ir::TensorType, &&str)| {
        let range = if name.starts_with("%i") || name.starts_with("%s") { -3..12 } else { -50..50 };
        Literal::from_fn(ty, |_| Scalar::Int(random.i128(range.clone())))
    };
    let inputs = vec![types.iter().zip(arguments).map(input).collect::<Vec<_>>()];
    let want = compiler.evaluate(&module, &inputs);
    let execute = ExecuteOptions { backend: Backend::Reference, ..ExecuteOptions::default() };
    let got = compiler.execute(&device, &inputs, &execute);
    let (Some(want), Some(got)) = (want.value, got.value) else { return Err(messages(got.diagnostics)) };
    if !want.iter().flatten().eq(got.results.iter().flatten()) {
        return Err(format!("the results differ: {want:?} and {:?}\ninputs {inputs:?}", got.results));
    }
    let text = compiler.print(&device, PrintOptions::default());
    Ok(text.contains("partition_id") && !text.contains("all_gather") && !text.contains("all_to_all"))
}

#[test]
fn what_indices_point_at_means_the_same_in_shards() {
    let compiler = sharded::compiler();
    let (from, count) = (number("INDEXED_FROM", 0), number("INDEXED_PROGRAMS", 120));
    let (mut faults, mut inside) = (Vec::new(), 0);
    for seed in from..from + count {
        let (text, arguments) = program(seed);
        match same(&compiler, &text, &arguments, seed) {
            Ok(shards) => inside += u64::from(shards),
            Err(fault) => faults.push(format!("seed {seed}: {fault}\n{text}")),
        }
    }
    assert!(faults.is_empty(), "{} of {count} programs:\n{}", faults.len(), faults.join("\n"));
    println!("{inside} of {count} programs run in the shards that they have");
    assert!(inside * 8 >= count, "only {inside} of {count} programs run in the shards that they have");
}
