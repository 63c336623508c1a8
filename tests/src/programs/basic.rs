//! Pointwise ops, constants, sums and products.

use super::description::DESCRIPTION;
use super::text::{list, of, ty};
use super::{MOST, Writer, elements};

impl Writer {
    /// Writes an op on two values.
    pub(super) fn binary(&mut self) {
        let x = self.any();
        let y = self.any_where(|shape| *shape == x.shape).expect("it is one itself");
        let op = self.usual("binary").name();
        self.add(&x.shape, format!("stablehlo.{op} {}, {} : {}", x.name, y.name, ty(&x.shape)));
    }

    /// Writes a choice between two values by a comparison.
    pub(super) fn compare(&mut self) {
        let x = self.any();
        let y = self.any_where(|shape| *shape == x.shape).expect("it is one itself");
        let (values, booleans) = (ty(&x.shape), of(&x.shape, "i1"));
        let direction = self.usual("compare").name();
        let less = self.hidden(
            &x.shape,
            format!("stablehlo.compare {direction}, {}, {} : ({values}, {values}) -> {booleans}", x.name, y.name),
        );
        let z = self.any_where(|shape| *shape == x.shape).expect("it is one itself");
        self.add(&x.shape, format!("stablehlo.select {}, {}, {} : {booleans}, {values}", less.name, x.name, z.name));
    }

    /// Writes an op on one value.
    pub(super) fn unary(&mut self) {
        let x = self.any();
        let op = self.usual("unary").name();
        self.add(&x.shape, format!("stablehlo.{op} {} : {}", x.name, ty(&x.shape)));
    }

    pub(super) fn clamp(&mut self) {
        let x = self.any();
        let (low, high, values) = (self.splat(&[], -3), self.splat(&[], 7), ty(&x.shape));
        let types = format!("(tensor<i32>, {values}, tensor<i32>) -> {values}");
        self.add(&x.shape, format!("stablehlo.clamp {}, {}, {} : {types}", low.name, x.name, high.name));
    }

    pub(super) fn remainder(&mut self) {
        let x = self.any();
        let by = self.random.i64(2..9);
        let by = self.splat(&x.shape, by);
        self.add(&x.shape, format!("stablehlo.remainder {}, {} : {}", x.name, by.name, ty(&x.shape)));
    }

    /// Converts a value to another element type, computes there, and converts the result back.
    pub(super) fn convert(&mut self) {
        let x = self.any();
        let element = &DESCRIPTION.element_types[self.random.usize(0..DESCRIPTION.element_types.len())];
        let (values, other) = (ty(&x.shape), of(&x.shape, &element.mlir));
        let mut there = self.hidden(&x.shape, format!("stablehlo.convert {} : ({values}) -> {other}", x.name));
        let kind = self.pick(&["unary", "binary"]);
        // The absolute values of complex numbers are real.
        if let Some(row) = self.row(kind, element).filter(|row| !(element.class == 'c' && row.name() == "abs")) {
            let operands = if kind == "unary" { there.name.clone() } else { format!("{0}, {0}", there.name) };
            there = self.hidden(&x.shape, format!("stablehlo.{} {operands} : {other}", row.name()));
        }
        let mut from = other;
        if let Some(part) = element.mlir.strip_prefix("complex<").and_then(|part| part.strip_suffix('>')) {
            let real = of(&x.shape, part);
            there = self.hidden(&x.shape, format!("stablehlo.real {} : ({from}) -> {real}", there.name));
            from = real;
        }
        self.add(&x.shape, format!("stablehlo.convert {} : ({from}) -> {values}", there.name));
    }

    /// Returns an op that combines elements in any order with the same result, and an initial value: its identity, or
    /// sometimes `other`, which must count once.
    pub(super) fn combiner(&mut self, other: Option<i64>) -> (&'static str, i64) {
        let row = self.usual("reduce");
        let identity = row.identity.expect("random_programs.json gives every reduction of i32 an identity");
        (row.name(), other.filter(|_| self.random.u8(0..4) == 0).unwrap_or(identity))
    }

    pub(super) fn constant(&mut self) {
        let shape = self.any().shape;
        if self.random.bool() || shape.is_empty() {
            let value = self.random.i64(-3..9);
            let value = self.splat(&shape, value);
            self.values.push(value);
            return;
        }
        let d = self.random.usize(0..shape.len());
        self.add(&shape, format!("stablehlo.iota dim = {d} : {}", ty(&shape)));
    }

    pub(super) fn reduce(&mut self) {
        let x = self.any();
        let dims: Vec<usize> = (0..x.shape.len()).filter(|_| self.random.bool()).collect();
        let kept: Vec<i64> = (0..x.shape.len()).filter(|d| !dims.contains(d)).map(|d| x.shape[d]).collect();
        let (op, init) = self.combiner(Some(5));
        let init = self.splat(&[], init);
        let types = format!("({}, tensor<i32>) -> {}", ty(&x.shape), ty(&kept));
        let what =
            format!("{} init: {}) applies stablehlo.{op} across dimensions = [{}]", x.name, init.name, list(dims));
        self.add(&kept, format!("stablehlo.reduce({what} : {types}"));
    }

    pub(super) fn dot_general(&mut self) {
        let (x, y) = (self.any(), self.any());
        let [mut batch, mut contracted] = [const { Vec::<(usize, usize)>::new() }; 2];
        for (i, n) in x.shape.iter().enumerate() {
            let free = |j: &usize| !batch.iter().chain(&contracted).any(|p| p.1 == *j);
            let Some(j) = (0..y.shape.len()).filter(free).find(|&j| y.shape[j] == *n) else { continue };
            match self.random.u8(0..4) {
                0 => batch.push((i, j)),
                1 => {}
                _ => contracted.push((i, j)),
            }
        }
        let free = |shape: &[i64], side: fn(&(usize, usize)) -> usize| -> Vec<i64> {
            let used: Vec<usize> = batch.iter().chain(&contracted).map(side).collect();
            (0..shape.len()).filter(|d| !used.contains(d)).map(|d| shape[d]).collect()
        };
        let mut shape: Vec<i64> = batch.iter().map(|p| x.shape[p.0]).collect();
        shape.extend(free(&x.shape, |p| p.0));
        shape.extend(free(&y.shape, |p| p.1));
        if elements(&shape) > MOST || shape.len() > 4 {
            return;
        }
        let pairs = |list_: &[(usize, usize)]| {
            format!("[{}] x [{}]", list(list_.iter().map(|p| p.0)), list(list_.iter().map(|p| p.1)))
        };
        let types = format!("({}, {}) -> {}", ty(&x.shape), ty(&y.shape), ty(&shape));
        let (batch, contracted) = (pairs(&batch), pairs(&contracted));
        let dims = format!("batching_dims = {batch}, contracting_dims = {contracted}");
        self.add(&shape, format!("stablehlo.dot_general {}, {}, {dims} : {types}", x.name, y.name));
    }

    /// Writes random bits from a constant state, or the bytes of a value in an extra dimension.
    pub(super) fn bits(&mut self) {
        let x = self.any();
        if self.random.bool() && !x.shape.is_empty() {
            let state = self.hidden(&[2], "stablehlo.constant dense<[7, 9]> : tensor<2xui64>");
            let algorithm = ["THREE_FRY", "PHILOX"][self.random.usize(0..2)];
            let bits = of(&x.shape, "ui32");
            let name = self.name();
            self.line(format!(
                "{name}:2 = stablehlo.rng_bit_generator {}, algorithm = {algorithm} : (tensor<2xui64>) -> (tensor<2xui64>, {bits})",
                state.name
            ));
            self.add(&x.shape, format!("stablehlo.bitcast_convert {name}#1 : ({bits}) -> {}", ty(&x.shape)));
        } else if elements(&x.shape) * 4 <= MOST && x.shape.len() < 3 {
            let mut shape = x.shape.clone();
            shape.push(4);
            let bytes = of(&shape, "i8");
            let split =
                self.hidden(&shape, format!("stablehlo.bitcast_convert {} : ({}) -> {bytes}", x.name, ty(&x.shape)));
            self.add(&shape, format!("stablehlo.convert {} : ({bytes}) -> {}", split.name, ty(&shape)));
        }
    }
}
