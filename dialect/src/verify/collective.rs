//! Checks of Shardy's collectives: `out_sharding` must be the result of applying their axes to the operand's sharding.

use std::rc::Rc;

use super::Verifier;
use super::place::AttrRange;
use super::sharding::{AxisFaults, in_mesh_order};
use crate::codes;
use crate::diagnostic::Diagnostic;
use crate::ir::{OpRef, Program, Value};
use crate::ops::sdy;
use crate::sharding::axis::{any_overlaps, size_of, sort_and_merge};
use crate::sharding::{
    Axes, AxisPart, AxisRef, Distribution, Mesh, Reshard, ReshardFault, ShardParts, ShardingTable, TensorSharding,
};

impl<'a> Verifier<'a> {
    /// Returns the sharding of every value.
    pub(super) fn table(&self) -> &ShardingTable {
        self.shardings.get_or_init(|| ShardingTable::of(self.program))
    }

    /// Returns the value's sharding, if known.
    pub(super) fn sharding_of(&self, value: Value) -> Option<Rc<TensorSharding>> {
        self.table().get(value).cloned()
    }

    /// Checks one of Shardy's collectives.
    pub(super) fn reshard(&mut self, op: OpRef<'a>) {
        let Some(reshard) = op.def().reshard(op) else { return };
        let (Some(out), Some(&operand)) = (sdy::stated_sharding(op), op.operands().first()) else { return };
        let place = AttrRange::of_op(op);
        let Some(mesh) = sdy::resolve(self.program, &out.mesh) else { return };
        if !self.reshard_axes(&reshard, mesh, place) {
            return;
        }
        let rank = out.rank();
        let (whole, known);
        let from = match self.sharding_of(operand) {
            Some(from) => {
                known = from;
                known.as_ref()
            }
            // Collectives that slice or combine may start from a value without a sharding.
            None if matches!(reshard, Reshard::AllSlice(_) | Reshard::AllReduce(..) | Reshard::ReduceScatter(..)) => {
                whole = TensorSharding::replicated(out.mesh.clone(), rank);
                &whole
            }
            None if reshard == Reshard::Identity => return,
            None => {
                let message = format!("the operand of '{}' has no sharding", op.name());
                let d = Diagnostic::error(codes::COLLECTIVE_OPERAND, op.operand_span(0), message);
                return self.push(d.note("state a sharding of the operand"));
            }
        };
        let Some(from_mesh) = sdy::resolve(self.program, &from.mesh) else { return };
        // A sharding that is invalid by itself is reported at its own op.
        if !is_proper(from, from_mesh) || !is_proper(out, mesh) {
            return;
        }
        let permute = reshard == Reshard::CollectivePermute;
        let same_mesh = if permute { from_mesh.axes == mesh.axes } else { from_mesh == mesh };
        if !same_mesh {
            let message = "the operand's sharding is on another mesh than out_sharding";
            return self.error(codes::COLLECTIVE_MESH, op, message, "use the operand's mesh in out_sharding");
        }
        if from.rank() != rank {
            let message = format!("the operand's sharding has {} dimensions, out_sharding {rank}", from.rank());
            return self.error(codes::COLLECTIVE_OPERAND, op, message, "");
        }
        if permute && from.mesh != out.mesh && from_mesh == mesh {
            let message = "the operand's mesh has another name, but the same devices";
            return self.error(codes::COLLECTIVE_MESH, op, message, "name the operand's mesh in out_sharding");
        }
        let shape = op.operand_tensor(0).map(|t| t.shape.clone()).unwrap_or_default();
        let fault = reshard.parts(mesh).and_then(|reshard| mismatch(self.program, &reshard, &shape, from, out, mesh));
        if let Some(message) = fault {
            let text = self.program.sharding_text(from);
            self.error(
                codes::COLLECTIVE_SHARDING,
                op,
                format!("'{}': {message}", op.name()),
                &format!("the operand is sharded {text}"),
            );
        }
    }

    /// Checks the op's own axes; returns false if they are invalid.
    fn reshard_axes(&mut self, reshard: &Reshard, mesh: &Mesh, place: AttrRange) -> bool {
        let mut faults = AxisFaults::default();
        let mut ordered = true;
        match reshard {
            Reshard::AllToAll(moves) => moves.iter().for_each(|m| faults.list(&m.axes, mesh)),
            Reshard::AllGather(dims)
            | Reshard::AllSlice(dims)
            | Reshard::ReduceScatter(dims, _)
            | Reshard::ShardedToUnreduced(dims, _) => dims.iter().for_each(|list| faults.list(list, mesh)),
            Reshard::AllReduce(axes, _) | Reshard::ReplicatedToUnreduced(axes, _) => {
                faults.list(axes, mesh);
                ordered = in_mesh_order(axes, mesh);
            }
            Reshard::CollectivePermute | Reshard::PermuteParts | Reshard::Identity => {}
        }
        faults.overlaps(mesh);
        let fine = faults.found.is_empty() && ordered;
        self.axis_faults(faults, mesh, place);
        if !ordered {
            let d = Diagnostic::error(codes::AXIS_ORDER, place.fallback, "the axes are not in the order of the mesh");
            self.push(d.note("list them in the order in which the mesh has its axes"));
        }
        fine
    }
}

/// Returns whether a sharding's axes are valid.
pub(super) fn is_proper(sharding: &TensorSharding, mesh: &Mesh) -> bool {
    let mut faults = AxisFaults::default();
    sharding.dims.iter().for_each(|dim| faults.list(&dim.axes, mesh));
    faults.list(&sharding.replicated, mesh);
    faults.list(&sharding.unreduced, mesh);
    faults.overlaps(mesh);
    faults.found.is_empty()
}

/// Returns how `out` differs from the result of `reshard` on `from`, or why `reshard` can't be applied.
fn mismatch(
    program: &Program,
    reshard: &Reshard<AxisPart>,
    shape: &[i64],
    from: &TensorSharding,
    out: &TensorSharding,
    mesh: &Mesh,
) -> Option<String> {
    let (mut before, after) = (as_written(from, mesh)?, as_written(out, mesh)?);
    if *reshard == Reshard::CollectivePermute {
        let mut counts = before.dims.iter().zip(&after.dims).map(|(a, b)| (size_of(a), size_of(b))).enumerate();
        let (d, (before, after)) = counts.find(|(_, (before, after))| before != after)?;
        return Some(format!("dimension {d} has {before} shards before and {after} after"));
    }
    if *reshard == Reshard::PermuteParts {
        let parts = ShardParts::of(shape, &before, &after);
        return parts
            .is_none()
            .then(|| "its shards can't be split into equal parts that make up those of out_sharding".to_owned());
    }
    let pending = before.unreduced.clone();
    match reshard {
        Reshard::AllReduce(axes, _) => {
            let replicated = mesh.axis_parts(&from.replicated)?;
            if axes.iter().any(|&a| any_overlaps(&replicated, a)) {
                return Some(fault_text(ReshardFault::ReducesShards));
            }
        }
        // Another check tests whether unreduced axes may be combined.
        Reshard::AllSlice(_) | Reshard::ReduceScatter(..) => before.unreduced.clear(),
        _ => {}
    }
    let made = match reshard.apply(&before) {
        Ok(made) => made,
        Err(fault) => return Some(fault_text(fault)),
    };
    let text = |axes: &[AxisPart]| axes_text(program, &mesh.axis_refs(axes));
    if let Some(d) = (0..made.rank()).find(|&d| made.dims[d] != after.dims[d]) {
        let (expected, found) = (text(&made.dims[d]), axes_text(program, &out.dims[d].axes));
        return Some(format!("expected out_sharding to have {expected} on dimension {d}, found {found}"));
    }
    match reshard {
        Reshard::ReplicatedToUnreduced(_, kind) | Reshard::ShardedToUnreduced(_, kind) => {
            if out.kind != *kind {
                let (made, out) = (kind.text(), out.kind.text());
                return Some(format!("its parts combine by {made}, but out_sharding is unreduced by {out}"));
            }
            let mut expected: Axes = pending.into_iter().chain(reshard.axes()).collect();
            sort_and_merge(&mut expected);
            (expected != after.unreduced).then(|| {
                let (expected, found) = (text(&expected), axes_text(program, &out.unreduced));
                format!("expected out_sharding to have {expected} unreduced, found {found}")
            })
        }
        Reshard::AllReduce(axes, _) if axes.iter().any(|&a| any_overlaps(&after.unreduced, a)) => {
            Some("a reduction axis is still unreduced in out_sharding".to_owned())
        }
        _ => None,
    }
}

/// Returns a valid sharding as parts of axes. Axes of size 1 stay, because the user wrote them on purpose.
fn as_written(sharding: &TensorSharding, mesh: &Mesh) -> Option<Distribution> {
    let dims = sharding.dims.iter().map(|d| mesh.axis_parts(&d.axes)).collect::<Option<_>>()?;
    Some(Distribution { dims, unreduced: mesh.axis_parts(&sharding.unreduced)?, kind: sharding.kind })
}

fn fault_text(fault: ReshardFault) -> String {
    match fault {
        ReshardFault::Lists(lists, dims) => format!("{lists} lists of axes for {dims} dimensions"),
        ReshardFault::NotMinor(d) => format!("an axis that it removes from dimension {d} is not the minor axis there"),
        ReshardFault::InUse(d) => format!("an axis that it adds to dimension {d} is already in use"),
        ReshardFault::NoMoves => "it moves no axes".to_owned(),
        ReshardFault::NoDimension(d) => format!("the operand has no dimension {d}"),
        ReshardFault::GivesAndGets(d) => format!("dimension {d} both loses and gains axes"),
        ReshardFault::Order(first, second) => {
            format!("dimension {second} is listed after dimension {first}: list moves by source dimension")
        }
        ReshardFault::ReducesShards => "a reduction axis shards the operand or is replicated in it".to_owned(),
        ReshardFault::NothingUnreduced => "it makes no axes unreduced".to_owned(),
        ReshardFault::UnreducedInUse => "an axis shards the operand or is unreduced in it already".to_owned(),
        ReshardFault::AnyPermutation => "a permute may move shards to any device".to_owned(),
    }
}

pub(super) fn axes_text(program: &Program, axes: &[AxisRef]) -> String {
    let text = |a: &AxisRef| match a.sub {
        Some(sub) => format!("\"{}\":({}){}", program.name_text(a.name), sub.pre, sub.size),
        None => format!("\"{}\"", program.name_text(a.name)),
    };
    format!("{{{}}}", axes.iter().map(text).collect::<Vec<_>>().join(", "))
}
