//! Pointwise ops, constants, sums and products.

use super::text::{COMBINERS, list, of, ty};
use super::{MOST, Writer, elements};

impl Writer {
    pub(super) fn binary(&mut self) {
        let x = self.any();
        let y = self.any_where(|shape| *shape == x.shape).expect("it is one itself");
        let op = ["add", "multiply", "maximum", "minimum", "subtract", "xor", "and", "or"][self.random.usize(0..8)];
        if self.random.u8(0..4) > 0 {
            self.add(&x.shape, format!("stablehlo.{op} {}, {} : {}", x.name, y.name, ty(&x.shape)));
            return;
        }
        let (values, booleans) = (ty(&x.shape), of(&x.shape, "i1"));
        let direction = ["LT", "GE", "EQ"][self.random.usize(0..3)];
        let less = self.hidden(
            &x.shape,
            format!("stablehlo.compare {direction}, {}, {} : ({values}, {values}) -> {booleans}", x.name, y.name),
        );
        let z = self.any_where(|shape| *shape == x.shape).expect("it is one itself");
        self.add(&x.shape, format!("stablehlo.select {}, {}, {} : {booleans}, {values}", less.name, x.name, z.name));
    }

    pub(super) fn unary(&mut self) {
        let x = self.any();
        let values = ty(&x.shape);
        match self.random.u8(0..4) {
            0 => {
                let op = ["negate", "abs", "not", "sign", "popcnt"][self.random.usize(0..5)];
                self.add(&x.shape, format!("stablehlo.{op} {} : {values}", x.name));
            }
            1 => {
                let (low, high) = (self.splat(&[], -3), self.splat(&[], 7));
                let types = format!("(tensor<i32>, {values}, tensor<i32>) -> {values}");
                self.add(&x.shape, format!("stablehlo.clamp {}, {}, {} : {types}", low.name, x.name, high.name));
            }
            2 => {
                let by = self.random.i64(2..9);
                let by = self.splat(&x.shape, by);
                self.add(&x.shape, format!("stablehlo.remainder {}, {} : {values}", x.name, by.name));
            }
            _ => {
                let element = ["i8", "ui16", "i64", "i1"][self.random.usize(0..4)];
                let narrow = of(&x.shape, element);
                let narrowed = self.hidden(&x.shape, format!("stablehlo.convert {} : ({values}) -> {narrow}", x.name));
                self.add(&x.shape, format!("stablehlo.convert {} : ({narrow}) -> {values}", narrowed.name));
            }
        }
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
        let (op, identity) = COMBINERS[self.random.usize(0..COMBINERS.len())];
        // An initial value must count once, even if it isn't the identity.
        let init = if self.random.u8(0..4) == 0 { 5 } else { identity };
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
