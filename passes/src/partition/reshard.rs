//! Lowers Shardy's collectives over global values to StableHLO's over each device's shards.
//!
//! Each becomes one collective. A dimension that doesn't divide is padded with zeros before it is divided, and the
//! padding is sliced off after shards are gathered; a change that would have to shift elements between devices gathers
//! first.

use dialect::collective::MeshAttr;
use dialect::ir::build::Builder;
use dialect::ir::{Shape, Value};
use dialect::ops::build;
use dialect::ops::build::collective::Along;
use dialect::sharding::axis::size_of;
use dialect::sharding::{Axes, AxisPart, Distribution, Mesh, ReductionKind, Reshard, ShardDim, identity};
use smallvec::SmallVec;

use super::position::Positions;

/// The state of one lowering.
pub(super) struct Lowering<'a> {
    pub(super) mesh: &'a Mesh,
    /// The mesh, as written in the groups of collectives.
    pub(super) groups: MeshAttr,
    pub(super) positions: &'a mut Positions,
    /// The next free channel.
    pub(super) channel: &'a mut i64,
    /// Global sizes.
    pub(super) shape: &'a [i64],
    pub(super) from: &'a Distribution,
    pub(super) to: &'a Distribution,
}

impl Lowering<'_> {
    /// Builds `reshard` of the local shard `value`.
    pub(super) fn build(&mut self, b: &mut Builder<'_>, reshard: &Reshard<AxisPart>, value: Value) -> Value {
        if self.shifts(reshard) {
            return self.by_gathering(b, reshard, value);
        }
        match reshard {
            Reshard::Identity => value,
            Reshard::AllGather(axes) if self.is_joint(axes) => self.joint_gather(b, axes, value),
            Reshard::AllGather(axes) => self.for_dims(b, axes, value, Self::gather),
            Reshard::AllSlice(axes) => self.for_dims(b, axes, value, Self::slice),
            Reshard::AllToAll(moves) if moves.len() > 1 => self.joint_exchange(b, moves, value),
            Reshard::AllToAll(moves) => moves.iter().fold(value, |v, m| self.exchange(b, v, &m.axes, m.from, m.to)),
            Reshard::CollectivePermute => {
                let all = |d: &Distribution| d.dims.iter().flatten().copied().collect::<Axes>();
                let (from, to) = (all(self.from), all(self.to));
                let channel = self.next_channel();
                let pairs = self.groups.permutation(b.program, &from, &to);
                build::collective::permute(b, value, pairs, channel)
            }
            Reshard::PermuteParts => self.permute_parts(b, value),
            Reshard::AllReduce(axes, kind) => self.all_reduce(b, value, axes, *kind),
            Reshard::ReduceScatter(axes, kind) if self.is_joint(axes) => {
                self.joint_reduce_scatter(b, axes, *kind, value)
            }
            Reshard::ReduceScatter(axes, kind) => self.reduce_scatter(b, value, axes, *kind),
            Reshard::ReplicatedToUnreduced(axes, kind) => self.on_first(b, value, axes, *kind),
            Reshard::ShardedToUnreduced(axes, kind) => {
                let ty = b.tensor(value).clone();
                let mut shape = ty.shape.clone();
                let mut starts = Vec::new();
                for (d, size) in shape.iter_mut().enumerate() {
                    let axes: &[AxisPart] = axes.get(d).map_or(&[], |a| a);
                    starts.push(self.positions.offset(b, self.mesh, axes, *size));
                    *size *= size_of(axes);
                }
                let empty = build::splat(b, ty.element, &shape, identity(*kind, ty.element));
                let placed = build::shape::dynamic_update_slice(b, empty, value, &starts);
                let local = self.to.local_shape(self.shape);
                self.slice_to(b, placed, &local)
            }
        }
    }

    /// Returns the division of dimension `dim` before and after.
    fn dim(&self, dim: usize) -> (ShardDim, ShardDim) {
        (self.from.shard_dim(dim, self.shape[dim]), self.to.shard_dim(dim, self.shape[dim]))
    }

    /// Returns whether the shards of some dimension begin at different elements before and after, so that elements
    /// would have to shift between devices: the dimension doesn't divide, and other axes shard it, too.
    pub(super) fn shifts(&self, reshard: &Reshard<AxisPart>) -> bool {
        let comes = |d: usize| self.dim(d).1.refines(self.dim(d).0);
        let leaves = |d: usize| self.dim(d).0.refines(self.dim(d).1);
        let some = |axes: &[Axes], fits: &dyn Fn(usize) -> bool| {
            axes.iter().enumerate().any(|(d, a)| !a.is_empty() && !fits(d))
        };
        match reshard {
            Reshard::AllGather(axes) | Reshard::ShardedToUnreduced(axes, _) => some(axes, &leaves),
            Reshard::AllSlice(axes) | Reshard::ReduceScatter(axes, _) => some(axes, &comes),
            Reshard::AllToAll(moves) => (0..self.shape.len()).any(|d| {
                match (moves.iter().any(|m| m.from == d), moves.iter().any(|m| m.to == d)) {
                    (false, false) => false,
                    (true, false) => !leaves(d),
                    (false, true) => !comes(d),
                    (true, true) => !(self.dim(d).0.is_even() && self.dim(d).1.is_even()),
                }
            }),
            _ => false,
        }
    }

    /// Builds `reshard` with every changing dimension replicated in between.
    pub(super) fn by_gathering(&mut self, b: &mut Builder<'_>, reshard: &Reshard<AxisPart>, mut value: Value) -> Value {
        if let Reshard::ReduceScatter(axes, kind) = reshard {
            let all: Axes = axes.iter().flatten().copied().collect();
            value = self.all_reduce(b, value, &all, *kind);
        }
        let changed: Vec<usize> = (0..self.shape.len()).filter(|&d| self.from.dims[d] != self.to.dims[d]).collect();
        for &d in &changed {
            let axes = self.from.dims[d].clone();
            if !axes.is_empty() {
                value = self.gather(b, value, d, &axes);
            }
        }
        if let Reshard::ShardedToUnreduced(axes, kind) = reshard {
            let all: Axes = axes.iter().flatten().copied().collect();
            value = self.on_first(b, value, &all, *kind);
        }
        for &d in &changed {
            let axes = self.to.dims[d].clone();
            if !axes.is_empty() {
                value = self.slice(b, value, d, &axes);
            }
        }
        value
    }

    /// Returns `value` on the first device along `axes`, and the identity of a reduction on others.
    fn on_first(&mut self, b: &mut Builder<'_>, value: Value, axes: &[AxisPart], kind: ReductionKind) -> Value {
        let at = self.positions.coordinate(b, self.mesh, axes);
        let zero = self.positions.constant(b, 0);
        let first = build::compare(b, dialect::scalar::Comparison::Eq, at, zero);
        let ty = b.tensor(value).clone();
        let first = build::shape::splat(b, first, &ty.shape);
        let others = build::splat(b, ty.element, &ty.shape, identity(kind, ty.element));
        build::select(b, first, value, others)
    }

    fn for_dims(
        &mut self,
        b: &mut Builder<'_>,
        axes: &[Axes],
        value: Value,
        f: fn(&mut Self, &mut Builder<'_>, Value, usize, &[AxisPart]) -> Value,
    ) -> Value {
        let sharded = axes.iter().enumerate().filter(|a| !a.1.is_empty());
        sharded.fold(value, |v, (d, axes)| f(self, b, v, d, axes))
    }

    /// Returns the groups of a collective along `axes`.
    pub(super) fn along<'g>(&self, axes: &'g [AxisPart]) -> Along<'g> {
        Along { mesh: self.groups, axes, devices: size_of(axes) }
    }

    pub(super) fn next_channel(&mut self) -> i64 {
        let c = *self.channel;
        *self.channel += 1;
        c
    }

    /// Removes `axes`, its minor ones, from dimension `dim`.
    fn gather(&mut self, b: &mut Builder<'_>, value: Value, dim: usize, axes: &[AxisPart]) -> Value {
        let channel = self.next_channel();
        let gathered = build::collective::all_gather(b, value, dim, self.along(axes), channel);
        // Sub-axes may be removed, too, so the number of remaining shards is computed from sizes.
        let kept = self.from.shards(dim) / size_of(axes).max(1);
        let local = ShardDim::new(self.shape[dim], kept).size();
        let mut shape = b.tensor(gathered).shape.clone();
        shape[dim] = local;
        self.slice_to(b, gathered, &shape)
    }

    /// Adds `axes` to dimension `dim`, as its minor ones.
    fn slice(&mut self, b: &mut Builder<'_>, value: Value, dim: usize, axes: &[AxisPart]) -> Value {
        let n = size_of(axes);
        let size = b.tensor(value).shape[dim];
        let piece = ShardDim::new(size, n).size();
        let value = self.pad_dim(b, value, dim, piece * n);
        let offset = self.positions.offset(b, self.mesh, axes, piece);
        let mut sizes = b.tensor(value).shape.clone();
        sizes[dim] = piece;
        let mut starts: SmallVec<[Value; 4]> = SmallVec::new();
        for d in 0..sizes.len() {
            let start = if d == dim { offset } else { self.positions.constant(b, 0) };
            starts.push(start);
        }
        build::shape::dynamic_slice(b, value, &starts, &sizes)
    }

    /// Moves `axes` from dimension `from` to dimension `to`, minor in both.
    fn exchange(&mut self, b: &mut Builder<'_>, value: Value, axes: &[AxisPart], from: usize, to: usize) -> Value {
        let value = self.pad(b, value, &[(to, size_of(axes))]);
        let channel = self.next_channel();
        let exchanged = build::collective::all_to_all(b, value, to, from, self.along(axes), channel);
        self.slice_to_shard(b, exchanged)
    }

    fn all_reduce(&mut self, b: &mut Builder<'_>, value: Value, axes: &[AxisPart], kind: ReductionKind) -> Value {
        let channel = self.next_channel();
        build::collective::all_reduce(b, value, dialect::sharding::reduction_op(kind), self.along(axes), channel)
    }

    fn reduce_scatter(&mut self, b: &mut Builder<'_>, value: Value, axes: &[Axes], kind: ReductionKind) -> Value {
        let counts: Vec<(usize, i64)> = axes.iter().map(|a| size_of(a)).enumerate().collect();
        let value = self.pad(b, value, &counts);
        let sharded = axes.iter().enumerate().filter(|a| !a.1.is_empty());
        sharded.fold(value, |v, (d, axes)| {
            let channel = self.next_channel();
            let op = dialect::sharding::reduction_op(kind);
            build::collective::reduce_scatter(b, v, op, d, self.along(axes), channel)
        })
    }

    /// Appends padding to dimensions, each given with the number of shards to divide it into.
    pub(super) fn pad(&mut self, b: &mut Builder<'_>, value: Value, counts: &[(usize, i64)]) -> Value {
        counts.iter().fold(value, |v, &(d, n)| {
            let size = ShardDim::new(b.tensor(v).shape[d], n).size() * n.max(1);
            self.pad_dim(b, v, d, size)
        })
    }

    /// Slices each dimension to the size of a device's shard after the reshard.
    pub(super) fn slice_to_shard(&mut self, b: &mut Builder<'_>, value: Value) -> Value {
        let local = self.to.local_shape(self.shape);
        self.slice_to(b, value, &local)
    }

    /// Appends padding to `dim` up to `size`.
    fn pad_dim(&mut self, b: &mut Builder<'_>, value: Value, dim: usize, size: i64) -> Value {
        let ty = b.tensor(value).clone();
        if ty.shape[dim] == size {
            return value;
        }
        let zero = build::scalar(b, ty.element, dialect::scalar::Scalar::zero(ty.element));
        let none: Shape = ty.shape.iter().map(|_| 0).collect();
        let mut high = none.clone();
        high[dim] = size - ty.shape[dim];
        build::shape::pad(b, value, zero, &none, &high, &none)
    }

    /// Slices padding off the ends.
    fn slice_to(&mut self, b: &mut Builder<'_>, value: Value, shape: &[i64]) -> Value {
        let full = b.tensor(value).shape.clone();
        if full[..] == *shape {
            return value;
        }
        let start: Shape = shape.iter().map(|_| 0).collect();
        let stride: Shape = shape.iter().map(|_| 1).collect();
        build::shape::slice(b, value, &start, shape, &stride)
    }
}
