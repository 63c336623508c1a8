//! How a value differs between devices: which devices certainly hold equal values, and the values where they are known.
//!
//! Equal spreads share one number, and joins are cached, so that a long program costs little more than a lookup per op
//! on any number of devices.

use std::rc::Rc;

use indexmap::IndexSet;
use rustc_hash::{FxBuildHasher, FxHashMap};

/// A spread of a [`Spreads`].
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(super) struct Spread(u32);

impl Spread {
    /// The spread of a value that has not been computed yet.
    pub(super) const UNSEEN: Self = Self(u32::MAX);
    /// All devices hold the same value.
    pub(super) const UNIFORM: Self = Self(0);
    /// Each device may hold a different value.
    pub(super) const ANY: Self = Self(1);
}

#[derive(Clone, PartialEq, Eq, Hash)]
struct SpreadData {
    /// For each device the number of its class: devices of one class hold equal values.
    classes: Rc<[u32]>,
    /// For each class its value, where all are known.
    values: Option<Rc<[i64]>>,
}

/// All spreads of a program over its devices.
pub(super) struct Spreads {
    all: IndexSet<SpreadData, FxBuildHasher>,
    joined: FxHashMap<(Spread, Spread), Spread>,
    constants: FxHashMap<i64, Spread>,
}

impl Spreads {
    /// Creates the spreads of values on `devices` devices.
    pub(super) fn new(devices: usize) -> Self {
        debug_assert!(devices > 1, "one device differs from none");
        let mut spreads =
            Self { all: IndexSet::default(), joined: FxHashMap::default(), constants: FxHashMap::default() };
        spreads.intern(vec![0; devices].into(), None);
        spreads.intern((0..devices as u32).collect(), None);
        spreads
    }

    fn intern(&mut self, classes: Rc<[u32]>, values: Option<Rc<[i64]>>) -> Spread {
        Spread(self.all.insert_full(SpreadData { classes, values }).0 as u32)
    }

    fn data(&self, spread: Spread) -> &SpreadData {
        let at = if spread == Spread::UNSEEN { 0 } else { spread.0 as usize };
        &self.all[at]
    }

    /// Returns for each device the number of its class.
    pub(super) fn classes(&self, spread: Spread) -> &[u32] {
        &self.data(spread).classes
    }

    /// Returns for each class its value, where that is known.
    pub(super) fn values(&self, spread: Spread) -> Option<&Rc<[i64]>> {
        self.data(spread).values.as_ref()
    }

    /// Returns the spread in which devices with equal keys hold equal values.
    pub(super) fn by_key<K: std::hash::Hash + Eq>(&mut self, keys: impl Iterator<Item = K>) -> Spread {
        let mut numbers: FxHashMap<K, u32> = FxHashMap::default();
        let classes = keys.map(|key| {
            let next = numbers.len() as u32;
            *numbers.entry(key).or_insert(next)
        });
        let classes: Rc<[u32]> = classes.collect();
        self.intern(classes, None)
    }

    /// Returns the spread in which devices hold these numbers.
    pub(super) fn by_value(&mut self, values: impl Iterator<Item = i64>) -> Spread {
        let mut distinct: IndexSet<i64, FxBuildHasher> = IndexSet::default();
        let classes: Rc<[u32]> = values.map(|value| distinct.insert_full(value).0 as u32).collect();
        self.intern(classes, Some(distinct.into_iter().collect()))
    }

    /// Returns the spread in which all devices hold this number.
    pub(super) fn constant(&mut self, value: i64) -> Spread {
        if let Some(&known) = self.constants.get(&value) {
            return known;
        }
        let devices = self.classes(Spread::UNIFORM).len();
        let made = self.by_value(std::iter::repeat_n(value, devices));
        self.constants.insert(value, made);
        made
    }

    /// Returns the spread of the same classes, with unknown values.
    pub(super) fn unknown(&mut self, spread: Spread) -> Spread {
        match self.all.get_index(spread.0 as usize) {
            Some(SpreadData { classes, values: Some(_) }) => {
                let classes = classes.clone();
                self.intern(classes, None)
            }
            _ => spread,
        }
    }

    /// Returns the spread of a result of both values: devices agree on it where they agree on both.
    pub(super) fn join(&mut self, a: Spread, b: Spread) -> Spread {
        if a == Spread::UNSEEN || a == b || b == Spread::UNIFORM {
            return self.unknown(if a == Spread::UNSEEN { b } else { a });
        }
        if b == Spread::UNSEEN || a == Spread::UNIFORM {
            return self.unknown(if b == Spread::UNSEEN { a } else { b });
        }
        if a == Spread::ANY || b == Spread::ANY {
            return Spread::ANY;
        }
        if let Some(&known) = self.joined.get(&(a, b)) {
            return known;
        }
        let (left, right) = (self.data(a).classes.clone(), self.data(b).classes.clone());
        let made = self.by_key(left.iter().copied().zip(right.iter().copied()));
        self.joined.extend([((a, b), made), ((b, a), made)]);
        made
    }

    /// Returns the spread of a value that comes from either, from the same one on all devices.
    pub(super) fn either(&mut self, a: Spread, b: Spread) -> Spread {
        match a {
            Spread::UNSEEN => b,
            _ if a == b || b == Spread::UNSEEN => a,
            _ => self.join(a, b),
        }
    }
}
