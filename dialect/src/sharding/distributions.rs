//! The distribution of every value of a program over the axes of one mesh.

use std::rc::Rc;

use super::{Distribution, MeshAxes, ShardingTable, TensorSharding};
use crate::ir::{Program, Value};
use crate::ops::sdy;

/// A [`ShardingTable`] with each sharding converted once.
#[derive(Clone, Debug)]
pub struct Distributions {
    shardings: ShardingTable,
    /// The distribution by the id of the sharding; `None` if the mesh can't express it.
    known: Vec<Option<Rc<Distribution>>>,
}

impl Distributions {
    /// Collects the distributions of the whole program.
    pub fn of(program: &Program, axes: &MeshAxes) -> Self {
        let shardings = ShardingTable::of(program);
        let known = shardings.iter().map(|s| axes.meaning(program, s).map(Rc::new)).collect();
        Self { shardings, known }
    }

    /// Returns a value's distribution; `None` if it has no sharding, or one that the mesh can't express.
    pub fn get(&self, value: Value) -> Option<&Rc<Distribution>> {
        self.known[self.shardings.id(value)?.index()].as_ref()
    }

    /// Returns whether the value has a sharding that the mesh can't express, over a mesh that orders or groups devices
    /// differently.
    pub fn is_unrelated(&self, value: Value) -> bool {
        self.shardings.id(value).is_some_and(|id| self.known[id.index()].is_none())
    }

    /// Returns the shardings as written in the program.
    pub fn shardings(&self) -> &ShardingTable {
        &self.shardings
    }
}

impl MeshAxes {
    /// Returns the distribution that a sharding over any mesh of a program describes; replicated if it is on one
    /// device. `None` if this mesh can't express it.
    pub fn meaning(&self, program: &Program, sharding: &TensorSharding) -> Option<Distribution> {
        let mesh = sdy::resolve(program, &sharding.mesh)?;
        if mesh.is_maximal() || sharding.all_axes().next().is_none() {
            // A value on one device may be replicated without changing its meaning.
            return Some(Distribution::replicated(sharding.rank()));
        }
        self.distribution(sharding, mesh)
    }
}
