//! Kernels in a row that go over the same rows.
//!
//! Where kernels pass tensors to each other that are too large for a cache, and each row of a result depends on that row
//! alone, some rows go through all the kernels before the next ones do: what one writes, the next finds in the cache.

use dialect::id::TiVec;
use dialect::kernel::Affine;
use smallvec::SmallVec;

use super::fused::{Fused, NodeData};
use super::step::{Slot, SlotData, Step, Steps};

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

/// Joins kernels to chains, also in the bodies of loops and in branches; `threads` run a kernel.
pub(super) fn join(steps: Steps, kernels: &[Option<Ranges>], slots: &TiVec<Slot, SlotData>, threads: usize) -> Steps {
    let inside = |steps| join(steps, kernels, slots, threads);
    let mut out = Vec::with_capacity(steps.len());
    let mut chain = Chain { kernels, slots, threads, steps: Vec::new(), rows: 0, accesses: Vec::new() };
    for (op, step) in steps {
        let step = match step {
            Step::While { condition, predicate, body } => {
                Step::While { condition: inside(condition), predicate, body: inside(body) }
            }
            Step::Branch { index, branches } => {
                Step::Branch { index, branches: branches.into_iter().map(inside).collect() }
            }
            step => step,
        };
        if let Step::Kernel { kernel, slots } = &step
            && let Some(ranges) = &kernels[*kernel]
        {
            if !chain.takes(ranges, slots) {
                chain.end(&mut out);
            }
            chain.add(ranges, slots);
            chain.steps.push((op, step));
        } else if let Step::Kernel { kernel, slots } = &step
            && kernels[*kernel].is_none()
            && chain.is_apart(slots)
        {
            // A scalar, or so little that it isn't divided: it may as well be computed before.
            out.push((op, step));
        } else {
            chain.end(&mut out);
            out.push((op, step));
        }
    }
    chain.end(&mut out);
    out
}

/// A chain that is being made.
struct Chain<'a> {
    kernels: &'a [Option<Ranges>],
    slots: &'a TiVec<Slot, SlotData>,
    threads: usize,
    steps: Steps,
    /// How many equal rows all the kernels go over.
    rows: i64,
    accesses: Vec<Access>,
}

impl Chain<'_> {
    /// Whether a kernel can go on with the rows of those before, as soon as these have gone over them.
    fn takes(&self, ranges: &Ranges, slots: &[Slot]) -> bool {
        let (few, many) = (self.rows.min(ranges.parts), self.rows.max(ranges.parts));
        self.steps.len() < LONG
            && few >= 4 * self.threads as i64
            && many % few == 0
            && ranges.accesses(slots).all(|new| {
                self.accesses.iter().all(|old| {
                    let (a, b) = (&self.slots[old.slot], &self.slots[new.slot]);
                    let apart = self.are_apart(old.slot, new.slot);
                    let reads_only = !old.writes && !new.writes;
                    apart || reads_only || old.own && new.own && (a.offset, a.bytes) == (b.offset, b.bytes)
                })
            })
    }

    /// Whether nothing in the chain touches these slots.
    fn is_apart(&self, slots: &[Slot]) -> bool {
        self.accesses.iter().all(|access| slots.iter().all(|&slot| self.are_apart(access.slot, slot)))
    }

    /// Whether slots share no memory.
    fn are_apart(&self, a: Slot, b: Slot) -> bool {
        let (a, b) = (&self.slots[a], &self.slots[b]);
        a.offset + a.bytes <= b.offset || b.offset + b.bytes <= a.offset
    }

    fn add(&mut self, ranges: &Ranges, slots: &[Slot]) {
        self.rows = if self.steps.is_empty() { ranges.parts } else { self.rows.min(ranges.parts) };
        self.accesses.extend(ranges.accesses(slots));
    }

    /// Appends the steps so far, as a chain if that pays.
    fn end(&mut self, out: &mut Steps) {
        let accesses = std::mem::take(&mut self.accesses);
        let steps = std::mem::take(&mut self.steps);
        let mut places: Vec<(usize, usize, usize)> = Vec::new();
        for access in accesses.iter().filter(|a| a.own) {
            let slot = &self.slots[access.slot];
            match places.iter_mut().find(|p| (p.0, p.1) == (slot.offset, slot.bytes)) {
                Some(place) => place.2 += usize::from(access.reads),
                None => places.push((slot.offset, slot.bytes, 0)),
            }
        }
        // What is read again would have to come from memory again.
        let passed: usize = places.iter().filter(|p| p.2 > 0).map(|p| p.1).sum();
        let shared = steps.iter().any(|(_, step)| {
            matches!(step, Step::Kernel { kernel, .. } if self.kernels[*kernel].as_ref().is_some_and(|r| r.shared))
        });
        match steps.last() {
            Some(&(op, _)) if steps.len() > 1 && shared && passed >= LARGE => {
                let bytes: usize = places.iter().map(|p| p.1).sum();
                let parts = (bytes / SOME) as i64;
                let parts = parts.max(4 * self.threads as i64).min(self.rows);
                out.push((op, Step::Chain { rows: self.rows, parts, steps }));
            }
            _ => out.extend(steps),
        }
    }
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
