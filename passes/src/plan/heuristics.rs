//! The thresholds of the plan: what each bounds, its unit, and why it has its value.
//!
//! Counts bound the time of a search, so a plan never depends on the speed of a machine; shares say which savings of a
//! modeled cost are worth a step. A change of one is judged by `make bench-heuristics`, by `make bench-plan` (compile
//! times and modeled steps of six large programs), by `cargo test --test all -- plan::` (plans that must not get more
//! expensive) and by the snapshots of `lit-tests/plan` and `tests/plan`.

use crate::heuristics::heuristics;

/// The relative rounding error below which two sums of costs count as equal.
pub(crate) const ROUNDING: f64 = 1e-12;

/// Atoms (parts of axes and what they shard) of a redistribution that is searched for; with more, Shardy's order of
/// collectives is used. A state packs those of one dimension into 64 bits, four bits each.
pub(crate) const MAX_ATOMS: usize = 12;

heuristics! {
/// The thresholds of `plan`.
PlanHeuristics PLAN {
    // Comparing plans ----------

    /// Ops of a block that is always planned again where loops might carry other layouts; a larger block only if that
    /// may save `replanned_share` of its cost, because planning takes time in proportion to its ops.
    replanned_ops: usize = 256, or [0, usize::MAX];

    /// The share of its cost that planning a larger block again must be able to save.
    replanned_share: f64 = 0.01, or [0.0, 0.1];

    /// Ops of a program of which the plan may be used without comparing per-device programs (`clear_cost`). Comparing
    /// takes as long as planning, and in smaller programs later passes change the step by more.
    compared_ops: usize = 400, or [0, usize::MAX];

    /// The largest ratio of a plan's own cost to the greedy plan's at which a large program's plan is used without
    /// comparing per-device programs. Of the programs of tests/corpus, tests/plan and tests/gpt with such a ratio, on
    /// three targets, the step was at most 0.98 of the greedy one, except for kind_top_k, which is small (1.006).
    clear_cost: f64 = 0.5, or [0.0, 1.0];

    /// The least ratio of a memory limit corrected for a plan's buffers to the limit itself for which the program is
    /// planned again; a closer one is left to the search under the limit itself.
    corrected_limit: f64 = 1.02, or [1.0, f64::INFINITY];

    /// Intermediate plans of which the step is computed where collectives overlap with arithmetic, evenly spread over
    /// the changes of the plan.
    intermediate_plans: usize = 8, or [1, 64];

    /// The least share of start-up costs in all communication for which the plan without `expand` is considered, too:
    /// combining collectives saves nothing else.
    startups: f64 = 0.02, or [0.0, 1.0];

    /// The ratio of the costs of a search's first plan, without any start-up costs, and of the best plan found from
    /// which the search is skipped: rewrites around single values don't gain that much.
    far: f64 = 2.0, or [1.0, f64::INFINITY];

    /// The least share of its start-up in the time of a collective that the plan expects to be combined with others.
    combined_startup: f64 = 0.1, or [0.0, 1.0];

    // Reading the program ----------

    /// The most bytes of a value that is moved before a loop although the loop reads it in parts: 64 KiB, which every
    /// iteration's move of a part exceeds in latency on all targets.
    read_in_parts: usize = 1 << 16, or [0, 1 << 24];

    /// Ops followed from a loop argument to the value passed to the next iteration.
    carried_ops: usize = 64, or [0, 1024];

    /// Sets of linear operands tracked per scalar of a region; bounds the time to read one op.
    linear_sets: usize = 8, or [1, 64];

    // Redistributions ----------

    /// Parts of axes after splitting them where distributions overlap; bounds the atoms.
    max_split: usize = 8, or [2, 16];

    /// States that one search for a redistribution visits; after them, Shardy's order of collectives is used.
    max_states: usize = 400, or [1, 8000];

    /// Arrangements that one state of the search tries for a permute.
    max_permutes: usize = 12, or [1, 200];

    /// Parts in which a shard is sent: each part takes a permute and a dozen ops of the program.
    max_parts: i64 = 16, or [1, 64];

    // Strategies of single ops ----------

    /// Strategies of one op that are tried at once: the distributions that `greedy` keeps first, and the replacements
    /// in `between`. Trying one takes as long as the op has operands, and a concatenate may have thousands of each.
    tried_per_op: usize = 64, or [4, usize::MAX];

    /// Users of a value up to which they are examined one by one; for more, the distributions that they want are
    /// counted.
    few_users: usize = 16, or [1, usize::MAX];

    // expand ----------

    /// Rounds over all moves. Another follows only a round that saved `gain` of the cost.
    expand_rounds: usize = 3, or [1, 16];

    /// The least share of the cost that the cut of a move must save at lower bounds, before redistributions are
    /// searched for its answer.
    cut_share: f64 = 3e-4, or [0.0, 1e-2];

    /// The size of the smallest axes that are also moved in halves.
    halved_axis: u32 = 8, or [1 << 30, 4];

    /// Dimension classes that are tried on each set of axes, those with the most work first.
    moved_classes: usize = 16, or [2, usize::MAX];

    /// The distance, in ops, from a change within which a move that failed before is tried again.
    near: usize = 2, or [0, 64];

    /// Cuts of one move, after which all redistributions of its answer are searched for at once.
    max_cuts: usize = 16, or [1, 200];

    /// Augmenting paths per question of a cut, after which every answer is no.
    max_paths: usize = 200, or [4, 1 << 20];

    /// Parts of axes without improvement, after which trades try no further part.
    failed_trades: usize = 2, or [1, usize::MAX];

    /// Dimension classes that trades try, those with the most work first: each trade considers nearly all ops.
    traded_classes: usize = 7, or [0, usize::MAX];

    /// Computed changes of ops, after which no more trades that remove a part of an axis (first) or make it innermost
    /// (second) are tried.
    trade_changes: [usize; 2] = [2000, 3000], or [[0; 2], [usize::MAX >> 1; 2]];

    /// Ops of the prefix by which repeated layers are found.
    layer_prefix: usize = 8, or [2, usize::MAX >> 2];

    /// Distances to the next layer that are tried at each op.
    layer_distances: usize = 16, or [1, 256];

    /// A list with at least this part (1/`marked_part`) of all values is sorted by marking its values, in linear time.
    marked_part: usize = 8, or [1, 1 << 20];

    // egraph ----------

    /// Ops of a window; with `max_nodes`, bounds the time of one window.
    window_ops: usize = 8, or [2, 16];

    /// Users of a value through which a window is extended.
    window_users: usize = 6, or [1, 64];

    /// Operands and results of an op in a window: each result is a term over all operands, and each of their values
    /// would have a window with all the others.
    window_tensors: usize = 64, or [4, usize::MAX];

    /// Nodes of an e-graph, approximately.
    max_nodes: usize = 1500, or [100, 20_000];

    /// Rounds of all rewrites in a window; `fewer_rounds` in graphs of at least `many_ops`, if moves have already made
    /// the plan cheaper. In small graphs two more rounds save up to 19 % of a step (`lit-tests/search/batch.mlir`).
    rewrite_rounds: usize = 4, or [0, 16];
    fewer_rounds: usize = 2, or [0, 4];
    many_ops: usize = 500, or [0, usize::MAX];

    /// Windows visited per value that is moved in the initial plan.
    visits_per_value: usize = 4, or [0, 64];

    /// Windows searched around a value without improvement, after which it is left as it is.
    failed_windows: usize = 2, or [1, usize::MAX];

    /// The least share of the plan's seconds that the redistributions of a window must take to be searched.
    window_share: f64 = 1e-4, or [0.0, 1e-2];

    /// Sweeps over all classes of an e-graph to extract the cheapest terms.
    extract_sweeps: usize = 12, or [1, 64];
}
}
