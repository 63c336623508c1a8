//! Writes a fused kernel as MLIR text: `scf` loops over `memref` buffers, `arith` and `math` inside.
//!
//! Buffers are flat and row-major; `i1` is stored as a byte. bf16, f16 and smaller floats are held in f32 registers and
//! rounded after every operation, except that a sum of them accumulates in f32 and is rounded once. Neighboring loops
//! that every access traverses with one stride are joined, so that the innermost loop is as long as possible.
//!
//! If the innermost loop reads and writes neighboring elements, it is written over vectors ([`lanes`]). LLVM would find
//! the same vectors itself, but that takes as long as the rest of its work.

pub(super) mod arith;
mod collapse;
mod complex;
mod index;
mod lanes;
pub(super) mod linalg;
mod loops;
mod nodes;
mod precision;
pub(super) mod routine;
mod small;
mod turned;
mod update;

use std::borrow::Cow;
use std::fmt::Write as _;

use dialect::id::TiVec;
use dialect::ir::ElementType;
use smallvec::SmallVec;

use self::arith::{Math, Write};
use self::small::is_small;
use self::update::Bound;
use super::fuse::chain::Ranges;
use super::fuse::fused::{Fused, Node, Place};
use super::tuning::Tuning;
use collapse::collapse;
use lanes::Lanes;
pub(super) use loops::columns_innermost;

/// Returns the MLIR type of the elements of a buffer; `None` if there is no native code for this element type.
pub(super) fn storage(element: ElementType) -> Option<&'static str> {
    Some(match element {
        ElementType::I1 | ElementType::I8 | ElementType::UI8 => "i8",
        ElementType::I16 | ElementType::UI16 => "i16",
        ElementType::I32 | ElementType::UI32 => "i32",
        ElementType::I64 | ElementType::UI64 => "i64",
        ElementType::BF16 => "bf16",
        ElementType::F16 => "f16",
        ElementType::F32 => "f32",
        ElementType::F64 => "f64",
        e if is_small(e) => "i8",
        _ => return None,
    })
}

/// Returns the MLIR type in which values of this element type are computed.
pub(super) fn register(element: ElementType) -> &'static str {
    match element {
        ElementType::I1 => "i1",
        e if is_narrow(e) => "f32",
        e => storage(e).unwrap_or("i64"),
    }
}

/// Returns whether values of the type are rounded after every operation.
pub(super) fn is_narrow(element: ElementType) -> bool {
    matches!(element, ElementType::BF16 | ElementType::F16) || is_small(element)
}

/// The settings for which kernels are written.
#[derive(Clone, Copy, Debug)]
pub(super) struct Target {
    /// The maximum number of threads that share a kernel.
    pub threads: usize,
    /// The implementation of elementary functions.
    pub math: Math,
    /// The size of the processor's vectors in bytes.
    pub vector_bytes: usize,
    /// The sizes from which kernels are joined and memory is shared.
    pub tuning: &'static Tuning,
}

/// Appends function `name`, which computes `kernel`. Its parameters are pointers to the buffers, then to the results
/// that have buffers of their own.
///
/// If several threads may share kernels, a large enough kernel also takes the first and the last part (exclusive) of
/// its outermost loop as parameters. Returns these parts, if the kernel takes them.
pub(super) fn emit(kernel: &Fused, name: &str, target: Target, out: &mut String) -> Option<Ranges> {
    let divided = target.threads > 1 && kernel.loops.iter().product::<i64>() >= SHARED;
    let whole = match complex::split(kernel) {
        Some(real) => collapse(&real, divided),
        None => collapse(kernel, divided),
    };
    let (kernel, bounds) = &update::narrowed(&whole).unwrap_or((whole, Vec::new()));
    let lanes = Lanes::of(kernel, bounds, target);
    let work: i64 = kernel.loops.iter().product();
    let least = if kernel.scan.is_some() { SHARED } else { target.tuning.chained_iterations };
    let divides = kernel.parallel > 0 && bounds.is_empty() && work >= least;
    let parts = (target.threads > 1 && divides).then(|| {
        let parts = match &lanes {
            // The only loop iterates over vectors, so its parts are vectors.
            Some(lanes) if lanes.divides_alone(kernel) => kernel.loops[0] / lanes.count,
            _ => kernel.loops[0],
        };
        Ranges::of(kernel, parts, work >= SHARED)
    });
    let mut e = Emitter {
        places: kernel.places(),
        kernel,
        math: target.math,
        out: String::new(),
        in_parts: parts.is_some(),
        bounds,
        next: 0,
        indent: 1,
        loops: Vec::new(),
        lanes,
        width: 1,
        values: vec![None; kernel.nodes.len()].into(),
        vectors: vec![None; kernel.nodes.len()].into(),
        outer: Vec::new(),
    };
    let mut params: Vec<String> = Vec::new();
    for (i, (_, element, shape)) in kernel.buffers.iter().enumerate() {
        let n: i64 = shape.iter().product();
        params.push(format!("%b{i}: memref<{n}x{}> {{llvm.noalias}}", storage(*element).unwrap_or("i8")));
    }
    for place in e.places.iter().filter(|p| p.part == 0 && kernel.outputs[p.result].in_place.is_none()) {
        let (i, n, ty) = (place.result, e.result_count(place), storage(place.element).unwrap_or("i8"));
        params.push(format!("%o{i}: memref<{n}x{ty}> {{llvm.noalias}}"));
    }
    if parts.is_some() {
        params.extend(["%from: index".to_owned(), "%to: index".to_owned()]);
    }
    let _ = writeln!(out, "func.func @{name}({}) {{", params.join(", "));
    e.loops = (0..kernel.loops.len()).map(|i| format!("%i{i}")).collect();
    e.function();
    out.push_str(&e.out);
    out.push_str("  return\n}\n");
    parts
}

/// The innermost loop of a kernel.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Innermost {
    /// The number of its positions.
    pub length: i64,
    /// The number of elements in the vectors that the kernel is written with; `None` if it is left to LLVM to find
    /// vectors.
    pub vectors: Option<i64>,
    /// Whether neighboring positions do the same computation, so that LLVM finds vectors.
    pub even: bool,
}

impl Innermost {
    pub(super) fn of(kernel: &Fused, target: Target) -> Self {
        let k = collapse(kernel, false);
        let vectors = Lanes::of(&k, &[], target).map(|lanes| lanes.count);
        Self { length: k.loops.last().copied().unwrap_or(1), vectors, even: lanes::is_even(&k, target.math) }
    }
}

/// Returns whether a kernel only changes a part of the buffer that it overwrites.
pub(super) fn is_update(kernel: &Fused) -> bool {
    kernel.overwritten().next().is_some() && update::narrowed(&collapse(kernel, false)).is_some()
}

/// The number of iterations from which several threads run a kernel.
const SHARED: i64 = 1 << 15;

struct Emitter<'a> {
    kernel: &'a Fused,
    /// The places where the results are stored.
    places: SmallVec<[Place; 4]>,
    /// Whether the range of the outermost loop is a parameter.
    in_parts: bool,
    /// Loops that run only some of their positions.
    bounds: &'a [Bound],
    math: Math,
    out: String,
    next: usize,
    indent: usize,
    /// Names of the loop variables.
    loops: Vec<String>,
    /// The vectors of the innermost loop, if it has any.
    lanes: Option<Lanes>,
    /// The number of elements of the values that are currently written: one, or those of a vector.
    width: i64,
    /// Names of the nodes computed in the current scope, one element of each.
    values: TiVec<Node, Option<String>>,
    /// Names of the vectors of nodes computed in the current scope.
    vectors: TiVec<Node, Option<String>>,
    /// Names of the accumulators.
    outer: Vec<String>,
}

impl Write for Emitter<'_> {
    fn value(&mut self, text: &str) -> String {
        let name = self.fresh();
        self.line(&format!("{name} = {text}"));
        name
    }

    fn of(&self, element: &'static str) -> Cow<'static, str> {
        match self.width {
            1 => Cow::Borrowed(element),
            width => Cow::Owned(format!("vector<{width}x{element}>")),
        }
    }
}

impl Emitter<'_> {
    fn line(&mut self, text: &str) {
        for _ in 0..self.indent {
            self.out.push_str("  ");
        }
        self.out.push_str(text);
        self.out.push('\n');
    }

    fn fresh(&mut self) -> String {
        self.next += 1;
        format!("%{}", self.next - 1)
    }

    fn index_const(&mut self, v: i64) -> String {
        self.value(&format!("arith.constant {v} : index"))
    }
}
