//! The properties of an op that propagation reads, computed once for every node.

use dialect::ir::{Op, OpRef, Program, Value};
use dialect::op::{Annotation, Constancy, Control, OpDef, OpPriority};
use dialect::ops::{UNKNOWN, func, sdy};
use dialect::sharding::Reshard;

use crate::propagate::algorithm::factor::Direction;

/// Ops that propagation handles specially.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Kind {
    /// Handled by its sharding rule, if it has one.
    Plain,
    /// A data-flow edge.
    Edge,
    /// `sdy.sharding_constraint`
    Constraint,
    /// `sdy.reshard`, and collectives over shardings: their result's sharding is in `sharding` or `out_sharding`.
    Reshard,
    /// `sdy.propagation_barrier`
    Barrier(Direction),
    /// `sdy.sharding_group`
    Group,
    /// `sdy.manual_computation`
    Manual,
    /// `sdy.named_computation`
    Named,
    /// `func.func`
    Function,
    /// `func.call`
    Call,
}

/// The properties of a node that propagation reads.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Role {
    /// Its kind.
    pub kind: Kind,
    /// Its op priority: the round in which it first propagates.
    pub spread: OpPriority,
    /// Its relation to constants.
    pub constancy: Constancy,
    /// Whether its operands may not get an axis that its result can't take.
    pub elementwise: bool,
    /// Whether it may be removed when it has no users, if its regions allow it.
    pub removable: bool,
    /// Whether it ends its block.
    pub terminator: bool,
}

impl Role {
    /// The role of a data-flow edge.
    pub const EDGE: Role = Role {
        kind: Kind::Edge,
        spread: OpPriority::First,
        constancy: Constancy::No,
        elementwise: false,
        removable: false,
        terminator: false,
    };
}

/// Returns whether values have the same types inside and outside, so that the region may become a function; a
/// fragment's don't.
fn is_transparent(op: OpRef<'_>) -> bool {
    let program = op.program;
    let Some(block) = program.region_block(op.op, 0) else { return false };
    let types = |values: &mut dyn Iterator<Item = Value>| values.map(|v| program.value_type(v)).collect::<Vec<_>>();
    let returned = program.block_ops(block).last().map(|&end| program.op(end).operands.to_vec()).unwrap_or_default();
    types(&mut program.op(op.op).operands.iter().copied()) == types(&mut program.block_args(block).iter().copied())
        && types(&mut returned.into_iter()) == types(&mut program.results(op.op))
}

fn kind_of(op: OpRef<'_>) -> Kind {
    match op.def().annotation(op) {
        Some(Annotation::Constraint) => return Kind::Constraint,
        Some(Annotation::Reshard) => return Kind::Reshard,
        Some(Annotation::Group(_)) => return Kind::Group,
        Some(Annotation::Barrier(direction)) => {
            return Kind::Barrier(match direction {
                sdy::Direction::None => Direction::None,
                sdy::Direction::Forward => Direction::Forward,
                sdy::Direction::Backward => Direction::Backward,
                sdy::Direction::Both => Direction::Both,
            });
        }
        None => {}
    }
    match op.def().control(op) {
        Some(Control::Manual) => Kind::Manual,
        Some(Control::Inline) if is_transparent(op) => Kind::Named,
        Some(Control::Call) if func::is_call(op) => Kind::Call,
        None if func::is_function(op) => Kind::Function,
        _ => Kind::Plain,
    }
}

impl Role {
    /// Returns the role of an op.
    pub fn of(program: &Program, op: Op) -> Role {
        let data = program.op(op);
        let view = program.view(op);
        let kind = kind_of(view);
        let annotation = matches!(kind, Kind::Constraint | Kind::Barrier(_) | Kind::Reshard);
        let unknown = data.def.name() == UNKNOWN.name();
        // Shardy keeps collectives over shardings even without users.
        let collective = data.def.collective(view).is_some()
            || kind == Kind::Reshard && !matches!(data.def.reshard(view), None | Some(Reshard::Identity));
        let spread = if annotation { OpPriority::Elementwise } else { data.def.op_priority(view) };
        Role {
            kind,
            spread,
            constancy: match kind {
                Kind::Constraint | Kind::Group | Kind::Manual | Kind::Function => Constancy::No,
                Kind::Barrier(_) | Kind::Reshard => Constancy::Preserving,
                _ => data.def.constancy(view),
            },
            elementwise: spread == OpPriority::Elementwise,
            removable: !unknown
                && !matches!(kind, Kind::Constraint | Kind::Group | Kind::Function)
                && !data.def.terminator()
                && !collective
                && (kind == Kind::Manual || kind == Kind::Named || !data.def.side_effect(view)),
            terminator: data.def.terminator(),
        }
    }
}
