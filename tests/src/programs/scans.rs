//! Cumulative sums, products and maxima, and pairs of a maximum and its position, along a sharded dimension.

use super::Writer;
use super::text::{compared, list, of, ty};

/// Element types, operations over them, and initial values. Some initial values aren't neutral, but may be combined
/// several times.
const SINGLE: [(&str, &str, &str); 14] = [
    ("i32", "add", "0"),
    ("i8", "add", "0"),
    ("ui16", "multiply", "1"),
    ("i64", "maximum", "-9223372036854775808"),
    ("i32", "maximum", "5"),
    ("ui8", "minimum", "255"),
    ("i1", "or", "false"),
    ("i32", "and", "-1"),
    ("i32", "xor", "0"),
    ("f32", "add", "0.0"),
    ("f32", "maximum", "0xFF800000"),
    ("f32", "minimum", "0x7F800000"),
    ("bf16", "maximum", "0xFF80"),
    // Every window combines this value once per element beyond the edge, so that such a scan has no parts.
    ("i32", "add", "3"),
];

impl Writer {
    /// Writes a program of one scan.
    pub(super) fn scans(&mut self) {
        let rank = self.random.usize(1..4);
        let dim = self.random.usize(0..rank);
        let mut shape: Vec<i64> = (0..rank).map(|_| self.random.i64(1..5)).collect();
        shape[dim] = self.random.i64(2..40);
        let mut window = vec![1; rank];
        window[dim] = shape[dim];
        let mut padding = vec![[0, 0]; rank];
        padding[dim][self.random.usize(0..2)] = shape[dim] - 1;
        let attributes = format!(
            "padding = dense<{padding:?}> : tensor<{rank}x2xi64>, window_dimensions = array<i64: {}>",
            list(window)
        );
        // The first axis shards the scanned dimension, the others anything.
        let at = |w: &mut Self| {
            let mut dims = vec![Vec::new(); rank];
            for (i, axis) in w.mesh.iter().enumerate() {
                dims[if i == 0 { dim } else { w.random.usize(0..rank) }].push(format!("\"{}\"", axis.name));
            }
            let dims = list(dims.iter().map(|d| format!("{{{}}}", d.join(", "))));
            format!(" {{sdy.sharding = #sdy.sharding<@mesh, [{dims}]>}}")
        };
        let pairs = self.random.u8(0..5) == 0;
        let (element, op, init) = if pairs { ("f32", "", "") } else { self.pick(&SINGLE) };
        let argument = at(self);
        self.argument(&shape, element, argument);
        let (a, i) = (of(&shape, element), ty(&shape));
        self.lines += &if pairs {
            format!(
                "    %low = stablehlo.constant dense<0xFF800000> : tensor<f32>
    %last = stablehlo.constant dense<2147483647> : tensor<i32>
    %at = stablehlo.iota dim = {dim} : {i}
    %r:2 = \"stablehlo.reduce_window\"(%a0, %at, %low, %last) <{{{attributes}}}> ({{
    ^bb0(%x: tensor<f32>, %j: tensor<i32>, %y: tensor<f32>, %k: tensor<i32>):
{}{}{}      %both = stablehlo.and %same, %less : tensor<i1>
      %first = stablehlo.or %more, %both : tensor<i1>
      %v = stablehlo.select %first, %x, %y : tensor<i1>, tensor<f32>
      %w = stablehlo.select %first, %j, %k : tensor<i1>, tensor<i32>
      stablehlo.return %v, %w : tensor<f32>, tensor<i32>
    }}) : ({a}, {i}, tensor<f32>, tensor<i32>) -> ({a}, {i})\n",
                compared("more", "GT", ["x", "y"], "f32", "FLOAT"),
                compared("same", "EQ", ["x", "y"], "f32", "FLOAT"),
                compared("less", "LT", ["j", "k"], "i32", "")
            )
        } else {
            format!(
                "    %init = stablehlo.constant dense<{init}> : tensor<{element}>
    %r = \"stablehlo.reduce_window\"(%a0, %init) <{{{attributes}}}> ({{
    ^bb0(%x: tensor<{element}>, %y: tensor<{element}>):
      %v = stablehlo.{op} %x, %y : tensor<{element}>
      stablehlo.return %v : tensor<{element}>
    }}) : ({a}, tensor<{element}>) -> {a}\n"
            )
        };
        let results = if pairs { vec![("%r#0", a), ("%r#1", i)] } else { vec![("%r", a)] };
        for (name, ty) in results {
            let at = at(self);
            self.result(name, ty, at);
        }
    }
}
