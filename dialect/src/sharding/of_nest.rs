//! Derives an op's sharding rule from its loop nest.
//!
//! A parallel loop becomes a pass-through factor, a reduction loop a reduction factor. A dimension read at a loop's
//! plain position shares the loop's factor. A dimension read shifted, strided or guarded along a single parallel loop
//! shares it too, but then the factor is a permutation: sharding along it moves data between neighbors. The loops
//! inside a window need replication. So do dimensions read in any other way and their loops, because a shard would
//! count positions from its own beginning. Factor sizes are Shardy's: where one tensor is read shifted (slice, pad),
//! the size of its dimension; otherwise the size of the loop.

use std::ops::Range;

use super::rule::{FactorKind, ShardingRule};
use crate::ir::{OpRef, Shape};
use crate::kernel::{Guard, Index, Input, Inst, Nest};

/// The way in which one dimension of an operand is read.
#[derive(Clone, Copy, PartialEq, Eq)]
enum DimRead {
    /// Never read.
    Not,
    /// At the loop's position.
    Plain(usize),
    /// Along one parallel loop; if `windowed`, along reduction loops as well.
    Moved { along: usize, windowed: bool },
    /// At position 0 of a dimension of size 1.
    Single,
    /// In any other way.
    Other,
}

/// Returns the sharding rule of an op that computes `nest`.
pub fn rule_of_nest(op: OpRef<'_>, nest: &Nest) -> ShardingRule {
    let shape_of = |i: usize| op.operand_tensor(i).map(|t| t.shape.clone()).unwrap_or_default();
    let shapes: Vec<Shape> = (0..op.operands().len()).map(shape_of).collect();
    let operand_ranks: Vec<usize> = shapes.iter().map(|s| s.len()).collect();
    let result_ranks: Vec<usize> =
        (0..op.result_count()).map(|i| op.result_tensor(i).map_or(0, |t| t.rank())).collect();

    let (reads, counted) = reads_and_counted(nest, &shapes);
    let mut rule = ShardingRule::new(&operand_ranks, &result_ranks);
    let mut factor_of: Vec<Option<u32>> = vec![None; nest.loops.len()];
    for i in factor_order(nest) {
        let moved: Vec<(i64, bool)> = each(&reads)
            .filter_map(|(t, d, read)| match read {
                DimRead::Moved { along, windowed } if along == i => Some((shapes[t][d], windowed)),
                _ => None,
            })
            .collect();
        let kind = match () {
            _ if counted[i] => FactorKind::NeedReplication,
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
            DimRead::Plain(i) | DimRead::Moved { along: i, .. } => factor_of[i],
            _ => None,
        };
        let size = shapes[t][d];
        let factor = factor.unwrap_or_else(|| {
            let whole = size == 1 || read == DimRead::Not;
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

/// Returns the way in which each dimension of each operand is read, and whether the position of each loop is used in
/// arithmetic. Operands have these shapes.
fn reads_and_counted(nest: &Nest, shapes: &[Shape]) -> (Vec<Vec<DimRead>>, Vec<bool>) {
    let mut reads: Vec<Vec<DimRead>> = shapes.iter().map(|shape| vec![DimRead::Not; shape.len()]).collect();
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
            index.loads(&mut |operand, at| note(operand, at, &[]));
        }
    }
    // Loops whose position is used in arithmetic.
    let mut counted = vec![false; nest.loops.len()];
    for input in &nest.inputs {
        count_in_input(input, shapes, nest, &mut counted);
    }
    for inst in &nest.body.insts {
        if let Inst::Index(index, _) = inst {
            index.loops(&mut |i| counted[i] = true);
        }
    }
    // On a diagonal, sharding one dimension doesn't shard the other.
    for dims in &mut reads {
        for d in 0..dims.len() {
            let (before, rest) = dims.split_at_mut(d);
            if let Some(i) = rest[0].along().filter(|_| before.iter().any(|b| b.along() == rest[0].along())) {
                counted[i] = true;
                rest[0] = DimRead::Other;
            }
        }
    }
    (reads, counted)
}

/// Marks the loops that an input's positions and guards use other than to move along one dimension.
fn count_in_input(input: &Input, shapes: &[Shape], nest: &Nest, counted: &mut [bool]) {
    let size = |d: usize| shapes.get(input.operand).and_then(|s| s.get(d)).copied().unwrap_or(0);
    let mut moved = Vec::new();
    for (d, at) in input.index.iter().enumerate() {
        match read_of(at, size(d), &input.guards, nest) {
            DimRead::Other => at.own_loops(&mut |i| counted[i] = true),
            // A shard of the positions in a window reads other elements than a shard of the tensor.
            DimRead::Moved { along, windowed: true } => {
                at.own_loops(&mut |i| counted[i] |= i >= nest.parallel);
                moved.push(along);
            }
            read => moved.extend(read.along()),
        }
    }
    for guard in &input.guards {
        let mut loops = Vec::new();
        guard.index.own_loops(&mut |i| loops.push(i));
        let parallel = loops.iter().filter(|&&i| i < nest.parallel).count();
        if parallel > 1 || loops.iter().any(|&i| i < nest.parallel && !moved.contains(&i)) {
            loops.iter().for_each(|&i| counted[i] = true);
        }
    }
}

/// Iterates over all dimensions of all operands with the way each is read.
fn each(reads: &[Vec<DimRead>]) -> impl Iterator<Item = (usize, usize, DimRead)> {
    reads.iter().enumerate().flat_map(|(t, dims)| dims.iter().enumerate().map(move |(d, &read)| (t, d, read)))
}

/// Returns the loops in the order in which their factors are named: the order of the operands' dimensions if all
/// operands are read alike (reductions), otherwise results first.
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

fn read_of(at: &Index, size: i64, guards: &[Guard], nest: &Nest) -> DimRead {
    let guarded = |i: usize| guards.iter().any(|g| g.index.depends_on(i));
    match *at {
        Index::Const(0) if size == 1 => return DimRead::Single,
        Index::Loop(i) if nest.loops[i] == size && !guarded(i) => return DimRead::Plain(i),
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
    at.loads(&mut |_, _| indirect = true);
    match parallel[..] {
        [along] if !indirect => DimRead::Moved { along, windowed },
        _ => DimRead::Other,
    }
}

impl DimRead {
    /// Returns the way of reading a dimension that is read both as `self` and as `other`.
    fn and(self, other: DimRead) -> DimRead {
        match (self, other) {
            (DimRead::Not, x) | (x, DimRead::Not) => x,
            (a, b) if a == b => a,
            (a, b) if a.along().is_some() && a.along() == b.along() => {
                let windowed = [a, b].iter().any(|r| matches!(r, DimRead::Moved { windowed: true, .. }));
                a.along().map_or(DimRead::Other, |along| DimRead::Moved { along, windowed })
            }
            _ => DimRead::Other,
        }
    }

    /// Returns the loop along which the dimension is read.
    fn along(self) -> Option<usize> {
        match self {
            DimRead::Plain(i) | DimRead::Moved { along: i, .. } => Some(i),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ir::{ElementType, Loc, Program};
    use crate::kernel::{Body, Outside};
    use crate::ops::UNKNOWN;
    use crate::scalar::Scalar;

    /// Returns the rule of an op with these shapes, in Shardy's syntax without the enclosing brackets.
    fn rule(operands: &[&[i64]], result: &[i64], nest: Nest) -> String {
        let mut program = Program::new();
        let block = program.new_block();
        let mut values = Vec::new();
        for shape in operands {
            let ty = program.tensor(shape, ElementType::F32);
            values.push(program.add_block_arg(block, ty, Loc::UNKNOWN, Default::default()));
        }
        let ty = program.tensor(result, ElementType::F32);
        let op = program.new_op(&UNKNOWN, &values, &[ty], &[], &[], Loc::UNKNOWN);
        let rule = rule_of_nest(program.view(op), &nest);
        let name = |f: u32| char::from(b'i' + f as u8);
        let tensor = |t: &crate::sharding::TensorFactors| {
            let dims: Vec<String> = t.iter().map(|d| d.iter().map(|&f| name(f)).collect()).collect();
            format!("[{}]", dims.join(","))
        };
        let list =
            |tensors: &[crate::sharding::TensorFactors]| tensors.iter().map(tensor).collect::<Vec<_>>().join(",");
        let mut text = format!("({})->({})", list(&rule.operands), list(&rule.results));
        for (f, factor) in rule.factors.iter().enumerate() {
            let kind = match factor.kind {
                FactorKind::PassThrough => "",
                FactorKind::Reduction => " reduction",
                FactorKind::Permutation => " permutation",
                FactorKind::NeedReplication => " replicated",
            };
            text += &format!(" {}={}{kind}", name(f as u32), factor.size);
        }
        text
    }

    fn nest(loops: &[i64], parallel: usize, inputs: Vec<Input>) -> Nest {
        let body = Body::copy(ElementType::F32);
        Nest { loops: loops.iter().copied().collect(), parallel, inputs, init: Vec::new(), body }
    }

    fn input(operand: usize, index: Vec<Index>, guards: Vec<Guard>) -> Input {
        let outside = (!guards.is_empty()).then_some(Outside::Const(Scalar::Float(0.0)));
        Input { operand, index: index.into(), guards, outside }
    }

    #[test]
    fn loops_are_factors() {
        use Index::Loop;
        // A matmul names the results' factors first.
        let dot = nest(&[2, 4, 6], 2, vec![Input::at(0, [0, 2]), Input::at(1, [2, 1])]);
        assert_eq!(rule(&[&[2, 6], &[6, 4]], &[2, 4], dot), "([i,k],[k,j])->([i,j]) i=2 j=4 k=6 reduction");
        // A reduction names factors in the order of its operand.
        let reduce = nest(&[2, 6, 4], 2, vec![Input::at(0, [0, 2, 1])]);
        assert_eq!(rule(&[&[2, 4, 6], &[]], &[2, 6], reduce), "([i,j,k],[])->([i,k]) i=2 j=4 reduction k=6");
        let transpose = nest(&[2, 4], 2, vec![Input::at(0, [1, 0])]);
        assert_eq!(rule(&[&[4, 2]], &[2, 4], transpose), "([j,i])->([i,j]) i=2 j=4");
        let diagonal = nest(&[4], 1, vec![input(0, vec![Loop(0), Loop(0)], vec![])]);
        assert_eq!(rule(&[&[4, 4]], &[4], diagonal), "([i,j])->([i]) i=4 replicated j=4 replicated");
        let expand = nest(&[4, 2], 2, vec![input(0, vec![Index::Const(0), Loop(1)], vec![])]);
        assert_eq!(rule(&[&[1, 2]], &[4, 2], expand), "([k,j])->([i,j]) i=4 j=2 k=1");
    }

    #[test]
    fn moved_reads_are_permutations() {
        use Index::Loop;
        let shifted = |by: i64| Loop(0).plus(Index::Const(by));
        let slice = nest(&[3, 4], 2, vec![input(0, vec![shifted(1), Loop(1)], vec![])]);
        assert_eq!(rule(&[&[8, 4]], &[3, 4], slice), "([i,j])->([i,j]) i=8 permutation j=4");
        let guard = Guard { index: shifted(-1), lo: 0, hi: 4 };
        let pad = nest(&[6, 4], 2, vec![input(0, vec![shifted(-1), Loop(1)], vec![guard])]);
        assert_eq!(rule(&[&[4, 4], &[]], &[6, 4], pad), "([i,j],[])->([i,j]) i=4 permutation j=4");
        // With a window, the factor has the number of windows as its size; the loop inside the window has no factor.
        let window = Loop(0).times(2).plus(Loop(1));
        let pool = nest(&[4, 2], 1, vec![input(0, vec![window], vec![])]);
        assert_eq!(rule(&[&[8], &[]], &[4], pool), "([i],[])->([i]) i=4 permutation");
    }

    #[test]
    fn indirect_reads_need_the_whole() {
        use Index::Loop;
        // x[table[i], j]: rows are looked up; the table and the columns are sharded with the result.
        let row = Index::Load { operand: 1, index: vec![Loop(0)] };
        let gather = nest(&[3, 4], 2, vec![input(0, vec![row, Loop(1)], vec![])]);
        assert_eq!(rule(&[&[8, 4], &[3]], &[3, 4], gather), "([k,j],[i])->([i,j]) i=3 j=4 k=8 replicated");
    }
}
