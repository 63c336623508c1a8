//! StableHLO's collectives: ops in which devices exchange data.
//!
//! All devices of a group must run the op; evaluation is in lockstep, and a group split by a branch or loop is an
//! error. Source: the StableHLO specification, "Collective ops", whose constraint labels are in the messages.

mod deprecated;
mod device;
mod exchange;
mod groups;
mod reduction;

use smallvec::SmallVec;

pub(super) use groups::running;

pub use deprecated::{CollectiveReduce, CrossReplicaSum};
pub use device::{PartitionId, ReplicaId};
pub use exchange::{AllToAll, CollectiveBroadcast, CollectivePermute};
pub use reduction::{AllReduce, ReduceScatter};

use crate::collective::{Groups, GroupsRule, is_along_axes};
use crate::eval::{Context, EvalError, EvalResult, LaneResults, Lanes, Mask};
use crate::ir::{OpRef, TensorType};
use crate::kernel::Body;
use crate::literal::Literal;
use crate::op::{Collective, CollectiveKind, Inferred, OpDef, Problem};
use crate::sharding::{FactorKind, ShardingRule};

/// The ops of this family.
pub static OPS: &[&dyn OpDef] = &[
    &AllGather,
    &AllReduce,
    &ReduceScatter,
    &AllToAll,
    &CollectivePermute,
    &CollectiveBroadcast,
    &CollectiveReduce,
    &CrossReplicaSum,
    &PartitionId,
    &ReplicaId,
];

/// `stablehlo.all_gather`: every device of a group gets all the group's tensors, concatenated along one dimension.
/// <https://openxla.org/stablehlo/spec#all_gather>
pub struct AllGather;

impl OpDef for AllGather {
    fn name(&self) -> &'static str {
        "stablehlo.all_gather"
    }

    fn infer(&self, op: OpRef<'_>) -> Inferred {
        let mut problems = Vec::new();
        let groups = self.groups(op).and_then(|rule| rule.groups(op));
        check_channel(op, "C5", &mut problems);
        let mut types = Vec::new();
        for (i, ty) in tensors(op, "I1", &mut problems) {
            let Some(dim) = dimension(op, "all_gather_dim", ty, i, "C1", &mut problems) else { continue };
            let size = group_size(op, groups.as_ref(), i, dim, false);
            let mut result = ty.clone();
            if result.shape[dim] >= 0 {
                result.shape[dim] = result.shape[dim].saturating_mul(size);
            }
            types.push(result.into());
        }
        if problems.is_empty() { Ok(types) } else { Err(problems) }
    }

    fn groups(&self, op: OpRef<'_>) -> Option<GroupsRule> {
        let rule = GroupsRule::covering(GROUPS, groups::maybe_global(op), ["C2", "C3", "C4"]);
        Some(GroupsRule { even: Some("C6"), ..rule })
    }

    /// Returns a rule with the gathered dimension replicated; the others pass through.
    fn sharding_rule(&self, op: OpRef<'_>) -> Option<ShardingRule> {
        let dim = usize::try_from(op.int("all_gather_dim")?).ok()?;
        Some(replicated_dims_rule(op, &[dim]))
    }

    fn evaluate_spmd(&self, op: OpRef<'_>, operands: &[Lanes], mask: &Mask, cx: &mut dyn Context) -> LaneResults {
        let dim = evaluated_dim(op, "all_gather_dim")?;
        let groups = running_groups(op, mask, cx)?;
        in_groups(op, operands, &groups, mask, |members| Ok(vec![Literal::concatenate(members, dim); members.len()]))
    }

    fn examples(&self) -> &'static [&'static str] {
        &["(%a: tensor<2x3xf32>) %r = \"stablehlo.all_gather\"(%a) <{all_gather_dim = 1 : i64, \
             channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, \
             replica_groups = dense<0> : tensor<1x1xi64>, use_global_device_ids}> : (tensor<2x3xf32>) -> tensor<2x3xf32>"]
    }

    fn collective(&self, op: OpRef<'_>) -> Option<Collective> {
        let dim = usize::try_from(op.int("all_gather_dim")?).ok()?;
        collective(op, CollectiveKind::AllGather, (dim, dim), None)
    }
}

// Functions that the collectives share ----------------------------------------------------------------------------

const GROUPS: &str = "replica_groups";

fn check_channel(op: OpRef<'_>, label: &str, problems: &mut Vec<Problem>) {
    if op.flag("use_global_device_ids") && !groups::has_channel(op) {
        problems.push(
            Problem::new(format!("use_global_device_ids needs a channel ({label})"))
                .note("add channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>"),
        );
    }
}

/// Returns the number of devices in a group: the factor by which dimension `dim` of result `i` is larger than the
/// operand's (or smaller, with `shrinks`). The declared types determine it if neither groups nor module do.
fn group_size(op: OpRef<'_>, groups: Option<&Groups>, i: usize, dim: usize, shrinks: bool) -> i64 {
    if let Some(size) = groups.and_then(|g| groups::known_size(op, g)) {
        return size;
    }
    if groups.is_none() && !op.attr_id(GROUPS).is_some_and(|a| is_along_axes(op.program, a)) {
        return 1;
    }
    let size = |ty: Option<&TensorType>| ty.and_then(|t| t.shape.get(dim).copied()).filter(|&n| n > 0);
    let (from, to) = (size(op.operand_tensor(i)), size(op.result_tensor(i)));
    let (small, large) = if shrinks { (to, from) } else { (from, to) };
    let least = groups.map_or(1, |g| g.rows().width() as i64).max(1);
    match (small, large) {
        (Some(small), Some(large)) if large % small == 0 && (large / small) % least == 0 => large / small,
        _ => least,
    }
}

/// Returns the op's running groups as positions in the lanes.
fn running_groups(op: OpRef<'_>, mask: &Mask, cx: &dyn Context) -> EvalResult<Vec<Vec<usize>>> {
    let rule = op.def().groups(op);
    let groups = rule.and_then(|rule| rule.groups_on(op, cx.replicas() as i64, cx.partitions() as i64));
    let groups = groups.ok_or_else(|| EvalError::new("replica_groups are missing"))?;
    groups::running(&groups, mask, rule.is_some_and(|rule| rule.cover))
}

/// Returns the collective that an op performs over its groups.
fn collective(
    op: OpRef<'_>,
    kind: CollectiveKind,
    dims: (usize, usize),
    computation: Option<Body>,
) -> Option<Collective> {
    let groups = op.def().groups(op)?.groups(op)?;
    Some(Collective { kind, groups, dim: dims.0, concat_dim: dims.1, computation })
}

/// Returns the operands, which must be tensors, and at least one.
fn tensors<'a>(op: OpRef<'a>, label: &str, problems: &mut Vec<Problem>) -> Vec<(usize, &'a TensorType)> {
    if op.operands().is_empty() {
        problems.push(Problem::new(format!("expected at least one operand ({label})")));
    }
    let mut types = Vec::new();
    for i in 0..op.operands().len() {
        match op.operand_tensor(i) {
            Some(ty) => types.push((i, ty)),
            None => problems.push(Problem::operand(i, format!("expected a tensor ({label})"))),
        }
    }
    types
}

/// Returns integer attribute `name` as a dimension of operand `i`.
fn dimension(
    op: OpRef<'_>,
    name: &str,
    ty: &TensorType,
    i: usize,
    label: &str,
    problems: &mut Vec<Problem>,
) -> Option<usize> {
    let Some(value) = op.int(name) else {
        problems.push(Problem::new(format!("attribute {name} is missing ({label})")));
        return None;
    };
    let dim = usize::try_from(value).ok().filter(|&d| d < ty.rank());
    if dim.is_none() {
        let rank = ty.rank();
        problems.push(Problem::operand(i, format!("{name} is {value}, but the operand has rank {rank} ({label})")));
    }
    dim
}

fn evaluated_dim(op: OpRef<'_>, name: &str) -> EvalResult<usize> {
    op.int(name).and_then(|d| usize::try_from(d).ok()).ok_or_else(|| EvalError::new(format!("{name} is missing")))
}

/// Computes result `i` from operand `i`: `f` takes a group's tensors in order and returns the result of each member.
fn in_groups(
    op: OpRef<'_>,
    operands: &[Lanes],
    groups: &[Vec<usize>],
    mask: &Mask,
    mut f: impl FnMut(&[&Literal]) -> EvalResult<Vec<Literal>>,
) -> LaneResults {
    let mut results: Vec<Lanes> = vec![vec![None; mask.len()]; op.result_count()];
    for (operand, result) in operands.iter().zip(&mut results) {
        for group in groups {
            let members: Option<SmallVec<[&Literal; 8]>> = group.iter().map(|&lane| operand[lane].as_ref()).collect();
            let members = members.ok_or_else(|| EvalError::new("an operand has no value on a running device"))?;
            for (&lane, value) in group.iter().zip(f(&members)?) {
                result[lane] = Some(value);
            }
        }
    }
    Ok(results)
}

/// Returns a rule by which all dimensions pass through, operand by operand; pointwise if all operands have the same
/// shape.
fn pointwise_rule(op: OpRef<'_>) -> ShardingRule {
    replicated_dims_rule(op, &[])
}

/// Returns a rule by which all dimensions pass through except those of `whole`, which are replicated.
fn replicated_dims_rule(op: OpRef<'_>, whole: &[usize]) -> ShardingRule {
    let operands: Vec<&TensorType> = (0..op.operands().len()).filter_map(|i| op.operand_tensor(i)).collect();
    let results: Vec<&TensorType> = (0..op.result_count()).filter_map(|i| op.result_tensor(i)).collect();
    let ranks = |list: &[&TensorType]| list.iter().map(|t| t.rank()).collect::<Vec<_>>();
    let mut rule = ShardingRule::new(&ranks(&operands), &ranks(&results));
    let pairs = operands.len().min(results.len());
    let same = operands.windows(2).all(|w| w[0].shape == w[1].shape);
    // Tensors of the same shape share factors; otherwise operand `i` shares them only with result `i`.
    let sets: Vec<Vec<usize>> = if same { vec![(0..pairs).collect()] } else { (0..pairs).map(|i| vec![i]).collect() };
    for set in sets.iter().filter(|s| !s.is_empty()) {
        let at = |dim: usize| set.iter().map(|&i| (i, dim)).collect::<Vec<_>>();
        let (from, to) = (operands[set[0]], results[set[0]]);
        for dim in (0..from.rank()).filter(|d| !whole.contains(d)) {
            rule.add(from.shape[dim], FactorKind::PassThrough, &at(dim), &at(dim));
        }
        for &dim in whole.iter().filter(|&&d| d < from.rank() && d < to.rank()) {
            rule.add(from.shape[dim], FactorKind::NeedReplication, &at(dim), &[]);
            rule.add(to.shape[dim], FactorKind::NeedReplication, &[], &at(dim));
        }
    }
    rule
}
