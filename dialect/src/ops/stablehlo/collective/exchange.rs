//! Collectives that only move data: all_to_all, collective_permute, collective_broadcast.

use super::{
    GROUPS, collective, dimension, evaluated_dim, groups, in_groups, pointwise_rule, replicated_dims_rule,
    running_groups, tensors,
};
use crate::collective::GroupsRule;
use crate::eval::{Context, EvalError, LaneResults, Lanes, Mask};
use crate::ir::{ElementType, OpRef, TensorType, TypeData};
use crate::literal::Literal;
use crate::op::{Collective, CollectiveKind, Inferred, OpDef, Problem};
use crate::scalar::Scalar;
use crate::sharding::ShardingRule;

/// `stablehlo.all_to_all`: every device splits its tensor and sends one part to each member of its group.
/// <https://openxla.org/stablehlo/spec#all_to_all>
pub struct AllToAll;

impl OpDef for AllToAll {
    fn name(&self) -> &'static str {
        "stablehlo.all_to_all"
    }

    fn infer(&self, op: OpRef<'_>) -> Inferred {
        let mut problems = Vec::new();
        let groups = self.groups(op).and_then(|rule| rule.groups(op));
        let count = op.int("split_count").filter(|&n| n > 0);
        if count.is_none() {
            problems.push(Problem::new("split_count must be at least 1 (C4)"));
        }
        let count = count.unwrap_or(1);
        let size = groups.and_then(|g| groups::known_size(op, &g)).unwrap_or(count);
        if size != count {
            problems.push(
                Problem::new(format!("split_count is {count}, but the groups have {size} devices (C8)"))
                    .note("every device of a group receives one part"),
            );
        }
        let mut types = Vec::new();
        for (i, ty) in tensors(op, "I1", &mut problems) {
            let split = dimension(op, "split_dimension", ty, i, "C1", &mut problems);
            let concat = dimension(op, "concat_dimension", ty, i, "C3", &mut problems);
            let (Some(split), Some(concat)) = (split, concat) else { continue };
            let (mut result, from) = (ty.clone(), ty.shape[split]);
            if from >= 0 && from % count != 0 {
                problems.push(Problem::operand(
                    i,
                    format!("dimension {split} of size {from} can't be split into {count} parts (C2)"),
                ));
            }
            if split != concat {
                if from >= 0 {
                    result.shape[split] = from / count;
                }
                if result.shape[concat] >= 0 {
                    result.shape[concat] = result.shape[concat].saturating_mul(count);
                }
            }
            types.push(result.into());
        }
        if problems.is_empty() { Ok(types) } else { Err(problems) }
    }

    fn groups(&self, op: OpRef<'_>) -> Option<GroupsRule> {
        let mode = groups::replicas_or_partitions(op);
        let rule = GroupsRule::covering(GROUPS, mode, ["C5", "C6", "C7"]);
        Some(GroupsRule { even: Some("C8"), ..rule })
    }

    fn sharding_rule(&self, op: OpRef<'_>) -> Option<ShardingRule> {
        let split = usize::try_from(op.int("split_dimension")?).ok()?;
        let concat = usize::try_from(op.int("concat_dimension")?).ok()?;
        let whole: &[usize] = if split == concat { &[split] } else { &[split, concat] };
        Some(replicated_dims_rule(op, whole))
    }

    fn evaluate_spmd(&self, op: OpRef<'_>, operands: &[Lanes], mask: &Mask, cx: &mut dyn Context) -> LaneResults {
        let (split, concat) = (evaluated_dim(op, "split_dimension")?, evaluated_dim(op, "concat_dimension")?);
        let groups = running_groups(op, mask, cx)?;
        in_groups(op, operands, &groups, mask, |members| {
            let parts: Vec<Vec<Literal>> = members.iter().map(|m| m.split(split, members.len())).collect();
            let received = |to: usize| {
                let pieces: Vec<&Literal> = parts.iter().map(|from| &from[to]).collect();
                Literal::concatenate(&pieces, concat)
            };
            Ok((0..members.len()).map(received).collect())
        })
    }

    fn examples(&self) -> &'static [&'static str] {
        &["(%a: tensor<2x3xf32>) %r = \"stablehlo.all_to_all\"(%a) <{\
             channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, concat_dimension = 0 : i64, \
             replica_groups = dense<0> : tensor<1x1xi64>, split_count = 1 : i64, split_dimension = 1 : i64}> \
             : (tensor<2x3xf32>) -> tensor<2x3xf32>"]
    }

    fn collective(&self, op: OpRef<'_>) -> Option<Collective> {
        let dim = usize::try_from(op.int("split_dimension")?).ok()?;
        let concat_dim = usize::try_from(op.int("concat_dimension")?).ok()?;
        collective(op, CollectiveKind::AllToAll, (dim, concat_dim), None)
    }
}

const PAIRS: &str = "source_target_pairs";

/// `stablehlo.collective_permute`: each source sends its tensor to its target; devices that receive none get zeros.
/// <https://openxla.org/stablehlo/spec#collective_permute>
pub struct CollectivePermute;

impl OpDef for CollectivePermute {
    fn name(&self) -> &'static str {
        "stablehlo.collective_permute"
    }

    fn infer(&self, op: OpRef<'_>) -> Inferred {
        let mut problems = Vec::new();
        let types = tensors(op, "I1", &mut problems).into_iter().map(|(_, ty)| ty.clone().into()).collect();
        if problems.is_empty() { Ok(types) } else { Err(problems) }
    }

    fn groups(&self, op: OpRef<'_>) -> Option<GroupsRule> {
        let mode = groups::replicas_or_partitions(op);
        let rule = GroupsRule::covering(PAIRS, mode, ["C2", "C4", "C4"]);
        Some(GroupsRule { cover: false, pairs: true, ..rule })
    }

    fn sharding_rule(&self, op: OpRef<'_>) -> Option<ShardingRule> {
        Some(pointwise_rule(op))
    }

    fn evaluate_spmd(&self, op: OpRef<'_>, operands: &[Lanes], mask: &Mask, cx: &mut dyn Context) -> LaneResults {
        let rule = self.groups(op);
        let pairs = rule.and_then(|rule| rule.groups_on(op, cx.replicas() as i64, cx.partitions() as i64));
        let pairs = pairs.filter(|p| p.rows().width() == 2);
        let pairs = pairs.ok_or_else(|| EvalError::new("source_target_pairs are missing"))?;
        let pairs = groups::running(&pairs, mask, false)?;
        operands
            .iter()
            .map(|operand| {
                let mut result: Lanes = zeros(operand, mask);
                for pair in &pairs {
                    result[pair[1]] = operand[pair[0]].clone();
                }
                Ok(result)
            })
            .collect()
    }

    fn examples(&self) -> &'static [&'static str] {
        &["(%a: tensor<2x3xf32>) %r = \"stablehlo.collective_permute\"(%a) <{\
             channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, \
             source_target_pairs = dense<0> : tensor<1x2xi64>}> : (tensor<2x3xf32>) -> tensor<2x3xf32>"]
    }

    fn collective(&self, op: OpRef<'_>) -> Option<Collective> {
        collective(op, CollectiveKind::CollectivePermute, (0, 0), None)
    }
}

/// `stablehlo.collective_broadcast`: a group's first device sends its tensor to all; devices in no group get zeros.
/// <https://openxla.org/stablehlo/spec#collective_broadcast>
pub struct CollectiveBroadcast;

impl OpDef for CollectiveBroadcast {
    fn name(&self) -> &'static str {
        "stablehlo.collective_broadcast"
    }

    fn infer(&self, op: OpRef<'_>) -> Inferred {
        let mut problems = Vec::new();
        let mut types: Vec<TypeData> =
            tensors(op, "I1", &mut problems).into_iter().map(|(_, ty)| ty.clone().into()).collect();
        if op.flag("has_dynamic_root") {
            let roots = TensorType::new(&[types.len() as i64 - 1], ElementType::I32);
            if types.len() < 2 || types.last() != Some(&TypeData::Tensor(roots.clone())) {
                let count = roots.shape[0];
                problems.push(Problem::new(format!("the last operand must hold the roots, tensor<{count}xi32> (C4)")));
            }
            types.pop();
        }
        if problems.is_empty() { Ok(types) } else { Err(problems) }
    }

    fn groups(&self, op: OpRef<'_>) -> Option<GroupsRule> {
        let mode = groups::replicas_or_partitions(op);
        let rule = GroupsRule::covering(GROUPS, mode, ["C1", "C2", "C2"]);
        Some(GroupsRule { cover: false, ..rule })
    }

    fn sharding_rule(&self, op: OpRef<'_>) -> Option<ShardingRule> {
        Some(pointwise_rule(op))
    }

    fn evaluate_spmd(&self, op: OpRef<'_>, operands: &[Lanes], mask: &Mask, cx: &mut dyn Context) -> LaneResults {
        let groups = running_groups(op, mask, cx)?;
        let (roots, operands) = match operands.split_last() {
            Some((roots, rest)) if op.flag("has_dynamic_root") => (Some(roots), rest),
            _ => (None, operands),
        };
        let mut results = Vec::new();
        for (i, operand) in operands.iter().enumerate() {
            let mut result: Lanes = zeros(operand, mask);
            for group in &groups {
                for &lane in group {
                    let root = match roots.and_then(|r| r[lane].as_ref()) {
                        Some(roots) => roots.get(i).as_i64().and_then(|r| usize::try_from(r).ok()),
                        None => Some(0),
                    };
                    let source = root.and_then(|r| group.get(r)).copied();
                    let source = source.ok_or_else(|| EvalError::new("a root is outside its group (C6)"))?;
                    result[lane] = operand[source].clone();
                }
            }
            results.push(result);
        }
        Ok(results)
    }

    fn examples(&self) -> &'static [&'static str] {
        &["(%a: tensor<2x3xf32>) %r = \"stablehlo.collective_broadcast\"(%a) <{\
             channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, \
             replica_groups = dense<0> : tensor<1x1xi64>}> : (tensor<2x3xf32>) -> tensor<2x3xf32>"]
    }

    /// Returns the collective, unless roots are chosen at run time, because then it isn't a broadcast from the first
    /// device.
    fn collective(&self, op: OpRef<'_>) -> Option<Collective> {
        if op.flag("has_dynamic_root") {
            return None;
        }
        collective(op, CollectiveKind::CollectiveBroadcast, (0, 0), None)
    }
}

/// Returns zeros of the operand's type on every running device.
fn zeros(operand: &Lanes, mask: &Mask) -> Lanes {
    let zero = |value: &Literal| Literal::splat(value.element, &value.shape, Scalar::zero(value.element));
    operand.iter().zip(mask).map(|(value, &runs)| if runs { value.as_ref().map(zero) } else { None }).collect()
}
