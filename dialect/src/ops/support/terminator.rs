//! Ops that end a region and return its results.

use crate::eval::{Context, EvalResult};
use crate::ir::OpRef;
use crate::literal::Literal;
use crate::op::{Inferred, OpDef};
use crate::text::{Piece, Syntax};

/// An op that ends a block: its operands are the results of the region or function.
pub struct Terminator {
    /// Its full name.
    pub name: &'static str,
    /// Its text.
    pub syntax: &'static [Piece],
}

impl OpDef for Terminator {
    fn name(&self) -> &'static str {
        self.name
    }

    fn syntax(&self) -> Syntax {
        Syntax::Pieces(self.syntax)
    }

    fn infer(&self, _: OpRef<'_>) -> Inferred {
        Ok(Vec::new())
    }

    fn evaluate(&self, _: OpRef<'_>, _: &[Literal], _: &mut dyn Context) -> EvalResult<Vec<Literal>> {
        Ok(Vec::new())
    }

    fn terminator(&self) -> bool {
        true
    }
}
