//! Values that enter or leave a manual computation with some axes free.
//!
//! Outside, a dimension sharded by manual axes and then by free ones is divided once, by all of them; inside, the free
//! axes divide the shard of the manual axes. A device has the same elements either way only where the free axes divide
//! the manual axes' shard: of 12 rows on 2 by 4 devices, the fourth device holds rows 6 and 7 outside, but none of the
//! first 6 inside.

use dialect::ir::build::Builder;
use dialect::ir::{Name, Op, Value};
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

impl Partition<'_> {
    /// Returns the local value inside the manual computation `op` of the operand `global`, whose local value is
    /// `local`.
    pub(super) fn enter(
        &mut self,
        op: Op,
        (global, local): (Value, Value),
        manual: &[Name],
        ops: &mut Vec<Op>,
        positions: &mut Positions,
    ) -> Value {
        let Some(border) = self.border(global, manual) else { return local };
        let gathered = Reshard::AllGather(border.free.clone());
        let whole = self.lower(op, &gathered, &border.shape, (&border.outside, &border.manual), local, ops, positions);
        let (shape, inside) = (border.manual.local_shape(&border.shape), border.inside());
        let sliced = Reshard::AllSlice(border.free);
        let replicated = Distribution::replicated(shape.len());
        self.lower(op, &sliced, &shape, (&replicated, &inside), whole, ops, positions)
    }

    /// Returns the local value outside the manual computation `op` of its result `global`, whose local value inside is
    /// `local`.
    pub(super) fn leave(
        &mut self,
        op: Op,
        (global, local): (Value, Value),
        manual: &[Name],
        ops: &mut Vec<Op>,
        positions: &mut Positions,
    ) -> Value {
        let Some(border) = self.border(global, manual) else { return local };
        let (shape, inside) = (border.manual.local_shape(&border.shape), border.inside());
        let gathered = Reshard::AllGather(border.free.clone());
        let replicated = Distribution::replicated(shape.len());
        let whole = self.lower(op, &gathered, &shape, (&inside, &replicated), local, ops, positions);
        let sliced = Reshard::AllSlice(border.free);
        self.lower(op, &sliced, &border.shape, (&border.manual, &border.outside), whole, ops, positions)
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

    /// Builds `reshard` of a local value of a tensor of this shape.
    #[allow(clippy::too_many_arguments, reason = "where to build, and what")]
    fn lower(
        &mut self,
        op: Op,
        reshard: &Reshard<AxisPart>,
        shape: &[i64],
        (from, to): (&Distribution, &Distribution),
        value: Value,
        ops: &mut Vec<Op>,
        positions: &mut Positions,
    ) -> Value {
        let loc = self.program.op(op).loc;
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
