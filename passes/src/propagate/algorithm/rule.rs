//! Sharding rules prepared for the inner loop: hash-consed, every dimension mapped, tensor sizes known.

use dialect::define_id;
use dialect::id::Interner;
use dialect::sharding::{FactorKind, ShardingRule};
use smallvec::SmallVec;

/// One tensor of a rule.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct TensorRule {
    /// The factors of each dimension, major first; never empty.
    pub dims: SmallVec<[SmallVec<[u32; 1]>; 4]>,
    /// Product of its factors' sizes.
    pub size: i64,
}

/// A rule with operands first, then results.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Rule {
    /// Sizes of the factors.
    pub sizes: SmallVec<[i64; 6]>,
    /// Kinds of the factors.
    pub kinds: SmallVec<[FactorKind; 6]>,
    /// Whether each factor blocks propagation.
    pub blocked: SmallVec<[bool; 6]>,
    /// Operands, then results.
    pub tensors: SmallVec<[TensorRule; 4]>,
    /// The number of operands among the tensors.
    pub operands: usize,
    /// Whether the user wrote it.
    pub custom: bool,
}

impl Rule {
    /// Creates it from a rule and the shapes of its tensors. A dimension without factors gets a new factor, so that its
    /// axes still block others. `None` when rule and shapes don't match.
    pub fn new(rule: &ShardingRule, shapes: &[&[i64]]) -> Option<Self> {
        let mut sizes: SmallVec<[i64; 6]> = rule.factors.iter().map(|f| f.size).collect();
        let mut kinds: SmallVec<[FactorKind; 6]> = rule.factors.iter().map(|f| f.kind).collect();
        let mut blocked: SmallVec<[bool; 6]> = rule.factors.iter().map(|f| f.blocked).collect();
        if rule.operands.len() + rule.results.len() != shapes.len() {
            return None;
        }
        let mut tensors = SmallVec::new();
        for (factors, shape) in rule.tensors().zip(shapes) {
            if factors.len() != shape.len() {
                return None;
            }
            let mut dims: SmallVec<[SmallVec<[u32; 1]>; 4]> = SmallVec::new();
            for (dim, &size) in factors.iter().zip(shape.iter()) {
                if dim.iter().any(|&f| f as usize >= rule.factors.len()) {
                    return None;
                }
                let mut dim: SmallVec<[u32; 1]> = dim.iter().copied().collect();
                if dim.is_empty() {
                    dim.push(sizes.len() as u32);
                    sizes.push(size);
                    kinds.push(FactorKind::PassThrough);
                    blocked.push(false);
                }
                dims.push(dim);
            }
            let size = dims.iter().flatten().fold(1i64, |n, &f| n.saturating_mul(sizes[f as usize]));
            tensors.push(TensorRule { dims, size });
        }
        Some(Self { sizes, kinds, blocked, tensors, operands: rule.operands.len(), custom: rule.custom })
    }

    /// Creates a rule that ties each dimension of every tensor to the same dimension of the others: `operands` sources
    /// and one target of `shape`.
    pub fn identity(shape: &[i64], operands: usize) -> Self {
        let dims: SmallVec<_> = (0..shape.len()).map(|d| SmallVec::from_slice(&[d as u32])).collect();
        let size = shape.iter().fold(1i64, |n, &d| n.saturating_mul(d));
        Self {
            sizes: shape.iter().copied().collect(),
            kinds: shape.iter().map(|_| FactorKind::PassThrough).collect(),
            blocked: shape.iter().map(|_| false).collect(),
            tensors: (0..=operands).map(|_| TensorRule { dims: dims.clone(), size }).collect(),
            operands,
            custom: false,
        }
    }

    /// Returns the number of factors.
    pub fn factors(&self) -> usize {
        self.sizes.len()
    }
}

define_id!(
    /// The id of a rule.
    pub RuleId, "rule"
);

/// All rules seen so far.
pub type Rules = Interner<RuleId, Rule>;
