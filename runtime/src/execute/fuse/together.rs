//! Kernels of several ops, which store several results.
//!
//! Ops over the same positions become one kernel if one reads the other's result, or if both read the same tensor. Then
//! the tensor is read once, and results that only ops of the kernel read are never stored. A reduction takes in the ops
//! that compute its input, unless it iterates over its results innermost: such reductions are divided by columns, and
//! the other ops by rows.

use dialect::buffers::Fusion;
use dialect::diagnostic::Diagnostic;
use dialect::ir::{Op, Program, Uses, Value};
use dialect::kernel::{Affine, Index, Nest};
use rustc_hash::FxHashSet;
use smallvec::SmallVec;

use super::build::{Part, build};
use super::fused::{Fused, NodeData};
use crate::execute::codegen::{Innermost, columns_innermost, is_update};
use crate::execute::lower::step::{Slot, Steps};
use crate::execute::lower::{Lowering, SharedKernel};

/// The maximum number of kernels that wait for more ops.
const WAITING: usize = 8;

/// The maximum number of operations of a kernel of several ops. Longer kernels spill registers, as in
/// [`dialect::buffers`].
const OPERATIONS: usize = 100;

/// The maximum number of tensors that a kernel of several ops reads and writes.
const TENSORS: usize = 16;

/// The number of positions from which an innermost loop is long enough: longer loops take the same time per position.
const LONG: i64 = 128;

/// Kernels that aren't written yet, in order, because later ops may become a part of them.
#[derive(Default)]
pub(in crate::execute) struct Waiting(Vec<Group>);

impl Waiting {
    /// Returns whether no kernel waits.
    pub(in crate::execute) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

/// The ops of a kernel.
struct Group {
    parts: Vec<Part>,
    kernel: Fused,
    slots: Vec<Slot>,
    innermost: Innermost,
    /// Whether more ops may become a part of it.
    open: bool,
}

impl Group {
    fn reduces(&self) -> bool {
        !self.kernel.accumulators.is_empty()
    }

    fn results<'a>(&'a self, program: &'a Program) -> impl Iterator<Item = Value> + 'a {
        self.parts.iter().flat_map(|part| program.results(part.op))
    }

    /// Returns whether adding the other kernel to this one saves reading a large tensor from memory.
    fn gains(&self, other: &Self, program: &Program) -> bool {
        let all: i64 = self.kernel.loops.iter().product();
        let mut read = other.kernel.buffers.iter();
        read.any(|(value, _, shape)| {
            let large = 2 * shape.iter().product::<i64>() >= all;
            let shared = || self.kernel.buffers.iter().any(|b| b.0 == *value);
            large && (self.results(program).any(|result| result == *value) || shared())
        })
    }

    /// Returns the parts of both as one kernel, if their loops match.
    fn with(&self, other: &Self, program: &Program) -> Option<Vec<Part>> {
        let (old, new) = (&self.kernel, &other.kernel);
        let same = old.loops == new.loops;
        let mut parts = self.parts.clone();
        let mut added = other.parts.clone();
        match (self.reduces(), other.reduces()) {
            (true, true) | (false, false) if !same || old.parallel != new.parallel => return None,
            (true, true) | (false, false) => {}
            (false, true) => {
                let read = self.results(program).find_map(|result| positions(new, result, &old.loops));
                let at = read.or_else(|| same.then(|| (0..old.loops.len()).collect()))?;
                for part in &mut parts {
                    part.loops.iter_mut().for_each(|l| *l = at[*l]);
                }
            }
            (true, false) => {
                let like = parts.iter().find(|p| p.nest.init.is_empty() && p.nest.loops == new.loops);
                match like.map(|part| part.loops.clone()) {
                    Some(at) => added.iter_mut().for_each(|part| part.loops = at.clone()),
                    None if same => {}
                    None => return None,
                }
            }
        }
        parts.append(&mut added);
        Some(parts)
    }
}

/// Returns the loops by which a kernel iterates over a tensor of this shape, if it reads each element once.
fn positions(kernel: &Fused, value: Value, shape: &[i64]) -> Option<SmallVec<[usize; 6]>> {
    kernel.nodes.iter().find_map(|(data, _)| match data {
        NodeData::Load { buffer, index, .. } if kernel.buffers[*buffer].0 == value => {
            let mut loops: SmallVec<[usize; 6]> = SmallVec::new();
            for (index, &size) in index.iter().zip(shape) {
                match index {
                    &Index::Loop(l) if !loops.contains(&l) && kernel.loops[l] == size => loops.push(l),
                    _ => return None,
                }
            }
            (loops.len() == kernel.loops.len()).then_some(loops)
        }
        _ => None,
    })
}

impl Lowering<'_> {
    /// Adds an op to a waiting kernel, or makes it a new waiting kernel.
    pub(in crate::execute) fn wait(
        &mut self,
        op: Op,
        nest: Nest,
        waiting: &mut Waiting,
        steps: &mut Steps,
    ) -> Result<(), Diagnostic> {
        let new = self.group(vec![Part::alone(op, nest)])?;
        for i in (0..waiting.0.len()).rev() {
            if new.open
                && waiting.0[i].open
                && let Some(both) = self.together(&waiting.0[i], &new)?
            {
                waiting.0[i] = both;
                return Ok(());
            }
            // The op can't run before a kernel that it shares memory with.
            if self.depends(&waiting.0[i], &new) {
                break;
            }
        }
        waiting.0.push(new);
        if waiting.0.len() > WAITING {
            let first = waiting.0.remove(0);
            self.write(first, steps);
        }
        Ok(())
    }

    /// Writes all waiting kernels.
    pub(in crate::execute) fn write_all(&mut self, waiting: &mut Waiting, steps: &mut Steps) {
        waiting.0.drain(..).for_each(|group| self.write(group, steps));
    }

    fn write(&mut self, group: Group, steps: &mut Steps) {
        let Some((last, others)) = group.parts.split_last() else { return };
        let op = last.op;
        if !others.is_empty() {
            let bytes = group.slots.iter().map(|&slot| self.out.slots[slot].bytes).sum();
            self.out.shared.insert(op, SharedKernel { others: others.iter().map(|part| part.op).collect(), bytes });
        }
        let step = self.written(&group.kernel, group.slots);
        steps.push((op, step));
    }

    fn group(&mut self, parts: Vec<Part>) -> Result<Group, Diagnostic> {
        let program = self.program;
        let mut kernel = build(program, &self.buffers.fusion, &parts);
        // Results of accumulators come first.
        let (ends, each): (Vec<&Part>, Vec<&Part>) =
            parts.iter().filter(|p| p.stored).partition(|p| !p.nest.init.is_empty());
        let results: Vec<Value> = ends.into_iter().chain(each).flat_map(|p| program.results(p.op)).collect();
        let slots = self.slots_of_kernel(&mut kernel, &results)?;
        let innermost = Innermost::of(&kernel, self.target);
        let is_complex = kernel.nodes.iter().any(|node| node.1.is_complex());
        let open = !is_complex && !is_update(&kernel);
        Ok(Group { parts, kernel, slots, innermost, open })
    }

    /// Merges both kernels into one, if that saves reading and computes the same.
    fn together(&mut self, old: &Group, new: &Group) -> Result<Option<Group>, Diagnostic> {
        let program = self.program;
        let Some(mut parts) = old.gains(new, program).then(|| old.with(new, program)).flatten() else {
            return Ok(None);
        };
        let ops: Vec<Op> = parts.iter().map(|part| part.op).collect();
        for part in &mut parts {
            let (fusion, uses) = (&self.buffers.fusion, self.uses());
            let mut results = program.results(part.op);
            part.stored =
                !part.nest.init.is_empty() || results.any(|value| !are_all_readers(program, fusion, uses, value, &ops));
        }
        let both = self.group(parts)?;
        Ok(self.is_right(old, new, &both).then_some(both))
    }

    /// Returns whether the merged kernel has the same results as both kernels one after the other, and is as fast.
    fn is_right(&self, old: &Group, new: &Group, both: &Group) -> bool {
        let k = &both.kernel;
        let operations = k.nodes.iter().filter(|n| matches!(n.0, NodeData::Op(..))).count();
        let reads_own = k.buffers.iter().any(|b| both.results(self.program).any(|result| result == b.0));
        let mixed = both.reduces() && both.parts.iter().any(|part| part.nest.init.is_empty());
        operations <= OPERATIONS
            && both.slots.len() <= TENSORS
            && !reads_own
            && !(mixed && columns_innermost(k))
            && is_as_fast(both.innermost, old.innermost, new.innermost)
            && self.shares_no_memory(both)
    }

    /// Returns whether each result has memory that no other result has, and that the kernel doesn't read except for
    /// elements that it overwrites in place.
    fn shares_no_memory(&self, group: &Group) -> bool {
        let k = &group.kernel;
        let place = |slot: Slot| {
            let slot = &self.out.slots[slot];
            (slot.offset, slot.offset + slot.bytes)
        };
        let apart = |a: Slot, b: Slot| {
            let (a, b) = (place(a), place(b));
            a.1 <= b.0 || b.1 <= a.0
        };
        let (read, own) = group.slots.split_at(k.buffers.len());
        let mut written: Vec<Slot> = own.to_vec();
        for (i, output) in k.outputs.iter().enumerate() {
            let Some(buffer) = output.in_place else { continue };
            let each = i >= k.accumulators.len();
            if !each || !is_read_where_stored(k, i, buffer) {
                return false;
            }
            written.push(read[buffer]);
        }
        let overwritten = |buffer: usize| k.overwritten().any(|b| b == buffer);
        let mut pairs = written.iter().enumerate().flat_map(|(i, &a)| written[..i].iter().map(move |&b| (a, b)));
        let reads = read.iter().enumerate();
        let apart_from_reads =
            |&to: &Slot| reads.clone().all(|(i, &from)| from == to && overwritten(i) || apart(from, to));
        pairs.all(|(a, b)| apart(a, b)) && written.iter().all(apart_from_reads)
    }

    /// Returns whether the second kernel can't run before the first.
    fn depends(&self, first: &Group, second: &Group) -> bool {
        let access = |group: &Group| -> Vec<(Slot, bool)> {
            let k = &group.kernel;
            let writes = |i: usize| i >= k.buffers.len() || k.overwritten().any(|b| b == i);
            group.slots.iter().enumerate().map(|(i, &slot)| (slot, writes(i))).collect()
        };
        let (first, second) = (access(first), access(second));
        first.iter().any(|a| {
            let meets = |b: &(Slot, bool)| {
                let (x, y) = (&self.out.slots[a.0], &self.out.slots[b.0]);
                x.offset < y.offset + y.bytes && y.offset < x.offset + x.bytes
            };
            second.iter().any(|b| (a.1 || b.1) && meets(b))
        })
    }
}

/// Returns whether the innermost loop of the merged kernel has as long vectors and enough positions, compared with both
/// kernels.
fn is_as_fast(both: Innermost, old: Innermost, new: Innermost) -> bool {
    let (written, length) = match (old.vectors, new.vectors) {
        (Some(a), Some(b)) => (both.vectors >= Some(a.min(b)), old.length.max(new.length)),
        // LLVM finds the vectors of sums.
        (None, None) => (both.even || !old.even && !new.even, old.length.max(new.length)),
        (sum, _) => (both.even && both.vectors.is_none(), if sum.is_none() { old.length } else { new.length }),
    };
    written && both.length >= LONG.min(length)
}

/// Returns whether a kernel reads a buffer only where it stores a result.
fn is_read_where_stored(k: &Fused, result: usize, buffer: usize) -> bool {
    let ranges = k.ranges();
    let stored = match &k.outputs[result].each {
        Some(at) => Affine::of(at, &ranges),
        None => {
            let loops: Vec<Index> = (0..k.parallel).map(Index::Loop).collect();
            Affine::offset(&loops, &k.loops[..k.parallel], &ranges)
        }
    };
    k.nodes.iter().all(|(data, _)| match data {
        NodeData::Load { buffer: b, index, .. } if *b == buffer => {
            Affine::offset(index, &k.buffers[buffer].2, &ranges).minus(&stored) == Some(0)
        }
        _ => true,
    })
}

/// Returns whether all users of a value are computed in kernels of these ops.
fn are_all_readers(program: &Program, fusion: &Fusion, uses: &Uses, value: Value, ops: &[Op]) -> bool {
    let (mut values, mut seen) = (vec![value], FxHashSet::default());
    while let Some(value) = values.pop() {
        for &(reader, _) in uses.get(value) {
            if fusion.is_folded(reader) {
                values.extend(program.results(reader).filter(|&v| seen.insert(v)));
            } else if !ops.contains(&reader) {
                return false;
            }
        }
    }
    true
}

#[cfg(test)]
mod tests;
