//! Collectives that combine values: all_reduce and reduce_scatter.
//!
//! Elements are combined in the order of the group, by the op's region; a region of scalar arithmetic is evaluated as a
//! kernel body, any other through the context.

use super::{
    GROUPS, check_channel, collective, dimension, evaluated_dim, group_size, groups, in_groups, pointwise_rule,
    replicated_dims_rule, running_groups, tensors,
};
use crate::collective::GroupsRule;
use crate::eval::{Context, EvalError, EvalResult, LaneResults, Lanes, Mask, region_on_lane};
use crate::ir::{ElementType, OpRef, TensorType};
use crate::kernel::body_of_region;
use crate::kernel::{Arg, Body};
use crate::literal::Literal;
use crate::op::{Collective, CollectiveKind, Inferred, OpDef, Problem};
use crate::ops::stablehlo::control::region;
use crate::ops::support::combiner::promotable;
use crate::scalar::{Scalar, ScalarOp};
use crate::sharding::{ReductionKind, ShardingRule};

/// `stablehlo.all_reduce`: every device of a group gets the combination of all the group's tensors.
/// <https://openxla.org/stablehlo/spec#all_reduce>
pub struct AllReduce;

impl OpDef for AllReduce {
    fn name(&self) -> &'static str {
        "stablehlo.all_reduce"
    }

    fn infer(&self, op: OpRef<'_>) -> Inferred {
        let mut problems = Vec::new();
        check_channel(op, "C4", &mut problems);
        let operands = tensors(op, "I1", &mut problems);
        let element = computation_type(op, &operands, "C5", &mut problems);
        if !problems.is_empty() {
            return Err(problems);
        }
        Ok(operands.into_iter().map(|(_, ty)| ty.with_element(element.unwrap_or(ty.element)).into()).collect())
    }

    fn groups(&self, op: OpRef<'_>) -> Option<GroupsRule> {
        Some(GroupsRule::covering(GROUPS, groups::maybe_global(op), ["C1", "C2", "C3"]))
    }

    fn sharding_rule(&self, op: OpRef<'_>) -> Option<ShardingRule> {
        Some(pointwise_rule(op))
    }

    fn evaluate_spmd(&self, op: OpRef<'_>, operands: &[Lanes], mask: &Mask, cx: &mut dyn Context) -> LaneResults {
        let groups = running_groups(op, mask, cx)?;
        let body = computation(op);
        let mut lanes = leaders(&groups, operands.len());
        in_groups(op, operands, &groups, mask, |members| {
            Ok(vec![combined(op, body.as_ref(), members, lanes.next(), cx)?; members.len()])
        })
    }

    fn examples(&self) -> &'static [&'static str] {
        &["(%a: tensor<2x3xf32>) %r = \"stablehlo.all_reduce\"(%a) <{\
             channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, \
             replica_groups = dense<0> : tensor<1x1xi64>, use_global_device_ids}> ({ \
             ^bb0(%x: tensor<f32>, %y: tensor<f32>): %s = stablehlo.add %x, %y : tensor<f32> \
             stablehlo.return %s : tensor<f32> }) : (tensor<2x3xf32>) -> tensor<2x3xf32>"]
    }

    fn collective(&self, op: OpRef<'_>) -> Option<Collective> {
        collective(op, CollectiveKind::AllReduce, (0, 0), computation(op))
    }

    fn reduction(&self, op: OpRef<'_>) -> Option<ReductionKind> {
        kind_of(op)
    }
}

/// `stablehlo.reduce_scatter`: combines the group's tensors, and every device keeps one shard of the result.
/// <https://openxla.org/stablehlo/spec#reduce_scatter>
pub struct ReduceScatter;

impl OpDef for ReduceScatter {
    fn name(&self) -> &'static str {
        "stablehlo.reduce_scatter"
    }

    fn infer(&self, op: OpRef<'_>) -> Inferred {
        let mut problems = Vec::new();
        let groups = self.groups(op).and_then(|rule| rule.groups(op));
        check_channel(op, "C6", &mut problems);
        let operands = tensors(op, "I1", &mut problems);
        let element = computation_type(op, &operands, "C7", &mut problems);
        let mut types = Vec::new();
        for (i, ty) in operands {
            let Some(dim) = dimension(op, "scatter_dimension", ty, i, "C2", &mut problems) else { continue };
            let size = group_size(op, groups.as_ref(), i, dim, true).max(1);
            let mut result = ty.with_element(element.unwrap_or(ty.element));
            let from = result.shape[dim];
            if from >= 0 {
                if from % size != 0 {
                    problems.push(Problem::operand(
                        i,
                        format!("dimension {dim} of size {from} can't be split among {size} devices (C1)"),
                    ));
                }
                result.shape[dim] = from / size;
            }
            types.push(result.into());
        }
        if problems.is_empty() { Ok(types) } else { Err(problems) }
    }

    fn groups(&self, op: OpRef<'_>) -> Option<GroupsRule> {
        let rule = GroupsRule::covering(GROUPS, groups::maybe_global(op), ["C3", "C4", "C5"]);
        Some(GroupsRule { even: Some("C8"), ..rule })
    }

    fn sharding_rule(&self, op: OpRef<'_>) -> Option<ShardingRule> {
        let dim = usize::try_from(op.int("scatter_dimension")?).ok()?;
        Some(replicated_dims_rule(op, &[dim]))
    }

    fn evaluate_spmd(&self, op: OpRef<'_>, operands: &[Lanes], mask: &Mask, cx: &mut dyn Context) -> LaneResults {
        let dim = evaluated_dim(op, "scatter_dimension")?;
        let groups = running_groups(op, mask, cx)?;
        let body = computation(op);
        let mut lanes = leaders(&groups, operands.len());
        in_groups(op, operands, &groups, mask, |members| {
            let whole = combined(op, body.as_ref(), members, lanes.next(), cx)?;
            Ok(whole.split(dim, members.len()))
        })
    }

    fn examples(&self) -> &'static [&'static str] {
        &["(%a: tensor<2x3xf32>) %r = \"stablehlo.reduce_scatter\"(%a) <{\
             channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, \
             replica_groups = dense<0> : tensor<1x1xi64>, scatter_dimension = 1 : i64, use_global_device_ids}> ({ \
             ^bb0(%x: tensor<f32>, %y: tensor<f32>): %s = stablehlo.maximum %x, %y : tensor<f32> \
             stablehlo.return %s : tensor<f32> }) : (tensor<2x3xf32>) -> tensor<2x3xf32>"]
    }

    fn collective(&self, op: OpRef<'_>) -> Option<Collective> {
        let dim = usize::try_from(op.int("scatter_dimension")?).ok()?;
        collective(op, CollectiveKind::ReduceScatter, (dim, dim), computation(op))
    }

    fn reduction(&self, op: OpRef<'_>) -> Option<ReductionKind> {
        kind_of(op)
    }
}

/// Returns the scalar computation of the op's region, if it is one.
pub(super) fn computation(op: OpRef<'_>) -> Option<Body> {
    body_of_region(op.program, op.region(0)?, &[Arg::Input(0), Arg::Input(1)])
}

fn kind_of(op: OpRef<'_>) -> Option<ReductionKind> {
    match computation(op)?.as_binary()? {
        ScalarOp::Add => Some(ReductionKind::Sum),
        ScalarOp::Max => Some(ReductionKind::Max),
        ScalarOp::Min => Some(ReductionKind::Min),
        _ => None,
    }
}

/// Returns the element type `E` of a computation `(tensor<E>, tensor<E>) -> tensor<E>` to which all operands convert.
pub(super) fn computation_type(
    op: OpRef<'_>,
    operands: &[(usize, &TensorType)],
    label: &str,
    problems: &mut Vec<Problem>,
) -> Option<ElementType> {
    let args = op.type_ids(op.region_args(0));
    let results = op.type_ids(op.region_results(0));
    let scalar = args.first().and_then(|&ty| op.program.type_data(ty).tensor()).filter(|t| t.rank() == 0);
    let same = args.len() == 2 && args[0] == args[1] && results == args[..1];
    let Some(scalar) = scalar.filter(|_| same) else {
        let (args, results) = (op.program.types_text(&args), op.program.types_text(&results));
        problems.push(
            Problem::new(format!(
                "the computation is {args} -> {results}, expected (tensor<E>, tensor<E>) -> tensor<E> ({label})"
            ))
            .note("its region takes two scalars and returns one"),
        );
        return None;
    };
    for &(i, ty) in operands {
        if !promotable(op.program, ty.element, scalar.element) {
            let (from, to) = (op.program.element_text(ty.element), op.program.element_text(scalar.element));
            problems.push(Problem::operand(
                i,
                format!("elements of type {from} don't promote to the computation's type {to} ({label})"),
            ));
        }
    }
    Some(scalar.element)
}

/// Iterates over the first device of the group for each call of [`in_groups`]' closure.
fn leaders(groups: &[Vec<usize>], operands: usize) -> impl Iterator<Item = usize> + use<> {
    let firsts: Vec<usize> = groups.iter().map(|g| g.first().copied().unwrap_or(0)).collect();
    (0..operands).flat_map(move |_| firsts.clone())
}

/// Combines the members' tensors from first to last.
pub(super) fn combined(
    op: OpRef<'_>,
    body: Option<&Body>,
    members: &[&Literal],
    lane: Option<usize>,
    cx: &mut dyn Context,
) -> EvalResult<Literal> {
    let Some((first, rest)) = members.split_first() else { return Err(EvalError::new("an empty group")) };
    let element =
        op.region_args(0).first().and_then(|&v| op.program.tensor_type(v)).map_or(first.element, |t| t.element);
    let mut sum = converted(first, element);
    for next in rest {
        let next = converted(next, element);
        let n = sum.len();
        let values: Vec<Scalar> = match (body.and_then(Body::as_binary), body) {
            (Some(scalar), _) => (0..n).map(|i| scalar.apply(element, element, &[sum.get(i), next.get(i)])).collect(),
            (None, Some(body)) => (0..n).map(|i| body.eval(&[sum.get(i), next.get(i)], &[])[0]).collect(),
            (None, None) => {
                let computation = region(op, 0)?;
                cx.set_lane(lane.unwrap_or(0));
                let mut each = |i: usize| {
                    let args = [sum.get(i), next.get(i)].map(|v| Literal::scalar(element, v));
                    let given = region_on_lane(cx, computation, &args)?;
                    let value = given.first().filter(|v| v.len() == 1);
                    value.map(|v| v.get(0)).ok_or_else(|| EvalError::new("the computation doesn't return a scalar"))
                };
                (0..n).map(&mut each).collect::<EvalResult<_>>()?
            }
        };
        sum = Literal::from_scalars(element, &sum.shape, values);
    }
    Ok(sum)
}

fn converted(value: &Literal, element: ElementType) -> Literal {
    if value.element == element {
        return value.clone();
    }
    let convert = |i: usize| ScalarOp::Convert.apply(value.element, element, &[value.get(i)]);
    Literal::from_scalars(element, &value.shape, (0..value.len()).map(convert))
}
