//! Ops that need all of a dimension, over floats and integers of which most are tied.

use super::Writer;
use super::text::{compared, list, of, ty};

/// The lines of one op on `%a0`, and names, shapes and element types of its results.
type Body = (String, Vec<(&'static str, Vec<i64>, &'static str)>);

/// Returns `name`, a sort of `%a0` with positions along `along`, or alone, along dimension `d` by a comparator that
/// computes `%p`.
fn sorted(name: &str, (shape, d): (&[i64], usize), element: &str, along: Option<usize>, comparator: &str) -> String {
    let values = of(shape, element);
    let (operands, arguments, types) = match along {
        Some(_) => ("%a0, %i", ", %j: tensor<i32>, %k: tensor<i32>", format!("{values}, {}", ty(shape))),
        None => ("%a0", "", values),
    };
    let positions = along.map_or(String::new(), |d| format!("  %i = stablehlo.iota dim = {d} : {}\n", ty(shape)));
    format!(
        "{positions}  {name} = \"stablehlo.sort\"({operands}) <{{dimension = {d} : i64, is_stable = true}}> ({{
    ^bb0(%x: tensor<{element}>, %y: tensor<{element}>{arguments}):
{comparator}      stablehlo.return %p : tensor<i1>
  }}) : ({types}) -> ({types})\n"
    )
}

impl Writer {
    /// Writes a program of one op over few different values; sums in it are exact only for integers.
    pub(super) fn ordered(&mut self) {
        let rank = self.random.usize(1..4);
        let mut shape: Vec<i64> = (0..rank)
            .map(|_| if self.random.u8(0..4) == 0 { self.random.i64(1..14) } else { 6 * self.random.i64(1..4) })
            .collect();
        let element = self.pick(&["f32", "f32", "i32", "ui8"]);
        let (element, body) = match self.random.u8(0..4) {
            0 => (element, self.largest(&shape, element)),
            1 => (element, self.first_sorted(&shape, element)),
            2 => (element, self.extreme(&shape, element)),
            _ => {
                shape.resize(rank.max(2), 12);
                self.transform(&shape)
            }
        };
        let at = self.scattered(shape.len());
        self.whole(&shape, element, at, body, |w, rank| w.scattered(rank));
    }

    /// Writes a sort of all of a long dimension, which is usually sharded by all axes.
    pub(super) fn long_sort(&mut self) {
        let mut shape: Vec<i64> = (0..self.random.usize(1..3)).map(|_| self.random.i64(1..4)).collect();
        let d = self.random.usize(0..shape.len());
        shape[d] = if self.random.bool() { 64 * self.random.i64(16..20) } else { self.random.i64(1024..1200) };
        let element = self.pick(&["f32", "f32", "i32", "ui8"]);
        let body = if self.random.u8(0..3) == 0 {
            let by = compared("p", "GT", ["x", "y"], element, "TOTALORDER");
            (sorted("%r", (&shape, d), element, None, &by), vec![("%r", shape.clone(), element)])
        } else {
            // Positions count along the sorted dimension, or along another one, so that they don't distinguish equal
            // elements.
            let along = if self.random.bool() { d } else { shape.len() - 1 - d };
            let comparator = self.comparator(element);
            let results = vec![("%r#0", shape.clone(), element), ("%r#1", shape.clone(), "i32")];
            (sorted("%r:2", (&shape, d), element, Some(along), &comparator), results)
        };
        let axes = list(self.mesh.iter().map(|a| format!("\"{}\"", a.name)));
        let dims = list((0..shape.len()).map(|e| if e == d { format!("{{{axes}}}") } else { "{}".to_owned() }));
        let usual = format!(" {{sdy.sharding = #sdy.sharding<@mesh, [{dims}]>}}");
        let at = |w: &mut Self, rank: usize| if w.random.u8(0..4) > 0 { usual.clone() } else { w.scattered(rank) };
        let argument = at(self, shape.len());
        self.whole(&shape, element, argument, body, at);
    }

    fn whole(
        &mut self,
        shape: &[i64],
        element: &str,
        argument: String,
        (lines, results): Body,
        at: impl Fn(&mut Self, usize) -> String,
    ) {
        self.argument(shape, element, argument);
        self.lines += &lines;
        for (name, shape, element) in results {
            let at = at(self, shape.len());
            self.result(name, of(&shape, element), at);
        }
    }

    fn largest(&mut self, shape: &[i64], element: &'static str) -> Body {
        let (mut kept, last) = (shape.to_vec(), shape.len() - 1);
        kept[last] = self.random.i64(1..kept[last].min(4) + 1);
        let (from, values, places) = (of(shape, element), of(&kept, element), ty(&kept));
        let lines = format!("  %r:2 = chlo.top_k(%a0, k = {}) : {from} -> ({values}, {places})\n", kept[last]);
        (lines, vec![("%r#0", kept.clone(), element), ("%r#1", kept, "i32")])
    }

    /// Returns a sort of elements and positions, of which two slices read some of the first.
    fn first_sorted(&mut self, shape: &[i64], element: &'static str) -> Body {
        let d = self.random.usize(0..shape.len());
        // With `<` alone, a NaN has no defined position.
        let kind = if self.random.u8(0..5) == 0 { "FLOAT" } else { "TOTALORDER" };
        let by = compared("p", self.pick(&["LT", "GT"]), ["x", "y"], element, kind);
        let (mut lines, mut results) = (sorted("%s:2", (shape, d), element, Some(d), &by), Vec::new());
        for (i, (name, element)) in [("%r0", element), ("%r1", "i32")].into_iter().enumerate() {
            let limit = self.random.i64(1..shape[d].min(4) + 1);
            let start = self.random.i64(0..limit);
            let mut kept = shape.to_vec();
            kept[d] = limit - start;
            let range = |(e, n): (usize, &i64)| if e == d { format!("{start}:{limit}") } else { format!("0:{n}") };
            let ranges = list(shape.iter().enumerate().map(range));
            let (from, to) = (of(shape, element), of(&kept, element));
            lines += &format!("  {name} = stablehlo.slice %s#{i} [{ranges}] : ({from}) -> {to}\n");
            results.push((name, kept, element));
        }
        (lines, results)
    }

    /// Returns a comparator of `%x` and `%y`, and of `%j` and `%k`: by the first pair alone, as in JAX, or by both.
    fn comparator(&mut self, element: &str) -> String {
        let by = self.pick(&["LT", "GT"]);
        let order = |name: &str, pair: [&str; 2]| compared(name, by, pair, element, "TOTALORDER");
        match self.random.u8(0..3) {
            0 => order("p", ["x", "y"]),
            1 => {
                let zero = if element == "f32" { "0.0" } else { "0" };
                let mut text = format!("      %zero = stablehlo.constant dense<{zero}> : tensor<{element}>\n");
                for x in ["x", "y"] {
                    text += &compared(&format!("{x}e"), "EQ", [x, "zero"], element, "FLOAT");
                    let types = format!("tensor<i1>, tensor<{element}>");
                    text += &format!("      %{x}c = stablehlo.select %{x}e, %zero, %{x} : {types}\n");
                }
                text + &order("p", ["xc", "yc"])
            }
            _ => {
                let second = compared("s", "GT", ["j", "k"], "i32", "");
                let (first, other) = (order("f", ["x", "y"]), order("g", ["y", "x"]));
                format!(
                    "{first}{other}{second}      %n = stablehlo.not %g : tensor<i1>
      %t = stablehlo.and %n, %s : tensor<i1>
      %p = stablehlo.or %f, %t : tensor<i1>\n"
                )
            }
        }
    }

    /// Returns the smallest or largest element and its position, as JAX computes it: along a dimension, or over all of
    /// a flattened `%a0`.
    fn extreme(&mut self, shape: &[i64], element: &'static str) -> Body {
        let flat = if self.random.bool() { vec![shape.iter().product()] } else { shape.to_vec() };
        let d = self.random.usize(0..flat.len());
        let mut kept = flat.clone();
        kept.remove(d);
        let (direction, column) = self.pick(&[("LT", 0), ("GT", 1)]);
        let init = match element {
            "f32" => ["0x7F800000", "0xFF800000"],
            "i32" => ["2147483647", "-2147483648"],
            _ => ["255", "0"],
        };
        let (values, places, value, place) = (of(&flat, element), ty(&flat), of(&kept, element), ty(&kept));
        let lines = format!(
            "  %f = stablehlo.reshape %a0 : ({}) -> {values}
  %i = stablehlo.iota dim = {d} : {places}
  %init = stablehlo.constant dense<{}> : tensor<{element}>
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %r:2 = stablehlo.reduce(%f init: %init), (%i init: %zero) across dimensions = [{d}] : ({values}, {places}, tensor<{element}>, tensor<i32>) -> ({value}, {place})
    reducer(%x: tensor<{element}>, %y: tensor<{element}>) (%j: tensor<i32>, %k: tensor<i32>) {{
{}{}      %3 = stablehlo.or %1, %2 : tensor<i1>
{}{}      %6 = stablehlo.and %4, %5 : tensor<i1>
      %7 = stablehlo.or %3, %6 : tensor<i1>
      %8 = stablehlo.select %3, %x, %y : tensor<i1>, tensor<{element}>
      %9 = stablehlo.select %7, %j, %k : tensor<i1>, tensor<i32>
      stablehlo.return %8, %9 : tensor<{element}>, tensor<i32>
  }}
",
            of(shape, element),
            init[column],
            compared("1", direction, ["x", "y"], element, "FLOAT"),
            compared("2", "NE", ["x", "x"], element, "FLOAT"),
            compared("4", "EQ", ["x", "y"], element, "FLOAT"),
            compared("5", "LT", ["j", "k"], "i32", "")
        );
        (lines, vec![("%r#0", kept.clone(), element), ("%r#1", kept, "i32")])
    }

    /// Returns the elements of `%a0` and a transform over several of its dimensions, often followed by its inverse.
    fn transform(&mut self, shape: &[i64]) -> (&'static str, Body) {
        let n = self.random.usize(2..shape.len().min(3) + 1);
        let lengths = &shape[shape.len() - n..];
        let mut half = shape.to_vec();
        half[shape.len() - 1] = half[shape.len() - 1] / 2 + 1;
        let (element, kind, inverse, kept) = match self.random.u8(0..4) {
            0 => ("complex<f32>", "FFT", "IFFT", shape),
            1 => ("complex<f32>", "IFFT", "FFT", shape),
            _ => ("f32", "RFFT", "IRFFT", &half[..]),
        };
        let (from, to) = (of(shape, element), of(kept, "complex<f32>"));
        let mut lines = format!("  %t = stablehlo.fft %a0, type = {kind}, length = {lengths:?} : ({from}) -> {to}\n");
        let mut result = ("%t", kept.to_vec(), "complex<f32>");
        if self.random.bool() {
            lines += &format!("  %u = stablehlo.fft %t, type = {inverse}, length = {lengths:?} : ({to}) -> {from}\n");
            result = ("%u", shape.to_vec(), element);
        }
        (element, (lines, vec![result]))
    }
}
