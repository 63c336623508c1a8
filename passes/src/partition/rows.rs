//! Builds the rows of a dimension that a device reads: from its own shard and permutes between neighbors.

use dialect::ir::build::Builder;
use dialect::ir::{Value, ValueSource};
use dialect::ops::build;
use dialect::ops::build::collective::Along;
use dialect::scalar::{Comparison, Scalar};
use dialect::sharding::{Axes, Exchange, Mesh, Pairs, PerDevice, Run};
use smallvec::SmallVec;

use super::halo::{Sent, Slot, in_order};
use super::position::Positions;

/// The rows of one dimension that are being fetched.
pub(super) struct Rows<'a> {
    pub(super) mesh: &'a Mesh,
    /// The devices that send each other rows.
    pub(super) groups: Along<'a>,
    pub(super) positions: &'a mut Positions,
    pub(super) channel: &'a mut i64,
    pub(super) dim: usize,
    pub(super) exchange: &'a Exchange,
    /// The rank-0 value that is read in place of rows that don't exist.
    pub(super) outside: Option<Value>,
}

impl Rows<'_> {
    pub(super) fn fetch(&mut self, b: &mut Builder<'_>, value: Value) -> Value {
        match self.joined(b, value) {
            Some(joined) => joined,
            None => self.placed(b, value),
        }
    }

    /// Concatenates the rows in order, if every device has them at the same positions.
    fn joined(&mut self, b: &mut Builder<'_>, value: Value) -> Option<Value> {
        let rows = self.exchange.window.rows;
        let slots = in_order(self.exchange)?;
        let mut parts = Vec::new();
        let mut end = 0;
        let mut received: SmallVec<[(&Run, Value); 2]> = SmallVec::new();
        // Two neighbors send each other the rows for both sides: permutes between the same devices are merged.
        let both = self.exchange.between_all();
        for Slot { at, run, own } in slots {
            self.gap(b, value, at - end, &mut parts);
            let known = received.iter().find(|r| r.0 == run).map(|r| r.1);
            let part = match (own, known) {
                (true, _) => self.part(b, value, run.from.of(0), run.rows),
                (false, Some(known)) => known,
                (false, None) => {
                    let sent = self.sent(b, value, run, both.as_ref().unwrap_or(&run.pairs));
                    received.push((run, sent));
                    sent
                }
            };
            parts.push(self.masked(b, part, at));
            end = at + run.rows;
        }
        self.gap(b, value, rows - end, &mut parts);
        Some(build::shape::concatenate(b, &parts, self.dim))
    }

    /// Appends rows that no device reads, or that exist on none.
    fn gap(&mut self, b: &mut Builder<'_>, value: Value, rows: i64, parts: &mut Vec<Value>) {
        if rows > 0 {
            parts.push(self.nothing(b, value, rows));
        }
    }

    fn nothing(&mut self, b: &mut Builder<'_>, value: Value, rows: i64) -> Value {
        let ty = b.tensor(value).clone();
        let mut shape = ty.shape;
        shape[self.dim] = rows;
        match self.outside {
            Some(outside) => build::shape::splat(b, outside, &shape),
            None => build::splat(b, ty.element, &shape, Scalar::zero(ty.element)),
        }
    }

    fn part(&self, b: &mut Builder<'_>, value: Value, from: i64, rows: i64) -> Value {
        match b.tensor(value).shape[self.dim] == rows {
            true => value,
            false => build::shape::slice_dim(b, value, self.dim, from, from + rows),
        }
    }

    /// Returns `part`, whose first row is row `at` of the window, with missing rows replaced.
    fn masked(&mut self, b: &mut Builder<'_>, part: Value, at: i64) -> Value {
        let Some(outside) = self.outside else { return part };
        let (window, shards) = (self.exchange.window, self.exchange.shards);
        let rows = b.tensor(part).shape[self.dim];
        let ends = [0, shards.shards - 1].map(|device| window.start + window.advance * device + at);
        let (before, after) = (ends[0].min(ends[1]) < 0, ends[0].max(ends[1]) + rows > shards.global);
        let shape = b.tensor(part).shape.clone();
        if !before && !after {
            return part;
        }
        // Rows of padding aren't in any tensor, so their positions may need a larger type.
        let positions = [ends[0].min(ends[1]).min(window.start + at), ends[0].max(ends[1]) + rows];
        let integer = self.positions.element_for(positions);
        let start = self.positions.offset_as(b, self.mesh, self.groups.axes, window.advance, integer);
        let first = build::integer(b, integer, window.start + at);
        let start = build::add(b, start, first);
        let line = [rows];
        let row = build::iota(b, integer, &line, 0);
        let start = build::shape::splat(b, start, &line);
        let row = build::add(b, row, start);
        let mut exists: Option<Value> = None;
        for (_, comparison, end) in
            [(before, Comparison::Ge, 0), (after, Comparison::Lt, shards.global)].into_iter().filter(|e| e.0)
        {
            let end = build::splat(b, integer, &line, Scalar::Int(end.into()));
            let inside = build::compare(b, comparison, row, end);
            exists = Some(exists.map_or(inside, |other| build::and(b, other, inside)));
        }
        let outside = build::shape::splat(b, outside, &shape);
        exists.map_or(part, |exists| {
            let exists = self.along(b, exists, &shape);
            build::select(b, exists, part, outside)
        })
    }

    /// Returns the rows that a device receives in a round, sent between at least these pairs. Devices that receive none
    /// have zeros, or rows that they don't read.
    fn sent(&mut self, b: &mut Builder<'_>, value: Value, round: &Run, between: &Pairs) -> Value {
        let PerDevice::Same(from) = round.from else {
            let from = self.each(b, &round.from);
            let part = self.slice_at(b, value, from, round.rows);
            return self.permute(b, part, between);
        };
        let end = from + round.rows;
        let key = (value, self.dim, Axes::from_slice(self.groups.axes));
        let known = self.positions.sent.get(&key).into_iter().flatten().enumerate();
        let found = known
            .filter(|(_, s)| s.from <= from && end <= s.from + s.rows)
            .find_map(|(i, s)| Some((i, s.permute, s.from, s.pairs.union(between)?, s.pairs.len())));
        if let Some((i, permute, sent_from, pairs, before)) = found {
            if pairs.len() > before {
                let attr = self.groups.mesh.pairs(b.program, self.groups.axes, &pairs);
                b.program.set_attr(permute, "source_target_pairs", attr);
                if let Some(sent) = self.positions.sent.get_mut(&key) {
                    sent[i].pairs = pairs;
                }
            }
            let received = b.program.result(permute, 0);
            return self.part(b, received, from - sent_from, round.rows);
        }
        let part = self.part(b, value, from, round.rows);
        let received = self.permute(b, part, between);
        if let ValueSource::Result(permute, _) = b.program.value_source(received) {
            let sent = Sent { from, rows: round.rows, pairs: between.clone(), permute };
            self.positions.sent.entry(key).or_default().push(sent);
        }
        received
    }

    fn permute(&mut self, b: &mut Builder<'_>, part: Value, pairs: &Pairs) -> Value {
        let channel = *self.channel;
        *self.channel += 1;
        let pairs = self.groups.mesh.pairs(b.program, self.groups.axes, pairs);
        build::collective::permute(b, part, pairs, channel)
    }

    /// Places runs at positions that differ between devices, each under a mask.
    fn placed(&mut self, b: &mut Builder<'_>, value: Value) -> Value {
        let mut window = self.nothing(b, value, self.exchange.window.rows);
        if let Some(own) = &self.exchange.own {
            window = self.place(b, window, value, own, true);
        }
        for round in &self.exchange.rounds {
            let received = self.sent(b, value, round, &round.pairs);
            window = self.place(b, window, received, round, false);
        }
        window
    }

    fn place(&mut self, b: &mut Builder<'_>, window: Value, part: Value, run: &Run, own: bool) -> Value {
        let (rows, size) = (self.exchange.window.rows, b.tensor(part).shape[self.dim]);
        // Row r of the window is row r - to of the run, which is padded by `rows` rows before and after it.
        let own_start = |d: usize| run.to.of(d) - if own { run.from.of(d) } else { 0 };
        let devices = self.exchange.shards.shards as usize;
        let starts = PerDevice::from_each((0..devices).map(|d| Some((rows - own_start(d)).clamp(0, rows + size))));
        let valid = self.exchange.valid(run);
        let first = PerDevice::from_each(valid.iter().map(|v| Some(v.start)));
        let end = PerDevice::from_each(valid.iter().map(|v| Some(v.end)));
        let nothing = self.nothing(b, part, rows);
        let padded = build::shape::concatenate(b, &[nothing, part, nothing], self.dim);
        let starts = self.each(b, &starts);
        let shifted = self.slice_at(b, padded, starts, rows);
        let shape = b.tensor(window).shape.clone();
        let bounds = [first, end].map(|bound| self.each(b, &bound));
        let integer = b.tensor(bounds[0]).element;
        let row = build::iota(b, integer, &[rows], 0);
        let bounds = [(Comparison::Ge, bounds[0]), (Comparison::Lt, bounds[1])].map(|(comparison, bound)| {
            let bound = build::shape::splat(b, bound, &[rows]);
            build::compare(b, comparison, row, bound)
        });
        let valid = build::and(b, bounds[0], bounds[1]);
        let valid = self.along(b, valid, &shape);
        build::select(b, valid, shifted, window)
    }

    /// Broadcasts a value per row to `shape`.
    fn along(&self, b: &mut Builder<'_>, by_row: Value, shape: &[i64]) -> Value {
        if shape.len() == 1 { by_row } else { build::shape::broadcast_in_dim(b, by_row, shape, &[self.dim as i64]) }
    }

    /// Slices `rows` rows beginning at `start`, a rank-0 value.
    fn slice_at(&self, b: &mut Builder<'_>, value: Value, start: Value, rows: i64) -> Value {
        let mut sizes = b.tensor(value).shape.clone();
        sizes[self.dim] = rows;
        let mut starts: SmallVec<[Value; 4]> = SmallVec::new();
        for d in 0..sizes.len() {
            starts.push(if d == self.dim { start } else { self.positions.constant(b, 0) });
        }
        build::shape::dynamic_slice(b, value, &starts, &sizes)
    }

    /// Returns the device's number in `numbers`, of rank 0.
    fn each(&mut self, b: &mut Builder<'_>, numbers: &PerDevice) -> Value {
        self.positions.entry(b, self.mesh, self.groups.axes, numbers)
    }
}
