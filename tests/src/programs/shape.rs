//! Ops that move elements: reshapes, slices, pads, concatenations.

use super::text::{list, ty};
use super::{MOST, Value, Writer, elements};

impl Writer {
    /// Returns whether steps must not move elements along a dimension.
    fn keeps(&self, d: usize) -> bool {
        self.along.is_some_and(|along| along != d)
    }

    pub(super) fn broadcast(&mut self) {
        let x = self.any();
        let (n, at) = (self.random.i64(1..6), self.random.usize(0..x.shape.len() + 1));
        let mut shape = x.shape.clone();
        shape.insert(at, n);
        if elements(&shape) > MOST || shape.len() > 4 {
            return;
        }
        let dims = list((0..shape.len()).filter(|&d| d != at));
        self.add(
            &shape,
            format!("stablehlo.broadcast_in_dim {}, dims = [{dims}] : ({}) -> {}", x.name, ty(&x.shape), ty(&shape)),
        );
    }

    pub(super) fn transpose(&mut self) {
        let x = self.any();
        let mut order: Vec<usize> = (0..x.shape.len()).collect();
        self.random.shuffle(&mut order);
        let shape: Vec<i64> = order.iter().map(|&d| x.shape[d]).collect();
        self.add(
            &shape,
            format!("stablehlo.transpose {}, dims = [{}] : ({}) -> {}", x.name, list(order), ty(&x.shape), ty(&shape)),
        );
    }

    pub(super) fn reshape(&mut self) {
        let x = self.any();
        let mut left = elements(&x.shape);
        if left == 0 {
            return;
        }
        let mut shape = Vec::new();
        for _ in 0..self.random.usize(0..3) {
            let divisors: Vec<i64> = (1..=left.min(16)).filter(|d| left % d == 0).collect();
            let d = divisors[self.random.usize(0..divisors.len())];
            shape.push(d);
            left /= d;
        }
        shape.insert(self.random.usize(0..shape.len() + 1), left);
        self.add(&shape, format!("stablehlo.reshape {} : ({}) -> {}", x.name, ty(&x.shape), ty(&shape)));
    }

    pub(super) fn slice(&mut self) {
        let x = self.any();
        let (mut kept, mut ranges) = (Vec::new(), Vec::new());
        for (d, &n) in x.shape.iter().enumerate() {
            let whole = self.random.u8(0..3) == 0 || n == 0 || self.keeps(d);
            let (start, stride) = if whole { (0, 1) } else { (self.random.i64(0..n.min(5)), self.random.i64(1..3)) };
            let limit = if whole || self.random.bool() { n } else { self.random.i64(start + 1..n + 1) };
            kept.push((limit - start + stride - 1) / stride);
            ranges.push(format!("{start}:{limit}:{stride}"));
        }
        self.add(
            &kept,
            format!("stablehlo.slice {} [{}] : ({}) -> {}", x.name, ranges.join(", "), ty(&x.shape), ty(&kept)),
        );
    }

    pub(super) fn pad(&mut self) {
        let x = self.any();
        let (mut low, mut high, mut interior, mut padded) = (vec![], vec![], vec![], vec![]);
        for (d, &n) in x.shape.iter().enumerate() {
            let edge = |random: &mut fastrand::Rng| if random.bool() { 0 } else { random.i64(-2..6) };
            let (l, h) = (edge(&mut self.random), edge(&mut self.random));
            let i = if self.random.u8(0..4) == 0 { self.random.i64(0..3) } else { 0 };
            let size = n + (n - 1).max(0) * i + l + h;
            let (l, h, i, size) =
                if (1..30).contains(&size) && !self.keeps(d) { (l, h, i, size) } else { (0, 0, 0, n) };
            low.push(l);
            high.push(h);
            interior.push(i);
            padded.push(size);
        }
        if elements(&padded) > MOST {
            return;
        }
        let with = self.splat(&[], 7);
        self.add(
            &padded,
            format!(
                "stablehlo.pad {}, {}, low = {low:?}, high = {high:?}, interior = {interior:?} : ({}, tensor<i32>) -> {}",
                x.name,
                with.name,
                ty(&x.shape),
                ty(&padded)
            ),
        );
    }

    pub(super) fn reverse(&mut self) {
        let x = self.any();
        let dims = list((0..x.shape.len()).filter(|&d| self.random.bool() && !self.keeps(d)).collect::<Vec<_>>());
        self.add(&x.shape, format!("stablehlo.reverse {}, dims = [{dims}] : {}", x.name, ty(&x.shape)));
    }

    /// Writes two slices of one value, concatenated in the other order.
    pub(super) fn roll(&mut self) {
        let x = self.any();
        let Some(d) = (0..x.shape.len()).find(|&d| x.shape[d] > 1 && !self.keeps(d)) else { return };
        let by = self.random.i64(1..x.shape[d]);
        let mut parts = Vec::new();
        for (start, limit) in [(by, x.shape[d]), (0, by)] {
            let mut shape = x.shape.clone();
            shape[d] = limit - start;
            let range = |(i, n): (usize, &i64)| if i == d { format!("{start}:{limit}") } else { format!("0:{n}") };
            let ranges = list(x.shape.iter().enumerate().map(range));
            let op = format!("stablehlo.slice {} [{ranges}] : ({}) -> {}", x.name, ty(&x.shape), ty(&shape));
            parts.push(self.add(&shape, op));
        }
        self.join(&parts, d);
    }

    pub(super) fn concatenate(&mut self) {
        let first = self.any();
        if first.shape.is_empty() {
            return;
        }
        let d = self.along.unwrap_or_else(|| self.random.usize(0..first.shape.len()));
        let mut parts = vec![first.clone()];
        for _ in 0..self.random.usize(1..4) {
            let fits = |shape: &[i64]| {
                shape.len() == first.shape.len() && (0..shape.len()).all(|i| i == d || shape[i] == first.shape[i])
            };
            parts.extend(self.any_where(fits));
        }
        self.join(&parts, d);
    }

    fn join(&mut self, parts: &[Value], d: usize) {
        let mut shape = parts[0].shape.clone();
        shape[d] = parts.iter().map(|p| p.shape[d]).sum();
        if elements(&shape) > MOST {
            return;
        }
        let types = list(parts.iter().map(|p| ty(&p.shape)));
        let names = list(parts.iter().map(|p| &p.name));
        self.add(&shape, format!("stablehlo.concatenate {names}, dim = {d} : ({types}) -> {}", ty(&shape)));
    }

    pub(super) fn constraint(&mut self) {
        let x = self.any();
        let sharding = self.sharding(x.shape.len());
        let ty = ty(&x.shape);
        match self.random.u8(0..8) {
            0 => self.add(&x.shape, format!("stablehlo.optimization_barrier {} : {ty}", x.name)),
            _ => self.add(&x.shape, format!("sdy.sharding_constraint {} {sharding} : {ty}", x.name)),
        };
    }

    /// Returns a position in each dimension of `shape` as further operands, and their types.
    fn starts(&mut self, shape: &[i64]) -> (String, String) {
        let mut starts: Vec<Value> = shape.iter().map(|&n| self.scalar_position(n)).collect();
        let narrow = self.random.u8(0..4) == 0;
        let to = if narrow { "tensor<i16>" } else { "tensor<i32>" };
        for start in starts.iter_mut().filter(|_| narrow) {
            *start = self.hidden(&[], format!("stablehlo.convert {} : (tensor<i32>) -> {to}", start.name));
        }
        (starts.iter().map(|s| format!(", {}", s.name)).collect(), format!(", {to}").repeat(starts.len()))
    }

    pub(super) fn dynamic_slice(&mut self) {
        let x = self.any();
        let sizes: Vec<i64> =
            x.shape.iter().map(|&n| if self.random.bool() { n } else { self.random.i64(n.min(1)..n + 1) }).collect();
        let (starts, types) = self.starts(&x.shape);
        let (from, to, sizes_) = (ty(&x.shape), ty(&sizes), list(&sizes));
        let op = format!("stablehlo.dynamic_slice {}{starts}, sizes = [{sizes_}] : ({from}{types}) -> {to}", x.name);
        self.add(&sizes, op);
    }

    pub(super) fn dynamic_update_slice(&mut self) {
        let x = self.any();
        let fits = |shape: &[i64]| shape.len() == x.shape.len() && shape.iter().zip(&x.shape).all(|(a, b)| a <= b);
        let Some(update) = self.any_where(fits) else { return };
        let (starts, types) = self.starts(&x.shape);
        let (of, part) = (ty(&x.shape), ty(&update.shape));
        let operands = format!("{}, {}{starts}", x.name, update.name);
        self.add(&x.shape, format!("stablehlo.dynamic_update_slice {operands} : ({of}, {part}{types}) -> {of}"));
    }
}
