//! Small random training steps: layers, a loss, their derivatives and an optimizer, sharded at random. Rounding affects
//! them as it affects large ones: long sums, exponentials, divisions by small roots, gradients that consist only of
//! rounding errors.
//!
//! [`step`] returns the step of a seed, as text.

use fastrand::Rng;

use crate::sharded::ty;
use crate::tensors::{Value, Writer};

/// Maps the gradient of a layer's result to the gradient of its input.
type Backward = Box<dyn FnOnce(&mut Step, Value) -> Value>;

/// A training step being written; layers compute in its element type.
type Step = Writer<Trained>;

struct Trained {
    /// The element type of parameters.
    stored: &'static str,
    /// Parameters with their gradients, once these are known.
    parameters: Vec<(Value, Value)>,
}

/// Returns a training step that computes in `element`: f32, bf16 or f16.
pub fn step(seed: u64, element: &'static str) -> String {
    let mut random = Rng::with_seed(seed);
    let mesh = [
        ("\"x\"=2", &["x"] as &[&str]),
        ("\"x\"=4", &["x"]),
        ("\"x\"=2, \"y\"=2", &["x", "y"]),
        ("\"x\"=2, \"y\"=4", &["x", "y"]),
    ][random.usize(..4)];
    let mixed = element != "f32" && random.bool();
    let (batch, positions) = ([2, 4, 8, 16][random.usize(..4)], [4, 8, 16, 32][random.usize(..4)]);
    let width = [4, 8, 16][random.usize(..3)];
    let trained = Trained { stored: if mixed { "f32" } else { element }, parameters: Vec::new() };
    let mut w = Step::new(random, element, mesh, trained);
    let mut x = w.sharded(&[batch * positions, width], element);
    let mut backward: Vec<Backward> = Vec::new();
    for _ in 0..1 + w.random.usize(..3) {
        let (y, back) = match w.random.u8(..6) {
            0 => w.linear(x, width),
            1 => w.perceptron(x),
            2 => w.norm(x, false),
            3 => w.norm(x, true),
            4 => w.attention(x, batch, positions),
            _ => w.convolution(x, batch, positions),
        };
        backward.push(back);
        x = y;
    }
    let (loss, mut gradient) = if w.random.bool() { w.squares(x) } else { w.entropy(x) };
    for back in backward.into_iter().rev() {
        gradient = back(&mut w, gradient);
    }
    let mut results = vec![loss];
    let optimizer = w.random.u8(..4);
    for (parameter, gradient) in std::mem::take(&mut w.state.parameters) {
        results.extend(w.update(optimizer, parameter, gradient));
    }
    let results: Vec<(Value, String)> = results.into_iter().map(|value| (value, String::new())).collect();
    w.program(&results)
}

impl Step {
    /// Adds an argument with a random sharding.
    fn sharded(&mut self, shape: &[i64], element: &'static str) -> Value {
        let sharding = self.sharding(shape.len());
        self.argument(shape, element, &sharding)
    }

    /// Adds a parameter. Returns its stored form and the form converted to the layers' element type.
    fn parameter(&mut self, shape: &[i64]) -> (Value, Value) {
        let stored = self.sharded(shape, self.state.stored);
        let used = self.convert(&stored, self.element);
        (stored, used)
    }

    fn trains(&mut self, stored: Value, gradient: &Value) {
        let gradient = self.convert(gradient, stored.element);
        self.state.parameters.push((stored, gradient));
    }

    fn times(&mut self, x: &Value, by: f64) -> Value {
        let by = self.splat(x, by);
        self.binary("multiply", x, &by)
    }

    /// Multiplies over one dimension of each operand; the first dimension of rank-3 tensors is a batch.
    fn dot(&mut self, x: &Value, y: &Value, over: (usize, usize)) -> Value {
        let batch: &[usize] = if x.shape.len() == 3 { &[0] } else { &[] };
        self.product(x, y, [batch, batch], [&[over.0], &[over.1]])
    }

    /// Computes the mean over the last dimension, broadcast back along it.
    fn mean(&mut self, x: &Value) -> Value {
        let last = x.shape.len() - 1;
        let sum = self.reduce("add", x, &[last]);
        let mean = self.times(&sum, 1.0 / x.shape[last] as f64);
        self.broadcast(&mean, &x.shape, &(0..last).collect::<Vec<_>>())
    }

    fn linear(&mut self, x: Value, width: i64) -> (Value, Backward) {
        let (weights, used) = self.parameter(&[x.shape[1], width]);
        let used = self.times(&used, 0.3);
        let (bias, used_bias) = self.parameter(&[width]);
        let y = self.dot(&x, &used, (1, 0));
        let wide = self.broadcast(&used_bias, &y.shape, &[1]);
        let y = self.add(&y, &wide);
        let back = move |w: &mut Self, dy: Value| {
            let own = w.dot(&x, &dy, (0, 0));
            let own = w.times(&own, 0.3);
            w.trains(weights, &own);
            let own = w.reduce("add", &dy, &[0]);
            w.trains(bias, &own);
            w.dot(&dy, &used, (1, 1))
        };
        (y, Box::new(back))
    }

    fn activation(&mut self, x: Value) -> (Value, Backward) {
        let one = self.splat(&x, 1.0);
        match self.random.u8(..3) {
            0 => {
                let y = self.unary("tanh", &x);
                let kept = y.clone();
                let back = move |w: &mut Self, dy: Value| {
                    let square = w.multiply(&kept, &kept);
                    let slope = w.binary("subtract", &one, &square);
                    w.multiply(&dy, &slope)
                };
                (y, Box::new(back))
            }
            1 => {
                let zero = self.splat(&x, 0.0);
                let y = self.binary("maximum", &x, &zero);
                let back = move |w: &mut Self, dy: Value| {
                    let positive = w.compare("GT", &x, &zero);
                    let types = format!("{}, {}", positive.ty(), x.ty());
                    let op = format!("stablehlo.select {}, {}, {} : {types}", positive.name, dy.name, zero.name);
                    w.line(&x.shape, x.element, op)
                };
                (y, Box::new(back))
            }
            _ => {
                let share = self.unary("logistic", &x);
                let y = self.multiply(&x, &share);
                let kept = y.clone();
                let back = move |w: &mut Self, dy: Value| {
                    let rest = w.binary("subtract", &one, &share);
                    let rest = w.multiply(&kept, &rest);
                    let slope = w.add(&share, &rest);
                    w.multiply(&dy, &slope)
                };
                (y, Box::new(back))
            }
        }
    }

    /// Adds two layers with an activation between them and a residual connection around them.
    fn perceptron(&mut self, x: Value) -> (Value, Backward) {
        let width = x.shape[1];
        let (hidden, first) = self.linear(x.clone(), 2 * width);
        let (active, second) = self.activation(hidden);
        let (y, third) = self.linear(active, width);
        let y = self.add(&x, &y);
        let back = move |w: &mut Self, dy: Value| {
            let inner = third(w, dy.clone());
            let inner = second(w, inner);
            let inner = first(w, inner);
            w.add(&dy, &inner)
        };
        (y, Box::new(back))
    }

    /// Adds a layer norm, or one without a mean.
    fn norm(&mut self, x: Value, centered: bool) -> (Value, Backward) {
        let (scale, used) = self.parameter(&[x.shape[1]]);
        let mut around = x.clone();
        if centered {
            let mean = self.mean(&x);
            around = self.binary("subtract", &x, &mean);
        }
        let square = self.multiply(&around, &around);
        let variance = self.mean(&square);
        let least = self.splat(&x, 1e-5);
        let variance = self.add(&variance, &least);
        let inverse = self.unary("rsqrt", &variance);
        let normal = self.multiply(&around, &inverse);
        let wide = self.broadcast(&used, &x.shape, &[1]);
        let y = self.multiply(&normal, &wide);
        let back = move |w: &mut Self, dy: Value| {
            let own = w.multiply(&dy, &normal);
            let own = w.reduce("add", &own, &[0]);
            w.trains(scale, &own);
            let inner = w.multiply(&dy, &wide);
            let along = w.multiply(&inner, &normal);
            let along = w.mean(&along);
            let along = w.multiply(&normal, &along);
            let mut dx = w.binary("subtract", &inner, &along);
            if centered {
                let mean = w.mean(&inner);
                dx = w.binary("subtract", &dx, &mean);
            }
            w.multiply(&dx, &inverse)
        };
        (y, Box::new(back))
    }

    /// Adds attention with one head, over the positions of each row of the batch.
    fn attention(&mut self, x: Value, batch: i64, positions: i64) -> (Value, Backward) {
        let width = x.shape[1];
        let apart = [batch, positions, width];
        let (query, query_back) = self.linear(x.clone(), width);
        let (key, key_back) = self.linear(x.clone(), width);
        let (value, value_back) = self.linear(x.clone(), width);
        let [q, k, v] = [query, key, value].map(|v| self.reshape(&v, &apart));
        let scores = self.dot(&q, &k, (2, 2));
        let root = (width as f64).sqrt();
        let scores = self.times(&scores, 1.0 / root);
        let shares = self.softmax(&scores);
        let y = self.dot(&shares, &v, (2, 1));
        let y = self.reshape(&y, &x.shape);
        let y = self.add(&x, &y);
        let back = move |w: &mut Self, dy: Value| {
            let outer = w.reshape(&dy, &apart);
            let dv = w.dot(&shares, &outer, (1, 1));
            let dshares = w.dot(&outer, &v, (2, 2));
            let along = w.multiply(&dshares, &shares);
            let along = w.reduce("add", &along, &[2]);
            let along = w.broadcast(&along, &dshares.shape, &[0, 1]);
            let dscores = w.binary("subtract", &dshares, &along);
            let dscores = w.multiply(&dscores, &shares);
            let dscores = w.times(&dscores, 1.0 / root);
            let dq = w.dot(&dscores, &k, (2, 1));
            let dk = w.dot(&dscores, &q, (1, 1));
            let mut dx = dy.clone();
            for (inner, back) in [(dq, query_back), (dk, key_back), (dv, value_back)] {
                let inner = w.reshape(&inner, &dy.shape);
                let inner = back(w, inner);
                dx = w.add(&dx, &inner);
            }
            dx
        };
        (y, Box::new(back))
    }

    /// Adds a convolution over positions, as a sum of products of neighbors.
    fn convolution(&mut self, x: Value, batch: i64, positions: i64) -> (Value, Backward) {
        let width = x.shape[1];
        let (mut y, mut backs) = (None, Vec::new());
        for offset in [-1, 0, 1] {
            let shifted = self.shifted(&x, batch, positions, offset);
            let (part, back) = self.linear(shifted, width);
            backs.push((offset, back));
            y = Some(match y {
                Some(y) => self.add(&y, &part),
                None => part,
            });
        }
        let back = move |w: &mut Self, dy: Value| {
            let mut dx = None;
            for (offset, back) in backs {
                let inner = back(w, dy.clone());
                let inner = w.shifted(&inner, batch, positions, -offset);
                dx = Some(match dx {
                    Some(dx) => w.add(&dx, &inner),
                    None => inner,
                });
            }
            dx.expect("there are three")
        };
        (y.expect("there are three"), Box::new(back))
    }

    /// Shifts values by `offset` positions, with zeros at the border.
    fn shifted(&mut self, x: &Value, batch: i64, positions: i64, offset: i64) -> Value {
        if offset == 0 {
            return x.clone();
        }
        let apart = self.reshape(x, &[batch, positions, x.shape[1]]);
        let zero = self.splat(&Value { shape: Vec::new(), ..x.clone() }, 0.0);
        let op = format!(
            "stablehlo.pad {}, {}, low = [0, {offset}, 0], high = [0, {}, 0], interior = [0, 0, 0] : ({}, {}) -> {}",
            apart.name,
            zero.name,
            -offset,
            apart.ty(),
            zero.ty(),
            apart.ty()
        );
        let moved = self.line(&apart.shape, x.element, op);
        self.reshape(&moved, &x.shape)
    }

    /// Computes the mean squared error and its gradient.
    fn squares(&mut self, x: Value) -> (Value, Value) {
        let target = self.sharded(&x.shape, x.element);
        let off = self.binary("subtract", &x, &target);
        let square = self.multiply(&off, &off);
        let share = 1.0 / (x.shape[0] * x.shape[1]) as f64;
        let sum = self.reduce("add", &square, &[0, 1]);
        let loss = self.times(&sum, share);
        let gradient = self.times(&off, 2.0 * share);
        (loss, gradient)
    }

    /// Computes the cross entropy of classes and its gradient.
    fn entropy(&mut self, x: Value) -> (Value, Value) {
        let shares = self.softmax(&x);
        let classes = self.line(&x.shape, "i32", format!("stablehlo.iota dim = 1 : {}", ty(&x.shape, "i32")));
        let rows = self.line(&x.shape, "i32", format!("stablehlo.iota dim = 0 : {}", ty(&x.shape, "i32")));
        let width = self.line(&x.shape, "i32", format!("stablehlo.constant dense<{}> : {}", x.shape[1], rows.ty()));
        let wanted = self.binary("remainder", &rows, &width);
        let hot = self.compare("EQ", &classes, &wanted);
        let hot = self.convert(&hot, x.element);
        let logs = self.unary("log", &shares);
        let own = self.multiply(&logs, &hot);
        let sum = self.reduce("add", &own, &[0, 1]);
        let loss = self.times(&sum, -1.0 / x.shape[0] as f64);
        let off = self.binary("subtract", &shares, &hot);
        let gradient = self.times(&off, 1.0 / x.shape[0] as f64);
        (loss, gradient)
    }

    /// Returns the new parameter, and the optimizer's new state.
    fn update(&mut self, optimizer: u8, parameter: Value, gradient: Value) -> Vec<Value> {
        if optimizer == 0 {
            let by = self.times(&gradient, 0.01);
            return vec![self.binary("subtract", &parameter, &by)];
        }
        // The first step starts from zeros, so that dividend and divisor have the same magnitude.
        let (mean, square) = if self.random.bool() {
            (self.splat(&parameter, 0.0), self.splat(&parameter, 0.0))
        } else {
            let [mean, root] = [(); 2].map(|()| self.sharded(&parameter.shape, parameter.element));
            let square = self.multiply(&root, &root);
            (mean, square)
        };
        let (kept, new) = (self.times(&mean, 0.9), self.times(&gradient, 0.1));
        let mean = self.add(&kept, &new);
        if optimizer == 1 {
            let by = self.times(&mean, 0.01);
            return vec![self.binary("subtract", &parameter, &by), mean];
        }
        let squared = self.multiply(&gradient, &gradient);
        let (kept, new) = (self.times(&square, 0.99), self.times(&squared, 0.01));
        let square = self.add(&kept, &new);
        let root = self.unary("sqrt", &square);
        let least = self.splat(&root, 1e-6);
        let below = self.add(&root, &least);
        let mut by = self.binary("divide", &mean, &below);
        if optimizer == 3 {
            let decay = self.times(&parameter, 0.01);
            by = self.add(&by, &decay);
        }
        let by = self.times(&by, 0.01);
        vec![self.binary("subtract", &parameter, &by), mean, square]
    }
}
