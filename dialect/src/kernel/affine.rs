//! Index expressions as sums that are as affine as possible: a constant, a coefficient for each loop, and other terms.
//!
//! Divisions and remainders are removed if the loops' ranges determine them, and digits that a reshape separates are
//! merged again.

use std::ops::Range;

use smallvec::SmallVec;

use super::{Index, Positions};

/// `constant + sum of coefficient * loop + sum of factor * term`.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Affine {
    /// The constant part.
    pub constant: i64,
    /// The coefficient of each loop.
    pub loops: SmallVec<[i64; 6]>,
    /// The terms that aren't affine.
    pub others: Vec<Term>,
}

/// A term that is not affine: a quotient, a remainder, a clamped or loaded value.
#[derive(Clone, Debug, PartialEq)]
pub struct Term {
    /// The expression.
    pub index: Index,
    /// Its coefficient.
    pub factor: i64,
    /// The range of its values.
    pub positions: Positions,
}

impl Affine {
    /// Returns a constant, over `loops` loops.
    pub fn constant(constant: i64, loops: usize) -> Self {
        Self { constant, loops: SmallVec::from_elem(0, loops), others: Vec::new() }
    }

    /// Returns `index` as a sum that equals `index` while the loops stay in `ranges`.
    pub fn of(index: &Index, ranges: &[Range<i64>]) -> Self {
        let n = ranges.len();
        match index {
            Index::Loop(l) => {
                let mut sum = Self::constant(0, n);
                sum.loops[*l] = 1;
                sum
            }
            Index::Const(c) => Self::constant(*c, n),
            Index::Add(a, b) => {
                let mut sum = Self::of(a, ranges);
                sum.add(&Self::of(b, ranges), 1);
                sum.join_digits(ranges);
                sum
            }
            Index::Mul(a, by) => {
                let mut sum = Self::constant(0, n);
                sum.add(&Self::of(a, ranges), *by);
                sum
            }
            Index::FloorDiv(a, by) => {
                let (mut quotient, rest) = Self::of(a, ranges).split(*by);
                let values = rest.positions(ranges).floor_div(*by);
                match values.single() {
                    Some(value) => quotient.constant = quotient.constant.saturating_add(value),
                    None => quotient.push(rest.to_index().floor_div(*by), 1, values),
                }
                quotient
            }
            Index::Mod(a, by) => {
                let (_, mut rest) = Self::of(a, ranges).split(*by);
                let values = rest.positions(ranges);
                match values.floor_div(*by).single() {
                    Some(period) => rest.constant = rest.constant.saturating_sub(period.saturating_mul(*by)),
                    None => rest = Self::single(rest.to_index().modulo(*by), values.modulo(*by), n),
                }
                rest
            }
            Index::Clamp(a, lo, hi) => {
                let sum = Self::of(a, ranges);
                let values = sum.positions(ranges);
                let clamped = values.clamp(*lo, *hi);
                match clamped.single() {
                    Some(value) => Self::constant(value, n),
                    None if clamped == values => sum,
                    None => Self::single(Index::Clamp(Box::new(sum.to_index()), *lo, *hi), clamped, n),
                }
            }
            Index::Load { .. } => Self::single(index.clone(), Positions::ALL, n),
        }
    }

    /// Returns the offset of the element at `index` in a row-major buffer of `shape`.
    pub fn offset(index: &[Index], shape: &[i64], ranges: &[Range<i64>]) -> Self {
        let mut stride: i64 = 1;
        let mut terms: Vec<(Index, i64)> = Vec::new();
        for (i, &size) in index.iter().zip(shape).rev() {
            terms.push((i.clone(), stride));
            stride = stride.saturating_mul(size);
        }
        let mut sum = Self::constant(0, ranges.len());
        for (term, stride) in joined(terms) {
            sum.add(&Self::of(&term, ranges), stride);
        }
        sum.join_digits(ranges);
        sum
    }

    fn single(index: Index, positions: Positions, loops: usize) -> Self {
        let mut sum = Self::constant(0, loops);
        sum.push(index, 1, positions);
        sum
    }

    fn push(&mut self, index: Index, factor: i64, positions: Positions) {
        match self.others.iter_mut().find(|o| o.index == index) {
            Some(o) => o.factor = o.factor.saturating_add(factor),
            None => self.others.push(Term { index, factor, positions }),
        }
    }

    fn add(&mut self, other: &Affine, times: i64) {
        self.constant = self.constant.saturating_add(other.constant.saturating_mul(times));
        for (have, more) in self.loops.iter_mut().zip(&other.loops) {
            *have = have.saturating_add(more.saturating_mul(times));
        }
        for term in &other.others {
            self.push(term.index.clone(), term.factor.saturating_mul(times), term.positions);
        }
        self.others.retain(|o| o.factor != 0);
    }

    /// Returns `(quotient, rest)` with `self = by * quotient + rest`; the quotient gets all terms that `by` divides.
    fn split(self, by: i64) -> (Affine, Affine) {
        let (mut quotient, mut rest) = (Self::constant(0, self.loops.len()), self);
        quotient.constant = rest.constant.div_euclid(by);
        rest.constant = rest.constant.rem_euclid(by);
        for (q, r) in quotient.loops.iter_mut().zip(&mut rest.loops) {
            if *r % by == 0 {
                (*q, *r) = (*r / by, 0);
            }
        }
        for term in std::mem::take(&mut rest.others) {
            match term.factor % by {
                0 => quotient.others.push(Term { factor: term.factor / by, ..term }),
                _ => rest.others.push(term),
            }
        }
        (quotient, rest)
    }

    /// Merges adjacent digits of one number: `m * (e / m) + e mod m` is `e`.
    fn join_digits(&mut self, ranges: &[Range<i64>]) {
        let find = |others: &[Term]| {
            let pairs = (0..others.len()).flat_map(|i| (0..others.len()).map(move |j| (i, j)));
            pairs.filter(|(i, j)| i != j).find_map(|(minor, major)| {
                let whole = whole(&others[minor].index, &others[major].index)?;
                let fits = whole.1 == others[major].factor.checked_div(others[minor].factor)?;
                let exact = others[major].factor % others[minor].factor == 0;
                (fits && exact).then_some((minor, major, whole.0))
            })
        };
        while let Some((minor, major, whole)) = find(&self.others) {
            let factor = self.others[minor].factor;
            self.others.remove(minor.max(major));
            self.others.remove(minor.min(major));
            self.add(&Self::of(&whole, ranges), factor);
        }
    }

    /// Returns whether it consists only of loops and constants.
    pub fn is_affine(&self) -> bool {
        self.others.is_empty()
    }

    /// Converts the sum back into an expression.
    pub fn to_index(&self) -> Index {
        let loops = self.loops.iter().enumerate().filter(|l| *l.1 != 0);
        let sum = loops.fold(Index::Const(self.constant), |sum, (l, &c)| sum.plus(Index::Loop(l).times(c)));
        self.others.iter().fold(sum, |sum, o| sum.plus(o.index.clone().times(o.factor)))
    }

    /// Returns its values while the loops stay in `ranges`: a superset, which is exact if the sum is affine.
    pub fn positions(&self, ranges: &[Range<i64>]) -> Positions {
        let loops = self.loops.iter().zip(ranges).filter(|l| *l.0 != 0);
        let loops = loops.map(|(&c, range)| Positions::of(range).times(c));
        let others = self.others.iter().map(|o| o.positions.times(o.factor));
        loops.chain(others).fold(Positions::at(self.constant), Positions::plus)
    }

    /// Returns `self - other` if that is a constant.
    pub fn minus(&self, other: &Affine) -> Option<i64> {
        let same = self.loops == other.loops && self.others == other.others;
        if same { self.constant.checked_sub(other.constant) } else { None }
    }
}

/// Returns `(expression, divisor, modulus)` such that the index is `expression / divisor % modulus`.
fn parts(index: &Index) -> (&Index, i64, Option<i64>) {
    match index {
        Index::Mod(inner, m) => match &**inner {
            Index::FloorDiv(e, d) => (e, *d, Some(*m)),
            e => (e, 1, Some(*m)),
        },
        Index::FloorDiv(e, d) => (e, *d, None),
        e => (e, 1, None),
    }
}

/// Returns `major * m + minor` for adjacent digits of one number, and `m`.
fn whole(minor: &Index, major: &Index) -> Option<(Index, i64)> {
    let ((e, div, modulus), (f, next, outer)) = (parts(minor), parts(major));
    let m = modulus?;
    if next != div.checked_mul(m)? || e != f {
        return None;
    }
    let whole = e.clone().floor_div(div);
    match outer {
        Some(o) => Some((whole.modulo(m.checked_mul(o)?), m)),
        None => Some((whole, m)),
    }
}

/// Merges adjacent digits of one number among `terms`, minor first: dimensions that a reshape splits become one offset.
fn joined(terms: Vec<(Index, i64)>) -> Vec<(Index, i64)> {
    let mut out: Vec<(Index, i64)> = Vec::new();
    for (index, stride) in terms {
        if let Some((minor, minor_stride)) = out.last_mut()
            && let Some((whole, m)) = whole(minor, &index)
            && stride == minor_stride.saturating_mul(m)
        {
            *minor = whole;
        } else if index != Index::Const(0) {
            out.push((index, stride));
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reshape_is_one_offset() {
        // [4, 6] read as [24] and as [2, 2, 6].
        let flat = Index::Loop(0);
        let index = [flat.clone().floor_div(6), flat.modulo(6)];
        assert_eq!(Affine::offset(&index, &[4, 6], &[0..24]).loops[..], [1]);
        let at = Index::Loop(0).times(2).plus(Index::Loop(1));
        let a = Affine::offset(&[at, Index::Loop(2)], &[4, 6], &[0..2, 0..2, 0..6]);
        assert_eq!((&a.loops[..], a.is_affine()), (&[12, 6, 1][..], true));
        // Three digits of a number that isn't affine.
        let number = Index::Load { operand: 0, index: vec![Index::Loop(0)] };
        let digit = |by, m| number.clone().floor_div(by).modulo(m);
        let index = [number.clone().floor_div(12), digit(4, 3), digit(1, 4)];
        let a = Affine::offset(&index, &[2, 3, 4], &[0..3]);
        assert_eq!(a.others.iter().map(|o| (&o.index, o.factor)).collect::<Vec<_>>(), [(&number, 1)]);
    }

    #[test]
    fn ranges_say_what_divisions_give() {
        let at = Index::Loop(0).times(6).plus(Index::Loop(1));
        let of = |index: Index, ranges: &[Range<i64>]| Affine::of(&index, ranges);
        let inside = [0..4, 0..6];
        assert_eq!(of(at.clone().floor_div(6), &inside).loops[..], [1, 0]);
        assert_eq!(of(at.clone().modulo(6), &inside).loops[..], [0, 1]);
        // Half of a row, starting in the row's middle.
        let half = of(at.clone().plus(Index::Const(3)).floor_div(6), &[0..4, 0..3]);
        assert_eq!((half.constant, &half.loops[..], half.is_affine()), (0, &[1, 0][..], true));
        // In a row longer than the divisor the position has a remainder, the row number doesn't.
        let longer = of(at.modulo(6), &[0..4, 0..7]);
        assert_eq!(longer.others[0].index, Index::Loop(1).modulo(6));
        let clamped = Index::Clamp(Box::new(Index::Loop(0)), 0, 3);
        assert!(of(clamped.clone(), &[0..4]).is_affine());
        assert!(!of(clamped.clone(), &[0..5]).is_affine());
        assert_eq!(of(clamped, &[3..9]).constant, 3);
    }

    #[test]
    fn a_real_modulus_stays() {
        let a = Affine::offset(&[Index::Loop(0).modulo(3)], &[3], &[0..5]);
        let positions = Positions { first: 0, last: 2, step: 1 };
        assert_eq!(a.others, [Term { index: Index::Loop(0).modulo(3), factor: 1, positions }]);
    }
}
