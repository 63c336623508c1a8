//! Assigns memory to buffers: memory is reused as soon as its contents are no longer needed.
//!
//! First fit in order of first use: each buffer gets the lowest offset that is free of live buffers. Small buffers with
//! long lifetimes may then occupy space that large ones need later. So placement is also tried with large buffers
//! placed first, the largest before the others (as in Y. Pisarchyk and J. Lee, "Efficient memory management for deep
//! neural net inference", 2020), and the result that takes the least memory is used. Buffers needed from start to end
//! are placed below all others, so that placing the others needn't scan them.

use std::cmp::Reverse;

use super::liveness::Interval;

/// The alignment of every buffer in bytes: a cache line, and the widest vector register.
pub const ALIGNMENT: usize = 64;

/// The thresholds for large buffers: a buffer is large if it has at least 1/N of the bytes that are live at once.
const LARGE: [usize; 3] = [4, 16, 64];
/// The largest number of buffers that are placed before the others.
const MOST_LARGE: usize = 256;

/// Returns the offsets of buffers of these lifetimes and sizes, and the total bytes. Lifetimes end at `end` at the
/// latest.
pub fn place(buffers: &[(Interval, usize)], end: u32) -> (Vec<usize>, usize) {
    let mut offsets = vec![0; buffers.len()];
    let mut order: Vec<usize> = (0..buffers.len()).filter(|&i| buffers[i].1 > 0).collect();
    order.sort_by_key(|&i| (buffers[i].0.0, Reverse(buffers[i].1), i));
    let mut base = 0;
    order.retain(|&i| {
        let always = buffers[i].0.0 == 0 && buffers[i].0.1 >= end;
        if always {
            offsets[i] = base;
            base += buffers[i].1.next_multiple_of(ALIGNMENT);
        }
        !always
    });
    let placed = |i: usize, start: usize| {
        let ((first, last), bytes) = buffers[i];
        Placed { start, end: start + bytes.next_multiple_of(ALIGNMENT), first, last }
    };
    let needed = live_at_once(&order, placed);
    let mut best = fit(&[], &order, base, placed);
    for share in LARGE {
        if best.1 <= base + needed {
            break;
        }
        let is_large = |i: &usize| buffers[*i].1 * share >= needed;
        let mut large: Vec<usize> = order.iter().copied().filter(is_large).collect();
        large.sort_by_key(|&i| Reverse(buffers[i].1));
        large.truncate(MOST_LARGE);
        let found = fit(&large, &order, base, placed);
        if found.1 < best.1 {
            best = found;
        }
    }
    for (i, offset) in best.0 {
        offsets[i] = offset;
    }
    (offsets, best.1)
}

/// The position of a buffer in memory, and its first and last step.
#[derive(Clone, Copy)]
struct Placed {
    start: usize,
    end: usize,
    first: u32,
    last: u32,
}

/// Returns the largest number of bytes that are live at once.
fn live_at_once(order: &[usize], placed: impl Fn(usize, usize) -> Placed) -> usize {
    let mut changes: Vec<(u32, bool, usize)> = Vec::with_capacity(2 * order.len());
    for &i in order {
        let Placed { end, first, last, .. } = placed(i, 0);
        // A buffer is still live in its last step.
        changes.extend([(first, false, end), (last, true, end)]);
    }
    changes.sort_unstable();
    let (mut live, mut most) = (0, 0);
    for (_, ends, bytes) in changes {
        live = if ends { live - bytes } else { live + bytes };
        most = most.max(live);
    }
    most
}

/// Gives each buffer the lowest offset that is free of other buffers during its lifetime: first those of `large`, then
/// the rest of `order`, which is in order of first use. Returns their offsets and the total bytes.
fn fit(
    large: &[usize],
    order: &[usize],
    base: usize,
    placed: impl Fn(usize, usize) -> Placed,
) -> (Vec<(usize, usize)>, usize) {
    let mut offsets: Vec<(usize, usize)> = Vec::with_capacity(order.len());
    let mut size = base;
    // Both sorted by offset: the buffers of `large`, and those of the others that are live.
    let (mut before, mut live): (Vec<Placed>, Vec<Placed>) = (Vec::with_capacity(large.len()), Vec::new());
    for &i in large {
        let new = lowest(&before, &[], base, placed(i, 0));
        before.insert(before.partition_point(|p| p.start <= new.start), new);
        offsets.push((i, new.start));
        size = size.max(new.end);
    }
    let mut is_large = vec![false; order.iter().max().map_or(0, |i| i + 1)];
    large.iter().for_each(|&i| is_large[i] = true);
    for &i in order.iter().filter(|&&i| !is_large[i]) {
        let new = placed(i, 0);
        live.retain(|l| l.last >= new.first);
        let new = lowest(&before, &live, base, new);
        live.insert(live.partition_point(|p| p.start <= new.start), new);
        offsets.push((i, new.start));
        size = size.max(new.end);
    }
    (offsets, size)
}

/// Places the buffer at the lowest offset where it overlaps no buffer that is live at the same time; both lists are
/// sorted by offset.
fn lowest(before: &[Placed], live: &[Placed], base: usize, new: Placed) -> Placed {
    let bytes = new.end - new.start;
    let mut at = base;
    let mut before = before.iter().filter(|p| p.first <= new.last && new.first <= p.last).peekable();
    let mut live = live.iter().peekable();
    loop {
        let next = match (before.peek(), live.peek()) {
            (Some(a), Some(b)) if a.start <= b.start => before.next(),
            (Some(_), None) => before.next(),
            _ => live.next(),
        };
        match next {
            Some(p) if p.start < at + bytes => at = at.max(p.end),
            _ => return Placed { start: at, end: at + bytes, ..new },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn buffers_alive_together_never_overlap() {
        let mut random = fastrand::Rng::with_seed(1);
        let buffers: Vec<(Interval, usize)> = (0..300)
            .map(|i| {
                let first = random.u32(..1000);
                let last = first + random.u32(..50);
                (if i % 30 == 0 { (0, 1050) } else { (first, last) }, random.usize(..5000))
            })
            .collect();
        let (offsets, size) = place(&buffers, 1050);
        for (i, (a, bytes)) in buffers.iter().enumerate() {
            assert!(offsets[i] + bytes <= size && offsets[i] % ALIGNMENT == 0);
            for (j, (b, others)) in buffers[..i].iter().enumerate() {
                let together = a.0 <= b.1 && b.0 <= a.1 && *bytes > 0 && *others > 0;
                let apart = offsets[i] + bytes <= offsets[j] || offsets[j] + others <= offsets[i];
                assert!(!together || apart, "{a:?} {b:?}");
            }
        }
        let needed = (0..=1050).map(|step| {
            let live = buffers.iter().filter(|b| b.0.0 <= step && step <= b.0.1);
            live.map(|b| b.1.next_multiple_of(ALIGNMENT)).sum::<usize>()
        });
        let needed = needed.max().unwrap();
        assert!(size >= needed && size < needed * 11 / 10, "{size} for {needed}");
    }

    #[test]
    fn large_buffers_fit_where_small_ones_would_be_in_the_way() {
        // In order of use the small buffer in the middle is placed after the first large one, where the second large
        // one would fit.
        let buffers = [((0, 2), 1000 * ALIGNMENT), ((1, 9), ALIGNMENT), ((3, 9), 1001 * ALIGNMENT)];
        let (offsets, size) = place(&buffers, 10);
        assert_eq!((offsets, size), (vec![0, 1001 * ALIGNMENT, 0], 1002 * ALIGNMENT));
    }
}
