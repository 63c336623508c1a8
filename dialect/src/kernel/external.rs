//! Computations that aren't loop nests, as checked data read off their ops: the runtime has native code for each, and
//! never asks for an op's name.

use smallvec::SmallVec;

/// A computation that isn't a loop nest.
#[derive(Clone, PartialEq, Debug)]
pub enum External {
    /// `stablehlo.scatter`
    Scatter,
    /// A collective of any kind, given by [`OpDef::collective`](crate::op::OpDef::collective).
    Collective,
    /// `stablehlo.partition_id`
    PartitionId,
    /// `stablehlo.replica_id`
    ReplicaId,
    /// Random bits that are a function of a state: operand 0 is the state, the results are the next one and the bits.
    RngBits(RngAlgorithm),
    /// Anything else: the runtime uses the op's reference evaluation.
    Reference,
}

impl External {
    /// Pairs of an operand and a result of one type, where the result may be computed in the memory of the operand: every
    /// element of the operand is read before its place is written, or the computation changes it step by step.
    pub fn in_place(&self) -> SmallVec<[(usize, usize); 2]> {
        SmallVec::new()
    }
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
