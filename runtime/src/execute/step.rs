//! The executor's program: steps over numbered slots of one arena, the same for every device.

use std::sync::Arc;

use dialect::ir::{ElementType, Op, Shape, Value};
use dialect::kernel::External;
use dialect::literal::Literal;

/// A slot of the arena: a buffer, as it holds one kind of value.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub(super) struct Slot(pub u32);

/// What a slot holds and where.
#[derive(Clone, Debug)]
pub(super) struct SlotData {
    /// Element type.
    pub element: ElementType,
    /// Sizes.
    pub shape: Shape,
    /// Bytes.
    pub bytes: usize,
    /// First byte in the arena, a multiple of [`dialect::buffers::ALIGNMENT`].
    pub offset: usize,
}

/// One step.
#[derive(Clone, Debug)]
pub(super) enum Step {
    /// A compiled kernel over slots: what it reads, then what it writes.
    Kernel {
        /// Which kernel.
        kernel: usize,
        /// Its buffers.
        slots: Vec<Slot>,
    },
    /// A matrix product.
    Gemm {
        /// Which product.
        gemm: usize,
        /// Left operand.
        lhs: Slot,
        /// Right operand.
        rhs: Slot,
        /// Result.
        out: Slot,
    },
    /// A collective.
    Collective {
        /// Which one.
        collective: usize,
        /// What it sends.
        from: Slot,
        /// What it receives.
        to: Slot,
    },
    /// The device's number.
    DeviceId {
        /// Whether the partition's or the replica's.
        kind: External,
        /// Where it goes.
        out: Slot,
    },
    /// A copy of all bytes.
    Copy {
        /// Source.
        from: Slot,
        /// Target.
        to: Slot,
    },
    /// Runs `condition` and, while `predicate` holds, `body`.
    While {
        /// Steps of the condition.
        condition: Vec<Step>,
        /// An `i1` the condition writes.
        predicate: Slot,
        /// Steps of the body, which write the carried slots last.
        body: Vec<Step>,
    },
    /// Runs the branch that `index` names; the last one when there is none of that number.
    Branch {
        /// An `i1` (true is branch 0) or an `i32`.
        index: Slot,
        /// Steps of each branch, which write the results last.
        branches: Vec<Vec<Step>>,
    },
    /// Ops without native code, by their reference meaning.
    Interpret {
        /// The ops that share a kernel, producers first; the last one's results are kept.
        ops: Vec<Op>,
        /// What they read from memory.
        operands: Vec<(Value, Slot)>,
        /// The results of the last.
        results: Vec<Slot>,
    },
}

/// A constant the arena starts with.
#[derive(Clone, Debug)]
pub(super) struct ConstantSlot {
    /// Where it lies.
    pub slot: Slot,
    /// What it is.
    pub value: Arc<Literal>,
}
