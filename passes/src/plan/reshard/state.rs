//! The states of the search for a redistribution, in a few machine words each.

use crate::plan::heuristics::MAX_ATOMS;
use smallvec::SmallVec;

/// At most [`MAX_ATOMS`] atoms of one dimension, major first, in four bits each (its number plus one) from the lowest
/// bits on. They are packed because states are copied, compared and hashed often.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub(super) struct List(u64);

impl List {
    pub(super) fn push(&mut self, atom: u8) {
        if self.len() < MAX_ATOMS {
            self.0 |= u64::from(atom + 1) << (4 * self.len());
        }
    }

    pub(super) fn len(self) -> usize {
        (67 - self.0.leading_zeros() as usize) / 4
    }

    pub(super) fn is_empty(self) -> bool {
        self.0 == 0
    }

    pub(super) fn get(self, at: usize) -> Option<u8> {
        ((self.0 >> (4 * at.min(MAX_ATOMS)) & 15) as u8).checked_sub(1)
    }

    pub(super) fn last(self) -> Option<u8> {
        self.get(self.len().wrapping_sub(1))
    }

    /// Returns the first `len` atoms.
    pub(super) fn head(self, len: usize) -> Self {
        Self(self.0 & ((1 << (4 * len.min(MAX_ATOMS))) - 1))
    }

    /// Returns the atoms after the first `len`.
    pub(super) fn tail(self, len: usize) -> Self {
        Self(self.0 >> (4 * len.min(MAX_ATOMS)))
    }

    pub(super) fn truncate(&mut self, len: usize) {
        *self = self.head(len);
    }

    pub(super) fn pop(&mut self) {
        self.truncate(self.len().saturating_sub(1));
    }

    pub(super) fn starts_with(self, other: Self) -> bool {
        self.head(other.len()) == other
    }

    /// Returns the length of the common prefix.
    pub(super) fn common(self, other: Self) -> usize {
        let differing = (self.0 ^ other.0).trailing_zeros() as usize / 4;
        differing.min(self.len()).min(other.len())
    }

    pub(super) fn iter(self) -> impl Iterator<Item = u8> + Clone {
        let mut rest = self.0;
        std::iter::from_fn(move || {
            let atom = (rest as u8 & 15).checked_sub(1);
            rest >>= 4;
            atom
        })
    }

    pub(super) fn contains(self, atom: u8) -> bool {
        self.iter().any(|a| a == atom)
    }

    /// Returns the set of its atoms.
    pub(super) fn set(self) -> u16 {
        self.iter().fold(0, |set, a| set | 1 << a)
    }

    pub(super) fn extend(&mut self, atoms: impl IntoIterator<Item = u8>) {
        atoms.into_iter().for_each(|a| self.push(a));
    }
}

impl FromIterator<u8> for List {
    fn from_iter<I: IntoIterator<Item = u8>>(atoms: I) -> Self {
        let mut list = Self::default();
        list.extend(atoms);
        list
    }
}

/// The atoms that shard each dimension, and the set of those that are unreduced.
#[derive(PartialEq, Eq, Hash, Debug)]
pub(super) struct State {
    pub(super) dims: SmallVec<[List; 4]>,
    pub(super) unreduced: u16,
}

impl Clone for State {
    fn clone(&self) -> Self {
        Self { dims: SmallVec::from_slice(&self.dims), unreduced: self.unreduced }
    }
}

/// Returns the atoms of a set, in order.
pub(super) fn atoms_of(mut set: u16) -> impl Iterator<Item = u8> {
    std::iter::from_fn(move || {
        let atom = set.trailing_zeros() as u8;
        (set != 0).then(|| {
            set &= set - 1;
            atom
        })
    })
}
