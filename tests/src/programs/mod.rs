//! Random integer programs with ops of every family, whose bits can be compared: uneven sizes, parts of axes, manual
//! regions with collectives, loops and branches, over meshes of 1 to 12 devices.
//!
//! [`program`] returns the program of a seed. Elements are `i32`, which wrap; other types appear inside single steps.

mod basic;
mod control;
mod indexing;
mod manual;
mod order;
mod shape;
mod text;
mod windows;

use fastrand::Rng;

use text::{list, ty};

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

/// A program being written.
struct Writer {
    random: Rng,
    mesh: Vec<Axis>,
    lines: String,
    /// The values visible at the next line.
    values: Vec<Value>,
    /// The number of names used so far.
    count: usize,
    /// The nesting depth of the next line in regions.
    depth: usize,
    /// The number of collectives with a channel.
    channels: usize,
}

/// Returns the program of a seed.
pub fn program(seed: u64) -> String {
    let mut random = Rng::with_seed(seed);
    let sizes = MESHES[random.usize(0..MESHES.len())];
    let mesh: Vec<Axis> =
        sizes.iter().zip(["x", "y", "z"]).map(|(&size, name)| Axis { name, size, manual: false }).collect();
    let mut w = Writer { random, mesh, lines: String::new(), values: Vec::new(), count: 0, depth: 0, channels: 0 };
    let mut heads = Vec::new();
    for i in 0..w.random.usize(1..4) {
        let shape = match w.values.first() {
            Some(first) if w.random.bool() => first.shape.clone(),
            _ => (0..w.random.usize(1..4)).map(|_| SIZES[w.random.usize(0..SIZES.len())]).collect(),
        };
        let name = format!("%a{i}");
        heads.push(format!("{name}: {}{}", ty(&shape), w.stated(&shape, 8)));
        w.values.push(Value { name, shape });
    }
    for _ in 0..w.random.usize(2..14) {
        w.step();
    }
    let mut results: Vec<Value> = w.values.iter().rev().take(2).cloned().collect();
    results.push(w.any());
    let types: Vec<String> = results.iter().map(|v| ty(&v.shape)).collect();
    let tails: Vec<String> =
        results.iter().zip(&types).map(|(v, ty)| format!("{ty}{}", w.stated(&v.shape, 5))).collect();
    let axes: Vec<String> = w.mesh.iter().map(|a| format!("\"{}\"={}", a.name, a.size)).collect();
    format!(
        "module {{\n  sdy.mesh @mesh = <[{}]>\n  func.func @main({}) -> ({}) {{\n{}    return {} : {}\n  }}\n}}\n",
        axes.join(", "),
        heads.join(", "),
        tails.join(", "),
        w.lines,
        list(results.iter().map(|v| &v.name)),
        types.join(", ")
    )
}

impl Writer {
    /// Writes one step of some family, or nothing if the values don't fit it.
    fn step(&mut self) {
        let deep = self.depth > 1;
        if self.mesh.iter().any(|a| a.manual) && self.random.u8(0..3) == 0 {
            return self.collective();
        }
        match self.random.u8(0..42) {
            0..=3 => self.binary(),
            4 => self.unary(),
            5 => self.constant(),
            6 => self.broadcast(),
            7 => self.transpose(),
            8 | 9 => self.reshape(),
            10 | 11 => self.reduce(),
            12 | 13 => self.dot_general(),
            14 => self.bits(),
            15 => self.slice(),
            16 => self.pad(),
            17 => self.reverse(),
            18 => self.concatenate(),
            19 => self.roll(),
            20 => self.reduce_window(),
            21 => self.convolution(),
            22 => self.select_and_scatter(),
            23 => self.scan(),
            24 => self.sort(),
            25 => self.top_k(),
            26 => self.place(),
            27 => self.fft(),
            28 | 29 => self.gather(),
            30 | 31 => self.scatter(),
            32 => self.dynamic_slice(),
            33 => self.dynamic_update_slice(),
            34 | 35 => self.constraint(),
            36 if !deep => self.repeat(),
            37 if !deep => self.choose(),
            38..=41 if !deep => self.region(),
            _ => self.binary(),
        }
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
