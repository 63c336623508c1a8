//! `chlo.mulhi`: the upper half of the product of two integers.

use crate::ir::{ElementType, OpRef};
use crate::kernel::{Arg, Body, Inst};
use crate::scalar::{Scalar, ScalarOp};

/// Computes the product in a type of twice the width; 64-bit products are built from products of halves.
pub(super) fn mulhi(op: OpRef<'_>) -> Option<Body> {
    let ty = op.operand_tensor(0)?.element;
    let signed = ty.class() == crate::ir::ElementClass::Signed;
    let mut m = Body { inputs: vec![ty, ty], ..Body::default() };
    let right = if signed { ScalarOp::ShrArithmetic } else { ScalarOp::ShrLogical };
    let (a, b) = (Arg::Input(0), Arg::Input(1));
    let result = if ty.bits() <= 32 {
        let wide = if signed { ElementType::I64 } else { ElementType::UI64 };
        let (a, b) = (m.op(ScalarOp::Convert, &[a], wide), m.op(ScalarOp::Convert, &[b], wide));
        let product = m.op(ScalarOp::Mul, &[a, b], wide);
        let by = m.push(Inst::Const(Scalar::Int(ty.bits().into()), wide));
        let high = m.op(right, &[product, by], wide);
        m.op(ScalarOp::Convert, &[high], ty)
    } else {
        // a = 2^32 a1 + a0 with a0 not negative, and b likewise.
        let by = m.push(Inst::Const(Scalar::Int(32), ty));
        let mask = m.push(Inst::Const(Scalar::Int(0xFFFF_FFFF), ty));
        let [(a0, a1), (b0, b1)] = [a, b].map(|x| (m.op(ScalarOp::And, &[x, mask], ty), m.op(right, &[x, by], ty)));
        // Products of the lower halves are unsigned for any type; the other products don't overflow.
        let low = m.op(ScalarOp::Mul, &[a0, b0], ty);
        let carry = m.op(ScalarOp::ShrLogical, &[low, by], ty);
        let cross = m.op(ScalarOp::Mul, &[a1, b0], ty);
        let cross = m.op(ScalarOp::Add, &[cross, carry], ty);
        let (kept, moved) = (m.op(ScalarOp::And, &[cross, mask], ty), m.op(right, &[cross, by], ty));
        let other = m.op(ScalarOp::Mul, &[a0, b1], ty);
        let other = m.op(ScalarOp::Add, &[other, kept], ty);
        let other = m.op(right, &[other, by], ty);
        let high = m.op(ScalarOp::Mul, &[a1, b1], ty);
        let high = m.op(ScalarOp::Add, &[high, moved], ty);
        m.op(ScalarOp::Add, &[high, other], ty)
    };
    m.results = vec![result];
    crate::ops::stablehlo::elementwise::known(&m).then_some(m)
}
