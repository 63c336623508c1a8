//! Values that enter or leave a manual computation with some axes free.
//!
//! Outside, a dimension sharded by manual axes and then by free ones is divided once, by all of them; inside, the free
//! axes divide the shard of the manual axes. A device has the same elements either way only where the free axes divide
//! the manual axes' shard: of 12 rows on 2 by 4 devices, the fourth device holds rows 6 and 7 outside, but none of the
//! first 6 inside.

use dialect::ir::build::Builder;
use dialect::ir::{Loc, Name, Op, Value};
use dialect::sharding::{Axes, AxesPerDim, AxisPart, Distribution, Reshard};

use super::Partition;
use super::position::Positions;
use super::reshard::Lowering;

/// The distributions of a value at the border.
struct Border {
    /// Its global shape outside.
    shape: Vec<i64>,
    /// The distribution outside the computation.
    outside: Distribution,
    /// The distribution outside, along the manual axes alone.
    manual: Distribution,
    /// The distribution inside, along the free axes, of a tensor that is one shard of the manual axes.
    free: AxesPerDim,
}

/// One collective of a tensor of this shape.
struct ReshardStep<'a> {
    reshard: Reshard<AxisPart>,
    shape: &'a [i64],
    from: &'a Distribution,
    to: &'a Distribution,
}

impl Partition<'_> {
    /// Returns the local value inside the manual computation `op` of the operand `global`, whose local value is
    /// `local`.
    pub(super) fn enter(
        &mut self,
        op: Op,
        global: Value,
        local: Value,
        manual: &[Name],
        ops: &mut Vec<Op>,
        positions: &mut Positions,
    ) -> Value {
        let Some(border) = self.border(global, manual) else { return local };
        let loc = self.program.op(op).loc;
        let Border { shape, outside, manual, free } = &border;
        let gather = ReshardStep { reshard: Reshard::AllGather(free.clone()), shape, from: outside, to: manual };
        let whole = self.lower(&gather, local, loc, ops, positions);
        let (shape, inside) = (&manual.local_shape(shape), &border.inside());
        let replicated = &Distribution::replicated(shape.len());
        let slice = ReshardStep { reshard: Reshard::AllSlice(free.clone()), shape, from: replicated, to: inside };
        self.lower(&slice, whole, loc, ops, positions)
    }

    /// Returns the local value outside the manual computation `op` of its result `global`, whose local value inside is
    /// `local`.
    pub(super) fn leave(
        &mut self,
        op: Op,
        global: Value,
        local: Value,
        manual: &[Name],
        ops: &mut Vec<Op>,
        positions: &mut Positions,
    ) -> Value {
        let Some(border) = self.border(global, manual) else { return local };
        let loc = self.program.op(op).loc;
        let Border { shape, outside, manual, free } = &border;
        let (local_shape, inside) = (&manual.local_shape(shape), &border.inside());
        let replicated = &Distribution::replicated(shape.len());
        let reshard = Reshard::AllGather(free.clone());
        let gather = ReshardStep { reshard, shape: local_shape, from: inside, to: replicated };
        let whole = self.lower(&gather, local, loc, ops, positions);
        let slice = ReshardStep { reshard: Reshard::AllSlice(free.clone()), shape, from: manual, to: outside };
        self.lower(&slice, whole, loc, ops, positions)
    }

    /// Returns the border that `global` crosses; `None` where every device holds the same elements on both sides.
    fn border(&self, global: Value, manual_axes: &[Name]) -> Option<Border> {
        let outside = Distribution::clone(&*self.distribution(global)?);
        let shape = self.program.tensor_type(global)?.shape.to_vec();
        let is_manual = |part: &AxisPart| manual_axes.contains(&self.mesh.axes[part.axis as usize].0);
        let keep = |keep_manual: bool| -> AxesPerDim {
            let dim = |axes: &Axes| axes.iter().copied().filter(|part| is_manual(part) == keep_manual).collect();
            outside.dims.iter().map(dim).collect()
        };
        let manual = Distribution { dims: keep(true), ..outside.clone() };
        let same = |(d, &n): (usize, &i64)| outside.shard_dim(d, n).refines(manual.shard_dim(d, n));
        if outside.rank() != shape.len() || shape.iter().enumerate().all(same) {
            return None;
        }
        Some(Border { shape, free: keep(false), outside, manual })
    }

    /// Builds a step of a local value, at the end of `ops`.
    fn lower(
        &mut self,
        step: &ReshardStep<'_>,
        value: Value,
        loc: Loc,
        ops: &mut Vec<Op>,
        positions: &mut Positions,
    ) -> Value {
        let &ReshardStep { ref reshard, shape, from, to } = step;
        let channel = &mut self.channel;
        let mut lowering = Lowering { mesh: self.mesh, groups: self.groups, positions, channel, shape, from, to };
        lowering.build(&mut Builder::new(self.program, ops, loc), reshard, value)
    }
}

impl Border {
    fn inside(&self) -> Distribution {
        Distribution { dims: self.free.clone(), ..Distribution::default() }
    }
}
