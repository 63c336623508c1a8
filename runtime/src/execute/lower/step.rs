//! The executor's program: steps over numbered slots of one arena, the same for every device.

use std::sync::Arc;

use dialect::define_id;
use dialect::ir::{ElementType, Op, Shape, Value};
use dialect::literal::Literal;
use rustc_hash::FxHashMap;

define_id!(
    /// A slot of the arena: a buffer together with the type stored in it.
    pub(in crate::execute) Slot, "slot"
);

/// The type and location of a slot.
#[derive(Clone, Debug)]
pub(in crate::execute) struct SlotData {
    /// Element type.
    pub element: ElementType,
    /// Sizes of the dimensions.
    pub shape: Shape,
    /// Size in bytes.
    pub bytes: usize,
    /// First byte in the arena, a multiple of [`dialect::buffers::ALIGNMENT`].
    pub offset: usize,
    /// The number of the `Common` that holds the slot, if the devices of a group share its value.
    pub common: Option<usize>,
}

/// Steps, each with the op that it runs.
pub(in crate::execute) type Steps = Vec<(Op, Step)>;

/// One step.
#[derive(Clone, Debug)]
pub(in crate::execute) enum Step {
    /// Runs a compiled kernel over slots: those it reads, then those it writes.
    Kernel {
        /// Index of the kernel.
        kernel: usize,
        /// Its slots.
        slots: Vec<Slot>,
    },
    /// Runs several kernels and products over some rows at a time.
    Chain {
        /// The number of rows of the chain.
        rows: i64,
        /// The number of parts into which the rows are divided.
        parts: i64,
        /// The steps of the chain, each a [`Step::Kernel`] or a [`Step::Packed`].
        steps: Steps,
    },
    /// Computes a matrix product.
    Gemm {
        /// Index of the product.
        gemm: usize,
        /// Left operand.
        lhs: Slot,
        /// Right operand.
        rhs: Slot,
        /// Result.
        out: Slot,
    },
    /// Copies a product's right operand into panels.
    Pack {
        /// Index of the product by rows.
        product: usize,
        /// The right operand.
        from: Slot,
        /// The panels.
        to: Slot,
    },
    /// Computes a matrix product by rows.
    Packed {
        /// Index of the product by rows.
        product: usize,
        /// Left operand.
        left: Slot,
        /// Right operand, or its panels.
        right: Slot,
        /// Result.
        out: Slot,
    },
    /// Computes a matrix product whose right operand, and its panels, several devices share.
    Shared {
        /// Index of the product by rows.
        product: usize,
        /// Left operand.
        left: Slot,
        /// Right operand.
        right: Slot,
        /// Index of the [panels](crate::execute::fuse::shared::SharedPanels).
        panels: usize,
        /// Result.
        out: Slot,
    },
    /// Runs a collective.
    Collective {
        /// Index of the collective.
        collective: usize,
        /// The slot to send.
        from: Slot,
        /// The slot to receive into.
        to: Slot,
    },
    /// Runs a ragged_all_to_all.
    Ragged {
        /// Index of the collective.
        collective: usize,
        /// Its operands: rows, output, input offsets, send sizes, output offsets.
        from: [Slot; 5],
        /// The slot to receive into.
        to: Slot,
    },
    /// Runs native code that isn't a compiled kernel.
    Native {
        /// Index of the computation.
        native: usize,
        /// The slots that it reads.
        operands: Vec<Slot>,
        /// The slots that it writes.
        results: Vec<Slot>,
    },
    /// Writes the device's number.
    DeviceId {
        /// Whether to write the replica's number instead of the partition's.
        replica: bool,
        /// The slot to write to.
        out: Slot,
    },
    /// Copies all bytes.
    Copy {
        /// Source.
        from: Slot,
        /// Target.
        to: Slot,
    },
    /// Runs `condition` and, while `predicate` holds, `body`.
    While {
        /// Steps of the condition.
        condition: Steps,
        /// An `i1` that the condition writes.
        predicate: Slot,
        /// Steps of the body, which write the carried slots last.
        body: Steps,
    },
    /// Runs the branch that `index` selects, or the last one if `index` is out of range.
    Branch {
        /// An `i1` (true is branch 0) or an `i32`.
        index: Slot,
        /// Steps of each branch, which write the results last.
        branches: Vec<Steps>,
    },
    /// Evaluates ops without native code with the reference evaluator.
    Interpret {
        /// The ops that share a kernel, producers first; only the last one's results are stored.
        ops: Vec<Op>,
        /// The values that they read from memory.
        operands: Vec<(Value, Slot)>,
        /// The results of the last op.
        results: Vec<Slot>,
    },
}

/// Replaces each op in `of` by the op that it was generated from, for callers that know only the original program.
pub(in crate::execute) fn name(steps: &mut Steps, of: &FxHashMap<Op, Op>) {
    for (op, step) in steps {
        *op = of.get(op).copied().unwrap_or(*op);
        match step {
            Step::Chain { steps, .. } => name(steps, of),
            Step::While { condition, body, .. } => [condition, body].into_iter().for_each(|steps| name(steps, of)),
            Step::Branch { branches, .. } => branches.iter_mut().for_each(|steps| name(steps, of)),
            _ => {}
        }
    }
}

/// A constant that the arena is initialized with.
#[derive(Clone, Debug)]
pub(in crate::execute) struct ConstantSlot {
    /// The slot it is stored in.
    pub slot: Slot,
    /// Its value.
    pub value: Arc<Literal>,
}
