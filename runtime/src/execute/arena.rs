//! Where slots lie: memory reused as soon as a value is dead.
//!
//! First fit in order of first use, each slot below what is still alive at its offset. Slots that live through a loop
//! are alive in all of it, so the order of steps in the text is enough.

use super::step::{ALIGNMENT, SlotData};

/// Gives every slot its offset; the size of the arena in bytes.
pub(super) fn place(slots: &mut [SlotData]) -> usize {
    let mut order: Vec<usize> = (0..slots.len()).filter(|&i| slots[i].bytes > 0).collect();
    order.sort_by_key(|&i| (slots[i].live.0, std::cmp::Reverse(slots[i].bytes), i));
    // Free ranges by offset, and live slots by their end.
    let mut live: Vec<(usize, usize, u32)> = Vec::new();
    let mut size = 0;
    for i in order {
        let (first, last) = slots[i].live;
        live.retain(|l| l.2 >= first);
        let bytes = slots[i].bytes.next_multiple_of(ALIGNMENT);
        let mut at = 0;
        let mut position = live.len();
        for (p, &(start, end, _)) in live.iter().enumerate() {
            if start >= at + bytes {
                position = p;
                break;
            }
            at = at.max(end);
        }
        live.insert(position, (at, at + bytes, last));
        slots[i].offset = at;
        size = size.max(at + bytes);
    }
    size
}

#[cfg(test)]
mod tests {
    use super::*;
    use dialect::ir::{ElementType, Shape};

    #[test]
    fn slots_alive_together_never_overlap() {
        let mut random = fastrand::Rng::with_seed(1);
        let mut slots: Vec<SlotData> = (0..300)
            .map(|_| {
                let first = random.u32(..1000);
                let bytes = random.usize(..5000);
                let live = (first, first + random.u32(..50));
                SlotData { element: ElementType::I8, shape: Shape::new(), bytes, offset: 0, live }
            })
            .collect();
        let size = place(&mut slots);
        for (i, a) in slots.iter().enumerate() {
            assert!(a.offset + a.bytes <= size && a.offset % ALIGNMENT == 0);
            for b in &slots[..i] {
                let together = a.live.0 <= b.live.1 && b.live.0 <= a.live.1 && a.bytes > 0 && b.bytes > 0;
                let apart = a.offset + a.bytes <= b.offset || b.offset + b.bytes <= a.offset;
                assert!(!together || apart, "{a:?} {b:?}");
            }
        }
        let sum: usize = slots.iter().map(|s| s.bytes).sum();
        assert!(size < sum / 4, "{size} of {sum}");
    }
}
