//! `rng`: random numbers from a distribution. The specification leaves their values to the implementation; here they
//! are a function of the bounds and the shape, so that every device and every run gets the same.

use super::bits::philox_bits;
use crate::eval::{Context, EvalResult};
use crate::ir::{ElementClass, ElementType, OpRef, TensorType};
use crate::kernel::{External, Kernel};
use crate::literal::Literal;
use crate::op::{Inferred, OpDef, Problem};
use crate::ops::stablehlo::elementwise::{Classes, element};
use crate::ops::support::constraint::{
    Checked, declared, is_static, one, operand_count, require, result, same_element, scalar, show, tensor,
};
use crate::scalar::Scalar;
use crate::text::{Piece, Syntax, TypeForm};

/// `rng`: <https://openxla.org/stablehlo/spec#rng>
pub struct Rng;

impl Rng {
    /// Whether the distribution is normal.
    fn check(op: OpRef<'_>) -> Checked<bool> {
        operand_count(op, 3)?;
        let a = scalar(op, 0, "I1")?;
        scalar(op, 1, "I2")?;
        same_element(op, 1, 0, "C1")?;
        let shape = tensor(op, 2)?;
        require(shape.rank() == 1 && shape.element.class() != ElementClass::Float, || {
            Problem::operand(2, format!("expected a list of integers, found {} (I3)", show(op, shape)))
        })?;
        let normal = match op.enum_value("rng_distribution") {
            Some("NORMAL") => true,
            Some("UNIFORM") => false,
            _ => return Err(Problem::new("expected rng_distribution to be UNIFORM or NORMAL (I4)")),
        };
        if normal {
            element(op, 0, Classes::REAL, "C2")?;
        }
        let output = result(op, 0)?;
        require(output.element == a.element, || {
            Problem::new(format!("expected the elements of {}, found {} (C1)", show(op, a), show(op, output)))
        })?;
        let count = shape.shape[0];
        require(count < 0 || count == output.rank() as i64, || {
            Problem::new(format!("expected a result of rank {count}, found {} (C3)", show(op, output)))
        })?;
        if let Some(sizes) = op.constant_operand(2).and_then(Literal::to_ints) {
            let fits = sizes.len() == output.rank() && sizes.iter().zip(&output.shape).all(|(&a, &b)| a == b || b < 0);
            require(fits, || {
                Problem::new(format!("expected a result of sizes {sizes:?}, found {} (C3)", show(op, output)))
            })?;
        }
        Ok(normal)
    }
}

impl OpDef for Rng {
    fn name(&self) -> &'static str {
        "stablehlo.rng"
    }

    fn syntax(&self) -> Syntax {
        Syntax::Pieces(&[
            Piece::Operands,
            Piece::Token(","),
            Piece::Token("distribution"),
            Piece::Token("="),
            Piece::Enum("rng_distribution", "rng_distribution"),
            Piece::AttrDict,
            Piece::Types(TypeForm::Functional),
        ])
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
        let normal = Self::check(op)?;
        let element = operands[0].element;
        let shape = operands[2].to_ints().unwrap_or_default();
        let n = shape.iter().try_fold(2i64, |n, &d| n.checked_mul(d.max(0)));
        let n = n.ok_or_else(|| Problem::new(format!("{shape:?} are too many elements")))?;
        let (a, b) = (operands[0].get(0), operands[1].get(0));
        let (bits, _) =
            philox_bits(a.as_f64().to_bits() ^ b.as_f64().to_bits().rotate_left(32), 0, ElementType::UI64, n as u64);
        let unit = |bits: u64| (bits >> 11) as f64 / (1u64 << 53) as f64;
        let values = bits.chunks_exact(2).map(|pair| match (a, b) {
            (Scalar::Int(a), Scalar::Int(b)) => Scalar::Int(a + i128::from(pair[0]) % (b - a).max(1)),
            _ if normal => {
                // The Box–Muller transform.
                let radius = (-2.0 * (1.0 - unit(pair[0])).ln()).sqrt();
                Scalar::Float(a.as_f64() + b.as_f64() * radius * (2.0 * std::f64::consts::PI * unit(pair[1])).cos())
            }
            _ => Scalar::Float(a.as_f64() + (b.as_f64() - a.as_f64()) * unit(pair[0])),
        });
        Ok(vec![Literal::from_scalars(element, &shape, values)])
    }

    fn examples(&self) -> &'static [&'static str] {
        &[
            "() %a = stablehlo.constant dense<-3> : tensor<i32> %b = stablehlo.constant dense<5> : tensor<i32> %s = stablehlo.constant dense<[2, 3]> : tensor<2xi64> %r = stablehlo.rng %a, %b, %s, distribution = UNIFORM : (tensor<i32>, tensor<i32>, tensor<2xi64>) -> tensor<2x3xi32>",
            "() %a = stablehlo.constant dense<1.0> : tensor<f32> %b = stablehlo.constant dense<2.0> : tensor<f32> %s = stablehlo.constant dense<6> : tensor<1xi64> %r = stablehlo.rng %a, %b, %s, distribution = NORMAL : (tensor<f32>, tensor<f32>, tensor<1xi64>) -> tensor<6xf32>",
        ]
    }
}
