//! Finds the collectives whose groups span several slices, and their axes across slices.

use dialect::ir::{ElementType, Op, Program, Ty};
use dialect::kernel::Body;
use dialect::op::{Collective, CollectiveKind};
use dialect::scalar::ScalarOp;
use dialect::sharding::{Axes, Mesh, axis};
use rustc_hash::FxHashMap;

use crate::collective_matmul::divided;
use crate::estimate::Machine;

/// Axes of a group that are on one level.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(super) struct LevelAxes {
    /// Whether they span slices.
    pub(super) across: bool,
    pub(super) axes: Axes,
}

impl LevelAxes {
    pub(super) fn devices(&self) -> i64 {
        axis::size_of(&self.axes)
    }
}

/// The operation, and the dimension that is gathered or scattered.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(super) enum Operation {
    /// Gathers along a dimension.
    Gather(usize),
    /// Combines and scatters along a dimension.
    Scatter(ScalarOp, usize),
    /// Combines; between its stages each device of a slice has a part along a dimension.
    Reduce(ScalarOp, usize),
}

/// A collective that can be decomposed into stages.
#[derive(Clone, Debug)]
pub(super) struct Candidate {
    pub(super) op: Op,
    pub(super) kind: Operation,
    /// The axes of its groups, major first; neighbors are on different levels.
    pub(super) runs: Vec<LevelAxes>,
    /// The same number for candidates that look alike, which share one decision.
    pub(super) class: usize,
}

/// Returns all candidates in the order of the program.
pub(super) fn candidates(program: &Program, mesh: &Mesh, machine: &Machine) -> Vec<Candidate> {
    let mut classes: FxHashMap<(Operation, Vec<LevelAxes>, Ty), usize> = FxHashMap::default();
    let mut found = Vec::new();
    for block in program.blocks_under(program.body()) {
        for &op in program.block_ops(block) {
            let Some((kind, runs)) = candidate(program, mesh, machine, op) else { continue };
            let next = classes.len();
            let given = program.value_type(program.result(op, 0));
            let class = *classes.entry((kind, runs.clone(), given)).or_insert(next);
            found.push(Candidate { op, kind, runs, class });
        }
    }
    found
}

fn candidate(program: &Program, mesh: &Mesh, machine: &Machine, op: Op) -> Option<(Operation, Vec<LevelAxes>)> {
    let view = program.view(op);
    let collective = view.def().collective(view)?;
    let &[operand] = view.operands() else { return None };
    let ty = program.tensor_type(operand)?;
    if view.def().side_effect(view) || ty.shape.iter().any(|&size| size <= 0) {
        return None;
    }
    let levels = machine.placement()?.levels(collective.groups.axes_of(mesh)?)?;
    let runs: Vec<LevelAxes> = levels.into_iter().map(|(across, axes)| LevelAxes { across, axes }).collect();
    if !(runs.iter().any(|r| r.across) && runs.iter().any(|r| !r.across)) {
        return None;
    }
    let inside: i64 = runs.iter().filter(|r| !r.across).map(LevelAxes::devices).product();
    let combines = || combining(&collective, ty.element);
    let kind = match collective.kind {
        CollectiveKind::AllGather => Operation::Gather(collective.dim),
        CollectiveKind::ReduceScatter => Operation::Scatter(combines()?, collective.dim),
        CollectiveKind::AllReduce => Operation::Reduce(combines()?, divided(ty, inside)?),
        _ => return None,
    };
    Some((kind, runs))
}

/// Returns the operation that combines two elements, if it is a single operation whose order doesn't matter.
fn combining(collective: &Collective, element: ElementType) -> Option<ScalarOp> {
    const KNOWN: [ScalarOp; 7] =
        [ScalarOp::Add, ScalarOp::Mul, ScalarOp::Max, ScalarOp::Min, ScalarOp::And, ScalarOp::Or, ScalarOp::Xor];
    let body = collective.computation.as_ref()?;
    KNOWN.into_iter().find(|&op| *body == Body::of(op, &[element; 2], element))
}
