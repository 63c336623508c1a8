//! Kernels, buffers and their lifetimes: one plan, which machine code follows and from which costs are estimated and
//! shardings planned.
//!
//! [`Fusion`] decides which ops share a kernel, and so which values are ever in memory; [`Liveness`] computes when each
//! value is live; [`Buffers`] decides which values share a buffer, and each buffer's offset in device memory.

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
pub use liveness::{Deaths, Interval, Item, Liveness, each_read, peak};
pub use simplify::simplify;

define_id!(
    /// The number of a buffer.
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
    /// The offset of its first byte, a multiple of [`ALIGNMENT`].
    pub offset: usize,
}

/// A copy of one whole buffer to another.
pub type Move = (BufferId, BufferId);

/// The locations of a function's values in a device's memory while it runs.
#[derive(Default, Debug)]
pub struct Buffers {
    /// The ops that share kernels.
    pub fusion: Fusion,
    /// All buffers.
    pub buffers: TiVec<BufferId, Buffer>,
    /// The buffer of each value in memory.
    pub of_value: FxHashMap<Value, BufferId>,
    /// Constants read from memory; they are stored before the function begins and stay.
    pub constants: Vec<(Op, BufferId)>,
    /// Copies before a loop begins: initial values to the buffers of the loop-carried values. Of an op that moves a
    /// value to another memory, its copy.
    pub before: FxHashMap<Op, Vec<Move>>,
    /// Copies, in this order, at the end of a loop's body or of a branch.
    pub after: FxHashMap<Block, Vec<Move>>,
    /// The steps during which each op runs that isn't folded into other kernels; a loop or branch includes the steps of
    /// its regions.
    pub steps: FxHashMap<Op, Interval>,
    /// Bytes of the device's memory.
    pub device_bytes: usize,
    /// Bytes of the host's memory, which the runtime has after those of the device.
    pub host_bytes: usize,
}

impl Buffers {
    /// Returns the plan of a function. Its arguments stay live, because the caller holds them, except donated ones
    /// (`jax.buffer_donor`, `tf.aliasing_output`); its results are live when it ends.
    pub fn of(program: &Program, function: Op) -> Self {
        planner::plan(program, function)
    }

    /// Returns the bytes of both memories.
    pub fn bytes(&self) -> usize {
        self.device_bytes + self.host_bytes
    }

    /// Returns the buffer of a value.
    pub fn get(&self, value: Value) -> Option<BufferId> {
        self.of_value.get(&value).copied()
    }

    /// Returns the buffer with this id.
    pub fn buffer(&self, id: BufferId) -> &Buffer {
        &self.buffers[id]
    }
}
