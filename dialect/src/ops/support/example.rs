//! Programs made of the examples that ops give for the generic proofs.

use crate::diagnostic::Diagnostics;
use crate::ir::{Block, Program};

/// The program of one example: its arguments in parentheses, then the text of its ops. They stand in the one block
/// that [`example_block`] finds. Panics when the text is wrong, which is a mistake in the op's examples.
pub fn example_program(text: &str) -> Program {
    let close = text.find(')').unwrap_or_else(|| panic!("an example begins with its arguments: {text}"));
    let (args, ops) = (&text[1..close], &text[close + 1..]);
    let mut diagnostics = Diagnostics::default();
    let text = format!("\"test.example\"() ({{\n^bb0({args}):\n{ops}\n}}) : () -> ()\n");
    let text = if args.is_empty() { text.replace("^bb0():\n", "") } else { text };
    let program = crate::parse(&text, &mut diagnostics);
    assert!(!diagnostics.has_errors(), "{text}\n{diagnostics:#?}");
    program
}

/// The block that holds an example's arguments and ops.
pub fn example_block(program: &Program) -> Block {
    let example = program.block_ops(program.body())[0];
    program.region_block(example, 0).expect("an example has a block")
}
