//! Chains: consecutive kernels and products that iterate over the same rows.
//!
//! If kernels pass tensors to each other that are too large for a cache, and each row of a result depends only on the
//! same row of the operands, a block of rows goes through all the kernels before the next block does. So each kernel
//! finds the output of the previous one in the cache. Products with short sums also take part, such as those around the
//! softmax of an attention, because computing them costs less than writing their results to memory and reading them
//! again. Products with long sums gain nothing from a chain, so they stay whole.

mod order;
mod ranges;

use dialect::id::TiVec;
use dialect::ir::Op;

use self::order::{Moved, are_apart, relocated};
pub(in crate::execute) use self::ranges::Ranges;
use super::panels::Panels;
use crate::execute::codegen::Target;
use crate::execute::lower::step::{Slot, SlotData, Step, Steps};
use crate::execute::tuning::Tuning;
use crate::kernels::gemm::{DEPTH, Gemm, Packed};

/// How a kernel accesses a slot.
#[derive(Clone, Copy)]
struct Access {
    slot: Slot,
    reads: bool,
    writes: bool,
    /// Whether each part of the kernel accesses only the same part of the slot.
    own: bool,
}

/// The maximum number of kernels in a chain.
const LONG: usize = 32;

/// The minimum number of rows and of columns of a product in a chain.
const SIDE: usize = 49;

/// The maximum length of the sums of a product in a chain. It is at most `DEPTH`, so that a product by rows has the
/// bits of the whole product.
const SHORT: usize = 128;
const _: () = assert!(SHORT <= DEPTH);

/// The objects to which steps refer by number.
pub(in crate::execute) struct Parts<'a> {
    /// The ranges into which each kernel is divided.
    pub kernels: &'a [Option<Ranges>],
    /// Matrix products.
    pub gemms: &'a [Gemm],
    /// All slots.
    pub slots: &'a mut TiVec<Slot, SlotData>,
    /// Products by rows, and the positions of their operands' panels.
    pub panels: &'a mut Panels,
}

/// Merges kernels and products into chains, also in the bodies of loops and in branches.
pub(in crate::execute) fn join(steps: Steps, of: &mut Parts<'_>, target: Target) -> Steps {
    let threads = target.threads;
    let mut out = Vec::with_capacity(steps.len());
    let mut chain = Chain {
        threads,
        tuning: target.tuning,
        steps: Vec::new(),
        before: Vec::new(),
        rows: 0,
        accesses: Vec::new(),
        moved: Vec::new(),
        careful: false,
    };
    for (op, step) in steps {
        let mut inside = |steps| join(steps, of, target);
        let step = match step {
            Step::While { condition, predicate, body } => {
                Step::While { condition: inside(condition), predicate, body: inside(body) }
            }
            Step::Branch { index, branches } => {
                Step::Branch { index, branches: branches.into_iter().map(inside).collect() }
            }
            step => step,
        };
        match (Member::of(&step, of, threads), &step) {
            (Some(member), _) => chain.push((op, step, member), of, &mut out),
            // This kernel is a scalar, or too small to be divided. It can run before the chain.
            (None, Step::Kernel { kernel, slots })
                if of.kernels[*kernel].is_none() && chain.is_apart(slots, of.slots) =>
            {
                out.push((op, step));
            }
            _ => {
                chain.end(of, &mut out);
                out.push((op, step));
            }
        }
    }
    chain.end(of, &mut out);
    out
}

/// A step that can be part of a chain.
struct Member {
    rows: i64,
    /// Whether there is enough work for several threads.
    shared: bool,
    accesses: Vec<Access>,
    /// The product by rows, if the step is a product.
    product: Option<Packed>,
}

impl Member {
    fn of(step: &Step, of: &Parts<'_>, threads: usize) -> Option<Self> {
        match step {
            Step::Kernel { kernel, slots } => {
                let ranges = of.kernels[*kernel].as_ref()?;
                let accesses = ranges.accesses(slots).collect();
                Some(Self { rows: ranges.parts, shared: ranges.shared, accesses, product: None })
            }
            Step::Gemm { gemm, lhs, rhs, out } if threads > 1 => {
                let product = Packed::of(&of.gemms[*gemm])?;
                // Only such products have the bits of the whole product, so that results don't depend on whether they
                // are in a chain.
                if product.depth() > SHORT || product.least_side() < SIDE {
                    return None;
                }
                let [left, right] = product.sides().map(|side| [*lhs, *rhs][side]);
                let reads = |slot, own| Access { slot, reads: true, writes: false, own };
                let accesses = vec![
                    reads(left, product.reads_own_rows()),
                    reads(right, false),
                    Access { slot: *out, reads: false, writes: true, own: true },
                ];
                let shared = product.threads(threads) > 1;
                Some(Self { rows: product.rows() as i64, shared, accesses, product: Some(product) })
            }
            _ => None,
        }
    }
}

/// A chain under construction.
struct Chain {
    threads: usize,
    tuning: &'static Tuning,
    steps: Vec<(Op, Step, Member)>,
    /// Steps that were taken out of the chain, and run before it.
    before: Vec<(Op, Step, Member)>,
    /// The number of equal blocks of rows that all the kernels iterate over.
    rows: i64,
    accesses: Vec<Access>,
    /// Values that are moved to other memory while the chain runs.
    moved: Vec<Moved>,
    /// Whether to move only values that are known to have no users after the chain.
    careful: bool,
}

impl Chain {
    /// Adds a step, or ends the chain and begins a new one with the step.
    fn push(&mut self, (op, step, member): (Op, Step, Member), of: &mut Parts<'_>, out: &mut Steps) {
        if !self.takes(&member, of.slots) {
            self.take_out(&member, of.slots);
        }
        if !self.takes(&member, of.slots) {
            self.end(of, out);
        }
        self.add(&member, of.slots);
        self.steps.push((op, step, member));
    }

    /// Takes out the steps of which a later step needs all rows, if they need no results of earlier steps of the chain.
    /// Such steps, for example the mask of an attention, can run before the chain begins.
    fn take_out(&mut self, member: &Member, slots: &TiVec<Slot, SlotData>) {
        let clashes = |old: &Member| {
            old.accesses.iter().any(|old| member.accesses.iter().any(|new| !self.allows(old, new, slots)))
        };
        let mut clashing: Vec<bool> = self.steps.iter().map(|(.., old)| clashes(old)).collect();
        for i in 0..clashing.len() {
            let (before, rest) = self.steps.split_at(i);
            let (.., own) = &rest[0];
            let apart = |old: &Member| {
                let mut pairs = old.accesses.iter().flat_map(|a| own.accesses.iter().map(move |b| (a, b)));
                pairs.all(|(a, b)| are_apart(&slots[a.slot], &slots[b.slot]) || !a.writes && !b.writes)
            };
            let stays = own.accesses.iter().all(|access| self.moved_of(access, slots).is_none());
            let free = stays && before.iter().zip(&clashing).all(|((.., old), &out)| out || apart(old));
            if clashing[i] && !free {
                return;
            }
        }
        let mut clash = clashing.drain(..);
        for step in std::mem::take(&mut self.steps) {
            let list = if clash.next() == Some(true) { &mut self.before } else { &mut self.steps };
            list.push(step);
        }
        self.accesses = self.steps.iter().flat_map(|(.., member)| member.accesses.iter().copied()).collect();
        self.rows = self.steps.iter().map(|(.., member)| member.rows).min().unwrap_or(0);
    }

    /// Returns whether no step of the chain accesses these slots.
    fn is_apart(&self, of: &[Slot], slots: &TiVec<Slot, SlotData>) -> bool {
        let before = self.before.iter().flat_map(|(.., member)| &member.accesses);
        let mut all = before.chain(&self.accesses);
        all.all(|access| of.iter().all(|&slot| are_apart(&slots[access.slot], &slots[slot])))
    }

    /// Appends the steps so far, as a chain if that saves enough memory traffic.
    fn end(&mut self, of: &mut Parts<'_>, out: &mut Steps) {
        let accesses = std::mem::take(&mut self.accesses);
        let (steps, before) = (std::mem::take(&mut self.steps), std::mem::take(&mut self.before));
        let moved = std::mem::take(&mut self.moved);
        if moved.iter().any(|moved| !moved.is_over) {
            self.careful = true;
            before.into_iter().chain(steps).for_each(|step| self.push(step, of, out));
            self.end(of, out);
            self.careful = false;
            return;
        }
        let mut places: Vec<(usize, usize, usize)> = Vec::new();
        for access in accesses.iter().filter(|a| a.own) {
            let slot = &of.slots[access.slot];
            match places.iter_mut().find(|p| (p.0, p.1) == (slot.offset, slot.bytes)) {
                Some(place) => place.2 += usize::from(access.reads),
                None => places.push((slot.offset, slot.bytes, 0)),
            }
        }
        // Without a chain, slots that are read again would have to come from memory again.
        let passed: usize = places.iter().filter(|p| p.2 > 0).map(|p| p.1).sum();
        let shared = steps.iter().any(|(.., member)| member.shared);
        let mut products = steps.iter().filter_map(|(.., member)| member.product.as_ref()).peekable();
        let some = if products.peek().is_some() { self.tuning.product_block_bytes } else { self.tuning.block_bytes };
        let bytes: usize = places.iter().map(|p| p.1).sum();
        let parts = ((bytes / some) as i64).max(4 * self.threads as i64).min(self.rows);
        let enough = products.all(|product| product.rows() / parts as usize >= self.tuning.product_rows);
        let Some(&(last, ..)) =
            steps.last().filter(|_| steps.len() > 1 && shared && passed >= self.tuning.passed_bytes && enough)
        else {
            out.extend(before.into_iter().chain(steps).map(|(op, step, _)| (op, step)));
            return;
        };
        let (mut members, mut used) = (Vec::with_capacity(steps.len()), 0);
        let moved: Vec<((usize, usize), usize)> =
            moved.into_iter().map(|m| (m.place, of.panels.offset_of_chain(m.place.1, &mut used))).collect();
        out.extend(before.into_iter().map(|(op, step, _)| (op, relocated(step, &moved, of.slots))));
        for (op, step, member) in steps {
            let step = match (member.product, step) {
                (Some(product), Step::Gemm { lhs, rhs, out: to, .. }) => {
                    let [left, mut right] = product.sides().map(|side| [lhs, rhs][side]);
                    let near = product.is_near();
                    let product = of.panels.product(product);
                    if !near {
                        let panels = of.panels.of_chain(product, &mut used, of.slots);
                        let pack = Step::Pack { product, from: right, to: panels };
                        out.push((op, relocated(pack, &moved, of.slots)));
                        right = panels;
                    }
                    Step::Packed { product, left, right, out: to }
                }
                (_, step) => step,
            };
            members.push((op, relocated(step, &moved, of.slots)));
        }
        out.push((last, Step::Chain { rows: self.rows, parts, steps: members }));
    }
}

#[cfg(test)]
mod tests;
