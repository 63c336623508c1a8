//! Texts of programs over several meshes.

use std::fmt::Write;

use fastrand::Rng;

/// A pipeline: its meshes, its stages by name, its microbatches of `rows` rows of `width` numbers.
pub(super) struct Pipeline {
    pub(super) meshes: Vec<String>,
    pub(super) stages: usize,
    pub(super) microbatches: usize,
    pub(super) rows: usize,
    pub(super) width: usize,
    pub(super) element: &'static str,
    /// The shardings of the input and of each weight, as attributes.
    pub(super) shardings: Vec<String>,
    pub(super) backward: bool,
}

impl Pipeline {
    /// Returns a program of products with a weight in each stage, and with `backward` also JAX's derivatives, summed
    /// over the microbatches.
    pub(super) fn text(&self) -> String {
        let &Self { stages, microbatches, rows, width, element, backward, .. } = self;
        let weight = format!("tensor<{width}x{width}x{element}>");
        let (part, whole) =
            (format!("tensor<{rows}x{width}x{element}>"), format!("tensor<{}x{width}x{element}>", rows * microbatches));
        let weights: Vec<String> = (0..stages).map(|s| format!("%w{s}")).collect();
        let given = |of: usize| if backward { vec![weight.clone(); of] } else { Vec::new() };
        let mut text = String::new();
        let sharded = |i: usize| self.shardings.get(i).cloned().unwrap_or_default();
        let arguments: Vec<String> =
            weights.iter().enumerate().map(|(s, w)| format!("{w}: {weight}{}", sharded(s + 1))).collect();
        let results = [vec![whole.clone()], given(stages)].concat().join(", ");
        let topology: Vec<String> = self.meshes.iter().enumerate().map(|(i, m)| format!("<\"m{i}\": {m}>")).collect();
        let _ = writeln!(
            text,
            "func.func @main(%x: {whole}{}, {}) -> ({results}) attributes {{topology = #mpmd.topology<{}>}} {{",
            sharded(0),
            arguments.join(", "),
            topology.join(", ")
        );
        let inner = [vec![part.clone()], given(stages)].concat().join(", ");
        let types = [vec![whole.clone()], vec![weight.clone(); stages]].concat().join(", ");
        for m in 0..microbatches {
            let _ = writeln!(
                text,
                "%r{m}:{} = mpmd.call @microbatch{m}(%x, {}) {{call_counter = {m} : ui32}} : ({types}) -> ({inner})",
                1 + given(stages).len(),
                weights.join(", ")
            );
        }
        let mut sums = Vec::new();
        for s in 0..given(stages).len() {
            let mut sum = format!("%r0#{}", s + 1);
            for m in 1..microbatches {
                let _ = writeln!(text, "%s{s}_{m} = stablehlo.add {sum}, %r{m}#{} : {weight}", s + 1);
                sum = format!("%s{s}_{m}");
            }
            sums.push(sum);
        }
        let parts: Vec<String> = (0..microbatches).map(|m| format!("%r{m}#0")).collect();
        let part_types = vec![part.clone(); microbatches].join(", ");
        let _ = writeln!(text, "%y = stablehlo.concatenate {}, dim = 0 : ({part_types}) -> {whole}", parts.join(", "));
        let returned = [vec!["%y".to_owned()], sums].concat().join(", ");
        let _ = writeln!(text, "return {returned} : {results}\n}}");
        for m in 0..microbatches {
            let takes: Vec<String> = weights.iter().map(|w| format!("{w}: {weight}")).collect();
            let _ =
                writeln!(text, "func.func private @microbatch{m}(%x: {whole}, {}) -> ({inner}) {{", takes.join(", "));
            let (from, to) = (m * rows, (m + 1) * rows);
            let _ = writeln!(text, "%a0 = stablehlo.slice %x [{from}:{to}, 0:{width}] : ({whole}) -> {part}");
            for s in 0..stages {
                let _ = writeln!(
                    text,
                    "%a{} = mpmd.named_computation<\"s{s}\"> (%a{s}, %w{s}) (%p: {part}, %q: {weight}) {{
                       %r = stablehlo.dot_general %p, %q, contracting_dims = [1] x [0] : ({part}, {weight}) -> {part}
                       mpmd.return %r : {part} }} : ({part}, {weight}) -> {part}",
                    s + 1
                );
            }
            let mut given = vec![if backward { "%d0".to_owned() } else { format!("%a{stages}") }];
            if backward {
                let _ = writeln!(text, "%d{stages} = stablehlo.negate %a{stages} : {part}");
                for s in (0..stages).rev() {
                    let _ = writeln!(
                        text,
                        "%g{s}, %d{s} = mpmd.named_computation<\"s{s}\"(1)> (%a{s}, %d{}, %w{s}) (%p: {part}, %o: {part}, %q: {weight}) {{
                           %r = stablehlo.dot_general %p, %o, contracting_dims = [0] x [0] : ({part}, {part}) -> {weight}
                           %t = stablehlo.dot_general %o, %q, contracting_dims = [1] x [1] : ({part}, {weight}) -> {part}
                           mpmd.return %r, %t : {weight}, {part} }} : ({part}, {part}, {weight}) -> ({weight}, {part})",
                        s + 1
                    );
                }
                given.extend((0..stages).map(|s| format!("%g{s}")));
            }
            let _ = writeln!(text, "return {} : {inner}\n}}", given.join(", "));
        }
        text
    }

    /// Returns a small random pipeline of integers, on meshes with any sizes and orders of devices.
    pub(super) fn random(seed: u64) -> Self {
        let mut random = Rng::with_seed(seed);
        let sizes: [&[i64]; 4] = [&[1], &[2], &[2, 2], &[3]];
        let of: Vec<&[i64]> = (0..random.usize(1..4)).map(|_| sizes[random.usize(0..sizes.len())]).collect();
        let count = |of: &[i64]| of.iter().product::<i64>() as usize;
        let all: usize = of.iter().map(|of| count(of)).sum();
        let mut ids: Vec<usize> = (0..all + random.usize(0..2)).collect();
        if random.bool() {
            random.shuffle(&mut ids);
        }
        let in_order = ids.is_sorted();
        let mesh = |of: &&[i64]| {
            let axes: Vec<String> = of.iter().zip(["x", "y"]).map(|(n, name)| format!("\"{name}\"={n}")).collect();
            let own: Vec<String> = ids.drain(..count(of)).map(|id| id.to_string()).collect();
            let order = if in_order { String::new() } else { format!(", device_ids=[{}]", own.join(", ")) };
            format!("<[{}]{order}>", axes.join(", "))
        };
        let (stages, backward) = (random.usize(of.len()..5), random.bool());
        let shardings = (0..stages + 1).map(|_| String::new()).collect();
        let microbatches = random.usize(1..4);
        Self {
            meshes: of.iter().map(mesh).collect(),
            stages,
            microbatches,
            rows: 6,
            width: 12,
            element: "i32",
            shardings,
            backward,
        }
    }
}

/// Six weights of a transformer block; the block and its derivative are functions of `tests/pipeline/block.mlir`.
const WEIGHTS: [&str; 6] = [
    "tensor<16x16xf32>",
    "tensor<16x16xf32>",
    "tensor<16x16xf32>",
    "tensor<16x16xf32>",
    "tensor<16x32xf32>",
    "tensor<32x16xf32>",
];

/// Returns four blocks on four meshes of two devices, each of which takes half of a microbatch: forward, backward from
/// the distance to a target, and the sum of gradients over two microbatches.
pub(crate) fn transformer() -> String {
    let (part, whole, ws) = ("tensor<4x8x16xf32>", "tensor<8x8x16xf32>", WEIGHTS.join(", "));
    let all = vec![ws.clone(); 4].join(", ");
    let names = |prefix: &str, m: usize| -> Vec<String> {
        (0..4).flat_map(|p| (0..6).map(move |i| (p, i))).map(|(p, i)| format!("%{prefix}{m}_{p}_{i}")).collect()
    };
    let weights = names("w", 0).join(", ");
    let takes = names("w", 0)
        .iter()
        .enumerate()
        .map(|(i, w)| format!("{w}: {}", WEIGHTS[i % 6]))
        .collect::<Vec<_>>()
        .join(", ");
    let meshes: Vec<String> = (0..4).map(|p| format!("<\"m{p}\": <[\"x\"=2]>>")).collect();
    let rows = "{sdy.sharding = #sdy.sharding<@m0, [{\"x\"}, {}, {}]>}";
    let mut text = format!(
        "func.func @main(%x: {whole} {rows}, %target: {whole}, {takes}) -> ({whole}, {all}) attributes {{topology = #mpmd.topology<{}>}} {{\n",
        meshes.join(", ")
    );
    for m in 0..2 {
        let _ = writeln!(
            text,
            "%y{m}, {} = mpmd.call @microbatch{m}(%x, %target, {weights}) {{call_counter = {m} : ui32}} : ({whole}, {whole}, {all}) -> ({part}, {all})",
            names("g", m).join(", ")
        );
    }
    for ((sum, one), (i, other)) in names("s", 0).iter().zip(names("g", 0)).zip(names("g", 1).iter().enumerate()) {
        let _ = writeln!(text, "{sum} = stablehlo.add {one}, {other} : {}", WEIGHTS[i % 6]);
    }
    let _ = writeln!(
        text,
        "%y = stablehlo.concatenate %y0, %y1, dim = 0 : ({part}, {part}) -> {whole}\nreturn %y, {} : {whole}, {all}\n}}",
        names("s", 0).join(", ")
    );
    let inside = WEIGHTS.iter().enumerate().map(|(i, w)| format!("%p{i}: {w}")).collect::<Vec<_>>().join(", ");
    let own = |p: usize| names("w", 0)[6 * p..6 * p + 6].join(", ");
    for m in 0..2 {
        let _ = writeln!(
            text,
            "func.func private @microbatch{m}(%x: {whole}, %target: {whole}, {takes}) -> ({part}, {all}) {{"
        );
        let rows = format!("[{}:{}, 0:8, 0:16] : ({whole}) -> {part}", 4 * m, 4 * m + 4);
        let _ = writeln!(text, "%a0 = stablehlo.slice %x {rows}\n%t = stablehlo.slice %target {rows}");
        for p in 0..4 {
            let _ = writeln!(
                text,
                "%a{} = mpmd.named_computation<\"stage{p}\"> ({}, %a{p}) ({inside}, %q: {part}) {{
                   %r = func.call @block(%p0, %p1, %p2, %p3, %p4, %p5, %q) : ({ws}, {part}) -> {part}
                   mpmd.return %r : {part} }} : ({ws}, {part}) -> {part}",
                p + 1,
                own(p)
            );
        }
        let _ = writeln!(text, "%d4 = stablehlo.subtract %a4, %t : {part}");
        for p in (0..4).rev() {
            let gradients: Vec<String> = (0..6).map(|i| format!("%g0_{p}_{i}")).collect();
            let _ = writeln!(
                text,
                "{}, %d{p} = mpmd.named_computation<\"stage{p}\"(1)> ({}, %a{p}, %d{}) ({inside}, %q: {part}, %d: {part}) {{
                   %r:7 = func.call @block_back(%p0, %p1, %p2, %p3, %p4, %p5, %q, %d) : ({ws}, {part}, {part}) -> ({ws}, {part})
                   mpmd.return %r#0, %r#1, %r#2, %r#3, %r#4, %r#5, %r#6 : {ws}, {part} }} : ({ws}, {part}, {part}) -> ({ws}, {part})",
                gradients.join(", "),
                own(p),
                p + 1
            );
        }
        let _ = writeln!(text, "return %a4, {} : {part}, {all}\n}}", names("g", 0).join(", "));
    }
    text + include_str!("../../../pipeline/block.mlir")
}

/// Returns a training step over a whole batch: products and a bound in each stage, the squared distance to a target,
/// its derivatives by the weights, and the updated weights.
pub(super) fn training_step(random: &mut Rng) -> String {
    let (stages, batch, width) = (random.usize(1..4), 8 * random.usize(1..3), 4);
    let (rows, weight) = (format!("tensor<{batch}x{width}xi32>"), format!("tensor<{width}x{width}xi32>"));
    let bias = format!("tensor<{width}xi32>");
    let meshes: Vec<String> = (0..stages).map(|s| format!("<\"m{s}\": <[\"x\"=2]>>")).collect();
    let takes: Vec<String> = (0..stages).map(|s| format!("%w{s}: {weight}, %b{s}: {bias}")).collect();
    let updated = vec![format!("{weight}, {bias}"); stages].join(", ");
    let mut text = format!(
        "func.func @main(%target: {rows}, {}, %a0: {rows} {{sdy.sharding = #sdy.sharding<@m0, [{{\"x\"}}, {{}}]>}}) -> ({rows}, tensor<i32>, {updated}) \
         attributes {{topology = #mpmd.topology<{}>}} {{\n",
        takes.join(", "),
        meshes.join(", ")
    );
    for s in 0..stages {
        let _ = writeln!(
            text,
            "%a{} = mpmd.named_computation<\"s{s}\"> (%a{s}, %w{s}, %b{s}) (%p: {rows}, %q: {weight}, %b: {bias}) {{
               %z = stablehlo.constant dense<0> : tensor<i32>
               %zeros = stablehlo.broadcast_in_dim %z, dims = [] : (tensor<i32>) -> {rows}
               %all = stablehlo.broadcast_in_dim %b, dims = [1] : ({bias}) -> {rows}
               %r = stablehlo.dot_general %p, %q, contracting_dims = [1] x [0] : ({rows}, {weight}) -> {rows}
               %s = stablehlo.add %r, %all : {rows}
               %m = stablehlo.maximum %s, %zeros : {rows}
               mpmd.return %m : {rows} }} : ({rows}, {weight}, {bias}) -> {rows}",
            s + 1
        );
    }
    let _ = writeln!(
        text,
        "%d{stages} = stablehlo.subtract %a{stages}, %target : {rows}
         %squares = stablehlo.multiply %d{stages}, %d{stages} : {rows}
         %zero = stablehlo.constant dense<7> : tensor<i32>
         %loss = stablehlo.reduce(%squares init: %zero) applies stablehlo.add across dimensions = [0, 1] : ({rows}, tensor<i32>) -> tensor<i32>"
    );
    for s in (0..stages).rev() {
        let _ = writeln!(
            text,
            "%g{s}, %h{s}, %d{s} = mpmd.named_computation<\"s{s}\"(1)> (%a{s}, %d{}, %w{s}) (%p: {rows}, %o: {rows}, %q: {weight}) {{
               %z = stablehlo.constant dense<0> : tensor<i32>
               %two = stablehlo.constant dense<2> : {weight}
               %r = stablehlo.dot_general %p, %o, contracting_dims = [0] x [0] : ({rows}, {rows}) -> {weight}
               %twice = stablehlo.multiply %r, %two : {weight}
               %sums = stablehlo.reduce(%o init: %z) applies stablehlo.add across dimensions = [0] : ({rows}, tensor<i32>) -> {bias}
               %t = stablehlo.dot_general %o, %q, contracting_dims = [1] x [1] : ({rows}, {weight}) -> {rows}
               mpmd.return %twice, %sums, %t : {weight}, {bias}, {rows} }} : ({rows}, {rows}, {weight}) -> ({weight}, {bias}, {rows})
             %v{s} = stablehlo.subtract %w{s}, %g{s} : {weight}
             %c{s} = stablehlo.subtract %b{s}, %h{s} : {bias}",
            s + 1
        );
    }
    let given: Vec<String> = (0..stages).map(|s| format!("%v{s}, %c{s}")).collect();
    let _ = writeln!(text, "return %a{stages}, %loss, {} : {rows}, tensor<i32>, {updated}\n}}", given.join(", "));
    text
}
