//! A program with the text it was read from, so that diagnostics can name lines.

use std::sync::Arc;

use dialect::ir::Program;

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
    /// A program with its text.
    pub fn new(program: Program, source: impl Into<Arc<Source>>) -> Self {
        Self { program, source: source.into(), verified: false }
    }

    /// The same text with another program.
    pub fn with_program(&self, program: Program) -> Self {
        Self { program, source: self.source.clone(), verified: false }
    }

    /// The program.
    pub fn program(&self) -> &Program {
        &self.program
    }

    /// The program for modification: it is verified again before the next pass.
    pub fn program_mut(&mut self) -> &mut Program {
        self.verified = false;
        &mut self.program
    }

    /// The program without its text.
    pub fn into_program(self) -> Program {
        self.program
    }

    /// The text.
    pub fn source(&self) -> &Source {
        &self.source
    }

    /// Program and text, so that a pass can change the program while diagnostics look at its text.
    pub(crate) fn parts(&mut self) -> (&mut Program, &Source) {
        (&mut self.program, &self.source)
    }
}
