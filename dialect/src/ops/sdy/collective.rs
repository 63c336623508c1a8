//! Shardy's collectives: they state the axes along which data moves, on global tensors, whose values don't change.
//!
//! Each is one row of a table: the op's name, the syntax of its axes, whether it reduces. Source: Shardy's dialect
//! documentation, `sdy.all_gather` and the following.

use crate::ir::{AllToAllParam, Attr, AttrData, ElementType, Name, OpRef, Program, TypeData};
use crate::op::{Annotation, Control, Inferred, OpDef, Problem};
use crate::sharding::{AxisList, Move, PerDim, ReductionKind, Reshard};
use crate::text::Syntax;

use super::{OUT_SHARDING, same_type, text};

/// The syntax of an op's axes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum AxesForm {
    /// No axes.
    None,
    /// `{"x"}`
    Flat,
    /// `[{"x"}, {}]`
    PerDim,
    /// `[{"x"}: 0->1]`
    Moves,
}

/// One of Shardy's collectives.
pub struct ShardyCollective {
    name: &'static str,
    /// The attribute with its axes.
    pub(super) axes: &'static str,
    pub(super) form: AxesForm,
    /// Whether it combines partial results or makes values partial, so that it may state the reduction operation.
    pub(super) reduces: bool,
    examples: &'static [&'static str],
}

/// `sdy.all_gather [{"b"}, {}] %1 out_sharding=<…> : T`: removes axes from the minor ends of dimensions.
pub static ALL_GATHER: ShardyCollective = ShardyCollective {
    name: "sdy.all_gather",
    axes: "gathering_axes",
    form: AxesForm::PerDim,
    reduces: false,
    examples: &[
        "(%a: tensor<8x8xf32>) %r = sdy.all_gather [{\"y\"}, {}] %a out_sharding=<mesh<[\"x\"=2, \"y\"=2]>, [{\"x\"}, {}]> : tensor<8x8xf32>",
    ],
};
/// `sdy.all_slice [{"b"}, {}] %1 out_sharding=<…> : T`: adds axes at the minor ends of dimensions.
pub static ALL_SLICE: ShardyCollective = ShardyCollective {
    name: "sdy.all_slice",
    axes: "slicing_axes",
    form: AxesForm::PerDim,
    reduces: false,
    examples: &[
        "(%a: tensor<8x8xf32>) %r = sdy.all_slice [{\"y\"}, {}] %a out_sharding=<mesh<[\"x\"=2, \"y\"=2]>, [{\"x\", \"y\"}, {}]> : tensor<8x8xf32>",
    ],
};
/// `sdy.all_to_all [{"b"}: 0->2] %1 out_sharding=<…> : T`: moves axes from one dimension to another.
pub static ALL_TO_ALL: ShardyCollective = ShardyCollective {
    name: "sdy.all_to_all",
    axes: "params",
    form: AxesForm::Moves,
    reduces: false,
    examples: &[
        "(%a: tensor<8x8xf32>) %r = sdy.all_to_all [{\"x\"}: 0->1] %a out_sharding=<mesh<[\"x\"=2]>, [{}, {\"x\"}]> : tensor<8x8xf32>",
    ],
};
/// `sdy.collective_permute %1 out_sharding=<…> : T`: replaces axes by others of the same sizes.
pub static COLLECTIVE_PERMUTE: ShardyCollective = ShardyCollective {
    name: "sdy.collective_permute",
    axes: "",
    form: AxesForm::None,
    reduces: false,
    examples: &[
        "(%a: tensor<8x8xf32>) %r = sdy.collective_permute %a out_sharding=<mesh<[\"x\"=2, \"y\"=2]>, [{\"y\"}, {}]> : tensor<8x8xf32>",
    ],
};
/// `shardc.permute_parts %1 out_sharding=<…> : T`: cuts every shard into equal parts and sends each straight to its
/// destination, as for two axes of different sizes that change places. Shardy has no such op; the syntax follows
/// Shardy's.
pub static PERMUTE_PARTS: ShardyCollective = ShardyCollective {
    name: "shardc.permute_parts",
    axes: "",
    form: AxesForm::None,
    reduces: false,
    examples: &[
        "(%a: tensor<8x8xf32>) %r = shardc.permute_parts %a out_sharding=<mesh<[\"x\"=2, \"y\"=4]>, [{\"y\"}, {\"x\"}]> : tensor<8x8xf32>",
    ],
};
/// `sdy.all_reduce {"x"} %1 out_sharding=<…> : T`: combines partial results along axes.
pub static ALL_REDUCE: ShardyCollective = ShardyCollective {
    name: "sdy.all_reduce",
    axes: "reduction_axes",
    form: AxesForm::Flat,
    reduces: true,
    examples: &[
        "(%a: tensor<8x8xf32>) %r = sdy.all_reduce max {\"x\"} %a out_sharding=<mesh<[\"x\"=2]>, [{}, {}]> : tensor<8x8xf32>",
    ],
};
/// `sdy.reduce_scatter [{"x"}, {}] %1 out_sharding=<…> : T`: combines along axes, then shards along the same axes.
pub static REDUCE_SCATTER: ShardyCollective = ShardyCollective {
    name: "sdy.reduce_scatter",
    axes: "reduce_scatter_axes",
    form: AxesForm::PerDim,
    reduces: true,
    examples: &[
        "(%a: tensor<8x8xf32>) %r = sdy.reduce_scatter [{\"x\"}, {}] %a out_sharding=<mesh<[\"x\"=2]>, [{\"x\"}, {}]> : tensor<8x8xf32>",
    ],
};
/// `sdy.replicated_to_unreduced {"x"} %1 out_sharding=<…> : T`: one device keeps the value, the others get zero (the
/// lowest value for `max`, the highest for `min`).
pub static REPLICATED_TO_UNREDUCED: ShardyCollective = ShardyCollective {
    name: "sdy.replicated_to_unreduced",
    axes: "axes",
    form: AxesForm::Flat,
    reduces: true,
    examples: &[
        "(%a: tensor<8x8xf32>) %r = sdy.replicated_to_unreduced {\"x\"} %a out_sharding=<mesh<[\"x\"=2]>, [{}, {}], unreduced={\"x\"}> : tensor<8x8xf32>",
    ],
};
/// `sdy.sharded_to_unreduced [{"x"}, {}] %1 out_sharding=<…> : T`: pads each device's shard to the full size with zeros
/// (the lowest value for `max`, the highest for `min`).
pub static SHARDED_TO_UNREDUCED: ShardyCollective = ShardyCollective {
    name: "sdy.sharded_to_unreduced",
    axes: "axes",
    form: AxesForm::PerDim,
    reduces: true,
    examples: &[
        "(%a: tensor<8x8xf32>) %r = sdy.sharded_to_unreduced [{\"x\"}, {}] %a out_sharding=<mesh<[\"x\"=2]>, [{}, {}], unreduced={\"x\"}> : tensor<8x8xf32>",
    ],
};

const ALL: [&ShardyCollective; 9] = [
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

/// Returns the table row of the op called `name`.
pub(super) fn row(name: &str) -> Option<&'static ShardyCollective> {
    ALL.into_iter().find(|row| row.name == name)
}

/// The attribute that states how an op combines partial results: 1 is the maximum, 2 the minimum; the default is a sum.
pub(super) const REDUCTION_OP: &str = "reduction_op";

/// Returns the row and the attributes that express `change`; `None` for no change.
pub(crate) fn written(
    program: &mut Program,
    change: &Reshard,
) -> Option<(&'static ShardyCollective, Vec<(Name, Attr)>)> {
    let flat = |axes: &AxisList| Some(AttrData::Axes(axes.clone()));
    let per_dim = |dims: &PerDim| Some(AttrData::AxesPerDim(dims.to_vec()));
    let (row, axes, kind) = match change {
        Reshard::AllGather(dims) => (&ALL_GATHER, per_dim(dims), ReductionKind::Sum),
        Reshard::AllSlice(dims) => (&ALL_SLICE, per_dim(dims), ReductionKind::Sum),
        Reshard::AllToAll(moves) => {
            let moves =
                moves.iter().map(|m| AllToAllParam { axes: m.axes.clone(), from: m.from as i64, to: m.to as i64 });
            (&ALL_TO_ALL, Some(AttrData::AllToAllParams(moves.collect())), ReductionKind::Sum)
        }
        Reshard::CollectivePermute => (&COLLECTIVE_PERMUTE, None, ReductionKind::Sum),
        Reshard::PermuteParts => (&PERMUTE_PARTS, None, ReductionKind::Sum),
        Reshard::AllReduce(axes, kind) => (&ALL_REDUCE, flat(axes), *kind),
        Reshard::ReduceScatter(dims, kind) => (&REDUCE_SCATTER, per_dim(dims), *kind),
        Reshard::ReplicatedToUnreduced(axes, kind) => (&REPLICATED_TO_UNREDUCED, flat(axes), *kind),
        Reshard::ShardedToUnreduced(dims, kind) => (&SHARDED_TO_UNREDUCED, per_dim(dims), *kind),
        Reshard::Identity => return None,
    };
    let mut attrs = Vec::new();
    if let Some(axes) = axes {
        attrs.push((program.name(row.axes), program.intern_attr(axes)));
    }
    if kind != ReductionKind::Sum {
        let ty = program.intern_type(TypeData::Scalar(ElementType::I32));
        attrs.push((program.name(REDUCTION_OP), program.intern_attr(AttrData::Int(kind as i64, ty))));
    }
    Some((row, attrs))
}

/// Returns the reshard that an op of this table states; `None` if its axes are missing.
fn reshard_of(op: OpRef<'_>) -> Option<Reshard> {
    let row = row(op.name())?;
    let kind = match op.int(REDUCTION_OP) {
        Some(1) => ReductionKind::Max,
        Some(2) => ReductionKind::Min,
        _ => ReductionKind::Sum,
    };
    let per_dim = || match op.attr(row.axes)? {
        AttrData::AxesPerDim(dims) => Some(dims.iter().cloned().collect()),
        _ => None,
    };
    let flat = || op.attr(row.axes).and_then(AttrData::as_axes).map(AxisList::from_slice);
    Some(match row.name {
        "sdy.all_gather" => Reshard::AllGather(per_dim()?),
        "sdy.all_slice" => Reshard::AllSlice(per_dim()?),
        "sdy.all_to_all" => {
            let AttrData::AllToAllParams(params) = op.attr(row.axes)? else { return None };
            let dim = |d: i64| usize::try_from(d).ok();
            let moves = params.iter().map(|p| Some(Move { axes: p.axes.clone(), from: dim(p.from)?, to: dim(p.to)? }));
            Reshard::AllToAll(moves.collect::<Option<_>>()?)
        }
        "sdy.collective_permute" => Reshard::CollectivePermute,
        "shardc.permute_parts" => Reshard::PermuteParts,
        "sdy.all_reduce" => Reshard::AllReduce(flat()?, kind),
        "sdy.reduce_scatter" => Reshard::ReduceScatter(per_dim()?, kind),
        "sdy.replicated_to_unreduced" => Reshard::ReplicatedToUnreduced(flat()?, kind),
        _ => Reshard::ShardedToUnreduced(per_dim()?, kind),
    })
}

impl OpDef for ShardyCollective {
    fn name(&self) -> &'static str {
        self.name
    }

    fn syntax(&self) -> Syntax {
        Syntax::Custom(&text::COLLECTIVE)
    }

    fn infer(&self, op: OpRef<'_>) -> Inferred {
        let mut problems = Vec::new();
        if reshard_of(op).is_none() {
            problems.push(Problem::new(format!("attribute {} is missing or has another form", self.axes)));
        }
        if op.attr(OUT_SHARDING).and_then(AttrData::as_sharding).is_none() {
            problems.push(Problem::new("attribute out_sharding is missing").note("write out_sharding=<@mesh, […]>"));
        }
        if problems.is_empty() { same_type(op) } else { Err(problems) }
    }

    fn examples(&self) -> &'static [&'static str] {
        self.examples
    }

    fn control(&self, _: OpRef<'_>) -> Option<Control> {
        Some(Control::Identity)
    }

    fn reshard(&self, op: OpRef<'_>) -> Option<Reshard> {
        reshard_of(op)
    }

    fn annotation(&self, _: OpRef<'_>) -> Option<Annotation> {
        Some(Annotation::Reshard)
    }
}
