//! The inputs of proofs, for which every result is exact, and an evaluator for one device.

use crate::eval::{Context, EvalError, EvalResult, LaneResults, Lanes, Mask};
use crate::ir::{ElementClass, Op, Program, Region, TensorType, Value};
use crate::kernel::Kernel;
use crate::literal::Literal;
use crate::op::OpDef;
use crate::scalar::Scalar;
use std::collections::HashMap;

/// A single device that runs regions.
pub(crate) struct Plain<'a> {
    program: &'a Program,
    values: HashMap<Value, Literal>,
}

impl<'a> Plain<'a> {
    pub(crate) fn new(program: &'a Program) -> Self {
        Self { program, values: HashMap::new() }
    }

    /// Sets the literal of a value.
    pub(crate) fn set(&mut self, value: Value, literal: Literal) {
        self.values.insert(value, literal);
    }

    /// Returns the literals of these values.
    pub(crate) fn get(&self, values: &[Value]) -> EvalResult<Vec<Literal>> {
        let get = |v: &Value| self.values.get(v).cloned().ok_or_else(|| EvalError::new(format!("{v:?} has no value")));
        values.iter().map(get).collect()
    }

    /// Runs ops in order; returns the terminator's operands, if there is one.
    pub(crate) fn run(&mut self, ops: &[Op]) -> EvalResult<Vec<Literal>> {
        for &op in ops {
            let view = self.program.view(op);
            let operands = self.get(view.operands())?;
            if view.def().terminator() {
                return Ok(operands);
            }
            let results = crate::eval::evaluate(view, &operands, self)?;
            for (value, literal) in view.results().zip(results) {
                self.set(value, literal);
            }
        }
        Ok(Vec::new())
    }
}

impl Context for Plain<'_> {
    fn replicas(&self) -> usize {
        1
    }

    fn partitions(&self) -> usize {
        1
    }

    fn region(&mut self, region: Region, args: &[Lanes], _: &Mask) -> LaneResults {
        let block = self.program.region_blocks(region)[0];
        for (&arg, lanes) in self.program.block_args(block).iter().zip(args) {
            let literal = lanes[0].clone().ok_or_else(|| EvalError::new("an argument has no value"))?;
            self.set(arg, literal);
        }
        let results = self.run(self.program.block_ops(block))?;
        Ok(results.into_iter().map(|r| vec![Some(r)]).collect())
    }

    fn isolated(&mut self, _: usize, _: Region, _: &[Lanes], _: &Mask) -> LaneResults {
        Err(EvalError::new("one device has no mesh"))
    }

    fn call(&mut self, callee: &str, _: &[Lanes], _: &Mask) -> LaneResults {
        Err(EvalError::new(format!("no function {callee}")))
    }

    fn lane(&self) -> usize {
        0
    }

    fn set_lane(&mut self, _: usize) {}

    fn step(&mut self) -> EvalResult<()> {
        Ok(())
    }
}

/// Returns small, varied integers of the type, the same in every run; sums of them are exact.
pub(crate) fn small(ty: &TensorType, seed: u64) -> Literal {
    let bits = |i: usize| (i as u64 + 1).wrapping_mul(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1) >> 33;
    Literal::from_fn(ty, |i| {
        let v = bits(i) as i64 % 7 - 3;
        match ty.element.class() {
            ElementClass::Float => Scalar::Float(v as f64),
            ElementClass::Complex => Scalar::Complex(v as f64, (bits(i) / 7) as f64 % 5.0 - 2.0),
            ElementClass::Unsigned => Scalar::Int((v + 3).into()),
            ElementClass::Bool => Scalar::Int((v & 1).into()),
            _ => Scalar::Int(v.into()),
        }
    })
}

/// Returns small inputs for every operand, or the constant if the operand is one.
pub(crate) fn inputs(program: &Program, op: Op) -> Vec<Literal> {
    let view = program.view(op);
    (0..view.operands().len())
        .map(|i| match program.value_source(view.operands()[i]) {
            crate::ir::ValueSource::Result(source, _) => {
                let source = program.view(source);
                let nest = || match source.def().kernel(source) {
                    Kernel::Nest(nest) if nest.inputs.is_empty() => nest.eval(&[]).pop(),
                    _ => None,
                };
                let value = source.def().constant(source).cloned().or_else(nest);
                value.expect("an example's operands are arguments or constants")
            }
            _ => small(view.operand_tensor(i).expect("an example's operands are tensors"), i as u64 + 1),
        })
        .collect()
}

/// Checks that both are equal: integers exactly, floats within a relative tolerance, where 0 means bit for bit.
pub(crate) fn same(want: &Literal, found: &Literal, tolerance: f64) -> Result<(), String> {
    if want.ty() != found.ty() {
        return Err(format!("expected {:?}, found {:?}", want.ty(), found.ty()));
    }
    let near = |a: f64, b: f64| {
        a.to_bits() == b.to_bits() || a.is_nan() && b.is_nan() || (a - b).abs() <= tolerance * a.abs().max(b.abs())
    };
    for i in 0..want.len() {
        let equal = match (want.get(i), found.get(i)) {
            (Scalar::Float(a), Scalar::Float(b)) => near(a, b),
            (Scalar::Complex(a, b), Scalar::Complex(c, d)) => near(a, c) && near(b, d),
            (a, b) => a == b,
        };
        if !equal {
            return Err(format!("element {i}: expected {:?}, found {:?}", want.get(i), found.get(i)));
        }
    }
    Ok(())
}

/// Returns whether a single device can run the op.
pub(crate) fn runs_alone(def: &dyn OpDef, program: &Program, op: Op) -> bool {
    let view = program.view(op);
    def.collective(view).is_none()
        && !matches!(def.kernel(view), Kernel::None | Kernel::Control)
        && !def.side_effect(view)
}

/// Returns the results of the op's reference evaluation.
pub(crate) fn evaluate(program: &Program, op: Op, operands: &[Literal]) -> Result<Vec<Literal>, String> {
    crate::eval::evaluate(program.view(op), operands, &mut Plain::new(program)).map_err(|e| e.message)
}
