//! Products computed as native code does: in f32, with terms in the fastest order. A disturbed evaluation may round in
//! any way, so it can use them, and takes a fraction of the time.

#![allow(unsafe_code, reason = "products read and write buffers by address")]

use dialect::eval::{Lanes, Mask};
use dialect::ir::OpRef;
use dialect::literal::Literal;

use crate::kernels::gemm::Gemm;

/// Returns the product on each running device; `None` for other ops, and for types that aren't multiplied natively.
pub(super) fn products(op: OpRef<'_>, operands: &[Lanes], mask: &Mask) -> Option<Lanes> {
    let gemm = Gemm::of(op)?;
    let one = |lane: usize| {
        let operands: Option<Vec<Literal>> = operands.iter().map(|o| o[lane].clone()).collect();
        product(&gemm, op, &operands?)
    };
    (0..mask.len()).map(|lane| if mask[lane] { one(lane).map(Some) } else { Some(None) }).collect()
}

fn product(gemm: &Gemm, op: OpRef<'_>, operands: &[Literal]) -> Option<Literal> {
    let ty = op.result_tensor(0)?;
    // Copies to words, which are aligned for every element type.
    let words = |bytes: &[u8]| -> Vec<u64> {
        let word = |b: &[u8]| b.iter().rev().fold(0, |word, &byte| word << 8 | u64::from(byte));
        bytes.chunks(8).map(word).collect()
    };
    let [lhs, rhs] = gemm.operands().map(|i| words(&operands[i].dense_bytes()));
    let bytes = ty.bytes()?;
    let mut out = vec![0u64; bytes.div_ceil(8)];
    // SAFETY: words are aligned for all elements. The buffers have the sizes of the operands' and the result's types,
    // which the evaluator has compared with the literals.
    unsafe { gemm.run(lhs.as_ptr().cast(), rhs.as_ptr().cast(), out.as_mut_ptr().cast(), 1) };
    let out: Vec<u8> = out.iter().flat_map(|word| word.to_le_bytes()).take(bytes).collect();
    Some(Literal::from_bytes(ty.element, &ty.shape, out))
}
