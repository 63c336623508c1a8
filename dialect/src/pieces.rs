//! Slicing concrete tensors into boxes and assembling tensors from boxes: the basis of sharded values and collectives.
//!
//! Copies whole rows of the innermost dimension at a time; a splat stays one element.

use crate::ir::{ElementType, Shape};
use crate::literal::{Indices, Literal};

impl Literal {
    /// Returns the box of `shape` that begins at `start`; it must be inside of the tensor.
    pub fn piece(&self, start: &[i64], shape: &[i64]) -> Literal {
        debug_assert!(inside(&self.shape, start, shape), "box {start:?}+{shape:?} of {:?}", self.shape);
        if self.is_splat() || shape[..] == self.shape[..] {
            return if shape[..] == self.shape[..] { self.clone() } else { self.resized(shape) };
        }
        let bytes = self.dense_bytes();
        let width = self.element.bytes();
        let mut out = Vec::with_capacity(shape.iter().product::<i64>().max(0) as usize * width);
        rows(&self.shape, start, shape, |at, len| out.extend_from_slice(&bytes[at * width..(at + len) * width]));
        Literal::from_bytes(self.element, shape, out)
    }

    /// Assembles a tensor of `shape` from boxes and their start positions; positions without a box are zero.
    pub fn assemble<'a>(
        element: ElementType,
        shape: &[i64],
        pieces: impl IntoIterator<Item = (Shape, &'a Literal)>,
    ) -> Literal {
        let width = element.bytes();
        let count = shape.iter().product::<i64>().max(0) as usize;
        let mut out = vec![0u8; count * width];
        for (start, piece) in pieces {
            debug_assert!(inside(shape, &start, &piece.shape), "box {start:?}+{:?} of {shape:?}", piece.shape);
            let bytes = piece.dense_bytes();
            let mut from = 0;
            rows(shape, &start, &piece.shape, |at, len| {
                out[at * width..(at + len) * width].copy_from_slice(&bytes[from..from + len * width]);
                from += len * width;
            });
        }
        Literal::from_bytes(element, shape, out)
    }

    /// Concatenates `pieces` along `dim`; they agree in every other dimension. There must be at least one.
    pub fn concatenate(pieces: &[&Literal], dim: usize) -> Literal {
        let first = pieces[0];
        let mut shape = first.shape.clone();
        shape[dim] = pieces.iter().map(|p| p.shape[dim]).sum();
        let mut at = 0;
        let placed = pieces.iter().map(|&piece| {
            let mut start: Shape = smallvec::smallvec![0; shape.len()];
            start[dim] = at;
            at += piece.shape[dim];
            (start, piece)
        });
        let placed: Vec<_> = placed.collect();
        Literal::assemble(first.element, &shape, placed)
    }

    /// Splits along `dim` into `parts` equal pieces; `parts` must divide its size.
    pub fn split(&self, dim: usize, parts: usize) -> Vec<Literal> {
        let mut shape = self.shape.clone();
        shape[dim] /= parts.max(1) as i64;
        let piece = |i: usize| {
            let mut start: Shape = smallvec::smallvec![0; shape.len()];
            start[dim] = i as i64 * shape[dim];
            self.piece(&start, &shape)
        };
        (0..parts).map(piece).collect()
    }

    /// Returns the splat's element in another shape.
    fn resized(&self, shape: &[i64]) -> Literal {
        self.reshaped(shape)
    }
}

fn inside(outer: &[i64], start: &[i64], shape: &[i64]) -> bool {
    let fits = |d: usize| start[d] >= 0 && shape[d] >= 0 && start[d] + shape[d] <= outer[d];
    outer.len() == start.len() && outer.len() == shape.len() && (0..outer.len()).all(fits)
}

/// Calls `f` with the row-major position and length of each innermost row of a box.
fn rows(outer: &[i64], start: &[i64], shape: &[i64], mut f: impl FnMut(usize, usize)) {
    let Some((&row, outer_dims)) = shape.split_last() else { return f(0, 1) };
    if row == 0 {
        return;
    }
    for index in Indices::of(outer_dims) {
        let mut at = 0;
        for d in 0..outer.len() {
            let i = start[d] + index.get(d).copied().unwrap_or(0);
            at = at * outer[d] as usize + i as usize;
        }
        f(at, row as usize);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scalar::Scalar;

    fn iota(shape: &[i64]) -> Literal {
        let n = shape.iter().product::<i64>();
        Literal::from_scalars(ElementType::I32, shape, (0..n).map(|i| Scalar::Int(i.into())))
    }

    #[test]
    fn copies_a_box() {
        assert_eq!(iota(&[3, 4]).piece(&[1, 2], &[2, 2]).to_ints(), Some(vec![6, 7, 10, 11]));
        assert_eq!(iota(&[]).piece(&[], &[]).to_ints(), Some(vec![0]));
        assert_eq!(iota(&[2, 3]).piece(&[0, 1], &[2, 0]).to_ints(), Some(vec![]));
    }

    #[test]
    fn keeps_a_splat() {
        let splat = Literal::splat(ElementType::I32, &[1 << 20, 1 << 20], Scalar::Int(7));
        let piece = splat.piece(&[4, 4], &[2, 1]);
        assert_eq!((piece.to_ints(), piece.stored_bytes().len()), (Some(vec![7, 7]), 4));
    }

    #[test]
    fn split_then_concatenate_is_the_whole() {
        let whole = iota(&[2, 6, 2]);
        let parts = whole.split(1, 3);
        assert_eq!(parts[1].to_ints(), Some(vec![4, 5, 6, 7, 16, 17, 18, 19]));
        assert_eq!(Literal::concatenate(&parts.iter().collect::<Vec<_>>(), 1), whole);
    }
}
