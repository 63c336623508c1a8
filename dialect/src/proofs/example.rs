//! Programs from ops' examples.

use crate::diagnostic::Diagnostics;
use crate::ir::{Block, Op, Program};
use crate::op::{OpDef, Registry};

/// One parsed example of an op.
pub struct Example {
    /// The op of the example.
    pub def: &'static dyn OpDef,
    /// The text in the op's definition.
    pub text: String,
    /// The program parsed from it.
    pub program: Program,
    /// The last op of that name in the program.
    pub op: Op,
}

impl Example {
    /// Returns the examples of `def`, parsed with the ops of `registry`.
    ///
    /// # Errors
    /// A text that can't be parsed, or that doesn't contain the op.
    pub fn all_of(def: &'static dyn OpDef, registry: &Registry) -> Result<Vec<Self>, String> {
        def.examples().iter().map(|text| Self::read(def, text, registry)).collect()
    }

    /// One example of `def`.
    ///
    /// # Errors
    /// A text that can't be parsed, or that doesn't contain the op.
    pub fn read(def: &'static dyn OpDef, text: &str, registry: &Registry) -> Result<Self, String> {
        let program = program(text, registry)?;
        let ops = program.block_ops(example_block(&program));
        let found = ops.iter().rev().find(|&&op| program.op_name(op) == def.name());
        let op = *found.ok_or_else(|| format!("{text}: an example of {} without it", def.name()))?;
        Ok(Self { def, text: text.to_owned(), program, op })
    }
}

fn program(text: &str, registry: &Registry) -> Result<Program, String> {
    let close = text.find(')').ok_or_else(|| format!("an example begins with its arguments: {text}"))?;
    let (args, ops) = (&text[1..close], &text[close + 1..]);
    let mut diagnostics = Diagnostics::default();
    let text = format!("\"test.example\"() ({{\n^bb0({args}):\n{ops}\n}}) : () -> ()\n");
    let text = if args.is_empty() { text.replace("^bb0():\n", "") } else { text };
    let program = crate::parse_with(&text, registry, &mut diagnostics);
    if diagnostics.has_errors() { Err(format!("{text}\n{diagnostics:#?}")) } else { Ok(program) }
}

/// Returns the program of one example of standard ops: its arguments in parentheses, then the text of its ops, all in
/// the one block that [`example_block`] finds. Panics if the text is wrong, which is a mistake in the op's examples.
pub fn example_program(text: &str) -> Program {
    program(text, &Registry::standard()).unwrap_or_else(|message| panic!("{message}"))
}

/// Returns the block with an example's arguments and ops.
pub fn example_block(program: &Program) -> Block {
    let example = program.block_ops(program.body())[0];
    program.region_block(example, 0).expect("an example has a block")
}
