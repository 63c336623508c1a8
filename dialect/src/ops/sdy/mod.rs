//! The ops of Shardy's dialect that annotate: meshes, constraints, reshards, barriers, groups, data-flow edges.
//!
//! On global tensors they are identities: a sharding states where the shards are, not their contents. Collectives and
//! regions are in separate files. Source: Shardy's dialect documentation.

mod collective;
mod manual;
mod mesh;
mod text;

pub(crate) use collective::written;
pub use collective::{
    ALL_GATHER, ALL_REDUCE, ALL_SLICE, ALL_TO_ALL, COLLECTIVE_PERMUTE, PERMUTE_PARTS, REDUCE_SCATTER,
    REPLICATED_TO_UNREDUCED, SHARDED_TO_UNREDUCED, ShardyCollective,
};
pub use manual::{MANUAL_COMPUTATION, ManualComputation, NAMED_COMPUTATION};
pub use mesh::{MESH, mesh_named, meshes, resolve, topology_meshes};

use crate::eval::{Context, EvalResult};
use crate::ir::{AttrData, OpRef};
use crate::kernel::Kernel;
use crate::literal::Literal;
use crate::localize::Localize;
use crate::op::{Annotation, Control, Inferred, OpDef, Problem};
use crate::ops::stablehlo::constant::CONSTANT;
use crate::ops::support::terminator::Terminator;
use crate::sharding::{ReductionKind, ShardingRule, TensorSharding};
use crate::text::{Piece, Syntax, TypeForm};

/// The ops of this dialect.
pub static OPS: &[&dyn OpDef] = &[
    &MESH,
    &ShardingConstraint,
    &ReshardOp,
    &Constant,
    &PropagationBarrier,
    &ShardingGroup,
    &DataFlowEdge,
    &FuncDataFlowEdge,
    &MANUAL_COMPUTATION,
    &NAMED_COMPUTATION,
    &RETURN,
    &ALL_GATHER,
    &ALL_SLICE,
    &ALL_TO_ALL,
    &COLLECTIVE_PERMUTE,
    &PERMUTE_PARTS,
    &ALL_REDUCE,
    &REDUCE_SCATTER,
    &REPLICATED_TO_UNREDUCED,
    &SHARDED_TO_UNREDUCED,
];

/// The sharding attribute of constraints, reshards and edges.
pub const SHARDING: &str = "sharding";
/// The sharding attribute of Shardy's collectives.
pub const OUT_SHARDING: &str = "out_sharding";
/// The attribute of a manual or named computation with the shardings of its operands.
pub const IN_SHARDINGS: &str = "in_shardings";
/// The attribute of a manual or named computation with the shardings of its results.
pub const OUT_SHARDINGS: &str = "out_shardings";
/// The attribute of a manual computation that names its axes.
pub const MANUAL_AXES: &str = "manual_axes";
/// The attribute of any op with its sharding rule, the user's or one that propagation keeps.
pub const SHARDING_RULE: &str = "sdy.sharding_rule";
/// The attribute of an op with a custom sharding rule that states how devices' partial results combine if a reduction
/// factor is sharded: `"sum"`, `"max"` or `"min"`. Shardy has no such attribute.
pub const REDUCTION: &str = "shardc.reduction";
/// The attribute of an op that partitions itself with the shardings of its operands, for the process that calls its
/// rule.
pub const OPERAND_SHARDINGS: &str = "shardc.operand_shardings";
/// The attribute of an op that partitions itself with the shardings of its results.
pub const RESULT_SHARDINGS: &str = "shardc.result_shardings";
/// The attribute of values that records the origins of their axes.
pub const ORIGINS: &str = "sdy.sharding_origins";
/// The attribute of a copied function with its original name.
pub const ORIGINAL_NAME: &str = "sdy.original_func_name";

/// Returns whether an op is one of this dialect, known or not.
pub fn is_op(op: OpRef<'_>) -> bool {
    op.name().starts_with("sdy.")
}

/// Returns whether an op attribute belongs to this dialect, so that it concerns shardings and not the computation.
pub fn is_attribute(name: &str) -> bool {
    name.starts_with("sdy.") || name == REDUCTION
}

/// Returns how the partial results of an op combine, as stated by the author of its custom sharding rule.
pub fn stated_reduction(op: OpRef<'_>) -> Option<ReductionKind> {
    let word = op.attr(REDUCTION)?.as_str()?;
    ReductionKind::ALL.into_iter().find(|kind| kind.text() == word)
}

/// Returns the sharding that an op exists to state: a constraint, a reshard, an edge or a Shardy collective.
pub fn stated_sharding<'a>(op: OpRef<'a>) -> Option<&'a TensorSharding> {
    op.attr(SHARDING).or_else(|| op.attr(OUT_SHARDING)).and_then(AttrData::as_sharding)
}

/// Returns the shardings of an op's results, as `sdy.sharding` lists them.
pub fn result_shardings<'a>(op: OpRef<'a>) -> Option<&'a [TensorSharding]> {
    op.attr(super::func::SHARDING)?.as_shardings()
}

/// The directions in which a barrier lets shardings propagate.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Direction {
    /// Neither.
    None,
    /// From operand to result.
    Forward,
    /// From result to operand.
    Backward,
    /// Both directions; a barrier with this value has no effect.
    Both,
}

const DIRECTIONS: [(&str, Direction); 4] = [
    ("NONE", Direction::None),
    ("FORWARD", Direction::Forward),
    ("BACKWARD", Direction::Backward),
    ("BOTH", Direction::Both),
];

/// Returns the direction of a propagation barrier; `None` for any other op.
pub fn barrier_direction(op: OpRef<'_>) -> Option<Direction> {
    let value = op.int("allowed_direction")?;
    usize::try_from(value).ok().and_then(|v| DIRECTIONS.get(v)).map(|d| d.1)
}

/// Returns the number of the sharding group that an op adds its operand to; `None` for any other op.
pub fn group_id(op: OpRef<'_>) -> Option<i64> {
    match op.def().annotation(op) {
        Some(Annotation::Group(id)) => Some(id),
        _ => None,
    }
}

/// Returns the rule of ops whose result is sharded like their operand.
fn identity_rule(op: OpRef<'_>) -> Option<ShardingRule> {
    let ty = op.operand_tensor(0)?;
    Some(ShardingRule::pointwise(&[ty.rank()], &vec![ty.rank(); op.result_count()], &ty.shape))
}

/// Returns the operand's type as the only result type; an error unless there is one operand.
fn same_type(op: OpRef<'_>) -> Inferred {
    match op.operands() {
        [_] => Ok(op.operand_types().cloned().collect()),
        other => Err(Problem::new(format!("expected one operand, found {}", other.len())).into()),
    }
}

macro_rules! identity_op {
    ($(#[$doc:meta])* $name:ident, $text:literal, $syntax:expr, $attr:expr, $rule:expr, $annotation:expr, $example:literal) => {
        $(#[$doc])*
        pub struct $name;

        impl OpDef for $name {
            fn name(&self) -> &'static str {
                $text
            }

            fn syntax(&self) -> Syntax {
                $syntax
            }

            fn infer(&self, op: OpRef<'_>) -> Inferred {
                let attr: &[&str] = $attr;
                match attr.iter().find(|a| op.attr(a).is_none()) {
                    Some(missing) => Err(Problem::new(format!("attribute {missing} is missing")).into()),
                    None => same_type(op),
                }
            }

            fn sharding_rule(&self, op: OpRef<'_>) -> Option<ShardingRule> {
                let rule: fn(OpRef<'_>) -> Option<ShardingRule> = $rule;
                rule(op)
            }

            fn examples(&self) -> &'static [&'static str] {
                &[$example]
            }

            fn control(&self, _: OpRef<'_>) -> Option<Control> {
                Some(Control::Identity)
            }

            fn annotation(&self, op: OpRef<'_>) -> Option<Annotation> {
                let annotation: fn(OpRef<'_>) -> Option<Annotation> = $annotation;
                annotation(op)
            }
        }
    };
}

identity_op!(
    /// `sdy.sharding_constraint %0 <@mesh, [{"x"}, {?}]> : T`: its result has this sharding.
    ShardingConstraint,
    "sdy.sharding_constraint",
    Syntax::Custom(&text::CONSTRAINT),
    &[SHARDING],
    identity_rule,
    |_| Some(Annotation::Constraint),
    "(%a: tensor<8x8xf32>) %r = sdy.sharding_constraint %a <mesh<[\"x\"=2]>, [{\"x\"}, {?}]> : tensor<8x8xf32>"
);
identity_op!(
    /// `sdy.reshard %0 <@mesh, [{"x"}, {}]> : T`: changes its operand's sharding. Shardings don't propagate through it.
    ReshardOp,
    "sdy.reshard",
    Syntax::Custom(&text::CONSTRAINT),
    &[SHARDING],
    |_| None,
    |_| Some(Annotation::Reshard),
    "(%a: tensor<8x8xf32>) %r = sdy.reshard %a <mesh<[\"x\"=2]>, [{\"x\"}, {}]> : tensor<8x8xf32>"
);
identity_op!(
    /// `sdy.propagation_barrier %a allowed_direction=BACKWARD : T`: shardings propagate in one direction only.
    PropagationBarrier,
    "sdy.propagation_barrier",
    Syntax::Custom(&text::BARRIER),
    &["allowed_direction"],
    identity_rule,
    |op| Some(Annotation::Barrier(barrier_direction(op).unwrap_or(Direction::Both))),
    "(%a: tensor<8xf32>) %r = sdy.propagation_barrier %a allowed_direction=BACKWARD : tensor<8xf32>"
);
identity_op!(
    /// `sdy.data_flow_edge %a sharding=<@mesh, [{"x", ?}]> : T`: represents all values that its operand flows to.
    DataFlowEdge,
    "sdy.data_flow_edge",
    Syntax::Custom(&text::EDGE),
    &[],
    identity_rule,
    |_| None,
    "(%a: tensor<4xi64>) %r = sdy.data_flow_edge %a sharding=<mesh<[\"x\"=2]>, [{\"x\", ?}]> : tensor<4xi64>"
);
identity_op!(
    /// `sdy.func_data_flow_edge %a : T`: a data-flow edge for an argument of a function or the result of a call.
    FuncDataFlowEdge,
    "sdy.func_data_flow_edge",
    Syntax::Keys(&[], TypeForm::SameOrFunctional),
    &[],
    identity_rule,
    |_| None,
    "(%a: tensor<4xi64>) %r = sdy.func_data_flow_edge %a : tensor<4xi64>"
);

/// `sdy.sharding_group %a group_id=21 : T`: all members of a group have the same sharding.
pub struct ShardingGroup;

impl OpDef for ShardingGroup {
    fn name(&self) -> &'static str {
        "sdy.sharding_group"
    }

    fn syntax(&self) -> Syntax {
        Syntax::Custom(&text::GROUP)
    }

    fn infer(&self, op: OpRef<'_>) -> Inferred {
        if op.int("group_id").is_none() {
            return Err(Problem::new("attribute group_id is missing").note("write group_id=0").into());
        }
        same_type(op).map(|_| Vec::new())
    }

    fn evaluate(&self, _: OpRef<'_>, _: &[Literal], _: &mut dyn Context) -> EvalResult<Vec<Literal>> {
        Ok(Vec::new())
    }

    fn examples(&self) -> &'static [&'static str] {
        &["(%a: tensor<8xf32>) sdy.sharding_group %a group_id=21 : tensor<8xf32>"]
    }

    fn side_effect(&self, _: OpRef<'_>) -> bool {
        true
    }

    fn annotation(&self, op: OpRef<'_>) -> Option<Annotation> {
        op.int("group_id").map(Annotation::Group)
    }
}

/// `sdy.constant dense<…> : T`: a constant that is copied for every use, so that uses may be sharded differently.
pub struct Constant;

/// It computes the same as `stablehlo.constant`.
impl OpDef for Constant {
    fn name(&self) -> &'static str {
        "sdy.constant"
    }

    fn syntax(&self) -> Syntax {
        CONSTANT.syntax()
    }

    fn infer(&self, op: OpRef<'_>) -> Inferred {
        CONSTANT.infer(op)
    }

    fn kernel(&self, op: OpRef<'_>) -> Kernel {
        CONSTANT.kernel(op)
    }

    fn sharding_rule(&self, op: OpRef<'_>) -> Option<ShardingRule> {
        CONSTANT.sharding_rule(op)
    }

    fn localize(&self, cx: &mut Localize<'_>) {
        CONSTANT.localize(cx);
    }

    fn evaluate(&self, op: OpRef<'_>, operands: &[Literal], cx: &mut dyn Context) -> EvalResult<Vec<Literal>> {
        CONSTANT.evaluate(op, operands, cx)
    }

    fn constant<'a>(&self, op: OpRef<'a>) -> Option<&'a Literal> {
        CONSTANT.constant(op)
    }

    fn examples(&self) -> &'static [&'static str] {
        &["() %r = sdy.constant dense<[[0.000000e+00, 1.000000e+00], [2.000000e+00, 3.000000e+00]]> : tensor<2x2xf32>"]
    }
}

/// `sdy.return %a : T`: ends the region of a manual or named computation.
pub static RETURN: Terminator = Terminator {
    name: "sdy.return",
    syntax: &[Piece::AttrDict, Piece::Operands, Piece::Types(TypeForm::OperandsOnly)],
};
