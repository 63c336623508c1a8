//! Typed ids: positions in a table, which the type system prevents from being used with another table; and
//! [`Interner`], the table that gives equal items the same id.
//!
//! Ids are `Copy`, half the size of a pointer, and hash and compare as integers. Tables indexed by ids are [`TiVec`]s,
//! which are vectors except for the index type.

use std::hash::Hash;
use std::marker::PhantomData;
use std::ops::Index;

use indexmap::{Equivalent, IndexSet};
use rustc_hash::FxBuildHasher;
pub use typed_index_collections::{TiSlice, TiVec};

/// Declares a type of ids: 32-bit positions that print with a prefix. With `NONE` after the prefix, the type also has
/// an id for a missing item, for tables in which an `Option` would take twice the space.
#[macro_export]
macro_rules! define_id {
    ($(#[$doc:meta])* $visibility:vis $name:ident, $prefix:literal) => {
        $(#[$doc])*
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        $visibility struct $name(u32);

        #[allow(dead_code, reason = "not every kind of id is used in every way")]
        impl $name {
            /// Returns the id of the item at this position of its table.
            $visibility const fn new(index: usize) -> Self {
                Self(index as u32)
            }

            /// The position in its table.
            $visibility const fn index(self) -> usize {
                self.0 as usize
            }
        }

        impl From<usize> for $name {
            fn from(index: usize) -> Self {
                Self::new(index)
            }
        }

        impl From<$name> for usize {
            fn from(id: $name) -> usize {
                id.index()
            }
        }

        impl std::fmt::Debug for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                write!(f, concat!($prefix, "{}"), self.0)
            }
        }
    };
    ($(#[$doc:meta])* $visibility:vis $name:ident, $prefix:literal, NONE) => {
        $crate::define_id!($(#[$doc])* $visibility $name, $prefix);

        #[allow(dead_code, reason = "not every kind of id is used in every way")]
        impl $name {
            /// The id of a missing item.
            $visibility const NONE: Self = Self(u32::MAX);

            /// Whether it is an id other than `NONE`.
            $visibility const fn is_some(self) -> bool {
                self.0 != u32::MAX
            }
        }
    };
}

/// Items by id; equal items are stored once. Ids count from 0 in order of insertion.
#[derive(Clone)]
pub struct Interner<I, T> {
    set: IndexSet<T, FxBuildHasher>,
    ids: PhantomData<fn() -> I>,
}

impl<I, T: std::fmt::Debug> std::fmt::Debug for Interner<I, T> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.set.fmt(f)
    }
}

impl<I, T> Default for Interner<I, T> {
    fn default() -> Self {
        Self { set: IndexSet::default(), ids: PhantomData }
    }
}

impl<I: From<usize>, T: Hash + Eq> Interner<I, T> {
    /// Returns the id of `item`, which is new if no equal item has one yet.
    pub fn intern(&mut self, item: T) -> I {
        self.set.insert_full(item).0.into()
    }

    /// Returns the id of the item equal to `item`; if there is none, inserts a copy.
    pub fn intern_ref(&mut self, item: &T) -> I
    where
        T: Clone,
    {
        match self.find(item) {
            Some(id) => id,
            None => self.intern(item.clone()),
        }
    }

    /// Returns the id of the item equal to `item`, if there is one.
    pub fn find<Q: Hash + Equivalent<T> + ?Sized>(&self, item: &Q) -> Option<I> {
        self.set.get_index_of(item).map(I::from)
    }

    /// Returns the number of items.
    pub fn count(&self) -> usize {
        self.set.len()
    }

    /// Iterates over all items, in the order of their ids.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = &T> {
        self.set.iter()
    }
}

impl<I: Into<usize>, T> Interner<I, T> {
    /// Returns the item with this id, if there is one.
    pub fn get(&self, id: I) -> Option<&T> {
        self.set.get_index(id.into())
    }
}

impl<I: Into<usize>, T> Index<I> for Interner<I, T> {
    type Output = T;

    fn index(&self, id: I) -> &T {
        &self.set[id.into()]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    define_id!(
        /// A word.
        Word, "word"
    );

    #[test]
    fn equal_things_have_one_id() {
        let mut words: Interner<Word, Box<str>> = Interner::default();
        let (a, b) = (words.intern("a".into()), words.intern("b".into()));
        assert_eq!((a, b, words.intern("a".into())), (Word::new(0), Word::new(1), a));
        assert_eq!((words.find("b"), words.find("c")), (Some(b), None));
        assert_eq!((&*words[b], words.get(Word::new(2)), words.count()), ("b", None, 2));
        assert_eq!(words.intern_ref(&"c".into()), Word::new(2));
        assert_eq!(words.iter().map(|w| &**w).collect::<Vec<_>>(), ["a", "b", "c"]);
        assert_eq!(format!("{a:?}"), "word0");
    }
}
