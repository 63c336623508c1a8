//! Checks of the whole module: everything that a program must satisfy before any pass runs. One run reports all errors.
//!
//! Values (`value`): every operand is defined before its use, in the user's block or an enclosing one; functions,
//! manual and named computations don't use values defined outside of them.
//!
//! Types (`type`): operands and attributes satisfy the op's constraints, reported with the specification's labels; the
//! declared result types are the inferred ones; the blocks of functions take and return the types of the function's
//! signature.
//!
//! Regions (`region`): each has one block, which ends with the return of the op's dialect and has no other return;
//! functions and meshes are directly in the module. A module takes no arguments.
//!
//! Symbols (`symbol`): names are unique; calls name functions and match their types; no function calls itself, directly
//! or indirectly.
//!
//! Meshes (`mesh`): axis sizes are at least 1, axis names unique, at most 65,536 devices, which is also the limit for
//! replicas times partitions; device ids are a permutation; a mesh without axes names at most one device; all meshes
//! have the same number of devices (only a warning, because Shardy's own tests violate it).
//!
//! Shardings (`sharding`) of arguments, results, ops, constraints, reshards, edges, collectives, manual and named
//! computations: the mesh exists; there is one entry per dimension of a tensor, and none for other types or for a
//! single device; axes exist; no axis is used twice, as a whole or in overlapping parts; parts divide their axis, are
//! smaller than it, and are merged with adjacent parts; replicated and unreduced axes are in the mesh's order; a closed
//! empty dimension has no priority; no axis is manual around the op; there is one sharding per value.
//!
//! Manual computations: one mesh; manual axes exist, are listed once, and aren't manual around the op; they come before
//! the others in each dimension and divide its size; the body's types are those of the shards. Shardy's collectives:
//! `out_sharding` is the result of applying their axes to the operand's sharding. Members of a sharding group are all
//! inside one manual computation or all outside. Barriers block at least one direction. Sharding rules fit the op.
//! Partial results are combined by the reduction that produced them, and changes of sharding only produce partial sums.
//! A data-flow edge is the only user of its operand; the operand has static sizes and isn't the result of an
//! annotation.
//!
//! Memory kinds of arguments and results are known ones.
//!
//! Programs over several meshes: the meshes of a topology have different devices; tensors are on one of its meshes and
//! sharded evenly over its axes; fragments and transfers are directly in a function.
//!
//! Sources: the StableHLO specification, Shardy's dialect documentation and its verifiers.

mod collective;
mod edges;
mod manual;
mod memory;
mod mesh;
mod mpmd;
mod place;
mod quantized;
mod rule;
mod sharding;
mod structure;
mod symbols;
mod transition;
mod unreduced;

pub use transition::verify_transitions;

use std::cell::OnceCell;

use rustc_hash::{FxHashMap, FxHashSet};

use crate::codes;
use crate::collective::GroupsRule;
use crate::diagnostic::{Diagnostic, Diagnostics};
use crate::ir::{Attr, AttrData, Block, ElementType, Name, Op, OpRef, Program, TypeData};
use crate::op::Problem;
use crate::ops::func;
use crate::sharding::{Mesh, ShardingTable};

/// Checks the whole program; see the module documentation for the rules.
pub fn verify(program: &Program, diagnostics: &mut Diagnostics) {
    let mut verifier = Verifier::new(program, diagnostics);
    verifier.meshes();
    verifier.symbols();
    structure::values(&mut verifier);
    verifier.module(program.view(program.module));
    verifier.block(program.body(), None);
}

const ACCURACY: &str = "result_accuracy";

/// Returns the enclosing op of each block.
fn owners(program: &Program) -> FxHashMap<Block, Op> {
    let mut owners = FxHashMap::default();
    program.walk(program.body(), &mut |op| {
        for &region in &program.op(op).regions {
            owners.extend(program.region_blocks(region).iter().map(|&block| (block, op)));
        }
    });
    owners
}

/// Iterates over the blocks of a function, each with the function.
fn blocks_of(program: &Program, function: Op) -> impl Iterator<Item = (Block, Op)> + '_ {
    let regions = program.op(function).regions.iter();
    regions.flat_map(|&region| program.region_blocks(region)).map(move |&block| (block, function))
}

/// The state of the checks.
struct Verifier<'a> {
    program: &'a Program,
    diagnostics: &'a mut Diagnostics,
    functions: FxHashMap<&'a str, Op>,
    /// The function of which a block is the body.
    function_of: FxHashMap<Block, Op>,
    /// The op that contains a block.
    owners: FxHashMap<Block, Op>,
    /// All meshes, valid or not, so that references to an invalid mesh aren't reported again.
    meshes: FxHashMap<&'a str, &'a Mesh>,
    /// The manual axes around the op being checked, each with its op.
    manual: Vec<(Name, Op)>,
    /// The manual computations around the op being checked.
    computations: Vec<Op>,
    /// The first member of each sharding group, and its manual computation.
    groups: FxHashMap<i64, (Op, Option<Op>)>,
    /// The sharding of every value, computed on first use.
    shardings: OnceCell<ShardingTable>,
    /// The number of uses of each value.
    uses: Vec<u32>,
    /// The device groups that already passed the checks of a rule.
    sound_groups: FxHashSet<(GroupsRule, Option<Attr>)>,
}

impl<'a> Verifier<'a> {
    fn new(program: &'a Program, diagnostics: &'a mut Diagnostics) -> Self {
        Self {
            program,
            diagnostics,
            functions: func::functions_by_name(program),
            function_of: func::functions(program).flat_map(|function| blocks_of(program, function)).collect(),
            owners: owners(program),
            meshes: FxHashMap::default(),
            manual: Vec::new(),
            computations: Vec::new(),
            groups: FxHashMap::default(),
            shardings: OnceCell::new(),
            uses: Vec::new(),
            sound_groups: FxHashSet::default(),
        }
    }

    fn push(&mut self, diagnostic: Diagnostic) {
        self.diagnostics.push(diagnostic);
    }

    /// Reports an error at the op's name.
    fn error(&mut self, code: codes::Code, op: OpRef<'_>, message: impl Into<String>, note: &str) {
        let d = Diagnostic::error(code, op.span(), message);
        self.push(if note.is_empty() { d } else { d.note(note) });
    }

    fn block(&mut self, block: Block, owner: Option<OpRef<'a>>) {
        let program = self.program;
        for &op in program.block_ops(block) {
            self.op(program.view(op), owner);
        }
    }

    fn op(&mut self, op: OpRef<'a>, owner: Option<OpRef<'a>>) {
        self.structure(op, owner);
        if op.name() == func::MODULE_NAME {
            // A nested module has its own symbols. It is kept unchanged.
            return;
        }
        self.types(op);
        self.quantized(op);
        self.accuracy(op);
        self.shardings(op);
        self.several_meshes(op, owner);
        self.memory_kinds(op);
        op.def().verify(op, self.diagnostics);

        let (mark, outer) = (self.manual.len(), self.computations.len());
        self.enter_manual(op);
        let regions = &self.program.op(op.op).regions;
        for &block in regions.iter().flat_map(|&region| self.program.region_blocks(region)) {
            self.block(block, Some(op));
        }
        self.manual.truncate(mark);
        self.computations.truncate(outer);
    }

    /// Returns whether the device groups satisfy the specification. Equal groups are checked once.
    fn device_groups(&mut self, op: OpRef<'a>) -> bool {
        let Some(rule) = op.def().groups(op) else { return true };
        let key = (rule, op.attr_id(rule.attribute));
        if self.sound_groups.contains(&key) {
            return true;
        }
        let problems = rule.problems(op);
        if problems.is_empty() {
            self.sound_groups.insert(key);
            return true;
        }
        problems.into_iter().for_each(|p| self.problem(op, p));
        false
    }

    /// Checks that `infer` finds no problem, and that it returns the declared types.
    fn types(&mut self, op: OpRef<'a>) {
        let groups_are_right = self.device_groups(op);
        let types = match op.def().infer(op) {
            Ok(types) => types,
            Err(problems) => return problems.into_iter().for_each(|p| self.problem(op, p)),
        };
        if !groups_are_right {
            return;
        }
        let declared = op.result_count();
        if types.len() != declared {
            let message = format!("'{}' has {} results, but {declared} are declared", op.name(), types.len());
            return self.error(codes::RESULT_COUNT, op, message, "");
        }
        for (i, (found, expected)) in op.result_types().zip(&types).enumerate() {
            if !compatible(self.program, found, expected) {
                let (found, expected) = (self.program.type_data_text(found), self.program.type_data_text(expected));
                let which = if types.len() > 1 { format!("result {i}") } else { "the result".to_owned() };
                let message = format!("expected {which} of '{}' to be {expected}, found {found}", op.name());
                self.error(
                    codes::RESULT_TYPE,
                    op,
                    message,
                    &format!("its operands and attributes imply {expected}: declare that type"),
                );
            }
        }
    }

    /// Checks the requested accuracy of an elementary function: tolerances are allowed only in mode TOLERANCE.
    fn accuracy(&mut self, op: OpRef<'a>) {
        let Some(AttrData::Opaque(mode)) = op.field(ACCURACY, "mode") else { return };
        let stated = |name: &str| match op.field(ACCURACY, name) {
            Some(AttrData::Float(bits, _)) => f64::from_bits(*bits) != 0.0,
            other => other.and_then(AttrData::as_int).is_some_and(|v| v != 0),
        };
        if !mode.contains("TOLERANCE") && ["atol", "rtol", "ulps"].into_iter().any(stated) {
            let span = place::AttrRange::of_op(op).fallback;
            let d = Diagnostic::error(
                codes::RESULT_ACCURACY,
                span,
                format!("'{}': {ACCURACY} states tolerances with mode {mode}, which takes none", op.name()),
            );
            self.push(d.note("tolerances go with #stablehlo.result_accuracy_mode<TOLERANCE>"));
        }
    }

    fn problem(&mut self, op: OpRef<'_>, problem: Problem) {
        let span = problem.operand.map_or(op.span(), |i| op.operand_span(i));
        let mut d = Diagnostic::error(codes::OP_CONSTRAINT, span, format!("'{}': {}", op.name(), problem.message));
        if let Some(&value) = problem.operand.and_then(|i| op.operands().get(i)) {
            let ty = self.program.type_text(self.program.value_type(value));
            d = d.also(self.program.value_span(value), format!("defined here as {ty}"));
        }
        let note = match op.name().strip_prefix("stablehlo.") {
            Some(name) if problem.note.is_empty() => {
                format!("the rules of the op: https://openxla.org/stablehlo/spec#{name}")
            }
            _ => problem.note,
        };
        self.push(if note.is_empty() { d } else { d.note(note) });
    }
}

/// Returns whether a declared type matches the inferred one, as far as both are known.
fn compatible(program: &Program, declared: &TypeData, inferred: &TypeData) -> bool {
    let (TypeData::Tensor(a), TypeData::Tensor(b)) = (declared, inferred) else { return declared == inferred };
    // The element types that quantized types and those of other dialects express aren't inferred.
    let open = |e: ElementType| matches!(e, ElementType::Other(name) if program.name_text(name).starts_with('!'));
    let elements = a.element == b.element || open(a.element) || open(b.element);
    elements && a.fits(b)
}
