//! The custom call `ragged_all_to_all` of `jax.lax.ragged_all_to_all`: a collective without an op in StableHLO.

use crate::collective::{Collective, CollectiveKind, Groups, IdMode, Ragged, rows};
use crate::eval::{Context, EvalError, EvalResult, LaneResults, Lanes, Mask};
use crate::ir::{Attr, AttrData, OpRef};
use crate::literal::Literal;
use crate::op::Problem;
use crate::ops::func;

/// Its target.
pub(super) const TARGET: &str = "ragged_all_to_all";

/// Checks its operands and groups.
pub(super) fn check(op: OpRef<'_>) -> Result<(), Problem> {
    Ragged::of(op).map_err(Problem::new)?;
    let groups = groups(op, func::num_replicas(op.program), func::num_partitions(op.program));
    groups.map(|_| ()).ok_or_else(|| {
        Problem::new("its backend_config has no replica_groups")
            .note("write backend_config = {channel_id = 1 : i64, replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>}")
    })
}

fn config(op: OpRef<'_>, name: &str) -> Option<Attr> {
    ["backend_config", "mhlo.backend_config"].iter().find_map(|config| {
        let AttrData::Dict(fields) = op.attr(config)? else { return None };
        fields.iter().find(|f| op.program.name_text(f.0) == name).map(|f| f.1)
    })
}

fn groups(op: OpRef<'_>, replicas: i64, partitions: i64) -> Option<Groups> {
    let channel = config(op, "channel_id").and_then(|c| op.program.attr_data(c).as_int()).unwrap_or(0);
    let mode = if channel > 0 { IdMode::CrossPartition } else { IdMode::CrossReplica };
    Some(Groups::new(rows(op.program, config(op, "replica_groups")?)?, mode, replicas, partitions))
}

/// Returns its collective, for prices and native execution.
pub(super) fn collective(op: OpRef<'_>) -> Option<Collective> {
    let groups = groups(op, func::num_replicas(op.program), func::num_partitions(op.program))?;
    Some(Collective { kind: CollectiveKind::RaggedAllToAll, groups, dim: 0, concat_dim: 0, computation: None })
}

/// Runs it on all devices in lockstep. A device in no group keeps its output.
pub(super) fn evaluate(op: OpRef<'_>, operands: &[Lanes], mask: &Mask, cx: &mut dyn Context) -> LaneResults {
    let ragged = Ragged::of(op).map_err(EvalError::new)?;
    let groups = groups(op, cx.replicas() as i64, cx.partitions() as i64);
    let groups = groups.ok_or_else(|| EvalError::new("replica_groups are missing"))?;
    let groups = crate::ops::stablehlo::collective::running(&groups, mask, false)?;
    let value = |operand: usize, lane: usize| -> EvalResult<&Literal> {
        operands[operand][lane].as_ref().ok_or_else(|| EvalError::new("an operand has no value on a running device"))
    };
    let mut results: Lanes = operands[1].clone();
    for group in groups {
        let shown = |&lane: &usize| -> EvalResult<Vec<u8>> {
            let bytes = |i: usize| value(i, lane).map(Literal::dense_bytes);
            Ok(ragged.shown([&bytes(0)?, &bytes(2)?, &bytes(3)?, &bytes(4)?]))
        };
        let shown: Vec<Vec<u8>> = group.iter().map(shown).collect::<EvalResult<_>>()?;
        let all: Vec<&[u8]> = shown.iter().map(Vec::as_slice).collect();
        for (place, &lane) in group.iter().enumerate() {
            let output = value(1, lane)?;
            let mut bytes = output.dense_bytes().into_owned();
            ragged.receive(&all, place, &mut bytes);
            results[lane] = Some(Literal::from_bytes(output.element, &output.shape, bytes));
        }
    }
    Ok(vec![results])
}
