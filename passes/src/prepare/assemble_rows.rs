//! assemble-rows: fuses chains of slices, pads, reversals and concatenations along a sharded dimension into one move of
//! the rows that the last op of the chain returns.
//!
//! Run one by one, each op sends rows to where its own result is sharded: a reversed concatenation sends every row
//! twice, and rows that a later slice drops are sent for nothing. So this pass traces the result rows of each such op
//! back to their source values. It rewrites the op in plain form (a value, a slice of a value, or a concatenation of
//! slices) or as one `shardc.assemble`, whichever sends less, and leaves the op alone where neither is cheaper. It
//! counts the rows sent if the result is sharded as propagation sharded it; the plan later sees the op with its price
//! and may still shard another dimension.

use dialect::diagnostic::Diagnostics;
use dialect::ir::build::Builder;
use dialect::ir::{Block, Loc, Op, Program, Uses, Value};
use dialect::op::CollectiveKind;
use dialect::ops::build;
use dialect::ops::shardc::assemble::Assemble;
use dialect::sharding::{Assembly, AssemblyPiece, Axes, Distribution, Exchange, PerDevice, Reach, Run, ShardDim, axis};
use rustc_hash::{FxHashMap, FxHashSet};
use smallvec::SmallVec;

use super::Prepared;
use crate::compile_options::TARGET;
use crate::estimate;
use crate::heuristics::HEURISTICS;
use crate::options::OptionDef;
use crate::pass::{Effect, Pass};
use crate::plan::model::cost::CollectiveCost;
use crate::plan::model::machine_cost::MachineCost;

/// The pass.
pub(crate) static PASS: Pass = Pass {
    name: "assemble-rows",
    doc: "Fuses slices, pads, reversals and concatenations along a sharded dimension into one move of the rows needed.",
    effect: Effect::Rewrite,
    options: &[OptionDef { doc: "What runs it: flat, or a slice of TPUs like v5e:4x2.", ..TARGET }],
    run: |program, given, diagnostics| {
        if let Some(target) = given.target(diagnostics) {
            assemble(program, target, diagnostics);
        }
    },
};

/// Consecutive rows of a value; for a source of rank 0, `count` copies of its element.
#[derive(Clone, Copy, PartialEq, Debug)]
struct Rows {
    source: Value,
    start: i64,
    count: i64,
    reversed: bool,
}

/// The rows that make up a value.
#[derive(Clone, Debug)]
struct AssembledValue {
    dim: usize,
    rows: Vec<Rows>,
    /// Seconds to compute it, including moved values that only it reads.
    seconds: f64,
    /// Whether all moved values on the way to it have no other users.
    alone: bool,
    /// Whether slices and pads of one value make it.
    is_shift: bool,
}

/// Rewrites the ops under `@main`.
pub(super) fn assemble(program: &mut Program, target: estimate::Target, diagnostics: &mut Diagnostics) {
    let Some(prepared) = Prepared::of(program) else { return };
    let blocks: FxHashSet<Block> = program
        .blocks_under(prepared.block)
        .into_iter()
        .filter(|&block| program.block_ops(block).iter().any(|&op| joins(program, &prepared, op)))
        .collect();
    if blocks.is_empty() {
        return;
    }
    let Some(machine) = prepared.machine(program, target, diagnostics) else { return };
    let (cost, uses) = (MachineCost::new(&machine), Uses::of(program, prepared.block));
    let (mut of, mut known) = (prepared.block, FxHashMap::default());
    prepared.rewrite(program, |prepared, program, (op, block), ops| {
        if block != of {
            (of, known) = (block, FxHashMap::default());
        }
        if !blocks.contains(&block) {
            return None;
        }
        let mut rewriting = Rewriting { program, prepared, cost: &cost, uses: &uses, made: &mut known, ops };
        rewriting.op(op).map(|value| vec![value])
    });
}

/// Returns whether `op` moves rows along a sharded dimension in a way that `merge-shifts` doesn't handle.
fn joins(program: &Program, prepared: &Prepared, op: Op) -> bool {
    let view = program.view(op);
    let Some(assembly) = view.def().assembly(view) else { return false };
    let sources = assembly.pieces.iter().filter(|p| assembly.sizes[p.operand].is_some());
    let joins = sources.clone().count() > 1 || assembly.pieces.iter().any(|p| p.reversed);
    joins && prepared.get(program, program.result(op, 0)).dims.get(assembly.dim).is_some_and(|axes| !axes.is_empty())
}

struct Rewriting<'a> {
    program: &'a mut Program,
    prepared: &'a mut Prepared,
    cost: &'a dyn CollectiveCost,
    /// The uses in the program before any rewrite.
    uses: &'a Uses,
    /// The values of this block that were moved.
    made: &'a mut FxHashMap<Value, AssembledValue>,
    ops: &'a mut Vec<Op>,
}

/// The forms in which rows can be written.
enum RowsForm {
    /// As a value, a slice, or a concatenation of slices.
    Plain,
    /// As one op that sends all rows together.
    Assembled,
}

impl Rewriting<'_> {
    /// Returns the value that replaces the result of `op`.
    fn op(&mut self, op: Op) -> Option<Value> {
        let view = self.program.view(op);
        let assembly = view.def().assembly(view)?;
        let (operands, result) = (view.operands().to_vec(), self.program.result(op, 0));
        let place = self.prepared.get(self.program, result);
        let axes = place.dims.get(assembly.dim).filter(|axes| axis::size_of(axes) > 1)?.clone();
        let rows = |p: &AssemblyPiece| Rows {
            source: operands[p.operand],
            start: p.start,
            count: p.count,
            reversed: p.reversed,
        };
        let own = self.joined(assembly.pieces.iter().map(rows));
        if own.is_empty() {
            return None;
        }
        let target = Target {
            dim: assembly.dim,
            size: assembly.size(),
            row_bytes: place.local_bytes(self.program.tensor_type(result)?)
                / ShardDim::new(assembly.size(), axis::size_of(&axes)).size().max(1) as f64,
            axes,
        };
        let unary = own.iter().filter(|r| !self.is_fill(r.source)).count() == 1 && own.iter().all(|r| !r.reversed);
        // `merge-shifts` makes one shift of slices and pads of one value, also where they are operands of a
        // concatenation.
        let mut made =
            AssembledValue { dim: assembly.dim, rows: Vec::new(), seconds: 0.0, alone: true, is_shift: unary };
        let (mut inside, mut shifted) = (FxHashMap::default(), FxHashMap::default());
        let mut seen = FxHashSet::default();
        for &operand in operands.iter().filter(|&&v| seen.insert(v)) {
            let Some(inner) = self.made.get(&operand).filter(|m| m.dim == assembly.dim) else { continue };
            inside.insert(operand, &inner.rows);
            if inner.is_shift && (unary || operands.len() > 1) {
                shifted.insert(operand, &inner.rows);
                continue;
            }
            let readers = self.uses.get(operand).len().max(1);
            made.seconds += inner.seconds / readers as f64;
            made.alone &= inner.alone && readers == 1;
            made.is_shift = false;
        }
        made.rows = self.joined(self.followed(&own, &inside));
        let written = self.joined(self.followed(&own, &shifted));
        if made.rows.len() > HEURISTICS.most_pieces {
            return None;
        }
        let composed = made.rows != written;
        let alone = match self.plain(&written, &target) {
            Some(seconds) if self.stacks(&own, &place, &target) => seconds.min(self.assembled(&own, &target)?),
            Some(seconds) => seconds,
            None => return None,
        };
        let before = made.seconds + alone;
        let mut forms = vec![(RowsForm::Assembled, self.assembled(&made.rows, &target))];
        if composed && made.rows.iter().all(|r| !r.reversed) {
            forms.push((RowsForm::Plain, self.plain(&made.rows, &target)));
        }
        let forms = forms.into_iter().filter_map(|(form, seconds)| Some((form, seconds?)));
        let best = forms.reduce(|a, b| if b.1 <= a.1 { b } else { a });
        // If inner values have other users, they are computed anyway, so the rewrite saves nothing of their cost.
        let worth = |seconds: f64| {
            let most = if made.alone { before } else { before.min(alone * (1.0 + 2.0 * HEURISTICS.gain)) };
            seconds < most * (1.0 - HEURISTICS.gain)
        };
        let chosen = best.filter(|(_, seconds)| !made.is_shift && worth(*seconds));
        made.seconds = chosen.as_ref().map_or(before, |c| c.1);
        let value = chosen.map(|(form, _)| self.write(op, &made, &form));
        self.made.insert(result, made);
        value
    }

    /// Replaces rows of the values in `inside` by the rows that make up those values.
    fn followed(&self, rows: &[Rows], inside: &FxHashMap<Value, &Vec<Rows>>) -> Vec<Rows> {
        let mut found = Vec::new();
        for r in rows {
            let Some(&inner) = inside.get(&r.source) else {
                found.push(*r);
                continue;
            };
            let (mut first, at) = (0, found.len());
            for part in inner {
                let (start, end) = (r.start.max(first), (r.start + r.count).min(first + part.count));
                if start < end {
                    let skipped = if part.reversed { first + part.count - end } else { start - first };
                    let start_in = if self.is_fill(part.source) { 0 } else { part.start + skipped };
                    let reversed = part.reversed != r.reversed && !self.is_fill(part.source);
                    found.push(Rows { source: part.source, start: start_in, count: end - start, reversed });
                }
                first += part.count;
            }
            if r.reversed {
                found[at..].reverse();
            }
        }
        found
    }

    fn is_fill(&self, value: Value) -> bool {
        self.program.tensor_type(value).is_some_and(|t| t.rank() == 0)
    }

    /// Drops empty pieces and merges pieces that continue each other.
    fn joined(&self, rows: impl IntoIterator<Item = Rows>) -> Vec<Rows> {
        let mut found: Vec<Rows> = Vec::new();
        for r in rows.into_iter().filter(|r| r.count > 0) {
            let Some(last) = found.last_mut().filter(|l| l.source == r.source && l.reversed == r.reversed) else {
                found.push(r);
                continue;
            };
            match r.reversed {
                false if last.start + last.count == r.start || self.is_fill(r.source) => last.count += r.count,
                true if r.start + r.count == last.start => (last.start, last.count) = (r.start, last.count + r.count),
                _ => found.push(r),
            }
        }
        found
    }

    fn size(&self, value: Value, dim: usize) -> i64 {
        self.program.tensor_type(value).and_then(|t| t.shape.get(dim).copied()).unwrap_or(0)
    }

    /// Returns the axes that shard dimension `dim` of `value`.
    fn axes(&self, value: Value, dim: usize) -> Axes {
        self.prepared.get(self.program, value).dims.get(dim).cloned().unwrap_or_default()
    }

    /// Returns whether `merge-shifts` would stack these operands, because they and the result are sharded alike.
    fn stacks(&self, rows: &[Rows], place: &Distribution, target: &Target) -> bool {
        let (first, count, shards) = (&rows[0], rows.len() as i64, axis::size_of(&target.axes));
        let alike = |r: &Rows| {
            let same = self.program.value_type(r.source) == self.program.value_type(first.source);
            same && !r.reversed
                && !self.made.contains_key(&r.source)
                && self.prepared.get(self.program, r.source) == *place
        };
        let size = self.size(first.source, target.dim);
        let divides = count > 1 && shards % count == 0 && size % shards == 0 && first.count == size;
        divides && target.axes.first().is_some_and(|a| i64::from(a.size) % count == 0) && rows.iter().all(alike)
    }

    /// Returns the seconds to send rows one source after the other, each by a shift; `None` where a shift can't move
    /// them.
    fn plain(&self, rows: &[Rows], target: &Target) -> Option<f64> {
        let shards = axis::size_of(&target.axes);
        let mut sent: Vec<(Value, Run)> = Vec::new();
        let mut end = 0;
        for r in rows {
            let first = end;
            end += r.count;
            if self.is_fill(r.source) || r.count == 0 {
                continue;
            }
            let axes = self.axes(r.source, target.dim);
            if axes.is_empty() {
                continue;
            }
            if axes != target.axes {
                return None;
            }
            // A source whose size differs from the result's is sliced first.
            let size = self.size(r.source, target.dim);
            let whole = r.count == size || size == target.size || rows.len() == 1;
            let (step, offset) = match r.reversed {
                true => (-1, r.start + r.count - 1 + first),
                false => (1, r.start - first),
            };
            let mut reaches =
                vec![Reach { iterations: target.size, size, step, first: offset, last: offset, divisor: 1 }];
            if !whole {
                let slice = Reach { iterations: r.count, size, step: 1, first: r.start, last: r.start, divisor: 1 };
                let rest = if r.reversed { first + r.count - 1 } else { -first };
                reaches = vec![slice, Reach { size: r.count, first: rest, last: rest, ..reaches[0] }];
            }
            for reach in reaches {
                for run in Exchange::of(reach, shards)?.rounds {
                    send(&mut sent, r.source, run);
                }
            }
        }
        Some(sent.iter().map(|(_, run)| self.seconds(run.rows, target)).sum())
    }

    /// Returns the seconds to send all rows together; `None` where a source is sharded differently than the result.
    fn assembled(&self, rows: &[Rows], target: &Target) -> Option<f64> {
        let alike = |r: &Rows| {
            let axes = self.axes(r.source, target.dim);
            self.is_fill(r.source) || axes.is_empty() || axes == target.axes
        };
        if !rows.iter().all(alike) || target.size == 0 {
            return None;
        }
        let (assembly, _) = self.assembly(rows, target.dim)?;
        let exchange = assembly.exchange(axis::size_of(&target.axes));
        Some(exchange.moved().map(|rows| self.seconds(rows, target)).sum())
    }

    fn seconds(&self, rows: i64, target: &Target) -> f64 {
        let bytes = rows as f64 * target.row_bytes;
        self.cost.seconds(CollectiveKind::CollectivePermute, bytes, bytes, &target.axes)
    }

    /// Returns these rows as an assembly of the returned values; `None` where no value has rows.
    fn assembly(&self, rows: &[Rows], dim: usize) -> Option<(Assembly, Vec<Value>)> {
        let mut sources: Vec<Value> = Vec::new();
        let mut pieces = SmallVec::new();
        for r in rows {
            let known = sources.iter().position(|&s| s == r.source);
            let operand = known.unwrap_or(sources.len());
            if known.is_none() {
                sources.push(r.source);
            }
            pieces.push(AssemblyPiece { operand, start: r.start, count: r.count, reversed: r.reversed });
        }
        let sizes: SmallVec<[Option<i64>; 4]> =
            sources.iter().map(|&s| (!self.is_fill(s)).then(|| self.size(s, dim))).collect();
        sizes.iter().any(Option::is_some).then_some((Assembly { dim, sizes, pieces }, sources))
    }

    /// Writes rows of one value with rows of a fill value before and after them.
    fn padded(&mut self, rows: &[Rows], loc: Loc, dim: usize) -> Option<Value> {
        let at = rows.iter().position(|r| !self.is_fill(r.source))?;
        let (before, after) = (&rows[..at], &rows[at + 1..]);
        let mut fills = before.iter().chain(after).map(|r| r.source);
        let fill = fills.next().filter(|&f| self.is_fill(f))?;
        if rows[at].reversed || !fills.all(|f| f == fill) {
            return None;
        }
        let size = self.size(rows[at].source, dim);
        let mut b = Builder::new(self.program, self.ops, loc);
        let rank = b.tensor(rows[at].source).rank();
        let (mut low, mut high) = (vec![0; rank], vec![0; rank]);
        let count = |rows: &[Rows]| rows.iter().map(|r| r.count).sum::<i64>();
        low[dim] = count(before) - rows[at].start;
        high[dim] = count(after) - (size - rows[at].start - rows[at].count);
        Some(build::shape::pad(&mut b, rows[at].source, fill, &low, &high, &vec![0; rank]))
    }

    fn write(&mut self, op: Op, made: &AssembledValue, form: &RowsForm) -> Value {
        let (loc, result) = (self.program.op(op).loc, self.program.result(op, 0));
        let place = self.prepared.get(self.program, result);
        let dim = made.dim;
        if let (RowsForm::Assembled, Some((assembly, sources))) = (form, self.assembly(&made.rows, dim)) {
            let value = Assemble::build(&mut Builder::new(self.program, self.ops, loc), &assembly, &sources);
            self.prepared.set(value, place);
            return value;
        }
        let shape = self.program.tensor_type(result).map(|t| t.shape.clone()).unwrap_or_default();
        if let Some(value) = self.padded(&made.rows, loc, dim) {
            self.prepared.set(value, place);
            return value;
        }
        let fills: Vec<bool> = made.rows.iter().map(|r| self.is_fill(r.source)).collect();
        let mut parts = Vec::new();
        for (r, is_fill) in made.rows.iter().zip(fills) {
            let size = self.size(r.source, dim);
            let mut b = Builder::new(self.program, self.ops, loc);
            let part = if is_fill {
                let mut shape = shape.clone();
                shape[dim] = r.count;
                build::shape::splat(&mut b, r.source, &shape)
            } else if r.count == size {
                r.source
            } else {
                build::shape::slice_dim(&mut b, r.source, dim, r.start, r.start + r.count)
            };
            if part != r.source {
                self.prepared.set(part, place.clone());
            }
            parts.push(part);
        }
        let value = build::shape::concatenate(&mut Builder::new(self.program, self.ops, loc), &parts, dim);
        if parts.len() > 1 {
            self.prepared.set(value, place);
        }
        value
    }
}

/// The dimension that is assembled.
struct Target {
    dim: usize,
    size: i64,
    axes: Axes,
    /// Bytes of one row on a device.
    row_bytes: f64,
}

/// Adds a permute to `sent`; rows that one device sends to several devices are sent once.
fn send(sent: &mut Vec<(Value, Run)>, source: Value, run: Run) {
    let PerDevice::Same(from) = run.from else { return sent.push((source, run)) };
    for (value, known) in sent.iter_mut().filter(|s| s.0 == source) {
        let PerDevice::Same(start) = known.from else { continue };
        let inside = start <= from && from + run.rows <= start + known.rows;
        if let (true, Some(pairs)) = (inside, known.pairs.union(&run.pairs)) {
            known.pairs = pairs;
            debug_assert_eq!(*value, source);
            return;
        }
    }
    sent.push((source, run));
}
