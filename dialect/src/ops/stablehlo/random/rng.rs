//! `rng`: random numbers from a distribution. The specification leaves their values to the implementation; here they
//! are a function of the bounds and the shape, so that every device and every run gets the same numbers.
//!
//! `import` rewrites it as bits of `rng_bit_generator` and plain arithmetic, because other compilers draw different
//! numbers on every device, so that replicated values would differ. Both forms compute with the same [`Body`].

use super::bits::philox_bits;
use super::generator::philox;
use crate::eval::{Context, EvalResult};
use crate::ir::build::Builder;
use crate::ir::{ElementClass, ElementType, Op, OpRef, TensorType, Value};
use crate::kernel::{Arg, Body, External, Inst, Kernel};
use crate::literal::Literal;
use crate::op::{Inferred, OpDef, Problem};
use crate::ops::build;
use crate::ops::stablehlo::elementwise::{Classes, element};
use crate::ops::support::constraint::{
    Checked, declared, is_static, one, operand_count, require, result, same_element, scalar, show, tensor,
};
use crate::scalar::{Scalar, ScalarOp};
use crate::text::{Piece, Syntax, TypeForm};

/// `rng`: <https://openxla.org/stablehlo/spec#rng>
pub struct Rng;

impl Rng {
    /// Returns whether the distribution is normal.
    fn check(op: OpRef<'_>) -> Checked<bool> {
        operand_count(op, 3)?;
        let a = scalar(op, 0, "I1")?;
        element(op, 0, Classes::NOT_COMPLEX, "I1")?;
        scalar(op, 1, "I2")?;
        same_element(op, 1, 0, "C1")?;
        let shape = tensor(op, 2)?;
        let valid = shape.rank() == 1 && shape.element.class() != ElementClass::Float;
        require!(valid, operand = 2, "expected a list of integers, found {} (I3)", show(op, shape));
        let normal = match op.enum_value("rng_distribution") {
            Some("NORMAL") => true,
            Some("UNIFORM") => false,
            _ => return Err(Problem::new("expected rng_distribution to be UNIFORM or NORMAL (I4)")),
        };
        if normal {
            element(op, 0, Classes::REAL, "C2")?;
        }
        let output = result(op, 0)?;
        let valid = output.element == a.element;
        require!(valid, "expected the elements of {}, found {} (C1)", show(op, a), show(op, output));
        let count = shape.shape[0];
        let valid = count < 0 || count == output.rank() as i64;
        require!(valid, "expected a result of rank {count}, found {} (C3)", show(op, output));
        if let Some(sizes) = op.constant_operand(2).and_then(Literal::to_ints) {
            let fits = sizes.len() == output.rank() && sizes.iter().zip(&output.shape).all(|(&a, &b)| a == b || b < 0);
            require!(fits, "expected a result of sizes {sizes:?}, found {} (C3)", show(op, output));
        }
        Ok(normal)
    }
}

impl OpDef for Rng {
    fn name(&self) -> &'static str {
        "stablehlo.rng"
    }

    fn syntax(&self) -> Syntax {
        Syntax::Keys(&[("distribution", Piece::Enum("rng_distribution", "rng_distribution"))], TypeForm::Functional)
    }

    fn side_effect(&self, _: OpRef<'_>) -> bool {
        true
    }

    fn infer(&self, op: OpRef<'_>) -> Inferred {
        Self::check(op)?;
        let output = result(op, 0)?;
        if is_static(op) { one(TensorType::new(&output.shape, output.element)) } else { declared(op) }
    }

    fn kernel(&self, op: OpRef<'_>) -> Kernel {
        if is_static(op) { Kernel::External(External::Reference) } else { Kernel::None }
    }

    fn evaluate(&self, op: OpRef<'_>, operands: &[Literal], _: &mut dyn Context) -> EvalResult<Vec<Literal>> {
        let numbers = Numbers { normal: Self::check(op)?, element: operands[0].element };
        let shape = operands[2].to_ints().unwrap_or_default();
        let n = shape.iter().try_fold(2i64, |n, &d| n.checked_mul(d.max(0)));
        let n = n.ok_or_else(|| Problem::new(format!("the shape {shape:?} has too many elements")))? as u64 / 2;
        let bounds = [operands[0].get(0), operands[1].get(0)];
        let keys = numbers.keys().eval(&bounds, &[]);
        let bits: Vec<Vec<u64>> = keys
            .into_iter()
            .map(|key| {
                let Scalar::Int(key) = key else { return Vec::new() };
                philox_bits(key as u64, u128::from(key as u64) << 64, numbers.word(), n).0
            })
            .collect();
        let body = numbers.body();
        let values = (0..n as usize).map(|i| {
            let bits = bits.iter().map(|bits| Scalar::Int(bits[i].into()));
            let inputs: Vec<Scalar> = bounds.into_iter().chain(bits).collect();
            body.eval(&inputs, &[])[0]
        });
        Ok(vec![Literal::from_scalars(numbers.element, &shape, values)])
    }

    fn expand(&self, op: Op, b: &mut Builder<'_>) -> Option<Vec<Value>> {
        let view = b.program.view(op);
        let normal = Self::check(view).ok().filter(|_| is_static(view))?;
        let result = view.result_tensor(0).filter(|t| t.element.class() != ElementClass::Other)?.clone();
        let (low, high) = (view.operands()[0], view.operands()[1]);
        let numbers = Numbers { normal, element: result.element };
        let keys = build::body(b, &numbers.keys(), &[low, high], &[])?;
        let mut inputs = vec![build::shape::splat(b, low, &result.shape), build::shape::splat(b, high, &result.shape)];
        for key in keys {
            inputs.push(philox(b, key, &result.shape, numbers.word()));
        }
        build::body(b, &numbers.body(), &inputs, &result.shape)
    }

    fn examples(&self) -> &'static [&'static str] {
        &[
            "() %a = stablehlo.constant dense<-3> : tensor<i32> %b = stablehlo.constant dense<5> : tensor<i32> %s = stablehlo.constant dense<[2, 3]> : tensor<2xi64> %r = stablehlo.rng %a, %b, %s, distribution = UNIFORM : (tensor<i32>, tensor<i32>, tensor<2xi64>) -> tensor<2x3xi32>",
            "() %a = stablehlo.constant dense<1.0> : tensor<f32> %b = stablehlo.constant dense<2.0> : tensor<f32> %s = stablehlo.constant dense<6> : tensor<1xi64> %r = stablehlo.rng %a, %b, %s, distribution = NORMAL : (tensor<f32>, tensor<f32>, tensor<1xi64>) -> tensor<6xf32>",
        ]
    }
}

/// The arithmetic of one distribution over one element type.
#[derive(Clone, Copy)]
struct Numbers {
    normal: bool,
    element: ElementType,
}

impl Numbers {
    /// Returns the type of unsigned words as wide as the computation.
    fn word(self) -> ElementType {
        if self.element.bits() == 64 { ElementType::UI64 } else { ElementType::UI32 }
    }

    /// Returns the type of the computation: integers modulo their width, floats at least as wide as f32.
    fn wide(self) -> ElementType {
        match (self.element.class(), self.word()) {
            (ElementClass::Float, ElementType::UI64) => ElementType::F64,
            (ElementClass::Float, _) => ElementType::F32,
            (ElementClass::Signed, ElementType::UI64) => ElementType::I64,
            (ElementClass::Signed, _) => ElementType::I32,
            (_, word) => word,
        }
    }

    /// Returns the body from both bounds to a key for each word of a number: the bits of the bounds, and their
    /// opposite.
    fn keys(self) -> Body {
        let mut body = Steps::new(vec![self.element; 2]);
        let [low, high] = [Arg::Input(0), Arg::Input(1)].map(|bound| {
            let bits = body.bits(bound, self);
            body.op(ScalarOp::Convert, &[bits], ElementType::UI64)
        });
        let half = body.constant(Scalar::Int(32), ElementType::UI64);
        let up = body.op(ScalarOp::Shl, &[high, half], ElementType::UI64);
        let down = body.op(ScalarOp::ShrLogical, &[high, half], ElementType::UI64);
        let turned = body.op(ScalarOp::Or, &[up, down], ElementType::UI64);
        let key = body.op(ScalarOp::Xor, &[low, turned], ElementType::UI64);
        let other = body.op(ScalarOp::Not, &[key], ElementType::UI64);
        body.0.results = if self.normal { vec![key, other] } else { vec![key] };
        body.0
    }

    /// Returns the body from both bounds (mean and deviation) and a word for each key to a number.
    fn body(self) -> Body {
        let (word, wide) = (self.word(), self.wide());
        let mut inputs = vec![self.element; 2];
        inputs.extend(vec![word; if self.normal { 2 } else { 1 }]);
        let mut body = Steps::new(inputs);
        let result = if !self.element.is_float() {
            let [low, high] = [Arg::Input(0), Arg::Input(1)].map(|bound| body.bits(bound, self));
            let range = body.op(ScalarOp::Sub, &[high, low], word);
            let one = body.constant(Scalar::Int(1), word);
            let range = body.op(ScalarOp::Max, &[range, one], word);
            let above = body.op(ScalarOp::Rem, &[Arg::Input(2), range], word);
            let sum = body.op(ScalarOp::Add, &[low, above], word);
            body.op(if wide == word { ScalarOp::Convert } else { ScalarOp::Bitcast }, &[sum], wide)
        } else {
            let [first, second] =
                [Arg::Input(0), Arg::Input(1)].map(|bound| body.op(ScalarOp::Convert, &[bound], wide));
            let scaled = if self.normal {
                // The Box–Muller transform.
                let (u, v) = (body.unit(Arg::Input(2), wide, wide), body.unit(Arg::Input(3), wide, wide));
                let one = body.constant(Scalar::Float(1.0), wide);
                let positive = body.op(ScalarOp::Sub, &[one, u], wide);
                let log = body.op(ScalarOp::Log, &[positive], wide);
                let twice = body.constant(Scalar::Float(-2.0), wide);
                let square = body.op(ScalarOp::Mul, &[twice, log], wide);
                let radius = body.op(ScalarOp::Sqrt, &[square], wide);
                let turn = body.constant(Scalar::Float(2.0 * std::f64::consts::PI).round(wide), wide);
                let angle = body.op(ScalarOp::Mul, &[turn, v], wide);
                let cosine = body.op(ScalarOp::Cos, &[angle], wide);
                let normal = body.op(ScalarOp::Mul, &[radius, cosine], wide);
                body.op(ScalarOp::Mul, &[second, normal], wide)
            } else {
                // Uses only as many digits as the element has, so that rounding can't reach the upper bound.
                let unit = body.unit(Arg::Input(2), wide, self.element);
                let range = body.op(ScalarOp::Sub, &[second, first], wide);
                body.op(ScalarOp::Mul, &[range, unit], wide)
            };
            body.op(ScalarOp::Add, &[first, scaled], wide)
        };
        let result = body.op(ScalarOp::Convert, &[result], self.element);
        body.0.results = vec![result];
        body.0
    }
}

/// A body under construction.
struct Steps(Body);

impl Steps {
    fn new(inputs: Vec<ElementType>) -> Self {
        Self(Body { inputs, ..Body::default() })
    }

    fn op(&mut self, op: ScalarOp, args: &[Arg], ty: ElementType) -> Arg {
        if op == ScalarOp::Convert && self.0.arg_type(args[0]) == ty {
            return args[0];
        }
        self.0.op(op, args, ty)
    }

    fn constant(&mut self, value: Scalar, ty: ElementType) -> Arg {
        self.0.push(Inst::Const(value, ty))
    }

    /// Returns the bits of `bound` in the width of the computation.
    fn bits(&mut self, bound: Arg, numbers: Numbers) -> Arg {
        let (word, wide) = (numbers.word(), numbers.wide());
        let value = self.op(ScalarOp::Convert, &[bound], wide);
        if wide == word { value } else { self.op(ScalarOp::Bitcast, &[value], word) }
    }

    /// Returns a number in `[0, 1)` of type `wide` from as many upper bits of `word` as `digits` has digits.
    fn unit(&mut self, word: Arg, wide: ElementType, digits: ElementType) -> Arg {
        let ty = self.0.arg_type(word);
        let count = 1 - digits.epsilon().log2() as i32;
        let dropped = self.constant(Scalar::Int(i128::from(ty.bits()) - i128::from(count)), ty);
        let bits = self.op(ScalarOp::ShrLogical, &[word, dropped], ty);
        let number = self.op(ScalarOp::Convert, &[bits], wide);
        let scale = self.constant(Scalar::Float(2f64.powi(-count)), wide);
        self.op(ScalarOp::Mul, &[number, scale], wide)
    }
}
