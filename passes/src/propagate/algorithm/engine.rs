//! The state of a propagation, and the step of one node.
//!
//! A step depends only on the rule, the directions and the shardings, all of which are ids, so each distinct step is
//! computed once and cached. Deep programs repeat themselves: of a hundred equal layers only one is computed.

use dialect::ir::{Op, Program};
use dialect::ops::func;
use rustc_hash::FxHashMap;
use smallvec::SmallVec;

use super::factor::{Direction, Step, Strategy};
use super::manual::Manual;
use super::origin::Origins;
use super::projection::Projection;
use super::rule::{Rule, RuleId, Rules};
use super::sharding::{Sharding, ShardingId, Shardings};
use crate::propagate::graph::mesh::Meshes;
use crate::propagate::graph::{Graph, Node, Slot, Val};

/// The directions of a step, the same for all factors of a kind. Blocked factors have no direction.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Directions {
    /// Along pass-through factors.
    pub pass_through: Direction,
    /// Along all others.
    pub other: Direction,
}

impl Directions {
    /// Creates the same direction along every factor.
    pub fn all(direction: Direction) -> Self {
        Self { pass_through: direction, other: direction }
    }
}

/// The inputs of a step besides rule and shardings.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct StepKind {
    /// Directions along the factors.
    pub directions: Directions,
    /// Whether the op is elementwise.
    pub elementwise: bool,
    /// Whether axes are never split.
    pub conservative: bool,
}

impl StepKind {
    fn key(self) -> u32 {
        let direction = |d: Direction| d as u32;
        direction(self.directions.pass_through)
            | direction(self.directions.other) << 2
            | u32::from(self.elementwise) << 4
            | u32::from(self.conservative) << 5
    }
}

/// A tensor's new sharding: the index of the tensor, operands first.
pub type Update = (u32, ShardingId);

/// The state of a propagation.
pub struct Engine {
    /// The program's graph.
    pub graph: Graph,
    /// Its meshes.
    pub meshes: Meshes,
    /// All shardings.
    pub shardings: Shardings,
    /// All rules.
    pub rules: Rules,
    /// Manual computations by node.
    pub manual: FxHashMap<Node, Manual>,
    /// The function whose results are tied to the values it returns, with their slots.
    pub main: Option<FunctionResults>,
    /// The results of the other functions.
    pub functions: Vec<FunctionResults>,
    /// The values of each sharding group.
    pub groups: Vec<Vec<Val>>,
    /// The group of a value.
    pub group_of: FxHashMap<Val, u32>,
    /// The resolution of conflicts.
    pub strategy: Strategy,
    /// Whether the user asked for conservative propagation.
    pub conservative: bool,
    /// The round of op priorities to begin with.
    pub first_round: usize,
    /// The origins of axes, if they are recorded.
    pub origins: Option<Origins>,
    /// All nodes from top to bottom, once computed.
    pub order: Vec<Node>,
    /// The shardings of the node being visited.
    pub scratch: Vec<ShardingId>,
    memo: FxHashMap<Box<[u32]>, (u32, u32)>,
    updates: Vec<Update>,
    key: Vec<u32>,
}

/// A function's results.
pub struct FunctionResults {
    /// The function.
    pub function: Op,
    /// Its return.
    pub terminator: Node,
    /// The slot with the sharding of each result.
    pub slots: Vec<Slot>,
    /// The rule that ties each result to the returned value; `None` where they are not tied.
    pub rules: Vec<Option<RuleId>>,
}

impl Engine {
    /// Creates an engine over a graph without shardings.
    pub fn new(graph: Graph, meshes: Meshes, strategy: Strategy, conservative: bool) -> Self {
        Self {
            graph,
            meshes,
            shardings: Shardings::default(),
            rules: Rules::default(),
            manual: FxHashMap::default(),
            main: None,
            functions: Vec::new(),
            groups: Vec::new(),
            group_of: FxHashMap::default(),
            strategy,
            conservative,
            first_round: 0,
            origins: None,
            order: Vec::new(),
            scratch: Vec::new(),
            memo: FxHashMap::default(),
            updates: Vec::new(),
            key: Vec::new(),
        }
    }

    /// Returns the sharding of a value.
    pub fn sharding(&self, value: Val) -> Option<&Sharding> {
        self.shardings.get(self.graph.sharding(value))
    }

    /// Sets the sharding of a value. If no result of an op had one, its other results get an open one, since all are
    /// written in one list.
    pub fn set_sharding(&mut self, value: Val, sharding: ShardingId) {
        let slot = self.graph.slot(value);
        if !slot.is_some() {
            return;
        }
        let node = self.graph.def(value);
        if node.is_some()
            && !self.graph.has_edge(value)
            && self.graph.results(node).len() > 1
            && self.graph.results(node).all(|r| !self.graph.sharding(r).is_some())
            && let Some(mesh) = self.shardings.get(sharding).map(|s| s.mesh)
        {
            for result in self.graph.results(node) {
                let open = self.shardings.intern(Sharding::open(mesh, self.graph.rank(result)));
                let other = self.graph.slot(result);
                self.graph.slots[other] = open;
            }
        }
        self.graph.slots[slot] = sharding;
    }

    /// Returns whether both shard the dimensions alike; a missing sharding counts as replicated.
    pub fn equivalent(&self, a: ShardingId, b: ShardingId) -> bool {
        let whole = |s: Option<&Sharding>| !s.is_some_and(Sharding::is_sharded);
        let (a, b) = (self.shardings.get(a), self.shardings.get(b));
        match (a, b) {
            _ if whole(a) => whole(b),
            (Some(a), Some(b)) => a.shards_like(b),
            _ => false,
        }
    }

    /// Returns a fully replicated, closed sharding on the same mesh.
    pub fn fully_closed_like(&mut self, id: ShardingId) -> ShardingId {
        match self.shardings.get(id) {
            Some(s) => {
                let whole = Sharding::replicated(s.mesh, s.rank());
                self.shardings.intern(whole)
            }
            None => ShardingId::NONE,
        }
    }

    /// Returns the function called `name`.
    pub fn function_named(&self, program: &Program, name: &str) -> Option<Op> {
        let functions = self.main.iter().chain(&self.functions).map(|f| f.function);
        functions.into_iter().find(|&f| func::symbol(program, f) == Some(name))
    }

    /// Returns the mesh of all `shardings`; `None` when there is none, they differ, or it has a single device.
    pub fn common_mesh(&self, shardings: &[Option<&Sharding>]) -> Option<u32> {
        let mut found = None;
        for sharding in shardings.iter().flatten() {
            match found {
                Some(mesh) if !self.meshes.is_empty_mesh(mesh) => {
                    if sharding.mesh != mesh && !self.meshes.is_empty_mesh(sharding.mesh) {
                        return None;
                    }
                }
                _ => found = Some(sharding.mesh),
            }
        }
        found.filter(|&mesh| !self.meshes.get(mesh).mesh.is_maximal())
    }

    /// Returns the changes by a step of `rule`, given the shardings of its tensors. Steps are cached.
    pub fn step(&mut self, rule: RuleId, kind: StepKind, shardings: &[ShardingId]) -> SmallVec<[Update; 4]> {
        if shardings.iter().all(|s| !s.is_some()) {
            return SmallVec::new();
        }
        self.key.clear();
        self.key.extend([rule.index() as u32, kind.key()]);
        self.key.extend(shardings.iter().map(|s| s.index() as u32));
        let (start, len) = match self.memo.get(self.key.as_slice()) {
            Some(&found) => found,
            None => {
                let start = self.updates.len() as u32;
                self.compute(rule, kind, shardings);
                let found = (start, self.updates.len() as u32 - start);
                self.memo.insert(self.key.as_slice().into(), found);
                found
            }
        };
        SmallVec::from_slice(&self.updates[start as usize..(start + len) as usize])
    }

    /// Converts the sharding of an edge's targets to the form that its sources have.
    pub fn seen_by_sources(&mut self, edge: u32, sharding: ShardingId) -> ShardingId {
        let data = &self.graph.edges[edge as usize];
        let (Some(manual), Some(inner)) = (self.manual.get(&data.op), self.shardings.get(sharding)) else {
            return sharding;
        };
        let new = match data.of_result {
            true => manual.without_manual(inner),
            false => manual.with_manual(&manual.inputs[data.index], inner),
        };
        self.shardings.intern(new)
    }

    /// Converts a sharding that an edge's sources agreed on to the form that its targets have.
    pub fn seen_by_targets(&mut self, edge: u32, sharding: ShardingId) -> ShardingId {
        let data = &self.graph.edges[edge as usize];
        let (Some(manual), Some(outer)) = (self.manual.get(&data.op), self.shardings.get(sharding)) else {
            return sharding;
        };
        let new = match data.of_result {
            true => manual.with_manual(&manual.outputs[data.index], outer),
            false => manual.without_manual(outer),
        };
        self.shardings.intern(new)
    }

    fn compute(&mut self, id: RuleId, kind: StepKind, ids: &[ShardingId]) {
        let shardings: SmallVec<[Option<&Sharding>; 4]> = ids.iter().map(|&s| self.shardings.get(s)).collect();
        let Some(mesh) = self.common_mesh(&shardings) else {
            return;
        };
        let rule = &self.rules[id];
        let directions = factor_directions(rule, kind);
        if directions.iter().all(|&d| d == Direction::None) {
            return;
        }
        let sizes: SmallVec<[u32; 4]> = self.meshes.get(mesh).mesh.axes.iter().map(|a| a.1 as u32).collect();
        let mut projection = Projection::new(rule, &shardings, false);
        let step = Step {
            rule,
            directions: &directions,
            strategy: self.strategy,
            elementwise: kind.elementwise,
            whole_axes: kind.conservative.then_some(&sizes),
        };
        let changed = step.run(&mut projection);
        let new: SmallVec<[(u32, Sharding); 4]> = (0..ids.len())
            .filter(|&t| changed[t])
            .map(|t| (t as u32, projection.tensors[t].sharding(rule, &rule.tensors[t], mesh)))
            .filter(|(t, new)| match shardings[*t as usize] {
                Some(old) => old != new,
                None => new.all_axes().next().is_some(),
            })
            .collect();
        drop(shardings);
        for (t, sharding) in new {
            let sharding = self.shardings.intern(sharding);
            self.updates.push((t, sharding));
        }
    }
}

/// Returns the direction along each factor.
fn factor_directions(rule: &Rule, kind: StepKind) -> SmallVec<[Direction; 6]> {
    use dialect::sharding::FactorKind;
    (0..rule.factors())
        .map(|f| {
            if rule.blocked[f] {
                Direction::None
            } else if rule.kinds[f] == FactorKind::PassThrough {
                kind.directions.pass_through
            } else {
                kind.directions.other
            }
        })
        .collect()
}
