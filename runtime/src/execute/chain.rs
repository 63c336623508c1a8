//! Kernels and products in a row that go over the same rows.
//!
//! Where kernels pass tensors to each other that are too large for a cache, and each row of a result depends on that row
//! alone, some rows go through all the kernels before the next ones do: what one writes, the next finds in the cache.
//! So do products of short sums, such as those around the softmax of an attention: what they compute is worth less than
//! writing it to memory and reading it again. Products of long sums gain nothing, and stay whole.

use dialect::id::TiVec;
use dialect::ir::Op;
use dialect::kernel::Affine;
use smallvec::SmallVec;

use super::fused::{Fused, NodeData};
use super::panels::Panels;
use super::step::{Slot, SlotData, Step, Steps};
use crate::gemm::{DEPTH, Gemm, Packed};

/// How a kernel is divided: by ranges of parts of its outermost loop.
#[derive(Clone, Debug)]
pub(super) struct Ranges {
    /// The number of parts.
    pub parts: i64,
    /// Whether there is enough to do for several threads.
    pub shared: bool,
    /// The buffer that a result overwrites in place.
    in_place: Option<usize>,
    /// For each buffer, whether each part reads only its own of as many equal parts of the buffer.
    own: SmallVec<[bool; 4]>,
    /// Whether it writes so.
    writes_own: bool,
}

impl Ranges {
    /// The ranges of a kernel with flat buffers.
    pub(super) fn of(kernel: &Fused, parts: i64, shared: bool) -> Self {
        let ranges = kernel.ranges();
        let positions = kernel.loops[0];
        let own = |(buffer, (_, _, shape)): (usize, &(_, _, SmallVec<[i64; 4]>))| {
            let each = shape.iter().product::<i64>() / positions.max(1);
            kernel.nodes.iter().all(|(data, _)| match data {
                NodeData::Load { buffer: b, index, .. } if *b == buffer => {
                    let mut at = Affine::offset(index, shape, &ranges);
                    let moved = std::mem::take(&mut at.loops[0]);
                    let rest = at.positions(&ranges);
                    let inside = rest.first >= 0 && rest.last < each && moved == each;
                    at.is_affine() && inside && each * positions == shape.iter().product()
                }
                _ => true,
            })
        };
        let own = kernel.buffers.iter().enumerate().map(own).collect();
        // A scan may have no other loop than its own, which isn't divided.
        Self { parts, shared, in_place: kernel.in_place, own, writes_own: kernel.scan.is_none() }
    }

    /// What the kernel does with each of its slots.
    fn accesses<'a>(&'a self, slots: &'a [Slot]) -> impl Iterator<Item = Access> + 'a {
        slots.iter().enumerate().map(|(i, &slot)| Access {
            slot,
            reads: i < self.own.len(),
            writes: i >= self.own.len() || self.in_place == Some(i),
            own: self.writes_own && self.own.get(i).is_none_or(|&own| own),
        })
    }
}

/// What a kernel does with a slot.
#[derive(Clone, Copy)]
struct Access {
    slot: Slot,
    reads: bool,
    writes: bool,
    /// Whether each part touches only its own part of the slot.
    own: bool,
}

/// The least bytes that kernels pass to each other in a chain: fewer stay in a cache anyway. Tests have small tensors.
const LARGE: usize = if cfg!(test) { 1 << 12 } else { 4 << 20 };

/// The most kernels of a chain.
const LONG: usize = 32;

/// The bytes of some rows in all the slots of a chain, which a core's cache holds.
const SOME: usize = if cfg!(test) { 1 << 10 } else { 256 << 10 };

/// The same where there are products, whose operands in the cache are larger.
const MORE: usize = if cfg!(test) { 1 << 15 } else { 512 << 10 };

/// The most bytes of a value that is moved out of the way of what is written next.
const FEW: usize = if cfg!(test) { 1 << 16 } else { 4 << 20 };

/// The least rows that are multiplied at a time.
const ROWS: usize = if cfg!(test) { 2 } else { 16 };

/// The least rows and columns of each product that takes part.
const SIDE: usize = 49;

/// What steps are made of.
pub(super) struct Parts<'a> {
    /// How kernels are divided.
    pub kernels: &'a [Option<Ranges>],
    /// Matrix products.
    pub gemms: &'a [Gemm],
    /// All slots.
    pub slots: &'a mut TiVec<Slot, SlotData>,
    /// Products by rows, and where the panels of their operands are.
    pub panels: &'a mut Panels,
}

/// Joins kernels and products to chains, also in the bodies of loops and in branches; `threads` run a kernel.
pub(super) fn join(steps: Steps, of: &mut Parts<'_>, threads: usize) -> Steps {
    let mut out = Vec::with_capacity(steps.len());
    let mut chain = Chain {
        threads,
        steps: Vec::new(),
        before: Vec::new(),
        rows: 0,
        accesses: Vec::new(),
        moved: Vec::new(),
        careful: false,
    };
    for (op, step) in steps {
        let mut inside = |steps| join(steps, of, threads);
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
            // A scalar, or so little that it isn't divided: it may as well be computed before.
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

/// A step that may be in a chain.
struct Member {
    rows: i64,
    /// Whether there is enough to do for several threads.
    shared: bool,
    accesses: Vec<Access>,
    /// A product by rows.
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
                // Its bits are those of the whole product, so that they don't depend on whether it is in a chain.
                if product.depth() > DEPTH || product.least_side() < SIDE {
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

/// A chain that is being made.
struct Chain {
    threads: usize,
    steps: Vec<(Op, Step, Member)>,
    /// Steps that were taken out, and run before it.
    before: Vec<(Op, Step, Member)>,
    /// How many equal rows all the kernels go over.
    rows: i64,
    accesses: Vec<Access>,
    /// Values that lie elsewhere.
    moved: Vec<Moved>,
    /// Whether nothing is moved of which it isn't known that nobody needs it after the chain.
    careful: bool,
}

/// A value that lies elsewhere while a chain runs: its memory is also that of another, which comes before or after it.
struct Moved {
    /// Its first byte and its size.
    place: (usize, usize),
    /// Whether the next one was written there, so that nobody needs it any more.
    is_over: bool,
}

impl Chain {
    /// Adds a step, or ends the chain and begins one with it.
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

    /// Whether a step can go on with the rows of those before, as soon as these have gone over them.
    fn takes(&self, member: &Member, slots: &TiVec<Slot, SlotData>) -> bool {
        let (few, many) = (self.rows.min(member.rows), self.rows.max(member.rows));
        self.steps.len() < LONG
            && few >= 4 * self.threads as i64
            && many % few == 0
            && member.accesses.iter().all(|new| {
                !self.moved_of(new, slots).is_some_and(|moved| moved.is_over)
                    && self.accesses.iter().all(|old| self.allows(old, new, slots))
            })
    }

    /// Whether the second access may follow the first in a chain.
    fn allows(&self, old: &Access, new: &Access, slots: &TiVec<Slot, SlotData>) -> bool {
        self.are_in_order(old, new, slots) || self.can_move_first(old, new, slots) || self.can_move_second(new, slots)
    }

    fn moved_of(&self, access: &Access, slots: &TiVec<Slot, SlotData>) -> Option<&Moved> {
        self.moved.iter().find(|moved| moved.place == place(&slots[access.slot]))
    }

    /// Whether it makes no difference that rows of the second access come before later rows of the first.
    fn are_in_order(&self, old: &Access, new: &Access, slots: &TiVec<Slot, SlotData>) -> bool {
        let (a, b) = (&slots[old.slot], &slots[new.slot]);
        let reads_only = !old.writes && !new.writes;
        if place(a) == place(b) {
            return reads_only || old.own && new.own;
        }
        let elsewhere = [old, new].iter().any(|access| self.moved_of(access, slots).is_some());
        reads_only || elsewhere || are_apart(a, b)
    }

    /// Whether what an access of the chain finds in memory that is written next may as well lie elsewhere: a few bytes that
    /// the chain itself writes before anything reads them, and that nobody needs any more.
    fn can_move_first(&self, old: &Access, new: &Access, slots: &TiVec<Slot, SlotData>) -> bool {
        let at = place(&slots[old.slot]);
        let before = self.before.iter().flat_map(|(.., member)| &member.accesses);
        let first = before.chain(&self.accesses).find(|access| place(&slots[access.slot]) == at);
        let is_made_here = first.is_some_and(|first| first.writes && !first.reads);
        !new.reads && at != place(&slots[new.slot]) && at.1 <= FEW && is_made_here
    }

    /// Whether what is written next may as well lie elsewhere, in the hope that nobody needs it after the chain.
    fn can_move_second(&self, new: &Access, slots: &TiVec<Slot, SlotData>) -> bool {
        let at = place(&slots[new.slot]);
        let is_new = self.accesses.iter().all(|old| place(&slots[old.slot]) != at);
        !self.careful && new.own && !new.reads && at.1 <= FEW && is_new
    }

    fn add(&mut self, member: &Member, slots: &TiVec<Slot, SlotData>) {
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
            // What is moved from here is over as soon as something else is written here.
            let touches = |place: (usize, usize)| place != at && place.0 < at.0 + at.1 && at.0 < place.0 + place.1;
            if new.writes && !new.reads && !self.moved.iter().any(|moved| moved.place == at) {
                self.moved.iter_mut().filter(|moved| touches(moved.place)).for_each(|moved| moved.is_over = true);
            }
        }
        self.rows = if self.steps.is_empty() { member.rows } else { self.rows.min(member.rows) };
        self.accesses.extend_from_slice(&member.accesses);
    }

    /// Takes out the steps of which a next one needs all rows, if they need nothing of those before: what they compute, as
    /// the mask of an attention, may as well be there before the chain begins.
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

    /// Whether nothing in the chain touches these slots.
    fn is_apart(&self, of: &[Slot], slots: &TiVec<Slot, SlotData>) -> bool {
        let before = self.before.iter().flat_map(|(.., member)| &member.accesses);
        let mut all = before.chain(&self.accesses);
        all.all(|access| of.iter().all(|&slot| are_apart(&slots[access.slot], &slots[slot])))
    }

    /// Appends the steps so far, as a chain if that pays.
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
        // What is read again would have to come from memory again.
        let passed: usize = places.iter().filter(|p| p.2 > 0).map(|p| p.1).sum();
        let shared = steps.iter().any(|(.., member)| member.shared);
        let mut products = steps.iter().filter_map(|(.., member)| member.product.as_ref()).peekable();
        let some = if products.peek().is_some() { MORE } else { SOME };
        let bytes: usize = places.iter().map(|p| p.1).sum();
        let parts = ((bytes / some) as i64).max(4 * self.threads as i64).min(self.rows);
        let enough = products.all(|product| product.rows() / parts as usize >= ROWS);
        let Some(&(last, ..)) = steps.last().filter(|_| steps.len() > 1 && shared && passed >= LARGE && enough) else {
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

/// The step with the slots of these places at other offsets.
fn relocated(mut step: Step, moved: &[((usize, usize), usize)], slots: &mut TiVec<Slot, SlotData>) -> Step {
    let relocate = |slot: &mut Slot| {
        let data = &slots[*slot];
        if let Some(&(_, offset)) = moved.iter().find(|(at, _)| *at == place(data)) {
            *slot = slots.push_and_get_key(SlotData { offset, ..data.clone() });
        }
    };
    match &mut step {
        Step::Kernel { slots, .. } => slots.iter_mut().for_each(relocate),
        Step::Pack { from, .. } => relocate(from),
        Step::Gemm { lhs, rhs, out, .. } => [lhs, rhs, out].into_iter().for_each(relocate),
        Step::Packed { left, right, out, .. } => [left, right, out].into_iter().for_each(relocate),
        _ => {}
    }
    step
}

/// Where a slot begins, and how many bytes it has.
fn place(slot: &SlotData) -> (usize, usize) {
    (slot.offset, slot.bytes)
}

/// Whether slots share no memory.
fn are_apart(a: &SlotData, b: &SlotData) -> bool {
    a.offset + a.bytes <= b.offset || b.offset + b.bytes <= a.offset
}

#[cfg(test)]
mod tests {
    use dialect::diagnostic::Diagnostics;
    use dialect::ir::{ElementType, TensorType};
    use dialect::literal::Literal;
    use dialect::scalar::Scalar;

    use super::super::Executable;
    use super::Step;
    use crate::reference::evaluate_global;

    /// Runs ops on `%x`, a tensor of 512 x 96 elements, of which the last is the result, and compares with the reference;
    /// how many kernels each chain has.
    fn chains(ops: &str) -> Vec<usize> {
        let mut diagnostics = Diagnostics::default();
        let text = format!(
            "func.func @main(%x: tensor<512x96xf32>) -> tensor<512x96xf32> {{ {ops} return %r : tensor<512x96xf32> }}"
        );
        let program = dialect::parse(&text, &mut diagnostics);
        dialect::verify(&program, &mut diagnostics);
        assert!(!diagnostics.has_errors(), "{text}\n{diagnostics:?}");
        let mut random = fastrand::Rng::with_seed(1);
        let ty = TensorType::new(&[512, 96], ElementType::F32);
        let input = [Literal::from_fn(&ty, |_| Scalar::Float(f64::from(random.i32(-40..40)) / 8.0))];
        let want = evaluate_global(&program, &input).expect("evaluates");
        let executable = Executable::compile(program, None).expect("compiles");
        let session = executable.session().expect("memory");
        session.set_inputs(&input).expect("inputs fit");
        session.run().expect("runs");
        let got = session.results();
        for i in 0..want[0].len() {
            let (g, w) = (got[0].get(i).as_f64(), want[0].get(i).as_f64());
            assert!((g - w).abs() <= 1e-5 * w.abs().max(1.0), "element {i}: {g}, not {w}\n{text}");
        }
        let kernels = |(_, step): &(_, Step)| match step {
            Step::Chain { steps, .. } => Some(steps.len()),
            _ => None,
        };
        executable.lowered_steps().iter().filter_map(kernels).collect()
    }

    fn several_threads() -> bool {
        std::thread::available_parallelism().is_ok_and(|n| n.get() > 1)
    }

    const SOFTMAX: &str = "
        %low = stablehlo.constant dense<0xFF800000> : tensor<f32>
        %zero = stablehlo.constant dense<0.0> : tensor<f32>
        %m = stablehlo.reduce(%x init: %low) applies stablehlo.maximum across dimensions = [1] : (tensor<512x96xf32>, tensor<f32>) -> tensor<512xf32>
        %mb = stablehlo.broadcast_in_dim %m, dims = [0] : (tensor<512xf32>) -> tensor<512x96xf32>
        %d = stablehlo.subtract %x, %mb : tensor<512x96xf32>
        %e = stablehlo.exponential %d : tensor<512x96xf32>
        %s = stablehlo.reduce(%e init: %zero) applies stablehlo.add across dimensions = [1] : (tensor<512x96xf32>, tensor<f32>) -> tensor<512xf32>
        %sb = stablehlo.broadcast_in_dim %s, dims = [0] : (tensor<512xf32>) -> tensor<512x96xf32>";

    #[test]
    fn rows_go_through_all_kernels_of_a_softmax() {
        let found = chains(&format!("{SOFTMAX} %r = stablehlo.divide %e, %sb : tensor<512x96xf32>"));
        if several_threads() {
            assert_eq!(found.len(), 1, "{found:?}");
            assert!(found[0] >= 3, "{found:?}");
        }
    }

    /// The softmax of products of all rows with all others, and the sums of rows weighted by it, of `batches` of them; a
    /// mask is the same for all batches.
    fn attention(batches: i64) -> String {
        let rows = 512 / batches;
        let (x, s, r) = (
            format!("tensor<{batches}x{rows}x96xf32>"),
            format!("tensor<{batches}x{rows}x{rows}xf32>"),
            format!("tensor<{batches}x{rows}xf32>"),
        );
        let mask = format!("tensor<{rows}x{rows}x");
        format!(
            "%low = stablehlo.constant dense<0xFF800000> : tensor<f32>
             %zero = stablehlo.constant dense<0.0> : tensor<f32>
             %least = stablehlo.constant dense<-1.0e30> : {s}
             %q = stablehlo.reshape %x : (tensor<512x96xf32>) -> {x}
             %p = stablehlo.dot_general %q, %q, batching_dims = [0] x [0], contracting_dims = [2] x [2] : ({x}, {x}) -> {s}
             %i = stablehlo.iota dim = 0 : {mask}i32>
             %j = stablehlo.iota dim = 1 : {mask}i32>
             %c = stablehlo.compare GE, %i, %j : ({mask}i32>, {mask}i32>) -> {mask}i1>
             %cb = stablehlo.broadcast_in_dim %c, dims = [1, 2] : ({mask}i1>) -> {s_bool}
             %w = stablehlo.select %cb, %p, %least : {s_bool}, {s}
             %m = stablehlo.reduce(%w init: %low) applies stablehlo.maximum across dimensions = [2] : ({s}, tensor<f32>) -> {r}
             %mb = stablehlo.broadcast_in_dim %m, dims = [0, 1] : ({r}) -> {s}
             %d = stablehlo.subtract %w, %mb : {s}
             %e = stablehlo.exponential %d : {s}
             %n = stablehlo.reduce(%e init: %zero) applies stablehlo.add across dimensions = [2] : ({s}, tensor<f32>) -> {r}
             %nb = stablehlo.broadcast_in_dim %n, dims = [0, 1] : ({r}) -> {s}
             %f = stablehlo.divide %e, %nb : {s}
             %o = stablehlo.dot_general %f, %q, batching_dims = [0] x [0], contracting_dims = [2] x [1] : ({s}, {x}) -> {x}
             %r = stablehlo.reshape %o : ({x}) -> tensor<512x96xf32>",
            s_bool = s.replace("f32", "i1"),
        )
    }

    #[test]
    fn rows_go_through_the_products_of_an_attention() {
        for batches in [1, 2, 4] {
            // With several batches the mask is in memory.
            let found = chains(&attention(batches));
            if several_threads() {
                assert_eq!(found.len(), 1, "{batches}: {found:?}");
                assert!(found[0] >= 5, "{batches}: {found:?}");
            }
        }
    }

    #[test]
    fn a_scalar_between_kernels_ends_no_chain() {
        let found = chains(
            "%zero = stablehlo.constant dense<0.0> : tensor<f32>
             %count = stablehlo.reduce(%x init: %zero) applies stablehlo.maximum across dimensions = [0, 1] : (tensor<512x96xf32>, tensor<f32>) -> tensor<f32>
             %s = stablehlo.reduce(%x init: %zero) applies stablehlo.add across dimensions = [1] : (tensor<512x96xf32>, tensor<f32>) -> tensor<512xf32>
             %root = stablehlo.sqrt %count : tensor<f32>
             %more = stablehlo.exponential %root : tensor<f32>
             %mb = stablehlo.broadcast_in_dim %more, dims = [] : (tensor<f32>) -> tensor<512x96xf32>
             %sb = stablehlo.broadcast_in_dim %s, dims = [0] : (tensor<512xf32>) -> tensor<512x96xf32>
             %d = stablehlo.subtract %x, %sb : tensor<512x96xf32>
             %q = stablehlo.multiply %d, %d : tensor<512x96xf32>
             %v = stablehlo.reduce(%q init: %zero) applies stablehlo.add across dimensions = [1] : (tensor<512x96xf32>, tensor<f32>) -> tensor<512xf32>
             %vb = stablehlo.broadcast_in_dim %v, dims = [0] : (tensor<512xf32>) -> tensor<512x96xf32>
             %p = stablehlo.divide %x, %mb : tensor<512x96xf32>
             %r = stablehlo.add %p, %vb : tensor<512x96xf32>",
        );
        if several_threads() {
            assert_eq!(found, [3]);
        }
    }

    #[test]
    fn rows_that_others_need_end_a_chain() {
        // Rows in the other order, sums of columns, and a row moved by one.
        for ops in [
            "%q = stablehlo.divide %e, %sb : tensor<512x96xf32> %r = stablehlo.reverse %q, dims = [0] : tensor<512x96xf32>",
            "%q = stablehlo.divide %e, %sb : tensor<512x96xf32>
             %c = stablehlo.reduce(%q init: %zero) applies stablehlo.add across dimensions = [0] : (tensor<512x96xf32>, tensor<f32>) -> tensor<96xf32>
             %cb = stablehlo.broadcast_in_dim %c, dims = [1] : (tensor<96xf32>) -> tensor<512x96xf32>
             %r = stablehlo.subtract %q, %cb : tensor<512x96xf32>",
            "%first = stablehlo.slice %sb [0:1, 0:96] : (tensor<512x96xf32>) -> tensor<1x96xf32>
             %rest = stablehlo.slice %e [0:511, 0:96] : (tensor<512x96xf32>) -> tensor<511x96xf32>
             %moved = stablehlo.concatenate %first, %rest, dim = 0 : (tensor<1x96xf32>, tensor<511x96xf32>) -> tensor<512x96xf32>
             %r = stablehlo.divide %moved, %sb : tensor<512x96xf32>",
        ] {
            chains(&format!("{SOFTMAX} {ops}"));
        }
    }
}
