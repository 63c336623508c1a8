//! Where an element lies: index expressions as offsets into row-major buffers, as affine as they can be made.

use dialect::kernel::Index;
use smallvec::SmallVec;

/// `constant + sum of coefficient * loop + sum of factor * other`.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Address {
    /// The constant part.
    pub constant: i64,
    /// Coefficients of loops, by loop.
    pub loops: SmallVec<[i64; 6]>,
    /// Terms that are not affine.
    pub others: Vec<(Index, i64)>,
}

impl Address {
    /// The offset of `index` in a row-major buffer of `shape`; over `loops` loops.
    pub(super) fn of(index: &[Index], shape: &[i64], loops: usize) -> Self {
        let mut address = Address { loops: SmallVec::from_elem(0, loops), ..Address::default() };
        let mut stride = 1;
        let mut terms: Vec<(Index, i64)> = Vec::new();
        for (i, &size) in index.iter().zip(shape).rev() {
            terms.push((i.clone(), stride));
            stride *= size;
        }
        for (term, factor) in joined(terms) {
            address.add(&term, factor);
        }
        address
    }

    fn add(&mut self, index: &Index, factor: i64) {
        match index {
            Index::Loop(l) => self.loops[*l] += factor,
            Index::Const(c) => self.constant += c * factor,
            Index::Add(a, b) => {
                self.add(a, factor);
                self.add(b, factor);
            }
            Index::Mul(a, by) => self.add(a, factor * by),
            other => match self.others.iter_mut().find(|o| o.0 == *other) {
                Some(o) => o.1 += factor,
                None => self.others.push((other.clone(), factor)),
            },
        }
    }

    /// Whether only loops and constants make it up.
    pub(super) fn is_affine(&self) -> bool {
        self.others.is_empty()
    }
}

/// `(expression, divisor, modulus)`: the index is `expression / divisor % modulus`.
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

/// Terms, minor first, with digits of one number put together again: what a reshape takes apart is one offset.
fn joined(terms: Vec<(Index, i64)>) -> Vec<(Index, i64)> {
    let mut out: Vec<(Index, i64)> = Vec::new();
    for (index, stride) in terms {
        if let Some((minor, minor_stride)) = out.last() {
            let ((e, div, modulus), (f, next, outer)) = (parts(minor), parts(&index));
            if let Some(m) = modulus
                && e == f
                && next == div * m
                && stride == minor_stride * m
            {
                let mut whole = e.clone().floor_div(div);
                if let Some(o) = outer {
                    whole = whole.modulo(m * o);
                }
                let stride = *minor_stride;
                out.pop();
                out.push((whole, stride));
                continue;
            }
        }
        if index != Index::Const(0) {
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
        assert_eq!(Address::of(&index, &[4, 6], 1).loops[..], [1]);
        let at = Index::Loop(0).times(2).plus(Index::Loop(1));
        let index = [at.floor_div(1), Index::Loop(2)];
        let a = Address::of(&index, &[4, 6], 3);
        assert_eq!((&a.loops[..], a.is_affine()), (&[12, 6, 1][..], true));
    }

    #[test]
    fn a_real_modulus_stays() {
        let a = Address::of(&[Index::Loop(0).modulo(3)], &[3], 1);
        assert_eq!(a.others, [(Index::Loop(0).modulo(3), 1)]);
    }
}
