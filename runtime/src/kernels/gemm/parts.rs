//! Divides products into parts, each of which one thread computes: batches, or ranges of rows and columns.
//!
//! The thread that computes a product begins with the first part at once, while other threads wake up for theirs. The
//! library would make it wait for threads of a pool instead, which takes as long as a small product.

use dialect::ir::ElementType;
use smallvec::SmallVec;

use super::product::{Float, PARTS, SIDE};
use super::{Gemm, thin};

/// The number of multiplications below which a product has only as many parts as the threads need.
const SMALL: usize = 1 << 28;

/// The minimum rows and columns of a part of a small product.
const LEAST: usize = 64;

/// The rows and columns of a part: the first one, and their number.
type Leaf = [(usize, usize); 2];

impl Gemm {
    /// Returns the number of parts in which to compute the product on several threads, each by [`Self::run_part`].
    /// Returns `None` if [`Self::run`] should divide it.
    pub fn parts(&self, threads: usize) -> Option<usize> {
        let ty = self.types[0];
        let is_library = matches!(ty, ElementType::F32 | ElementType::F64) || ty.is_complex();
        if self.threads(threads) < 2 || !is_library || self.types != [ty; 3] {
            return None;
        }
        let is_thin = self.rows.size.min(self.columns.size) <= thin::MOST;
        match self.batches() {
            1 if self.outer.is_empty() && !is_thin => Some(self.leaves(threads).len()).filter(|&n| n > 1),
            1 => None,
            batches => (batches >= 2 * threads).then(|| batches.min(PARTS * threads)),
        }
    }

    /// Returns the number of batches.
    fn batches(&self) -> usize {
        self.outer.iter().filter(|o| !o.1).map(|o| o.0.size).product()
    }

    /// Returns the parts of a product without batches.
    fn leaves(&self, threads: usize) -> SmallVec<[Leaf; 16]> {
        let [m, n, k] = [self.rows.size, self.columns.size, self.contracted.size];
        let is_small = m.saturating_mul(n).saturating_mul(k) < SMALL;
        let (least, parts) = if is_small { (LEAST, 2 * threads) } else { (SIDE, PARTS * threads) };
        let mut leaves = SmallVec::new();
        divide([(0, m), (0, n)], least, parts, &mut leaves);
        leaves
    }

    /// Computes one of [`parts`](Self::parts) for `threads` threads.
    ///
    /// # Safety
    ///
    /// The same as for [`Self::run`], for the elements of this part.
    pub unsafe fn run_part(
        &self,
        [lhs, rhs]: [*const u8; 2],
        out: *mut u8,
        (part, parts): (usize, usize),
        threads: usize,
    ) {
        // SAFETY: `types` selects the element types of the pointers. `part_of` has the contract of this function.
        unsafe {
            let (place, which) = ((lhs, rhs, out), (part, parts, threads));
            match self.types[0] {
                ElementType::F32 => self.part_of::<f32>(place, which),
                ElementType::F64 => self.part_of::<f64>(place, which),
                ElementType::C64 => self.part_of::<gemm::c32>(place, which),
                _ => self.part_of::<gemm::c64>(place, which),
            }
        }
    }

    /// # Safety
    ///
    /// The same as for [`Self::run_part`], for elements of type `T`.
    unsafe fn part_of<T: Float>(
        &self,
        (lhs, rhs, out): (*const u8, *const u8, *mut u8),
        (part, parts, threads): (usize, usize, usize),
    ) {
        let leaf = if self.outer.is_empty() { self.leaves(threads).get(part).copied() } else { None };
        let batches = self.batches();
        let range = part * batches / parts..(part + 1) * batches / parts;
        self.products::<T>(lhs.cast(), rhs.cast(), out.cast(), |batch, product| {
            // SAFETY: the offsets and strides were computed from the tensors' shapes, so every position is inside the
            // tensors. Leaves and batches are disjoint, so parts write different elements.
            unsafe {
                match leaf {
                    Some([rows, columns]) => product.part(0, rows.0, rows.1).part(1, columns.0, columns.1).run(1),
                    None if range.contains(&batch) => product.run(1),
                    None => {}
                }
            }
        });
    }
}

/// Halves the longer side repeatedly, as long as both halves have at least `least` positions, until there are `parts`
/// parts.
fn divide(leaf: Leaf, least: usize, parts: usize, leaves: &mut SmallVec<[Leaf; 16]>) {
    let side = usize::from(leaf[1].1 > leaf[0].1);
    let (first, all) = leaf[side];
    if parts < 2 || all < 2 * least {
        return leaves.push(leaf);
    }
    let half = all / 2 / LEAST * LEAST;
    let [mut low, mut high] = [leaf; 2];
    (low[side], high[side]) = ((first, half), (first + half, all - half));
    [low, high].into_iter().for_each(|leaf| divide(leaf, least, parts.div_ceil(2), leaves));
}

#[cfg(test)]
mod tests {
    use super::super::{Loops, Run};
    use super::*;

    #[test]
    fn all_parts_are_the_whole() {
        let mut random = fastrand::Rng::with_seed(8);
        let mut divided = 0;
        for _ in 0..60 {
            let batch = if random.bool() { 1 } else { random.usize(2..30) };
            let [m, n] = [0; 2].map(|_| random.usize(1..if batch == 1 { 1200 } else { 90 }));
            let k = random.usize(1..if m * n > 1 << 18 { 20 } else { 600 });
            let mut values = |n: usize| (0..n).map(|_| random.f32() - 0.5).collect::<Vec<f32>>();
            let (lhs, rhs) = (values(batch * m * k), values(batch * k * n));
            let run = |size, lhs: usize, rhs: usize, out: usize| {
                let [lhs, rhs, out] = [lhs, rhs, out].map(|stride| stride as isize);
                Run { size, lhs, rhs, out }
            };
            let loops = Loops {
                batch: vec![run(batch, m * k, k * n, m * n)],
                rows: vec![run(m, k, 0, n)],
                columns: vec![run(n, 0, 1, 1)],
                contracted: vec![run(k, 1, n, 0)],
            };
            let gemm = Gemm::of_loops([ElementType::F32; 3], [batch * m * k, batch * k * n, batch * m * n], loops);
            let (lhs, rhs) = (lhs.as_ptr().cast(), rhs.as_ptr().cast());
            let mut want = vec![f32::NAN; batch * m * n];
            // SAFETY: `lhs`, `rhs` and `want` have the lengths that were passed to `of_loops`.
            unsafe { gemm.run(lhs, rhs, want.as_mut_ptr().cast(), 1) };
            for threads in [2, 3, 8] {
                let Some(parts) = gemm.parts(threads) else { continue };
                divided += 1;
                let mut got = vec![f32::NAN; batch * m * n];
                for part in 0..parts {
                    // SAFETY: `lhs`, `rhs` and `got` have the lengths that were passed to `of_loops`.
                    unsafe { gemm.run_part([lhs, rhs], got.as_mut_ptr().cast(), (part, parts), threads) };
                }
                let same = got.iter().zip(&want).all(|(a, b)| a.to_bits() == b.to_bits());
                assert!(same, "{batch} x {m} x {n} x {k} on {threads} threads");
            }
        }
        assert!(divided > 40, "{divided}");
    }
}
