//! Random programs whose results can be compared: uneven sizes, parts of axes, manual regions with collectives, loops
//! and branches, over meshes of 1 to 12 devices.
//!
//! [`FAMILIES`] lists the kinds of programs. [`program`] returns the program of a seed with ops of every kind. Most
//! elements are `i32`, which wrap.

mod basic;
mod control;
mod description;
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

use std::sync::LazyLock;

use fastrand::Rng;

use crate::sharded::sharding;
use description::{DESCRIPTION, Element, Row};
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
    /// The names of the steps that wrote something.
    written: Vec<&'static str>,
}

/// Returns the program of a seed: that which `write` writes over one of `meshes`, given by the sizes of their axes, or
/// over one of the description if there are none.
fn written(seed: u64, meshes: &[&[i64]], write: fn(&mut Writer)) -> Writer {
    let mut random = Rng::with_seed(seed);
    let (sizes, order) = if meshes.is_empty() {
        let mesh = &DESCRIPTION.meshes[random.usize(0..DESCRIPTION.meshes.len())];
        (&mesh.axes[..], mesh.order.clone())
    } else {
        (meshes[random.usize(0..meshes.len())], None)
    };
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
        order,
        written: Vec::new(),
    };
    write(&mut w);
    w
}

/// The steps of programs with ops of every family, by the names that the description has for them.
const STEPS: [(&str, Step); 33] = [
    ("binary", Writer::binary),
    ("unary", Writer::unary),
    ("compare", Writer::compare),
    ("convert", Writer::convert),
    ("reduce", Writer::reduce),
    ("clamp", Writer::clamp),
    ("remainder", Writer::remainder),
    ("constant", Writer::constant),
    ("broadcast", Writer::broadcast),
    ("transpose", Writer::transpose),
    ("reshape", Writer::reshape),
    ("dot_general", Writer::dot_general),
    ("bits", Writer::bits),
    ("slice", Writer::slice),
    ("pad", Writer::pad),
    ("reverse", Writer::reverse),
    ("concatenate", Writer::concatenate),
    ("roll", Writer::roll),
    ("reduce_window", Writer::reduce_window),
    ("convolution", Writer::convolution),
    ("select_and_scatter", Writer::select_and_scatter),
    ("scan", Writer::scan),
    ("sort", Writer::sort),
    ("top_k", Writer::top_k),
    ("place", Writer::place),
    ("fft", Writer::fft),
    ("gather", Writer::gather),
    ("scatter", Writer::scatter),
    ("dynamic_slice", Writer::dynamic_slice),
    ("dynamic_update_slice", Writer::dynamic_update_slice),
    ("constraint", Writer::constraint),
    ("control", Writer::control),
    ("region", Writer::region),
];

/// The steps of the description, each as often as its weight says.
static WEIGHTED: LazyLock<Vec<(&str, Step)>> = LazyLock::new(|| {
    let found = |name: &str| STEPS.iter().find(|step| step.0 == name).copied();
    let step = |name| found(name).unwrap_or_else(|| panic!("random_programs.json: STEPS has no step '{name}'"));
    DESCRIPTION.steps().into_iter().flat_map(|(name, weight)| std::iter::repeat_n(step(name), weight)).collect()
});

/// Returns the program of a seed with ops of every family.
pub fn program(seed: u64) -> String {
    FAMILIES[0].program(seed)
}

/// Returns the names of the steps in the program of a seed.
pub fn steps(seed: u64) -> Vec<&'static str> {
    written(seed, &[], Writer::every_op).written
}

/// Returns the names of all steps, and for each other row of the description the text of its op or element type, which
/// some program must contain.
pub fn described() -> (Vec<&'static str>, Vec<String>) {
    let ops = DESCRIPTION.rows().filter(|row| DESCRIPTION.is_written_by_kind(&row.kind)).map(|row| match &*row.kind {
        "compare" => format!("stablehlo.compare {},", row.name()),
        "reduce" => format!("applies stablehlo.{} ", row.name()),
        _ => format!("stablehlo.{} ", row.name()),
    });
    let types = DESCRIPTION.element_types.iter().map(|element| format!("{}>", element.mlir));
    (STEPS.iter().map(|step| step.0).collect(), ops.chain(types).collect())
}

impl Writer {
    /// Returns the program's text.
    fn text(&self) -> String {
        format!(
            "module {{\n  sdy.mesh @mesh = <[{}]{}>\n  func.func @main({}) -> ({}) {{\n{}    return {} : {}\n  }}\n}}\n",
            list(self.mesh.iter().map(|a| format!("\"{}\"={}", a.name, a.size))),
            self.order.as_ref().map_or(String::new(), |order| format!(", device_ids={order:?}")),
            self.arguments.join(", "),
            list(self.results.iter().map(|[_, ty, at]| format!("{ty}{at}"))),
            self.lines,
            list(self.results.iter().map(|r| &r[0])),
            list(self.results.iter().map(|r| &r[1]))
        )
    }

    /// Returns a row of a kind for an element type, if there is one.
    fn row(&mut self, kind: &str, element: &Element) -> Option<&'static Row> {
        let rows = DESCRIPTION.of_kind(kind, element);
        (!rows.is_empty()).then(|| rows[self.random.usize(0..rows.len())])
    }

    /// Returns a row of a kind for `i32`.
    fn usual(&mut self, kind: &str) -> &'static Row {
        self.row(kind, DESCRIPTION.usual()).unwrap_or_else(|| panic!("random_programs.json has no '{kind}' for i32"))
    }

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
        let (name, step) = self.pick(&WEIGHTED);
        let before = self.lines.len();
        step(self);
        if self.lines.len() > before {
            self.written.push(name);
        }
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
