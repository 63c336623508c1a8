//! Shards cut into parts that go straight to the shards that want them, one permute for each.

use dialect::ir::Value;
use dialect::ir::build::Builder;
use dialect::ops::build;
use dialect::scalar::Scalar;
use dialect::sharding::{AxisPart, Reshard, ShardParts};

use super::reshard::Lowering;

impl Lowering<'_> {
    /// In round r a device sends the part whose number is its own place plus r, cyclically, to a device that wants parts
    /// of that number: in every round each device sends one part and receives one.
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
        for round in 0..parts.count {
            let sent = further(b, place, round, parts.count);
            let starts = starts(b, sent, &parts.cut, &each);
            let part = build::shape::dynamic_slice(b, value, &starts, &each);
            let channel = self.next_channel();
            let pairs = self.groups.shifted_permutation(b.program, (&from, &to), &parts.number, round);
            let part = build::collective::permute(b, part, pairs, channel);
            let from_place = further(b, number, parts.count - round, parts.count);
            let starts = self::starts(b, from_place, &parts.joined, &each);
            joined = build::shape::dynamic_update_slice(b, joined, part, &starts);
        }
        self.slice_to_shard(b, joined)
    }
}

/// `(at + by) % count`
fn further(b: &mut Builder<'_>, at: Value, by: i64, count: i64) -> Value {
    if by % count == 0 {
        return at;
    }
    let (by, count) = (build::index(b, by), build::index(b, count));
    let at = build::add(b, at, by);
    build::remainder(b, at, count)
}

/// Where a part begins, of which `number` counts those along `dims` in row-major order and each is of size `each`.
fn starts(b: &mut Builder<'_>, number: Value, dims: &[(usize, i64)], each: &[i64]) -> Vec<Value> {
    let zero = build::index(b, 0);
    let mut starts = vec![zero; each.len()];
    let mut rest = number;
    for (i, &(d, n)) in dims.iter().enumerate().rev() {
        let mut digit = rest;
        if i > 0 {
            let count = build::index(b, n);
            (digit, rest) = (build::remainder(b, rest, count), build::divide(b, rest, count));
        }
        let size = build::index(b, each[d]);
        starts[d] = build::multiply(b, digit, size);
    }
    starts
}
