//! A choice of one strategy for every op, and what it costs.

use smallvec::SmallVec;

use super::graph::{Graph, Places};
use super::model::{Model, Models};
use super::space::{Copies, Dist, Space};
use super::strategy::Strategy;
use rustc_hash::FxHashMap;
use std::rc::Rc;

/// Rates of the work between collectives besides arithmetic.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) struct Rates {
    /// Bytes of memory a second.
    pub(super) memory: f64,
}

/// Modelled cost of a plan; loops count as often as they are thought to run.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub(super) struct Cost {
    /// Seconds of communication.
    pub(super) seconds: f64,
    /// Bytes a device moves.
    pub(super) bytes: f64,
    /// Seconds of arithmetic and of writing results.
    pub(super) work: f64,
}

impl Cost {
    /// Seconds of both.
    pub(super) fn total(&self) -> f64 {
        self.seconds + self.work
    }
}

/// One strategy for every op that has a model, and the places that follow.
#[derive(Clone)]
pub(super) struct Choice {
    pub(super) strategies: Vec<Strategy>,
    pub(super) places: Vec<Places>,
}

/// Places of strategies, each found once.
#[derive(Default)]
pub(super) struct Placer {
    known: FxHashMap<(Model, Strategy), Places>,
}

impl Placer {
    pub(super) fn places(&mut self, models: &Models, space: &mut Space<'_>, model: Model, strategy: &Strategy) -> Places {
        let key = (model, strategy.clone());
        if let Some(known) = self.known.get(&key) {
            return known.clone();
        }
        let assignment = models.get(model).assignment(strategy);
        let places = Places {
            operands: assignment.operands.iter().map(|d| space.dist(d)).collect(),
            results: assignment.results.iter().map(|d| space.dist(d)).collect(),
        };
        self.known.insert(key, places.clone());
        places
    }
}

impl Graph {
    /// Where value `value` is made.
    pub(super) fn made(&self, places: &[Places], value: u32) -> Dist {
        let v = &self.values[value as usize];
        match (v.fixed, v.maker) {
            (Some(fixed), _) => fixed,
            (None, Some((op, i))) => places[op as usize].results.get(i as usize).copied().unwrap_or(v.home),
            (None, None) => v.home,
        }
    }

    /// Where the readers of value `value` want it.
    pub(super) fn needs(&self, places: &[Places], value: u32) -> SmallVec<[Dist; 4]> {
        let uses = self.values[value as usize].uses.iter();
        uses.filter_map(|&(op, i)| places[op as usize].operands.get(i as usize).copied()).collect()
    }

    /// The copies of value `value` under a plan.
    pub(super) fn copies(&self, space: &mut Space<'_>, places: &[Places], value: u32) -> Rc<Copies> {
        let v = &self.values[value as usize];
        space.copies(v.ty, v.anywhere, self.made(places, value), &self.needs(places, value))
    }

    /// Seconds of an op's arithmetic and of writing its results.
    pub(super) fn work(&self, space: &Space<'_>, rates: Rates, op: u32, ways: f64, places: &Places) -> f64 {
        let node = &self.ops[op as usize];
        let written = node.results.iter().zip(&places.results).filter_map(|(v, &at)| {
            let v = &self.values[(*v)? as usize];
            Some(space.local_bytes(v.ty, at))
        });
        node.seconds / ways + written.sum::<f64>() / rates.memory
    }

    /// The cost of a plan.
    pub(super) fn cost(&self, space: &mut Space<'_>, models: &Models, rates: Rates, choice: &Choice) -> Cost {
        let mut cost = Cost::default();
        for value in 0..self.values.len() as u32 {
            let copies = self.copies(space, &choice.places, value);
            let weight = self.values[value as usize].weight;
            cost.seconds += copies.seconds * weight;
            cost.bytes += copies.bytes * weight;
        }
        for (i, node) in self.ops.iter().enumerate() {
            if let Some(model) = node.model {
                let ways = models.get(model).ways(&choice.strategies[i]);
                cost.work += self.work(space, rates, i as u32, ways, &choice.places[i]) * node.weight;
            }
        }
        cost
    }
}
