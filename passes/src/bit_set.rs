//! A set of small numbers: operands of an op, factors of its sharding rule.

use std::ops::{BitAnd, BitOr};

use smallvec::SmallVec;

/// A set of numbers. Numbers below 64 need no allocation; larger ones are possible, too.
#[derive(PartialEq, Eq, Hash, Debug, Default, PartialOrd, Ord)]
pub struct BitSet {
    /// Bit `i % 64` of word `i / 64` is set if the set contains `i`. The last word is not 0, so that equal sets compare
    /// equal.
    words: SmallVec<[u64; 1]>,
}

impl Clone for BitSet {
    fn clone(&self) -> Self {
        Self { words: SmallVec::from_slice(&self.words) }
    }
}

impl BitSet {
    /// Creates a set of one number.
    pub fn of(number: usize) -> Self {
        let mut set = Self::default();
        set.insert(number);
        set
    }

    /// Inserts a number.
    pub fn insert(&mut self, number: usize) {
        let word = number / 64;
        if self.words.len() <= word {
            self.words.resize(word + 1, 0);
        }
        self.words[word] |= 1 << (number % 64);
    }

    /// Returns whether the set contains a number.
    pub fn contains(&self, number: usize) -> bool {
        self.words.get(number / 64).is_some_and(|w| w >> (number % 64) & 1 == 1)
    }

    /// Returns whether the set is empty.
    pub fn is_empty(&self) -> bool {
        self.words.is_empty()
    }

    /// Returns the number of elements.
    pub fn len(&self) -> usize {
        self.words.iter().map(|w| w.count_ones() as usize).sum()
    }

    /// Returns whether the sets have no common number.
    pub fn is_disjoint(&self, other: &Self) -> bool {
        self.words.iter().zip(&other.words).all(|(a, b)| a & b == 0)
    }

    /// Returns the numbers, ascending.
    pub fn iter(&self) -> impl DoubleEndedIterator<Item = usize> {
        self.words.iter().enumerate().flat_map(|(i, &word)| Bits(word).map(move |bit| i * 64 + bit))
    }
}

/// The bits of a word that are set, ascending.
struct Bits(u64);

impl Iterator for Bits {
    type Item = usize;

    fn next(&mut self) -> Option<usize> {
        let bit = self.0.trailing_zeros();
        (bit < 64).then(|| {
            self.0 &= self.0 - 1;
            bit as usize
        })
    }
}

impl DoubleEndedIterator for Bits {
    fn next_back(&mut self) -> Option<usize> {
        let bit = self.0.checked_ilog2()?;
        self.0 ^= 1 << bit;
        Some(bit as usize)
    }
}

impl FromIterator<usize> for BitSet {
    fn from_iter<I: IntoIterator<Item = usize>>(numbers: I) -> Self {
        let mut set = Self::default();
        numbers.into_iter().for_each(|n| set.insert(n));
        set
    }
}

impl BitOr for &BitSet {
    type Output = BitSet;

    fn bitor(self, other: &BitSet) -> BitSet {
        let (mut longer, shorter) =
            if self.words.len() < other.words.len() { (other.clone(), self) } else { (self.clone(), other) };
        longer.words.iter_mut().zip(&shorter.words).for_each(|(a, b)| *a |= b);
        longer
    }
}

impl BitAnd for &BitSet {
    type Output = BitSet;

    fn bitand(self, other: &BitSet) -> BitSet {
        let mut words: SmallVec<[u64; 1]> = self.words.iter().zip(&other.words).map(|(a, b)| a & b).collect();
        while words.last() == Some(&0) {
            words.pop();
        }
        BitSet { words }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn it_is_a_set_of_numbers() {
        let mut random = fastrand::Rng::with_seed(3);
        for _ in 0..300 {
            let limit = [3, 64, 65, 200][random.usize(..4)];
            let mut draw = || (0..random.usize(..6)).map(|_| random.usize(..limit)).collect::<Vec<_>>();
            let (a, b) = (draw(), draw());
            let sets = [&a, &b].map(|list| list.iter().copied().collect::<BitSet>());
            let models = [&a, &b].map(|list| list.iter().copied().collect::<BTreeSet<usize>>());
            let list = |set: &BitSet| set.iter().collect::<Vec<_>>();
            let same = |set: &BitSet, model: BTreeSet<usize>| {
                assert_eq!(list(set), model.iter().copied().collect::<Vec<_>>());
                assert_eq!(set.iter().rev().collect::<Vec<_>>(), model.iter().rev().copied().collect::<Vec<_>>());
                assert_eq!((set.len(), set.is_empty()), (model.len(), model.is_empty()));
                assert!((0..limit + 70).all(|n| set.contains(n) == model.contains(&n)));
                assert_eq!(*set, model.into_iter().collect::<BitSet>());
            };
            let ([x, y], [m, n]) = (&sets, &models);
            same(x, m.clone());
            same(&(x | y), m | n);
            same(&(x & y), m & n);
            assert_eq!(x.is_disjoint(y), m.is_disjoint(n));
        }
    }
}
