//! Assigns memory to buffers: memory is reused as soon as its contents are no longer needed.
//!
//! First fit in order of first use: each buffer gets the lowest offset free of live buffers. Buffers needed from start
//! to end are placed below all others, so that placing the others needn't scan them.

use super::liveness::Interval;

/// Every buffer begins at a multiple of this many bytes: a cache line, and the widest vector register.
pub const ALIGNMENT: usize = 64;

/// The offsets of buffers of these sizes and lifetimes, and the total bytes. Lifetimes end at `end` at the latest.
pub fn place(buffers: &[(Interval, usize)], end: u32) -> (Vec<usize>, usize) {
    let mut offsets = vec![0; buffers.len()];
    let mut order: Vec<usize> = (0..buffers.len()).filter(|&i| buffers[i].1 > 0).collect();
    order.sort_by_key(|&i| (buffers[i].0.0, std::cmp::Reverse(buffers[i].1), i));
    let mut base = 0;
    order.retain(|&i| {
        let always = buffers[i].0.0 == 0 && buffers[i].0.1 >= end;
        if always {
            offsets[i] = base;
            base += buffers[i].1.next_multiple_of(ALIGNMENT);
        }
        !always
    });
    // The live buffers: first byte, last byte and last step, sorted by offset.
    let mut live: Vec<(usize, usize, u32)> = Vec::new();
    let mut size = base;
    for i in order {
        let ((first, last), bytes) = buffers[i];
        live.retain(|l| l.2 >= first);
        let bytes = bytes.next_multiple_of(ALIGNMENT);
        let (mut at, mut position) = (base, live.len());
        for (p, &(start, end, _)) in live.iter().enumerate() {
            if start >= at + bytes {
                position = p;
                break;
            }
            at = at.max(end);
        }
        live.insert(position, (at, at + bytes, last));
        offsets[i] = at;
        size = size.max(at + bytes);
    }
    (offsets, size)
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
        let sum: usize = buffers.iter().map(|s| s.1).sum();
        assert!(size < sum / 3, "{size} of {sum}");
    }
}
