//! Computations that aren't loop nests, as checked data read from their ops: the runtime has native code for each,
//! chosen by this data and never by an op's name.

use smallvec::SmallVec;

use super::Body;
use crate::ops::chlo::ragged_dot::RaggedDims;
use crate::ops::stablehlo::indexing::ScatterDims;
use crate::ops::stablehlo::window::WindowDim;

/// A computation that isn't a loop nest.
#[derive(Clone, PartialEq, Debug)]
pub enum External {
    /// A scatter: updates are combined into operands at start positions from a tensor of indices.
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
    /// An element is selected in each window, and a value is combined into the result at its place. Operands are the
    /// tensor under the windows, a value for each window, and the initial value of all elements of the result.
    SelectAndScatter(Box<SelectAndScatter>),
    /// Fourier transforms along the last dimensions, one for each length. The lengths are those of the full values, not
    /// of the half that a real transform stores.
    Fft(FftKind, SmallVec<[i64; 3]>),
    /// Hermitian positive-definite matrices factored into a triangular matrix times its adjoint. Only the result's
    /// triangle of the operand is read.
    Cholesky {
        /// Whether the result is lower triangular.
        lower: bool,
    },
    /// Systems of linear equations: operand 0 is the triangular matrices, operand 1 the right-hand sides.
    TriangularSolve(TriangularForm),
    /// Decompositions of matrices as in LAPACK: the last [`Decomposition::rank`] dimensions of operand 0 are the
    /// matrix, the others are batches.
    Decomposition(Decomposition),
    /// Products of matrices with one dimension divided into groups: operands are both sides and the groups' sizes.
    RaggedDot(Box<RaggedDims>),
    /// Anything else: the runtime uses the op's reference evaluation.
    Reference,
}

impl External {
    /// Returns pairs of an operand and a result of the same type, if the result may be computed in the buffer of the
    /// operand: every element of the operand is read before its place is written, or the computation updates it step by
    /// step.
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
    /// The relation of the dimensions of inputs, indices and updates.
    pub dims: ScatterDims,
    /// The computation that combines elements of the inputs (accumulators) with those of the updates (inputs); `None`
    /// if the region is more than scalar arithmetic.
    pub combine: Option<Body>,
    /// Whether one sum is so long that it is accumulated in f64 and rounded once.
    pub sums: bool,
}

/// The selection of an element in each window, and the combination at its place.
#[derive(Clone, PartialEq, Debug)]
pub struct SelectAndScatter {
    /// The windows, one for each dimension.
    pub windows: Vec<WindowDim>,
    /// The comparison: whether the element selected so far (input 0) is kept rather than another one (input 1).
    pub select: Option<Body>,
    /// Combines an element of the result (the accumulator) with a value (the input).
    pub scatter: Option<Body>,
}

/// A stable sort; the results are the reordered operands.
#[derive(Clone, PartialEq, Debug)]
pub struct Sort {
    /// The dimension sorted along.
    pub dim: usize,
    /// The comparison whether an element comes before another. Inputs `2 i` and `2 i + 1` are elements of operand `i`.
    /// `None` if the region is more than scalar arithmetic.
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

/// Returns the dimension along which a tensor of this shape has the two words of one Threefry counter adjacent, if its
/// elements are narrower than 64 bits: the first even dimension, or else the largest. `None` for a scalar.
pub fn threefry_split(shape: &[i64]) -> Option<usize> {
    let even = shape.iter().position(|d| d % 2 == 0);
    even.or_else(|| (0..shape.len()).rev().max_by_key(|&d| shape[d]))
}

/// The four kinds of Fourier transform.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum FftKind {
    /// Sums `x[k] e^(-2 pi i j k / n)`.
    Forward,
    /// The inverse of `Forward`, divided by the number of values.
    Inverse,
    /// Real values to the first half of the complex result.
    Real,
    /// The inverse of `Real`.
    InverseReal,
}

/// The form of a linear system with a triangular matrix.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct TriangularForm {
    /// Whether the system is `op(a) x = b`, not `x op(a) = b`.
    pub left: bool,
    /// Whether the lower triangle of `a` is read, not the upper one.
    pub lower: bool,
    /// Whether the diagonal is taken as 1.
    pub unit: bool,
    /// Whether `op` transposes.
    pub transposed: bool,
    /// Whether `op` conjugates.
    pub conjugated: bool,
}

/// The decomposition of a matrix, in LAPACK's form; each lists the results after the operands that it replaces.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Decomposition {
    /// `P A = L U`: both factors in one matrix, the row with which each row was swapped, and 0 or the number of the
    /// first zero pivot.
    Lu {
        /// Whether the last result is the permutation instead, and rows count from 0.
        permutation: bool,
    },
    /// `A = Q R`: R above Householder vectors, and the vectors' factors.
    Qr,
    /// The first columns of the product of the reflectors from [`Decomposition::Qr`].
    HouseholderProduct,
    /// The factor of a positive-definite matrix in place of one of its triangles, and 0 or the number of the first
    /// leading minor that isn't positive.
    Cholesky {
        /// Whether it is the lower triangle.
        lower: bool,
    },
    /// Eigenvectors as columns, eigenvalues, and 0; the last result may be missing.
    Eigh {
        /// Whether the lower triangle is read.
        lower: bool,
    },
    /// Eigenvalues (for a real matrix their real and imaginary parts), left and right eigenvectors, and 0 or the number
    /// of values that weren't found. Vectors that aren't requested are zeros.
    Eigen {
        /// Whether left eigenvectors are computed.
        left: bool,
        /// Whether right eigenvectors are computed.
        right: bool,
    },
    /// The matrix, its singular values, left and right singular vectors, and 0.
    Svd {
        /// Whether vectors are computed: otherwise they are zeros.
        vectors: bool,
    },
    /// A Hessenberg matrix above Householder vectors, the vectors' factors, and 0. Rows and columns outside
    /// `low..=high`, counted from 1, are triangular already.
    Hessenberg {
        /// The first row.
        low: i64,
        /// The last row.
        high: i64,
    },
    /// For a Hermitian matrix: a tridiagonal matrix with Householder vectors in one triangle, its diagonal, its
    /// off-diagonal, the vectors' factors, and 0.
    Tridiagonal {
        /// Whether the lower triangle is read.
        lower: bool,
    },
    /// A QR decomposition with the columns pivoted by their remaining norms; operand 1 marks the columns that come
    /// first.
    PivotedQr,
    /// Operand 2 multiplied by the product of reflectors.
    Reflect {
        /// Whether to multiply from the left, not from the right.
        left: bool,
        /// Whether to multiply by the adjoint of the product.
        adjoint: bool,
    },
    /// The triangular matrix, the unitary matrix, eigenvalues, 0, and 0 or the number of values that weren't found. For
    /// a real matrix the triangular matrix has 2x2 blocks on its diagonal for conjugate eigenvalues, whose real and
    /// imaginary parts are separate results.
    Schur {
        /// Whether the unitary matrix is computed: otherwise it is zeros.
        vectors: bool,
    },
    /// A tridiagonal system: the factored diagonals, the solution, and 0 or the number of the first zero pivot.
    ThreeDiagonals,
}

impl Decomposition {
    /// Returns how many of the last dimensions of operand 0 are one problem.
    pub fn rank(self) -> usize {
        if self == Decomposition::ThreeDiagonals { 1 } else { 2 }
    }
}
