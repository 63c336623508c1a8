//! Merges a product with the sum that adds it to a tensor in place, as for gradients of weights in each iteration of a
//! loop.

use dialect::diagnostic::Diagnostic;
use dialect::ir::{Op, Value};
use dialect::kernel::{Arg, Index, Inst, Nest};
use dialect::scalar::ScalarOp;

use super::build::nest_of;
use crate::execute::lower::Lowering;
use crate::execute::lower::step::{Step, Steps};

impl Lowering<'_> {
    /// Merges the product of the last step with `op`, if `op` only adds the product to another tensor in place. Removes
    /// the last step and returns the merged one.
    pub(in crate::execute) fn accumulated(&mut self, op: Op, steps: &mut Steps) -> Result<Option<Step>, Diagnostic> {
        let program = self.program;
        let Some(&(_, Step::Gemm { gemm, lhs, rhs, out })) = steps.last() else { return Ok(None) };
        let &[a, b] = &program.op(op).operands[..] else { return Ok(None) };
        let is_sum = || nest_of(program, op).is_some_and(|nest| is_sum(&nest));
        let in_memory = |value: Value| self.buffers.get(value).is_some();
        let adds = a != b && self.out.gemms[gemm].can_add() && in_memory(a) && in_memory(b) && is_sum();
        if !adds {
            return Ok(None);
        }
        let result = program.result(op, 0);
        for (product, sum) in [(a, b), (b, a)] {
            let uses = self.uses();
            let alone = uses.get(product).len() == 1;
            if alone && self.slot(product)? == out && self.buffers.get(sum) == self.buffers.get(result) {
                let to = self.slot(result)?;
                steps.pop();
                self.out.gemms[gemm].add();
                return Ok(Some(Step::Gemm { gemm, lhs, rhs, out: to }));
            }
        }
        Ok(None)
    }
}

/// Returns whether a nest adds two tensors, element by element.
fn is_sum(nest: &Nest) -> bool {
    let plain = nest.inputs.iter().enumerate().all(|(i, input)| {
        let loops = (0..nest.loops.len()).map(Index::Loop);
        input.operand == i && input.guards.is_empty() && input.index.iter().cloned().eq(loops)
    });
    let is_add = |inst: &Inst| match inst {
        Inst::Op { op: ScalarOp::Add, args, .. } => {
            matches!(args[..], [Arg::Input(0), Arg::Input(1)] | [Arg::Input(1), Arg::Input(0)])
        }
        _ => false,
    };
    let body = &nest.body;
    nest.inputs.len() == 2
        && nest.parallel == nest.loops.len()
        && plain
        && matches!(&body.insts[..], [inst] if is_add(inst))
        && matches!(body.results[..], [Arg::Inst(0)])
}

#[cfg(test)]
mod tests {

    use super::*;
    use crate::execute::compared::{compared, floats};

    /// Runs five iterations, each of which adds to `%s` what `ops` compute of `%x`, of 70 x 80 elements, and compares
    /// with the reference. Returns the steps of an iteration.
    fn steps_of_a_turn(ops: &str) -> Vec<String> {
        let (x, s) = ("tensor<70x80xf32>", "tensor<80x80xf32>");
        let text = format!(
            "func.func @main(%x: {x}, %first: {s}) -> {s} {{
               %zero = stablehlo.constant dense<0> : tensor<i32>
               %five = stablehlo.constant dense<5> : tensor<i32>
               %one = stablehlo.constant dense<1> : tensor<i32>
               %l:2 = stablehlo.while(%i = %zero, %s = %first) : tensor<i32>, {s}
               cond {{
                 %c = stablehlo.compare LT, %i, %five : (tensor<i32>, tensor<i32>) -> tensor<i1>
                 stablehlo.return %c : tensor<i1>
               }} do {{
                 %j = stablehlo.add %i, %one : tensor<i32>
                 {ops}
                 stablehlo.return %j, %t : tensor<i32>, {s}
               }}
               return %l#1 : {s}
             }}"
        );
        let mut random = fastrand::Rng::with_seed(3);
        // Integers, whose sums are exact in any order.
        let inputs = [[70, 80], [80, 80]].map(|shape| floats(&shape, || f64::from(random.i32(-4..=4))));
        let executable = compared(&text, &inputs, 0.0);
        let name = |(_, step): &(Op, Step)| format!("{step:?}").split([' ', '{']).next().unwrap_or_default().to_owned();
        let body = executable.lowered.steps.iter().find_map(|(_, step)| match step {
            Step::While { body, .. } => Some(body.iter().map(name).collect()),
            _ => None,
        });
        body.expect("a loop")
    }

    const PRODUCT: &str = "%p = stablehlo.dot_general %x, %x, contracting_dims = [0] x [0] : (tensor<70x80xf32>, tensor<70x80xf32>) -> tensor<80x80xf32>";

    #[test]
    fn a_product_is_added_in_place() {
        for sum in ["%s, %p", "%p, %s"] {
            let found = steps_of_a_turn(&format!("{PRODUCT} %t = stablehlo.add {sum} : tensor<80x80xf32>"));
            assert_eq!(found.iter().filter(|name| *name == "Gemm").count(), 1, "{found:?}");
            // The counter has a kernel; the sum has none.
            assert_eq!(found.iter().filter(|name| *name == "Kernel").count(), 1, "{found:?}");
        }
    }

    #[test]
    fn what_is_used_otherwise_is_not() {
        for ops in [
            "%t = stablehlo.subtract %s, %p : tensor<80x80xf32>",
            "%u = stablehlo.add %s, %p : tensor<80x80xf32> %t = stablehlo.maximum %u, %p : tensor<80x80xf32>",
            "%u = stablehlo.add %p, %p : tensor<80x80xf32> %t = stablehlo.subtract %u, %s : tensor<80x80xf32>",
            "%q = stablehlo.transpose %s, dims = [1, 0] : (tensor<80x80xf32>) -> tensor<80x80xf32> %t = stablehlo.add %p, %q : tensor<80x80xf32>",
        ] {
            let found = steps_of_a_turn(&format!("{PRODUCT} {ops}"));
            let kernels = found.iter().filter(|name| ["Kernel", "Chain"].contains(&name.as_str()));
            assert!(kernels.count() > 1, "{found:?}\n{ops}");
        }
    }
}
