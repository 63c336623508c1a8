//! Assembles rows of several tensors along a sharded dimension (`OpDef::assembly`): every device takes its own rows,
//! and receives the rest in permutes. In one permute, devices may send rows of different operands.

use dialect::ir::build::Builder;
use dialect::ir::{Op, Value};
use dialect::ops::build;
use dialect::ops::build::collective::Along;
use dialect::scalar::{Comparison, Scalar};
use dialect::sharding::{Assembly, AssemblyRound, Mesh, PerDevice, ReceivedRows, SentRows, ShardDim, axis};

use rustc_hash::FxHashMap;

use super::Partition;
use super::position::Positions;

impl Partition<'_> {
    /// Returns the local result of `op`, if it only assembles rows along a dimension that is sharded.
    pub(super) fn assemble(
        &mut self,
        op: Op,
        operands: &[Value],
        ops: &mut Vec<Op>,
        positions: &mut Positions,
    ) -> Option<Value> {
        let view = self.program.view(op);
        let assembly = view.def().assembly(view).filter(|_| view.def().is_assembled())?;
        let (result, loc) = (self.program.result(op, 0), self.program.op(op).loc);
        let axes = self.distribution(result)?.dims[assembly.dim].clone();
        if axes.is_empty() {
            return None;
        }
        let shards = axis::size_of(&axes);
        let rows = ShardDim::new(assembly.size(), shards).size();
        let groups = Along { mesh: self.groups, axes: &axes, devices: shards };
        let (mesh, channel) = (self.mesh, &mut self.channel);
        let b = Builder::new(self.program, ops, loc);
        let mut made = Assembling {
            b,
            mesh,
            groups,
            positions,
            channel,
            assembly: &assembly,
            operands,
            rows,
            parts: FxHashMap::default(),
        };
        Some(made.all())
    }
}

/// A shard that is being assembled.
struct Assembling<'a> {
    b: Builder<'a>,
    mesh: &'a Mesh,
    /// The devices that send each other rows.
    groups: Along<'a>,
    positions: &'a mut Positions,
    channel: &'a mut i64,
    assembly: &'a Assembly,
    /// The local values of the operands.
    operands: &'a [Value],
    /// The number of rows of the result's shard.
    rows: i64,
    /// Rows that all devices take from the same positions, by operand, whether they are reversed, the first row, and
    /// their number.
    parts: FxHashMap<((usize, bool), i64, i64), Value>,
}

impl Assembling<'_> {
    fn all(&mut self) -> Value {
        let exchange = self.assembly.exchange(self.groups.devices);
        let own = exchange.own.iter().map(|r| (r, self.sent(r))).collect::<Vec<_>>();
        let sent = exchange.rounds.iter().map(|r| (r, self.received(r))).collect::<Vec<_>>();
        let parts: Vec<(&AssemblyRound, Value)> = own.into_iter().chain(sent).collect();
        if let Some(value) = self.in_order(&parts) {
            return value;
        }
        let filled = self.filled();
        parts.into_iter().fold(filled, |value, (round, part)| self.put(value, round, part))
    }

    /// Concatenates the parts, if every device has them at the same positions and they fill the shard.
    fn in_order(&mut self, parts: &[(&AssemblyRound, Value)]) -> Option<Value> {
        let mut found = Vec::new();
        for (round, part) in parts {
            let first = round.receives.first()?.clone()?;
            let whole = first.valid == (first.at..first.at + round.rows);
            let same = round.receives.iter().all(|r| r.as_ref() == Some(&first));
            found.push((whole && same).then_some((first.at, round.rows, *part))?);
        }
        found.sort_by_key(|f| f.0);
        let end = found.iter().try_fold(0, |end, f| (f.0 == end).then_some(end + f.1))?;
        let values: Vec<Value> = found.into_iter().map(|f| f.2).collect();
        (end == self.rows && end > 0).then(|| build::shape::concatenate(&mut self.b, &values, self.assembly.dim))
    }

    /// Returns the rows that a device sends in a round, of the operand chosen for the device.
    fn sent(&mut self, round: &AssemblyRound) -> Value {
        let mut kinds: Vec<(usize, bool)> = round.sends.iter().flatten().map(|s| (s.operand, s.reversed)).collect();
        kinds.sort_unstable();
        kinds.dedup();
        let is = |s: &Option<SentRows>, kind| s.is_some_and(|s| (s.operand, s.reversed) == kind);
        let mut value = None;
        for &kind in &kinds {
            let starts = PerDevice::from_each(round.sends.iter().map(|s| s.filter(|_| is(s, kind)).map(|s| s.start)));
            let part = self.part(kind, &starts, round.rows);
            value = Some(match value {
                None => part,
                Some(others) => {
                    let here = PerDevice::from_each(round.sends.iter().map(|s| s.map(|_| i64::from(is(s, kind)))));
                    let here = self.is_one(&here);
                    build::select(&mut self.b, here, part, others)
                }
            });
        }
        value.unwrap_or_else(|| self.nothing(round.rows))
    }

    /// Returns rows of an operand's shard.
    fn part(&mut self, kind: (usize, bool), starts: &PerDevice, rows: i64) -> Value {
        let PerDevice::Same(start) = *starts else { return self.new_part(kind, starts, rows) };
        if let Some(&known) = self.parts.get(&(kind, start, rows)) {
            return known;
        }
        let part = self.new_part(kind, starts, rows);
        self.parts.insert((kind, start, rows), part);
        part
    }

    fn new_part(&mut self, (operand, reversed): (usize, bool), starts: &PerDevice, rows: i64) -> Value {
        let (dim, b) = (self.assembly.dim, &mut self.b);
        let mut value = self.operands[operand];
        let shard = b.tensor(value).shape[dim];
        if shard < rows {
            let ty = b.tensor(value).clone();
            let (low, mut high) = (vec![0; ty.rank()], vec![0; ty.rank()]);
            high[dim] = rows - shard;
            let zero = build::scalar(b, ty.element, Scalar::zero(ty.element));
            value = build::shape::pad(b, value, zero, &low, &high, &low);
        } else if shard > rows {
            value = match starts {
                PerDevice::Same(start) => build::shape::slice_dim(b, value, dim, *start, start + rows),
                PerDevice::Each(_) => {
                    let start = self.each(starts);
                    self.slice_at(value, start, rows)
                }
            };
        }
        if reversed { build::shape::reverse(&mut self.b, value, &[dim as i64]) } else { value }
    }

    fn received(&mut self, round: &AssemblyRound) -> Value {
        let sent = self.sent(round);
        let channel = *self.channel;
        *self.channel += 1;
        let pairs = self.groups.mesh.pairs(self.b.program, self.groups.axes, &round.pairs);
        build::collective::permute(&mut self.b, sent, pairs, channel)
    }

    /// Returns the result's shard filled by operands of rank 0, and zeros elsewhere.
    fn filled(&mut self) -> Value {
        let fills =
            self.assembly.placed().filter(|(p, place)| self.assembly.sizes[p.operand].is_none() && !place.is_empty());
        let fills: Vec<_> = fills.collect();
        let Some(last) = fills.last() else { return self.nothing(self.rows) };
        let shape = self.shape(self.rows);
        let mut value = build::shape::splat(&mut self.b, self.operands[last.0.operand], &shape);
        if fills.iter().all(|f| f.0.operand == last.0.operand) {
            return value;
        }
        let offset = self.positions.offset(&mut self.b, self.mesh, self.groups.axes, self.rows);
        let line = [self.rows];
        let integer = self.b.tensor(offset).element;
        let row = build::iota(&mut self.b, integer, &line, 0);
        let offset = build::shape::splat(&mut self.b, offset, &line);
        let row = build::add(&mut self.b, row, offset);
        for (p, place) in fills.iter().rev().skip(1) {
            let end = build::splat(&mut self.b, integer, &line, Scalar::Int(place.end.into()));
            let before = build::compare(&mut self.b, Comparison::Lt, row, end);
            let before = self.along(before, &shape);
            let fill = build::shape::splat(&mut self.b, self.operands[p.operand], &shape);
            value = build::select(&mut self.b, before, fill, value);
        }
        value
    }

    /// Puts `part` of `round` at its position in `value`.
    fn put(&mut self, value: Value, round: &AssemblyRound, part: Value) -> Value {
        let (rows, last) = (round.rows, self.rows - round.rows);
        let of =
            |f: &dyn Fn(&ReceivedRows) -> i64| PerDevice::from_each(round.receives.iter().map(|r| r.as_ref().map(f)));
        let at = of(&|r| r.at.clamp(0, last));
        let mut part = part;
        if round.receives.iter().flatten().any(|r| !(0..=last).contains(&r.at)) {
            // Some sent rows have no place in the shard: shift the part so that the others are at their positions.
            let nothing = self.nothing(rows);
            let around = build::shape::concatenate(&mut self.b, &[nothing, part, nothing], self.assembly.dim);
            let start = self.each(&of(&|r| rows + r.at.clamp(0, last) - r.at));
            part = self.slice_at(around, start, rows);
        }
        let start = self.each(&at);
        let whole = |r: &ReceivedRows| r.valid == (r.at..r.at + rows);
        if !round.receives.iter().all(|r| r.as_ref().is_some_and(whole)) {
            let old = self.slice_at(value, start, rows);
            let known = if round.receives.iter().flatten().all(whole) {
                let receives = PerDevice::from_each(round.receives.iter().map(|r| Some(i64::from(r.is_some()))));
                self.is_one(&receives)
            } else {
                let first = PerDevice::from_each(
                    round.receives.iter().map(|r| Some(r.as_ref().map_or(0, |r| r.valid.start - r.at.clamp(0, last)))),
                );
                let end = PerDevice::from_each(
                    round.receives.iter().map(|r| Some(r.as_ref().map_or(0, |r| r.valid.end - r.at.clamp(0, last)))),
                );
                self.between(&first, &end, rows)
            };
            part = build::select(&mut self.b, known, part, old);
        }
        let starts = self.starts(start);
        build::shape::dynamic_update_slice(&mut self.b, value, part, &starts)
    }

    /// Compares each row's position with `first` (inclusive) and `end` (exclusive), in the shape of `rows` rows.
    fn between(&mut self, first: &PerDevice, end: &PerDevice, rows: i64) -> Value {
        let bounds = [first, end].map(|bound| self.each(bound));
        let integer = self.b.tensor(bounds[0]).element;
        let row = build::iota(&mut self.b, integer, &[rows], 0);
        let sides = [(Comparison::Ge, bounds[0]), (Comparison::Lt, bounds[1])].map(|(comparison, bound)| {
            let bound = build::shape::splat(&mut self.b, bound, &[rows]);
            build::compare(&mut self.b, comparison, row, bound)
        });
        let both = build::and(&mut self.b, sides[0], sides[1]);
        let shape = self.shape(rows);
        self.along(both, &shape)
    }

    fn shape(&self, rows: i64) -> Vec<i64> {
        let like = self.assembly.sizes.iter().position(Option::is_some).unwrap_or(0);
        let mut shape = self.b.tensor(self.operands[like]).shape.to_vec();
        shape[self.assembly.dim] = rows;
        shape
    }

    fn nothing(&mut self, rows: i64) -> Value {
        let (shape, element) = (self.shape(rows), self.b.tensor(self.operands[0]).element);
        build::splat(&mut self.b, element, &shape, Scalar::zero(element))
    }

    /// Broadcasts a value per row to `shape`.
    fn along(&mut self, by_row: Value, shape: &[i64]) -> Value {
        let dims = [self.assembly.dim as i64];
        if shape.len() == 1 { by_row } else { build::shape::broadcast_in_dim(&mut self.b, by_row, shape, &dims) }
    }

    fn starts(&mut self, start: Value) -> Vec<Value> {
        let rank = self.shape(0).len();
        (0..rank)
            .map(|d| if d == self.assembly.dim { start } else { self.positions.constant(&mut self.b, 0) })
            .collect()
    }

    /// Slices `rows` rows beginning at `start`, a rank-0 value.
    fn slice_at(&mut self, value: Value, start: Value, rows: i64) -> Value {
        let (starts, mut sizes) = (self.starts(start), self.b.tensor(value).shape.to_vec());
        sizes[self.assembly.dim] = rows;
        build::shape::dynamic_slice(&mut self.b, value, &starts, &sizes)
    }

    /// Returns the device's number in `numbers`, of rank 0.
    fn each(&mut self, numbers: &PerDevice) -> Value {
        self.positions.entry(&mut self.b, self.mesh, self.groups.axes, numbers)
    }

    /// Returns whether the device's number is one.
    fn is_one(&mut self, numbers: &PerDevice) -> Value {
        let (number, one) = (self.each(numbers), self.positions.constant(&mut self.b, 1));
        build::compare(&mut self.b, Comparison::Eq, number, one)
    }
}
