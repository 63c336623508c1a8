//! Reductions that may be done in any order: first on each rank, then between ranks by the wire. A rank sends one
//! operand instead of one for each of its devices.

use std::sync::PoisonError;
use std::sync::atomic::Ordering;

use super::groups::Spanning;
use super::{RUNS, Ranks};
use crate::collective::wire::Combination;
use crate::collective::{Reduction, Rows, wait};

/// The threshold in bytes from which sending fewer bytes outweighs one more meeting of a rank's devices.
const LONG: usize = 4096;

/// The maximum number of elements of one operand, because counts are 32-bit.
const MAX_ELEMENTS: usize = i32::MAX as usize;

impl Ranks<'_> {
    /// Returns whether a reduction is done in this way. All ranks come to the same decision.
    pub(super) fn combines(
        &self,
        site: usize,
        group: usize,
        spanning: &Spanning,
        operand: &[u8],
        how: &Reduction<'_>,
    ) -> bool {
        // Integers have the same bits in any order.
        let is_exact = !how.element.is_float() && !how.element.is_complex();
        let pays = operand.len() >= LONG && spanning.local.len() > spanning.ranks();
        (self.fast || is_exact && pays)
            && self.route(site, group).group.is_some()
            && operand.len() / how.element.bytes().max(1) <= MAX_ELEMENTS
            && self.wire.can_combine(how.op, how.element)
    }

    /// Runs a reduction in three meetings of this rank's devices. After the first, each device has combined a piece of
    /// their operands. After the second, the first device has all pieces and combines them with those of the other
    /// ranks. In the third it shows the result.
    pub(super) fn combine_across(
        &self,
        (device, site, group): (usize, usize, usize),
        spanning: &Spanning,
        operand: &[u8],
        how: &Reduction<'_>,
        result: &mut [u8],
    ) -> Result<(), String> {
        let here = &self.here;
        let index = device - here.held.start;
        let is_leader = spanning.leader == device;
        let place = self.sites[site].members.place(device).and_then(|(_, place)| spanning.local[place]);
        let place = place.ok_or("a device takes part in a group that it isn't a member of")?;
        let mut piece = self.scratch.combined[index].lock().unwrap_or_else(PoisonError::into_inner);
        let mut received = self.scratch.received[index].lock().unwrap_or_else(PoisonError::into_inner);
        let (count, width) = (spanning.mine.len(), how.element.bytes().max(1));
        let elements = operand.len() / width;

        here.set(device, site as u32);
        here.shared.each_reads(device, site, group, operand, &mut |operands| {
            let range = place * elements / count * width..(place + 1) * elements / count * width;
            piece.resize(range.len(), 0);
            let parts: Vec<&[u8]> = operands.iter().map(|operand| &operand[range.clone()]).collect();
            (how.combine)(&parts, Rows::all(piece.len()), &mut piece);
        })?;
        let mut whole = Vec::new();
        here.shared.each_reads(device, site, group, &piece, &mut |pieces| {
            if is_leader {
                whole = pieces.concat();
            }
        })?;
        if is_leader {
            let (rank, ranks) = (self.wire.rank(), spanning.ranks() as u64);
            let mut counts = None;
            let mut bytes = 2 * whole.len() as u64 * (ranks - 1) / ranks;
            if let Some(part) = how.scattered {
                let mut sorted = Vec::with_capacity(whole.len());
                let mut of_ranks = Vec::new();
                for places in spanning.by_rank(rank) {
                    let before = sorted.len();
                    places.iter().for_each(|&to| part(to).pack(&whole, &mut sorted));
                    of_ranks.push((sorted.len() - before) / width);
                }
                whole = sorted;
                counts = Some(of_ranks);
                bytes /= 2;
            }
            let end = if how.scattered.is_some() { count * result.len() } else { result.len() };
            let longest = end.max(received.len());
            received.resize(longest, 0);
            self.scratch.sent.fetch_add(bytes, Ordering::Relaxed);
            let what = Combination { op: how.op, element: how.element, operand: &whole, counts };
            let done = wait(|| self.wire.combine(self.route(site, group), &what, &mut received[..end]));
            if let Err(why) = done {
                // The buffers are leaked, because the wire may still read or write them. `fail` ends the waits of this
                // rank's other devices.
                std::mem::forget((std::mem::take(&mut whole), std::mem::take(&mut *received)));
                here.shared.fail(why.clone());
                return Err(why);
            }
        }
        let shown = if is_leader { &received[..] } else { &[] };
        here.shared.each_reads(device, site, group, shown, &mut |shown| {
            here.set(device, RUNS);
            let first = if how.scattered.is_some() { place * result.len() } else { 0 };
            result.copy_from_slice(&shown[0][first..first + result.len()]);
        })
    }
}
