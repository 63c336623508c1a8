//! Checks of regions and terminators, and that every value is defined before its use.

use super::Verifier;
use crate::codes;
use crate::diagnostic::Diagnostic;
use crate::ir::{Block, Op, OpRef, Program, Value};
use crate::op::{Control, OpDef};
use crate::ops::func;

impl<'a> Verifier<'a> {
    /// Checks that a module is one block without arguments, because a module has no caller.
    pub(super) fn module(&mut self, op: OpRef<'a>) {
        let blocks = match self.program.op(op.op).regions[..] {
            [region] => self.program.region_blocks(region),
            _ => &[],
        };
        let &[block] = blocks else {
            let help = "put all functions and meshes into one block, without a label such as ^bb0";
            return self.error(codes::MODULE_STRUCTURE, op, "expected one region of one block in a module", help);
        };
        if !op.operands().is_empty() {
            self.error(
                codes::MODULE_STRUCTURE,
                op,
                "expected a module without operands",
                "remove them: a module is never called",
            );
        }
        if let Some(&first) = self.program.block_args(block).first() {
            let d = Diagnostic::error(
                codes::MODULE_STRUCTURE,
                self.program.value_span(first),
                "expected a module without arguments",
            );
            self.push(d.note("move them to a function"));
        }
    }

    /// Checks that an op is in an allowed place, and that its regions have the right form.
    pub(super) fn structure(&mut self, op: OpRef<'a>, owner: Option<OpRef<'a>>) {
        let name = op.name();
        let inside = owner.is_some_and(|owner| owner.name() != func::MODULE_NAME);
        if inside && matches!(name, "func.func" | "sdy.mesh") {
            self.error(
                codes::MISPLACED_OP,
                op,
                format!("'{name}' is inside another op"),
                "move it to the module's top level",
            );
        }
        if owner.is_none() && op.def().terminator() {
            self.error(
                codes::MISPLACED_OP,
                op,
                format!("'{name}' doesn't end a region"),
                "move it to the end of a function or region",
            );
        }
        let regions = &self.program.op(op.op).regions;
        if name == func::MODULE_NAME {
            return self.module(op);
        }
        // Unregistered ops may have regions of any form. Op definitions are zero-sized, so their addresses can't be
        // compared.
        if op.def().name() == crate::ops::UNKNOWN.name() {
            return;
        }
        for (i, &region) in regions.iter().enumerate() {
            match self.program.region_blocks(region) {
                [] if name == "func.func" => {}
                &[block] => self.region_end(op, i, block),
                blocks if name == "func.func" => blocks.iter().for_each(|&block| self.block_end(op, block)),
                blocks => {
                    let message = format!("region {i} of '{name}' has {} blocks, expected one", blocks.len());
                    self.error(codes::REGION_STRUCTURE, op, message, "branches between blocks are not supported");
                }
            }
        }
        if name == "func.func" {
            self.function_types(op);
        }
    }

    /// Checks that one of several blocks ends with a branch or a return.
    fn block_end(&mut self, op: OpRef<'a>, block: Block) {
        let last = self.program.block_ops(block).last().map(|&last| self.program.view(last));
        // An unknown op may be a terminator of its dialect.
        let ends = |last: OpRef<'_>| {
            let goes_on = self.program.op(last.op).successors.is_some();
            goes_on || last.def().terminator() || last.def().name() == crate::ops::UNKNOWN.name()
        };
        if !last.is_some_and(ends) {
            let message = "a block of the function doesn't end with a branch or a return";
            let d = Diagnostic::error(codes::MISSING_TERMINATOR, op.span(), message);
            self.push(d.also(last.map(|l| l.span()).unwrap_or_default(), "the last op"));
        }
    }

    /// Checks that a block ends with its dialect's return op and has no other.
    fn region_end(&mut self, op: OpRef<'a>, region: usize, block: Block) {
        let name = op.name();
        let dialect = name.split('.').next().unwrap_or_default();
        let expected = match dialect {
            "chlo" => "stablehlo.return".to_owned(),
            "linalg" => "linalg.yield".to_owned(),
            _ => format!("{dialect}.return"),
        };
        let ops = self.program.block_ops(block);
        for (i, &inner) in ops.iter().enumerate() {
            let inner = self.program.view(inner);
            if inner.def().terminator() && i + 1 < ops.len() {
                let message = format!("'{}' must be the last op of its region", inner.name());
                self.error(codes::MISPLACED_TERMINATOR, inner, message, "remove the ops that follow it");
            }
        }
        let last = ops.last().map(|&last| self.program.view(last));
        // JAX's exports end comparators, which are functions, too, with StableHLO's return.
        let other = if name == "func.func" { "stablehlo.return" } else { expected.as_str() };
        if last.is_none_or(|last| last.name() != expected && last.name() != other) {
            let found = last.map_or("nothing".to_owned(), |last| format!("'{}'", last.name()));
            let which = if self.program.op(op.op).regions.len() > 1 {
                format!("region {region}")
            } else {
                "the region".to_owned()
            };
            let message = format!("{which} of '{name}' must end with '{expected}', found {found}");
            let d = Diagnostic::error(codes::MISSING_TERMINATOR, op.span(), message);
            let at = last.map(|l| l.span()).unwrap_or_default();
            self.push(d.also(at, "the last op").note(format!("add a '{expected}' at its end")));
        }
    }

    /// Checks that a function's block takes and returns the types of the function's signature.
    fn function_types(&mut self, op: OpRef<'a>) {
        let program = self.program;
        let name = func::symbol(program, op.op).unwrap_or_default();
        let signature = func::signature(program, op.op);
        for (list, count, what) in [
            (func::ARG_ATTRS, signature.inputs.len(), "arguments"),
            (func::RES_ATTRS, signature.results.len(), "results"),
        ] {
            if let Some(crate::ir::AttrData::Array(items)) = op.attr(list)
                && items.len() != count
            {
                let message = format!("@{name} has {count} {what}, but {list} has {} dictionaries", items.len());
                self.error(codes::FUNCTION_ATTRIBUTES, op, message, "write one dictionary for each");
            }
        }
        let Some(block) = op.block(0) else { return };
        let args = op.type_ids(program.block_args(block));
        if args != signature.inputs {
            let (found, expected) = (program.types_text(&args), program.types_text(signature.inputs));
            self.error(
                codes::FUNCTION_TYPE,
                op,
                format!("the body of @{name} takes {found}, but its type declares {expected}"),
                "",
            );
        }
        let blocks = program.op(op.op).regions.iter().flat_map(|&region| program.region_blocks(region));
        for last in blocks.filter_map(|&block| program.terminator(block)) {
            if program.op(last).def.terminator() && program.op(last).successors.is_none() {
                self.returned_types(op, program.view(last));
            }
        }
    }

    /// Checks that a function's terminator returns the types of the function's signature.
    fn returned_types(&mut self, op: OpRef<'a>, last: OpRef<'a>) {
        let program = self.program;
        let name = func::symbol(program, op.op).unwrap_or_default();
        let signature = func::signature(program, op.op);
        let returned = op.type_ids(last.operands());
        if returned != signature.results {
            let (found, expected) = (program.types_text(&returned), program.types_text(signature.results));
            let d = Diagnostic::error(
                codes::RETURN_TYPES,
                last.span(),
                format!("expected @{name} to return {expected}, found {found}"),
            );
            let d = d.also(op.span(), format!("@{name} is declared here"));
            self.push(d.note("return values of the declared types, or declare what is returned"));
        }
    }
}

/// Checks that every operand is defined before its use, in an enclosing block and inside the same isolated op. Also
/// counts the uses of each value.
pub(super) fn values(verifier: &mut Verifier<'_>) {
    let program = verifier.program;
    let none = vec![0; program.value_count()];
    let mut scopes = Scopes { program, scope: none.clone(), uses: none, current: 1, next: 2, faults: Vec::new() };
    scopes.blocks(&[program.body()]);
    verifier.uses = std::mem::take(&mut scopes.uses);
    for (op, operand, isolated) in std::mem::take(&mut scopes.faults) {
        let op = program.view(op);
        let value = op.operands()[operand];
        let d = match isolated {
            true => Diagnostic::error(
                codes::VALUE_FROM_OUTSIDE,
                op.operand_span(operand),
                "the region reads a value that is defined outside of it",
            )
            .note("functions, manual and named computations can't read outer values: pass it as an operand"),
            false => {
                let message = format!("operand {operand} of '{}' is not defined before the op", op.name());
                Diagnostic::error(codes::UNDEFINED_VALUE, op.operand_span(operand), message)
                    .note("define it before the op, in this region or an enclosing one")
            }
        };
        verifier.push(d.also(program.value_span(value), "defined here"));
    }
}

struct Scopes<'a> {
    program: &'a Program,
    /// The number of the isolated op in which each visible value is defined; 0 for values that aren't visible.
    scope: Vec<u32>,
    /// The number of uses of each value.
    uses: Vec<u32>,
    current: u32,
    next: u32,
    /// The faults: (op, operand, whether the value is visible but outside an isolated op).
    faults: Vec<(Op, usize, bool)>,
}

impl Scopes<'_> {
    /// Visits the blocks of a region. If there are several, each sees the values of the blocks before it in the text,
    /// because this doesn't check which blocks precede it at run time.
    fn blocks(&mut self, blocks: &[Block]) {
        let program = self.program;
        blocks.iter().for_each(|&block| self.block(block));
        // The region's values aren't visible after it.
        for &block in blocks {
            let results = program.block_ops(block).iter().flat_map(|&op| program.results(op));
            for value in program.block_args(block).iter().copied().chain(results) {
                self.scope[value.index()] = 0;
            }
        }
    }

    fn block(&mut self, block: Block) {
        let program = self.program;
        self.define(program.block_args(block).iter().copied());
        for &op in program.block_ops(block) {
            for (i, value) in program.op(op).operands.iter().enumerate() {
                self.uses[value.index()] += 1;
                let scope = self.scope[value.index()];
                if scope != self.current {
                    self.faults.push((op, i, scope != 0));
                }
            }
            let outer = self.current;
            if is_isolated(program.view(op)) {
                self.current = self.next;
                self.next += 1;
            }
            for &region in &program.op(op).regions {
                self.blocks(program.region_blocks(region));
            }
            self.current = outer;
            self.define(program.results(op));
        }
    }

    fn define(&mut self, values: impl Iterator<Item = Value>) {
        for value in values {
            self.scope[value.index()] = self.current;
        }
    }
}

/// Returns whether its regions can't use values defined outside of it.
fn is_isolated(op: OpRef<'_>) -> bool {
    matches!(op.name(), "func.func" | func::MODULE_NAME)
        || matches!(op.def().control(op), Some(Control::Manual | Control::Inline))
}
