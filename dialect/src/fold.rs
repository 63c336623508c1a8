//! Values that are computed only from constants.
//!
//! JAX writes tables of positions as arithmetic on iota: the positions at which an image is resized, the rows that a
//! loss selects. Passes that look for a pattern in such a table evaluate it by the ops' reference meaning.

use rustc_hash::FxHashMap;

use crate::eval::evaluate;
use crate::ir::{Op, Program, Value, ValueSource};
use crate::kernel::Kernel;
use crate::literal::Literal;
use crate::proofs::Plain;

/// Values of constant expressions, each evaluated once.
#[derive(Default)]
pub struct Constants {
    known: FxHashMap<Value, Option<Literal>>,
}

impl Constants {
    /// Returns the contents of `value` in every run; `None` if they depend on arguments or devices, or if the value or
    /// any value it is computed from has more than `limit` elements.
    pub fn get(&mut self, program: &Program, value: Value, limit: usize) -> Option<Literal> {
        // Deep chains are visited without recursion.
        let mut open = vec![value];
        while let Some(&next) = open.last() {
            if self.known.contains_key(&next) {
                open.pop();
                continue;
            }
            let Some(op) = foldable(program, next, limit) else {
                self.known.insert(next, None);
                continue;
            };
            let operands = &program.op(op).operands;
            let missing: Vec<Value> = operands.iter().copied().filter(|v| !self.known.contains_key(v)).collect();
            if missing.is_empty() {
                let found = self.evaluate(program, op);
                self.known.insert(next, found);
            } else if operands.iter().any(|v| self.known.get(v) == Some(&None)) {
                self.known.insert(next, None);
            } else {
                open.extend(missing);
            }
        }
        self.known.get(&value).cloned().flatten()
    }

    fn evaluate(&self, program: &Program, op: Op) -> Option<Literal> {
        let view = program.view(op);
        if let Some(constant) = view.def().constant(view) {
            return Some(constant.clone());
        }
        let operands: Option<Vec<Literal>> = view.operands().iter().map(|v| self.known.get(v)?.clone()).collect();
        evaluate(view, &operands?, &mut Plain::new(program)).ok()?.into_iter().next()
    }
}

/// Returns the op that produces `value`, if it may be evaluated alone: a constant, or a loop nest without regions and
/// with one result of at most `limit` elements.
fn foldable(program: &Program, value: Value, limit: usize) -> Option<Op> {
    let ValueSource::Result(op, 0) = program.value_source(value) else { return None };
    let view = program.view(op);
    let elements = program
        .tensor_type(value)?
        .shape
        .iter()
        .try_fold(1usize, |n, &size| n.checked_mul(usize::try_from(size).ok()?))?;
    let nest = matches!(view.def().kernel(view), Kernel::Nest(_)) && program.op(op).regions.is_empty();
    let plain = nest && !view.def().side_effect(view) && view.result_count() == 1;
    (elements <= limit && (plain || view.def().constant(view).is_some())).then_some(op)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::diagnostic::Diagnostics;

    #[test]
    fn tables_are_evaluated_and_arguments_are_not() {
        let text = "func.func @main(%a: tensor<8xi32>) -> (tensor<8xi32>, tensor<8xi32>) {
            %i = stablehlo.iota dim = 0 : tensor<8xi32>
            %c = stablehlo.constant dense<2> : tensor<8xi32>
            %half = stablehlo.divide %i, %c : tensor<8xi32>
            %sum = stablehlo.add %half, %a : tensor<8xi32>
            return %half, %sum : tensor<8xi32>, tensor<8xi32>
        }";
        let mut diagnostics = Diagnostics::default();
        let program = crate::parse(text, &mut diagnostics);
        assert!(!diagnostics.has_errors());
        let main = crate::ops::func::function(&program, "main").unwrap();
        let block = crate::ops::func::block(&program, main).unwrap();
        let returned = program.op(program.terminator(block).unwrap()).operands.to_vec();
        let mut constants = Constants::default();
        let half = constants.get(&program, returned[0], 8).unwrap();
        assert_eq!(half.to_ints().unwrap(), [0, 0, 1, 1, 2, 2, 3, 3]);
        assert_eq!(constants.get(&program, returned[1], 8), None);
        assert_eq!(Constants::default().get(&program, returned[0], 7), None);
    }
}
