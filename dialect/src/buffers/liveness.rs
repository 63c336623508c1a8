//! From when to when a value is needed, loops included: the one clock that all who ask go by.

use rustc_hash::FxHashMap;

use crate::ir::{Block, Op, Program, Value};

/// First and last step at which something is needed.
pub type Interval = (u32, u32);

/// Something that is held from a step to another, by number.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub struct Item(pub u32);

/// Steps in program order, and what is held when. A step first makes its results while all it reads is still there;
/// what nobody reads any more is gone at the next.
#[derive(Default, Debug)]
pub struct Timeline {
    now: u32,
    live: Vec<Interval>,
    /// What was read in loops that aren't over: candidates for being held to their end.
    read: Vec<Item>,
    /// Loops that aren't over: their first step, and how much had been read before.
    loops: Vec<(u32, usize)>,
}

impl Timeline {
    /// The next step.
    pub fn step(&mut self) -> u32 {
        self.now += 1;
        self.now
    }

    /// The current step.
    pub fn now(&self) -> u32 {
        self.now
    }

    /// Something made at this step.
    pub fn define(&mut self) -> Item {
        self.live.push((self.now, self.now));
        Item((self.live.len() - 1) as u32)
    }

    /// It is read, or written again, at this step.
    pub fn read(&mut self, item: Item) {
        let live = &mut self.live[item.0 as usize];
        live.1 = live.1.max(self.now);
        if !self.loops.is_empty() {
            self.read.push(item);
        }
    }

    /// What follows, up to [`Timeline::leave`], may run many times.
    pub fn enter(&mut self) {
        self.loops.push((self.now + 1, self.read.len()));
    }

    /// The loop ends with this step. What was there before it and is read in it is needed until now: it may be read
    /// again.
    pub fn leave(&mut self) {
        let Some((start, mark)) = self.loops.pop() else { return };
        let mut kept = mark;
        for i in mark..self.read.len() {
            let item = self.read[i];
            let live = &mut self.live[item.0 as usize];
            if live.0 < start {
                live.1 = live.1.max(self.now);
                self.read[kept] = item;
                kept += 1;
            }
        }
        self.read.truncate(if self.loops.is_empty() { 0 } else { kept });
    }

    /// From when to when something is held.
    pub fn live(&self, item: Item) -> Interval {
        self.live[item.0 as usize]
    }

    /// All intervals, by item.
    pub fn intervals(&self) -> &[Interval] {
        &self.live
    }
}

/// The most that is held at once: the largest sum over all steps of what lives then.
pub fn peak(held: impl IntoIterator<Item = (Interval, f64)>) -> f64 {
    let mut changes: Vec<(u32, f64)> = Vec::new();
    for ((first, last), bytes) in held {
        changes.push((first, bytes));
        changes.push((last + 1, -bytes));
    }
    // At one step what is gone goes first.
    changes.sort_by(|a, b| a.0.cmp(&b.0).then(a.1.total_cmp(&b.1)));
    let (mut sum, mut most) = (0.0, 0.0f64);
    for (_, change) in changes {
        sum += change;
        most = most.max(sum);
    }
    most
}

/// For every op of a block, in order, the block's own values that nothing behind it reads.
pub struct Deaths {
    /// The values that die behind op `i` are `values[starts[i]..starts[i + 1]]`.
    starts: Vec<u32>,
    values: Vec<Value>,
}

impl Deaths {
    /// Those of `block`. What an op's regions read the op reads.
    pub fn of(program: &Program, block: Block) -> Self {
        let ops = program.block_ops(block);
        let mut timeline = Timeline::default();
        let mut items: FxHashMap<Value, Item> = FxHashMap::default();
        let mut own: Vec<Value> = Vec::new();
        let mut define = |value: Value, timeline: &mut Timeline, items: &mut FxHashMap<Value, Item>| {
            items.insert(value, timeline.define());
            own.push(value);
        };
        // Arguments and results die with the op that makes them unless somebody reads them later.
        for &arg in program.block_args(block) {
            define(arg, &mut timeline, &mut items);
        }
        for (i, &op) in ops.iter().enumerate() {
            if i > 0 {
                timeline.step();
            }
            program.results(op).for_each(|result| define(result, &mut timeline, &mut items));
            each_read(program, op, &mut |value| {
                if let Some(&item) = items.get(&value) {
                    timeline.read(item);
                }
            });
        }
        let mut starts = vec![0u32; ops.len() + 1];
        for &(_, last) in timeline.intervals() {
            if let Some(start) = starts.get_mut(last as usize + 1) {
                *start += 1;
            }
        }
        for i in 1..starts.len() {
            starts[i] += starts[i - 1];
        }
        let mut order: Vec<usize> = (0..own.len()).collect();
        order.sort_by_key(|&i| (timeline.intervals()[i].1, own[i]));
        Self { starts, values: order.into_iter().map(|i| own[i]).collect() }
    }

    /// The values that die behind op `i`.
    pub fn behind(&self, i: usize) -> &[Value] {
        &self.values[self.starts[i] as usize..self.starts[i + 1] as usize]
    }
}

/// Calls `f` with every value that an op reads, in its regions too.
pub fn each_read(program: &Program, op: Op, f: &mut dyn FnMut(Value)) {
    program.op(op).operands.iter().copied().for_each(&mut *f);
    for &region in &program.op(op).regions {
        for &block in program.region_blocks(region) {
            program.walk(block, &mut |inner| program.op(inner).operands.iter().copied().for_each(&mut *f));
        }
    }
}
