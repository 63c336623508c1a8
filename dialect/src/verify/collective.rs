//! Shardy's collectives: `out_sharding` is what the axes make of the operand's sharding.

use std::rc::Rc;

use super::Verifier;
use super::place::Place;
use super::sharding::{AxisFaults, in_mesh_order};
use crate::codes;
use crate::diagnostic::Diagnostic;
use crate::ir::{OpRef, Program, Value};
use crate::ops::sdy;
use crate::sharding::{AxisList, AxisRef, Mesh, Reshard, ShardingTable, TensorSharding, axes_size, merge_axes};

/// Axes, the dimension they leave and the one they come to.
type Move = (Vec<AxisRef>, usize, usize);

impl<'a> Verifier<'a> {
    /// The sharding a value is known to have.
    pub(super) fn sharding_of(&self, value: Value) -> Option<Rc<TensorSharding>> {
        self.shardings.get_or_init(|| ShardingTable::of(self.program)).get(value).cloned()
    }

    /// A collective of Shardy's.
    pub(super) fn reshard(&mut self, op: OpRef<'a>) {
        let Some(reshard) = op.def().reshard(op) else { return };
        let (Some(out), Some(&operand)) = (sdy::stated_sharding(op), op.operands().first()) else { return };
        let place = Place::of_op(op);
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
            // What cuts or combines may start from a value nobody has placed.
            None if matches!(reshard, Reshard::AllSlice(_) | Reshard::AllReduce(..) | Reshard::ReduceScatter(..)) => {
                whole = TensorSharding::replicated(out.mesh.clone(), rank);
                &whole
            }
            None if reshard == Reshard::Identity => return,
            None => {
                let message = format!("the operand of '{}' has no sharding", op.name());
                let d = Diagnostic::error(codes::COLLECTIVE_OPERAND, op.operand_span(0), message);
                return self.push(d.note("give the value it reads a sharding"));
            }
        };
        let Some(from_mesh) = sdy::resolve(self.program, &from.mesh) else { return };
        // Shardings that are wrong by themselves are told of where they stand.
        if !is_proper(from, from_mesh) || !is_proper(out, mesh) {
            return;
        }
        let permute = reshard == Reshard::CollectivePermute;
        let same_mesh = if permute { from_mesh.axes == mesh.axes } else { from_mesh == mesh };
        if !same_mesh {
            let message = "the operand's sharding is on another mesh than out_sharding";
            return self.error(codes::COLLECTIVE_MESH, op, message, "a collective stays on its mesh");
        }
        if from.rank() != rank {
            let message = format!("the operand's sharding has {} dimensions, out_sharding {rank}", from.rank());
            return self.error(codes::COLLECTIVE_OPERAND, op, message, "");
        }
        if permute && from.mesh != out.mesh && from_mesh == mesh {
            let message = "the operand's mesh has another name, but the same devices";
            return self.error(codes::COLLECTIVE_MESH, op, message, "name the operand's mesh in out_sharding");
        }
        let fault = match expected(&reshard, from, mesh) {
            Ok(dims) => mismatch(self.program, &reshard, &dims, from, out, mesh),
            Err(message) => Some(message),
        };
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

    /// The op's own axes are proper; false when they aren't.
    fn reshard_axes(&mut self, reshard: &Reshard, mesh: &Mesh, place: Place) -> bool {
        let mut faults = AxisFaults::default();
        let mut ordered = true;
        match reshard {
            Reshard::AllGather(dims)
            | Reshard::AllSlice(dims)
            | Reshard::ReduceScatter(dims, _)
            | Reshard::ShardedToUnreduced(dims, _) => dims.iter().for_each(|list| faults.list(list, mesh)),
            Reshard::AllToAll(moves) => moves.iter().for_each(|m| faults.list(&m.0, mesh)),
            Reshard::AllReduce(axes, _) | Reshard::ReplicatedToUnreduced(axes, _) => {
                faults.list(axes, mesh);
                ordered = in_mesh_order(axes, mesh);
            }
            Reshard::CollectivePermute | Reshard::Identity => {}
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

/// Whether a sharding's axes are what they should be.
pub(super) fn is_proper(sharding: &TensorSharding, mesh: &Mesh) -> bool {
    let mut faults = AxisFaults::default();
    sharding.dims.iter().for_each(|dim| faults.list(&dim.axes, mesh));
    faults.list(&sharding.replicated, mesh);
    faults.list(&sharding.unreduced, mesh);
    faults.overlaps(mesh);
    faults.found.is_empty()
}

/// The axes of each dimension the collective gives, or why it can't be applied.
fn expected(reshard: &Reshard, from: &TensorSharding, mesh: &Mesh) -> Result<Vec<AxisList>, String> {
    let mut dims: Vec<AxisList> = from.dims.iter().map(|d| d.axes.clone()).collect();
    let count = |n: usize| {
        if n == dims.len() { Ok(()) } else { Err(format!("{n} lists of axes for {} dimensions", dims.len())) }
    };
    match reshard {
        Reshard::AllGather(axes) | Reshard::ShardedToUnreduced(axes, _) => {
            count(axes.len())?;
            for (d, axes) in axes.iter().enumerate() {
                dims[d] = without(&dims[d], axes, d, mesh)?;
            }
        }
        Reshard::AllSlice(axes) | Reshard::ReduceScatter(axes, _) => {
            count(axes.len())?;
            for (d, axes) in axes.iter().enumerate() {
                dims[d] = with(&dims[d], axes, mesh);
            }
        }
        Reshard::AllToAll(moves) => {
            if moves.is_empty() {
                return Err("no axes move".to_owned());
            }
            for &(_, source, target) in moves {
                if let Some(d) = [source, target].into_iter().find(|&d| d >= dims.len()) {
                    return Err(format!("there is no dimension {d}"));
                }
                if moves.iter().any(|m| m.2 == source) {
                    return Err(format!("dimension {source} gives axes and gets some"));
                }
            }
            // A plan may exchange along more dimensions at once than Shardy does; then the moves' order counts.
            let distinct = |dim: fn(&Move) -> usize| {
                moves.iter().enumerate().all(|(i, m)| moves[..i].iter().all(|other| dim(other) != dim(m)))
            };
            if distinct(|m| m.1)
                && distinct(|m| m.2)
                && let Some(pair) = moves.windows(2).find(|pair| pair[0].1 > pair[1].1)
            {
                return Err(format!(
                    "dimension {} gives axes after dimension {}: order the moves",
                    pair[1].1, pair[0].1
                ));
            }
            // Each leaves as the minor one of those still there, whatever the order of the moves.
            let mut left: Vec<&Move> = moves.iter().collect();
            while !left.is_empty() {
                let tries = left.iter().map(|m| without(&dims[m.1], &m.0, m.1, mesh));
                let stripped = tries.enumerate().find_map(|(i, dim)| Some((i, dim.ok()?)));
                let Some((i, dim)) = stripped else {
                    without(&dims[left[0].1], &left[0].0, left[0].1, mesh)?;
                    break;
                };
                let source = left.remove(i).1;
                dims[source] = dim;
            }
            for (axes, _, target) in moves {
                dims[*target] = with(&dims[*target], axes, mesh);
            }
        }
        Reshard::AllReduce(axes, _) => {
            for &axis in axes {
                let used = dims.iter().flatten().chain(&from.replicated).any(|&a| a.overlaps(axis, mesh));
                if used {
                    return Err("a reduction axis cuts the operand or is replicated in it".to_owned());
                }
            }
        }
        Reshard::ReplicatedToUnreduced(axes, _) => {
            if axes.is_empty() {
                return Err("no axes become unreduced".to_owned());
            }
            let used = |axis: AxisRef| dims.iter().flatten().chain(&from.unreduced).any(|&a| a.overlaps(axis, mesh));
            if axes.iter().any(|&axis| used(axis)) {
                return Err("an axis cuts the operand or is unreduced in it already".to_owned());
            }
        }
        Reshard::CollectivePermute | Reshard::Identity => {}
    }
    Ok(dims)
}

/// What in `out` differs from what was expected.
fn mismatch(
    program: &Program,
    reshard: &Reshard,
    dims: &[AxisList],
    from: &TensorSharding,
    out: &TensorSharding,
    mesh: &Mesh,
) -> Option<String> {
    for (d, (expected, dim)) in dims.iter().zip(&out.dims).enumerate() {
        if *reshard == Reshard::CollectivePermute {
            let (before, after) = (axes_size(expected, mesh), axes_size(&dim.axes, mesh));
            if before != after {
                return Some(format!("dimension {d} is cut into {before} pieces before and {after} after"));
            }
        } else if merge_axes(expected, mesh) != merge_axes(&dim.axes, mesh) {
            let text = axes_text(program, expected);
            return Some(format!(
                "expected out_sharding to have {text} on dimension {d}, found {}",
                axes_text(program, &dim.axes)
            ));
        }
    }
    if let Reshard::ReplicatedToUnreduced(_, kind) | Reshard::ShardedToUnreduced(_, kind) = reshard
        && out.kind != *kind
    {
        let (made, out) = (kind.text(), out.kind.text());
        return Some(format!("the parts it makes combine by {made}, but out_sharding is unreduced by {out}"));
    }
    let added: Vec<AxisRef> = match reshard {
        Reshard::ReplicatedToUnreduced(axes, _) => axes.clone(),
        Reshard::ShardedToUnreduced(dims, _) => dims.iter().flatten().copied().collect(),
        Reshard::AllReduce(axes, _) if axes.iter().any(|&a| out.unreduced.iter().any(|&u| u.overlaps(a, mesh))) => {
            return Some("a reduction axis is still unreduced in out_sharding".to_owned());
        }
        _ => return None,
    };
    let mut unreduced: Vec<AxisRef> = from.unreduced.iter().copied().chain(added).collect();
    unreduced.sort_by_key(|a| (mesh.axis_index(a.name), a.range(mesh)));
    let unreduced = merge_axes(&unreduced, mesh);
    (unreduced != out.unreduced).then(|| {
        let (expected, found) = (axes_text(program, &unreduced), axes_text(program, &out.unreduced));
        format!("expected out_sharding to have {expected} unreduced, found {found}")
    })
}

/// `axes` taken off the minor end of a dimension.
fn without(dim: &[AxisRef], axes: &[AxisRef], d: usize, mesh: &Mesh) -> Result<AxisList, String> {
    let mut left = AxisList::from_slice(dim);
    for &axis in axes.iter().rev() {
        let fault = || format!("an axis it takes off dimension {d} isn't the minor one there");
        let last = left.pop().filter(|last| last.name == axis.name).ok_or_else(fault)?;
        let ((pre, size), (start, count)) = (last.range(mesh), axis.range(mesh));
        // The part must end where the dimension's axis ends.
        if start < pre || start * count != pre * size {
            return Err(fault());
        }
        if start > pre {
            left.push(AxisRef::part(axis.name, pre, start / pre, mesh));
        }
    }
    Ok(left)
}

/// `axes` put at the minor end of a dimension.
fn with(dim: &[AxisRef], axes: &[AxisRef], mesh: &Mesh) -> AxisList {
    let all: Vec<AxisRef> = dim.iter().chain(axes).copied().collect();
    merge_axes(&all, mesh)
}

pub(super) fn axes_text(program: &Program, axes: &[AxisRef]) -> String {
    let text = |a: &AxisRef| match a.sub {
        Some(sub) => format!("\"{}\":({}){}", program.name_text(a.name), sub.pre, sub.size),
        None => format!("\"{}\"", program.name_text(a.name)),
    };
    format!("{{{}}}", axes.iter().map(text).collect::<Vec<_>>().join(", "))
}
