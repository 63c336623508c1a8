//! The order of steps in a chain, which depends on the memory that they share.
//!
//! The plan of a device's memory places values that aren't live at the same time in the same memory. In a chain such
//! values are live at the same time: the second is written for the first rows while the first is still read for later
//! rows. Small values are moved to other memory.

use dialect::id::TiVec;

use super::{Access, Chain, LONG, Member};
use crate::execute::lower::step::{Slot, SlotData, Step};

/// A value that is moved to other memory while a chain runs, because its memory also belongs to another value of the
/// chain.
pub(super) struct Moved {
    /// The first byte and the size of its planned memory.
    pub place: (usize, usize),
    /// Whether the other value was written later, so that this one has no users anymore.
    pub is_over: bool,
}

impl Chain {
    /// Returns whether a step can process a block of rows as soon as the chain's steps have processed it.
    pub(super) fn takes(&self, member: &Member, slots: &TiVec<Slot, SlotData>) -> bool {
        let (few, many) = (self.rows.min(member.rows), self.rows.max(member.rows));
        self.steps.len() < LONG
            && few >= 4 * self.threads as i64
            && many % few == 0
            && member.accesses.iter().all(|new| {
                !self.moved_of(new, slots).is_some_and(|moved| moved.is_over)
                    && self.accesses.iter().all(|old| self.allows(old, new, slots))
            })
    }

    /// Returns whether the second access may follow the first one in a chain.
    pub(super) fn allows(&self, old: &Access, new: &Access, slots: &TiVec<Slot, SlotData>) -> bool {
        self.are_in_order(old, new, slots) || self.can_move_first(old, new, slots) || self.can_move_second(new, slots)
    }

    pub(super) fn moved_of(&self, access: &Access, slots: &TiVec<Slot, SlotData>) -> Option<&Moved> {
        self.moved.iter().find(|moved| moved.place == place(&slots[access.slot]))
    }

    /// Returns whether the result is the same if rows of the second access come before later rows of the first.
    fn are_in_order(&self, old: &Access, new: &Access, slots: &TiVec<Slot, SlotData>) -> bool {
        let (a, b) = (&slots[old.slot], &slots[new.slot]);
        let reads_only = !old.writes && !new.writes;
        if place(a) == place(b) {
            return reads_only || old.own && new.own;
        }
        let elsewhere = [old, new].iter().any(|access| self.moved_of(access, slots).is_some());
        reads_only || elsewhere || are_apart(a, b)
    }

    /// Returns whether the value of the first access, in memory that is written next, can be moved: it is small, the
    /// chain itself writes it before anything reads it, and it has no users anymore.
    fn can_move_first(&self, old: &Access, new: &Access, slots: &TiVec<Slot, SlotData>) -> bool {
        let at = place(&slots[old.slot]);
        let before = self.before.iter().flat_map(|(.., member)| &member.accesses);
        let first = before.chain(&self.accesses).find(|access| place(&slots[access.slot]) == at);
        let is_made_here = first.is_some_and(|first| first.writes && !first.reads);
        !new.reads && at != place(&slots[new.slot]) && at.1 <= self.tuning.moved_bytes && is_made_here
    }

    /// Returns whether the value that is written next can be moved, on the assumption that it has no users after the
    /// chain.
    fn can_move_second(&self, new: &Access, slots: &TiVec<Slot, SlotData>) -> bool {
        let at = place(&slots[new.slot]);
        let is_new = self.accesses.iter().all(|old| place(&slots[old.slot]) != at);
        !self.careful && new.own && !new.reads && at.1 <= self.tuning.moved_bytes && is_new
    }

    pub(super) fn add(&mut self, member: &Member, slots: &TiVec<Slot, SlotData>) {
        for new in &member.accesses {
            let at = place(&slots[new.slot]);
            let clashing = self.accesses.iter().filter(|old| !self.are_in_order(old, new, slots));
            let clashing: Vec<Access> = clashing.copied().collect();
            let all = clashing.iter().all(|old| self.can_move_first(old, new, slots));
            for old in clashing {
                let (place, is_over) = if all { (place(&slots[old.slot]), true) } else { (at, false) };
                if !self.moved.iter().any(|moved| moved.place == place) {
                    self.moved.push(Moved { place, is_over });
                }
            }
            // A value that was moved from here has no users anymore once another value is written here.
            let touches = |place: (usize, usize)| place != at && place.0 < at.0 + at.1 && at.0 < place.0 + place.1;
            if new.writes && !new.reads && !self.moved.iter().any(|moved| moved.place == at) {
                self.moved.iter_mut().filter(|moved| touches(moved.place)).for_each(|moved| moved.is_over = true);
            }
        }
        self.rows = if self.steps.is_empty() { member.rows } else { self.rows.min(member.rows) };
        self.accesses.extend_from_slice(&member.accesses);
    }
}

/// Returns the step with the slots at these places moved to other offsets.
pub(super) fn relocated(mut step: Step, moved: &[((usize, usize), usize)], slots: &mut TiVec<Slot, SlotData>) -> Step {
    let relocate = |slot: &mut Slot| {
        let data = &slots[*slot];
        if let Some(&(_, offset)) = moved.iter().find(|(at, _)| *at == place(data)) {
            *slot = slots.push_and_get_key(SlotData { offset, ..data.clone() });
        }
    };
    match &mut step {
        Step::Kernel { slots, .. } => slots.iter_mut().for_each(relocate),
        Step::Pack { from, .. } => [from].into_iter().for_each(relocate),
        Step::Gemm { lhs, rhs, out, .. } => [lhs, rhs, out].into_iter().for_each(relocate),
        Step::Packed { left, right, out, .. } => [left, right, out].into_iter().for_each(relocate),
        _ => {}
    }
    step
}

/// Returns the first byte of a slot, and its size in bytes.
pub(super) fn place(slot: &SlotData) -> (usize, usize) {
    (slot.offset, slot.bytes)
}

/// Returns whether slots share no memory.
pub(super) fn are_apart(a: &SlotData, b: &SlotData) -> bool {
    a.offset + a.bytes <= b.offset || b.offset + b.bytes <= a.offset
}
