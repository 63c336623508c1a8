//! The thresholds of the passes, in two structs: [`HEURISTICS`] here and `PLAN` in `plan::heuristics`.
//!
//! A row has the value and, after `or`, the values with which `make bench-heuristics` compares it: it compiles programs
//! with each of them, and prints the change of the modeled step and of the time to compile. `docs/design/plan.md` has
//! results. A row that changes no step by 0.5 % should bound the time of larger programs, or go.

/// Declares a struct of thresholds and the static that has their values. With the feature `ablation`, the environment
/// variable `SHARDC_ABLATION` replaces one value: `gain=0` gives the row `gain` the first value after its `or`.
macro_rules! heuristics {
    (
        $(#[$about:meta])*
        $of:ident $name:ident {
            $($(#[$doc:meta])* $field:ident: $type:ty = $value:expr, or [$($other:expr),+];)+
        }
    ) => {
        $(#[$about])*
        pub(crate) struct $of {
            $($(#[$doc])* pub $field: $type,)+
        }

        #[cfg(not(feature = "ablation"))]
        pub(crate) static $name: $of = $of { $($field: $value,)+ };

        #[cfg(feature = "ablation")]
        pub(crate) static $name: std::sync::LazyLock<$of> = std::sync::LazyLock::new(|| $of {
            $($field: match $crate::heuristics::ablated(stringify!($field)) {
                Some(index) => {
                    let others: &[$type] = &[$($other),+];
                    others[index]
                }
                None => $value,
            },)+
        });
    };
}
pub(crate) use heuristics;

/// The index in the `or` list of a row that `SHARDC_ABLATION` names.
#[cfg(feature = "ablation")]
pub(crate) fn ablated(row: &str) -> Option<usize> {
    let given = std::env::var("SHARDC_ABLATION").ok()?;
    let (name, index) = given.split_once('=').expect("SHARDC_ABLATION is a row and an index, such as gain=0");
    (name == row).then(|| index.parse().expect("the index of SHARDC_ABLATION is a number"))
}

heuristics! {
/// The thresholds of the passes other than `plan`.
Heuristics HEURISTICS {
    /// The least share of a cost that a change must save: a smaller saving isn't worth the ops and the search that it
    /// takes.
    gain: f64 = 1e-3, or [0.0, 1e-2];

    /// Variants that one pass tries of a program. Each is a copy of the program and an estimate of all of it, so this
    /// bounds the time of a pass to a multiple of one estimate: [`MOST_CLASSES`] in both directions of a ring.
    most_variants: usize = 24, or [1, 240];

    /// Classes of collectives that are varied one by one, those that take longest first. Equal layers share classes.
    most_classes: usize = 12, or [1, 120];

    /// Devices of a ring around which `collective-matmul` multiplies: each device adds one product to the program.
    most_ring_devices: i64 = 32, or [0, 1024];

    /// Bytes of the message by which orders of a ring are compared: 23 us on a link of 45 GB/s, so start-ups hardly
    /// count.
    ring_bytes: u64 = 1 << 20, or [1 << 10, 1 << 26];

    /// Rounds of choosing values to recompute, each with the memory that the previous one left. Each is an estimate and
    /// a plan of buffers.
    rematerialize_rounds: usize = 64, or [1, 1024];

    /// The least share of all memory that a value must take to be recomputed: each adds ops to the program.
    rematerialized_share: f64 = 1e-4, or [0.0, 1e-2];

    /// Bytes of the operands and results of one combined collective, all of which are live at once. The smaller limits
    /// are tried in turn where a device would exceed its memory.
    combined_bytes: [u64; 4] = [64 << 20, 8 << 20, 1 << 20, 1 << 17], or [[0; 4], [1 << 40; 4]];

    /// A value of more pieces isn't traced further: selecting among its pieces on each device would cost more than
    /// moving them.
    most_pieces: usize = 16, or [2, 256];

    /// The limit on how often a row is repeated.
    most_repeats: i64 = 16, or [1, 256];

    /// Concatenations of more operands are left alone: selecting among the operands would cost more than moving them.
    most_shifts: usize = 8, or [2, 64];

    /// The limit on the sets of ops reading one value that are tried for another op.
    tried_sets: usize = 8, or [1, 256];

    /// The limit on the dimensions that are tried to find the batch.
    batch_candidates: usize = 16, or [1, 256];

    /// The limit on the microbatches that `auto` tries.
    most_microbatches: i64 = 64, or [4, 1024];

    /// The limit on placements that one search scores.
    most_placements: usize = 50_000, or [100, 1_000_000];

    /// The limit on orders tried for one factorization; if there are more, one order is improved by swaps.
    most_orders: usize = 36, or [1, 720];

    /// The limit on the ops between a gather and the op that needs it.
    ops_to_the_user: usize = 16, or [1, 256];
}
}
