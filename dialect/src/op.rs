//! What an op is: one unit struct with one `impl OpDef` in its family's file under `ops/<dialect>/`, and one line in
//! [`OPS`](crate::ops::OPS). Passes and runtime never match on an op's name; they ask these questions.

use std::sync::{Arc, LazyLock};

use rustc_hash::FxHashMap;
use smallvec::SmallVec;

use crate::collective::GroupsRule;
pub use crate::collective::{Collective, CollectiveKind};
use crate::diagnostic::Diagnostics;
use crate::eval::{Context, EvalResult, Lanes, Mask};
use crate::ir::build::Builder;
use crate::ir::{Op, OpRef, TypeData, Value};
use crate::kernel::Kernel;
use crate::literal::Literal;
use crate::localize::Localize;
use crate::ops::sdy::Direction;
use crate::sharding::{FactorKind, ReductionKind, Reshard, ShardingRule};
use crate::text::Syntax;

/// A violated constraint of an op.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Problem {
    /// The operand it is about; `None` for the op as a whole.
    pub operand: Option<usize>,
    /// What was expected and found, ending with the specification's label: `… (C3)`.
    pub message: String,
    /// How to mend it; may be empty.
    pub note: String,
}

impl Problem {
    /// About the op as a whole.
    pub fn new(message: impl Into<String>) -> Self {
        Self { operand: None, message: message.into(), note: String::new() }
    }

    /// About operand `i`.
    pub fn operand(i: usize, message: impl Into<String>) -> Self {
        Self { operand: Some(i), message: message.into(), note: String::new() }
    }

    /// Says how to mend it.
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

/// Result types, or what is wrong.
pub type Inferred = Result<Vec<TypeData>, Vec<Problem>>;

/// A reduction in two steps, see [`OpDef::in_two_steps`].
#[derive(Clone, PartialEq, Debug)]
pub struct TwoSteps {
    /// The operands with the dimension split in two, pieces first.
    pub operands: Vec<Value>,
    /// What each piece gives, as further positions of dimension `at`.
    pub partial: Vec<Value>,
    /// The dimension of `partial` that counts the pieces.
    pub at: usize,
    /// What replaces the op's results.
    pub results: Vec<Value>,
}

/// How control passes through an op whose kernel is [`Kernel::Control`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Control {
    /// Region 0 (the condition) and region 1 (the body) both take the operands' current values; while the condition
    /// gives true the body's results replace them.
    While,
    /// The only operand is an index: region `i` runs for index `i`, the last one for every other index.
    Case,
    /// The only operand is an `i1`: region 0 runs for true, region 1 for false.
    If,
    /// The function [`callee`](crate::ops::func::callee) names runs over the operands.
    Call,
    /// Region 0 runs on every device of a mesh over its pieces of the operands; see
    /// [`ManualComputation`](crate::ops::sdy::ManualComputation).
    Manual,
    /// Region 0 runs over the operands.
    Inline,
    /// Result `i` is operand `i`: barriers and annotations.
    Identity,
}

/// What an op is there to say about where its operand lies.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Annotation {
    /// Its result has the sharding it states, and so has its operand where nothing else is said.
    Constraint,
    /// Its operand is moved to the sharding it states: reshards, and collectives over whole tensors.
    Reshard,
    /// Shardings pass it in this direction alone.
    Barrier(Direction),
    /// Its operand lies as all other members of the group of this number.
    Group(i64),
}

/// Values that an op makes one to shardings: what `sources` hold, `targets` hold next.
#[derive(Clone, PartialEq, Debug)]
pub struct DataFlow {
    /// The target that stands for all: the op's result, or a block argument that no result stands for.
    pub owner: Value,
    /// Operands of the op and of its regions' terminators.
    pub sources: SmallVec<[Value; 2]>,
    /// Results and arguments of the op's regions, the owner first.
    pub targets: SmallVec<[Value; 3]>,
}

/// In which round of sharding propagation an op takes part, and which way: the order in which conflicts are settled.
/// Source: Shardy, op priorities.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum OpPriority {
    /// First, both ways; an operand is not cut where a result refuses to be: elementwise ops.
    Elementwise,
    /// First, both ways: reshape, transpose.
    First,
    /// First from operands to results, late the other way: dynamic slices and updates.
    FirstForward,
    /// From results to operands when the middle rounds come, the other way last: broadcasts.
    BackwardFirst,
    /// Along pass-through factors in the middle rounds, along the others after.
    Late,
}

/// How an op stands to constants. What is made of constants alone is copied for every use that is not, so that two
/// uses of a constant don't make their other operands lie alike.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Constancy {
    /// A constant by itself: `constant`, `iota`.
    Source,
    /// Constant when its operands are.
    Preserving,
    /// Constant when its operands are; over a scalar that is none it is copied for every use too: broadcasts.
    Broadcast,
    /// Never.
    No,
}

/// What sharding propagation itself does about an op whose tensors end up lying differently.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum ExplicitReshard {
    /// Nothing: it is left to whoever plans communication.
    No,
    /// Operands and results are resharded until all agree.
    Operands,
    /// The result is computed as the operands lie and then resharded, where that saves communication.
    Result,
}

/// What one op means. Required where silence would be wrong, defaulted where the generic answer is right.
pub trait OpDef: Sync {
    /// The full name, `stablehlo.add`.
    fn name(&self) -> &'static str;

    /// The shape of its text, which parser and printer both read; generic MLIR form by default.
    fn syntax(&self) -> Syntax {
        Syntax::Generic
    }

    /// The result types, or the violated constraints with the specification's labels. Where operands and
    /// attributes don't decide (reshape, iota, convert), the declared results are checked and returned.
    fn infer(&self, op: OpRef<'_>) -> Inferred;

    /// Checks beyond types: regions, symbols, shardings. `infer` has passed.
    fn verify(&self, _op: OpRef<'_>, _diagnostics: &mut Diagnostics) {}

    /// The computation.
    fn kernel(&self, _op: OpRef<'_>) -> Kernel {
        Kernel::None
    }

    /// Which dimensions move together; read off the nest where loops tell. `None`: shardings don't cross the op.
    fn sharding_rule(&self, op: OpRef<'_>) -> Option<ShardingRule> {
        match self.kernel(op) {
            Kernel::Nest(nest) => Some(crate::sharding::rule_of_nest(op, &nest)),
            _ => None,
        }
    }

    /// The rule that sharding propagation spreads by: Shardy's, where that says more than is true.
    fn propagation_rule(&self, op: OpRef<'_>) -> Option<ShardingRule> {
        self.sharding_rule(op)
    }

    /// The rule for conservative propagation, which doesn't spread along dimensions whose pieces need data from their
    /// neighbors.
    fn conservative_rule(&self, op: OpRef<'_>) -> Option<ShardingRule> {
        let mut rule = self.propagation_rule(op)?;
        rule.block_where(|kind| kind == FactorKind::Permutation);
        Some(rule)
    }

    /// Builds the per-device form from local operands; the same op with local result types by default.
    fn localize(&self, cx: &mut Localize<'_>) {
        cx.same_op();
    }

    /// The same computation in plain StableHLO, for ops of other dialects and those that sums and products say better
    /// (batch normalization, einsum, constant shapes): builds it and gives the values that replace the op's results.
    /// `None`: it stays as it is.
    fn expand(&self, _op: Op, _build: &mut Builder<'_>) -> Option<Vec<Value>> {
        None
    }

    /// The slow, obvious meaning over concrete tensors: the oracle.
    fn evaluate(&self, op: OpRef<'_>, operands: &[Literal], cx: &mut dyn Context) -> EvalResult<Vec<Literal>>;

    /// All devices in lockstep: those of `mask` run. Overridden by collectives, partition_id and ops with regions.
    fn evaluate_spmd(
        &self,
        op: OpRef<'_>,
        operands: &[Lanes],
        mask: &Mask,
        cx: &mut dyn Context,
    ) -> EvalResult<Vec<Lanes>> {
        crate::eval::each_lane(op, operands, mask, cx)
    }

    /// Small instances that feed the generic proofs: arguments in parentheses, then the op's text.
    /// `(%a: tensor<2x3xf32>) %r = stablehlo.abs %a : tensor<2x3xf32>`
    fn examples(&self) -> &'static [&'static str];

    // Roles ----------------------------------------------------------------------------------------------------

    /// What it communicates, if it is a collective of the per-device program.
    fn collective(&self, _op: OpRef<'_>) -> Option<Collective> {
        None
    }

    /// Where its groups of devices are written and what is asked of them, if it has any. The verifier checks them.
    fn groups(&self, _op: OpRef<'_>) -> Option<GroupsRule> {
        None
    }

    /// How control passes through it, if its kernel is [`Kernel::Control`].
    fn control(&self, _op: OpRef<'_>) -> Option<Control> {
        None
    }

    /// Which values it makes one: loops, branches, manual and named computations, barriers.
    fn data_flow(&self, _op: OpRef<'_>) -> Vec<DataFlow> {
        Vec::new()
    }

    /// What it says about where its operand lies, if that is all it is there for.
    fn annotation(&self, _op: OpRef<'_>) -> Option<Annotation> {
        None
    }

    /// The change of distribution it stands for, if it is one of Shardy's collectives (or an identity among them).
    fn reshard(&self, _op: OpRef<'_>) -> Option<Reshard> {
        None
    }

    /// The value of a constant.
    fn constant<'a>(&self, _op: OpRef<'a>) -> Option<&'a Literal> {
        None
    }

    /// Whether each result element depends on the same element of every non-scalar operand alone.
    fn elementwise(&self) -> bool {
        false
    }

    /// When sharding propagation visits it.
    fn op_priority(&self, _op: OpRef<'_>) -> OpPriority {
        if self.elementwise() { OpPriority::Elementwise } else { OpPriority::Late }
    }

    /// How it stands to constants.
    fn constancy(&self, op: OpRef<'_>) -> Constancy {
        match self.constant(op) {
            Some(_) => Constancy::Source,
            None if self.elementwise() && !self.side_effect(op) => Constancy::Preserving,
            None => Constancy::No,
        }
    }

    /// What sharding propagation does about it when its tensors lie differently; Shardy does so for a few ops.
    fn explicit_reshard(&self) -> ExplicitReshard {
        ExplicitReshard::No
    }

    /// Whether its sharding rule looks past its own attributes and types, at what makes its operands.
    fn rule_reads_operands(&self) -> bool {
        false
    }

    /// How the pieces of a result cut along reduction factors combine; `None` when they can't be.
    fn reduction(&self, _op: OpRef<'_>) -> Option<ReductionKind> {
        None
    }

    /// The same results in two steps, for parts that [`OpDef::reduction`] can't combine: dimension `dim` of the operands,
    /// which is reduced, is split into `pieces` of equal size, each is reduced alone, then what came of them. `None` where
    /// that can't be done or may not be the same; then nothing is built.
    fn in_two_steps(&self, _op: Op, _dim: usize, _pieces: i64, _build: &mut Builder<'_>) -> Option<TwoSteps> {
        None
    }

    /// Floating-point operations of the op as it stands (2·m·n·k of a matmul); 0 for what isn't counted. A loop nest
    /// tells; what is none and multiplies all the same says it here.
    fn flops(&self, op: OpRef<'_>) -> f64 {
        match self.kernel(op) {
            Kernel::Nest(nest) => nest.flops(),
            _ => 0.0,
        }
    }

    /// Whether its regions don't see the values around it.
    fn isolated(&self) -> bool {
        false
    }

    /// Whether it ends a block.
    fn terminator(&self) -> bool {
        false
    }

    /// Whether it must stay although nobody reads its results, and in order with others that say so.
    fn side_effect(&self, op: OpRef<'_>) -> bool {
        op.result_count() == 0
    }

    /// What MLIR calls its regions' arguments (`%iterArg`), instead of `%arg` and a number.
    fn block_arg_name(&self) -> Option<&'static str> {
        None
    }

    /// What MLIR calls its results (`%cst`, `%c`), instead of a number.
    fn result_name(&self, _op: OpRef<'_>) -> Option<&'static str> {
        None
    }
}

/// The known ops by name. A [`Program`](crate::ir::Program) holds the one it was read with, so that whoever has the
/// program knows its ops. Clones share their table.
#[derive(Clone)]
pub struct Registry {
    ops: Arc<FxHashMap<&'static str, &'static dyn OpDef>>,
    /// Whether some name no longer means the op that [`OPS`](crate::ops::OPS) has.
    replaced: bool,
}

impl Registry {
    /// Everything in [`OPS`](crate::ops::OPS).
    pub fn standard() -> Self {
        static STANDARD: LazyLock<Registry> = LazyLock::new(|| Registry {
            ops: Arc::new(crate::ops::OPS.iter().map(|&op| (op.name(), op)).collect()),
            replaced: false,
        });
        STANDARD.clone()
    }

    /// With more ops; a later one replaces one of the same name.
    pub fn with_ops(mut self, ops: &[&'static dyn OpDef]) -> Self {
        let table = Arc::make_mut(&mut self.ops);
        for &op in ops {
            self.replaced |= table.insert(op.name(), op).is_some();
        }
        self
    }

    /// The op called `name`.
    pub fn get(&self, name: &str) -> Option<&'static dyn OpDef> {
        self.ops.get(name).copied()
    }

    /// The op of this registry that stands where the standard one has `def`: the same, unless it was replaced.
    pub fn current(&self, def: &'static dyn OpDef) -> &'static dyn OpDef {
        if self.replaced { self.get(def.name()).unwrap_or(def) } else { def }
    }
}
