//! Decompositions of matrices, with LAPACK's results where mathematics leaves something open: by faer's products and
//! solvers in LAPACK's order of steps, and its decompositions into eigen- and singular vectors.
//!
//! A batch's matrices are shared between threads; a single one is cut where its size says, whatever the number of threads.

mod blocks;
mod cholesky;
mod lu;
mod qr;
mod reflectors;
mod spectrum;

use dialect::ir::{ElementType, TensorType};
use dialect::kernel::Decomposition;
use rayon::prelude::*;
use rustfft::num_complex::Complex;

use super::field::Field;
use super::{Native, View, ViewMut};

/// A decomposition of one matrix.
trait Decompose: Send + Sync {
    /// Operands and results are those of one matrix of a batch.
    fn one(&self, operands: &[View<'_>], results: &mut [ViewMut<'_>], threads: usize);
}

/// A decomposition of each matrix of a batch.
struct Batch<D> {
    count: usize,
    /// Bytes that belong to one matrix, of each operand.
    operands: Vec<usize>,
    /// The same of each result.
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
        // The others' order is that in which LAPACK's algorithm finds them.
        (Decomposition::Eigen { left: false, right }, ElementType::F32) => {
            batch(operands, results, spectrum::Eigen::<f32>::new(size(operands[0], 1), right))
        }
        (Decomposition::Eigen { left: false, right }, ElementType::F64) => {
            batch(operands, results, spectrum::Eigen::<f64>::new(size(operands[0], 1), right))
        }
        (Decomposition::Eigen { .. }, _) => None,
        (_, ElementType::F32) => typed::<f32>(it, operands, results),
        (_, ElementType::F64) => typed::<f64>(it, operands, results),
        (_, ElementType::C64) => typed::<Complex<f32>>(it, operands, results),
        (_, ElementType::C128) => typed::<Complex<f64>>(it, operands, results),
        _ => None,
    }
}

/// The size of a dimension, counted from the last one.
fn size(t: &TensorType, back: usize) -> usize {
    t.shape[t.rank() - back].max(0) as usize
}

fn batch<D: Decompose + 'static>(
    operands: &[&TensorType],
    results: &[&TensorType],
    decomposition: D,
) -> Option<Box<dyn Native>> {
    let a = operands.first()?;
    let count: usize = a.shape[..a.rank() - 2].iter().map(|&d| d.max(0) as usize).product();
    let bytes = |list: &[&TensorType]| -> Vec<usize> {
        list.iter().map(|t| t.bytes().unwrap_or(0).checked_div(count).unwrap_or(0)).collect()
    };
    Some(Box::new(Batch { count, operands: bytes(operands), results: bytes(results), decomposition }))
}

fn typed<T: Field>(it: Decomposition, operands: &[&TensorType], results: &[&TensorType]) -> Option<Box<dyn Native>> {
    let (rows, columns) = (size(operands[0], 2), size(operands[0], 1));
    match it {
        Decomposition::Lu { permutation } => batch(operands, results, lu::Lu::<T>::new(rows, columns, permutation)),
        Decomposition::Qr => batch(operands, results, qr::Qr::<T>::new(rows, columns)),
        Decomposition::HouseholderProduct => {
            batch(operands, results, qr::Product::<T>::new(rows, columns, size(operands[1], 1)))
        }
        Decomposition::Cholesky { lower } => batch(operands, results, cholesky::Cholesky::<T>::new(rows, lower)),
        Decomposition::Eigh { lower } => batch(operands, results, spectrum::Eigh::<T>::new(rows, lower)),
        Decomposition::Eigen { .. } => None,
        Decomposition::Svd { vectors } => {
            let sides = vectors.then(|| (size(results[2], 1), size(results[3], 2)));
            batch(operands, results, spectrum::Svd::<T>::new(rows, columns, sides))
        }
    }
}
