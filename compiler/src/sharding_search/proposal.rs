//! The proposal of a search, as data.

use serde::Serialize;

/// The proposal of a search.
#[derive(Clone, PartialEq, Debug, Serialize)]
#[non_exhaustive]
pub struct Proposal {
    /// The target's name.
    pub target: String,
    /// Number of devices in the mesh.
    pub devices: i64,
    /// The number of shardings that were priced.
    pub tried: u64,
    /// Whether the search looked at every sharding that it would try; false if its time ran out.
    pub complete: bool,
    /// The memory limit of a device, in bytes.
    pub memory_bytes: f64,
    /// Whether a step fits into that limit.
    pub fits: bool,
    /// The axes of the program's mesh, major first, with their sizes.
    pub mesh: Vec<(String, i64)>,
    /// The axes that are used, major first: axes of the mesh, or parts of them.
    pub axes: Vec<ProposedAxis>,
    /// The JAX code that creates a mesh with parts of axes as axes, if parts are used. All specs are over this mesh.
    pub jax_mesh: Option<String>,
    /// Every argument.
    pub arguments: Vec<ProposedSharding>,
    /// Every result with a sharding: stated by the user, equal to that of the argument that it replaces in the next
    /// step, or proposed because it saves a fraction of the step.
    pub results: Vec<ProposedSharding>,
    /// Values inside the program on which a constraint saves a fraction of the step.
    pub constraints: Vec<ProposedConstraint>,
    /// The alternatives planned in full, the best first. The first is the proposal itself.
    pub ranking: Vec<Alternative>,
    /// The reasons why it is better than the well-known recipes.
    pub reasons: Vec<String>,
}

/// An axis of a proposed mesh and its use.
#[derive(Clone, PartialEq, Debug, Serialize)]
#[non_exhaustive]
pub struct ProposedAxis {
    /// Its name.
    pub name: String,
    /// Its size.
    pub size: i64,
    /// The part in Shardy's syntax, `"x":(1)2`, if it is a part of an axis of the mesh.
    pub part: Option<String>,
    /// `data`, `sequence`, `expert` or `model`; `None` if it shards nothing, or only what the user annotated.
    pub role: Option<&'static str>,
    /// Whether parameters that would be replicated along it are stored in shards along it.
    pub stores_parameters: bool,
    /// Its use, as a sentence.
    pub does: String,
}

/// The sharding of an argument or a result.
#[derive(Clone, PartialEq, Debug, Serialize)]
#[non_exhaustive]
pub struct ProposedSharding {
    /// Its name.
    pub name: String,
    /// The sharding in JAX's syntax, `P('data', None)`; `None` if JAX can't express it.
    pub spec: Option<String>,
    /// The sharding in Shardy's syntax.
    pub sharding: String,
    /// Whether the program already stated it.
    pub given: bool,
}

/// A constraint on a value inside the program: `jax.lax.with_sharding_constraint`, `sdy.sharding_constraint`.
#[derive(Clone, PartialEq, Debug, Serialize)]
#[non_exhaustive]
pub struct ProposedConstraint {
    /// The value.
    pub value: String,
    /// The source line of its producer, if known.
    pub loc: Option<String>,
    /// The number of values with the constraint: more than one if there are equal layers.
    pub count: usize,
    /// The sharding in JAX's syntax; `None` if JAX can't express it.
    pub spec: Option<String>,
    /// The sharding in Shardy's syntax.
    pub sharding: String,
}

/// One sharding of the program that was planned in full.
#[derive(Clone, PartialEq, Debug, Serialize)]
#[non_exhaustive]
pub struct Alternative {
    /// Its well-known name, if it has one: `FSDP`.
    pub name: Option<&'static str>,
    /// Its mesh: `data=2+ model=4`, with `+` after an axis along which parameters are stored. An axis with another name
    /// is followed by its use: `x=4:data`.
    pub mesh: String,
    /// Modelled seconds of a step.
    pub step_s: f64,
    /// The seconds of the step in which nothing is computed.
    pub exposed_s: f64,
    /// Peak memory of a device, in bytes.
    pub peak_bytes: u64,
    /// Whether that fits into the memory limit.
    pub fits: bool,
}
