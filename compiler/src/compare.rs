//! Comparison of tensors element by element: integers bit by bit, floats within an allowed difference per element.

use dialect::ir::{ElementClass, ElementType};
use dialect::literal::Literal;
use dialect::scalar::Scalar;

/// The maximum difference at which floats still count as equal: `absolute + relative * |expected|`, where a missing
/// part is 0 if the other is given. If neither is given, each element may differ by as much as rounding can change it.
#[derive(Clone, Copy, PartialEq, Default, Debug)]
pub struct Tolerance {
    /// The part relative to the expected value.
    pub relative: Option<f64>,
    /// The absolute part.
    pub absolute: Option<f64>,
}

/// The comparison of two tensors of one type.
#[derive(Clone, PartialEq, Debug)]
#[non_exhaustive]
pub struct Comparison {
    /// The number of elements in the tensor.
    pub total: usize,
    /// The number of elements that differ by more than the allowed difference.
    pub count: usize,
    /// The number of elements that are undecided, because rounding wasn't measured.
    pub undecided: usize,
    /// The number of elements that count as equal, although they differ by more than was measured for each of them: as
    /// many as differ so in correct runs.
    pub chance: usize,
    /// The first element that differs by more than the allowed difference.
    pub first: Option<Difference>,
    /// The element with the largest difference, allowed or not; `None` if all elements are the same.
    pub largest: Option<Difference>,
}

/// The difference of two elements.
#[derive(Clone, PartialEq, Debug)]
#[non_exhaustive]
pub struct Difference {
    /// The index of the elements.
    pub index: Vec<i64>,
    /// The value found there.
    pub got: Scalar,
    /// The value expected there.
    pub want: Scalar,
    /// The difference; infinite when only one of the two values is NaN.
    pub error: f64,
    /// The allowed difference at this element.
    pub allowed: f64,
}

impl Comparison {
    /// Returns whether no element differs by more than the allowed difference and none is undecided.
    pub fn equal(&self) -> bool {
        self.count == 0 && self.undecided == 0
    }

    /// Returns whether some element differs by more than the allowed difference.
    pub fn differs(&self) -> bool {
        self.count > 0
    }

    /// Returns the comparison of tensors that weren't compared: all elements are undecided.
    pub(crate) fn nothing(total: usize) -> Self {
        Self { total, count: 0, undecided: total, chance: 0, first: None, largest: None }
    }

    /// `equal (largest error 1.2e-7 at [0, 1], where 4.8e-7 is allowed)`, or
    /// `differs in 3 of 64 elements, first at [0, 1]: got 1.5, want 2.5 (largest error 1 at [3, 4], where …)`, or
    /// `not checked: 3 of 64 elements may differ by more than rounding (largest error 1e-4 at [3, 4])`
    pub fn text(&self, equal: &str) -> String {
        let largest = self.largest.as_ref().map_or(String::new(), |d| {
            let allowed = if d.allowed == 0.0 { "none".to_owned() } else { format!("{:.1e}", d.allowed) };
            format!(" (largest error {:.3e} at {:?}, where {allowed} is allowed)", d.error, d.index)
        });
        let Self { count, total, undecided, chance, .. } = self;
        match &self.first {
            None if *undecided > 0 => {
                let largest = self
                    .largest
                    .as_ref()
                    .map_or(String::new(), |d| format!(" (largest error {:.3e} at {:?})", d.error, d.index));
                format!(
                    "not checked: {undecided} of {total} elements may differ by more than rounding explains{largest}"
                )
            }
            None if *chance > 0 => {
                format!("{equal}{largest}; {chance} of {total} elements differ by more, as many as in correct runs")
            }
            None => format!("{equal}{largest}"),
            Some(Difference { index, got, want, .. }) => format!(
                "differs in {count} of {total} elements, first at {index:?}: got {got:?}, expected {want:?}{largest}"
            ),
        }
    }
}

/// Compares `got` with `want`, which has the same type. `spread` is the distance by which rounding can move each
/// element, if it was measured; it is ignored if `tolerance` has a value.
pub fn compare(got: &Literal, want: &Literal, tolerance: Tolerance, spread: Option<&[f64]>) -> Comparison {
    let mut found = Comparison { total: want.len(), count: 0, undecided: 0, chance: 0, first: None, largest: None };
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
        let place = |error| Difference { index: index_of(&want.shape, i), got: g, want: w, error, allowed };
        let shown = if error.is_nan() { f64::INFINITY } else { error };
        if shown > largest {
            largest = shown;
            found.largest = Some(place(shown));
        }
        if ratio(error, allowed) > 1.0 {
            found.count += 1;
            found.first.get_or_insert_with(|| place(shown));
        }
    }
    found
}

/// Returns by what factor element `i` of `got` differs by more than rounding explains, which can move it by `spread`:
/// at most 1 if it is explained, infinite if no factor would explain it.
pub(crate) fn excess(got: &Literal, want: &Literal, i: usize, spread: f64) -> f64 {
    let (got, expected) = (got.get(i), want.get(i));
    ratio(difference(got, expected), allowed(expected, want.element, Tolerance::default(), spread))
}

/// Returns the ratio of a difference to the allowed one: infinite if one of them is NaN, or if none is allowed.
fn ratio(error: f64, allowed: f64) -> f64 {
    match error / allowed {
        _ if error == 0.0 || allowed == f64::INFINITY => 0.0,
        ratio if ratio.is_nan() => f64::INFINITY,
        ratio => ratio,
    }
}

/// Like [`compare`], for a `spread` that may be less than what rounding can do: an element that differs by more than
/// that, but not by more than `beyond`, is undecided. All differing integers are undecided, because rounding may decide
/// them.
pub(crate) fn compare_unmeasured(got: &Literal, want: &Literal, spread: &[f64], beyond: f64) -> Comparison {
    let float = matches!(want.element.class(), ElementClass::Float | ElementClass::Complex);
    let beyond = if float { beyond / SPREADS } else { f64::INFINITY };
    let far: Vec<f64> = spread.iter().map(|s| s.max(beyond)).collect();
    let [near, far] = [spread, &far].map(|spread| compare(got, want, Tolerance::default(), Some(spread)));
    Comparison { undecided: near.count - far.count, largest: near.largest, ..far }
}

/// Returns the allowed distance from `want` of an element that rounding moves by `spread`.
fn allowed(want: Scalar, element: ElementType, tolerance: Tolerance, spread: f64) -> f64 {
    let size = size(want);
    let float = matches!(element.class(), ElementClass::Float | ElementClass::Complex);
    match tolerance {
        Tolerance { relative: None, absolute: None } if float => {
            // If no op amplifies errors, an element is off by a few of its own roundings. XLA flushes values smaller
            // than any normal number to zero.
            let own = if size.is_finite() { size * element.epsilon() * own_epsilons(element) } else { 0.0 };
            (own + element.smallest_normal()).max(SPREADS * spread)
        }
        Tolerance { relative: None, absolute: None } => SPREADS * spread,
        _ if !float || !size.is_finite() => 0.0,
        Tolerance { relative, absolute } => absolute.unwrap_or(0.0) + relative.unwrap_or(0.0) * size,
    }
}

/// Factor on the largest deviation in a few disturbed runs that still counts as rounding.
pub(crate) const SPREADS: f64 = 4.0;

/// Returns the number of epsilons by which an element may always be off. Types narrower than f32 are computed in wider
/// types.
fn own_epsilons(element: ElementType) -> f64 {
    if element.epsilon() <= ElementType::F32.epsilon() { 8.0 } else { 1.0 }
}

pub(crate) fn size(value: Scalar) -> f64 {
    match value {
        Scalar::Complex(re, im) => re.hypot(im),
        other => other.as_f64().abs(),
    }
}

/// Returns the absolute difference: 0 for equal values, two NaNs included; NaN if only one of them is NaN.
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
        // A large element doesn't raise the allowance of other elements.
        assert_eq!(check(&[-1e30, 0.005], &[-1e30, 0.0], default, None).0, 1);
        // The effect of rounding on an element raises the allowance of that element.
        assert_eq!(check(&[1.0, 2.5, 4.5], &[1.0, 2.0, 4.0], default, Some(&[0.0, 0.25, 0.0])), (1, vec![2], 0.5));
        assert_eq!(check(&[1e-40], &[0.0], default, None).0, 0);
    }

    #[test]
    fn unmeasured_differences_are_undecided_if_rounding_may_explain_them() {
        let unmeasured = |got: &[f64]| {
            let found = compare_unmeasured(&floats(got), &floats(&[1.0, 2.0, 4.0]), &[0.0; 3], 2.0);
            (found.undecided, found.count, found.equal(), found.differs())
        };
        assert_eq!(unmeasured(&[1.0, 2.000_000_1, 4.0]), (0, 0, true, false));
        assert_eq!(unmeasured(&[1.0, 2.1, 5.9]), (2, 0, false, false));
        assert_eq!(unmeasured(&[1.0, 2.1, 6.1]), (1, 1, false, true));
        assert_eq!(unmeasured(&[f64::NAN, 2.0, 4.0]), (0, 1, false, true));
        let ints = |v: i128| Literal::from_scalars(ElementType::I32, &[1], [Scalar::Int(v)]);
        let found = compare_unmeasured(&ints(9), &ints(0), &[0.0], 1.0);
        assert_eq!((found.undecided, found.differs()), (1, false));
    }

    #[test]
    fn a_given_tolerance_replaces_the_measured_one() {
        let exact = Tolerance { relative: Some(0.0), absolute: Some(0.0) };
        assert_eq!(check(&[1000.0, 0.5], &[1000.0, 0.0], exact, Some(&[9.0, 9.0])), (1, vec![1], 0.5));
        let relative = Tolerance { relative: Some(0.01), absolute: None };
        assert_eq!(check(&[100.5, 0.5], &[100.0, 0.0], relative, None), (1, vec![1], 0.5));
        let absolute = Tolerance { relative: None, absolute: Some(0.5) };
        assert_eq!(check(&[100.5, 0.5], &[100.0, 0.0], absolute, None).0, 0);
    }

    #[test]
    fn nan_and_infinities_equal_only_themselves() {
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
        // An index that rounding decides may differ.
        assert_eq!(compare(&got, &want, Tolerance::default(), Some(&[1.0; 6])).count, 0);
    }
}
