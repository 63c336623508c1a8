//! Which memory each value is in: a device's own, or that of its host.
//!
//! Arguments of `@main` name a memory kind, and ops say by their [`Residence`] whether a device computes their results,
//! they are copied to a memory, or they stay in the memory that operands are in. From these [`MemorySpaces`] follows
//! the others: what loops carry, what branches return, and buffers that are filled with a constant and then written to.

use crate::disjoint_sets::DisjointSets;
use crate::ir::{Block, Op, OpRef, Program, Value};
use crate::op::{Constancy, Control};
use crate::ops::{func, mhlo};

/// The attribute of arguments and results of `@main` that names their memory kind.
pub const MEMORY_KIND: &str = "mhlo.memory_kind";

/// The memory kinds that programs may name, for messages.
pub const KNOWN_KINDS: &str = "write \"device\", \"pinned_host\" or \"unpinned_host\"";

/// A memory that a device can read.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum MemorySpace {
    /// The device's own.
    Device,
    /// The memory of its host.
    Host,
}

impl MemorySpace {
    /// Returns the memory with this name in JAX; `None` for an unknown one.
    pub fn of_kind(kind: &str) -> Option<Self> {
        match kind {
            "device" => Some(Self::Device),
            "pinned_host" | "unpinned_host" => Some(Self::Host),
            _ => None,
        }
    }

    /// Returns a name of it in JAX.
    pub fn kind(self) -> &'static str {
        match self {
            Self::Device => "device",
            Self::Host => "pinned_host",
        }
    }

    /// Returns the memory that attribute [`MEMORY_KIND`] of a result of `function` names.
    pub fn of_result(program: &Program, function: Op, i: usize) -> Option<Self> {
        let kind = func::result_attr(program, function, i, MEMORY_KIND)?;
        program.attr_data(kind).as_str().and_then(Self::of_kind)
    }

    /// Returns the same of an argument, which is in a device's memory if it names none.
    fn of_argument(program: &Program, function: Op, i: usize) -> Self {
        let kind = func::arg_attr(program, function, i, MEMORY_KIND);
        kind.and_then(|kind| program.attr_data(kind).as_str()).and_then(Self::of_kind).unwrap_or(Self::Device)
    }
}

/// Where an op's results are in memory.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Residence {
    /// In the memory of the device, which computes them.
    Computed,
    /// They are copies of the operands in this memory.
    Moved(MemorySpace),
    /// The result is in the memory that the first operand is in: a slice of it, or another shape.
    Shared,
    /// The result is the first operand with the second one written into it, and in the first one's memory; in that of
    /// the second one if the first one is a new buffer.
    Updated,
}

/// The memory of every value under a function.
#[derive(Clone, Default, Debug)]
pub struct MemorySpaces {
    /// By value, whether it is in the host's memory; empty if none is.
    host: Vec<bool>,
}

impl MemorySpaces {
    /// Finds the memory of all values under `function`, a function without calls.
    pub fn of(program: &Program, function: Op) -> Self {
        let Some(block) = func::block(program, function) else { return Self::default() };
        let arguments = program.block_args(block);
        let spaces = (0..arguments.len()).map(|i| MemorySpace::of_argument(program, function, i));
        let spaces: Vec<MemorySpace> = match program.attr(function, func::ARG_ATTRS) {
            Some(_) => spaces.collect(),
            None => vec![MemorySpace::Device; arguments.len()],
        };
        if !spaces.contains(&MemorySpace::Host) && !any_on_host(program, block) {
            return Self::default();
        }
        let mut walk = Walk {
            program,
            known: vec![KnownSpace::Open; program.value_count()],
            ties: Vec::new(),
            updates: Vec::new(),
        };
        for (&argument, space) in arguments.iter().zip(spaces) {
            walk.set(argument, KnownSpace::In(space));
        }
        walk.block(block);
        Self { host: walk.finish(block) }
    }

    /// Returns whether any value is in the host's memory.
    pub fn any_on_host(&self) -> bool {
        !self.host.is_empty()
    }

    /// Returns whether this value is in the host's memory.
    pub fn is_on_host(&self, value: Value) -> bool {
        self.host.get(value.index()).copied().unwrap_or(false)
    }

    /// Returns the memory of a value.
    pub fn get(&self, value: Value) -> MemorySpace {
        if self.is_on_host(value) { MemorySpace::Host } else { MemorySpace::Device }
    }

    /// Returns the memory that an op copies its operand to, if the operand is in another one.
    pub fn moved(&self, op: OpRef<'_>) -> Option<MemorySpace> {
        let Residence::Moved(to) = op.def().residence(op) else { return None };
        let operand = *op.operands().first()?;
        (self.get(operand) != to).then_some(to)
    }
}

/// Returns whether the host computes an op, as JAX's `compute_on` asks.
pub fn is_computed_by_host(op: OpRef<'_>) -> bool {
    mhlo::frontend_attribute(op, "_xla_compute_type") == Some("host")
}

fn any_on_host(program: &Program, block: Block) -> bool {
    program.block_ops(block).iter().any(|&op| {
        let view = program.view(op);
        let own = view.def().residence(view) == Residence::Moved(MemorySpace::Host) || is_computed_by_host(view);
        let regions = &program.op(op).regions;
        own || regions.iter().flat_map(|&r| program.region_blocks(r)).any(|&inner| any_on_host(program, inner))
    })
}

#[derive(Clone, Copy, PartialEq)]
enum KnownSpace {
    /// In the memory of values that it is tied to.
    Open,
    /// The same, but nothing is copied to make it, so that it ties nothing together: a constant, or one everywhere.
    Fill,
    In(MemorySpace),
}

/// A walk over a function that collects which values are in one memory.
struct Walk<'p> {
    program: &'p Program,
    known: Vec<KnownSpace>,
    ties: Vec<(Value, Value)>,
    /// What is written into a buffer, and the buffer then.
    updates: Vec<(Value, Value)>,
}

impl Walk<'_> {
    fn set(&mut self, value: Value, known: KnownSpace) {
        self.known[value.index()] = known;
    }

    fn tie(&mut self, a: &[Value], b: impl IntoIterator<Item = Value>) {
        self.ties.extend(a.iter().copied().zip(b));
    }

    fn block(&mut self, block: Block) {
        let program = self.program;
        for &op in program.block_ops(block) {
            let view = program.view(op);
            match view.def().control(view) {
                Some(control) => self.control(view, control),
                None => self.computation(view),
            }
        }
    }

    fn computation(&mut self, view: OpRef<'_>) {
        let def = view.def();
        let known = match def.residence(view) {
            _ if is_computed_by_host(view) => KnownSpace::In(MemorySpace::Host),
            Residence::Moved(space) => KnownSpace::In(space),
            at @ (Residence::Shared | Residence::Updated) => {
                let (operands, result) = (view.operands(), self.program.result(view.op, 0));
                self.ties.push((operands[0], result));
                if at == Residence::Updated {
                    self.updates.push((operands[1], result));
                }
                return;
            }
            Residence::Computed if self.is_fill(view) => KnownSpace::Fill,
            Residence::Computed => KnownSpace::In(MemorySpace::Device),
        };
        view.results().for_each(|result| self.set(result, known));
    }

    /// Returns whether an op fills its result with one element, or with what follows from positions.
    fn is_fill(&self, view: OpRef<'_>) -> bool {
        match view.def().constancy(view) {
            Constancy::Source => true,
            Constancy::Broadcast => view.operand_tensor(0).is_some_and(|t| t.rank() == 0),
            _ => false,
        }
    }

    fn control(&mut self, view: OpRef<'_>, control: Control) {
        let program = self.program;
        let blocks = (0..program.op(view.op).regions.len()).filter_map(|i| view.block(i));
        blocks.for_each(|block| self.block(block));
        let results: Vec<Value> = view.results().collect();
        match control {
            Control::Identity => match view.def().residence(view) {
                Residence::Moved(space) => results.iter().for_each(|&result| self.set(result, KnownSpace::In(space))),
                _ => self.tie(&results, view.operands().iter().copied()),
            },
            Control::While => {
                self.tie(&results, view.operands().iter().copied());
                self.tie(&results, view.region_args(0).iter().copied());
                self.tie(&results, view.region_args(1).iter().copied());
                self.tie(&results, view.region_results(1).iter().copied());
            }
            Control::If | Control::Case => {
                for i in 0..program.op(view.op).regions.len() {
                    self.tie(&results, view.region_results(i).iter().copied());
                }
            }
            Control::Inline | Control::Manual => {
                self.tie(view.region_args(0), view.operands().iter().copied());
                self.tie(&results, view.region_results(0).iter().copied());
            }
            Control::Call => results.iter().for_each(|&result| self.set(result, KnownSpace::In(MemorySpace::Device))),
        }
    }

    /// By value, whether it is in the host's memory.
    fn finish(self, block: Block) -> Vec<bool> {
        let Self { program, known, ties, updates } = self;
        let mut groups = DisjointSets::new(known.len() as u32);
        let is_open = |v: Value| known[v.index()] == KnownSpace::Open;
        for &(a, b) in ties.iter().filter(|(a, b)| is_open(*a) && is_open(*b)) {
            groups.join(a.index() as u32, b.index() as u32);
        }
        let group: Vec<usize> = (0..known.len()).map(|i| groups.root(i as u32) as usize).collect();
        // By group. Of two memories it is the host's, since a loop carries a buffer in one.
        let mut space: Vec<Option<MemorySpace>> = vec![None; known.len()];
        let both = |&(a, b): &(Value, Value)| [(a, b), (b, a)];
        for (open, other) in ties.iter().flat_map(both).filter(|(open, _)| is_open(*open)) {
            if let KnownSpace::In(there) = known[other.index()] {
                let here = &mut space[group[open.index()]];
                *here = if there == MemorySpace::Host { Some(there) } else { here.or(Some(there)) };
            }
        }
        let on_host = |space: &[Option<MemorySpace>], i: usize| match known[i] {
            KnownSpace::Open => space[group[i]] == Some(MemorySpace::Host),
            KnownSpace::In(space) => space == MemorySpace::Host,
            KnownSpace::Fill => false,
        };
        // New buffers are where what is first written into them is. A second round finds what loops carry to earlier
        // ones.
        let mut changed = true;
        while std::mem::take(&mut changed) {
            for (update, buffer) in &updates {
                let here = group[buffer.index()];
                if space[here].is_none() && on_host(&space, update.index()) {
                    space[here] = Some(MemorySpace::Host);
                    changed = true;
                }
            }
        }
        let mut host: Vec<bool> = (0..known.len()).map(|i| on_host(&space, i)).collect();
        // The host fills a buffer if all that reads it is on the host.
        let mut tied = vec![0usize; known.len()];
        for (fill, other) in ties.iter().chain(&updates).flat_map(both) {
            tied[fill.index()] += usize::from(known[fill.index()] == KnownSpace::Fill && host[other.index()]);
        }
        if tied.iter().any(|&count| count > 0) {
            let mut reads = vec![0usize; known.len()];
            program.walk(block, &mut |op| program.op(op).operands.iter().for_each(|v| reads[v.index()] += 1));
            for i in 0..known.len() {
                host[i] |= tied[i] > 0 && tied[i] == reads[i];
            }
        }
        host
    }
}
