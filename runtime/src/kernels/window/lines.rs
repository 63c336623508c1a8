//! Windows and scans along one dimension of a tensor that is viewed as `outer x size x inner`.

use super::cells::{Cell, Combine};

/// Functions that are also compiled for processors with wider vectors.
macro_rules! vector {
    ($($(#[$doc:meta])* fn $name:ident<$($g:ident: $b:path),*>($($a:ident: $t:ty),*) $(-> $r:ty)? $code:block)*) => {$(
        $(#[$doc])*
        fn $name<$($g: $b),*>($($a: $t),*) $(-> $r)? {
            #[cfg(target_arch = "x86_64")]
            {
                #[target_feature(enable = "avx2")]
                fn avx2<$($g: $b),*>($($a: $t),*) $(-> $r)? $code
                if is_x86_feature_detected!("avx2") {
                    #[allow(unsafe_code, reason = "the processor has the instructions")]
                    // SAFETY: `is_x86_feature_detected!` has just found AVX2 on this processor.
                    return unsafe { avx2::<$($g),*>($($a),*) };
                }
            }
            $code
        }
    )*};
}

/// A window that slides along a dimension: window `i` reads `i * stride + k * dilation - low` for `k` below `size`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Slide {
    pub size: i64,
    pub stride: i64,
    pub dilation: i64,
    pub low: i64,
}

impl Slide {
    /// Returns the elements among `0..elements` that these windows read.
    pub(super) fn reach(&self, windows: std::ops::Range<usize>, elements: usize) -> std::ops::Range<usize> {
        let first = windows.start as i64 * self.stride - self.low;
        let last = (windows.end as i64 - 1) * self.stride + (self.size - 1) * self.dilation - self.low;
        let inside = |at: i64| at.clamp(0, elements as i64) as usize;
        inside(first)..inside(last + 1).max(inside(first))
    }
}

/// The number of elements that are combined while they are in the nearest cache.
const NEAR: usize = 1 << 11;

/// Combines rows of elements, the second into the first.
#[derive(Clone, Copy)]
pub(super) struct Rows<C> {
    /// Combines rows of the same length.
    pub dense: fn(&mut [C], &[C]),
    /// Combines each element with the first of the given number of elements.
    pub strided: fn(&mut [C], &[C], usize),
}

impl<C: Cell> Rows<C> {
    pub(super) fn of<O: Combine<C>>() -> Self {
        Self { dense: dense::<C, O>, strided: strided::<C, O> }
    }
}

vector! {
    fn dense<C: Cell, O: Combine<C>>(to: &mut [C], from: &[C]) {
        to.iter_mut().zip(from).for_each(|(to, &x)| *to = O::apply(*to, x))
    }

    fn strided<C: Cell, O: Combine<C>>(to: &mut [C], from: &[C], stride: usize) {
        to.iter_mut().zip(from.iter().step_by(stride)).for_each(|(to, &x)| *to = O::apply(*to, x))
    }
}

/// The elements `elements` of each line, each consisting of `inner` cells.
pub(super) struct Lines<'a, C> {
    pub(super) cells: &'a [C],
    pub(super) elements: std::ops::Range<usize>,
    pub(super) inner: usize,
}

/// Combines the elements under windows `windows`.
pub(super) fn slide<C: Cell>(
    combine: Rows<C>,
    slide: &Slide,
    from: Lines<'_, C>,
    to: &mut [C],
    windows: std::ops::Range<usize>,
    init: C,
) {
    let Lines { cells, elements, inner } = from;
    let (rows, count) = (elements.len(), windows.len());
    if count * inner == 0 {
        return;
    }
    to.fill(init);
    let lines = cells.chunks_exact((rows * inner).max(1));
    for (line, to) in lines.zip(to.chunks_exact_mut(count * inner)) {
        // If rows are short, one position of many windows is combined at a time.
        let some = if inner >= 64 { 1 } else { NEAR.div_ceil(inner) };
        for begin in (0..count).step_by(some) {
            let end = (begin + some).min(count);
            for k in 0..slide.size {
                // Window `i` reads element `i * stride + at` of the line.
                let at = windows.start as i64 * slide.stride + k * slide.dilation - slide.low - elements.start as i64;
                let (first, last) = (-at, rows as i64 - 1 - at);
                let first = (-(-first).div_euclid(slide.stride)).max(begin as i64) as usize;
                let end = (last.div_euclid(slide.stride) + 1).clamp(0, end as i64) as usize;
                if first >= end {
                    continue;
                }
                let place = |i: usize| (i as i64 * slide.stride + at) as usize * inner;
                if slide.stride == 1 || end == first + 1 {
                    let read = &line[place(first)..place(first) + (end - first) * inner];
                    (combine.dense)(&mut to[first * inner..end * inner], read);
                } else if inner == 1 {
                    (combine.strided)(&mut to[first..end], &line[place(first)..], slide.stride as usize);
                } else {
                    for i in first..end {
                        (combine.dense)(&mut to[i * inner..(i + 1) * inner], &line[place(i)..place(i) + inner]);
                    }
                }
            }
        }
    }
}

/// The number of elements of a line that one task scans.
pub(super) const BLOCK: usize = 1 << 14;

/// The number of chains in which a block is scanned, so that an addition needn't wait for the previous one.
const CHAINS: usize = 4;

/// The number of elements of a chain.
const PART: usize = BLOCK / CHAINS;

/// A running value. That of a sum has a wider type, and is rounded when it is stored.
trait Running<C: Cell>: Copy + Send + Sync {
    type Value: Copy + Send + Sync;
    fn start(init: C) -> Self::Value;
    fn next(value: Self::Value, x: C) -> Self::Value;
    fn join(a: Self::Value, b: Self::Value) -> Self::Value;
    fn store(value: Self::Value) -> C;
}

/// Sums, in [`Cell::Sum`].
#[derive(Clone, Copy)]
struct Sums;

impl<C: Cell> Running<C> for Sums {
    type Value = C::Sum;
    #[inline(always)]
    fn start(init: C) -> C::Sum {
        init.to_sum()
    }
    #[inline(always)]
    fn next(value: C::Sum, x: C) -> C::Sum {
        C::add_sums(value, x.to_sum())
    }
    #[inline(always)]
    fn join(a: C::Sum, b: C::Sum) -> C::Sum {
        C::add_sums(a, b)
    }
    #[inline(always)]
    fn store(value: C::Sum) -> C {
        C::of_sum(value)
    }
}

/// Any other operation, in the elements' type.
#[derive(Clone, Copy)]
struct Others<O>(O);

impl<C: Cell, O: Combine<C>> Running<C> for Others<O> {
    type Value = C;
    #[inline(always)]
    fn start(init: C) -> C {
        init
    }
    #[inline(always)]
    fn next(value: C, x: C) -> C {
        O::apply(value, x)
    }
    #[inline(always)]
    fn join(a: C, b: C) -> C {
        O::apply(a, b)
    }
    #[inline(always)]
    fn store(value: C) -> C {
        value
    }
}

/// Returns the total of a block, beginning with the initial value.
type Total<C, V> = fn(&[C], C) -> V;

/// Scans a block, and returns the value before the next block.
type ScanBlock<C, V> = fn(&[C], &mut [C], V, C, bool) -> V;

/// The functions that scan elements, with running values of type `V`.
pub(super) struct Scan<C, V> {
    pub start: fn(C) -> V,
    pub join: fn(V, V) -> V,
    /// Scans a line, from its end if the flag is set: `to[i]` combines the value before with everything up to
    /// `from[i]`.
    pub line: fn(&[C], &mut [C], V, bool),
    /// Scans one row of lines that are next to each other.
    pub row: fn(&[C], &mut [C], &mut [V]),
    /// Present if parts can be joined.
    pub blocks: Option<(Total<C, V>, ScanBlock<C, V>)>,
}

impl<C: Cell> Scan<C, C> {
    pub(super) fn of<O: Combine<C>>() -> Self {
        type R<O> = Others<O>;
        Self {
            start: <R<O> as Running<C>>::start,
            join: <R<O> as Running<C>>::join,
            line: line::<C, R<O>>,
            row: row::<C, R<O>>,
            blocks: None,
        }
    }
}

impl<C: Cell> Scan<C, C::Sum> {
    /// Returns the functions for sums, which are the same in any order or are kept in a wider type.
    pub(super) fn sums() -> Self {
        Self {
            start: <Sums as Running<C>>::start,
            join: <Sums as Running<C>>::join,
            line: line::<C, Sums>,
            row: row::<C, Sums>,
            blocks: Some((block_total::<C, Sums>, block::<C, Sums>)),
        }
    }
}

fn line<C: Cell, R: Running<C>>(from: &[C], to: &mut [C], before: R::Value, backward: bool) {
    let mut value = before;
    let mut step = |to: &mut C, x: C| {
        value = R::next(value, x);
        *to = R::store(value);
    };
    match backward {
        false => to.iter_mut().zip(from).for_each(|(to, &x)| step(to, x)),
        true => to.iter_mut().zip(from).rev().for_each(|(to, &x)| step(to, x)),
    }
}

/// Combines everything in `from`, beginning with `init`: first in lanes, then the lanes in order.
#[inline(always)]
fn total<C: Cell, R: Running<C>>(from: &[C], init: C) -> R::Value {
    let mut lanes = [R::start(init); 16];
    let chunks = from.chunks_exact(16);
    let rest = chunks.remainder();
    for chunk in chunks {
        for i in 0..16 {
            lanes[i] = R::next(lanes[i], chunk[i]);
        }
    }
    let all = lanes.into_iter().reduce(R::join).unwrap_or(R::start(init));
    rest.iter().fold(all, |all, &x| R::next(all, x))
}

vector! {
    fn row<C: Cell, R: Running<C>>(from: &[C], to: &mut [C], values: &mut [R::Value]) {
        for ((&x, to), value) in from.iter().zip(to).zip(values) {
            *value = R::next(*value, x);
            *to = R::store(*value);
        }
    }

    fn block_total<C: Cell, R: Running<C>>(from: &[C], init: C) -> R::Value {
        if from.len() != BLOCK {
            return total::<C, R>(from, init);
        }
        let [a, b, c, d] = [0, 1, 2, 3].map(|part| total::<C, R>(&from[part * PART..(part + 1) * PART], init));
        R::join(R::join(R::join(a, b), c), d)
    }

    // Scans several chains at once, after computing the totals of their parts.
    fn block<C: Cell, R: Running<C>>(from: &[C], to: &mut [C], before: R::Value, init: C, backward: bool) -> R::Value {
        if from.len() != BLOCK {
            line::<C, R>(from, to, before, backward);
            return R::join(before, total::<C, R>(from, init));
        }
        let totals: [R::Value; CHAINS] =
            [0, 1, 2, 3].map(|part| total::<C, R>(&from[part * PART..(part + 1) * PART], init));
        let mut values = [before; CHAINS];
        for chain in 1..CHAINS {
            let last = if backward { CHAINS - chain } else { chain - 1 };
            values[chain] = R::join(values[chain - 1], totals[last]);
        }
        for i in 0..PART {
            for (chain, value) in values.iter_mut().enumerate() {
                let at = if backward { (CHAINS - chain) * PART - 1 - i } else { chain * PART + i };
                *value = R::next(*value, from[at]);
                to[at] = R::store(*value);
            }
        }
        let [a, b, c, d] = totals;
        R::join(before, R::join(R::join(R::join(a, b), c), d))
    }
}
