//! The thresholds of the plan: what each bounds, its unit, and why it has its value.
//!
//! Counts bound the time of a search, so a plan never depends on the speed of a machine; shares say which savings of a
//! modeled cost are worth a step. A change of one is judged by `make bench-plan` (compile times and modeled steps of
//! six large programs), by `cargo test --test all -- plan::` (plans that must not get more expensive) and by the
//! snapshots of `lit-tests/plan` and `tests/plan`. The exact tolerances of sums ([`ROUNDING`]) aren't thresholds.

pub(crate) use crate::heuristics::GAIN;

// Comparing plans -----------------------------------------------------------------------------------------------

/// The least share of a step that a plan must save where the passes after the plan may change the step by as much:
/// they combine and reorder collectives. Of two plans closer than this, the one that moves less is used, because the
/// costs of work are less certain than those of communication.
pub(crate) const CLEAR_GAIN: f64 = 0.01;

/// Ops of a block that is always planned again where loops might carry other layouts; a larger block only if that may
/// save [`CLEAR_GAIN`] of its cost, because planning takes time in proportion to its ops.
pub(crate) const REPLANNED_OPS: usize = 256;

/// Ops of a program of which the per-device programs of both plans are always made and compared. In smaller programs,
/// later passes change the step by more than the lower bound of a step ([`LEAST_COMPUTE`]) allows for.
pub(crate) const COMPARED_OPS: usize = 400;

/// The least share of the modeled seconds of arithmetic that remains after all passes, which fuse and merge ops.
pub(crate) const LEAST_COMPUTE: f64 = 0.75;

/// The least ratio of a memory limit corrected for a plan's buffers to the limit itself for which the program is
/// planned again; a closer one is left to the search under the limit itself.
pub(crate) const CORRECTED_LIMIT: f64 = 1.02;

/// Intermediate plans of which the step is computed where collectives overlap with arithmetic, evenly spread over the
/// changes of the plan.
pub(crate) const INTERMEDIATE_PLANS: usize = 8;

/// The least share of start-up costs in all communication for which the plan without `expand` is considered, too:
/// combining collectives saves nothing else.
pub(crate) const STARTUPS: f64 = 0.02;

/// The ratio of the costs of a search's first plan, without any start-up costs, and of the best plan found from which
/// the search is skipped: rewrites around single values don't gain that much.
pub(crate) const FAR: f64 = 2.0;

/// The least share of its start-up in the time of a collective that the plan expects to be combined with others.
pub(crate) const COMBINED_STARTUP: f64 = 0.1;

// Reading the program -------------------------------------------------------------------------------------------

/// The most bytes of a value that is moved before a loop although the loop reads it in parts: 64 KiB, which every
/// iteration's move of a part exceeds in latency on all targets.
pub(crate) const READ_IN_PARTS: usize = 1 << 16;

/// Ops followed from a loop argument to the value passed to the next iteration.
pub(crate) const CARRIED_OPS: usize = 64;

/// Sets of linear operands tracked per scalar of a region; bounds the time to read one op.
pub(crate) const LINEAR_SETS: usize = 8;

// Redistributions -----------------------------------------------------------------------------------------------

/// Atoms (parts of axes and what they shard) of a redistribution that is searched for; with more, Shardy's order of
/// collectives is used. A state packs those of one dimension into 64 bits, four bits each.
pub(crate) const MAX_ATOMS: usize = 12;

/// Parts of axes after splitting them where distributions overlap; bounds the atoms.
pub(crate) const MAX_SPLIT: usize = 8;

/// States that one search for a redistribution visits; after them, Shardy's order of collectives is used.
pub(crate) const MAX_STATES: usize = 400;

/// Arrangements that one state of the search tries for a permute.
pub(crate) const MAX_PERMUTES: usize = 12;

/// Parts in which a shard is sent: each part takes a permute and a dozen ops of the program.
pub(crate) const MAX_PARTS: i64 = 16;

/// The relative rounding error below which two sums of costs count as equal.
pub(crate) const ROUNDING: f64 = 1e-12;

// Strategies of single ops --------------------------------------------------------------------------------------

/// Strategies of one op that are tried at once: the distributions that `greedy` keeps first, and the replacements in
/// `between`. Trying one takes as long as the op has operands, and a concatenate may have thousands of each.
pub(crate) const TRIED_PER_OP: usize = 64;

/// Users of a value up to which they are examined one by one; for more, the distributions that they want are counted.
pub(crate) const FEW_USERS: usize = 16;

// expand --------------------------------------------------------------------------------------------------------

/// Rounds over all moves. Another follows only a round that saved [`GAIN`] of the cost.
pub(crate) const EXPAND_ROUNDS: usize = 3;

/// The least share of the cost that the cut of a move must save at lower bounds, before redistributions are searched
/// for its answer.
pub(crate) const CUT_SHARE: f64 = 3e-4;

/// The size of the smallest axes that are also moved in halves.
pub(crate) const HALVED_AXIS: u32 = 8;

/// Dimension classes that are tried on each set of axes, those with the most work first.
pub(crate) const MOVED_CLASSES: usize = 16;

/// The distance, in ops, from a change within which a move that failed before is tried again.
pub(crate) const NEAR: usize = 2;

/// Cuts of one move, after which all redistributions of its answer are searched for at once.
pub(crate) const MAX_CUTS: usize = 16;

/// Augmenting paths per question of a cut, after which every answer is no.
pub(crate) const MAX_PATHS: usize = 200;

/// Parts of axes without improvement, after which trades try no further part.
pub(crate) const FAILED_TRADES: usize = 2;

/// Dimension classes that trades try, those with the most work first: each trade considers nearly all ops.
pub(crate) const TRADED_CLASSES: usize = 7;

/// Computed changes of ops, after which no more trades that remove a part of an axis (first) or make it innermost
/// (second) are tried.
pub(crate) const TRADE_CHANGES: [usize; 2] = [2000, 3000];

/// Ops of the prefix by which repeated layers are found.
pub(crate) const LAYER_PREFIX: usize = 8;

/// Distances to the next layer that are tried at each op.
pub(crate) const LAYER_DISTANCES: usize = 16;

/// A list with at least this part (1/`MARKED_PART`) of all values is sorted by marking its values, in linear time.
pub(crate) const MARKED_PART: usize = 8;

// egraph --------------------------------------------------------------------------------------------------------

/// Ops of a window; with [`MAX_NODES`], bounds the time of one window.
pub(crate) const WINDOW_OPS: usize = 8;

/// Users of a value through which a window is extended.
pub(crate) const WINDOW_USERS: usize = 6;

/// Operands and results of an op in a window: each result is a term over all operands, and each of their values would
/// have a window with all the others.
pub(crate) const WINDOW_TENSORS: usize = 64;

/// Nodes of an e-graph, approximately.
pub(crate) const MAX_NODES: usize = 1500;

/// Rounds of all rewrites in a window; `FEWER_ROUNDS` in graphs of at least `MANY_OPS`, if moves have already made the
/// plan cheaper.
pub(crate) const REWRITE_ROUNDS: usize = 4;
pub(crate) const FEWER_ROUNDS: usize = 2;
pub(crate) const MANY_OPS: usize = 500;

/// Windows visited per value that is moved in the initial plan.
pub(crate) const VISITS_PER_VALUE: usize = 4;

/// Windows searched around a value without improvement, after which it is left as it is.
pub(crate) const FAILED_WINDOWS: usize = 2;

/// The least share of the plan's seconds that the redistributions of a window must take to be searched.
pub(crate) const WINDOW_SHARE: f64 = 1e-4;

/// The most that rewrites of a window may spend to move one value, as a factor of the seconds of moving all of its
/// values.
pub(crate) const COST_OF_ONE: f64 = 2.0;

/// Sweeps over the ops of a window; a sweep gives every op the best of its strategies in the e-graph.
pub(crate) const STRATEGY_SWEEPS: usize = 3;

/// Sweeps over all classes of an e-graph to extract the cheapest terms.
pub(crate) const EXTRACT_SWEEPS: usize = 12;
