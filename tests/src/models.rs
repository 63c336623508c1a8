//! Random models of real sizes, for plans that are priced and never run: layers of transformers, mixtures of experts
//! and lookups in a row, the products by which weights get their gradients, and arguments sharded as users annotate
//! them.

use fastrand::Rng;

use crate::tensors::{Value, Writer};

/// A model being written, with the gradients of its weights and the shardings of these.
type Model = Writer<Vec<(Value, String)>>;

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

/// Returns the model of a seed.
pub fn model(seed: u64) -> String {
    let mut random = Rng::with_seed(seed);
    let mesh = MESHES[random.usize(..MESHES.len())];
    let element = ["f32", "bf16"][random.usize(..2)];
    let (batch, tokens) = ([1, 4, 8, 32][random.usize(..4)], [128, 512, 1000, 2048][random.usize(..4)]);
    let (heads, size) = ([2, 4, 8, 12][random.usize(..4)], [16, 64, 128][random.usize(..3)]);
    let mut w = Model::new(random, element, mesh, Vec::new());
    let mut x = w.weight(&[batch, tokens, heads * size]).0;
    for _ in 0..w.random.usize(1..5) {
        x = match w.random.u8(..6) {
            0 | 1 => w.perceptron(&x),
            2 => w.attention(&x, heads),
            3 => w.experts(&x),
            4 => w.norm(&x),
            _ => w.embedding(&x),
        };
    }
    let loss = w.reduce("add", &x, &[0, 1, 2]);
    let mut results = vec![(x, String::new()), (loss, String::new())];
    results.append(&mut w.state);
    w.program(&results)
}

impl Model {
    /// Adds an argument, and returns it with its sharding.
    fn weight(&mut self, shape: &[i64]) -> (Value, String) {
        let sharding = match self.random.u8(..5) {
            0 => String::new(),
            _ => self.sharding(shape.len()),
        };
        (self.argument(shape, self.element, &sharding), sharding)
    }

    /// Adds the gradient of a weight with this sharding, if its product with `x` has the shape of `y`.
    fn gradient(&mut self, x: &Value, y: &Value, sharding: String) {
        if self.random.bool() {
            let gradient = self.product(x, y, [&[], &[]], [&[0, 1], &[0, 1]]);
            self.state.push((gradient, sharding));
        }
    }

    fn perceptron(&mut self, x: &Value) -> Value {
        let (width, inner) = (x.shape[2], x.shape[2] * [1, 2, 4][self.random.usize(..3)]);
        let ((up, up_at), (down, down_at)) = (self.weight(&[width, inner]), self.weight(&[inner, width]));
        let h = self.product(x, &up, [&[], &[]], [&[2], &[0]]);
        let activation = ["tanh", "logistic", "exponential"][self.random.usize(..3)];
        let active = self.unary(activation, &h);
        let y = self.product(&active, &down, [&[], &[]], [&[2], &[0]]);
        self.gradient(x, &h, up_at);
        self.gradient(&active, &y, down_at);
        self.binary("add", x, &y)
    }

    fn attention(&mut self, x: &Value, heads: i64) -> Value {
        let (batch, tokens, width) = (x.shape[0], x.shape[1], x.shape[2]);
        let split = [batch, tokens, heads, width / heads];
        let mut parts = Vec::new();
        for _ in 0..3 {
            let (weight, at) = self.weight(&[width, width]);
            let y = self.product(x, &weight, [&[], &[]], [&[2], &[0]]);
            self.gradient(x, &y, at);
            parts.push(self.reshape(&y, &split));
        }
        let scores = self.product(&parts[0], &parts[1], [&[0, 2], &[0, 2]], [&[3], &[3]]);
        let shares = self.softmax(&scores);
        let mixed = self.product(&shares, &parts[2], [&[0, 1], &[0, 2]], [&[3], &[1]]);
        let mixed = self.transpose(&mixed, &[0, 2, 1, 3]);
        let joined = self.reshape(&mixed, &x.shape);
        let (out, at) = self.weight(&[width, width]);
        let y = self.product(&joined, &out, [&[], &[]], [&[2], &[0]]);
        self.gradient(&joined, &y, at);
        self.binary("add", x, &y)
    }

    /// A mixture of experts as einsums: tokens are sent to their experts and back by products with a mask.
    fn experts(&mut self, x: &Value) -> Value {
        let (width, experts, places) =
            (x.shape[2], [4, 8, 16][self.random.usize(..3)], [8, 64][self.random.usize(..2)]);
        let (router, _) = self.weight(&[width, experts]);
        let scores = self.product(x, &router, [&[], &[]], [&[2], &[0]]);
        let shares = self.softmax(&scores);
        let mask = self.broadcast(&shares, &[x.shape[0], x.shape[1], experts, places], &[0, 1, 2]);
        // By expert, batch and place.
        let sent = self.product(&mask, x, [&[0], &[0]], [&[1], &[1]]);
        let ((up, _), (down, _)) =
            (self.weight(&[experts, width, 2 * width]), self.weight(&[experts, 2 * width, width]));
        let h = self.product(&sent, &up, [&[1], &[0]], [&[3], &[1]]);
        let active = self.unary("tanh", &h);
        let y = self.product(&active, &down, [&[0], &[0]], [&[3], &[1]]);
        let back = self.product(&mask, &y, [&[0], &[1]], [&[2, 3], &[0, 2]]);
        self.binary("add", x, &back)
    }

    fn norm(&mut self, x: &Value) -> Value {
        let squares = self.binary("multiply", x, x);
        let sum = self.reduce("add", &squares, &[2]);
        let root = self.unary("rsqrt", &sum);
        let root = self.broadcast(&root, &x.shape, &[0, 1]);
        self.binary("multiply", x, &root)
    }

    /// Adds rows of a table, chosen by numbers.
    fn embedding(&mut self, x: &Value) -> Value {
        let rows = [1000, 32_000][self.random.usize(..2)];
        let (table, _) = self.weight(&[rows, x.shape[2]]);
        let sharding = self.sharding(2);
        let numbers = self.argument(&x.shape[..2], "i32", &sharding);
        let op = format!(
            "\"stablehlo.gather\"({}, {}) {{dimension_numbers = #stablehlo.gather<offset_dims = [2], \
             collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 2>, \
             slice_sizes = array<i64: 1, {}>}} : ({}, {}) -> {}",
            table.name,
            numbers.name,
            x.shape[2],
            table.ty(),
            numbers.ty(),
            x.ty()
        );
        let rows = self.line(&x.shape, x.element, op);
        self.binary("add", x, &rows)
    }
}
