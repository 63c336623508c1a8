//! A choice of one strategy for every op, and what it costs.

use std::rc::Rc;

use indexmap::IndexSet;
use rustc_hash::{FxBuildHasher, FxHashMap};
use smallvec::SmallVec;

use super::meaning::{Model, Models};
use super::strategy::Strategy;
use crate::plan::program::graph::{Graph, Places};
use crate::plan::reshard::space::{Copies, Dist, Space};

/// Rates of the work between collectives besides arithmetic.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) struct Rates {
    /// Bytes of memory a second.
    pub(crate) memory: f64,
}

/// Modelled cost of a plan; loops count as often as they are thought to run.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub(crate) struct Cost {
    /// Seconds of communication.
    pub(crate) seconds: f64,
    /// Bytes a device moves.
    pub(crate) bytes: f64,
    /// Seconds of arithmetic and of writing results.
    pub(crate) work: f64,
}

impl Cost {
    /// Seconds of both.
    pub(crate) fn total(&self) -> f64 {
        self.seconds + self.work
    }
}

/// A strategy of one [`Placer`].
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub(crate) struct Way(pub(crate) u32);

/// One strategy for every op, and the places that follow; those of borders mean nothing.
#[derive(Clone)]
pub(crate) struct Choice {
    pub(crate) ways: Vec<Way>,
    pub(crate) places: Vec<Rc<Places>>,
}

/// Strategies as small numbers, and the places that follow from each, found once.
#[derive(Default)]
pub(crate) struct Placer {
    ways: IndexSet<Strategy, FxBuildHasher>,
    known: FxHashMap<(Model, Way), Rc<Places>>,
}

impl Placer {
    /// The number of a strategy.
    pub(crate) fn way(&mut self, strategy: &Strategy) -> Way {
        match self.ways.get_index_of(strategy) {
            Some(i) => Way(i as u32),
            None => Way(self.ways.insert_full(strategy.clone()).0 as u32),
        }
    }

    /// The strategy behind a number.
    pub(crate) fn strategy(&self, way: Way) -> &Strategy {
        &self.ways[way.0 as usize]
    }

    /// Where the tensors of an op lie.
    pub(crate) fn places(&mut self, models: &Models, space: &mut Space<'_>, model: Model, way: Way) -> Rc<Places> {
        if let Some(known) = self.known.get(&(model, way)) {
            return known.clone();
        }
        let assignment = models.get(model).assignment(self.strategy(way));
        let places = Places {
            operands: assignment.operands.iter().map(|d| space.dist(d)).collect(),
            results: assignment.results.iter().map(|d| space.dist(d)).collect(),
        };
        let places = Rc::new(places);
        self.known.insert((model, way), places.clone());
        places
    }
}

impl Graph {
    /// Where value `value` is made.
    pub(crate) fn made(&self, places: &[Rc<Places>], value: u32) -> Dist {
        let v = &self.values[value as usize];
        match (v.fixed, v.maker) {
            (Some(fixed), _) => fixed,
            (None, Some((op, i))) => places[op as usize].results.get(i as usize).copied().unwrap_or(v.home),
            (None, None) => v.home,
        }
    }

    /// Where the readers of value `value` want it.
    pub(crate) fn needs(&self, places: &[Rc<Places>], value: u32) -> SmallVec<[Dist; 4]> {
        let uses = self.values[value as usize].uses.iter();
        uses.filter_map(|&(op, i)| places[op as usize].operands.get(i as usize).copied()).collect()
    }

    /// The copies of value `value` under a plan.
    pub(crate) fn copies(&self, space: &mut Space<'_>, places: &[Rc<Places>], value: u32) -> Rc<Copies> {
        let v = &self.values[value as usize];
        space.copies(v.ty, v.anywhere, self.made(places, value), &self.needs(places, value))
    }

    /// Seconds of an op's arithmetic and of writing those of its results that are kept.
    pub(crate) fn work(&self, space: &Space<'_>, rates: Rates, op: u32, ways: f64, places: &Places) -> f64 {
        let node = &self.ops[op as usize];
        let written = node.results.iter().zip(&places.results).filter_map(|(v, &at)| {
            let v = &self.values[(*v)? as usize];
            v.written.then(|| space.local_bytes(v.ty, at))
        });
        node.seconds / ways + written.sum::<f64>() / rates.memory
    }

    /// The cost of a plan.
    pub(crate) fn cost(
        &self,
        space: &mut Space<'_>,
        models: &Models,
        placer: &Placer,
        rates: Rates,
        choice: &Choice,
    ) -> Cost {
        let mut cost = Cost::default();
        for value in 0..self.values.len() as u32 {
            let copies = self.copies(space, &choice.places, value);
            let weight = self.values[value as usize].weight;
            cost.seconds += copies.seconds * weight;
            cost.bytes += copies.bytes * weight;
        }
        for (i, node) in self.ops.iter().enumerate() {
            if let Some(model) = node.model {
                let ways = models.get(model).ways(placer.strategy(choice.ways[i]));
                cost.work += self.work(space, rates, i as u32, ways, &choice.places[i]) * node.weight;
            }
        }
        cost
    }
}
