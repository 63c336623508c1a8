//! Products that compute all phases of a dilated tensor together.
//!
//! If a convolution's input is dilated, the positions of the result fall into phases. Each phase is a product that
//! reads every element of its windows. All phases read the same elements of the left tensor, so one product can compute
//! them: the phases become additional columns, and the right tensor is copied to the positions where each phase reads
//! it, with zeros between. That pays if the columns of one phase leave most of a vector empty.

use dialect::kernel::{Affine, Role};
use smallvec::SmallVec;

use super::loops::{Guard, Loop};
use super::problem::{Whole, first};
use super::product::Product;

/// The usual number of elements in a vector.
const VECTOR: i64 = 16;

/// One product for all phases.
#[derive(Clone, Debug)]
pub(super) struct Joined {
    /// The product. Its right tensor is the copy.
    pub product: Product,
    pub copy: Spread,
}

/// A copy of a tensor's elements with zeros between them.
#[derive(Clone, Debug)]
pub(super) struct Spread {
    /// Number of elements of the copy.
    size: usize,
    /// The first elements of the parts, in the tensor and in the copy.
    parts: Vec<(isize, isize)>,
    /// The loops over the elements of a part: their sizes and strides.
    loops: Vec<(usize, isize, isize)>,
}

impl Spread {
    /// Returns the copy of this tensor.
    pub(super) fn of<T: Copy + Default>(&self, from: &[T]) -> Vec<T> {
        let mut copy = vec![T::default(); self.size];
        let mut starts = self.parts.clone();
        let (last, outer) = match self.loops.split_last() {
            Some((&last, outer)) => (last, outer),
            None => ((1, 0, 0), &[][..]),
        };
        for &(size, a, b) in outer {
            let moved = |&(from, to): &(isize, isize)| (0..size as isize).map(move |i| (from + i * a, to + i * b));
            starts = starts.iter().flat_map(moved).collect();
        }
        for (at, to) in starts {
            for i in 0..last.0 as isize {
                copy[(to + i * last.2) as usize] = from[(at + i * last.1) as usize];
            }
        }
        copy
    }
}

/// A dilated dimension, with the loop over its positions and the loop over its window.
struct Dilated {
    dim: usize,
    rows: usize,
    window: usize,
    /// For each element of a window that a phase reads: the phase, the element, and the position in the left tensor.
    taps: Vec<(i64, i64, i64)>,
    /// The first of these positions, and their number.
    low: i64,
    positions: i64,
}

impl Whole<'_> {
    /// Returns the product of all phases, if that takes fewer vector multiplications than a product for each phase.
    pub(super) fn joined(&self) -> Option<Joined> {
        let nest = self.nest;
        let dilated: Vec<Dilated> = (0..self.dims.len())
            .filter(|&d| self.dims[d].divisor > 1)
            .map(|d| self.dilated(d))
            .collect::<Option<_>>()?;
        if dilated.is_empty() {
            return None;
        }
        let of_role = |role| (0..nest.loops.len()).filter(move |&l| self.roles[l] == role);
        let columns: i64 = of_role(Role::Right).map(|l| nest.loops[l]).product();
        let phases: i64 = dilated.iter().map(|d| self.dims[d.dim].divisor).product();
        let vectors = |columns: i64| columns.div_euclid(VECTOR) + i64::from(columns % VECTOR > 0);
        let apart = dilated.iter().map(|d| d.taps.len() as i64).product::<i64>() * vectors(columns);
        let together = dilated.iter().map(|d| d.positions).product::<i64>() * vectors(columns * phases);
        if together >= apart || nest.loops.contains(&0) {
            return None;
        }
        Some(self.join(&dilated))
    }

    fn dilated(&self, dim: usize) -> Option<Dilated> {
        let (nest, d) = (self.nest, &self.dims[dim]);
        let mut moving = (0..nest.loops.len()).filter(|&l| d.positions.loops[l] != 0 && nest.loops[l] > 1);
        let (rows, window) = (moving.next()?, moving.next()?);
        let by = d.positions.loops[rows];
        let fits = moving.next().is_none()
            && self.roles[rows] == Role::Left
            && self.roles[window] == Role::Contracted
            && dialect::ir::gcd(by, d.divisor) == 1
            && nest.loops[rows] % d.divisor == 0;
        // These loops must not read any other dimension.
        let alone = (0..self.dims.len())
            .all(|other| other == dim || [rows, window].iter().all(|&l| self.dims[other].positions.loops[l] == 0));
        if !fits || !alone {
            return None;
        }
        let mut taps = Vec::new();
        for phase in 0..d.divisor {
            for element in 0..nest.loops[window] {
                let at = d.positions.constant + by * phase + d.positions.loops[window] * element;
                if at.rem_euclid(d.divisor) == 0 {
                    taps.push((phase, element, at.div_euclid(d.divisor)));
                }
            }
        }
        let low = taps.iter().map(|t| t.2).min()?;
        let positions = taps.iter().map(|t| t.2).max()? - low + 1;
        Some(Dilated { dim, rows, window, taps, low, positions })
    }

    fn join(&self, dilated: &[Dilated]) -> Joined {
        let nest = self.nest;
        let n = nest.loops.len();
        let rows_of = |l: usize| dilated.iter().find(|d| d.rows == l);
        let window_of = |l: usize| dilated.iter().find(|d| d.window == l);
        let mut out_strides: SmallVec<[isize; 6]> = SmallVec::from_elem(1, nest.parallel);
        for l in (1..nest.parallel).rev() {
            out_strides[l - 1] = out_strides[l] * nest.loops[l] as isize;
        }
        let one = |size: i64| Loop { size: size as usize, left: 0, right: 0, out: 0, guard: None };
        // The loops of the nest, followed by a loop over the phases of each dilated dimension.
        let mut loops: Vec<Loop> = (0..n)
            .map(|l| {
                let size = match (rows_of(l), window_of(l)) {
                    (Some(d), _) => nest.loops[l] / self.dims[d.dim].divisor,
                    (_, Some(d)) => d.positions,
                    _ => nest.loops[l],
                };
                let mut made = one(size);
                if l < nest.parallel {
                    let by = rows_of(l).map_or(1, |d| self.dims[d.dim].divisor);
                    made.out = out_strides[l] * by as isize;
                }
                made
            })
            .collect();
        for d in dilated {
            loops.push(Loop { out: out_strides[d.rows], ..one(self.dims[d.dim].divisor) });
        }
        // The loops of the copy are those of the right tensor: columns innermost, with the phases before them.
        let copied = |role: Role| {
            let these = (0..n).rev().filter(move |&l| self.roles[l] == role);
            these.filter(|&l| window_of(l).is_some() || self.right.loops[l] != 0)
        };
        let order: Vec<usize> = copied(Role::Right)
            .chain((n..loops.len()).rev())
            .chain(copied(Role::Contracted))
            .chain(copied(Role::Batch))
            .collect();
        let mut size = 1;
        for l in order {
            loops[l].right = size as isize;
            size *= loops[l].size;
        }
        let mut parts = vec![(first(&self.right, &vec![0; n]) as isize, 0)];
        for (i, d) in dilated.iter().enumerate() {
            let (window, phases) = (loops[d.window].right, loops[n + i].right);
            let tap = |&(phase, element, at): &(i64, i64, i64)| {
                let from = self.right.loops[d.window] * element;
                (from as isize, window * (at - d.low) as isize + phases * phase as isize)
            };
            parts = parts.iter().flat_map(|p| d.taps.iter().map(tap).map(move |t| (p.0 + t.0, p.1 + t.1))).collect();
        }
        let each = (0..n).filter(|&l| window_of(l).is_none() && self.right.loops[l] != 0);
        let each = each.map(|l| (loops[l].size, self.right.loops[l] as isize, loops[l].right)).collect();
        let copy = Spread { size, parts, loops: each };
        let (guards, start) = self.read_left(dilated, &mut loops);
        let of = |role: Role| -> Vec<Loop> {
            let these = (0..n).filter(|&l| self.roles[l] == role).map(|l| loops[l]);
            these.filter(|l| l.size != 1).collect()
        };
        let columns = loops[n..].iter().copied().chain(of(Role::Right)).filter(|l| l.size != 1).collect();
        let (batch, rows, sum) = (of(Role::Batch), of(Role::Left), of(Role::Contracted));
        let product = Product { batch, rows, columns, sum, guards, start: [start as isize, 0, 0], adds: false };
        Joined { product, copy }
    }

    /// Makes the loops read the left tensor as in a product without dilation. Returns the guards and the first element.
    fn read_left(&self, dilated: &[Dilated], loops: &mut [Loop]) -> (Vec<Guard>, i64) {
        let n = self.nest.loops.len();
        let ranges: Vec<std::ops::Range<i64>> = loops[..n].iter().map(|l| 0..l.size as i64).collect();
        let (mut guards, mut start) = (Vec::new(), 0);
        for (i, dim) in self.dims.iter().enumerate() {
            let mut positions = dim.positions.clone();
            if let Some(d) = dilated.iter().find(|d| d.dim == i) {
                let by = positions.loops[d.rows];
                positions = Affine::constant(d.low, n);
                (positions.loops[d.rows], positions.loops[d.window]) = (by, 1);
            }
            start += positions.constant * dim.stride;
            for (l, &by) in loops.iter_mut().zip(&positions.loops) {
                l.left += (by * dim.stride) as isize;
            }
            let reached = positions.positions(&ranges);
            if reached.first >= dim.low && reached.last < dim.high {
                continue;
            }
            for (l, &by) in loops.iter_mut().zip(&positions.loops).filter(|l| *l.1 != 0) {
                l.guard = Some((guards.len(), by));
            }
            guards.push(Guard { first: positions.constant - dim.low, size: dim.high - dim.low });
        }
        (guards, start)
    }
}
