//! Conversions between real and quantized numbers. They are parsed, checked and printed; computing with quantized
//! elements isn't supported.

use super::{Classes, Compute, PLAIN, Pointwise, Typing, element, merge};
use crate::ir::{ElementClass, OpRef, TensorType};
use crate::ops::support::constraint::{Checked, compatible, require, result, show, tensor};

/// Returns the declared result type, with the operand's shape.
fn declared(op: OpRef<'_>, label: &str) -> Checked<TensorType> {
    let (operand, ty) = (tensor(op, 0)?, result(op, 0)?);
    let fits = compatible(&operand.shape, &ty.shape);
    require!(fits, "expected the shape of {}, found {} ({label})", show(op, operand), show(op, ty));
    merge(op, 0, ty.clone(), label)?;
    Ok(ty.clone())
}

/// `stablehlo.uniform_quantize`: <https://openxla.org/stablehlo/spec#uniform_quantize>
pub static UNIFORM_QUANTIZE: Pointwise = Pointwise {
    name: "stablehlo.uniform_quantize",
    arity: 1,
    syntax: PLAIN,
    typing: Typing::Own(|op| {
        element(op, 0, Classes::REAL, "I1")?;
        let ty = declared(op, "C1")?;
        let same = ty.element.class() == ElementClass::Other;
        require!(same, "expected a result of quantized elements, found {} (C2)", show(op, &ty));
        Ok(ty)
    }),
    compute: Compute::Own(|_| None),
    expands: false,
    examples: &[
        "(%a: tensor<2xf32>) %r = stablehlo.uniform_quantize %a : (tensor<2xf32>) -> tensor<2x!quant.uniform<i8:f32:0, {0.1:-30,0.5:-20}>>",
    ],
};

/// `stablehlo.uniform_dequantize`: <https://openxla.org/stablehlo/spec#uniform_dequantize>
pub static UNIFORM_DEQUANTIZE: Pointwise = Pointwise {
    name: "stablehlo.uniform_dequantize",
    arity: 1,
    syntax: PLAIN,
    typing: Typing::Own(|op| {
        let operand = tensor(op, 0)?;
        let same = operand.element.class() == ElementClass::Other;
        require!(same, operand = 0, "expected quantized elements, found {} (I1)", show(op, operand));
        let ty = declared(op, "C1")?;
        require!(Classes::REAL.has(ty.element), "expected a result of real numbers, found {} (C2)", show(op, &ty));
        Ok(ty)
    }),
    compute: Compute::Own(|_| None),
    expands: false,
    examples: &[
        "(%a: tensor<2x!quant.uniform<i8:f32, 0.5:-20>>) %r = stablehlo.uniform_dequantize %a : (tensor<2x!quant.uniform<i8:f32, 0.5:-20>>) -> tensor<2xf32>",
    ],
};
