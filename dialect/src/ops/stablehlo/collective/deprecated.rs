//! collective_reduce, whose result goes to one device of each group, and the deprecated cross-replica-sum.

use super::reduction::{combined, computation, computation_type};
use super::{GROUPS, collective, groups, in_groups, pointwise_rule, running_groups, tensors};
use crate::collective::{GroupsRule, IdMode};
use crate::eval::{Context, EvalError, LaneResults, Lanes, Mask};
use crate::ir::{ElementType, OpRef, TensorType, TypeData};
use crate::kernel::{Body, External, Kernel};
use crate::literal::Literal;
use crate::op::{Collective, CollectiveKind, Inferred, OpDef, Problem};
use crate::scalar::{Scalar, ScalarOp};
use crate::sharding::{ReductionKind, ShardingRule};

/// `stablehlo.collective_reduce`: a group's tensors combined, on its first device or the given root; zeros elsewhere.
/// <https://openxla.org/stablehlo/spec#collective_reduce>
pub struct CollectiveReduce;
/// `stablehlo.cross-replica-sum`: an all_reduce over replicas that adds.
/// <https://openxla.org/stablehlo/spec#deprecated-operations>
pub struct CrossReplicaSum;

impl OpDef for CollectiveReduce {
    fn name(&self) -> &'static str {
        "stablehlo.collective_reduce"
    }

    fn infer(&self, op: OpRef<'_>) -> Inferred {
        let mut problems = Vec::new();
        let mut operands = tensors(op, "I1", &mut problems);
        if op.flag("has_dynamic_root") {
            let count = operands.len().saturating_sub(1);
            let roots = TensorType::new(&[count as i64], ElementType::I32);
            if count == 0 || operands.last().map(|t| t.1) != Some(&roots) {
                problems.push(Problem::new(format!("the last operand must hold the roots, tensor<{count}xi32> (C3)")));
            }
            operands.pop();
        }
        let element = computation_type(op, &operands, "C4", &mut problems);
        if !problems.is_empty() {
            return Err(problems);
        }
        let wide = |ty: &TensorType| TypeData::Tensor(ty.with_element(element.unwrap_or(ty.element)));
        Ok(operands.into_iter().map(|(_, ty)| wide(ty)).collect())
    }

    fn groups(&self, op: OpRef<'_>) -> Option<GroupsRule> {
        let mode = groups::replicas_or_partitions(op);
        let rule = GroupsRule::covering(GROUPS, mode, ["C1", "C2", "C2"]);
        Some(GroupsRule { cover: false, ..rule })
    }

    fn kernel(&self, op: OpRef<'_>) -> Kernel {
        // A root that is known only at run time has no native code.
        Kernel::External(if op.flag("has_dynamic_root") { External::Reference } else { External::Collective })
    }

    fn collective(&self, op: OpRef<'_>) -> Option<Collective> {
        if op.flag("has_dynamic_root") {
            return None;
        }
        collective(op, CollectiveKind::CollectiveReduce, (0, 0), computation(op))
    }

    fn sharding_rule(&self, op: OpRef<'_>) -> Option<ShardingRule> {
        Some(pointwise_rule(op))
    }

    fn evaluate_spmd(&self, op: OpRef<'_>, operands: &[Lanes], mask: &Mask, cx: &mut dyn Context) -> LaneResults {
        let groups = running_groups(op, mask, cx)?;
        let body = computation(op);
        let mut results: Vec<Lanes> = vec![vec![None; mask.len()]; op.result_count()];
        for (i, result) in results.iter_mut().enumerate() {
            let ty = op.result_tensor(i).ok_or_else(|| EvalError::new("a result is not a tensor"))?;
            for (lane, slot) in result.iter_mut().enumerate().filter(|(lane, _)| mask[*lane]) {
                let shape = operands[i][lane].as_ref().map_or(&ty.shape, |o| &o.shape);
                *slot = Some(Literal::splat(ty.element, shape, Scalar::zero(ty.element)));
            }
            for group in &groups {
                let members: Option<Vec<&Literal>> = group.iter().map(|&lane| operands[i][lane].as_ref()).collect();
                let members = members.ok_or_else(|| EvalError::new("an operand has no value on a running device"))?;
                let root = match operands.get(op.result_count()).and_then(|roots| roots[group[0]].as_ref()) {
                    Some(roots) => roots.get(i).as_i64().and_then(|r| usize::try_from(r).ok()),
                    None => Some(0),
                };
                let root = root.and_then(|r| group.get(r)).copied();
                let root = root.ok_or_else(|| EvalError::new("a root is outside its group"))?;
                result[root] = Some(combined(op, body.as_ref(), &members, group.first().copied(), cx)?);
            }
        }
        Ok(results)
    }

    fn examples(&self) -> &'static [&'static str] {
        &[
            "(%a: tensor<2x3xf32>) %r = \"stablehlo.collective_reduce\"(%a) <{replica_groups = dense<0> : tensor<1x1xi64>}> ({ \
             ^bb0(%x: tensor<f32>, %y: tensor<f32>): %s = stablehlo.add %x, %y : tensor<f32> \
             stablehlo.return %s : tensor<f32> }) : (tensor<2x3xf32>) -> tensor<2x3xf32>",
        ]
    }

    /// Returns true, because it communicates with other devices even if its results are unused.
    fn side_effect(&self, _: OpRef<'_>) -> bool {
        true
    }
}

impl CrossReplicaSum {
    fn body(op: OpRef<'_>) -> Option<Body> {
        let element = op.operand_tensor(0)?.element;
        Some(Body::of(ScalarOp::Add, &[element, element], element))
    }
}

impl OpDef for CrossReplicaSum {
    fn name(&self) -> &'static str {
        "stablehlo.cross-replica-sum"
    }

    fn infer(&self, op: OpRef<'_>) -> Inferred {
        let mut problems = Vec::new();
        let operands = tensors(op, "I1", &mut problems);
        if operands.len() > 1 {
            problems.push(Problem::new(format!("expected one operand, found {}", operands.len())));
        }
        if problems.is_empty() {
            Ok(operands.into_iter().map(|(_, ty)| ty.clone().into()).collect())
        } else {
            Err(problems)
        }
    }

    fn groups(&self, _: OpRef<'_>) -> Option<GroupsRule> {
        Some(GroupsRule::covering(GROUPS, IdMode::CrossReplica, ["C1", "C2", "C3"]))
    }

    fn sharding_rule(&self, op: OpRef<'_>) -> Option<ShardingRule> {
        Some(pointwise_rule(op))
    }

    fn evaluate_spmd(&self, op: OpRef<'_>, operands: &[Lanes], mask: &Mask, cx: &mut dyn Context) -> LaneResults {
        let groups = running_groups(op, mask, cx)?;
        let body = Self::body(op).ok_or_else(|| EvalError::new("expected a tensor"))?;
        in_groups(op, operands, &groups, mask, |members| {
            Ok(vec![combined(op, Some(&body), members, None, cx)?; members.len()])
        })
    }

    fn examples(&self) -> &'static [&'static str] {
        &[
            "(%a: tensor<2x3xf32>) %r = \"stablehlo.cross-replica-sum\"(%a) <{replica_groups = dense<0> : tensor<1x1xi64>}> : (tensor<2x3xf32>) -> tensor<2x3xf32>",
        ]
    }

    fn collective(&self, op: OpRef<'_>) -> Option<Collective> {
        collective(op, CollectiveKind::AllReduce, (0, 0), Self::body(op))
    }

    fn reduction(&self, _: OpRef<'_>) -> Option<ReductionKind> {
        Some(ReductionKind::Sum)
    }
}
