//! Random programs whose results can be compared: uneven sizes, parts of axes, manual regions with collectives, loops
//! and branches, over meshes of 1 to 12 devices.
//!
//! [`FAMILIES`] lists the kinds of programs. [`program`] returns the program of a seed with ops of every kind. Most
//! elements are `i32`, which wrap.

mod basic;
mod control;
mod families;
mod indexing;
mod manual;
mod order;
mod ordered;
mod scans;
mod shape;
mod special;
mod text;
mod windows;

pub use families::{FAMILIES, Family};

use fastrand::Rng;

use crate::sharded::sharding;
use text::{list, of, ty};

/// A value that later steps may read.
#[derive(Clone, Debug)]
struct Value {
    name: String,
    shape: Vec<i64>,
}

/// An axis of the mesh.
#[derive(Clone, Debug)]
struct Axis {
    name: &'static str,
    size: i64,
    /// Whether the region that is being written is manual along it.
    manual: bool,
}

/// The maximum number of elements of a value.
const MOST: i64 = 600;
/// Sizes of arguments' dimensions. Many don't divide evenly, and some are smaller than the mesh.
const SIZES: [i64; 14] = [1, 2, 3, 4, 4, 5, 6, 7, 8, 8, 9, 11, 12, 13];
/// Meshes, by the sizes of their axes.
const MESHES: [&[i64]; 22] = [
    &[1],
    &[2],
    &[3],
    &[4],
    &[5],
    &[6],
    &[7],
    &[8],
    &[9],
    &[10],
    &[12],
    &[2, 2],
    &[2, 3],
    &[4, 2],
    &[3, 3],
    &[5, 2],
    &[4, 3],
    &[2, 6],
    &[2, 2, 2],
    &[2, 2, 3],
    &[3, 2, 2],
    &[2, 1, 4],
];

/// Something that a program may contain: writes lines, or nothing if no value fits.
type Step = fn(&mut Writer);

/// A program being written.
pub struct Writer {
    random: Rng,
    mesh: Vec<Axis>,
    /// The arguments, as text.
    arguments: Vec<String>,
    lines: String,
    /// Name, type and attributes of each result.
    results: Vec<[String; 3]>,
    /// The values visible at the next line.
    values: Vec<Value>,
    /// The number of names used so far.
    count: usize,
    /// The nesting depth of the next line in regions.
    depth: usize,
    /// The number of collectives with a channel.
    channels: usize,
    /// The only dimension that steps may move elements along; `None` if it may be any.
    along: Option<usize>,
    /// The order of the mesh's devices, if it isn't ascending.
    order: Option<Vec<i64>>,
}

/// Returns the text of the program that `write` writes for a seed, over one of `meshes`, given by the sizes of their
/// axes.
fn written(seed: u64, meshes: &[&[i64]], write: fn(&mut Writer)) -> String {
    let mut random = Rng::with_seed(seed);
    let sizes = meshes[random.usize(0..meshes.len())];
    let mesh = sizes.iter().zip(["x", "y", "z"]).map(|(&size, name)| Axis { name, size, manual: false }).collect();
    let mut w = Writer {
        random,
        mesh,
        arguments: Vec::new(),
        lines: String::new(),
        results: Vec::new(),
        values: Vec::new(),
        count: 0,
        depth: 0,
        channels: 0,
        along: None,
        order: None,
    };
    write(&mut w);
    format!(
        "module {{\n  sdy.mesh @mesh = <[{}]{}>\n  func.func @main({}) -> ({}) {{\n{}    return {} : {}\n  }}\n}}\n",
        list(w.mesh.iter().map(|a| format!("\"{}\"={}", a.name, a.size))),
        w.order.map_or(String::new(), |order| format!(", device_ids={order:?}")),
        w.arguments.join(", "),
        list(w.results.iter().map(|[_, ty, at]| format!("{ty}{at}"))),
        w.lines,
        list(w.results.iter().map(|r| &r[0])),
        list(w.results.iter().map(|r| &r[1]))
    )
}

/// The steps of programs with ops of every family, with their weights.
const STEPS: [(Step, usize); 29] = [
    (Writer::binary, 4),
    (Writer::unary, 1),
    (Writer::constant, 1),
    (Writer::broadcast, 1),
    (Writer::transpose, 1),
    (Writer::reshape, 2),
    (Writer::reduce, 2),
    (Writer::dot_general, 2),
    (Writer::bits, 1),
    (Writer::slice, 1),
    (Writer::pad, 1),
    (Writer::reverse, 1),
    (Writer::concatenate, 1),
    (Writer::roll, 1),
    (Writer::reduce_window, 1),
    (Writer::convolution, 1),
    (Writer::select_and_scatter, 1),
    (Writer::scan, 1),
    (Writer::sort, 1),
    (Writer::top_k, 1),
    (Writer::place, 1),
    (Writer::fft, 1),
    (Writer::gather, 2),
    (Writer::scatter, 2),
    (Writer::dynamic_slice, 1),
    (Writer::dynamic_update_slice, 1),
    (Writer::constraint, 2),
    (Writer::control, 2),
    (Writer::region, 4),
];

/// Returns the program of a seed with ops of every family.
pub fn program(seed: u64) -> String {
    FAMILIES[0].program(seed)
}

impl Writer {
    /// Writes a program with ops of every family.
    fn every_op(&mut self) {
        for _ in 0..self.random.usize(1..4) {
            let shape = match self.values.first() {
                Some(first) if self.random.bool() => first.shape.clone(),
                _ => (0..self.random.usize(1..4)).map(|_| self.pick(&SIZES)).collect(),
            };
            let at = self.stated(&shape, 8);
            self.argument(&shape, "i32", at);
        }
        for _ in 0..self.random.usize(2..14) {
            self.step();
        }
        let mut results: Vec<Value> = self.values.iter().rev().take(2).cloned().collect();
        results.push(self.any());
        for value in results {
            let at = self.stated(&value.shape, 5);
            self.result(&value.name, ty(&value.shape), at);
        }
    }

    /// Writes one step of some family, or nothing if the values don't fit it.
    fn step(&mut self) {
        if self.mesh.iter().any(|a| a.manual) && self.random.u8(0..3) == 0 {
            return self.collective();
        }
        let mut at = self.random.usize(0..STEPS.iter().map(|s| s.1).sum());
        let step = STEPS.iter().find(|step| {
            let found = at < step.1;
            at = at.saturating_sub(step.1);
            found
        });
        step.expect("the number is below the sum of all weights").0(self);
    }

    /// Writes a number of these steps.
    fn steps(&mut self, count: std::ops::Range<usize>, steps: &[Step]) {
        for _ in 0..self.random.usize(count) {
            self.pick(steps)(self);
        }
    }

    fn pick<T: Copy>(&mut self, from: &[T]) -> T {
        from[self.random.usize(0..from.len())]
    }

    /// Adds an argument with these attributes; if its elements are `i32`, steps may read it.
    fn argument(&mut self, shape: &[i64], element: &str, attributes: String) -> String {
        let name = format!("%a{}", self.arguments.len());
        self.arguments.push(format!("{name}: {}{attributes}", of(shape, element)));
        if element == "i32" {
            self.values.push(Value { name: name.clone(), shape: shape.to_vec() });
        }
        name
    }

    fn result(&mut self, name: impl Into<String>, ty: String, attributes: String) {
        self.results.push([name.into(), ty, attributes]);
    }

    /// Returns the last two values, with attributes that `at` returns for their rank.
    fn return_last(&mut self, at: impl Fn(&mut Writer, usize) -> String) {
        for value in self.values.iter().rev().take(2).cloned().collect::<Vec<_>>() {
            let at = at(self, value.shape.len());
            self.result(&value.name, ty(&value.shape), at);
        }
    }

    /// Returns the attribute of a sharding with each axis on a dimension of `rank` or on none.
    fn scattered(&mut self, rank: usize) -> String {
        let axes: Vec<&str> = self.mesh.iter().map(|a| a.name).collect();
        format!(" {}", sharding(&mut self.random, &axes, rank))
    }

    fn name(&mut self) -> String {
        self.count += 1;
        format!("%{}", self.count)
    }

    fn line(&mut self, line: impl AsRef<str>) {
        self.lines.push_str(&"  ".repeat(self.depth + 2));
        self.lines.push_str(line.as_ref());
        self.lines.push('\n');
    }

    /// Writes `%n = OP` and returns the value, which only the current step reads.
    fn hidden(&mut self, shape: &[i64], op: impl AsRef<str>) -> Value {
        let name = self.name();
        self.line(format!("{name} = {}", op.as_ref()));
        Value { name, shape: shape.to_vec() }
    }

    /// Writes `%n = OP` and returns the value, which later steps may read.
    fn add(&mut self, shape: &[i64], op: impl AsRef<str>) -> Value {
        let value = self.hidden(shape, op);
        self.values.push(value.clone());
        value
    }

    fn any(&mut self) -> Value {
        // Prefer later values.
        let n = self.values.len();
        let i = self.random.usize(0..n).max(self.random.usize(0..n));
        self.values[i].clone()
    }

    fn any_where(&mut self, fits: impl Fn(&[i64]) -> bool) -> Option<Value> {
        let fitting: Vec<Value> = self.values.iter().filter(|v| fits(&v.shape)).cloned().collect();
        (!fitting.is_empty()).then(|| fitting[self.random.usize(0..fitting.len())].clone())
    }

    /// Returns a value of this shape: one that steps may read, or the positions of its elements.
    fn value_of(&mut self, shape: &[i64]) -> Value {
        let count = [elements(shape)];
        let flat = self.hidden(&count, format!("stablehlo.iota dim = 0 : {}", ty(&count)));
        let op = format!("stablehlo.reshape {} : ({}) -> {}", flat.name, ty(&count), ty(shape));
        let positions = self.hidden(shape, op);
        self.any_where(|other| other == shape).unwrap_or(positions)
    }

    /// Writes a constant with this value in every element.
    fn splat(&mut self, shape: &[i64], value: i64) -> Value {
        self.hidden(shape, format!("stablehlo.constant dense<{value}> : {}", ty(shape)))
    }

    /// Writes a value between `-1` and `size`, so that positions are also out of range.
    fn position(&mut self, of: &Value, size: i64) -> Value {
        let (by, one) = (self.splat(&of.shape, size + 2), self.splat(&of.shape, 1));
        let ty = ty(&of.shape);
        let rest = self.hidden(&of.shape, format!("stablehlo.remainder {}, {} : {ty}", of.name, by.name));
        self.hidden(&of.shape, format!("stablehlo.subtract {}, {} : {ty}", rest.name, one.name))
    }

    /// Writes a rank-0 value between `-1` and `size`: a constant or an element of a value.
    fn scalar_position(&mut self, size: i64) -> Value {
        if self.random.bool() {
            let value = self.random.i64(-1..size + 1);
            return self.splat(&[], value);
        }
        let value = self.any();
        if value.shape.is_empty() || value.shape.contains(&0) {
            let value = self.random.i64(-1..size + 1);
            return self.splat(&[], value);
        }
        let ranges: Vec<String> =
            value.shape.iter().map(|&n| self.random.i64(0..n)).map(|i| format!("{i}:{}", i + 1)).collect();
        let one = vec![1; value.shape.len()];
        let from = ty(&value.shape);
        let element = self
            .hidden(&one, format!("stablehlo.slice {} [{}] : ({from}) -> {}", value.name, ranges.join(", "), ty(&one)));
        let scalar = self.hidden(&[], format!("stablehlo.reshape {} : ({}) -> tensor<i32>", element.name, ty(&one)));
        self.position(&scalar, size)
    }

    /// Returns ` {sdy.sharding = …}` for an argument or result, with a probability of `often` tenths.
    fn stated(&mut self, shape: &[i64], often: u8) -> String {
        match self.random.u8(0..10) < often {
            true => format!(" {{sdy.sharding = #sdy.sharding{}}}", self.sharding(shape.len())),
            false => String::new(),
        }
    }

    /// Returns `<@mesh, […]>` over axes that aren't manual, whole or in part.
    fn sharding(&mut self, rank: usize) -> String {
        let mut dims = vec![Vec::new(); rank];
        for axis in self.mesh.clone().into_iter().filter(|a| !a.manual) {
            let parts = match self.random.u8(0..4) {
                0 => self.part(&axis),
                _ => vec![format!("\"{}\"", axis.name)],
            };
            let mut used = Vec::new();
            for part in parts {
                let d = self.random.usize(0..rank + 1);
                if d < rank && !used.contains(&d) {
                    dims[d].push(part);
                    used.push(d);
                }
            }
        }
        let open = self.random.u8(0..4) == 0;
        let dims: Vec<String> = dims
            .into_iter()
            .map(|mut dim| {
                self.random.shuffle(&mut dim);
                dim.extend(open.then(|| "?".to_owned()));
                format!("{{{}}}", dim.join(", "))
            })
            .collect();
        format!("<@mesh, [{}]>", dims.join(", "))
    }

    /// Returns two parts of an axis, divided at random; the axis itself if its size is a prime.
    fn part(&mut self, axis: &Axis) -> Vec<String> {
        let divisors: Vec<i64> = (2..axis.size).filter(|d| axis.size % d == 0).collect();
        if divisors.is_empty() {
            return vec![format!("\"{}\"", axis.name)];
        }
        let major = divisors[self.random.usize(0..divisors.len())];
        vec![format!("\"{}\":(1){major}", axis.name), format!("\"{}\":({major}){}", axis.name, axis.size / major)]
    }
}

/// Returns the number of elements.
fn elements(shape: &[i64]) -> i64 {
    shape.iter().product()
}
