//! A program with the text it was read from, so that diagnostics can name lines.

use std::sync::Arc;

use dialect::ir::{Block, Program};
use dialect::ops::func;

use crate::source::Source;

/// A program that was read from a text, at any stage of its compilation.
#[derive(Clone)]
pub struct Module {
    program: Program,
    source: Arc<Source>,
    /// Whether the verifier has passed the program in its current form.
    pub(crate) verified: bool,
}

impl Module {
    /// Returns a module of a program and its text.
    pub fn new(program: Program, source: impl Into<Arc<Source>>) -> Self {
        Self { program, source: source.into(), verified: false }
    }

    /// Returns a module with the same text and another program.
    pub fn with_program(&self, program: Program) -> Self {
        Self { program, source: self.source.clone(), verified: false }
    }

    /// Returns the program.
    pub fn program(&self) -> &Program {
        &self.program
    }

    /// Returns the program for modification. It will be verified again before the next pass.
    pub fn program_mut(&mut self) -> &mut Program {
        self.verified = false;
        &mut self.program
    }

    /// Returns the program without its text.
    pub fn into_program(self) -> Program {
        self.program
    }

    /// Returns the text.
    pub fn source(&self) -> &Source {
        &self.source
    }

    /// Returns program and text, so that a pass can change the program while diagnostics read its text.
    pub(crate) fn parts(&mut self) -> (&mut Program, &Source) {
        (&mut self.program, &self.source)
    }
}

/// Returns the body of `@main`.
pub(crate) fn main_block(program: &Program) -> Option<Block> {
    func::block(program, func::function(program, "main")?)
}
