//! Fusion: the decision which ops share a kernel. Machine code, cost estimates and plans all follow it.
//!
//! An op is folded into its users' kernels if computing its elements there costs no more than storing them: if all its
//! users are in one kernel, or the op only moves elements. Reductions, products and everything that isn't a loop nest
//! store their results. [`FusionModel`] has the parameters in which compilers differ.

use std::sync::Arc;

use rustc_hash::FxHashMap;
use smallvec::SmallVec;

use super::facts::{Facts, SAME, SCALAR};
use crate::ir::{Block, Op, OpRef, Program, Value, ValueSource, op_key};
use crate::memory::is_computed_by_host;
use crate::ops::func;

/// The largest number of instructions in a kernel. Longer kernels spill registers: a chain of a thousand ran at a third
/// of the speed of ten chains of a hundred.
const MAX_WEIGHT: u32 = 100;

/// The largest number of kernels in which an op that only moves elements is repeated, unless its inputs are small.
const MAX_COPIES: usize = 4;

/// Inputs are small if the op's result is at least this many times larger than all of them.
const SMALL: u64 = 4;

/// The parameters of fusion in which compilers differ.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct FusionModel {
    /// Whether an op that computes is folded into a kernel that runs more often than the op has elements, so that each
    /// element is computed several times.
    pub recomputes: bool,
    /// Whether some ops have no machine code ([`Facts::compiled`]), so that no kernel mixes both kinds, and others have
    /// special code that reads memory ([`Facts::windowed`]).
    pub lacks_code: bool,
}

impl FusionModel {
    /// Our runtime's kernels, by which per-device programs are priced and run.
    pub const NATIVE: Self = Self { recomputes: false, lacks_code: true };

    /// The target's compiler, by which plans are priced: arithmetic is cheap there, memory traffic is not.
    pub const TARGET: Self = Self { recomputes: true, lacks_code: false };
}

/// The number of a producer that isn't among the nodes.
pub const NONE: u32 = u32::MAX;

/// An op as input of [`decide`].
#[derive(Clone, Debug)]
pub struct Node {
    /// The properties of its loop nest; an op without them reads and writes memory.
    pub facts: Option<Arc<Facts>>,
    /// A number that identifies how often it runs: a loop may run one block more often than another.
    pub runs: u32,
    /// Whether the host computes it, and not the device.
    pub by_host: bool,
    /// The nodes that make its operands, or [`NONE`] for arguments of blocks and the like.
    pub operands: SmallVec<[u32; 3]>,
}

/// The nodes whose kernels compute a node: only the node itself if it stores its results.
pub type Roots = SmallVec<[u32; 2]>;

/// Returns, for each node (nodes are in program order), the kernels in which it is computed.
pub fn decide(nodes: &[Node], model: FusionModel) -> Vec<Roots> {
    let mut starts = vec![0u32; nodes.len() + 1];
    let producers = |n: &Node| n.operands.clone().into_iter().enumerate().filter(|o| o.1 != NONE);
    for node in nodes {
        producers(node).for_each(|(_, p)| starts[p as usize + 1] += 1);
    }
    for i in 0..nodes.len() {
        starts[i + 1] += starts[i];
    }
    let mut readers = vec![(0u32, 0u32); starts[nodes.len()] as usize];
    let mut next = starts.clone();
    for (i, node) in nodes.iter().enumerate() {
        for (operand, p) in producers(node) {
            readers[next[p as usize] as usize] = (i as u32, operand as u32);
            next[p as usize] += 1;
        }
    }
    let mut decision = Decision {
        nodes,
        model,
        light: light(nodes),
        roots: vec![Roots::new(); nodes.len()],
        places: vec![Vec::new(); nodes.len()],
        weights: vec![0; nodes.len()],
    };
    for i in (0..nodes.len()).rev() {
        let readers = &readers[starts[i] as usize..starts[i + 1] as usize];
        if !decision.folds(i, readers) {
            decision.roots[i] = Roots::from_slice(&[i as u32]);
            decision.places[i] = vec![(i as u32, SAME)];
            decision.weights[i] = nodes[i].facts.as_ref().map_or(0, |f| f.weight);
        }
    }
    decision.roots
}

/// Returns, for each node, the bytes that recomputing its result must read, through ops that only move elements.
fn light(nodes: &[Node]) -> Vec<u64> {
    let mut light: Vec<u64> = Vec::with_capacity(nodes.len());
    for node in nodes {
        light.push(match node.facts.as_ref().filter(|f| f.copies) {
            Some(facts) => facts.reads.iter().fold(0, |sum: u64, read| {
                let made = node.operands.get(read.operand as usize).filter(|&&p| p != NONE);
                sum.saturating_add(made.map_or(read.bytes, |&p| read.bytes.min(light[p as usize])))
            }),
            None => u64::MAX,
        });
    }
    light
}

struct Decision<'a> {
    nodes: &'a [Node],
    model: FusionModel,
    light: Vec<u64>,
    roots: Vec<Roots>,
    /// The places where each node is computed: the kernel, and a number for the positions of its elements among the
    /// kernel's loops. An element needed twice at the same position is computed once.
    places: Vec<Vec<(u32, u64)>>,
    /// Number of instructions in each kernel so far.
    weights: Vec<u32>,
}

impl Decision<'_> {
    /// Returns whether node `i` is folded into the kernels of its `readers` (node and operand); if so, records it
    /// there.
    fn folds(&mut self, i: usize, readers: &[(u32, u32)]) -> bool {
        let node = &self.nodes[i];
        let Some(facts) = node.facts.as_ref().filter(|f| f.maps && !f.product) else { return false };
        let mut places: Vec<(u32, u64)> = Vec::new();
        for &(reader, operand) in readers {
            let Some(reading) = &self.nodes[reader as usize].facts else { return false };
            let windowed = reading.windowed.contains(&operand);
            if self.nodes[reader as usize].by_host != node.by_host {
                return false;
            }
            let apart = self.model.lacks_code && (reading.compiled != facts.compiled || windowed);
            if apart || !reading.reads_plainly(operand) {
                return false;
            }
            for read in reading.reads.iter().filter(|r| r.operand == operand) {
                places.extend(self.places[reader as usize].iter().map(|&(root, at)| (root, through(at, read.map))));
            }
        }
        places.sort_unstable();
        places.dedup();
        let mut roots = Roots::new();
        let (mut here, mut often) = (true, false);
        for kernel in places.chunk_by(|a, b| a.0 == b.0) {
            let root = kernel[0].0 as usize;
            let grown = self.weights[root].saturating_add(facts.weight.saturating_mul(kernel.len() as u32));
            if grown > MAX_WEIGHT {
                return false;
            }
            here &= self.nodes[root].runs == node.runs;
            often |= self.nodes[root].facts.as_ref().is_none_or(|f| f.iterations > facts.elements.max(1));
            roots.push(root as u32);
        }
        let small = self.light[i].saturating_mul(SMALL) <= facts.bytes;
        let once = here && roots.len() == 1 && (self.model.recomputes || !often);
        let moved = facts.copies && (small || here && roots.len() <= MAX_COPIES);
        if roots.is_empty() || !(once || moved) {
            return false;
        }
        for &(root, _) in &places {
            self.weights[root as usize] += facts.weight;
        }
        self.roots[i] = roots;
        self.places[i] = places;
        true
    }
}

/// Returns the positions at which an operand is read, given those of its reader.
fn through(at: u64, map: u64) -> u64 {
    match map {
        SAME => at,
        SCALAR => SCALAR,
        _ => (at.rotate_left(5) ^ map).wrapping_mul(0x517c_c1b7_2722_0a95).max(SCALAR + 1),
    }
}

/// A value in memory that a kernel reads.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Source {
    /// The value.
    pub value: Value,
    /// Whether each iteration reads only the element at its own position.
    pub same: bool,
}

/// The values that a kernel reads from memory, without duplicates.
pub type Sources = SmallVec<[Source; 4]>;

/// The kernels of all ops under a block.
#[derive(Default, Debug)]
pub struct Fusion {
    facts: FxHashMap<Op, Arc<Facts>>,
    /// The ops folded into their users, with the values that the users read for them.
    folded: FxHashMap<Op, Sources>,
}

impl Fusion {
    /// Decides fusion for all ops that run when `block` runs.
    pub fn of(program: &Program, block: Block) -> Self {
        let mut all = Numbered::default();
        all.block(program, block);
        let roots = decide(&all.nodes, FusionModel::NATIVE);
        let mut fusion = Self::default();
        for (i, (node, op)) in all.nodes.into_iter().zip(all.ops).enumerate() {
            if let Some(facts) = node.facts {
                fusion.facts.insert(op, facts);
            }
            if roots[i][..] != [i as u32] {
                let sources = fusion.reads(program, op);
                fusion.folded.insert(op, sources);
            }
        }
        fusion
    }

    /// Returns the properties of an op that is a loop nest.
    pub fn facts(&self, op: Op) -> Option<&Facts> {
        self.facts.get(&op).map(|f| &**f)
    }

    /// Returns whether an op is computed in its users' kernels.
    pub fn is_folded(&self, op: Op) -> bool {
        self.folded.contains_key(&op)
    }

    /// Returns whether a value is ever stored in memory.
    pub fn in_memory(&self, program: &Program, value: Value) -> bool {
        match program.value_source(value) {
            ValueSource::Result(op, _) => !self.is_folded(op),
            ValueSource::Arg(..) => true,
        }
    }

    /// Returns the values in memory that `op` reads, including those for ops folded into it; not those that its regions
    /// read.
    pub fn reads(&self, program: &Program, op: Op) -> Sources {
        let mut sources = Sources::new();
        let operands = &program.op(op).operands;
        let Some(facts) = self.facts(op) else {
            operands.iter().for_each(|&value| add(&mut sources, Source { value, same: false }));
            return sources;
        };
        let mut read = |operand: usize, same: bool| {
            let value = operands[operand];
            match made_by(program, value) {
                // Code for products reads whole operands; other kernels embed the constant's element.
                Some(producer) if is_splat(program, producer) && !facts.product => {}
                Some(producer) if let Some(inner) = self.folded.get(&producer) => {
                    inner.iter().for_each(|s| add(&mut sources, Source { value: s.value, same: s.same && same }));
                }
                _ => add(&mut sources, Source { value, same }),
            }
        };
        facts.reads.iter().for_each(|r| read(r.operand as usize, r.map == SAME));
        if !facts.compiled {
            // The reference evaluation also reads operands that no loop reads.
            (0..operands.len()).for_each(|i| read(i, false));
        }
        for &operand in &facts.positions {
            add(&mut sources, Source { value: operands[operand as usize], same: false });
        }
        sources
    }
}

/// Returns whether an op is a constant that repeats one element; kernels embed that element.
pub fn is_splat(program: &Program, op: Op) -> bool {
    let view = program.view(op);
    view.def().constant(view).is_some_and(|l| l.splat_value().is_some())
}

fn made_by(program: &Program, value: Value) -> Option<Op> {
    match program.value_source(value) {
        ValueSource::Result(op, _) => Some(op),
        ValueSource::Arg(..) => None,
    }
}

fn add(sources: &mut Sources, source: Source) {
    match sources.iter_mut().find(|s| s.value == source.value) {
        Some(known) => known.same &= source.same,
        None => sources.push(source),
    }
}

/// Ops numbered as nodes.
#[derive(Default)]
struct Numbered {
    nodes: Vec<Node>,
    ops: Vec<Op>,
    numbers: FxHashMap<Op, u32>,
    blocks: u32,
    /// The properties of ops with a key; equal layers share them.
    known: FxHashMap<Box<[u32]>, Option<Arc<Facts>>>,
    /// The key of the last op; a buffer for the next.
    key: Vec<u32>,
}

impl Numbered {
    fn block(&mut self, program: &Program, block: Block) {
        self.blocks += 1;
        let runs = self.blocks;
        for &op in program.block_ops(block) {
            let view = program.view(op);
            let facts = self.facts(view);
            self.op(program, op, runs, facts);
            let is_control = view.def().control(view).is_some();
            for &region in &program.op(op).regions {
                for &inner in program.region_blocks(region) {
                    if is_control {
                        self.block(program, inner);
                    } else {
                        program.walk(inner, &mut |op| self.op(program, op, runs, None));
                    }
                }
            }
        }
    }

    fn facts(&mut self, view: OpRef<'_>) -> Option<Arc<Facts>> {
        if view.def().rule_reads_operands() {
            return Facts::of(view).map(Arc::new);
        }
        self.key.clear();
        op_key(view.program, view.op, func::SHARDING, &mut self.key);
        if let Some(known) = self.known.get(&self.key[..]) {
            return known.clone();
        }
        let found = Facts::of(view).map(Arc::new);
        self.known.insert(self.key[..].into(), found.clone());
        found
    }

    fn op(&mut self, program: &Program, op: Op, runs: u32, facts: Option<Arc<Facts>>) {
        let number = |value: &Value| {
            let maker = made_by(program, *value).filter(|&m| program.result_count(m) == 1);
            maker.and_then(|m| self.numbers.get(&m).copied()).unwrap_or(NONE)
        };
        let operands = program.op(op).operands.iter().map(number).collect();
        self.numbers.insert(op, self.nodes.len() as u32);
        let by_host = is_computed_by_host(program.view(op));
        self.nodes.push(Node { facts, runs, by_host, operands });
        self.ops.push(op);
    }
}
