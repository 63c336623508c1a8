//! Random models of real sizes, for plans that are priced and never run: layers of transformers, mixtures of experts
//! and lookups in a row, the products by which weights get their gradients, and arguments sharded as users annotate
//! them.

use fastrand::Rng;

use crate::sharded::{sharding, ty};

/// A tensor of the program being written.
#[derive(Clone)]
struct Value {
    name: String,
    shape: Vec<i64>,
}

struct Writer {
    random: Rng,
    element: &'static str,
    axes: &'static [&'static str],
    heads: Vec<String>,
    lines: String,
    count: usize,
    /// Gradients, with the shardings of their weights.
    gradients: Vec<(Value, String)>,
}

/// Meshes of as many devices as all targets have at least.
const MESHES: [(&str, &[&str]); 7] = [
    ("\"x\"=2", &["x"]),
    ("\"x\"=4", &["x"]),
    ("\"x\"=8", &["x"]),
    ("\"x\"=2, \"y\"=2", &["x", "y"]),
    ("\"x\"=2, \"y\"=4", &["x", "y"]),
    ("\"x\"=4, \"y\"=2", &["x", "y"]),
    ("\"x\"=2, \"y\"=2, \"z\"=2", &["x", "y", "z"]),
];

/// The model of a seed.
pub fn model(seed: u64) -> String {
    let mut random = Rng::with_seed(seed);
    let (mesh, axes) = MESHES[random.usize(..MESHES.len())];
    let element = ["f32", "bf16"][random.usize(..2)];
    let (batch, tokens) = ([1, 4, 8, 32][random.usize(..4)], [128, 512, 1000, 2048][random.usize(..4)]);
    let (heads, size) = ([2, 4, 8, 12][random.usize(..4)], [16, 64, 128][random.usize(..3)]);
    let (heads_, lines, count, gradients) = (Vec::new(), String::new(), 0, Vec::new());
    let mut w = Writer { random, element, axes, heads: heads_, lines, count, gradients };
    let mut x = w.argument(&[batch, tokens, heads * size]).0;
    for _ in 0..w.random.usize(1..5) {
        x = match w.random.u8(..6) {
            0 | 1 => w.perceptron(&x),
            2 => w.attention(&x, heads),
            3 => w.experts(&x),
            4 => w.norm(&x),
            _ => w.embedding(&x),
        };
    }
    let mut results = vec![(x.clone(), String::new())];
    let loss = w.sum(&x, &[0, 1, 2]);
    results.push((loss, String::new()));
    results.append(&mut w.gradients);
    let full = |v: &Value| ty(&v.shape, w.element);
    let types: Vec<String> = results.iter().map(|(v, _)| full(v)).collect();
    let outs: Vec<String> = results.iter().map(|(v, at)| format!("{} {at}", full(v))).collect();
    let names: Vec<&str> = results.iter().map(|r| &*r.0.name).collect();
    format!(
        "sdy.mesh @mesh = <[{mesh}]>\nfunc.func @main({}) -> ({}) {{\n{}  return {} : {}\n}}\n",
        w.heads.join(", "),
        outs.join(", "),
        w.lines,
        names.join(", "),
        types.join(", ")
    )
}

impl Writer {
    fn ty(&self, v: &Value) -> String {
        ty(&v.shape, self.element)
    }

    /// An argument and its sharding.
    fn argument(&mut self, shape: &[i64]) -> (Value, String) {
        let value = Value { name: format!("%a{}", self.heads.len()), shape: shape.to_vec() };
        let axes = self.axes;
        let at = match self.random.u8(..5) {
            0 => String::new(),
            _ => sharding(&mut self.random, axes, shape.len()),
        };
        self.heads.push(format!("{}: {} {at}", value.name, self.ty(&value)));
        (value, at)
    }

    fn line(&mut self, shape: &[i64], op: impl AsRef<str>) -> Value {
        self.count += 1;
        let name = format!("%{}", self.count);
        self.lines.push_str(&format!("  {name} = {}\n", op.as_ref()));
        Value { name, shape: shape.to_vec() }
    }

    fn unary(&mut self, op: &str, x: &Value) -> Value {
        self.line(&x.shape, format!("stablehlo.{op} {} : {}", x.name, self.ty(x)))
    }

    fn binary(&mut self, op: &str, x: &Value, y: &Value) -> Value {
        self.line(&x.shape, format!("stablehlo.{op} {}, {} : {}", x.name, y.name, self.ty(x)))
    }

    /// A product with these dimensions of both in a row and these contracted.
    fn product(&mut self, x: &Value, y: &Value, batch: [&[i64]; 2], contracted: [&[i64]; 2]) -> Value {
        let free = |v: &Value, side: usize| -> Vec<i64> {
            let is_free = |d: &i64| !batch[side].contains(d) && !contracted[side].contains(d);
            (0..v.shape.len() as i64).filter(is_free).map(|d| v.shape[d as usize]).collect()
        };
        let mut shape: Vec<i64> = batch[0].iter().map(|&d| x.shape[d as usize]).collect();
        shape.extend(free(x, 0));
        shape.extend(free(y, 1));
        let batching = match batch[0] {
            [] => String::new(),
            _ => format!("batching_dims = {:?} x {:?}, ", batch[0], batch[1]),
        };
        let types = format!("({}, {}) -> {}", self.ty(x), self.ty(y), ty(&shape, self.element));
        self.line(
            &shape,
            format!(
                "stablehlo.dot_general {}, {}, {batching}contracting_dims = {:?} x {:?} : {types}",
                x.name, y.name, contracted[0], contracted[1]
            ),
        )
    }

    fn reduce(&mut self, op: &str, x: &Value, dims: &[i64]) -> Value {
        let scalar = format!("tensor<{}>", self.element);
        let init = self.line(&[], format!("stablehlo.constant dense<0.0> : {scalar}"));
        let kept = (0..x.shape.len() as i64).filter(|d| !dims.contains(d));
        let shape: Vec<i64> = kept.map(|d| x.shape[d as usize]).collect();
        let types = format!("({}, {scalar}) -> {}", self.ty(x), ty(&shape, self.element));
        self.line(
            &shape,
            format!(
                "stablehlo.reduce({} init: {}) applies stablehlo.{op} across dimensions = {dims:?} : {types}",
                x.name, init.name
            ),
        )
    }

    fn sum(&mut self, x: &Value, dims: &[i64]) -> Value {
        self.reduce("add", x, dims)
    }

    /// `x` in the first dimensions of `shape`.
    fn broadcast(&mut self, x: &Value, shape: &[i64]) -> Value {
        let dims: Vec<usize> = (0..x.shape.len()).collect();
        let types = format!("({}) -> {}", self.ty(x), ty(shape, self.element));
        self.line(shape, format!("stablehlo.broadcast_in_dim {}, dims = {dims:?} : {types}", x.name))
    }

    /// The gradient that `weight` would get from a product of `x` with it whose result is like `y`.
    fn gradient(&mut self, x: &Value, y: &Value, at: String) {
        if self.random.bool() {
            let gradient = self.product(x, y, [&[], &[]], [&[0, 1], &[0, 1]]);
            self.gradients.push((gradient, at));
        }
    }

    fn perceptron(&mut self, x: &Value) -> Value {
        let (width, inner) = (x.shape[2], x.shape[2] * [1, 2, 4][self.random.usize(..3)]);
        let ((up, up_at), (down, down_at)) = (self.argument(&[width, inner]), self.argument(&[inner, width]));
        let h = self.product(x, &up, [&[], &[]], [&[2], &[0]]);
        let activation = ["tanh", "logistic", "exponential"][self.random.usize(..3)];
        let active = self.unary(activation, &h);
        let y = self.product(&active, &down, [&[], &[]], [&[2], &[0]]);
        self.gradient(x, &h, up_at);
        self.gradient(&active, &y, down_at);
        self.binary("add", x, &y)
    }

    fn softmax(&mut self, x: &Value) -> Value {
        let last = x.shape.len() as i64 - 1;
        let most = self.reduce("maximum", x, &[last]);
        let most = self.broadcast(&most, &x.shape);
        let shifted = self.binary("subtract", x, &most);
        let powers = self.unary("exponential", &shifted);
        let all = self.sum(&powers, &[last]);
        let all = self.broadcast(&all, &x.shape);
        self.binary("divide", &powers, &all)
    }

    fn attention(&mut self, x: &Value, heads: i64) -> Value {
        let (batch, tokens, width) = (x.shape[0], x.shape[1], x.shape[2]);
        let split = [batch, tokens, heads, width / heads];
        let mut parts = Vec::new();
        for _ in 0..3 {
            let (weight, at) = self.argument(&[width, width]);
            let y = self.product(x, &weight, [&[], &[]], [&[2], &[0]]);
            self.gradient(x, &y, at);
            let types = format!("({}) -> {}", self.ty(&y), ty(&split, self.element));
            parts.push(self.line(&split, format!("stablehlo.reshape {} : {types}", y.name)));
        }
        let scores = self.product(&parts[0], &parts[1], [&[0, 2], &[0, 2]], [&[3], &[3]]);
        let shares = self.softmax(&scores);
        let mixed = self.product(&shares, &parts[2], [&[0, 1], &[0, 2]], [&[3], &[1]]);
        let order = [batch, tokens, heads, width / heads];
        let types = format!("({}) -> {}", self.ty(&mixed), ty(&order, self.element));
        let mixed = self.line(&order, format!("stablehlo.transpose {}, dims = [0, 2, 1, 3] : {types}", mixed.name));
        let types = format!("({}) -> {}", self.ty(&mixed), self.ty(x));
        let joined = self.line(&x.shape, format!("stablehlo.reshape {} : {types}", mixed.name));
        let (out, at) = self.argument(&[width, width]);
        let y = self.product(&joined, &out, [&[], &[]], [&[2], &[0]]);
        self.gradient(&joined, &y, at);
        self.binary("add", x, &y)
    }

    /// A mixture of experts as einsums: tokens are sent to their experts and back by products with a mask.
    fn experts(&mut self, x: &Value) -> Value {
        let (width, experts, places) =
            (x.shape[2], [4, 8, 16][self.random.usize(..3)], [8, 64][self.random.usize(..2)]);
        let (router, _) = self.argument(&[width, experts]);
        let scores = self.product(x, &router, [&[], &[]], [&[2], &[0]]);
        let shares = self.softmax(&scores);
        let mask = self.broadcast(&shares, &[x.shape[0], x.shape[1], experts, places]);
        // By expert, batch and place.
        let sent = self.product(&mask, x, [&[0], &[0]], [&[1], &[1]]);
        let ((up, _), (down, _)) =
            (self.argument(&[experts, width, 2 * width]), self.argument(&[experts, 2 * width, width]));
        let h = self.product(&sent, &up, [&[1], &[0]], [&[3], &[1]]);
        let active = self.unary("tanh", &h);
        let y = self.product(&active, &down, [&[0], &[0]], [&[3], &[1]]);
        let back = self.product(&mask, &y, [&[0], &[1]], [&[2, 3], &[0, 2]]);
        self.binary("add", x, &back)
    }

    fn norm(&mut self, x: &Value) -> Value {
        let squares = self.binary("multiply", x, x);
        let sum = self.sum(&squares, &[2]);
        let root = self.unary("rsqrt", &sum);
        let root = self.broadcast(&root, &x.shape);
        self.binary("multiply", x, &root)
    }

    /// Rows of a table, chosen by numbers.
    fn embedding(&mut self, x: &Value) -> Value {
        let rows = [1000, 32_000][self.random.usize(..2)];
        let (table, _) = self.argument(&[rows, x.shape[2]]);
        let (axes, name) = (self.axes, format!("%a{}", self.heads.len()));
        let at = sharding(&mut self.random, axes, 2);
        let numbers = ty(&[x.shape[0], x.shape[1]], "i32");
        self.heads.push(format!("{name}: {numbers} {at}"));
        let op = format!(
            "\"stablehlo.gather\"({}, {name}) {{dimension_numbers = #stablehlo.gather<offset_dims = [2], \
             collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 2>, \
             slice_sizes = array<i64: 1, {}>}} : ({}, {numbers}) -> {}",
            table.name,
            x.shape[2],
            self.ty(&table),
            self.ty(x)
        );
        let rows = self.line(&x.shape, op);
        self.binary("add", x, &rows)
    }
}
