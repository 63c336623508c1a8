//! Comparing tensors element by element: integers bit by bit, floats within what is allowed for each.

use dialect::ir::{ElementClass, ElementType};
use dialect::literal::Literal;
use dialect::scalar::Scalar;

/// How far apart floats may be and still count as equal: `absolute + relative * |expected|`, each 0 when only the other
/// is given. When neither is, each element may differ by as much as rounding can change it.
#[derive(Clone, Copy, PartialEq, Default, Debug)]
pub struct Tolerance {
    /// Relative to the expected value.
    pub relative: Option<f64>,
    /// In absolute terms.
    pub absolute: Option<f64>,
}

/// How two tensors of one type compare.
#[derive(Clone, PartialEq, Debug)]
#[non_exhaustive]
pub struct Comparison {
    /// Number of elements in the tensor.
    pub total: usize,
    /// Number of elements that differ by more than is allowed.
    pub count: usize,
    /// The first element that does.
    pub first: Option<Difference>,
    /// The element with the largest difference, allowed or not; `None` if all are the same.
    pub largest: Option<Difference>,
}

/// How two elements differ.
#[derive(Clone, PartialEq, Debug)]
#[non_exhaustive]
pub struct Difference {
    /// Where they are.
    pub index: Vec<i64>,
    /// The value found there.
    pub got: Scalar,
    /// The value expected there.
    pub want: Scalar,
    /// The difference; infinite when only one of the two values is NaN.
    pub error: f64,
    /// The difference that is allowed there.
    pub allowed: f64,
}

impl Comparison {
    /// Whether no element differs by more than is allowed.
    pub fn equal(&self) -> bool {
        self.count == 0
    }

    /// `equal (largest error 1.2e-7 at [0, 1], where 4.8e-7 is allowed)`, or
    /// `differs in 3 of 64 elements, first at [0, 1]: got 1.5, want 2.5 (largest error 1 at [3, 4], where …)`
    pub fn text(&self, equal: &str) -> String {
        let largest = self.largest.as_ref().map_or(String::new(), |d| {
            let allowed = if d.allowed == 0.0 { "none".to_owned() } else { format!("{:.1e}", d.allowed) };
            format!(" (largest error {:.3e} at {:?}, where {allowed} is allowed)", d.error, d.index)
        });
        let Self { count, total, .. } = self;
        match &self.first {
            None => format!("{equal}{largest}"),
            Some(Difference { index, got, want, .. }) => format!(
                "differs in {count} of {total} elements, first at {index:?}: got {got:?}, want {want:?}{largest}"
            ),
        }
    }
}

/// Compares `got` with `want`, which has the same type. `spread` says how far rounding can move each element, where
/// that was measured; a `tolerance` that says anything counts alone.
pub fn compare(got: &Literal, want: &Literal, tolerance: Tolerance, spread: Option<&[f64]>) -> Comparison {
    let mut found = Comparison { total: want.len(), count: 0, first: None, largest: None };
    if got.stored_bytes() == want.stored_bytes() {
        return found;
    }
    let mut largest = 0.0;
    for i in 0..found.total {
        if got.element_bytes(i) == want.element_bytes(i) {
            continue;
        }
        let (g, w) = (got.get(i), want.get(i));
        let error = difference(g, w);
        let allowed = allowed(w, want.element, tolerance, spread.map_or(0.0, |s| s[i]));
        // NaN is out of bounds too.
        let differs = allowed != f64::INFINITY && (error > allowed || error.is_nan() || allowed.is_nan());
        let error = if error.is_nan() { f64::INFINITY } else { error };
        let place = || Difference { index: index_of(&want.shape, i), got: g, want: w, error, allowed };
        if error > largest {
            largest = error;
            found.largest = Some(place());
        }
        if differs {
            found.count += 1;
            found.first.get_or_insert_with(place);
        }
    }
    found
}

/// How far from `want` an element may be, where rounding moves it by `spread`.
fn allowed(want: Scalar, element: ElementType, tolerance: Tolerance, spread: f64) -> f64 {
    let size = size(want);
    let float = matches!(element.class(), ElementClass::Float | ElementClass::Complex);
    match tolerance {
        Tolerance { relative: None, absolute: None } if float => {
            // Elements that nothing amplifies: a few roundings of their own. XLA flushes what is smaller than any
            // normal number to zero.
            let own = if size.is_finite() { size * element.epsilon() * own_epsilons(element) } else { 0.0 };
            (own + element.smallest_normal()).max(SPREADS * spread)
        }
        Tolerance { relative: None, absolute: None } => SPREADS * spread,
        _ if !float || !size.is_finite() => 0.0,
        Tolerance { relative, absolute } => absolute.unwrap_or(0.0) + relative.unwrap_or(0.0) * size,
    }
}

/// How many times the largest deviation among a few disturbed runs counts as rounding.
pub(crate) const SPREADS: f64 = 4.0;

/// Epsilons that an element may always be off. Types narrower than f32 are computed in wider ones.
fn own_epsilons(element: ElementType) -> f64 {
    if element.epsilon() <= ElementType::F32.epsilon() { 8.0 } else { 1.0 }
}

pub(crate) fn size(value: Scalar) -> f64 {
    match value {
        Scalar::Complex(re, im) => re.hypot(im),
        other => other.as_f64().abs(),
    }
}

/// 0 for equal values, two NaNs included; NaN where only one is a number.
pub(crate) fn difference(a: Scalar, b: Scalar) -> f64 {
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

    fn check(got: &[f64], want: &[f64], tolerance: Tolerance, spread: Option<&[f64]>) -> (usize, Vec<i64>, f64) {
        let found = compare(&floats(got), &floats(want), tolerance, spread);
        (found.count, found.first.map_or(vec![], |d| d.index), found.largest.map_or(0.0, |d| d.error))
    }

    #[test]
    fn each_element_has_its_own_tolerance() {
        let default = Tolerance::default();
        assert_eq!(check(&[1.0, 2.0], &[1.0, 2.000_001], default, None).0, 0);
        assert_eq!(check(&[1.0, 2.0, 5.0], &[1.0, 2.5, 4.0], default, None), (2, vec![1], 1.0));
        // A large element excuses no other.
        assert_eq!(check(&[-1e30, 0.005], &[-1e30, 0.0], default, None).0, 1);
        // What rounding may do to an element excuses that one.
        assert_eq!(check(&[1.0, 2.5, 4.5], &[1.0, 2.0, 4.0], default, Some(&[0.0, 0.25, 0.0])), (1, vec![2], 0.5));
        assert_eq!(check(&[1e-40], &[0.0], default, None).0, 0);
    }

    #[test]
    fn a_given_tolerance_counts_alone() {
        let exact = Tolerance { relative: Some(0.0), absolute: Some(0.0) };
        assert_eq!(check(&[1000.0, 0.5], &[1000.0, 0.0], exact, Some(&[9.0, 9.0])), (1, vec![1], 0.5));
        let relative = Tolerance { relative: Some(0.01), absolute: None };
        assert_eq!(check(&[100.5, 0.5], &[100.0, 0.0], relative, None), (1, vec![1], 0.5));
        let absolute = Tolerance { relative: None, absolute: Some(0.5) };
        assert_eq!(check(&[100.5, 0.5], &[100.0, 0.0], absolute, None).0, 0);
    }

    #[test]
    fn no_number_is_equal_to_itself_alone() {
        let (nan, inf) = (f64::NAN, f64::INFINITY);
        let wide = Tolerance { relative: Some(1e9), absolute: Some(1e9) };
        assert_eq!(check(&[nan, inf, -inf], &[nan, inf, -inf], Tolerance::default(), None).0, 0);
        assert_eq!(check(&[nan], &[1.0], wide, None), (1, vec![0], inf));
        assert_eq!(check(&[inf], &[1.0], wide, None), (1, vec![0], inf));
        assert_eq!(check(&[1.0], &[inf], wide, None), (1, vec![0], inf));
        assert_eq!(check(&[nan], &[1.0], Tolerance::default(), Some(&[5.0])), (1, vec![0], inf));
    }

    #[test]
    fn integers_are_exact_and_indices_are_of_the_shape() {
        let ints = |v: [i128; 6]| Literal::from_scalars(ElementType::I32, &[2, 3], v.map(Scalar::Int));
        let (got, want) = (ints([0, 1, 2, 3, 4, 6]), ints([0, 1, 2, 3, 4, 5]));
        let wide = Tolerance { relative: Some(1.0), absolute: Some(9.0) };
        let found = compare(&got, &want, wide, None);
        assert_eq!((found.count, found.largest.map(|d| (d.index, d.error))), (1, Some((vec![1, 2], 1.0))));
        assert_eq!(compare(&got, &want, Tolerance::default(), None).count, 1);
        // An index that rounding decides may be another.
        assert_eq!(compare(&got, &want, Tolerance::default(), Some(&[1.0; 6])).count, 0);
    }
}
