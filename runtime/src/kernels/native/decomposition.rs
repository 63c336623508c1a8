//! Decompositions of matrices. Where mathematics allows several results, they are LAPACK's: this module performs faer's
//! products and solvers in LAPACK's order of steps, uses faer's decompositions into eigenvectors and singular vectors,
//! and implements the QR algorithm itself, because faer doesn't return its triangle.
//!
//! Threads share the matrices of a batch. A single matrix is divided depending on its size only, not on the number of
//! threads.

mod blocks;
mod cholesky;
mod eigen;
mod lu;
mod pivoted;
mod qr;
mod real_schur;
mod reduce;
mod reflectors;
mod schur;
mod spectrum;
mod three_diagonals;

use dialect::ir::{ElementType, TensorType};
use dialect::kernel::Decomposition;
use rayon::prelude::*;
use rustfft::num_complex::Complex;

use super::field::Field;
use super::{Native, View, ViewMut};

/// A decomposition of one matrix.
trait Decompose: Send + Sync {
    /// Decomposes one matrix of a batch. The operands and results are those of this matrix.
    fn one(&self, operands: &[View<'_>], results: &mut [ViewMut<'_>], threads: usize);
}

/// A decomposition of each matrix of a batch.
struct Batch<D> {
    count: usize,
    /// For each operand, the bytes of one matrix.
    operands: Vec<usize>,
    /// For each result, the bytes of one matrix.
    results: Vec<usize>,
    decomposition: D,
}

impl<D: Decompose> Native for Batch<D> {
    fn run(&self, operands: &[View<'_>], results: &mut [ViewMut<'_>], threads: usize) -> Result<(), String> {
        let mut items: Vec<Vec<ViewMut<'_>>> = (0..self.count).map(|_| Vec::with_capacity(results.len())).collect();
        for (result, &size) in results.iter_mut().zip(&self.results) {
            let mut rest = &mut *result.bytes;
            for item in &mut items {
                let (bytes, after) = rest.split_at_mut(size);
                item.push(ViewMut { bytes });
                rest = after;
            }
        }
        let one = |i: usize, results: &mut [ViewMut<'_>], threads| {
            let each = operands.iter().zip(&self.operands);
            let views: Vec<View<'_>> =
                each.map(|(operand, &size)| View { bytes: &operand.bytes[i * size..][..size] }).collect();
            self.decomposition.one(&views, results, threads);
        };
        if threads > 1 && self.count >= threads {
            items.par_iter_mut().enumerate().for_each(|(i, item)| one(i, item, 1));
        } else {
            items.iter_mut().enumerate().for_each(|(i, item)| one(i, item, threads));
        }
        Ok(())
    }
}

pub(super) fn of(it: Decomposition, operands: &[&TensorType], results: &[&TensorType]) -> Option<Box<dyn Native>> {
    match (it, operands.first()?.element) {
        // The eigenvalues of a real matrix have a defined order, so any algorithm may find them.
        (Decomposition::Eigen { left: false, right }, ElementType::F32) => {
            batch(it, operands, results, spectrum::Eigen::<f32>::new(size(operands[0], 1), right))
        }
        (Decomposition::Eigen { left: false, right }, ElementType::F64) => {
            batch(it, operands, results, spectrum::Eigen::<f64>::new(size(operands[0], 1), right))
        }
        (_, ElementType::F32) => typed::<f32>(it, operands, results),
        (_, ElementType::F64) => typed::<f64>(it, operands, results),
        (_, ElementType::C64) => typed::<Complex<f32>>(it, operands, results),
        (_, ElementType::C128) => typed::<Complex<f64>>(it, operands, results),
        _ => None,
    }
}

/// Returns the size of a dimension, counted from the last one.
fn size(t: &TensorType, back: usize) -> usize {
    t.shape[t.rank() - back].max(0) as usize
}

fn batch<D: Decompose + 'static>(
    it: Decomposition,
    operands: &[&TensorType],
    results: &[&TensorType],
    decomposition: D,
) -> Option<Box<dyn Native>> {
    let a = operands.first()?;
    let count: usize = a.shape[..a.rank() - it.rank()].iter().map(|&d| d.max(0) as usize).product();
    let bytes = |list: &[&TensorType]| -> Vec<usize> {
        list.iter().map(|t| t.bytes().unwrap_or(0).checked_div(count).unwrap_or(0)).collect()
    };
    Some(Box::new(Batch { count, operands: bytes(operands), results: bytes(results), decomposition }))
}

fn typed<T: Field>(it: Decomposition, operands: &[&TensorType], results: &[&TensorType]) -> Option<Box<dyn Native>> {
    let columns = size(operands[0], 1);
    let rows = if it.rank() == 2 { size(operands[0], 2) } else { 1 };
    match it {
        Decomposition::Lu { permutation } => batch(it, operands, results, lu::Lu::<T>::new(rows, columns, permutation)),
        Decomposition::Qr => batch(it, operands, results, qr::Qr::<T>::new(rows, columns)),
        Decomposition::HouseholderProduct => {
            batch(it, operands, results, qr::Product::<T>::new(rows, columns, size(operands[1], 1)))
        }
        Decomposition::Cholesky { lower } => batch(it, operands, results, cholesky::Cholesky::<T>::new(rows, lower)),
        Decomposition::Eigh { lower } => batch(it, operands, results, spectrum::Eigh::<T>::new(rows, lower)),
        Decomposition::Eigen { left, right } => {
            batch(it, operands, results, eigen::Eigen::<T>::new(rows, [left, right]))
        }
        Decomposition::Svd { vectors } => {
            let sides = vectors.then(|| (size(results[2], 1), size(results[3], 2)));
            batch(it, operands, results, spectrum::Svd::<T>::new(rows, columns, sides))
        }
        Decomposition::Hessenberg { low, high } => {
            let range = low.max(1) as usize - 1..high.max(0) as usize;
            batch(it, operands, results, reduce::Hessenberg::<T>::new(rows, range))
        }
        Decomposition::Tridiagonal { lower } => {
            batch(it, operands, results, reduce::Tridiagonal::<T>::new(rows, lower))
        }
        Decomposition::PivotedQr => batch(it, operands, results, pivoted::PivotedQr::<T>::new(rows, columns)),
        Decomposition::Reflect { left, adjoint } => {
            let to = [size(operands[2], 2), size(operands[2], 1)];
            batch(it, operands, results, qr::Reflect::<T>::new(to, size(operands[1], 1), left, adjoint))
        }
        Decomposition::Schur { vectors } => batch(it, operands, results, schur::Schur::<T>::new(rows, vectors)),
        Decomposition::ThreeDiagonals => {
            batch(it, operands, results, three_diagonals::ThreeDiagonals::<T>::new(columns, size(operands[3], 1)))
        }
    }
}
