//! Ops that need all of a dimension: sorts, the largest elements, positions of extremes, transforms.

use super::Writer;
use super::text::{array, of, ty};

impl Writer {
    /// Writes a stable sort of a value and of another value or the positions.
    pub(super) fn sort(&mut self) {
        let x = self.any();
        if x.shape.is_empty() {
            return;
        }
        let d = self.random.usize(0..x.shape.len());
        let values = ty(&x.shape);
        let places = self.hidden(&x.shape, format!("stablehlo.iota dim = {d} : {values}"));
        let other = match self.random.bool() {
            true => places,
            false => self.any_where(|shape| *shape == x.shape).expect("it is one itself"),
        };
        let direction = ["LT", "GT"][self.random.usize(0..2)];
        let name = self.name();
        self.line(format!(
            "{name}:2 = \"stablehlo.sort\"({}, {}) <{{dimension = {d} : i64, is_stable = true}}> ({{\n    ^bb0(%p: tensor<i32>, \
             %q: tensor<i32>, %j: tensor<i32>, %k: tensor<i32>):\n      %s = stablehlo.compare {direction}, %p, %q : \
             (tensor<i32>, tensor<i32>) -> tensor<i1>\n      \"stablehlo.return\"(%s) : (tensor<i1>) -> ()\n    }}) : ({values}, \
             {values}) -> ({values}, {values})",
            x.name, other.name
        ));
        for i in 0..2 {
            self.add(&x.shape, format!("stablehlo.optimization_barrier {name}#{i} : {values}"));
        }
    }

    pub(super) fn top_k(&mut self) {
        let x = self.any();
        let Some(&last) = x.shape.last().filter(|&&n| n > 0) else { return };
        let k = self.random.i64(1..last.min(4) + 1);
        let mut kept = x.shape.clone();
        *kept.last_mut().expect("it has one") = k;
        let result = ty(&kept);
        let name = self.name();
        self.line(format!("{name}:2 = chlo.top_k({}, k = {k}) : {} -> ({result}, {result})", x.name, ty(&x.shape)));
        for i in 0..2 {
            self.add(&kept, format!("stablehlo.optimization_barrier {name}#{i} : {result}"));
        }
    }

    /// Writes the smallest or largest element along a dimension and its first position.
    pub(super) fn place(&mut self) {
        let x = self.any();
        if x.shape.is_empty() {
            return;
        }
        let d = self.random.usize(0..x.shape.len());
        let kept: Vec<i64> = (0..x.shape.len()).filter(|&i| i != d).map(|i| x.shape[i]).collect();
        let (direction, worst) = [("LT", 2_147_483_647), ("GT", -2_147_483_648)][self.random.usize(0..2)];
        let places = self.hidden(&x.shape, format!("stablehlo.iota dim = {d} : {}", ty(&x.shape)));
        let (init, zero) = (self.splat(&[], worst), self.splat(&[], 0));
        let (values, result, name) = (ty(&x.shape), ty(&kept), self.name());
        self.line(format!(
            "{name}:2 = stablehlo.reduce({} init: {}), ({} init: {}) across dimensions = [{d}] : ({values}, {values}, tensor<i32>, \
             tensor<i32>) -> ({result}, {result})\n     reducer(%p: tensor<i32>, %q: tensor<i32>) (%j: tensor<i32>, %k: tensor<i32>) {{
      %b = stablehlo.compare {direction}, %p, %q : (tensor<i32>, tensor<i32>) -> tensor<i1>
      %e = stablehlo.compare EQ, %p, %q : (tensor<i32>, tensor<i32>) -> tensor<i1>
      %f = stablehlo.compare LT, %j, %k : (tensor<i32>, tensor<i32>) -> tensor<i1>
      %t = stablehlo.and %e, %f : tensor<i1>
      %o = stablehlo.or %b, %t : tensor<i1>
      %v = stablehlo.select %b, %p, %q : tensor<i1>, tensor<i32>
      %w = stablehlo.select %o, %j, %k : tensor<i1>, tensor<i32>
      stablehlo.return %v, %w : tensor<i32>, tensor<i32>
    }}",
            x.name, init.name, places.name, zero.name
        ));
        for i in 0..2 {
            self.add(&kept, format!("stablehlo.optimization_barrier {name}#{i} : {result}"));
        }
    }

    /// Writes a transform over dimensions of two or four elements, where integers stay integers up to rounding.
    pub(super) fn fft(&mut self) {
        let exact = |n: &i64| [2, 4].contains(n);
        let Some(x) = self.any_where(|shape| shape.last().is_some_and(exact)) else { return };
        let many = x.shape.iter().rev().take_while(|n| exact(n)).count().min(3);
        let length: Vec<i64> = x.shape[x.shape.len() - self.random.usize(1..many + 1)..].to_vec();
        let (values, floats, complex) = (ty(&x.shape), of(&x.shape, "f32"), of(&x.shape, "complex<f32>"));
        let by = self.splat(&x.shape, 50);
        let small = self.hidden(&x.shape, format!("stablehlo.remainder {}, {} : {values}", x.name, by.name));
        let real = self.hidden(&x.shape, format!("stablehlo.convert {} : ({values}) -> {floats}", small.name));
        let number = self.hidden(&x.shape, format!("stablehlo.complex {}, {} : {complex}", real.name, real.name));
        let length = array(&length);
        let transformed = self.hidden(
            &x.shape,
            format!(
                "\"stablehlo.fft\"({}) <{{fft_length = {length}, fft_type = #stablehlo<fft_type FFT>}}> : ({complex}) -> {complex}",
                number.name
            ),
        );
        let part = ["real", "imag"][self.random.usize(0..2)];
        let real = self.hidden(&x.shape, format!("stablehlo.{part} {} : ({complex}) -> {floats}", transformed.name));
        let rounded = self.hidden(&x.shape, format!("stablehlo.round_nearest_even {} : {floats}", real.name));
        self.add(&x.shape, format!("stablehlo.convert {} : ({floats}) -> {values}", rounded.name));
    }
}
