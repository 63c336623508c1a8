//! `scatter`: updates combined into a tensor at starts given by indices.
//!
//! Every element is combined in the order of its updates, so results don't depend on the number of threads. Sums of
//! many floats are kept in f64 and rounded once, as in the reference.

mod apply;
mod general;
mod places;
mod sum;

use dialect::ir::TensorType;
use dialect::kernel::{Arg, Scatter};
use dialect::scalar::ScalarOp;

use super::number::{has, with_float, with_number};
use super::{Native, Routine, Times, View, ViewMut};
use general::General;
use places::Places;

/// The effect of an update on an element.
#[derive(Clone, Copy)]
enum Combine {
    /// The update replaces the element.
    Replace,
    /// The element is combined with the update.
    By(ScalarOp),
    /// All updates of a float are summed in f64, and rounded once.
    Sum,
}

struct Direct {
    places: Places,
    combine: Combine,
    /// The inputs' type.
    ty: TensorType,
}

pub(super) fn of(scatter: &Scatter, operands: &[&TensorType], results: &[&TensorType]) -> Option<Box<dyn Native>> {
    let n = scatter.dims.inputs;
    let body = scatter.combine.as_ref()?;
    let same = (0..n).all(|i| {
        let ty = operands[i].element;
        results[i].element == ty && operands[n + 1 + i].element == ty && body.accumulators[i] == ty
    });
    if !same {
        return None;
    }
    let places = Places::of(&scatter.dims, operands);
    let ty = operands[0];
    let combine = match body.as_binary() {
        Some(_) if scatter.sums => with_float!(ty.element, _T => Some(Combine::Sum), else None),
        Some(op) if has(op, ty.element.is_float()) => {
            with_number!(ty.element, _T => Some(Combine::By(op)), else None)
        }
        _ if body.results[..] == [Arg::Input(0)] => Some(Combine::Replace),
        _ => None,
    };
    match combine.filter(|_| n == 1) {
        Some(combine) if places.in_order || commutes(combine, ty) => {
            Some(Box::new(Direct { places, combine, ty: ty.clone() }))
        }
        _ => {
            let types = operands[..n].iter().map(|t| t.element).collect();
            let combine = Routine::new(body.clone(), Times::Many);
            Some(Box::new(General { places, combine, sums: scatter.sums, types }))
        }
    }
}

/// Returns whether the order of the updates of an element doesn't matter.
fn commutes(combine: Combine, ty: &TensorType) -> bool {
    match combine {
        Combine::By(ScalarOp::Add | ScalarOp::Mul) => !ty.element.is_float(),
        Combine::By(_) => true,
        Combine::Replace | Combine::Sum => false,
    }
}

impl Native for Direct {
    fn run(&self, operands: &[View<'_>], results: &mut [ViewMut<'_>], threads: usize) -> Result<(), String> {
        let (indices, updates, out) = (operands[1], operands[2], &mut results[0]);
        let places = &self.places;
        match self.combine {
            Combine::Replace => {
                let width = self.ty.element.bytes();
                apply::replace(places, indices, updates.bytes, out.bytes, width, threads);
            }
            Combine::By(op) => with_number!(self.ty.element, T => {
                apply::combine::<T>(places, indices, updates.elements(), out.elements(), op, threads);
            }, else {}),
            Combine::Sum => with_float!(self.ty.element, T => {
                sum::sum::<T>(places, indices, updates.elements(), out.elements(), threads);
            }, else {}),
        }
        Ok(())
    }
}
