//! Kernels, buffers and their lifetimes, decided once: machine code is made by this plan, prices and plans read it.
//!
//! [`Fusion`] says which ops share a kernel, so which values are ever in memory; [`Timeline`] from when to when each is
//! needed; [`Buffers`] which of them share a buffer, and where in a device's memory each buffer lies.

mod assign;
mod facts;
mod fusion;
mod liveness;
mod planner;

use rustc_hash::FxHashMap;

use crate::ir::{Block, ElementType, Op, Program, Shape, Value};

pub use assign::{ALIGNMENT, place};
pub use facts::{Facts, Read, has_code, operation_has_code};
pub use fusion::{Fusion, NONE, Node, Roots, Source, Sources, decide, is_splat};
pub use liveness::{Deaths, Interval, Item, Timeline, each_read, peak};

/// A buffer by its number.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub struct BufferId(pub u32);

/// A range of a device's memory that holds one value after another.
#[derive(Clone, PartialEq, Debug)]
pub struct Buffer {
    /// What it holds first.
    pub element: ElementType,
    /// The sizes of that.
    pub shape: Shape,
    /// Bytes of the largest value it holds.
    pub bytes: usize,
    /// First and last step at which it is needed.
    pub live: Interval,
    /// First byte, a multiple of [`ALIGNMENT`].
    pub offset: usize,
}

/// From one buffer to another, all of it.
pub type Move = (BufferId, BufferId);

/// Where the values of a function lie in a device's memory while it runs.
#[derive(Default, Debug)]
pub struct Buffers {
    /// Which ops share a kernel.
    pub fusion: Fusion,
    /// All buffers.
    pub buffers: Vec<Buffer>,
    /// Where each value in memory lies.
    pub of_value: FxHashMap<Value, BufferId>,
    /// Constants that are read from memory, which are there before the function begins and stay.
    pub constants: Vec<(Op, BufferId)>,
    /// What is copied before a loop begins: initial values to the buffers of the values that it carries.
    pub before: FxHashMap<Op, Vec<Move>>,
    /// What is copied, in this order, at the end of a loop's body or of a branch.
    pub after: FxHashMap<Block, Vec<Move>>,
    /// Bytes of a device's memory.
    pub bytes: usize,
}

impl Buffers {
    /// The plan of a function. Its arguments stay, as the caller holds them, but those that are donated
    /// (`jax.buffer_donor`, `tf.aliasing_output`); its results are there when it ends.
    pub fn of(program: &Program, function: Op) -> Self {
        planner::plan(program, function)
    }

    /// Where a value lies.
    pub fn get(&self, value: Value) -> Option<BufferId> {
        self.of_value.get(&value).copied()
    }

    /// What is known of a buffer.
    pub fn buffer(&self, id: BufferId) -> &Buffer {
        &self.buffers[id.0 as usize]
    }
}
