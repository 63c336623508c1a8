//! Fetches rows from neighbors: ops that read a sharded dimension shifted, strided or through windows first receive the
//! rows that the device reads, so that every device then runs the same op.
//!
//! A window that moves as far as the shards do is concatenated from the device's own rows and one permute for each
//! distance between neighbors. Others are assembled row by row under masks. Rows that don't exist are replaced by the
//! value that the op reads outside of its operand.

use dialect::codes;
use dialect::diagnostic::{Diagnostic, Diagnostics};
use dialect::ir::build::Builder;
use dialect::ir::{Op, OpRef, Program, Value};
use dialect::kernel::{Kernel, Nest, Outside};
use dialect::localize::Fetched;
use dialect::ops::build::collective::Along;
use dialect::ops::{build, func};
use dialect::scalar::Scalar;
use dialect::sharding::{Axes, AxisRef, Distributions, Exchange, Pairs, PerDevice, Run, ShiftedRead, axis};
use rustc_hash::FxHashMap;
use smallvec::SmallVec;

use super::position::Positions;
use super::rows::Rows;
use super::shared::{Filler, SharedRows};
use super::{Locals, Partition};

/// Rows of a value along a dimension that were already sent along some axes; later ops reuse them.
pub(super) type AllSent = FxHashMap<(Value, usize, Axes), Vec<Sent>>;

/// One permute of such rows.
#[derive(Clone)]
pub(super) struct Sent {
    pub(super) from: i64,
    pub(super) rows: i64,
    pub(super) pairs: Pairs,
    pub(super) permute: Op,
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
    pub(super) at: i64,
    pub(super) run: &'a Run,
    /// Whether they are the device's own rows.
    pub(super) own: bool,
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
