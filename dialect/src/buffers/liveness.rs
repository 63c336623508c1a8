//! Liveness: the steps during which a value is needed, loops included. All passes use this definition.

use rustc_hash::FxHashMap;

use crate::define_id;
use crate::id::{TiSlice, TiVec};
use crate::ir::{Block, Op, Program, Value};

/// The first and last step at which an item is needed.
pub type Interval = (u32, u32);

define_id!(
    /// The number of a value or buffer that is in memory for a range of steps.
    pub Item, "item"
);

/// Steps in program order, and the items that are live at each. During a step, both its results and everything it reads
/// are live; values without remaining users are freed at the next step.
#[derive(Default, Debug)]
pub struct Liveness {
    now: u32,
    live: TiVec<Item, Interval>,
    /// The items read in open loops, which may have to live to the end of the loop.
    read: Vec<Item>,
    /// The open loops: the first step of each, and the number of entries of `read` before it.
    loops: Vec<(u32, usize)>,
}

impl Liveness {
    /// Advances to the next step.
    pub fn step(&mut self) -> u32 {
        self.now += 1;
        self.now
    }

    /// Returns the current step.
    pub fn now(&self) -> u32 {
        self.now
    }

    /// Creates an item that is defined at this step.
    pub fn define(&mut self) -> Item {
        self.live.push_and_get_key((self.now, self.now))
    }

    /// Records that the item is read, or written again, at this step.
    pub fn read(&mut self, item: Item) {
        let live = &mut self.live[item];
        live.1 = live.1.max(self.now);
        if !self.loops.is_empty() {
            self.read.push(item);
        }
    }

    /// Opens a loop: the steps from here to [`Liveness::leave`] may run many times.
    pub fn enter(&mut self) {
        self.loops.push((self.now + 1, self.read.len()));
    }

    /// Closes the loop with this step. Items from before the loop that it reads stay live until now, because the next
    /// iteration may read them again.
    pub fn leave(&mut self) {
        let Some((start, mark)) = self.loops.pop() else { return };
        let mut kept = mark;
        for i in mark..self.read.len() {
            let item = self.read[i];
            let live = &mut self.live[item];
            if live.0 < start {
                live.1 = live.1.max(self.now);
                self.read[kept] = item;
                kept += 1;
            }
        }
        self.read.truncate(if self.loops.is_empty() { 0 } else { kept });
    }

    /// Returns the steps during which an item is live.
    pub fn live(&self, item: Item) -> Interval {
        self.live[item]
    }

    /// Returns all live intervals, by item.
    pub fn intervals(&self) -> &TiSlice<Item, Interval> {
        &self.live
    }
}

/// Returns the largest sum of live sizes over all steps.
pub fn peak(held: impl IntoIterator<Item = (Interval, f64)>) -> f64 {
    let mut changes: Vec<f64> = Vec::new();
    for ((first, last), bytes) in held {
        if changes.len() < last as usize + 2 {
            changes.resize(last as usize + 2, 0.0);
        }
        changes[first as usize] += bytes;
        changes[last as usize + 1] -= bytes;
    }
    let (mut sum, mut most) = (0.0, 0.0f64);
    for change in changes {
        sum += change;
        most = most.max(sum);
    }
    most
}

/// For every op of a block, in order, the values defined in the block whose last use is that op.
pub struct Deaths {
    /// The values that die after op `i` are `values[starts[i]..starts[i + 1]]`.
    starts: Vec<u32>,
    values: Vec<Value>,
}

impl Deaths {
    /// Computes the deaths in `block`. An op also reads what its regions read.
    pub fn of(program: &Program, block: Block) -> Self {
        let ops = program.block_ops(block);
        let mut liveness = Liveness::default();
        let mut items: FxHashMap<Value, Item> = FxHashMap::default();
        let mut own: TiVec<Item, Value> = TiVec::new();
        let mut define = |value: Value, liveness: &mut Liveness, items: &mut FxHashMap<Value, Item>| {
            items.insert(value, liveness.define());
            own.push(value);
        };
        // Arguments and results die with the op that defines them unless they are read later.
        for &arg in program.block_args(block) {
            define(arg, &mut liveness, &mut items);
        }
        for (i, &op) in ops.iter().enumerate() {
            if i > 0 {
                liveness.step();
            }
            program.results(op).for_each(|result| define(result, &mut liveness, &mut items));
            each_read(program, op, &mut |value| {
                if let Some(&item) = items.get(&value) {
                    liveness.read(item);
                }
            });
        }
        let mut starts = vec![0u32; ops.len() + 1];
        for &(_, last) in liveness.intervals() {
            if let Some(start) = starts.get_mut(last as usize + 1) {
                *start += 1;
            }
        }
        for i in 1..starts.len() {
            starts[i] += starts[i - 1];
        }
        let mut order: Vec<Item> = own.keys().collect();
        order.sort_by_key(|&i| (liveness.live(i).1, own[i]));
        Self { starts, values: order.into_iter().map(|i| own[i]).collect() }
    }

    /// Returns the values that die after op `i`.
    pub fn behind(&self, i: usize) -> &[Value] {
        &self.values[self.starts[i] as usize..self.starts[i + 1] as usize]
    }
}

/// Calls `f` with every value that an op or an op in its regions reads.
pub fn each_read(program: &Program, op: Op, f: &mut dyn FnMut(Value)) {
    program.op(op).operands.iter().copied().for_each(&mut *f);
    for &region in &program.op(op).regions {
        for &block in program.region_blocks(region) {
            program.walk(block, &mut |inner| program.op(inner).operands.iter().copied().for_each(&mut *f));
        }
    }
}
