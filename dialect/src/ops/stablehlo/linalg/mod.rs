//! Linear algebra on the last dimensions of tensors: fft, cholesky, triangular_solve. The leading dimensions are batch
//! dimensions. Computed in f64 or complex f64 and rounded once. Source: the StableHLO specification; sharding rules as
//! Shardy registers them.

mod blocks;
mod cholesky;
pub(crate) mod decomposition;
mod dense;
mod fft;
mod layouts;
mod reductions;
mod schur;
mod triangular_solve;

pub use cholesky::Cholesky;
pub use fft::Fft;
pub use triangular_solve::TriangularSolve;

use crate::ir::ElementType;
use crate::literal::Literal;
use crate::op::OpDef;
use crate::scalar::{Scalar, ScalarOp};

/// The ops of this family.
pub static OPS: &[&dyn OpDef] = &[&Fft, &Cholesky, &TriangularSolve];

/// Returns the type in which elements of type `element` are computed.
fn wide(element: ElementType) -> ElementType {
    if element.is_complex() { ElementType::C128 } else { ElementType::F64 }
}

/// Applies one operation to wide elements.
fn apply(op: ScalarOp, args: &[Scalar]) -> Scalar {
    match args.first() {
        Some(Scalar::Complex(..)) => op.apply(ElementType::C128, ElementType::C128, args),
        _ => op.apply(ElementType::F64, ElementType::F64, args),
    }
}

/// Returns the conjugate of a wide element.
fn conjugate(value: Scalar) -> Scalar {
    match value {
        Scalar::Complex(re, im) => Scalar::Complex(re, -im),
        real => real,
    }
}

/// Returns `sum - a * b`.
fn subtract_product(sum: Scalar, a: Scalar, b: Scalar) -> Scalar {
    apply(ScalarOp::Sub, &[sum, apply(ScalarOp::Mul, &[a, b])])
}

/// Reads the element at row-major position `at` as a wide one.
fn read(literal: &Literal, at: usize) -> Scalar {
    ScalarOp::Convert.apply(literal.element, wide(literal.element), &[literal.get(at)])
}
