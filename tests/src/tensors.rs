//! A writer of programs over tensors, which stores the shape of each value. [`crate::models`] and [`crate::training`]
//! use it.

use fastrand::Rng;

use crate::sharded::{sharding, ty};

/// A tensor of the program being written.
#[derive(Clone)]
pub(crate) struct Value {
    pub(crate) name: String,
    pub(crate) shape: Vec<i64>,
    pub(crate) element: &'static str,
}

impl Value {
    pub(crate) fn ty(&self) -> String {
        ty(&self.shape, self.element)
    }
}

/// A program being written, with what a kind of programs keeps in addition.
pub(crate) struct Writer<S> {
    pub(crate) random: Rng,
    /// The element type of most values.
    pub(crate) element: &'static str,
    mesh: &'static str,
    axes: &'static [&'static str],
    arguments: Vec<String>,
    lines: String,
    count: usize,
    pub(crate) state: S,
}

/// The dimensions of both operands of a product.
pub(crate) type Dims<'a> = [&'a [usize]; 2];

impl<S> Writer<S> {
    /// Begins a program over a mesh, given by its text and its axes.
    pub(crate) fn new(
        random: Rng,
        element: &'static str,
        mesh: (&'static str, &'static [&'static str]),
        state: S,
    ) -> Self {
        let (mesh, axes) = mesh;
        Self { random, element, mesh, axes, arguments: Vec::new(), lines: String::new(), count: 0, state }
    }

    /// Returns the text of the program with these results, each with its attributes.
    pub(crate) fn program(&self, results: &[(Value, String)]) -> String {
        let join = |part: fn(&(Value, String)) -> String| results.iter().map(part).collect::<Vec<_>>().join(", ");
        format!(
            "sdy.mesh @mesh = <[{}]>\nfunc.func @main({}) -> ({}) {{\n{}  return {} : {}\n}}\n",
            self.mesh,
            self.arguments.join(", "),
            join(|(value, attributes)| format!("{} {attributes}", value.ty())),
            self.lines,
            join(|(value, _)| value.name.clone()),
            join(|(value, _)| value.ty())
        )
    }

    /// Returns a random sharding, as attributes.
    pub(crate) fn sharding(&mut self, rank: usize) -> String {
        sharding(&mut self.random, self.axes, rank)
    }

    pub(crate) fn argument(&mut self, shape: &[i64], element: &'static str, attributes: &str) -> Value {
        let value = Value { name: format!("%a{}", self.arguments.len()), shape: shape.to_vec(), element };
        self.arguments.push(format!("{}: {} {attributes}", value.name, value.ty()));
        value
    }

    pub(crate) fn line(&mut self, shape: &[i64], element: &'static str, op: String) -> Value {
        self.count += 1;
        let name = format!("%{}", self.count);
        self.lines.push_str(&format!("  {name} = {op}\n"));
        Value { name, shape: shape.to_vec(), element }
    }

    pub(crate) fn convert(&mut self, x: &Value, element: &'static str) -> Value {
        if x.element == element {
            return x.clone();
        }
        let op = format!("stablehlo.convert {} : ({}) -> {}", x.name, x.ty(), ty(&x.shape, element));
        self.line(&x.shape, element, op)
    }

    pub(crate) fn splat(&mut self, like: &Value, value: f64) -> Value {
        self.line(&like.shape, like.element, format!("stablehlo.constant dense<{value:.12}> : {}", like.ty()))
    }

    pub(crate) fn unary(&mut self, op: &str, x: &Value) -> Value {
        self.line(&x.shape, x.element, format!("stablehlo.{op} {} : {}", x.name, x.ty()))
    }

    pub(crate) fn binary(&mut self, op: &str, x: &Value, y: &Value) -> Value {
        self.line(&x.shape, x.element, format!("stablehlo.{op} {}, {} : {}", x.name, y.name, x.ty()))
    }

    pub(crate) fn add(&mut self, x: &Value, y: &Value) -> Value {
        self.binary("add", x, y)
    }

    pub(crate) fn multiply(&mut self, x: &Value, y: &Value) -> Value {
        self.binary("multiply", x, y)
    }

    /// Returns 1 where a comparison holds.
    pub(crate) fn compare(&mut self, direction: &str, x: &Value, y: &Value) -> Value {
        let t = x.ty();
        let op =
            format!("stablehlo.compare {direction}, {}, {} : ({t}, {t}) -> {}", x.name, y.name, ty(&x.shape, "i1"));
        self.line(&x.shape, "i1", op)
    }

    /// Writes an op whose result has the elements of `x` in another shape.
    fn moved(&mut self, op: &str, x: &Value, dims: Option<&[usize]>, shape: &[i64]) -> Value {
        let dims = dims.map_or(String::new(), |dims| format!(", dims = {dims:?}"));
        let op = format!("stablehlo.{op} {}{dims} : ({}) -> {}", x.name, x.ty(), ty(shape, x.element));
        self.line(shape, x.element, op)
    }

    pub(crate) fn broadcast(&mut self, x: &Value, shape: &[i64], dims: &[usize]) -> Value {
        self.moved("broadcast_in_dim", x, Some(dims), shape)
    }

    pub(crate) fn reshape(&mut self, x: &Value, shape: &[i64]) -> Value {
        self.moved("reshape", x, None, shape)
    }

    pub(crate) fn transpose(&mut self, x: &Value, dims: &[usize]) -> Value {
        let shape: Vec<i64> = dims.iter().map(|&d| x.shape[d]).collect();
        self.moved("transpose", x, Some(dims), &shape)
    }

    pub(crate) fn reduce(&mut self, op: &str, x: &Value, dims: &[usize]) -> Value {
        let start = if op == "add" { 0.0 } else { -1e4 };
        let init = self.splat(&Value { shape: Vec::new(), ..x.clone() }, start);
        let kept: Vec<i64> = (0..x.shape.len()).filter(|d| !dims.contains(d)).map(|d| x.shape[d]).collect();
        let types = format!("({}, {}) -> {}", x.ty(), init.ty(), ty(&kept, x.element));
        let op = format!(
            "stablehlo.reduce({} init: {}) applies stablehlo.{op} across dimensions = {dims:?} : {types}",
            x.name, init.name
        );
        self.line(&kept, x.element, op)
    }

    /// Writes a product with these batch and contracted dimensions of both operands.
    pub(crate) fn product(&mut self, x: &Value, y: &Value, batch: Dims<'_>, contracted: Dims<'_>) -> Value {
        let free = |v: &Value, side: usize| -> Vec<i64> {
            let is_free = |d: &usize| !batch[side].contains(d) && !contracted[side].contains(d);
            (0..v.shape.len()).filter(is_free).map(|d| v.shape[d]).collect()
        };
        let mut shape: Vec<i64> = batch[0].iter().map(|&d| x.shape[d]).collect();
        shape.extend(free(x, 0));
        shape.extend(free(y, 1));
        let batching = match batch[0] {
            [] => String::new(),
            _ => format!("batching_dims = {:?} x {:?}, ", batch[0], batch[1]),
        };
        let types = format!("({}, {}) -> {}", x.ty(), y.ty(), ty(&shape, x.element));
        let dims = format!("{batching}contracting_dims = {:?} x {:?}", contracted[0], contracted[1]);
        self.line(&shape, x.element, format!("stablehlo.dot_general {}, {}, {dims} : {types}", x.name, y.name))
    }

    /// Writes a softmax over the last dimension.
    pub(crate) fn softmax(&mut self, x: &Value) -> Value {
        let last = x.shape.len() - 1;
        let others: Vec<usize> = (0..last).collect();
        let most = self.reduce("maximum", x, &[last]);
        let most = self.broadcast(&most, &x.shape, &others);
        let shifted = self.binary("subtract", x, &most);
        let powers = self.unary("exponential", &shifted);
        let sum = self.reduce("add", &powers, &[last]);
        let sum = self.broadcast(&sum, &x.shape, &others);
        self.binary("divide", &powers, &sum)
    }
}
