//! Sharding rules: which dimensions of an op's operands and results are sharded together. Source: Shardy,
//! `OpShardingRuleAttr`.
//!
//! A rule reads like an einsum: every dimension is a list of factors, major first; a factor that several tensors share
//! is sharded the same way in all of them.

use smallvec::{SmallVec, smallvec};

use crate::ir::{OpRef, TensorType, TypeData};

/// The requirement of sharding along a factor.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum FactorKind {
    /// Nothing: every device computes its shard alone.
    PassThrough,
    /// Devices hold partial results that must be combined.
    Reduction,
    /// Data must move between neighbors (slices, pads, windows).
    Permutation,
    /// Sharding isn't possible: the op needs the factor replicated.
    NeedReplication,
}

/// One factor.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Factor {
    /// Its size.
    pub size: i64,
    /// The requirement of sharding along it.
    pub kind: FactorKind,
    /// Whether propagation is forbidden along it.
    pub blocked: bool,
}

/// The factors of one dimension, major first; empty for an unmapped dimension (`*`).
pub type DimFactors = SmallVec<[u32; 1]>;
/// The factors of one tensor's dimensions.
pub type TensorFactors = SmallVec<[DimFactors; 4]>;

/// A sharding rule.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
pub struct ShardingRule {
    /// All the factors, in the order they are named (`i`, `j`, …).
    pub factors: Vec<Factor>,
    /// One entry per operand.
    pub operands: Vec<TensorFactors>,
    /// One entry per result.
    pub results: Vec<TensorFactors>,
    /// Written by the user; never dropped.
    pub custom: bool,
}

impl ShardingRule {
    /// Creates a rule for operands and results of these ranks, without factors.
    pub fn new(operand_ranks: &[usize], result_ranks: &[usize]) -> Self {
        let empty = |ranks: &[usize]| ranks.iter().map(|&r| smallvec![DimFactors::new(); r]).collect();
        Self { factors: Vec::new(), operands: empty(operand_ranks), results: empty(result_ranks), custom: false }
    }

    /// Creates a rule for the operands and results of `op`, without factors.
    pub fn of_op(op: OpRef<'_>) -> Self {
        let rank = |ty: &TypeData| ty.tensor().map_or(0, TensorType::rank);
        let operands: Vec<usize> = op.operand_types().map(rank).collect();
        let results: Vec<usize> = op.result_types().map(rank).collect();
        Self::new(&operands, &results)
    }

    /// Creates a rule that shards dimension `d` of all operands and results together: elementwise ops. Operands of rank
    /// 0 have no factors.
    pub fn pointwise(operand_ranks: &[usize], result_ranks: &[usize], shape: &[i64]) -> Self {
        let mut rule = Self::new(operand_ranks, result_ranks);
        for (d, &size) in shape.iter().enumerate() {
            let f = rule.factor(size, FactorKind::PassThrough);
            let Self { operands, results, .. } = &mut rule;
            for t in operands.iter_mut().chain(results) {
                if let Some(dim) = t.get_mut(d) {
                    dim.push(f);
                }
            }
        }
        rule
    }

    /// Adds a factor and returns its number.
    pub fn factor(&mut self, size: i64, kind: FactorKind) -> u32 {
        self.factors.push(Factor { size, kind, blocked: false });
        (self.factors.len() - 1) as u32
    }

    /// Maps a new factor to the given dimensions: `operands` and `results` are (tensor, dimension) pairs.
    pub fn add(&mut self, size: i64, kind: FactorKind, operands: &[(usize, usize)], results: &[(usize, usize)]) -> u32 {
        let f = self.factor(size, kind);
        for &(t, d) in operands {
            self.operands[t][d].push(f);
        }
        for &(t, d) in results {
            self.results[t][d].push(f);
        }
        f
    }

    /// Maps a new factor to dimension `dim` of every operand and result that has one.
    pub fn add_all(&mut self, size: i64, kind: FactorKind, dim: usize) -> u32 {
        let f = self.factor(size, kind);
        for tensor in self.operands.iter_mut().chain(&mut self.results) {
            if let Some(d) = tensor.get_mut(dim) {
                d.push(f);
            }
        }
        f
    }

    /// Maps a new factor of size 1 to every unmapped dimension, operands first.
    pub fn complete(mut self) -> Self {
        let Self { factors, operands, results, .. } = &mut self;
        for dim in operands.iter_mut().chain(results).flatten().filter(|d| d.is_empty()) {
            dim.push(factors.len() as u32);
            factors.push(Factor { size: 1, kind: FactorKind::PassThrough, blocked: false });
        }
        self
    }

    /// Forbids propagation along factor `f`.
    pub fn block(&mut self, f: u32) {
        self.factors[f as usize].blocked = true;
    }

    /// Forbids propagation along all factors of the kinds for which `kinds` returns true.
    pub fn block_where(&mut self, kinds: impl Fn(FactorKind) -> bool) {
        self.factors.iter_mut().filter(|f| kinds(f.kind)).for_each(|f| f.blocked = true);
    }

    /// Returns all tensors, operands first.
    pub fn tensors(&self) -> impl Iterator<Item = &TensorFactors> {
        self.operands.iter().chain(&self.results)
    }
}
