//! Computations that aren't loop nests, as checked data read off their ops: the runtime has native code for each, and
//! never asks for an op's name.

use smallvec::SmallVec;

use super::Body;
use crate::ops::chlo::ragged_dot::RaggedDims;
use crate::ops::stablehlo::indexing::ScatterDims;
use crate::ops::stablehlo::window::WindowDim;

/// A computation that isn't a loop nest.
#[derive(Clone, PartialEq, Debug)]
pub enum External {
    /// Updates combined into operands at starts given by a tensor of indices.
    Scatter(Box<Scatter>),
    /// A collective of any kind, given by [`OpDef::collective`](crate::op::OpDef::collective).
    Collective,
    /// `stablehlo.partition_id`
    PartitionId,
    /// `stablehlo.replica_id`
    ReplicaId,
    /// Random bits that are a function of a state: operand 0 is the state, the results are the next one and the bits.
    RngBits(RngAlgorithm),
    /// Slices of several tensors ordered together along one dimension.
    Sort(Sort),
    /// An element selected in each window, at whose place a value is combined into the result. Operands are the tensor
    /// under the windows, a value for each window, and what all elements of the result begin as.
    SelectAndScatter(Box<SelectAndScatter>),
    /// Fourier transforms along as many of the last dimensions as there are lengths, which are those of the values that
    /// aren't the half that real ones have.
    Fft(FftKind, SmallVec<[i64; 3]>),
    /// Hermitian positive-definite matrices factored into a triangular one, lower or not, times its adjoint. Only that
    /// triangle is read.
    Cholesky {
        /// Whether the result is lower triangular.
        lower: bool,
    },
    /// Systems of equations: operand 0 is the triangular matrices, operand 1 the right-hand sides.
    TriangularSolve(TriangularForm),
    /// Matrices decomposed as LAPACK does: the last dimensions of operand 0, as many as [`Decomposition::rank`] says, the
    /// others being batches.
    Decomposition(Decomposition),
    /// Products of matrices of which one dimension is divided into groups: operands are both sides and the groups' sizes.
    RaggedDot(Box<RaggedDims>),
    /// Anything else: the runtime uses the op's reference evaluation.
    Reference,
}

impl External {
    /// Pairs of an operand and a result of one type, where the result may be computed in the memory of the operand: every
    /// element of the operand is read before its place is written, or the computation changes it step by step.
    pub fn in_place(&self) -> SmallVec<[(usize, usize); 2]> {
        match self {
            External::Scatter(scatter) => (0..scatter.dims.inputs).map(|i| (i, i)).collect(),
            _ => SmallVec::new(),
        }
    }
}

/// A scatter. Operands are the inputs, the indices, then an update for each input.
#[derive(Clone, PartialEq, Debug)]
pub struct Scatter {
    /// How inputs, indices and updates relate.
    pub dims: ScatterDims,
    /// What becomes of the elements of the inputs (accumulators) and those of the updates (inputs); `None` if the region
    /// is more than scalar arithmetic.
    pub combine: Option<Body>,
    /// Whether one sum is long enough to be kept in f64 and rounded once.
    pub sums: bool,
}

/// Which element of each window is selected, and what becomes of the elements there.
#[derive(Clone, PartialEq, Debug)]
pub struct SelectAndScatter {
    /// The windows, one for each dimension.
    pub windows: Vec<WindowDim>,
    /// Whether the element selected so far (input 0) is kept beside another one (input 1).
    pub select: Option<Body>,
    /// Combines an element of the result (the accumulator) with a value (the input).
    pub scatter: Option<Body>,
}

/// A stable sort; results are the operands, reordered.
#[derive(Clone, PartialEq, Debug)]
pub struct Sort {
    /// The dimension sorted along.
    pub dim: usize,
    /// Whether an element is before another: inputs `2 i` and `2 i + 1` are the elements of operand `i`. `None` if the
    /// region is more than scalar arithmetic.
    pub before: Option<Body>,
}

/// A counter-based generator of random bits (Salmon et al., "Parallel random numbers: as easy as 1, 2, 3").
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum RngAlgorithm {
    /// Threefry-2x32 with 20 rounds; its two words are adjacent along one dimension, see [`threefry_split`].
    ThreeFry,
    /// Philox-4x32 with 10 rounds; its words are consecutive elements.
    Philox,
}

/// The dimension along which a tensor of this shape has the two words of one Threefry counter next to each other, if its
/// elements are narrower than 64 bits: the first even one, else the largest. `None` for a scalar.
pub fn threefry_split(shape: &[i64]) -> Option<usize> {
    let even = shape.iter().position(|d| d % 2 == 0);
    even.or_else(|| (0..shape.len()).rev().max_by_key(|&d| shape[d]))
}

/// The four kinds of Fourier transform.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum FftKind {
    /// `x[k] e^(-2 pi i j k / n)` summed.
    Forward,
    /// The inverse of `Forward`, divided by the number of values.
    Inverse,
    /// Real values to the first half of the complex result.
    Real,
    /// The inverse of `Real`.
    InverseReal,
}

/// What a system with a triangular matrix looks like.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct TriangularForm {
    /// `op(a) x = b` rather than `x op(a) = b`.
    pub left: bool,
    /// Which triangle of `a` is read.
    pub lower: bool,
    /// Whether the diagonal is taken as 1.
    pub unit: bool,
    /// `op` transposes.
    pub transposed: bool,
    /// `op` conjugates.
    pub conjugated: bool,
}

/// What becomes of a matrix, in LAPACK's form: operands, then results.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Decomposition {
    /// `P A = L U`: both factors in one matrix, the row that each was swapped with, and 0 or the first pivot that is 0.
    Lu {
        /// Whether the last result is the permutation instead, and rows count from 0.
        permutation: bool,
    },
    /// `A = Q R`: R above Householder vectors, and their factors.
    Qr,
    /// The first columns of the product of the reflectors that [`Decomposition::Qr`] gives.
    HouseholderProduct,
    /// The factor of a positive-definite matrix in place of one of its triangles, and 0 or the first leading minor that
    /// isn't.
    Cholesky {
        /// Which triangle.
        lower: bool,
    },
    /// Eigenvectors as columns, eigenvalues, and 0; the last result may be missing.
    Eigh {
        /// Which triangle is read.
        lower: bool,
    },
    /// Eigenvalues (of a real matrix their real and imaginary parts), left and right eigenvectors, and 0 or how many values
    /// weren't found. Vectors that aren't asked for are zeros.
    Eigen {
        /// Whether there are left ones.
        left: bool,
        /// Whether there are right ones.
        right: bool,
    },
    /// The matrix, its singular values, left and right singular vectors, and 0.
    Svd {
        /// Whether there are vectors: theirs are zeros else.
        vectors: bool,
    },
    /// A Hessenberg matrix above Householder vectors, their factors, and 0. Rows and columns outside of these, counted from
    /// 1, are triangular already.
    Hessenberg {
        /// The first row.
        low: i64,
        /// The last one.
        high: i64,
    },
    /// Of a Hermitian matrix a tridiagonal one with Householder vectors in one triangle, its diagonal, the one beside it,
    /// the vectors' factors, and 0.
    Tridiagonal {
        /// Which triangle is read.
        lower: bool,
    },
    /// A QR decomposition of the columns in the order of what is left of their lengths; operand 1 says which come first.
    PivotedQr,
    /// Operand 2 multiplied by the product of reflectors.
    Reflect {
        /// From the left rather than from the right.
        left: bool,
        /// By the adjoint of the product.
        adjoint: bool,
    },
    /// The triangle, the unitary matrix, eigenvalues, 0, and 0 or how many values weren't found. Of a real matrix the
    /// triangle has squares of 2 on its diagonal for conjugate eigenvalues, whose parts are results of their own.
    Schur {
        /// Whether there is a unitary matrix: it is zeros else.
        vectors: bool,
    },
    /// A system with three diagonals: what becomes of these, the solution, and 0 or the first pivot that is 0.
    ThreeDiagonals,
}

impl Decomposition {
    /// How many of the last dimensions of operand 0 are one problem.
    pub fn rank(self) -> usize {
        if self == Decomposition::ThreeDiagonals { 1 } else { 2 }
    }
}
