//! Planning of buffers in one walk over a function: records the step of each definition and use, then decides which
//! values share a buffer.

use rustc_hash::{FxHashMap, FxHashSet};
use smallvec::SmallVec;

use super::assign::place;
use super::fusion::Fusion;
use super::liveness::{Interval, Item, Liveness};
use super::{Buffer, BufferId, Buffers, Move};
use crate::id::TiVec;
use crate::ir::{Block, ElementType, Op, Program, Shape, Value, ValueSource};
use crate::kernel::Kernel;
use crate::memory::{MemorySpace, MemorySpaces};
use crate::op::Control;
use crate::ops::func;

/// The data of an item.
struct Held {
    element: ElementType,
    shape: Shape,
    bytes: usize,
    memory: MemorySpace,
    /// Whether it stays although nothing reads it: what the caller holds, constants, results.
    stays: Stays,
}

#[derive(Clone, Copy, PartialEq)]
enum Stays {
    No,
    ToTheEnd,
    Always,
}

/// An item that may take over the buffer of one of several items whose last use is the heir's definition.
struct Heir {
    item: Item,
    from: SmallVec<[Item; 2]>,
}

struct Planner<'a> {
    program: &'a Program,
    fusion: Fusion,
    spaces: MemorySpaces,
    liveness: Liveness,
    held: TiVec<Item, Held>,
    items: FxHashMap<Value, Item>,
    constants: Vec<(Op, Item)>,
    /// The heirs, in order of the items.
    heirs: Vec<Heir>,
    /// The items that a loop's body writes directly into the buffer where the next iteration needs them.
    direct: FxHashMap<Item, Item>,
    before: Vec<(Op, Vec<(Item, Item)>)>,
    after: Vec<(Block, Vec<(Item, Item)>)>,
    steps: FxHashMap<Op, Interval>,
}

pub(super) fn plan(program: &Program, function: Op) -> Buffers {
    let Some(block) = func::block(program, function) else { return Buffers::default() };
    let mut planner = Planner {
        program,
        fusion: Fusion::of(program, block),
        spaces: MemorySpaces::of(program, function),
        liveness: Liveness::default(),
        held: TiVec::new(),
        items: FxHashMap::default(),
        constants: Vec::new(),
        heirs: Vec::new(),
        direct: FxHashMap::default(),
        before: Vec::new(),
        after: Vec::new(),
        steps: FxHashMap::default(),
    };
    for (i, &arg) in program.block_args(block).iter().enumerate() {
        let item = planner.define(arg);
        if !func::is_donated(program, function, i) {
            planner.held[item].stays = Stays::Always;
        }
    }
    planner.block(block);
    planner.liveness.step();
    for item in planner.given(block) {
        planner.liveness.read(item);
        let stays = &mut planner.held[item].stays;
        if *stays == Stays::No {
            *stays = Stays::ToTheEnd;
        }
    }
    planner.finish()
}

impl Planner<'_> {
    fn item(&mut self, element: ElementType, shape: Shape, bytes: usize, memory: MemorySpace) -> Item {
        self.held.push(Held { element, shape, bytes, memory, stays: Stays::No });
        self.liveness.define()
    }

    /// Records that a value is defined at this step.
    fn define(&mut self, value: Value) -> Item {
        let memory = self.spaces.get(value);
        let item = match self.program.tensor_type(value) {
            Some(t) => self.item(t.element, t.shape.clone(), t.bytes().unwrap_or(0), memory),
            None => self.item(ElementType::I8, Shape::new(), 0, memory),
        };
        self.items.insert(value, item);
        item
    }

    /// Records that a value is read at this step. Constants are in memory from the start.
    fn read(&mut self, value: Value) -> Option<Item> {
        if let Some(&item) = self.items.get(&value) {
            self.liveness.read(item);
            return Some(item);
        }
        let ValueSource::Result(op, _) = self.program.value_source(value) else { return None };
        let view = self.program.view(op);
        view.def().constant(view)?;
        let item = self.define(value);
        self.held[item].stays = Stays::Always;
        self.constants.push((op, item));
        Some(item)
    }

    /// Returns the operands of a block's terminator, read at this step.
    fn given(&mut self, block: Block) -> Vec<Item> {
        let last = self.program.terminator(block);
        let values = last.map(|op| self.program.op(op).operands.to_vec()).unwrap_or_default();
        values.into_iter().filter_map(|v| self.read(v)).collect()
    }

    fn block(&mut self, block: Block) {
        let program = self.program;
        for &op in program.block_ops(block) {
            let view = program.view(op);
            let nothing = self.fusion.is_folded(op) || view.def().constant(view).is_some() || view.gives_scalars();
            if view.def().terminator() || nothing {
                continue;
            }
            let first = self.liveness.now() + 1;
            match view.def().control(view) {
                Some(control) => self.control(op, control),
                None => self.op(op),
            }
            self.steps.insert(op, (first, self.liveness.now()));
        }
    }

    fn op(&mut self, op: Op) {
        self.liveness.step();
        let mut dying: SmallVec<[Item; 2]> = SmallVec::new();
        let maps = self.fusion.facts(op).is_some_and(|f| f.maps && f.compiled);
        for source in self.fusion.reads(self.program, op) {
            if let Some(item) = self.read(source.value)
                && source.same
                && maps
            {
                dying.push(item);
            }
        }
        let taken_over = self.taken_over(op);
        // Its regions read values defined outside of the op.
        for &region in &self.program.op(op).regions {
            for &block in self.program.region_blocks(region) {
                self.program.walk(block, &mut |inner| {
                    for value in &self.program.op(inner).operands {
                        if let Some(&item) = self.items.get(value) {
                            self.liveness.read(item);
                        }
                    }
                });
            }
        }
        for (number, value) in self.program.results(op).enumerate() {
            let item = self.define(value);
            let made = &self.held[item];
            let same = |&from: &Item| {
                let from = &self.held[from];
                from.bytes == made.bytes && from.element == made.element && from.memory == made.memory
            };
            let taken = taken_over.iter().filter(|t| t.1 == number).map(|t| t.0);
            let from: SmallVec<[Item; 2]> = dying.iter().copied().chain(taken).filter(same).collect();
            self.heirs.push(Heir { item, from });
        }
    }

    /// Returns the operands of a computation that isn't a loop nest in whose buffer one of its results, given by
    /// number, may be computed; without operands that the op also reads as another operand.
    fn taken_over(&self, op: Op) -> SmallVec<[(Item, usize); 2]> {
        let view = self.program.view(op);
        if self.fusion.facts(op).is_some() {
            return SmallVec::new();
        }
        let Kernel::External(external) = view.def().kernel(view) else { return SmallVec::new() };
        let item = |&value: &Value| self.items.get(&value).copied();
        let items: SmallVec<[Option<Item>; 4]> = view.operands().iter().map(item).collect();
        let alone = |(operand, result): (usize, usize)| {
            let item = items[operand].filter(|i| items.iter().flatten().filter(|other| *other == i).count() == 1)?;
            Some((item, result))
        };
        external.in_place().into_iter().filter_map(alone).collect()
    }

    fn bind(&mut self, values: impl IntoIterator<Item = Value>, items: &[Item]) {
        self.items.extend(values.into_iter().zip(items.iter().copied()));
    }

    fn control(&mut self, op: Op, control: Control) {
        let program = self.program;
        let view = program.view(op);
        let operands = &program.op(op).operands;
        self.liveness.step();
        let blocks: SmallVec<[Block; 2]> = (0..program.op(op).regions.len()).filter_map(|i| view.block(i)).collect();
        match control {
            Control::While => self.whole_loop(op, &blocks),
            Control::If | Control::Case => {
                operands.iter().for_each(|&v| {
                    self.read(v);
                });
                let mut results: Vec<Item> = Vec::new();
                for &block in &blocks {
                    self.block(block);
                    self.liveness.step();
                    let given = self.given(block);
                    if results.is_empty() {
                        results = program.results(op).map(|v| self.define(v)).collect();
                    }
                    self.assign(block, &given, &results);
                }
                results.iter().for_each(|&r| self.liveness.read(r));
            }
            Control::Identity if self.spaces.moved(view).is_some() => {
                let items: Vec<Item> = operands.iter().filter_map(|&v| self.read(v)).collect();
                let copies: Vec<Item> = program.results(op).map(|v| self.define(v)).collect();
                self.before.push((op, items.into_iter().zip(copies).collect()));
            }
            // Values are immutable, so another name needs no other buffer.
            Control::Identity => {
                let items: Vec<Item> = operands.iter().filter_map(|&v| self.read(v)).collect();
                self.bind(program.results(op), &items);
            }
            Control::Manual | Control::Inline if let [block] = blocks[..] => {
                let items: Vec<Item> = operands.iter().filter_map(|&v| self.read(v)).collect();
                // Shards may be smaller than the whole tensors.
                match control {
                    Control::Inline => self.bind(program.block_args(block).iter().copied(), &items),
                    _ => program.block_args(block).iter().for_each(|&arg| {
                        self.define(arg);
                    }),
                }
                self.block(block);
                self.liveness.step();
                let given = self.given(block);
                match control {
                    Control::Inline => self.bind(program.results(op), &given),
                    _ => program.results(op).for_each(|v| {
                        self.define(v);
                    }),
                }
            }
            _ => {
                operands.iter().for_each(|&v| {
                    self.read(v);
                });
                program.results(op).for_each(|v| {
                    self.define(v);
                });
            }
        }
    }

    /// Plans a loop: its results share buffers with the loop-carried values, and these with the initial values if those
    /// have no other use.
    fn whole_loop(&mut self, op: Op, blocks: &[Block]) {
        let program = self.program;
        let operands = &program.op(op).operands;
        let initial: Vec<Item> = operands.iter().filter_map(|&v| self.read(v)).collect();
        let carried: Vec<Item> = program.results(op).map(|v| self.define(v)).collect();
        let near = |(item, from): &(Item, Item)| self.held[*item].memory == self.held[*from].memory;
        let pairs = carried.iter().copied().zip(initial.iter().copied());
        let near: Vec<(Item, Item)> = pairs.filter(near).collect();
        // The others begin with copies, which are made before the loop.
        let mut taken: FxHashSet<Item> = FxHashSet::default();
        for (item, from) in near {
            if taken.insert(from) {
                self.heirs.push(Heir { item, from: SmallVec::from_slice(&[from]) });
            }
        }
        self.before.push((op, initial.into_iter().zip(carried.iter().copied()).collect()));
        self.liveness.enter();
        for (i, &block) in blocks.iter().enumerate() {
            self.bind(program.block_args(block).iter().copied(), &carried);
            self.block(block);
            self.liveness.step();
            if i == 0 {
                self.given(block);
                continue;
            }
            self.make_direct(block, &carried);
            let given = self.given(block);
            self.assign(block, &given, &carried);
        }
        carried.iter().for_each(|&c| self.liveness.read(c));
        self.liveness.leave();
    }

    /// Lets a loop's body write the next value of a carried value into the same buffer if the old value has no later
    /// use.
    fn make_direct(&mut self, body: Block, carried: &[Item]) {
        let Some(&first) = carried.first() else { return };
        let last = self.program.terminator(body);
        let values = last.map(|op| &self.program.op(op).operands[..]).unwrap_or_default();
        let next: Vec<Option<Item>> = values.iter().map(|v| self.items.get(v).copied()).collect();
        let given = counts(next.iter().flatten());
        let taken = counts(carried);
        let before = self.liveness.live(first).0;
        for (&to, from) in carried.iter().zip(&next) {
            let Some(from) = *from else { continue };
            let (made, read) = (self.liveness.live(from).0, self.liveness.live(to).1);
            let over = || {
                let heir = self.heirs.binary_search_by_key(&from, |h| h.item);
                heir.is_ok_and(|i| self.heirs[i].from.contains(&to))
            };
            let free = read < made || read == made && over();
            let alone = given[&from] == 1 && !taken.contains_key(&from) && !given.contains_key(&to);
            let near = self.held[from].memory == self.held[to].memory;
            if free && alone && near && made > before && self.held[from].stays == Stays::No {
                self.direct.insert(from, to);
            }
        }
    }

    /// Copies the terminator's operands to the `wanted` buffers as if all at once: a buffer that is both read and
    /// written is copied through a temporary.
    fn assign(&mut self, block: Block, given: &[Item], wanted: &[Item]) {
        let mut moves: Vec<(Item, Item)> =
            given.iter().copied().zip(wanted.iter().copied()).filter(|m| m.0 != m.1).collect();
        let written: FxHashSet<Item> = moves.iter().map(|m| m.1).collect();
        let mut copies: Vec<(Item, Item)> = Vec::new();
        for (from, _) in &mut moves {
            if written.contains(from) {
                let held = &self.held[*from];
                let copy = self.item(held.element, held.shape.clone(), held.bytes, held.memory);
                copies.push((*from, copy));
                *from = copy;
            }
        }
        self.liveness.step();
        for &(from, to) in &moves {
            self.liveness.read(from);
            self.liveness.read(to);
        }
        copies.extend(moves);
        self.after.push((block, copies));
    }

    /// Decides which items share a buffer, and the offsets of the buffers.
    fn finish(mut self) -> Buffers {
        let end = self.liveness.step();
        let mut live: TiVec<Item, Interval> = self.liveness.intervals().to_vec();
        for (held, live) in self.held.iter().zip(&mut live) {
            match held.stays {
                Stays::No => {}
                Stays::ToTheEnd => live.1 = end,
                Stays::Always => *live = (0, end),
            }
        }
        // In program order, so that an item's first owner is known before another item takes it over.
        let mut owner: TiVec<Item, Item> = self.held.keys().collect();
        for heir in &self.heirs {
            let at = live[heir.item].0;
            let dying = heir.from.iter().find(|f| live[**f].1 == at);
            let from = self.direct.get(&heir.item).or(dying);
            if let Some(from) = from {
                owner[heir.item] = owner[*from];
            }
        }
        let mut buffer_of: TiVec<Item, BufferId> = TiVec::with_capacity(owner.len());
        let mut buffers: TiVec<BufferId, Buffer> = TiVec::new();
        for (i, held) in self.held.iter_enumerated() {
            let id = if owner[i] == i {
                let (element, shape, bytes) = (held.element, held.shape.clone(), held.bytes);
                let memory = held.memory;
                buffers.push_and_get_key(Buffer { element, shape, bytes, memory, live: live[i], offset: 0 })
            } else {
                let id = buffer_of[owner[i]];
                let shared = &mut buffers[id];
                shared.live.1 = shared.live.1.max(live[i].1);
                id
            };
            buffer_of.push(id);
        }
        let device_bytes = place_in(MemorySpace::Device, &mut buffers, 0, end);
        let host_bytes = match self.spaces.any_on_host() {
            true => place_in(MemorySpace::Host, &mut buffers, device_bytes, end),
            false => 0,
        };
        let of = |item: Item| buffer_of[item];
        let moves = |list: Vec<(Item, Item)>| -> Vec<Move> {
            list.into_iter().map(|(a, b)| (of(a), of(b))).filter(|m| m.0 != m.1).collect()
        };
        Buffers {
            buffers,
            device_bytes,
            host_bytes,
            of_value: self.items.iter().map(|(&v, &i)| (v, of(i))).collect(),
            constants: self.constants.iter().map(|&(op, i)| (op, of(i))).collect(),
            before: self.before.into_iter().map(|(op, list)| (op, moves(list))).collect(),
            after: self.after.into_iter().map(|(block, list)| (block, moves(list))).collect(),
            fusion: self.fusion,
            steps: self.steps,
        }
    }
}

/// Places the buffers of one memory after the first `base` bytes; returns how many bytes they take.
fn place_in(memory: MemorySpace, buffers: &mut TiVec<BufferId, Buffer>, base: usize, end: u32) -> usize {
    let mut own: Vec<&mut Buffer> = buffers.iter_mut().filter(|b| b.memory == memory).collect();
    let lives: Vec<(Interval, usize)> = own.iter().map(|b| (b.live, b.bytes)).collect();
    let (offsets, bytes) = place(&lives, end);
    own.iter_mut().zip(offsets).for_each(|(buffer, offset)| buffer.offset = base + offset);
    bytes
}

/// How often each item occurs.
fn counts<'i>(items: impl IntoIterator<Item = &'i super::Item>) -> FxHashMap<Item, usize> {
    let mut counts = FxHashMap::default();
    for &item in items {
        *counts.entry(item).or_insert(0) += 1;
    }
    counts
}
