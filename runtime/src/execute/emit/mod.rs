//! A fused kernel as MLIR text: `scf` loops over `memref` buffers, `arith` and `math` inside.
//!
//! Buffers are flat and row-major; `i1` is stored as a byte. bf16, f16 and smaller floats are held in f32 registers and rounded
//! after every operation, except that a sum of them accumulates in f32 and is rounded once. Neighboring loops that
//! every access traverses with one stride are joined, so that the innermost loop is as long as possible.
//!
//! Where the innermost loop reads and writes neighboring elements, it is written over vectors ([`lanes`]): LLVM would
//! find the same vectors itself, but takes as long for that as for everything else.

mod collapse;
mod index;
mod lanes;
mod loops;
mod nodes;
mod turned;

use std::borrow::Cow;
use std::fmt::Write as _;

use dialect::id::TiVec;
use dialect::ir::ElementType;
use smallvec::SmallVec;

use super::arith::{Math, Write};
use super::chain::Ranges;
use super::complex;
use super::fused::{Fused, Node, Place};
use super::small::is_small;
use super::update::{self, Bound};
use collapse::collapse;
use lanes::Lanes;
pub(super) use loops::columns_innermost;

/// The MLIR type that a buffer of this element type holds; `None` if there is no native code for it.
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

/// The MLIR type that its values are computed in.
pub(super) fn register(element: ElementType) -> &'static str {
    match element {
        ElementType::I1 => "i1",
        e if is_narrow(e) => "f32",
        e => storage(e).unwrap_or("i64"),
    }
}

/// Whether values of the type are rounded after every operation.
pub(super) fn is_narrow(element: ElementType) -> bool {
    matches!(element, ElementType::BF16 | ElementType::F16) || is_small(element)
}

/// What kernels are written for.
#[derive(Clone, Copy, Debug)]
pub(super) struct Target {
    /// The most threads that share a kernel.
    pub threads: usize,
    /// How elementary functions are computed.
    pub math: Math,
    /// Bytes of the processor's vectors.
    pub vector_bytes: usize,
}

/// Appends function `name`, which computes `kernel`. Its parameters are pointers to the buffers, then to the results
/// that have buffers of their own.
///
/// Where several threads may share kernels, one with loops takes the first and the last part of its outermost loop,
/// exclusive, as well; what these parts are is returned.
pub(super) fn emit(kernel: &Fused, name: &str, target: Target, out: &mut String) -> Option<Ranges> {
    let divided = target.threads > 1 && kernel.loops.iter().product::<i64>() >= SHARED;
    let whole = match complex::split(kernel) {
        Some(real) => collapse(&real, divided),
        None => collapse(kernel, divided),
    };
    let (kernel, bounds) = &update::narrowed(&whole).unwrap_or((whole, Vec::new()));
    let lanes = Lanes::of(kernel, bounds, target);
    let work: i64 = kernel.loops.iter().product();
    let least = if kernel.scan.is_some() { SHARED } else { CHAINED };
    let divides = kernel.parallel > 0 && bounds.is_empty() && work >= least;
    let parts = (target.threads > 1 && divides).then(|| {
        let parts = match &lanes {
            // The only loop is over vectors, and so are its parts.
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
    /// How many positions it has.
    pub length: i64,
    /// How many elements the vectors have that it goes over; `None` where LLVM is to find them.
    pub vectors: Option<i64>,
    /// Whether LLVM finds them.
    pub even: bool,
}

impl Innermost {
    pub(super) fn of(kernel: &Fused, target: Target) -> Self {
        let k = collapse(kernel, false);
        let vectors = Lanes::of(&k, &[], target).map(|lanes| lanes.count);
        Self { length: k.loops.last().copied().unwrap_or(1), vectors, even: lanes::is_even(&k, target.math) }
    }
}

/// Whether a kernel does nothing but change a part of the buffer that it overwrites.
pub(super) fn is_update(kernel: &Fused) -> bool {
    kernel.overwritten().next().is_some() && update::narrowed(&collapse(kernel, false)).is_some()
}

/// From this many iterations on, several threads run a kernel.
const SHARED: i64 = 1 << 15;

/// From this many iterations on, a kernel may take part in a chain of larger ones.
const CHAINED: i64 = if cfg!(test) { 16 } else { 1 << 10 };

struct Emitter<'a> {
    kernel: &'a Fused,
    /// Where the results are stored.
    places: SmallVec<[Place; 4]>,
    /// Whether the range of the outermost loop is a parameter.
    in_parts: bool,
    /// Loops that don't run all their positions.
    bounds: &'a [Bound],
    math: Math,
    out: String,
    next: usize,
    indent: usize,
    /// Names of the loop variables.
    loops: Vec<String>,
    /// How the innermost loop goes over vectors, if it does.
    lanes: Option<Lanes>,
    /// How many elements the operations that are written now have: one, or those of a vector.
    width: i64,
    /// Names of the nodes computed in the current scope, one element of each.
    values: TiVec<Node, Option<String>>,
    /// Names of vectors of them.
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
