//! Comparing tensors: integers bit by bit, floats within a tolerance that suits their type.

use dialect::ir::{ElementClass, ElementType};
use dialect::literal::Literal;
use dialect::scalar::Scalar;

/// How far apart floats may be and still count as equal.
#[derive(Clone, Copy, Default, Debug)]
pub struct Tolerance {
    /// Relative to the expected value; chosen by the element type when not given.
    pub relative: Option<f64>,
    /// In absolute terms. When not given, as much as the largest expected value may differ, since the terms of a sum
    /// may cancel.
    pub absolute: Option<f64>,
}

/// Where two tensors differ.
#[derive(Clone, PartialEq, Debug)]
pub struct Mismatch {
    /// Number of elements that differ.
    pub count: usize,
    /// Number of elements in the tensor.
    pub total: usize,
    /// The index of the first element that differs.
    pub first: Vec<i64>,
    /// The value found there.
    pub got: Scalar,
    /// The value expected there.
    pub want: Scalar,
    /// The largest difference; infinite when only one of the two values is NaN.
    pub max_error: f64,
}

impl Mismatch {
    /// `differs in 3 of 64 elements, first at [0, 1]: got 1.5, want 2.5 (largest error 1)`
    pub fn text(&self) -> String {
        let Self { count, total, first, got, want, max_error } = self;
        format!(
            "differs in {count} of {total} elements, first at {first:?}: got {got:?}, want {want:?} (largest error {max_error:.3e})"
        )
    }
}

/// Where `got` differs from `want`, which has the same type; `None` if they are equal within the tolerance.
pub fn compare(got: &Literal, want: &Literal, tolerance: Tolerance) -> Option<Mismatch> {
    let element = want.element;
    let exact = !matches!(element.class(), ElementClass::Float | ElementClass::Complex);
    if got.dense_bytes() == want.dense_bytes() {
        return None;
    }
    let total = want.len();
    let relative = tolerance.relative.unwrap_or_else(|| default_relative(element));
    let absolute = tolerance.absolute.unwrap_or_else(|| {
        let sizes = (0..total).map(|i| size(want.get(i))).filter(|s| s.is_finite());
        sizes.fold(0.0, f64::max) * relative
    });
    let mut found: Option<Mismatch> = None;
    for i in 0..total {
        let (g, w) = (got.get(i), want.get(i));
        let error = difference(g, w);
        let allowed = if exact || !size(w).is_finite() { 0.0 } else { absolute + relative * size(w) };
        // Written so that NaN counts as out of bounds too.
        if error <= allowed {
            continue;
        }
        let error = if error.is_nan() { f64::INFINITY } else { error };
        match &mut found {
            Some(m) => {
                m.count += 1;
                m.max_error = m.max_error.max(error);
            }
            None => {
                let first = index_of(&want.shape, i);
                found = Some(Mismatch { count: 1, total, first, got: g, want: w, max_error: error });
            }
        }
    }
    found
}

/// The relative error that a few reordered sums may cause in a type.
fn default_relative(element: ElementType) -> f64 {
    match element {
        ElementType::F64 | ElementType::C128 => 1e-12,
        ElementType::F32 | ElementType::C64 => 1e-5,
        ElementType::F16 => 2e-3,
        ElementType::BF16 => 1.6e-2,
        // Types with at most three bits of mantissa.
        _ => 0.25,
    }
}

fn size(value: Scalar) -> f64 {
    match value {
        Scalar::Complex(re, im) => re.hypot(im),
        other => other.as_f64().abs(),
    }
}

/// 0 for equal values, two NaNs included; NaN where only one is a number.
fn difference(a: Scalar, b: Scalar) -> f64 {
    let float = |a: f64, b: f64| if a == b || a.is_nan() && b.is_nan() { 0.0 } else { (a - b).abs() };
    match (a, b) {
        (Scalar::Int(a), Scalar::Int(b)) => a.abs_diff(b) as f64,
        (Scalar::Complex(a, i), Scalar::Complex(b, j)) => float(a, b).hypot(float(i, j)),
        (a, b) => float(a.as_f64(), b.as_f64()),
    }
}

fn index_of(shape: &[i64], mut position: usize) -> Vec<i64> {
    let mut index = vec![0; shape.len()];
    for (d, &size) in shape.iter().enumerate().rev() {
        let size = size.max(1) as usize;
        index[d] = (position % size) as i64;
        position /= size;
    }
    index
}

#[cfg(test)]
mod tests {
    use super::*;

    fn floats(values: &[f64]) -> Literal {
        Literal::from_scalars(ElementType::F32, &[values.len() as i64], values.iter().map(|&v| Scalar::Float(v)))
    }

    fn check(got: &[f64], want: &[f64], tolerance: Tolerance) -> Option<(usize, Vec<i64>, f64)> {
        compare(&floats(got), &floats(want), tolerance).map(|m| (m.count, m.first, m.max_error))
    }

    #[test]
    fn floats_may_differ_a_little() {
        let default = Tolerance::default();
        assert_eq!(check(&[1.0, 2.0], &[1.0, 2.000001], default), None);
        assert_eq!(check(&[1.0, 2.0, 5.0], &[1.0, 2.5, 4.0], default), Some((2, vec![1], 1.0)));
        // Next to a large value, a small one may be off by the large one's tolerance.
        assert_eq!(check(&[1000.0, 0.005], &[1000.0, 0.0], default), None);
        let exact = Tolerance { relative: Some(0.0), absolute: Some(0.0) };
        assert_eq!(check(&[1000.0, 0.5], &[1000.0, 0.0], exact), Some((1, vec![1], 0.5)));
    }

    #[test]
    fn no_number_is_equal_to_itself_alone() {
        let (nan, inf) = (f64::NAN, f64::INFINITY);
        let wide = Tolerance { relative: Some(1e9), absolute: Some(1e9) };
        assert_eq!(check(&[nan, inf, -inf], &[nan, inf, -inf], Tolerance::default()), None);
        assert_eq!(check(&[nan], &[1.0], wide), Some((1, vec![0], inf)));
        assert_eq!(check(&[inf], &[1.0], wide), Some((1, vec![0], inf)));
        assert_eq!(check(&[1.0], &[inf], wide), Some((1, vec![0], inf)));
    }

    #[test]
    fn integers_are_exact_and_indices_are_of_the_shape() {
        let ints = |v: [i128; 6]| Literal::from_scalars(ElementType::I32, &[2, 3], v.map(Scalar::Int));
        let m = compare(
            &ints([0, 1, 2, 3, 4, 6]),
            &ints([0, 1, 2, 3, 4, 5]),
            Tolerance { relative: Some(1.0), absolute: Some(9.0) },
        );
        assert_eq!(m.map(|m| (m.first, m.max_error)), Some((vec![1, 2], 1.0)));
    }
}
