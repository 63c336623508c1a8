//! Converts a nest into products over windows: groups become separate loops, and dilated tensors are read in phases,
//! each of which reads every element in its range.

use dialect::ir::gcd;
use dialect::kernel::{Affine, Contraction, Guard as NestGuard, Index, Input, Nest, Outside, Role};
use smallvec::SmallVec;

use super::join::Joined;
use super::loops::{GUARDS, Guard, Loop};
use super::product::Product;

/// A dimension of the left tensor. The element at `positions / divisor` is read if that is an integer in `low..high`.
pub(super) struct Dim {
    pub positions: Affine,
    pub divisor: i64,
    pub low: i64,
    pub high: i64,
    pub stride: i64,
}

/// The products that a nest computes.
pub(super) struct Problem {
    /// The number of the input that is the left tensor.
    pub left: usize,
    /// The products, one for each part of the result and of the sum, in order.
    pub products: Vec<Product>,
    /// One product that replaces all others, if that is faster. It is only valid if all values that meet the zeros of
    /// its copy are finite.
    pub joined: Option<Joined>,
}

/// Returns the products of the nest, whose inputs have these `shapes`; `None` if it isn't a product over windows.
pub(super) fn of(nest: &Nest, shapes: [&[i64]; 2]) -> Option<Problem> {
    let nest = &split(nest);
    let contraction = Contraction::of(nest)?;
    let ranges = nest.ranges();
    let plain = |i: &Input| i.guards.is_empty() && i.index.iter().all(|x| Affine::of(x, &ranges).is_affine());
    // The left tensor is the one that is read through windows.
    let windowed = |i: usize| contraction.windows.iter().any(|w| w.input == i);
    let left = match (plain(&nest.inputs[0]), plain(&nest.inputs[1])) {
        (_, true) if !windowed(1) || windowed(0) => 0,
        (true, _) => 1,
        (false, true) => 0,
        (false, false) => return None,
    };
    if !nest.inputs[left].outside.as_ref().is_none_or(|o| matches!(o, Outside::Const(c) if c.is_zero())) {
        return None;
    }
    let dims = dims(&nest.inputs[left], shapes[left], nest)?;
    let right = Affine::offset(&nest.inputs[1 - left].index, shapes[1 - left], &ranges);
    if !right.is_affine() {
        return None;
    }
    let roles = contraction.roles.iter().map(|&role| match (role, left) {
        (Role::Left, 1) => Role::Right,
        (Role::Right, 1) => Role::Left,
        (role, _) => role,
    });
    let whole = Whole { nest, roles: roles.collect(), dims, right };
    let products = whole.phases()?;
    let joined = whole.joined().filter(|j| j.product.guards.len() <= GUARDS);
    Some(Problem { left, products, joined })
}

/// Splits a loop into two if an input is read at its quotient. For example, the loop over all features of a grouped
/// convolution becomes a loop over groups and a loop over the features of a group.
fn split(nest: &Nest) -> Nest {
    let mut nest = nest.clone();
    while let Some((l, by)) = quotient(&nest) {
        let place = |x: usize| match x {
            x if x == l => Index::Loop(l).times(by).plus(Index::Loop(l + 1)),
            x if x > l => Index::Loop(x + 1),
            x => Index::Loop(x),
        };
        for input in &mut nest.inputs {
            let all = input.index.iter_mut().chain(input.guards.iter_mut().map(|g| &mut g.index));
            for index in all {
                *index = index.substitute(&mut { place }, &mut |operand| operand);
            }
        }
        nest.loops[l] /= by;
        nest.loops.insert(l + 1, by);
        nest.parallel += usize::from(l < nest.parallel);
        // Indices are rewritten in affine form, so that quotients of the new loops are simplified to these loops.
        let ranges = nest.ranges();
        for index in nest.inputs.iter_mut().flat_map(|i| &mut i.index) {
            let affine = Affine::of(index, &ranges);
            if affine.is_affine() {
                *index = affine.to_index();
            }
        }
    }
    nest
}

/// Returns a loop whose quotient is an index of an input, and the divisor, which divides the loop's size.
fn quotient(nest: &Nest) -> Option<(usize, i64)> {
    let ranges = nest.ranges();
    let mut found = None;
    for index in nest.inputs.iter().flat_map(|i| &i.index) {
        if Affine::of(index, &ranges).is_affine() {
            continue;
        }
        index.visit(&mut |i| {
            if let Index::FloorDiv(at, by) = i
                && let Index::Loop(l) = **at
                && nest.loops[l] % by == 0
                && nest.loops[l] > *by
            {
                found = Some((l, *by));
            }
            true
        });
    }
    found
}

/// Returns the dimensions of the left tensor.
fn dims(input: &Input, shape: &[i64], nest: &Nest) -> Option<Vec<Dim>> {
    let ranges = nest.ranges();
    let mut dims = Vec::new();
    let mut stride = 1;
    // A guard that always holds has no effect. Other guards must be explained by a dimension below.
    let mut known: Vec<bool> = input
        .guards
        .iter()
        .map(|g| {
            let positions = g.index.positions(&ranges);
            positions.first >= g.lo && positions.last < g.hi
        })
        .collect();
    for (index, &size) in input.index.iter().zip(shape).rev() {
        // If only quotients without remainder are read, the index before the division determines them.
        let whole = input.guards.iter().position(|g| is_remainder(g, index));
        let (at, divisor) = match (index, whole) {
            (Index::FloorDiv(at, by), Some(guard)) => {
                known[guard] = true;
                (Affine::of(at, &ranges), *by)
            }
            _ => (Affine::of(index, &ranges), 1),
        };
        if !at.is_affine() {
            return None;
        }
        let mut dim = Dim { positions: at, divisor, low: i64::MIN, high: i64::MAX, stride };
        for (guard, known) in input.guards.iter().zip(&mut known).filter(|g| g.0.index == *index) {
            (dim.low, dim.high) = (dim.low.max(guard.lo), dim.high.min(guard.hi));
            *known = true;
        }
        dims.push(dim);
        stride *= size;
    }
    known.iter().all(|&k| k).then_some(dims)
}

/// Returns whether the guard requires that the quotient has no remainder.
fn is_remainder(guard: &NestGuard, index: &Index) -> bool {
    match (&guard.index, index) {
        (Index::Mod(a, by), Index::FloorDiv(b, divisor)) => a == b && by == divisor && (guard.lo, guard.hi) == (0, 1),
        _ => false,
    }
}

/// A nest as a product whose left tensor is read through windows.
pub(super) struct Whole<'n> {
    pub nest: &'n Nest,
    /// The role of each loop.
    pub roles: Vec<Role>,
    /// The dimensions of the left tensor, the last one first.
    pub dims: Vec<Dim>,
    /// The offset of the element that is read of the right tensor.
    pub right: Affine,
}

impl Whole<'_> {
    /// Returns the products of all phases. A loop of which a dilated dimension reads only every `period`th position is
    /// split into `period` loops. Combinations of these that read no elements are dropped.
    fn phases(&self) -> Option<Vec<Product>> {
        let nest = self.nest;
        let mut periods: SmallVec<[i64; 6]> = SmallVec::from_elem(1, nest.loops.len());
        let mut moved: SmallVec<[usize; 6]> = SmallVec::from_elem(0, nest.loops.len());
        for dim in &self.dims {
            for (l, &by) in dim.positions.loops.iter().enumerate().filter(|l| *l.1 != 0) {
                periods[l] = dim.divisor / gcd(by, dim.divisor);
                moved[l] += 1;
            }
        }
        // On a diagonal, one loop moves in two dimensions.
        let diagonal = self.dims.iter().any(|d| {
            let loops = d.positions.loops.iter().enumerate().filter(|l| *l.1 != 0);
            (d.divisor > 1 || d.low > i64::MIN) && loops.clone().any(|(l, _)| moved[l] > 1)
        });
        let all = periods.iter().product::<i64>();
        if diagonal || all > 4096 {
            return None;
        }
        let mut found: Vec<Product> = Vec::new();
        let parallel: i64 = periods[..nest.parallel].iter().product();
        let inner = all / parallel;
        for phase in 0..parallel {
            let mut adds = false;
            let mut last = None;
            for inner in 0..inner {
                let shift = self.shifts(&periods, phase, inner);
                let exists = (0..nest.loops.len()).all(|l| shift[l] < nest.loops[l].max(1));
                let mut product = self.product(&periods, &shift)?;
                let reads = exists && self.reads(&shift);
                product.adds = adds;
                if reads {
                    found.push(product);
                    adds = true;
                } else if shift[..nest.parallel].iter().zip(&nest.loops).all(|(s, n)| s < n) {
                    last = Some(product);
                }
            }
            // This part of the result reads no elements, so it is zero.
            if !adds && let Some(mut nothing) = last {
                nothing.sum = vec![Loop { size: 0, left: 0, right: 0, out: 0, guard: None }];
                found.push(nothing);
            }
        }
        Some(found)
    }

    /// Returns the remainder of each loop in this phase.
    fn shifts(&self, periods: &[i64], mut phase: i64, mut inner: i64) -> SmallVec<[i64; 6]> {
        let mut digit = |l: usize| {
            let rest = if l < self.nest.parallel { &mut phase } else { &mut inner };
            let digit = *rest % periods[l];
            *rest /= periods[l];
            digit
        };
        (0..periods.len()).map(&mut digit).collect()
    }

    /// Returns whether positions are whole numbers of elements in this phase.
    fn reads(&self, shift: &[i64]) -> bool {
        self.dims.iter().all(|d| first(&d.positions, shift).rem_euclid(d.divisor) == 0)
    }

    fn product(&self, periods: &[i64], shift: &[i64]) -> Option<Product> {
        let nest = self.nest;
        let n = nest.loops.len();
        let sizes: Vec<i64> = (0..n).map(|l| (nest.loops[l] - shift[l] + periods[l] - 1).max(0) / periods[l]).collect();
        let ranges: Vec<std::ops::Range<i64>> = sizes.iter().map(|&n| 0..n).collect();
        let mut loops: Vec<Loop> = Vec::new();
        let mut out = 1;
        for l in (0..n).rev() {
            let mut made = Loop { size: sizes[l] as usize, left: 0, right: 0, out: 0, guard: None };
            made.right = (self.right.loops[l] * periods[l]) as isize;
            if l < nest.parallel {
                made.out = (out * periods[l]) as isize;
                out *= nest.loops[l];
            }
            loops.push(made);
        }
        loops.reverse();
        let mut guards = Vec::new();
        let mut start = [0, first(&self.right, shift) as isize, 0];
        for dim in &self.dims {
            let by = |l: usize| dim.positions.loops[l] * periods[l] / dim.divisor;
            let begin = first(&dim.positions, shift).div_euclid(dim.divisor);
            let mut positions = Affine::constant(begin, n);
            for (l, made) in loops.iter_mut().enumerate() {
                positions.loops[l] = by(l);
                made.left += (by(l) * dim.stride) as isize;
            }
            start[0] += (begin * dim.stride) as isize;
            let reached = positions.positions(&ranges);
            if reached.first >= dim.low && reached.last < dim.high {
                continue;
            }
            for (l, made) in loops.iter_mut().enumerate().filter(|(l, _)| by(*l) != 0) {
                made.guard = Some((guards.len(), by(l)));
            }
            guards.push(Guard { first: begin - dim.low, size: dim.high - dim.low });
        }
        if guards.len() > GUARDS {
            return None;
        }
        start[2] = (0..nest.parallel).map(|l| loops[l].out * shift[l] as isize / periods[l] as isize).sum();
        let of = |role: Role| -> Vec<Loop> {
            let these = self.roles.iter().zip(&loops).filter(|r| *r.0 == role);
            these.map(|r| *r.1).filter(|l| l.size != 1).collect()
        };
        let (batch, rows, columns, sum) = (of(Role::Batch), of(Role::Left), of(Role::Right), of(Role::Contracted));
        Some(Product { batch, rows, columns, sum, guards, start, adds: false })
    }
}

/// Returns the position of the loops' first iterations.
pub(super) fn first(positions: &Affine, shift: &[i64]) -> i64 {
    positions.constant + positions.loops.iter().zip(shift).map(|(c, s)| c * s).sum::<i64>()
}
