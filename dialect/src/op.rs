//! The definition of an op: one unit struct with one `impl OpDef` in its family's file under `ops/<dialect>/`, and one
//! line in [`OPS`](crate::ops::OPS). Passes and the runtime never match on an op's name; they call these methods.

use std::ops::Range;
use std::sync::{Arc, LazyLock};

use rustc_hash::FxHashMap;
use smallvec::SmallVec;

use crate::collective::GroupsRule;
pub use crate::collective::{Collective, CollectiveKind};
use crate::diagnostic::Diagnostics;
use crate::eval::{Context, EvalError, EvalResult, LaneResults, Lanes, Mask};
use crate::ir::build::Builder;
use crate::ir::{Op, OpRef, Program, TypeData, Value};
use crate::kernel::{External, Kernel, LibraryCall};
use crate::literal::Literal;
use crate::localize::Localize;
use crate::memory::Residence;
use crate::ops::sdy::Direction;
use crate::sharding::{Assembly, FactorKind, ReductionKind, Reshard, ShardingRule};
use crate::text::Syntax;

/// A violated constraint of an op.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Problem {
    /// The operand at fault; `None` for the op as a whole.
    pub operand: Option<usize>,
    /// What was expected and found, ending with the specification's label: `… (C3)`.
    pub message: String,
    /// How to fix it; may be empty.
    pub note: String,
}

impl Problem {
    /// Returns a problem of the op as a whole.
    pub fn new(message: impl Into<String>) -> Self {
        Self { operand: None, message: message.into(), note: String::new() }
    }

    /// Returns a problem of operand `i`.
    pub fn operand(i: usize, message: impl Into<String>) -> Self {
        Self { operand: Some(i), message: message.into(), note: String::new() }
    }

    /// Adds how to fix it.
    pub fn note(mut self, note: impl Into<String>) -> Self {
        self.note = note.into();
        self
    }
}

impl From<Problem> for Vec<Problem> {
    fn from(p: Problem) -> Self {
        vec![p]
    }
}

/// Result types, or the violated constraints.
pub type Inferred = Result<Vec<TypeData>, Vec<Problem>>;

/// The replacement of an op by several ops; see [`OpDef::in_steps`].
#[derive(Clone, PartialEq, Default, Debug)]
pub struct Steps {
    /// The intermediate values, each with the sharding that suits it best.
    pub made: Vec<(Value, Like)>,
    /// The values that replace the op's results.
    pub results: Vec<Value>,
}

/// The sharding of a new value in terms of a value that existed before.
#[derive(Clone, PartialEq, Debug)]
pub struct Like {
    /// The existing value.
    pub of: Value,
    /// For each dimension of the new value, the dimensions of `of` along whose axes it is sharded, major first.
    pub dims: Vec<Vec<usize>>,
}

/// The queries about the surrounding program that [`OpDef::in_steps`] may make.
pub trait Surroundings {
    /// Returns the number of pieces of equal size into which propagation divides each dimension of `value`.
    fn pieces(&self, program: &Program, value: Value) -> Vec<i64>;

    /// Returns the number of shards into which propagation divides each dimension of `value`; the last may be smaller
    /// or empty.
    fn shards(&self, program: &Program, value: Value) -> Vec<i64>;

    /// Returns the range of positions of dimension `dim` of `value` that are read: from the first to the last position
    /// that any slice reads. If `value` has another kind of user, this is the whole dimension.
    fn read(&self, program: &Program, value: Value, dim: usize) -> Range<i64>;

    /// Returns the seconds of a collective along the axes by which propagation shards a dimension of a value (`of`),
    /// from the bytes on a device before and after it (`bytes`).
    fn seconds(&self, program: &Program, kind: CollectiveKind, of: (Value, usize), bytes: (f64, f64)) -> f64;
}

/// The attribute that states a loop's trip count, for loops whose condition doesn't determine it.
pub const TRIP_COUNT: &str = "shardc.trip_count";

/// How control flows through an op whose kernel is [`Kernel::Control`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Control {
    /// Region 0 (the condition) and region 1 (the body) both take the operands' current values; while the condition
    /// returns true, the body's results replace them.
    While,
    /// The only operand is an index: region `i` runs for index `i`, the last one for every other index.
    Case,
    /// The only operand is an `i1`: region 0 runs for true, region 1 for false.
    If,
    /// Runs the function that [`callee`](crate::ops::func::callee) names on the operands.
    Call,
    /// Region 0 runs on every device of a mesh over its shards of the operands; see
    /// [`ManualComputation`](crate::ops::sdy::ManualComputation).
    Manual,
    /// Region 0 runs over the operands.
    Inline,
    /// Result `i` is operand `i`: barriers and annotations.
    Identity,
}

/// The statement of an annotation op about its operand's sharding.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Annotation {
    /// The result gets the stated sharding; so does the operand, unless another annotation states its sharding.
    Constraint,
    /// The operand is resharded to the stated sharding: reshards, and collectives over global tensors.
    Reshard,
    /// Propagation passes shardings through it in this direction only.
    Barrier(Direction),
    /// Its operand is sharded like all other members of the group with this number.
    Group(i64),
}

/// Values that an op requires to have the same sharding, because the contents of `sources` flow into `targets`.
#[derive(Clone, PartialEq, Debug)]
pub struct DataFlow {
    /// The target that represents all of them: the op's result, or a block argument that has no result.
    pub owner: Value,
    /// Operands of the op and of its regions' terminators.
    pub sources: SmallVec<[Value; 2]>,
    /// Results and arguments of the op's regions, the owner first.
    pub targets: SmallVec<[Value; 3]>,
}

/// The rounds of sharding propagation in which an op takes part, and in which direction: the order in which conflicts
/// are settled. Source: Shardy, op priorities.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum OpPriority {
    /// First, in both directions; an operand isn't sharded where a result can't be: elementwise ops.
    Elementwise,
    /// First, in both directions: reshape, transpose.
    First,
    /// First from operands to results, late in the other direction: dynamic slices and updates.
    FirstForward,
    /// From results to operands in the middle rounds, in the other direction last: broadcasts.
    BackwardFirst,
    /// Along pass-through factors in the middle rounds, along all others after that.
    Late,
}

/// How an op relates to constants. A value computed from constants alone is copied for every use by a non-constant op,
/// so that two uses of a constant don't force their other operands to have the same sharding.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Constancy {
    /// A constant itself: `constant`, `iota`.
    Source,
    /// Constant when its operands are.
    Preserving,
    /// Constant when its operands are; if its operand is a non-constant scalar it is copied for every use too:
    /// broadcasts.
    Broadcast,
    /// Never constant.
    No,
}

/// Whether sharding propagation itself inserts reshards for an op whose tensors end up with different shardings.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum ExplicitReshard {
    /// Propagation inserts none: the communication planner decides.
    No,
    /// Operands and results are resharded until all agree.
    Operands,
    /// The result is computed with the operands' sharding and then resharded, where that saves communication.
    Result,
}

/// The other party of an exchange with the host.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum HostPartner {
    /// A function of the Python process that wrote the program.
    Callback,
    /// The host code that feeds the program while it runs: infeed, outfeed, transfers with the host.
    Transfer,
    /// Code of another library, called by its name.
    Library,
}

/// The exchange of an op with the host.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct HostEffect {
    /// The other party.
    pub partner: HostPartner,
    /// Whether the op returns data. If not, removing the op changes no value of the program.
    pub returns_data: bool,
}

impl HostEffect {
    /// Returns the effect of an op that exchanges data with `partner`.
    pub fn of(op: OpRef<'_>, partner: HostPartner) -> Self {
        Self { partner, returns_data: op.result_types().any(|ty| *ty != TypeData::Token) }
    }
}

/// The meaning of one op. A method without a default must be written for every op; a default is right for most ops.
pub trait OpDef: Sync {
    /// Returns the full name, `stablehlo.add`.
    fn name(&self) -> &'static str;

    /// Returns the syntax of its text, for both parser and printer; generic MLIR form by default.
    fn syntax(&self) -> Syntax {
        Syntax::Generic
    }

    /// Returns the result types, or the violated constraints with the specification's labels. Where operands and
    /// attributes don't determine the types (reshape, iota, convert), it checks and returns the declared results.
    fn infer(&self, op: OpRef<'_>) -> Inferred;

    /// Checks constraints beyond types: regions, symbols, shardings. It is called only if `infer` succeeded.
    fn verify(&self, _op: OpRef<'_>, _diagnostics: &mut Diagnostics) {}

    /// Returns the computation; by default that of control flow for ops with [`control`](Self::control), and that of a
    /// collective for ops with [`groups`](Self::groups).
    fn kernel(&self, op: OpRef<'_>) -> Kernel {
        match (self.control(op), self.groups(op)) {
            (Some(_), _) => Kernel::Control,
            (None, Some(_)) => Kernel::External(External::Collective),
            (None, None) => Kernel::None,
        }
    }

    /// Returns which dimensions must be sharded together, derived from the loop nest by default. `None`: shardings
    /// don't propagate through the op.
    fn sharding_rule(&self, op: OpRef<'_>) -> Option<ShardingRule> {
        match self.kernel(op) {
            Kernel::Nest(nest) => Some(crate::sharding::rule_of_nest(op, &nest)),
            _ => None,
        }
    }

    /// Returns the rule that sharding propagation uses: Shardy's, which sometimes claims more than is true.
    fn propagation_rule(&self, op: OpRef<'_>) -> Option<ShardingRule> {
        self.sharding_rule(op)
    }

    /// Returns the rule for conservative propagation, which doesn't propagate along dimensions whose shards need data
    /// from neighboring devices.
    fn conservative_rule(&self, op: OpRef<'_>) -> Option<ShardingRule> {
        let mut rule = self.propagation_rule(op)?;
        rule.block_where(|kind| kind == FactorKind::Permutation);
        Some(rule)
    }

    /// Builds the per-device form from local operands; by default the same op with local result types.
    fn localize(&self, cx: &mut Localize<'_>) {
        cx.same_op();
    }

    /// Returns whether its result is the number of the executing device, which is meaningless in a program over global
    /// values.
    fn is_device_number(&self) -> bool {
        false
    }

    /// Returns whether [`localize`](Self::localize) takes operands extended to the rows that a device reads
    /// ([`Localize::fetched`]), so that factors along which data moves between neighbors can be sharded.
    fn is_windowed(&self) -> bool {
        false
    }

    /// Builds the same computation in plain StableHLO and returns the values that replace the op's results. It is for
    /// ops of other dialects and those that are simpler as sums and products (batch normalization, einsum, constant
    /// shapes). `None`: the op stays as it is.
    fn expand(&self, _op: Op, _build: &mut Builder<'_>) -> Option<Vec<Value>> {
        None
    }

    /// Evaluates the op over concrete tensors by its slow, obvious reference meaning, with which all other
    /// implementations are compared. Called by [`evaluate_spmd`](Self::evaluate_spmd) for each device; ops that don't
    /// override that must override this, unless they are identities. Other code calls
    /// [`eval::evaluate`](crate::eval::evaluate).
    fn evaluate(&self, op: OpRef<'_>, operands: &[Literal], _cx: &mut dyn Context) -> EvalResult<Vec<Literal>> {
        match self.control(op) {
            Some(Control::Identity) => Ok(operands[..op.result_count()].to_vec()),
            _ => Err(EvalError::new("the op has no reference semantics, so it can't be evaluated")),
        }
    }

    /// Evaluates the op on all devices of `mask` in lockstep. Overridden by collectives and ops with regions.
    fn evaluate_spmd(&self, op: OpRef<'_>, operands: &[Lanes], mask: &Mask, cx: &mut dyn Context) -> LaneResults {
        crate::eval::each_lane(op, operands, mask, cx)
    }

    /// Returns small instances for the generic proofs: arguments in parentheses, then the op's text.
    /// `(%a: tensor<2x3xf32>) %r = stablehlo.abs %a : tensor<2x3xf32>`
    ///
    /// [`prove`](crate::proofs::prove) fails for an op without examples.
    fn examples(&self) -> &'static [&'static str] {
        &[]
    }

    // Roles ----------------------------------------------------------------------------------------------------

    /// Returns its communication, if it is a collective of the per-device program.
    fn collective(&self, _op: OpRef<'_>) -> Option<Collective> {
        None
    }

    /// Returns the attribute with its device groups and the constraints on them, if it has groups. The verifier checks
    /// them.
    fn groups(&self, _op: OpRef<'_>) -> Option<GroupsRule> {
        None
    }

    /// Returns how control flows through it, if it is control flow or an identity.
    fn control(&self, _op: OpRef<'_>) -> Option<Control> {
        None
    }

    /// Returns the values that it requires to have the same sharding: loops, branches, manual and named computations,
    /// barriers.
    fn data_flow(&self, _op: OpRef<'_>) -> Vec<DataFlow> {
        Vec::new()
    }

    /// Returns its statement about its operand's sharding, if that is its only purpose.
    fn annotation(&self, _op: OpRef<'_>) -> Option<Annotation> {
        None
    }

    /// Returns the change of distribution that it performs, if it is one of Shardy's collectives or an identity.
    fn reshard(&self, _op: OpRef<'_>) -> Option<Reshard> {
        None
    }

    /// Returns the rows of operands that make up its result, if it only moves rows along one dimension.
    fn assembly(&self, _op: OpRef<'_>) -> Option<Assembly> {
        None
    }

    /// Returns whether the dimension of [`assembly`](Self::assembly) can be sharded, with devices sending each other
    /// its rows.
    fn is_assembled(&self) -> bool {
        false
    }

    /// Returns the value of a constant.
    fn constant<'a>(&self, _op: OpRef<'a>) -> Option<&'a Literal> {
        None
    }

    /// Returns whether each result element depends only on the elements of non-scalar operands at the same position.
    fn elementwise(&self) -> bool {
        false
    }

    /// Returns the rounds in which sharding propagation visits it.
    fn op_priority(&self, _op: OpRef<'_>) -> OpPriority {
        if self.elementwise() { OpPriority::Elementwise } else { OpPriority::Late }
    }

    /// Returns the operands in which it reads or writes windows at positions that other operands give at run time.
    fn windowed_operands(&self, _op: OpRef<'_>) -> Range<usize> {
        0..0
    }

    /// Returns how it relates to constants.
    fn constancy(&self, op: OpRef<'_>) -> Constancy {
        match self.constant(op) {
            Some(_) => Constancy::Source,
            None if self.elementwise() && !self.side_effect(op) => Constancy::Preserving,
            None => Constancy::No,
        }
    }

    /// Returns whether sharding propagation inserts reshards when its tensors are sharded differently, as Shardy does
    /// for a few ops.
    fn explicit_reshard(&self) -> ExplicitReshard {
        ExplicitReshard::No
    }

    /// Returns whether its sharding rule depends on the ops that compute its operands, in addition to its own
    /// attributes and types.
    fn rule_reads_operands(&self) -> bool {
        false
    }

    /// Returns how its partial results combine when it is sharded along reduction factors; `None` if they can't be
    /// combined.
    fn reduction(&self, _op: OpRef<'_>) -> Option<ReductionKind> {
        None
    }

    /// Builds the same results in several steps, for an op that needs all of a dimension that propagation shards: it
    /// computes pieces first and combines them, or handles one dimension after the other. Returns `None`, and builds
    /// nothing, where this is impossible, may change results, or saves nothing. A result of which only the first
    /// positions are read may lose the other positions.
    fn in_steps(&self, _op: Op, _around: &dyn Surroundings, _build: &mut Builder<'_>) -> Option<Steps> {
        None
    }

    /// Returns the number of floating-point operations of the op as it stands (2·m·n·k of a matmul); 0 for ops that
    /// aren't counted. Computed from the loop nest; ops without a nest that still multiply override [`Self::flops_of`].
    fn flops(&self, op: OpRef<'_>) -> f64 {
        self.flops_of(op, &self.kernel(op))
    }

    /// Returns the number of floating-point operations of the op, whose kernel the caller has already.
    fn flops_of(&self, _op: OpRef<'_>, kernel: &Kernel) -> f64 {
        match kernel {
            Kernel::Nest(nest) => nest.flops(),
            _ => 0.0,
        }
    }

    /// Returns whether its regions can't use values defined outside of it.
    fn isolated(&self) -> bool {
        false
    }

    /// Returns whether it ends a block.
    fn terminator(&self) -> bool {
        false
    }

    /// Returns whether it must stay even if its results are unused, and keep its order among other ops with side
    /// effects: by default an op without results, or with such an op in a region.
    fn side_effect(&self, op: OpRef<'_>) -> bool {
        op.result_count() == 0 || regions_have_effects(op)
    }

    /// Returns the memory of its results.
    fn residence(&self, _op: OpRef<'_>) -> Residence {
        Residence::Computed
    }

    /// Returns its exchange with the host; `None` for an op that computes inside of the program.
    fn host_effect(&self, _op: OpRef<'_>) -> Option<HostEffect> {
        None
    }

    /// Returns the call of a kernel written elsewhere, whose work the program doesn't contain; `None` for other ops.
    fn library_call<'a>(&self, _op: OpRef<'a>) -> Option<LibraryCall<'a>> {
        None
    }

    /// Returns whether only a function of the process that wrote the program can partition it.
    fn partitions_itself(&self, _op: OpRef<'_>) -> bool {
        false
    }

    /// Returns whether it reports its operand's sharding to a function of the process that wrote the program.
    fn shows_sharding(&self, _op: OpRef<'_>) -> bool {
        false
    }

    /// Returns MLIR's name for its regions' arguments (`%iterArg`), which replaces `%arg` and a number.
    fn block_arg_name(&self) -> Option<&'static str> {
        None
    }

    /// Returns MLIR's name for its results (`%cst`, `%c`), which replaces a number.
    fn result_name(&self, _op: OpRef<'_>) -> Option<&'static str> {
        None
    }
}

/// Returns whether an op in a region of `op` has side effects; terminators don't count.
fn regions_have_effects(op: OpRef<'_>) -> bool {
    let blocks = op.program.op(op.op).regions.iter().flat_map(|&r| op.program.region_blocks(r));
    let mut inner = blocks.flat_map(|&b| op.program.block_ops(b)).map(|&inner| op.program.view(inner));
    inner.any(|inner| !inner.def().terminator() && inner.def().side_effect(inner))
}

/// The known ops by name. Each [`Program`] holds its registry, so that all code that has the program has its ops.
/// Clones share their table.
#[derive(Clone)]
pub struct Registry {
    ops: Arc<FxHashMap<&'static str, &'static dyn OpDef>>,
    /// Whether the registry replaces an op of [`OPS`](crate::ops::OPS).
    replaced: bool,
}

impl Registry {
    /// Returns all ops in [`OPS`](crate::ops::OPS).
    pub fn standard() -> Self {
        static STANDARD: LazyLock<Registry> = LazyLock::new(|| Registry {
            ops: Arc::new(crate::ops::OPS.iter().map(|&op| (op.name(), op)).collect()),
            replaced: false,
        });
        STANDARD.clone()
    }

    /// Adds ops; a later one replaces an earlier one of the same name.
    pub fn with_ops(mut self, ops: &[&'static dyn OpDef]) -> Self {
        let table = Arc::make_mut(&mut self.ops);
        for &op in ops {
            self.replaced |= table.insert(op.name(), op).is_some();
        }
        self
    }

    /// Returns the op called `name`.
    pub fn get(&self, name: &str) -> Option<&'static dyn OpDef> {
        self.ops.get(name).copied()
    }

    /// Returns this registry's op with the name of the standard op `def`: `def` itself unless it was replaced.
    pub fn current(&self, def: &'static dyn OpDef) -> &'static dyn OpDef {
        if self.replaced { self.get(def.name()).unwrap_or(def) } else { def }
    }
}
