//! The thresholds of the passes that compare estimated programs. Those of the plan are in `plan::heuristics`.
//!
//! A change of one is judged by `make bench-plan` (modeled steps and compile times of large programs) and by the
//! snapshots of `lit-tests` and `tests/plan`, which have the resulting programs.

/// The least share of a cost that a change must save: a smaller saving isn't worth the ops and the search that it
/// takes.
pub(crate) const GAIN: f64 = 1e-3;

/// Variants that one pass tries of a program. Each is a copy of the program and an estimate of all of it, so this
/// bounds the time of a pass to a multiple of one estimate: [`MOST_CLASSES`] in both directions of a ring.
pub(crate) const MOST_VARIANTS: usize = 2 * MOST_CLASSES;

/// Classes of collectives that are varied one by one, those that take longest first. Equal layers share classes.
pub(crate) const MOST_CLASSES: usize = 12;

/// Devices of a ring around which `collective-matmul` multiplies: each device adds one product to the program.
pub(crate) const MOST_RING_DEVICES: i64 = 32;

/// Bytes of the message by which orders of a ring are compared: 23 us on a link of 45 GB/s, so start-ups hardly count.
pub(crate) const RING_BYTES: u64 = 1 << 20;

/// Rounds of choosing values to recompute, each with the memory that the previous one left. Each is an estimate and a
/// plan of buffers.
pub(crate) const REMATERIALIZE_ROUNDS: usize = 64;

/// The least share of all memory that a value must take to be recomputed: each adds ops to the program.
pub(crate) const REMATERIALIZED_SHARE: f64 = 1e-4;

/// Bytes of the operands and results of one combined collective, all of which are live at once. The smaller limits are
/// tried in turn where a device would exceed its memory.
pub(crate) const COMBINED_BYTES: [u64; 4] = [64 << 20, 8 << 20, 1 << 20, 1 << 17];
