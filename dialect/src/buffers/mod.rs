//! Kernels, buffers and their lifetimes, decided once: machine code follows this plan, cost estimates and planning read
//! it.
//!
//! [`Fusion`] decides which ops share a kernel, and so which values are ever in memory; [`Timeline`] when each is
//! needed; [`Buffers`] which of them share a buffer, and each buffer's offset in device memory.

mod assign;
mod facts;
mod fusion;
mod liveness;
mod planner;
mod simplify;
mod stages;

use rustc_hash::FxHashMap;

use crate::define_id;
use crate::id::TiVec;
use crate::ir::{Block, ElementType, Op, Program, Shape, Value};
use crate::memory::MemorySpace;

pub use assign::{ALIGNMENT, place};
pub use facts::{Facts, Read, has_code, operation_has_code};
pub use fusion::{Fusion, FusionModel, NONE, Node, Roots, Source, Sources, decide, is_splat};
pub use liveness::{Deaths, Interval, Item, Timeline, each_read, peak};
pub use simplify::simplify;

define_id!(
    /// A buffer by its number.
    pub BufferId, "buffer"
);

/// A range of a device's memory that holds one value after another.
#[derive(Clone, PartialEq, Debug)]
pub struct Buffer {
    /// The element type of its first value.
    pub element: ElementType,
    /// The shape of its first value.
    pub shape: Shape,
    /// Bytes of the largest value it holds.
    pub bytes: usize,
    /// The memory it is in.
    pub memory: MemorySpace,
    /// First and last step at which it is needed.
    pub live: Interval,
    /// First byte, a multiple of [`ALIGNMENT`].
    pub offset: usize,
}

/// A copy of one buffer to another, in full.
pub type Move = (BufferId, BufferId);

/// Where the values of a function are in a device's memory while it runs.
#[derive(Default, Debug)]
pub struct Buffers {
    /// Which ops share a kernel.
    pub fusion: Fusion,
    /// All buffers.
    pub buffers: TiVec<BufferId, Buffer>,
    /// The buffer of each value in memory.
    pub of_value: FxHashMap<Value, BufferId>,
    /// Constants read from memory; they are there before the function begins and stay.
    pub constants: Vec<(Op, BufferId)>,
    /// Copies before a loop begins: initial values to the buffers of the loop-carried values. Of an op that moves a value to
    /// another memory, its copy.
    pub before: FxHashMap<Op, Vec<Move>>,
    /// Copies, in this order, at the end of a loop's body or of a branch.
    pub after: FxHashMap<Block, Vec<Move>>,
    /// The steps during which each op runs that isn't computed in others' kernels; for loops and branches, with what is inside.
    pub steps: FxHashMap<Op, Interval>,
    /// Bytes of the device's memory.
    pub device_bytes: usize,
    /// Bytes of the host's memory, which the runtime has after those of the device.
    pub host_bytes: usize,
}

impl Buffers {
    /// The plan of a function. Its arguments stay, as the caller holds them, except donated ones (`jax.buffer_donor`,
    /// `tf.aliasing_output`); its results are there when it ends.
    pub fn of(program: &Program, function: Op) -> Self {
        planner::plan(program, function)
    }

    /// Bytes of both memories.
    pub fn bytes(&self) -> usize {
        self.device_bytes + self.host_bytes
    }

    /// The buffer of a value.
    pub fn get(&self, value: Value) -> Option<BufferId> {
        self.of_value.get(&value).copied()
    }

    /// The buffer with this id.
    pub fn buffer(&self, id: BufferId) -> &Buffer {
        &self.buffers[id]
    }
}
