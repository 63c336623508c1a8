//! Loops over the elements of tensors, and their positions.

use smallvec::SmallVec;

/// The maximum number of guarded dimensions of the left tensor.
pub(super) const GUARDS: usize = 4;

/// A loop: its number of positions and its stride in each tensor, in elements.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Loop {
    pub size: usize,
    pub left: isize,
    pub right: isize,
    pub out: isize,
    /// The guarded dimension of the left tensor in which it moves, and its step there.
    pub guard: Option<(usize, i64)>,
}

/// A dimension of the left tensor of which only positions `0..size` exist; others are padding. The loops' first
/// positions are at `first`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Guard {
    pub first: i64,
    pub size: i64,
}

/// A position of some loops.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Place {
    pub left: isize,
    pub right: isize,
    pub out: isize,
    /// Positions in the guarded dimensions.
    pub at: [i64; GUARDS],
}

impl Place {
    pub(super) fn plus(&self, other: &Place) -> Place {
        let at = std::array::from_fn(|i| self.at[i] + other.at[i]);
        Place { left: self.left + other.left, right: self.right + other.right, out: self.out + other.out, at }
    }
}

/// Returns position `index` of all the loops together.
pub(super) fn place(loops: &[Loop], mut index: usize) -> Place {
    let mut place = Place::default();
    for l in loops.iter().rev() {
        let i = index % l.size;
        index /= l.size;
        place.left += l.left * i as isize;
        place.right += l.right * i as isize;
        place.out += l.out * i as isize;
        if let Some((guard, by)) = l.guard {
            place.at[guard] += by * i as i64;
        }
    }
    place
}

/// The positions from `index` on.
pub(super) struct Walk<'l> {
    loops: &'l [Loop],
    at: SmallVec<[usize; 6]>,
    place: Place,
}

impl<'l> Walk<'l> {
    pub(super) fn new(loops: &'l [Loop], index: usize) -> Self {
        let mut rest = index;
        let mut at: SmallVec<[usize; 6]> = SmallVec::from_elem(0, loops.len());
        for (at, l) in at.iter_mut().zip(loops).rev() {
            (*at, rest) = (rest % l.size, rest / l.size);
        }
        Self { loops, at, place: place(loops, index) }
    }

    /// Returns the current position and moves to the next.
    pub(super) fn next(&mut self) -> Place {
        let here = self.place;
        for (at, l) in self.at.iter_mut().zip(self.loops).rev() {
            *at += 1;
            // A loop that ends restarts, and the loop around it advances.
            let back = if *at == l.size { l.size as isize } else { 0 };
            self.place.left += l.left * (1 - back);
            self.place.right += l.right * (1 - back);
            self.place.out += l.out * (1 - back);
            if let Some((guard, by)) = l.guard {
                self.place.at[guard] += by * (1 - back as i64);
            }
            if back == 0 {
                break;
            }
            *at = 0;
        }
        here
    }
}

/// Returns the number of positions of all the loops together.
pub(super) fn count(loops: &[Loop]) -> usize {
    loops.iter().map(|l| l.size).product()
}
