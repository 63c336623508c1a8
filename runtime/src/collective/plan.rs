//! The plans of collectives: which parts of the other devices' operands each device reads, and how it combines them.

#![allow(unsafe_code, reason = "devices of a group write parts of one result")]

use std::cell::OnceCell;
use std::ops::Range;
use std::sync::Arc;

use dialect::collective::Ragged;
use dialect::ir::ElementType;
use dialect::kernel::Body;
use dialect::op::{Collective, CollectiveKind};
use dialect::scalar::{Scalar, ScalarOp};

use super::reduce::Rows;
use super::{Members, Part, Reduction, Site, Transport, reduce};
use crate::across::AcrossThreads;

/// Machine code that combines elements. Its arguments are the elements combined so far, the elements of the next
/// operand, the buffer for the results (all three aligned to 8 bytes), and the number of elements.
pub(crate) type Combiner = Arc<dyn Fn(&[u64], &[u64], &mut [u64], usize) + Send + Sync>;

/// One collective of a program, ready to run.
#[derive(Clone)]
pub struct Plan {
    kind: CollectiveKind,
    members: Arc<Members>,
    /// Element type of the operands.
    operand: ElementType,
    /// Element type that is exchanged and returned: the element type of the computation, to which operands are
    /// promoted.
    element: ElementType,
    /// Operand sizes before, along and after the dimension that is gathered, scattered or split.
    split: (usize, usize, usize),
    /// Sizes before, along and after the dimension that an all_to_all concatenates, in one block of the split operand.
    concat: (usize, usize, usize),
    body: Option<Body>,
    /// The compiled code of the body; `None` before compilation.
    combiner: Option<Combiner>,
    /// The sizes of a ragged_all_to_all.
    ragged: Option<Ragged>,
}

fn around(shape: &[i64], dim: usize) -> (usize, usize, usize) {
    let size = |d: &[i64]| d.iter().product::<i64>().max(0) as usize;
    let along = shape.get(dim).copied().unwrap_or(1).max(0) as usize;
    (size(&shape[..dim.min(shape.len())]), along, size(shape.get(dim + 1..).unwrap_or(&[])))
}

impl Plan {
    /// Creates the plan of `collective` for operands of `shape` on `devices` devices.
    pub fn new(collective: &Collective, element: ElementType, shape: &[i64], devices: usize) -> Self {
        let permutes = collective.kind == CollectiveKind::CollectivePermute;
        let members = Arc::new(Members::new(&collective.groups, permutes, devices));
        let mut piece = shape.to_vec();
        if let (CollectiveKind::AllToAll, Some(size)) = (collective.kind, piece.get_mut(collective.dim)) {
            *size /= collective.groups.size().max(1) as i64;
        }
        let computed = collective.computation.as_ref().and_then(|b| b.inputs.first()).copied();
        Self {
            kind: collective.kind,
            members,
            operand: element,
            element: computed.unwrap_or(element),
            split: around(shape, collective.dim),
            concat: around(&piece, collective.concat_dim),
            body: collective.computation.clone(),
            combiner: None,
            ragged: None,
        }
    }

    /// Creates the plan of a ragged_all_to_all, whose operand is the result of [`Ragged::shown`].
    pub fn ragged(collective: &Collective, ragged: Ragged, devices: usize) -> Self {
        Self { ragged: Some(ragged), ..Self::new(collective, ElementType::UI8, &[], devices) }
    }

    /// Returns the sizes of a ragged_all_to_all; `None` for other collectives.
    pub fn as_ragged(&self) -> Option<Ragged> {
        self.ragged
    }

    /// Returns the groups and the name, for a transport.
    pub fn site(&self) -> Site {
        Site { name: self.kind.text().to_owned(), members: self.members.clone() }
    }

    /// Returns the number of the group of a device.
    pub fn group(&self, device: usize) -> Option<usize> {
        self.members.place(device).map(|(group, _)| group)
    }

    /// Returns whether all devices of a group get the same result, so that they can share one copy of it.
    pub fn is_alike(&self) -> bool {
        matches!(self.kind, CollectiveKind::AllGather | CollectiveKind::AllReduce)
    }

    /// Returns whether this collective can be run: it has no region, or its region is scalar arithmetic.
    pub fn is_supported(&self) -> bool {
        use CollectiveKind::{AllReduce, CollectiveReduce, ReduceScatter};
        self.body.is_some() || !matches!(self.kind, AllReduce | CollectiveReduce | ReduceScatter)
    }

    /// Returns the region that combines elements, if it has to be compiled.
    #[cfg(feature = "jit")]
    pub(crate) fn uncompiled(&self) -> Option<&Body> {
        let body = self.body.as_ref()?;
        let known = body.as_binary().and_then(|op| reduce::combine(op, self.element));
        known.is_none().then_some(body)
    }

    /// Stores the compiled code of [`Self::uncompiled`].
    #[cfg(feature = "jit")]
    pub(crate) fn link(&mut self, combiner: Combiner) {
        self.combiner = Some(combiner);
    }

    /// Returns whether `device` sends without receiving in a permute, and therefore gets zeros. [`Self::run`] then
    /// takes no result.
    pub fn gives_zeros(&self, device: usize) -> bool {
        self.kind == CollectiveKind::CollectivePermute && self.members.source(device).is_none()
    }

    /// Runs the collective on `device`: reads `operand` and writes `result`.
    pub fn run(
        &self,
        transport: &dyn Transport,
        device: usize,
        site: usize,
        operand: &[u8],
        result: &mut [u8],
    ) -> Result<(), String> {
        let promoted = (self.operand != self.element).then(|| promoted(operand, self.operand, self.element));
        let operand = promoted.as_deref().unwrap_or(operand);
        let Some((group, place)) = self.members.place(device) else {
            if self.ragged.is_some() {
                return Ok(());
            }
            // A device outside of every group gets zeros from a permute or a reduction to one device. From other
            // collectives it gets its own operand if the sizes agree, and zeros otherwise.
            let sends = matches!(self.kind, CollectiveKind::CollectivePermute | CollectiveKind::CollectiveReduce);
            if sends || result.len() != operand.len() {
                result.fill(0);
            } else {
                result.copy_from_slice(operand);
            }
            return Ok(());
        };
        if let Some(done) = self.combine_in_any_order(transport, (device, site, group), operand, result) {
            return done;
        }
        if self.kind == CollectiveKind::AllReduce && result.len() >= 4096 {
            let n = self.members.size(group);
            if n > 2 {
                return self.reduce_in_two(transport, (device, site, group, place), n, operand, result);
            }
        }
        // Computed lazily, because only transports between several processes call `needs`.
        let members = OnceCell::new();
        let count = || *members.get_or_init(|| self.members.size(group));
        let needs = |from: usize, to: usize| self.needs(operand.len(), group, &count, from, to);
        transport.share(device, site, group, operand, &needs, &mut |all| self.read(device, place, all, result))
    }

    /// Lets the transport do a reduction. Returns `None` if it can't.
    fn combine_in_any_order(
        &self,
        transport: &dyn Transport,
        (device, site, group): (usize, usize, usize),
        operand: &[u8],
        result: &mut [u8],
    ) -> Option<Result<(), String>> {
        let is_scattered = match self.kind {
            CollectiveKind::AllReduce => false,
            CollectiveKind::ReduceScatter => true,
            _ => return None,
        };
        let op = self.body.as_ref()?.as_binary()?;
        let combine = reduce::combine(op, self.element)?;
        let members = OnceCell::new();
        let count = || *members.get_or_init(|| self.members.size(group));
        let part = |to: usize| self.needs(operand.len(), group, &count, 0, to);
        let how = Reduction { op, element: self.element, combine, scattered: is_scattered.then_some(&part) };
        transport.combine(device, site, group, operand, &how, result)
    }

    /// Returns the part of the operand (of `bytes` bytes) of the member at position `from` that the member at position
    /// `to` of a group of `count` reads.
    fn needs(&self, bytes: usize, group: usize, count: &dyn Fn() -> usize, from: usize, to: usize) -> Part {
        use CollectiveKind::{
            AllGather, AllReduce, AllToAll, CollectiveBroadcast, CollectivePermute, CollectiveReduce, RaggedAllToAll,
            ReduceScatter,
        };
        let all = match self.kind {
            AllReduce | AllGather | RaggedAllToAll => true,
            CollectiveReduce => to == 0,
            CollectiveBroadcast => from == 0,
            // In a cycle, the last device sends to the first.
            CollectivePermute => match to.checked_sub(1) {
                Some(source) => from == source,
                None => from + 1 == count() && self.members.source(group).is_some(),
            },
            ReduceScatter | AllToAll => {
                let (outer, along, inner) = self.split;
                let row = along / count() * inner * self.element.bytes();
                return Part::block(bytes, to, row, count() * row, outer);
            }
        };
        if all { Part::whole(bytes) } else { Part::nothing(bytes) }
    }

    /// Does the same as [`Self::run`] where the result [is alike](Self::is_alike) and stored in memory that the group
    /// shares: each device writes a part of it.
    ///
    /// # Safety
    ///
    /// `result` must be valid for writes of `length` bytes, which must be the size of the result. Only devices of this
    /// group may access these bytes, and none of them may do so while it is in this function.
    pub unsafe fn run_together(
        &self,
        transport: &dyn Transport,
        device: usize,
        site: usize,
        operand: &[u8],
        result: *mut u8,
        length: usize,
    ) -> Result<(), String> {
        let promoted = (self.operand != self.element).then(|| promoted(operand, self.operand, self.element));
        let operand = promoted.as_deref().unwrap_or(operand);
        let (group, place) =
            self.members.place(device).ok_or("a device takes part in a group that it isn't a member of")?;
        // SAFETY: this is only a raw pointer.
        let together = unsafe { AcrossThreads::new(result) };
        let part = |range: Range<usize>| {
            assert!(range.end <= length, "a part is longer than its result");
            // SAFETY: `range.end <= length`, so the slice is inside of the result. The ranges below are disjoint for
            // the devices of a group: an all_gather writes rows by `place`, a reduction writes the piece of `place`.
            unsafe { std::slice::from_raw_parts_mut(together.get().add(range.start), range.len()) }
        };
        // All devices of the group are in one process, so the transport reads whole operands in place.
        let needs = |_: usize, _: usize| Part::whole(operand.len());
        transport.share(device, site, group, operand, &needs, &mut |all| {
            if self.kind == CollectiveKind::AllGather {
                let (outer, along, inner) = self.split;
                let row = along * inner * self.element.bytes();
                for o in 0..outer {
                    let to = (o * all.len() + place) * row;
                    part(to..to + row).copy_from_slice(&all[place][o * row..(o + 1) * row]);
                }
            } else {
                let mine = self.piece(length, all.len(), place);
                let parts: Vec<&[u8]> = all.iter().map(|a| &a[mine.clone()]).collect();
                self.combine(&parts, part(mine));
            }
        })
    }

    /// Returns the range of the bytes of a result that the `i`-th of `n` devices reduces.
    fn piece(&self, length: usize, n: usize, i: usize) -> Range<usize> {
        let width = self.element.bytes();
        let count = length / width;
        i * count / n * width..(i + 1) * count / n * width
    }

    /// Runs an all_reduce of long operands: each device reduces one block, then copies the blocks of the others.
    fn reduce_in_two(
        &self,
        transport: &dyn Transport,
        (device, site, group, place): (usize, usize, usize, usize),
        n: usize,
        operand: &[u8],
        result: &mut [u8],
    ) -> Result<(), String> {
        let length = result.len();
        let piece = |i: usize| self.piece(length, n, i);
        let mine = piece(place);
        let bytes = operand.len();
        let needs = |_: usize, to: usize| Part::one(bytes, piece(to).start, piece(to).len());
        transport.share(device, site, group, operand, &needs, &mut |all| {
            let parts: Vec<&[u8]> = all.iter().map(|a| &a[mine.clone()]).collect();
            self.combine(&parts, &mut result[mine.clone()]);
        })?;
        let (before, rest) = result.split_at_mut(mine.start);
        let (own, after) = rest.split_at_mut(mine.len());
        let needs = |from: usize, _: usize| Part::whole(piece(from).len());
        transport.share(device, site, group, own, &needs, &mut |all| {
            for (i, part) in all.iter().enumerate().filter(|part| part.0 != place) {
                let Range { start, end } = piece(i);
                let to = if i < place { &mut before[start..end] } else { &mut after[start - mine.end..end - mine.end] };
                to.copy_from_slice(part);
            }
        })
    }

    fn read(&self, device: usize, place: usize, all: &[&[u8]], result: &mut [u8]) {
        let width = self.element.bytes();
        let (outer, along, inner) = self.split;
        let n = all.len();
        match self.kind {
            CollectiveKind::AllReduce => self.combine(all, result),
            CollectiveKind::CollectiveReduce if place == 0 => self.combine(all, result),
            CollectiveKind::CollectiveReduce => result.fill(0),
            CollectiveKind::CollectiveBroadcast => result.copy_from_slice(all[0]),
            CollectiveKind::CollectivePermute => {
                // The source is the previous device of the chain. In a cycle, the last device precedes the first.
                let source = self.members.source(device).map(|_| place.checked_sub(1).unwrap_or(n - 1));
                match source {
                    Some(i) => result.copy_from_slice(all[i]),
                    None => result.fill(0),
                }
            }
            CollectiveKind::AllGather => {
                let row = along * inner * width;
                for (i, part) in all.iter().enumerate() {
                    for o in 0..outer {
                        let to = (o * n + i) * row;
                        result[to..to + row].copy_from_slice(&part[o * row..(o + 1) * row]);
                    }
                }
            }
            CollectiveKind::ReduceScatter => {
                let row = along / n * inner * width;
                self.combine_rows(all, Rows { first: place * row, row, stride: n * row }, &mut result[..outer * row]);
            }
            CollectiveKind::AllToAll => self.exchange(place, all, result),
            CollectiveKind::RaggedAllToAll => {
                if let Some(ragged) = self.ragged {
                    ragged.receive(all, place, result);
                }
            }
        }
    }

    /// Concatenates the `place`-th block of every member.
    fn exchange(&self, place: usize, all: &[&[u8]], result: &mut [u8]) {
        let width = self.element.bytes();
        let n = all.len();
        let (outer, along, inner) = self.split;
        // A block is contiguous in rows of one length in the operand and of another length in the result. One length is
        // a multiple of the other.
        let read = along / n * inner * width;
        let (_, size, behind) = self.concat;
        let written = size * behind * width;
        let run = read.min(written);
        if run == 0 {
            return;
        }
        for (i, part) in all.iter().enumerate() {
            for at in (0..outer * read).step_by(run) {
                let from = (at / read * n + place) * read + at % read;
                let to = (at / written * n + i) * written + at % written;
                result[to..to + run].copy_from_slice(&part[from..from + run]);
            }
        }
    }

    /// Reduces these rows of the operands to contiguous rows, like [`Self::combine`].
    fn combine_rows(&self, all: &[&[u8]], rows: Rows, out: &mut [u8]) {
        if let Some(combine) =
            self.body.as_ref().and_then(Body::as_binary).and_then(|op| reduce::combine(op, self.element))
        {
            return combine(all, rows, out);
        }
        for (i, out) in out.chunks_mut(rows.row.max(1)).enumerate() {
            let parts: Vec<&[u8]> = all.iter().map(|operand| rows.of(operand, i)).collect();
            self.combine(&parts, out);
        }
    }

    /// Reduces the operands element by element, in the order of the group.
    pub(crate) fn combine(&self, parts: &[&[u8]], out: &mut [u8]) {
        let Some(body) = &self.body else { return out.fill(0) };
        let op = body.as_binary();
        if let Some(combine) = op.and_then(|op| reduce::combine(op, self.element)) {
            return combine(parts, Rows::all(out.len()), out);
        }
        let width = self.element.bytes();
        if let Some(combiner) = &self.combiner {
            return reduce::by_code(combiner, width, parts, out);
        }
        let mut bytes = Vec::with_capacity(width);
        for (at, to) in out.chunks_exact_mut(width).enumerate() {
            let value = |p: &[u8]| Scalar::decode(self.element, &p[at * width..(at + 1) * width]);
            let mut sum = value(parts[0]);
            for p in &parts[1..] {
                sum = match op {
                    Some(op) => op.apply(self.element, self.element, &[sum, value(p)]),
                    None => body.eval(&[sum, value(p)], &[]).first().copied().unwrap_or(sum),
                };
            }
            bytes.clear();
            sum.encode(self.element, &mut bytes);
            to.copy_from_slice(&bytes);
        }
    }
}

/// Converts every element of `operand` to type `to`.
fn promoted(operand: &[u8], from: ElementType, to: ElementType) -> Vec<u8> {
    let width = from.bytes().max(1);
    let mut bytes = Vec::with_capacity(operand.len() / width * to.bytes());
    for element in operand.chunks_exact(width) {
        ScalarOp::Convert.apply(from, to, &[Scalar::decode(from, element)]).encode(to, &mut bytes);
    }
    bytes
}
