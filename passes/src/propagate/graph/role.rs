//! What propagation must know of an op, read once for every node.

use dialect::ir::{Name, Op, Program};
use dialect::op::{Constancy, OpDef, Spread};
use dialect::ops::{UNKNOWN, sdy};
use dialect::sharding::Reshard;
use rustc_hash::FxHashMap;

use crate::propagate::algorithm::factor::Direction;

/// Ops that propagation treats by themselves.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Kind {
    /// By its sharding rule, if it has one.
    Plain,
    /// A data-flow edge.
    Edge,
    /// `sdy.sharding_constraint`
    Constraint,
    /// `sdy.reshard`, and collectives over shardings: they hold their result's sharding in `sharding` or
    /// `out_sharding`.
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

/// What propagation must know of a node.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Role {
    /// Ops treated by themselves.
    pub kind: Kind,
    /// Its round.
    pub spread: Spread,
    /// How it stands to constants.
    pub constancy: Constancy,
    /// Whether a refusal of its result keeps axes from its operands.
    pub elementwise: bool,
    /// Whether it may go when nobody reads it; regions aside.
    pub removable: bool,
    /// Whether it ends its block.
    pub terminator: bool,
}

impl Role {
    /// Of a data-flow edge.
    pub const EDGE: Role = Role {
        kind: Kind::Edge,
        spread: Spread::First,
        constancy: Constancy::No,
        elementwise: false,
        removable: false,
        terminator: false,
    };
}

/// Kinds by name, so that names are compared once.
#[derive(Default)]
pub struct Roles {
    kinds: FxHashMap<Name, Kind>,
}

fn kind_of(name: &str) -> Kind {
    match name {
        "sdy.sharding_constraint" => Kind::Constraint,
        "sdy.reshard"
        | "sdy.all_gather"
        | "sdy.all_slice"
        | "sdy.all_to_all"
        | "sdy.all_reduce"
        | "sdy.reduce_scatter"
        | "sdy.collective_permute"
        | "sdy.replicated_to_unreduced"
        | "sdy.sharded_to_unreduced" => Kind::Reshard,
        "sdy.propagation_barrier" => Kind::Barrier(Direction::Both),
        "sdy.sharding_group" => Kind::Group,
        "sdy.manual_computation" => Kind::Manual,
        "sdy.named_computation" => Kind::Named,
        "func.func" => Kind::Function,
        "func.call" => Kind::Call,
        _ => Kind::Plain,
    }
}

impl Roles {
    /// The role of an op.
    pub fn of(&mut self, program: &Program, op: Op) -> Role {
        let data = program.op(op);
        let view = program.view(op);
        let mut kind = *self.kinds.entry(data.name).or_insert_with(|| kind_of(program.name_text(data.name)));
        if let Kind::Barrier(_) = kind {
            kind = Kind::Barrier(match sdy::barrier_direction(view) {
                Some(sdy::Direction::None) => Direction::None,
                Some(sdy::Direction::Forward) => Direction::Forward,
                Some(sdy::Direction::Backward) => Direction::Backward,
                _ => Direction::Both,
            });
        }
        let annotation = matches!(kind, Kind::Constraint | Kind::Barrier(_) | Kind::Reshard);
        let unknown = data.def.name() == UNKNOWN.name();
        // Shardy keeps collectives over shardings, read or not.
        let collective = data.def.collective(view).is_some()
            || kind == Kind::Reshard && !matches!(data.def.reshard(view), None | Some(Reshard::Identity));
        let spread = if annotation { Spread::Elementwise } else { data.def.spread(view) };
        Role {
            kind,
            spread,
            constancy: match kind {
                Kind::Constraint | Kind::Group | Kind::Manual | Kind::Function => Constancy::No,
                Kind::Barrier(_) | Kind::Reshard => Constancy::Preserving,
                _ => data.def.constancy(view),
            },
            elementwise: spread == Spread::Elementwise,
            removable: !unknown
                && !matches!(kind, Kind::Constraint | Kind::Group | Kind::Function)
                && !data.def.terminator()
                && !collective
                && (kind == Kind::Manual || kind == Kind::Named || !data.def.side_effect(view)),
            terminator: data.def.terminator(),
        }
    }
}
