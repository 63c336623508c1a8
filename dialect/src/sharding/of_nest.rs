//! The sharding rule that a loop nest says by itself.
//!
//! A parallel loop is a pass-through factor, a reduction loop a reduction factor. A dimension read at a loop's plain
//! position shares its factor. One read shifted, strided or guarded along a single parallel loop shares it too, but
//! then the factor is a permutation: cutting it moves data between neighbors. What is read in any other way must be
//! whole. Factor sizes are Shardy's: where one tensor is read shifted (slice, pad) its dimension's, else the loop's.

use std::ops::Range;

use super::rule::{FactorKind, ShardingRule};
use crate::ir::OpRef;
use crate::kernel::{Guard, Index, Nest};

/// How one dimension of an operand is read.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Read {
    /// Never.
    Not,
    /// At the loop's position.
    Plain(usize),
    /// Along one parallel loop; `windowed`: and reduction loops.
    Moved { along: usize, windowed: bool },
    /// At position 0 of one.
    Single,
    /// In any other way.
    Other,
}

/// The rule of an op that computes `nest`.
pub fn rule_of_nest(op: OpRef<'_>, nest: &Nest) -> ShardingRule {
    let shape_of = |i: usize| op.operand_tensor(i).map(|t| t.shape.clone()).unwrap_or_default();
    let shapes: Vec<_> = (0..op.operands().len()).map(shape_of).collect();
    let operand_ranks: Vec<usize> = shapes.iter().map(|s| s.len()).collect();
    let result_ranks: Vec<usize> =
        (0..op.result_count()).map(|i| op.result_tensor(i).map_or(0, |t| t.rank())).collect();

    let mut reads: Vec<Vec<Read>> = operand_ranks.iter().map(|&r| vec![Read::Not; r]).collect();
    let mut note = |operand: usize, index: &[Index], guards: &[Guard]| {
        for (d, at) in index.iter().enumerate() {
            if let (Some(slot), Some(&size)) =
                (reads.get_mut(operand).and_then(|r| r.get_mut(d)), shapes[operand].get(d))
            {
                *slot = slot.and(read_of(at, size, guards, nest));
            }
        }
    };
    for input in &nest.inputs {
        note(input.operand, &input.index, &input.guards);
        for index in input.index.iter().chain(input.guards.iter().map(|g| &g.index)) {
            loads(index, &mut |operand, at| note(operand, at, &[]));
        }
    }
    // A diagonal: no cut of one dimension is a cut of the other.
    let mut diagonal = vec![false; nest.loops.len()];
    for dims in &mut reads {
        for d in 0..dims.len() {
            let (before, rest) = dims.split_at_mut(d);
            if let Some(i) = rest[0].along().filter(|_| before.iter().any(|b| b.along() == rest[0].along())) {
                diagonal[i] = true;
                rest[0] = Read::Other;
            }
        }
    }

    let mut rule = ShardingRule::new(&operand_ranks, &result_ranks);
    let mut factor_of: Vec<Option<u32>> = vec![None; nest.loops.len()];
    for i in factor_order(nest) {
        let moved: Vec<(i64, bool)> = each(&reads)
            .filter_map(|(t, d, read)| match read {
                Read::Moved { along, windowed } if along == i => Some((shapes[t][d], windowed)),
                _ => None,
            })
            .collect();
        let kind = match () {
            _ if diagonal[i] => FactorKind::NeedReplication,
            _ if i >= nest.parallel && moved.is_empty() => FactorKind::Reduction,
            _ if moved.is_empty() => FactorKind::PassThrough,
            _ => FactorKind::Permutation,
        };
        let used = i < nest.parallel || each(&reads).any(|(_, _, read)| read.along() == Some(i));
        let size = match moved[..] {
            [(size, false)] => size,
            _ => nest.loops[i],
        };
        if used {
            factor_of[i] = Some(rule.factor(size, kind));
        }
    }
    for (t, d, read) in each(&reads) {
        let factor = match read {
            Read::Plain(i) | Read::Moved { along: i, .. } => factor_of[i],
            _ => None,
        };
        let size = shapes[t][d];
        let factor = factor.unwrap_or_else(|| {
            let whole = size == 1 || read == Read::Not;
            rule.factor(size, if whole { FactorKind::PassThrough } else { FactorKind::NeedReplication })
        });
        rule.operands[t][d].push(factor);
    }
    for result in &mut rule.results {
        for (d, dim) in result.iter_mut().enumerate() {
            dim.extend(factor_of.get(d).copied().flatten().filter(|_| d < nest.parallel));
        }
    }
    rule
}

/// All dimensions of all operands with the way they are read.
fn each(reads: &[Vec<Read>]) -> impl Iterator<Item = (usize, usize, Read)> {
    reads.iter().enumerate().flat_map(|(t, dims)| dims.iter().enumerate().map(move |(d, &read)| (t, d, read)))
}

/// The loops in the order their factors are named: that of the operands' dimensions where all operands are read
/// alike (reductions), else results first.
fn factor_order(nest: &Nest) -> Vec<usize> {
    let all: Range<usize> = 0..nest.loops.len();
    let mut tensors = nest.inputs.iter().filter(|i| !i.index.is_empty());
    if let Some(first) = tensors.next().filter(|_| nest.parallel < nest.loops.len()) {
        let order: Option<Vec<usize>> =
            first.index.iter().map(|at| if let Index::Loop(i) = at { Some(*i) } else { None }).collect();
        let each_once = |o: &Vec<usize>| o.len() == nest.loops.len() && (0..o.len()).all(|i| o.contains(&i));
        if let Some(order) = order.filter(each_once)
            && tensors.all(|t| t.index == first.index)
        {
            return order;
        }
    }
    all.collect()
}

fn read_of(at: &Index, size: i64, guards: &[Guard], nest: &Nest) -> Read {
    let guarded = |i: usize| {
        guards.iter().any(|g| {
            let mut found = false;
            g.index.loops(&mut |j| found |= i == j);
            found
        })
    };
    match *at {
        Index::Const(0) if size == 1 => return Read::Single,
        Index::Loop(i) if nest.loops[i] == size && !guarded(i) => return Read::Plain(i),
        _ => {}
    }
    let (mut parallel, mut windowed, mut indirect) = (Vec::new(), false, false);
    at.loops(&mut |i| {
        if i >= nest.parallel {
            windowed = true;
        } else if !parallel.contains(&i) {
            parallel.push(i);
        }
    });
    loads(at, &mut |_, _| indirect = true);
    match parallel[..] {
        [along] if !indirect => Read::Moved { along, windowed },
        _ => Read::Other,
    }
}

/// Calls `f` on every indirect load in `index`, outermost first.
fn loads(index: &Index, f: &mut dyn FnMut(usize, &[Index])) {
    match index {
        Index::Loop(_) | Index::Const(_) => {}
        Index::Add(a, b) => {
            loads(a, f);
            loads(b, f);
        }
        Index::Mul(a, _) | Index::FloorDiv(a, _) | Index::Mod(a, _) | Index::Clamp(a, _, _) => loads(a, f),
        Index::Load { operand, index } => {
            f(*operand, index);
            index.iter().for_each(|i| loads(i, f));
        }
    }
}

impl Read {
    /// Read in both ways.
    fn and(self, other: Read) -> Read {
        match (self, other) {
            (Read::Not, x) | (x, Read::Not) => x,
            (a, b) if a == b => a,
            (a, b) if a.along().is_some() && a.along() == b.along() => {
                let windowed = [a, b].iter().any(|r| matches!(r, Read::Moved { windowed: true, .. }));
                a.along().map_or(Read::Other, |along| Read::Moved { along, windowed })
            }
            _ => Read::Other,
        }
    }

    /// The loop it follows.
    fn along(self) -> Option<usize> {
        match self {
            Read::Plain(i) | Read::Moved { along: i, .. } => Some(i),
            _ => None,
        }
    }
}
