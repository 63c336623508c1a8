//! Fetches rows from neighbors: ops that read a sharded dimension shifted, strided or through windows first receive the
//! rows that the device reads, so that every device then runs the same op.
//!
//! A window that moves as far as the shards do is concatenated from the device's own rows and one permute for each
//! distance between neighbors. Others are assembled row by row under masks. Rows that don't exist are replaced by the
//! value that the op reads outside of its operand.

use dialect::codes;
use dialect::diagnostic::{Diagnostic, Diagnostics};
use dialect::ir::build::Builder;
use dialect::ir::{ElementType, Op, OpRef, Program, Value, ValueSource};
use dialect::kernel::{Kernel, Nest, Outside};
use dialect::localize::Fetched;
use dialect::ops::build::collective::Along;
use dialect::ops::{build, func};
use dialect::scalar::{Comparison, Scalar};
use dialect::sharding::{Axes, AxisRef, Distributions, Exchange, Mesh, Pairs, PerDevice, Run, ShiftedRead, axis};
use rustc_hash::FxHashMap;
use smallvec::SmallVec;

use super::position::Positions;
use super::shared::{Filler, SharedRows};
use super::{Locals, Partition};

/// Rows of a value along a dimension that were already sent along some axes; later ops reuse them.
pub(super) type AllSent = FxHashMap<(Value, usize, Axes), Vec<Sent>>;

/// One permute of such rows.
#[derive(Clone)]
pub(super) struct Sent {
    from: i64,
    rows: i64,
    pairs: Pairs,
    permute: Op,
}

/// A dimension that an op reads shifted and that is sharded.
pub(super) struct Halo {
    pub(super) read: ShiftedRead,
    pub(super) axes: Axes,
    pub(super) exchange: Exchange,
}

impl Partition<'_> {
    /// Returns the operands of `op` with the rows that a device reads, and the dimensions along which they were
    /// extended.
    pub(super) fn fetch(
        &mut self,
        op: Op,
        operands: &[Value],
        ops: &mut Vec<Op>,
        positions: &mut Positions,
    ) -> Result<(Locals, SmallVec<[Fetched; 2]>), Diagnostic> {
        let halos = halos(self.program, &self.distributions, op)?;
        let mut values = Locals::from_slice(operands);
        let mut fetched: SmallVec<[Fetched; 2]> = SmallVec::new();
        let shared = self.shared.clone();
        for halo in &halos {
            let operand = halo.read.operand;
            if fetched.iter().any(|f| f.operand == operand) {
                continue;
            }
            let own: Vec<&Halo> = halos.iter().filter(|h| h.read.operand == operand).collect();
            let value = values[operand];
            values[operand] = match shared.get(op, operand).filter(|(_, rows)| self.has_fillers(rows)) {
                Some(together) => self.part_of_shared(op, together, &own, value, ops, positions),
                None => own.iter().fold(value, |value, halo| {
                    let outside = match &halo.read.outside {
                        _ if !halo.exchange.reads_outside => None,
                        None => None,
                        Some(Outside::Operand(i)) => Some(operands[*i]),
                        Some(Outside::Const(value)) => Some(self.scalar(op, operands[operand], *value, ops)),
                    };
                    let rows = (halo.read.dim, &halo.axes, &halo.exchange);
                    self.fetch_rows(op, rows, outside, value, ops, positions)
                }),
            };
            fetched.extend(own.iter().map(|h| {
                let window = h.exchange.window;
                Fetched { operand, dim: h.read.dim, start: window.start, rows: window.rows }
            }));
        }
        Ok((values, fetched))
    }

    /// Returns `value` with the rows that its device reads along one dimension.
    fn fetch_rows(
        &mut self,
        op: Op,
        (dim, axes, exchange): (usize, &Axes, &Exchange),
        outside: Option<Value>,
        value: Value,
        ops: &mut Vec<Op>,
        positions: &mut Positions,
    ) -> Value {
        let loc = self.program.op(op).loc;
        let mut b = Builder::new(self.program, ops, loc);
        let groups = Along { mesh: self.groups, axes, devices: axis::size_of(axes) };
        let channel = &mut self.channel;
        let mut rows = Rows { mesh: self.mesh, groups, positions, channel, dim, exchange, outside };
        rows.fetch(&mut b, value)
    }

    /// Returns the rows that `op` reads of those that several ops read; the first of these ops fetches all.
    fn part_of_shared(
        &mut self,
        op: Op,
        (set, rows): (usize, &SharedRows),
        own: &[&Halo],
        value: Value,
        ops: &mut Vec<Op>,
        positions: &mut Positions,
    ) -> Value {
        let key = (value, set);
        let mut all = positions.shared.get(&key).copied().unwrap_or(value);
        if all == value {
            for d in &rows.dims {
                let outside = d.filler.map(|filler| match filler.value.and_then(|v| self.values.get(&v)) {
                    Some(&known) => known,
                    None => self.scalar(op, value, filler.constant.unwrap_or(Scalar::Int(0)), ops),
                });
                all = self.fetch_rows(op, (d.dim, &d.axes, &d.exchange), outside, all, ops, positions);
            }
            positions.shared.insert(key, all);
        }
        let loc = self.program.op(op).loc;
        let mut b = Builder::new(self.program, ops, loc);
        let mut limit = b.tensor(all).shape.to_vec();
        let (mut start, stride) = (vec![0; limit.len()], vec![1; limit.len()]);
        for d in &rows.dims {
            let (from, count) = match own.iter().find(|h| h.read.dim == d.dim) {
                Some(h) => (h.exchange.window.start - d.exchange.window.start, h.exchange.window.rows),
                None => (d.own().unwrap_or_default(), d.exchange.shards.size()),
            };
            (start[d.dim], limit[d.dim]) = (from, from + count);
        }
        match start.iter().all(|&s| s == 0) && limit[..] == b.tensor(all).shape[..] {
            true => all,
            false => build::shape::slice(&mut b, all, &start, &limit, &stride),
        }
    }

    /// Returns whether all values that replace missing rows have been computed.
    fn has_fillers(&self, rows: &SharedRows) -> bool {
        let known = |f: Filler| f.constant.is_some() || f.value.is_some_and(|v| self.values.contains_key(&v));
        rows.dims.iter().filter_map(|d| d.filler).all(known)
    }

    /// Builds a scalar of the element type of `like`.
    fn scalar(&mut self, op: Op, like: Value, value: Scalar, ops: &mut Vec<Op>) -> Value {
        let loc = self.program.op(op).loc;
        let mut b = Builder::new(self.program, ops, loc);
        let element = b.tensor(like).element;
        build::scalar(&mut b, element, value)
    }
}

/// Rows at one position of the window of every device.
pub(super) struct Slot<'a> {
    /// The first row of the window.
    at: i64,
    run: &'a Run,
    /// Whether they are the device's own rows.
    own: bool,
}

/// Returns the rows of a window in order, if they can be concatenated: every device has its own rows at the same
/// position, and those of each round at the same position, or at one of two. A device then has rows in one of the two
/// that it doesn't read.
pub(super) fn in_order(exchange: &Exchange) -> Option<SmallVec<[Slot<'_>; 4]>> {
    let mut slots: SmallVec<[Slot<'_>; 4]> = SmallVec::new();
    if let Some(run) = &exchange.own {
        let (PerDevice::Same(_), PerDevice::Same(at)) = (&run.from, &run.to) else { return None };
        slots.push(Slot { at: *at, run, own: true });
    }
    for run in &exchange.rounds {
        match &run.to {
            PerDevice::Same(at) => slots.push(Slot { at: *at, run, own: false }),
            PerDevice::Each(to) => {
                let mut places: SmallVec<[i64; 2]> = run.pairs.iter().map(|p| to[p.1 as usize]).collect();
                places.sort_unstable();
                places.dedup();
                if places.len() > 2 {
                    return None;
                }
                slots.extend(places.into_iter().map(|at| Slot { at, run, own: false }));
            }
        }
    }
    slots.sort_by_key(|s| s.at);
    let mut end = 0;
    for slot in &slots {
        if slot.at < end {
            return None;
        }
        end = slot.at + slot.run.rows;
    }
    (end <= exchange.window.rows).then_some(slots)
}

/// Returns the dimensions that `op` reads shifted along a sharded loop.
pub(super) fn halos(program: &Program, distributions: &Distributions, op: Op) -> Result<Vec<Halo>, Diagnostic> {
    let view = program.view(op);
    if !view.def().is_windowed() {
        return Ok(Vec::new());
    }
    let Kernel::Nest(nest) = view.def().kernel(view) else { return Ok(Vec::new()) };
    let shapes: Vec<&[i64]> =
        (0..view.operands().len()).map(|i| view.operand_tensor(i).map_or(&[][..], |t| &t.shape[..])).collect();
    let mut found = Vec::new();
    for along in 0..nest.loops.len() {
        let axes = axes_along(view, distributions, &nest, along);
        let shards = axis::size_of(&axes);
        if shards <= 1 {
            continue;
        }
        let reads = dialect::sharding::shifted_reads(&nest, &shapes, along);
        for read in reads.into_iter().flatten() {
            let same = axes_of(distributions, view.operands()[read.operand], read.dim) == axes;
            let Some(exchange) = Exchange::of(read.reach, shards).filter(|_| same) else {
                let message = format!(
                    "'{}' can't be computed in these shards of dimension {} of operand {}",
                    view.name(),
                    read.dim,
                    read.operand
                );
                return Err(Diagnostic::error(codes::SHARDED_OPERAND, view.span(), message)
                    .note("run the pass plan first: it redistributes values for the ops that read them"));
            };
            found.push(Halo { read, axes: axes.clone(), exchange });
        }
    }
    Ok(found)
}

fn axes_of(distributions: &Distributions, value: Value, dim: usize) -> Axes {
    distributions.get(value).and_then(|d| d.dims.get(dim).cloned()).unwrap_or_default()
}

/// Returns the axes that shard a loop: those of the result's dimension, or of an operand's dimension that is read at
/// the loop's position.
fn axes_along(op: OpRef<'_>, distributions: &Distributions, nest: &Nest, along: usize) -> Axes {
    if along < nest.parallel {
        return op.results().next().map(|r| axes_of(distributions, r, along)).unwrap_or_default();
    }
    let plain = dialect::kernel::Index::Loop(along);
    let mut reads = nest.inputs.iter().filter_map(|input| {
        let dim = input.index.iter().position(|at| *at == plain)?;
        Some((*op.operands().get(input.operand)?, dim))
    });
    reads.next().map(|(value, dim)| axes_of(distributions, value, dim)).unwrap_or_default()
}

/// An op of a planned program that reads rows of its neighbors' shards.
#[derive(Clone, Debug)]
pub struct NeighborRead {
    /// The op.
    pub op: Op,
    /// The operand whose rows are sent; the first if there are several.
    pub operand: usize,
    /// The axes along which devices are neighbors.
    pub axes: Vec<AxisRef>,
}

/// Returns the ops of a planned program for which devices send each other rows, in order; none where `partition` would
/// reject the program.
pub fn neighbor_reads(planned: &Program) -> Vec<NeighborRead> {
    let main = func::function(planned, "main").and_then(|main| func::block(planned, main));
    let (Some(block), Some((name, mesh))) = (main, super::mesh::one_mesh(planned, &mut Diagnostics::default())) else {
        return Vec::new();
    };
    let mesh = super::mesh::axes(planned, name.as_deref(), mesh);
    let distributions = Distributions::of(planned, &mesh);
    let reads = |op: Op| {
        let view = planned.view(op);
        if let Some(assembly) = view.def().assembly(view).filter(|_| view.def().is_assembled()) {
            let axes = axes_of(&distributions, planned.result(op, 0), assembly.dim);
            let sends = axis::size_of(&axes) > 1 && !assembly.exchange(axis::size_of(&axes)).rounds.is_empty();
            let operand = assembly.sizes.iter().position(Option::is_some)?;
            let axes = axes.iter().map(|&part| mesh.axis_ref(part)).collect();
            return sends.then_some(NeighborRead { op, operand, axes });
        }
        let halos = halos(planned, &distributions, op).ok()?;
        let sent: Vec<&Halo> = halos.iter().filter(|h| !h.exchange.rounds.is_empty()).collect();
        let mut axes: Vec<AxisRef> = Vec::new();
        for axis in sent.iter().flat_map(|h| h.axes.iter().map(|&part| mesh.axis_ref(part))) {
            if !axes.contains(&axis) {
                axes.push(axis);
            }
        }
        sent.first().map(|h| NeighborRead { op, operand: h.read.operand, axes })
    };
    planned.ops_under(block).into_iter().filter_map(reads).collect()
}

/// The rows of one dimension that are being fetched.
struct Rows<'a> {
    mesh: &'a Mesh,
    /// The devices that send each other rows.
    groups: Along<'a>,
    positions: &'a mut Positions,
    channel: &'a mut i64,
    dim: usize,
    exchange: &'a Exchange,
    /// The rank-0 value that is read in place of rows that don't exist.
    outside: Option<Value>,
}

impl Rows<'_> {
    fn fetch(&mut self, b: &mut Builder<'_>, value: Value) -> Value {
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
        let start = self.positions.offset(b, self.mesh, self.groups.axes, window.advance);
        let first = build::index(b, window.start + at);
        let start = build::add(b, start, first);
        let line = [rows];
        let row = build::iota(b, ElementType::I64, &line, 0);
        let start = build::shape::splat(b, start, &line);
        let row = build::add(b, row, start);
        let mut exists: Option<Value> = None;
        for (_, comparison, end) in
            [(before, Comparison::Ge, 0), (after, Comparison::Lt, shards.global)].into_iter().filter(|e| e.0)
        {
            let end = build::splat(b, ElementType::I64, &line, Scalar::Int(end.into()));
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
        let row = build::iota(b, ElementType::I64, &[rows], 0);
        let bounds = [(Comparison::Ge, first), (Comparison::Lt, end)].map(|(comparison, bound)| {
            let bound = self.each(b, &bound);
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
            starts.push(if d == self.dim { start } else { build::index(b, 0) });
        }
        build::shape::dynamic_slice(b, value, &starts, &sizes)
    }

    /// Returns the device's number in `numbers`, of rank 0.
    fn each(&mut self, b: &mut Builder<'_>, numbers: &PerDevice) -> Value {
        self.positions.entry(b, self.mesh, self.groups.axes, numbers)
    }
}
