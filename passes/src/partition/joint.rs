//! Builds one collective for a change along several dimensions at once: the shards are numbered along an extra leading
//! dimension, and each device transposes them into their places.

use dialect::ir::build::Builder;
use dialect::ir::{Shape, Value};
use dialect::ops::build;
use dialect::sharding::axis::size_of;
use dialect::sharding::{Axes, AxisPart, Move, ReductionKind};

use super::reshard::Lowering;

impl Lowering<'_> {
    /// Returns whether axes are added to or removed from several dimensions.
    pub(super) fn is_joint(&self, axes: &[Axes]) -> bool {
        axes.iter().filter(|a| !a.is_empty()).count() > 1
    }

    fn sizes(&self, axes: &[Axes]) -> Vec<i64> {
        axes.iter().map(|a| size_of(a)).collect()
    }

    /// Builds one gather along all dimensions.
    pub(super) fn joint_gather(&mut self, b: &mut Builder<'_>, axes: &[Axes], value: Value) -> Value {
        let (sizes, local) = (self.sizes(axes), b.tensor(value).shape.clone());
        let all: Axes = axes.iter().flatten().copied().collect();
        let channel = self.next_channel();
        let counted = build::shape::reshape(b, value, &[&[1], &local[..]].concat());
        let gathered = build::collective::all_gather(b, counted, 0, self.along(&all), channel);
        // [n0, n1, …, l0, l1, …] to [n0 * l0, n1 * l1, …].
        let rank = local.len();
        let split = build::shape::reshape(b, gathered, &[&sizes[..], &local[..]].concat());
        let order: Vec<i64> = (0..rank).flat_map(|d| [d as i64, (rank + d) as i64]).collect();
        let merged: Shape = sizes.iter().zip(&local).map(|(n, l)| n * l).collect();
        let moved = build::shape::transpose(b, split, &order);
        let merged = build::shape::reshape(b, moved, &merged);
        self.slice_to_shard(b, merged)
    }

    /// Builds one reduce-scatter along all dimensions.
    pub(super) fn joint_reduce_scatter(
        &mut self,
        b: &mut Builder<'_>,
        axes: &[Axes],
        kind: ReductionKind,
        value: Value,
    ) -> Value {
        let sizes = self.sizes(axes);
        let counts: Vec<(usize, i64)> = sizes.iter().copied().enumerate().collect();
        let value = self.pad(b, value, &counts);
        let whole = b.tensor(value).shape.clone();
        let all: Axes = axes.iter().flatten().copied().collect();
        let local: Shape = sizes.iter().zip(&whole).map(|(n, l)| l / n).collect();
        // [n0 * l0, n1 * l1, …] to [n0 * n1 * …, l0, l1, …].
        let rank = whole.len();
        let pairs: Vec<i64> = sizes.iter().zip(&local).flat_map(|(&n, &l)| [n, l]).collect();
        let split = build::shape::reshape(b, value, &pairs);
        let order: Vec<i64> = (0..rank).map(|d| 2 * d as i64).chain((0..rank).map(|d| 2 * d as i64 + 1)).collect();
        let moved = build::shape::transpose(b, split, &order);
        let counted = build::shape::reshape(b, moved, &[&[size_of(&all)], &local[..]].concat());
        let channel = self.next_channel();
        let op = dialect::sharding::reduction_op(kind);
        let scattered = build::collective::reduce_scatter(b, counted, op, 0, self.along(&all), channel);
        build::shape::reshape(b, scattered, &local)
    }

    /// Builds one all-to-all for all moves.
    pub(super) fn joint_exchange(&mut self, b: &mut Builder<'_>, moves: &[Move<AxisPart>], value: Value) -> Value {
        let mut counts: Vec<(usize, i64)> = (0..b.tensor(value).rank()).map(|d| (d, 1)).collect();
        moves.iter().for_each(|m| counts[m.to].1 *= size_of(&m.axes));
        let value = self.pad(b, value, &counts);
        let shape = b.tensor(value).shape.clone();
        let sizes: Vec<i64> = moves.iter().map(|m| size_of(&m.axes)).collect();
        // Every dimension that gains axes is split into a count for each of them, and the rest.
        let (mut split, mut counts, mut rests) = (Vec::new(), vec![0i64; moves.len()], Vec::new());
        let mut rest_shape = Vec::new();
        for (d, &size) in shape.iter().enumerate() {
            let mut rest = size;
            for (k, _) in moves.iter().enumerate().filter(|m| m.1.to == d) {
                counts[k] = split.len() as i64;
                split.push(sizes[k]);
                rest /= sizes[k];
            }
            rests.push(split.len() as i64);
            split.push(rest);
            rest_shape.push(rest);
        }
        let apart = build::shape::reshape(b, value, &split);
        let in_front = build::shape::transpose(b, apart, &[&counts[..], &rests[..]].concat());
        let all: Axes = moves.iter().flat_map(|m| m.axes.iter().copied()).collect();
        let counted = build::shape::reshape(b, in_front, &[&[size_of(&all)], &rest_shape[..]].concat());
        let channel = self.next_channel();
        let exchanged = build::collective::all_to_all(b, counted, 0, 0, self.along(&all), channel);
        // The counts now number the shards that the parts came from: they go before the dimensions that they left,
        // major first.
        let apart = build::shape::reshape(b, exchanged, &[&sizes[..], &rest_shape[..]].concat());
        let (mut order, mut merged) = (Vec::new(), Shape::new());
        for d in 0..shape.len() {
            let mut leaving: Vec<usize> = (0..moves.len()).filter(|&k| moves[k].from == d).collect();
            leaving.sort_by_key(|&k| self.place_in(d, &moves[k].axes));
            merged.push(leaving.iter().map(|&k| sizes[k]).product::<i64>() * rest_shape[d]);
            order.extend(leaving.into_iter().map(|k| k as i64));
            order.push((moves.len() + d) as i64);
        }
        let moved = build::shape::transpose(b, apart, &order);
        let merged = build::shape::reshape(b, moved, &merged);
        self.slice_to_shard(b, merged)
    }

    /// Returns the position of the first of `axes` among those that shard dimension `d` before.
    fn place_in(&self, d: usize, axes: &[AxisPart]) -> (usize, u32) {
        let Some(first) = axes.first() else { return (0, 0) };
        let at = self.from.dims[d].iter().position(|a| a.overlaps(*first));
        (at.unwrap_or(usize::MAX), first.pre)
    }
}
