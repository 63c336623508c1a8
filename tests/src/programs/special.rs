//! Programs of one shape each: loops that add up, triangular systems, products with common operands, sums over several
//! slices, changes of a sharding, rows that are put together.

use super::text::{list, of, ty};
use super::{Value, Writer};

/// Returns the attribute of a sharding, given the axes of each dimension as text.
fn sharded(dims: &[impl AsRef<str>]) -> String {
    let dims = list(dims.iter().map(|d| format!("{{{}}}", d.as_ref())));
    format!(" {{sdy.sharding = #sdy.sharding<@mesh, [{dims}]>}}")
}

impl Writer {
    /// Writes chains of steps along one dimension of two. Arguments and results are rarely sharded differently.
    pub(super) fn joins(&mut self) {
        let dim = self.random.usize(0..2);
        self.along = Some(dim);
        let at = |w: &mut Self, _| {
            let mut dims = match w.random.u8(0..8) {
                0 => ["", "\"x\""],
                1 => ["", ""],
                2 if w.mesh.len() > 1 => ["\"x\", \"y\"", ""],
                _ => ["\"x\"", ""],
            };
            dims.rotate_left(dim);
            sharded(&dims)
        };
        let mut rows = 0;
        for i in 0..3 {
            if i != 1 || self.random.bool() {
                rows = if self.random.bool() { 8 * self.random.i64(1..4) } else { self.random.i64(1..25) };
            }
            let mut shape = [rows, 3];
            shape.rotate_left(dim);
            let at = at(self, 2);
            self.argument(&shape, "i32", at);
        }
        let (slice, reverse, join) = (Self::slice as super::Step, Self::reverse, Self::concatenate);
        self.steps(2..8, &[slice, slice, Self::pad, reverse, reverse, Self::binary, join, join]);
        self.return_last(at);
    }

    /// Writes a loop over batches `%a0`: sums of products with `%a1`, and sums of rows.
    pub(super) fn carried(&mut self) {
        let random = &mut self.random;
        let [steps, rows, wide, out] = [random.i64(1..4), random.i64(8..25), random.i64(2..6), random.i64(2..6)];
        let (one, batch) = (ty(&[1, rows, wide]), ty(&[rows, wide]));
        let (batches, weights, product, line) =
            (ty(&[steps, rows, wide]), ty(&[wide, out]), ty(&[rows, out]), ty(&[out]));
        // Usually sharded as batches are.
        let usual = sharded(&["", "\"x\"", ""]);
        let at = if self.random.u8(0..4) == 0 { self.scattered(3) } else { usual };
        self.argument(&[steps, rows, wide], "i32", at);
        for _ in 0..2 {
            let at = self.scattered(2);
            self.argument(&[wide, out], "i32", at);
        }
        // The added values also pass through linear ops, and through one that isn't linear.
        let linear = self.pick(&["negate %g0", "add %g0, %g0", "abs %g0"]);
        let (mut sum, mut sums) = ("%sum".to_owned(), String::new());
        for i in 0..self.random.usize(1..4) {
            let part = self.pick(&["%g0", "%g1"]);
            let (op, operands) =
                (self.pick(&["add", "subtract"]), self.pick(&[[part, "%sum"], ["%sum", part]]).join(", "));
            let operands = operands.replace("%sum", &sum);
            sums += &format!("      %s{i} = stablehlo.{op} {operands} : {weights}\n");
            sum = format!("%s{i}");
        }
        // Sometimes the sum is read in the loop, so that it must be complete.
        let seen = self.pick(&["%sum", "%ws", "%ws", "%ws"]);
        let types = format!("tensor<i32>, {batches}, {weights}, {weights}, {line}");
        self.lines += &format!(
            "    %none = stablehlo.constant dense<0> : tensor<i32>
    %zeros = stablehlo.constant dense<0> : {line}
    %0:5 = stablehlo.while(%i = %none, %xs = %a0, %ws = %a1, %sum = %a2, %line = %zeros) : {types}
    cond {{
      %n = stablehlo.constant dense<{steps}> : tensor<i32>
      %1 = stablehlo.compare LT, %i, %n : (tensor<i32>, tensor<i32>) -> tensor<i1>
      stablehlo.return %1 : tensor<i1>
    }} do {{
      %1 = stablehlo.dynamic_slice %xs, %i, %none, %none, sizes = [1, {rows}, {wide}] : ({batches}, tensor<i32>, tensor<i32>, tensor<i32>) -> {one}
      %x = stablehlo.reshape %1 : ({one}) -> {batch}
      %y = stablehlo.dot_general %x, %ws, contracting_dims = [1] x [0] : ({batch}, {weights}) -> {product}
      %g0 = stablehlo.dot_general %x, %y, contracting_dims = [0] x [0] : ({batch}, {product}) -> {weights}
      %h = stablehlo.reduce(%y init: %none) applies stablehlo.add across dimensions = [0] : ({product}, tensor<i32>) -> {line}
      %g1 = stablehlo.{linear} : {weights}
{sums}      %w1 = stablehlo.maximum %ws, {seen} : {weights}
      %line1 = stablehlo.add %line, %h : {line}
      %one = stablehlo.constant dense<1> : tensor<i32>
      %next = stablehlo.add %i, %one : tensor<i32>
      stablehlo.return %next, %xs, %w1, {sum}, %line1 : {types}
    }}\n"
        );
        for (name, ty, rank) in [("%0#3", weights, 2), ("%0#4", line, 1)] {
            let at = self.scattered(rank);
            self.result(name, ty, at);
        }
    }

    /// Writes a triangular system whose matrix is sharded along rows or columns by `x`, and the batch perhaps by `y`.
    pub(super) fn systems(&mut self) {
        let shards = self.mesh[0].size;
        // Sometimes blocks have different sizes; then the matrix is gathered.
        let size = shards * self.random.i64(1..6) + i64::from(self.random.u8(0..8) == 0);
        let columns = self.random.i64(1..4);
        let (left, lower, unit) = (self.random.bool(), self.random.bool(), self.random.bool());
        let element = self.pick(&["f64", "f64", "complex<f64>"]);
        let transpose = self.pick(&["NO_TRANSPOSE", "TRANSPOSE", "ADJOINT"]);
        let batch: Vec<i64> = if self.random.bool() { vec![2 * self.random.i64(1..3)] } else { Vec::new() };
        let rows = if left { [size, columns] } else { [columns, size] };
        let (matrix, right) = ([&batch[..], &[size, size]].concat(), [&batch[..], &rows].concat());
        let lead = vec![self.pick(&["", "\"y\""]); batch.len()];
        let at = |dims: [&str; 2]| sharded(&[&lead[..], &dims].concat());
        let (x, other) = ("\"x\"", [["\"x\"", ""], ["", "\"x\""], ["", ""], ["", ""]]);
        let [place, given, found] = [self.pick(&[[x, ""], ["", x]]), self.pick(&other), self.pick(&other)];
        self.argument(&matrix, element, at(place));
        self.argument(&right, element, at(given));
        let (a, b) = (of(&matrix, element), of(&right, element));
        self.lines += &format!(
            "    %r = \"stablehlo.triangular_solve\"(%a0, %a1) <{{left_side = {left}, lower = {lower}, transpose_a = \
             #stablehlo<transpose {transpose}>, unit_diagonal = {unit}}}> : ({a}, {b}) -> {b}\n"
        );
        self.result("%r", b, at(found));
    }

    /// Writes one or two products of a tensor of a batch dimension, `m` rows and `k` columns, with operands'
    /// dimensions in any order.
    pub(super) fn products(&mut self) {
        let devices: i64 = self.mesh.iter().map(|a| a.size).product();
        let batched = self.random.u8(0..3) == 0;
        // Usually, sizes divide evenly.
        let sizes = "bmknc".chars().map(|c| match self.random.u8(0..6) {
            0 => (c, self.random.i64(1..20)),
            _ => (c, devices * self.random.i64(1..3)),
        });
        let sizes: Vec<(char, i64)> = sizes.filter(|s| batched || s.0 != 'b').collect();
        let operands = ["bmk", "bkn", "bkc"].map(|names| {
            let mut dims: Vec<(char, i64)> = sizes.iter().filter(|s| names.contains(s.0)).copied().collect();
            self.random.shuffle(&mut dims);
            let (shape, at): (Vec<i64>, String) = (dims.iter().map(|d| d.1).collect(), self.scattered(dims.len()));
            (self.argument(&shape, "i32", at), dims, shape)
        });
        for i in 1..=self.random.usize(1..3) {
            let mut pair = [&operands[0], &operands[i]];
            if self.random.bool() {
                pair.reverse();
            }
            let at = |c: char| pair.map(|p| p.1.iter().position(|d| d.0 == c));
            let dims = |c: char| match at(c) {
                [Some(left), Some(right)] => format!("[{left}] x [{right}]"),
                _ => "[] x []".to_owned(),
            };
            let free = pair.iter().flat_map(|p| p.1.iter().filter(|d| !"bk".contains(d.0)));
            let batch = sizes.iter().filter(|s| s.0 == 'b');
            let shape: Vec<i64> = batch.chain(free).map(|d| d.1).collect();
            let op = format!(
                "stablehlo.dot_general {}, {}, batching_dims = {}, contracting_dims = {} : ({}, {}) -> {}",
                pair[0].0,
                pair[1].0,
                dims('b'),
                dims('k'),
                ty(&pair[0].2),
                ty(&pair[1].2),
                ty(&shape)
            );
            let (product, at) = (self.hidden(&shape, op), self.scattered(shape.len()));
            self.result(product.name, ty(&shape), at);
        }
    }

    /// Writes sums and moves of up to three tensors.
    pub(super) fn sums(&mut self) {
        for _ in 0..self.random.usize(1..4) {
            let rank = self.random.usize(1..4);
            let size =
                |w: &mut Self| if w.random.u8(0..6) == 0 { w.random.i64(1..20) } else { 24 * w.random.i64(1..3) };
            let shape: Vec<i64> = (0..rank).map(|_| size(self)).collect();
            let at = self.scattered(rank);
            let x = Value { name: self.argument(&shape, "i32", at), shape };
            let mut found = vec![if self.random.bool() {
                let dim = self.random.usize(0..rank);
                let (op, init) = self.pick(&[("add", 0), ("maximum", -2_147_483_648), ("and", -1), ("multiply", 1)]);
                let init = self.splat(&[], init);
                let mut left = x.shape.clone();
                left.remove(dim);
                let types = format!("({}, tensor<i32>) -> {}", ty(&x.shape), ty(&left));
                let of = format!("{} init: {}) applies stablehlo.{op}", x.name, init.name);
                self.hidden(&left, format!("stablehlo.reduce({of} across dimensions = [{dim}] : {types}"))
            } else {
                self.hidden(&x.shape, format!("stablehlo.not {} : {}", x.name, ty(&x.shape)))
            }];
            // Sometimes another op reads it between its stages and the end.
            if self.random.bool() {
                let first = found[0].clone();
                let op = format!("stablehlo.negate {} : {}", first.name, ty(&first.shape));
                found.push(self.hidden(&first.shape, op));
            }
            for value in found {
                let rank = value.shape.len();
                let at = if self.random.bool() { sharded(&vec![""; rank]) } else { self.scattered(rank) };
                self.result(value.name, ty(&value.shape), at);
            }
        }
    }

    /// Writes a change of the sharding of one value: parts of axes, partial sums, sizes without divisors, meshes whose
    /// devices are in any order.
    pub(super) fn reshards(&mut self) {
        let all: i64 = self.mesh.iter().map(|a| a.size).product();
        let shape: Vec<i64> = (0..self.random.usize(1..4))
            .map(|_| if self.random.u8(0..3) > 0 { all } else { self.random.i64(1..2 * all) })
            .collect();
        let partial = self.random.u8(0..3) == 0;
        let [from, to] = [partial, false].map(|partial| self.divided(shape.len(), partial));
        let name = self.argument(&shape, "i32", from);
        self.result(name, ty(&shape), to);
        if self.random.u8(0..4) == 0 {
            let mut order: Vec<i64> = (0..all).collect();
            self.random.shuffle(&mut order);
            self.order = Some(order).filter(|order| !order.is_sorted());
        }
    }

    /// Returns a sharding by axes and parts of axes, of which each may shard any dimension or be left to sum over.
    fn divided(&mut self, rank: usize, partial: bool) -> String {
        let mut parts = Vec::new();
        for axis in self.mesh.clone() {
            match self.random.u8(0..3) {
                0 => parts.extend(self.part(&axis)),
                _ => parts.push(format!("\"{}\"", axis.name)),
            }
        }
        self.random.shuffle(&mut parts);
        let (mut dims, mut unreduced) = (vec![Vec::new(); rank], Vec::new());
        for part in parts {
            match self.random.usize(0..rank * 2 + 1) {
                d if d < rank * 2 => dims[d % rank].push(part),
                _ if partial => unreduced.push(part),
                _ => {}
            }
        }
        let dims = list(dims.into_iter().map(|dim| format!("{{{}}}", merged(dim).join(", "))));
        unreduced.sort();
        let unreduced = merged(unreduced);
        let rest =
            if unreduced.is_empty() { String::new() } else { format!(", unreduced={{{}}}", unreduced.join(", ")) };
        format!(" {{sdy.sharding = #sdy.sharding<@mesh, [{dims}]{rest}>}}")
    }
}

/// Merges the major part of an axis and the rest that directly follows it into the whole axis, since shardings name the
/// largest parts.
fn merged(parts: Vec<String>) -> Vec<String> {
    let mut out: Vec<String> = Vec::new();
    for part in parts {
        let axis = part[..3].to_owned();
        match out.last_mut() {
            Some(last) if last.starts_with(&axis) && last.contains(":(1)") && !part.contains(":(1)") => *last = axis,
            _ => out.push(part),
        }
    }
    out
}
