//! Sends parts of shards straight to the shards that need them, one permute per part.

use dialect::ir::build::Builder;
use dialect::ir::{ElementType, Value};
use dialect::ops::build;
use dialect::scalar::Scalar;
use dialect::sharding::{AxisPart, Reshard, ShardParts};

use super::reshard::Lowering;

impl Lowering<'_> {
    /// Sends the parts in rounds. In round r a device sends the part whose number is its own position plus r,
    /// cyclically, to a device that needs parts of that number: in every round each device sends one part and receives
    /// one.
    pub(super) fn permute_parts(&mut self, b: &mut Builder<'_>, value: Value) -> Value {
        let Some(parts) = ShardParts::of(self.shape, self.from, self.to) else {
            return self.by_gathering(b, &Reshard::PermuteParts, value);
        };
        let value = self.pad(b, value, &parts.cut);
        let ty = b.tensor(value).clone();
        let mut each = ty.shape.clone();
        parts.cut.iter().for_each(|&(d, n)| each[d] /= n);
        let mut shape = each.clone();
        parts.joined.iter().for_each(|&(d, n)| shape[d] *= n);
        let from: Vec<AxisPart> = parts.from.iter().chain(&parts.place).copied().collect();
        let to: Vec<AxisPart> = parts.to.iter().chain(&parts.number).copied().collect();
        let place = self.positions.coordinate(b, self.mesh, &parts.place);
        let number = self.positions.coordinate(b, self.mesh, &parts.number);
        let mut joined = build::splat(b, ty.element, &shape, Scalar::zero(ty.element));
        let integer = b.tensor(place).element;
        let count = build::integer(b, integer, parts.count);
        let (sent_at, kept_at) =
            (Starts::new(b, integer, &parts.cut, &each), Starts::new(b, integer, &parts.joined, &each));
        for round in 0..parts.count {
            let sent = further(b, place, round, count);
            let starts = sent_at.of(b, sent);
            let part = build::shape::dynamic_slice(b, value, &starts, &each);
            let channel = self.next_channel();
            let pairs = self.groups.shifted_permutation(b.program, (&from, &to), &parts.number, round);
            let part = build::collective::permute(b, part, pairs, channel);
            let from_place = further(b, number, if round == 0 { 0 } else { parts.count - round }, count);
            let starts = kept_at.of(b, from_place);
            joined = build::shape::dynamic_update_slice(b, joined, part, &starts);
        }
        self.slice_to_shard(b, joined)
    }
}

/// Builds `(at + by) % count`.
fn further(b: &mut Builder<'_>, at: Value, by: i64, count: Value) -> Value {
    if by == 0 {
        return at;
    }
    let integer = b.tensor(at).element;
    let by = build::integer(b, integer, by);
    let at = build::add(b, at, by);
    build::remainder(b, at, count)
}

/// The starts of parts that are numbered in row-major order along some dimensions.
struct Starts {
    /// For each dimension, the start of all parts.
    at_first: Vec<Value>,
    /// Per numbered dimension: its index, the count of parts (unused for the outermost) and the size of a part.
    dims: Vec<(usize, Option<Value>, Value)>,
}

impl Starts {
    /// Creates the starts of these numbers of parts along these dimensions, of the shape `each`.
    fn new(b: &mut Builder<'_>, integer: ElementType, dims: &[(usize, i64)], each: &[i64]) -> Self {
        let mut constant = |n: i64| build::integer(b, integer, n);
        let zero = constant(0);
        let dims = dims.iter().enumerate();
        let dims = dims.map(|(i, &(d, n))| (d, (i > 0).then(|| constant(n)), constant(each[d])));
        Self { at_first: vec![zero; each.len()], dims: dims.collect() }
    }

    fn of(&self, b: &mut Builder<'_>, number: Value) -> Vec<Value> {
        let (mut starts, mut rest) = (self.at_first.clone(), number);
        for &(d, count, size) in self.dims.iter().rev() {
            let mut digit = rest;
            if let Some(count) = count {
                (digit, rest) = (build::remainder(b, rest, count), build::divide(b, rest, count));
            }
            starts[d] = build::multiply(b, digit, size);
        }
        starts
    }
}
