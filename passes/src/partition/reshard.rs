//! Shardy's collectives over global values, lowered to StableHLO's over devices' pieces.
//!
//! Where a dimension divides, each is one collective. Where it doesn't, pieces are padded at the end: a gather cuts
//! the padding off, a slice adds it, and what would have to shift elements between devices gathers first.

use dialect::collective::MeshAttr;
use dialect::ir::build::Builder;
use dialect::ir::{Shape, Value};
use dialect::ops::build;
use dialect::ops::build::collective::Along;
use dialect::sharding::{AxisList, AxisRef, Mesh, Move, ReductionKind, Reshard, TensorSharding, axes_size, identity};
use smallvec::SmallVec;

use super::position::Positions;

/// What the lowering works on.
pub(super) struct Lowering<'a> {
    pub(super) mesh: &'a Mesh,
    /// The mesh as the groups of collectives name it.
    pub(super) groups: MeshAttr,
    pub(super) positions: &'a mut Positions,
    /// The next free channel.
    pub(super) channel: &'a mut i64,
    /// Global sizes.
    pub(super) shape: &'a [i64],
    pub(super) from: &'a TensorSharding,
    pub(super) to: &'a TensorSharding,
}

impl Lowering<'_> {
    /// Builds `reshard` of the local piece `value`.
    pub(super) fn build(&mut self, b: &mut Builder<'_>, reshard: &Reshard, value: Value) -> Value {
        match reshard {
            Reshard::Identity => value,
            Reshard::AllGather(axes) if self.is_joint(axes) => self.joint_gather(b, axes, value),
            Reshard::AllGather(axes) => self.for_dims(b, axes, value, Self::gather),
            Reshard::AllSlice(axes) => self.for_dims(b, axes, value, Self::slice),
            Reshard::AllToAll(moves) if moves.len() > 1 && self.is_even() => self.joint_exchange(b, moves, value),
            Reshard::AllToAll(moves) => moves.iter().fold(value, |v, m| self.exchange(b, v, &m.axes, m.from, m.to)),
            Reshard::CollectivePermute => {
                let all = |s: &TensorSharding| s.dims.iter().flat_map(|d| d.axes.iter().copied()).collect::<Vec<_>>();
                let (from, to) = (all(self.from), all(self.to));
                let channel = self.next_channel();
                build::collective::collective_permute(b, value, self.groups, (&from, &to), channel)
            }
            Reshard::AllReduce(axes, kind) => self.all_reduce(b, value, axes, *kind),
            Reshard::ReduceScatter(axes, kind) if self.is_joint(axes) => {
                self.joint_reduce_scatter(b, axes, *kind, value)
            }
            Reshard::ReduceScatter(axes, kind) => self.reduce_scatter(b, value, axes, *kind),
            Reshard::ReplicatedToUnreduced(axes, kind) => {
                let at = self.positions.coordinate(b, self.mesh, axes);
                let zero = build::index(b, 0);
                let first = build::compare(b, dialect::scalar::Comparison::Eq, at, zero);
                let ty = b.tensor(value).clone();
                let first = build::shape::splat(b, first, &ty.shape);
                let others = build::splat(b, ty.element, &ty.shape, identity(*kind, ty.element));
                build::select(b, first, value, others)
            }
            Reshard::ShardedToUnreduced(axes, kind) => {
                let ty = b.tensor(value).clone();
                let mut shape = ty.shape.clone();
                let mut starts = Vec::new();
                for (d, size) in shape.iter_mut().enumerate() {
                    let axes: &[AxisRef] = axes.get(d).map_or(&[], |a| a);
                    starts.push(self.positions.offset(b, self.mesh, axes, *size));
                    *size *= axes_size(axes, self.mesh);
                }
                let empty = build::splat(b, ty.element, &shape, identity(*kind, ty.element));
                let placed = build::shape::dynamic_update_slice(b, empty, value, &starts);
                let local = self.to.local_shape(self.shape, self.mesh);
                self.cut(b, placed, &local)
            }
        }
    }

    /// A dimension whose pieces begin elsewhere before and after, so that elements would have to shift between
    /// devices: it is cut by other axes too and doesn't divide.
    pub(super) fn misaligned(&self, reshard: &Reshard) -> Option<usize> {
        let coarse = |s: &TensorSharding, dim: usize, axes: &[AxisRef]| {
            // Parts of axes may leave: what stays is told by sizes.
            (axes_size(&s.dims[dim].axes, self.mesh) / axes_size(axes, self.mesh).max(1)).max(1)
        };
        let aligned = |dim: usize, outer: i64, axes: &[AxisRef]| {
            let (size, n) = (self.shape[dim].unsigned_abs(), axes_size(axes, self.mesh).max(1) as u64);
            outer == 1 || size.div_ceil(outer as u64) == size.div_ceil(outer as u64 * n) * n
        };
        let all_aligned = |s: &TensorSharding, axes: &[AxisList]| {
            axes.iter().enumerate().find(|(d, a)| !aligned(*d, coarse(s, *d, a), a)).map(|d| d.0)
        };
        match reshard {
            Reshard::AllGather(axes) | Reshard::ShardedToUnreduced(axes, _) => all_aligned(self.from, axes),
            Reshard::AllSlice(axes) | Reshard::ReduceScatter(axes, _) => all_aligned(self.to, axes),
            Reshard::AllToAll(moves) => moves.iter().find_map(|Move { axes, from, to }| {
                let leaves = aligned(*from, coarse(self.from, *from, axes), axes);
                let comes = aligned(*to, coarse(self.to, *to, axes), axes);
                if leaves && comes { None } else { Some(if leaves { *to } else { *from }) }
            }),
            _ => None,
        }
    }

    fn for_dims(
        &mut self,
        b: &mut Builder<'_>,
        axes: &[AxisList],
        value: Value,
        f: fn(&mut Self, &mut Builder<'_>, Value, usize, &[AxisRef]) -> Value,
    ) -> Value {
        let cut = axes.iter().enumerate().filter(|a| !a.1.is_empty());
        cut.fold(value, |v, (d, axes)| f(self, b, v, d, axes))
    }

    /// The groups of a collective along `axes`.
    pub(super) fn along<'g>(&self, axes: &'g [AxisRef]) -> Along<'g> {
        Along { mesh: self.groups, axes, devices: axes_size(axes, self.mesh) }
    }

    pub(super) fn next_channel(&mut self) -> i64 {
        let c = *self.channel;
        *self.channel += 1;
        c
    }

    /// `axes` leave dimension `dim`: they are its minor ones.
    fn gather(&mut self, b: &mut Builder<'_>, value: Value, dim: usize, axes: &[AxisRef]) -> Value {
        let channel = self.next_channel();
        let gathered = build::collective::all_gather(b, value, dim, self.along(axes), channel);
        // The piece of the coarser sharding may be shorter than the pieces put together.
        // Parts of axes may leave: what stays is told by sizes.
        let kept = axes_size(&self.from.dims[dim].axes, self.mesh) / axes_size(axes, self.mesh).max(1);
        let local = self.shape[dim].unsigned_abs().div_ceil(kept.max(1) as u64) as i64;
        let mut shape = b.tensor(gathered).shape.clone();
        shape[dim] = local;
        self.cut(b, gathered, &shape)
    }

    /// `axes` come to dimension `dim`, as its minor ones.
    fn slice(&mut self, b: &mut Builder<'_>, value: Value, dim: usize, axes: &[AxisRef]) -> Value {
        let n = axes_size(axes, self.mesh);
        let size = b.tensor(value).shape[dim];
        let piece = size.unsigned_abs().div_ceil(n.max(1) as u64) as i64;
        let value = self.pad_dim(b, value, dim, piece * n);
        let offset = self.positions.offset(b, self.mesh, axes, piece);
        let mut sizes = b.tensor(value).shape.clone();
        sizes[dim] = piece;
        let mut starts: SmallVec<[Value; 4]> = SmallVec::new();
        for d in 0..sizes.len() {
            let start = if d == dim { offset } else { build::index(b, 0) };
            starts.push(start);
        }
        build::shape::dynamic_slice(b, value, &starts, &sizes)
    }

    /// `axes` move from dimension `from` to dimension `to`, minor in both.
    fn exchange(&mut self, b: &mut Builder<'_>, value: Value, axes: &[AxisRef], from: usize, to: usize) -> Value {
        let n = axes_size(axes, self.mesh);
        let shape = b.tensor(value).shape.clone();
        let cuts = axes_size(&self.from.dims[from].axes, self.mesh);
        let even = shape[to] % n == 0 && self.shape[from] % cuts.max(1) == 0;
        if !even {
            let whole = self.gather(b, value, from, axes);
            return self.slice(b, whole, to, axes);
        }
        let channel = self.next_channel();
        build::collective::all_to_all(b, value, to, from, self.along(axes), channel)
    }

    fn all_reduce(&mut self, b: &mut Builder<'_>, value: Value, axes: &[AxisRef], kind: ReductionKind) -> Value {
        let channel = self.next_channel();
        build::collective::all_reduce(b, value, dialect::sharding::reduction_op(kind), self.along(axes), channel)
    }

    fn reduce_scatter(&mut self, b: &mut Builder<'_>, value: Value, axes: &[AxisList], kind: ReductionKind) -> Value {
        let shape = b.tensor(value).shape.clone();
        let even = axes.iter().enumerate().all(|(d, a)| shape[d] % axes_size(a, self.mesh).max(1) == 0);
        if !even {
            let all: Vec<AxisRef> = axes.iter().flatten().copied().collect();
            let whole = self.all_reduce(b, value, &all, kind);
            return self.for_dims(b, axes, whole, Self::slice);
        }
        let cut = axes.iter().enumerate().filter(|a| !a.1.is_empty());
        cut.fold(value, |v, (d, axes)| {
            let channel = self.next_channel();
            let op = dialect::sharding::reduction_op(kind);
            build::collective::reduce_scatter(b, v, op, d, self.along(axes), channel)
        })
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

    /// Cuts padding off the ends.
    fn cut(&mut self, b: &mut Builder<'_>, value: Value, shape: &[i64]) -> Value {
        let full = b.tensor(value).shape.clone();
        if full[..] == *shape {
            return value;
        }
        let start: Shape = shape.iter().map(|_| 0).collect();
        let stride: Shape = shape.iter().map(|_| 1).collect();
        build::shape::slice(b, value, &start, shape, &stride)
    }
}
