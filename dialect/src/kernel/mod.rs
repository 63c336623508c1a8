//! The computation of an op as a loop nest: sharding rules, costs, fusion and native code are all derived from this one
//! description.
//!
//! A nest runs over `loops`; the first `parallel` of them are the dimensions of the results in order, the others are
//! reduced, innermost last. Every input is read at quasi-affine positions; if a guard fails, its `outside` value is
//! used. The body computes one value per result from the loaded elements (and, in a reduction, the accumulators). All
//! results have the shape of the parallel loops.

mod affine;
mod body;
mod contraction;
mod eval;
mod external;
mod index;
mod library;
mod range;

use smallvec::SmallVec;

use crate::scalar::Scalar;

pub use affine::{Affine, Term};
pub use body::{Arg, Body, Inst};
pub use contraction::{Contraction, Role, Window, product_type};
pub use eval::{body_of_loops, body_of_region, map};
pub use external::{
    Decomposition, External, FftKind, RngAlgorithm, Scatter, SelectAndScatter, Sort, TriangularForm, threefry_split,
};
pub use index::Index;
pub use library::{BYTES, FLOPS, LibraryCall};
pub use range::Positions;

/// The computation of an op.
#[derive(Clone, PartialEq, Debug)]
pub enum Kernel {
    /// A loop nest.
    Nest(Nest),
    /// No loop nest.
    External(External),
    /// Computed by its regions: while, if, case, manual_computation, call.
    Control,
    /// No computation: returns, meshes, unknown ops.
    None,
}

impl Kernel {
    /// Returns the operands that must be added only once: initial values of accumulators, the tensor that a scatter
    /// updates. If the op is sharded along a reduced dimension, one device has these operands and the others have
    /// identities. `results` is the number of the op's results.
    pub fn accumulated(&self, results: usize) -> SmallVec<[usize; 2]> {
        let operand = |init: &Init| if let Init::Operand(i) = init { Some(*i) } else { None };
        match self {
            Kernel::Nest(nest) => nest.init.iter().filter_map(operand).collect(),
            Kernel::External(External::Scatter(_)) => (0..results).collect(),
            _ => SmallVec::new(),
        }
    }
}

/// A loop nest.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Nest {
    /// Trip counts: the parallel loops first.
    pub loops: SmallVec<[i64; 6]>,
    /// The number of parallel loops.
    pub parallel: usize,
    /// The elements read in each iteration.
    pub inputs: Vec<Input>,
    /// Initial values of the accumulators, one per result; empty without reduction loops.
    pub init: Vec<Init>,
    /// The computation on the inputs (then the accumulators).
    pub body: Body,
}

/// One element read from an operand in every iteration.
#[derive(Clone, PartialEq, Debug)]
pub struct Input {
    /// The operand of the op.
    pub operand: usize,
    /// A position for each dimension of the operand.
    pub index: SmallVec<[Index; 4]>,
    /// Conditions under which the element is read; all must hold.
    pub guards: Vec<Guard>,
    /// The value that replaces the element if a guard fails; required if there are guards.
    pub outside: Option<Outside>,
}

impl Nest {
    /// Creates a nest with one parallel loop per dimension of `shape`.
    pub fn over(shape: &[i64], inputs: Vec<Input>, body: Body) -> Self {
        let loops = shape.iter().copied().collect();
        Self { loops, parallel: shape.len(), inputs, init: Vec::new(), body }
    }
}

impl Input {
    /// Creates a read of operand `operand` at these positions, without guards.
    pub fn of(operand: usize, index: impl IntoIterator<Item = Index>) -> Self {
        Self { operand, index: index.into_iter().collect(), guards: Vec::new(), outside: None }
    }

    /// Creates a read of operand `operand` at plain loop positions, without guards.
    pub fn at(operand: usize, loops: impl IntoIterator<Item = usize>) -> Self {
        Self::of(operand, loops.into_iter().map(Index::Loop))
    }
}

/// A value that replaces an element that doesn't exist.
#[derive(Clone, PartialEq, Debug)]
pub enum Outside {
    /// A constant of the operand's element type.
    Const(Scalar),
    /// The only element of a rank-0 operand.
    Operand(usize),
}

/// The initial value of an accumulator.
#[derive(Clone, PartialEq, Debug)]
pub enum Init {
    /// A constant of the result's element type.
    Const(Scalar),
    /// The only element of a rank-0 operand.
    Operand(usize),
}

/// `lo <= index < hi`. Interior padding guards the remainder: `Mod(index, step)` in `0..1`.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Guard {
    /// The expression compared.
    pub index: Index,
    /// Smallest allowed value.
    pub lo: i64,
    /// One past the largest allowed value.
    pub hi: i64,
}
