//! What a search proposes, as data.

use serde::Serialize;

/// What a search proposes.
#[derive(Clone, PartialEq, Debug, Serialize)]
#[non_exhaustive]
pub struct Proposal {
    /// The target's name.
    pub target: String,
    /// Number of devices in the mesh.
    pub devices: i64,
    /// How many shardings were priced.
    pub tried: u64,
    /// Whether all were that the search would look at; otherwise its time was over before.
    pub complete: bool,
    /// Bytes that a device may hold.
    pub memory_bytes: f64,
    /// Whether a step fits into that.
    pub fits: bool,
    /// The axes of the program's mesh, major first, with their sizes.
    pub mesh: Vec<(String, i64)>,
    /// The axes that are used, major first: those of the mesh, or parts of them.
    pub axes: Vec<ProposedAxis>,
    /// Where axes are used in parts, how JAX makes a mesh that has the parts as axes: all specs are over it.
    pub jax_mesh: Option<String>,
    /// Every argument.
    pub arguments: Vec<ProposedSharding>,
    /// Every result that is sharded as the user says, like an argument, which it replaces in the next step, or so that
    /// a share of the step is saved.
    pub results: Vec<ProposedSharding>,
    /// Values inside the program on which a constraint saves a share of the step.
    pub constraints: Vec<ProposedConstraint>,
    /// What was planned in full, the best first: the proposal itself is the first of them.
    pub ranking: Vec<Alternative>,
    /// Why it is better than what everybody knows.
    pub reasons: Vec<String>,
}

/// What an axis of a proposed mesh does.
#[derive(Clone, PartialEq, Debug, Serialize)]
#[non_exhaustive]
pub struct ProposedAxis {
    /// Its name.
    pub name: String,
    /// Its size.
    pub size: i64,
    /// As Shardy writes it, `"x":(1)2`, if it is a part of an axis of the mesh.
    pub part: Option<String>,
    /// `data`, `sequence`, `expert`, `model`; `None` if it shards what the user says, or nothing.
    pub role: Option<&'static str>,
    /// Whether parameters that it would leave replicated are stored in shards along it.
    pub stores_parameters: bool,
    /// What it does, in a sentence.
    pub does: String,
}

/// How an argument or a result is sharded.
#[derive(Clone, PartialEq, Debug, Serialize)]
#[non_exhaustive]
pub struct ProposedSharding {
    /// Its name.
    pub name: String,
    /// As JAX writes it, `P('data', None)`, where it can be written so.
    pub spec: Option<String>,
    /// As Shardy writes it.
    pub sharding: String,
    /// Whether the program said so before.
    pub given: bool,
}

/// A constraint on a value inside the program: `jax.lax.with_sharding_constraint`, `sdy.sharding_constraint`.
#[derive(Clone, PartialEq, Debug, Serialize)]
#[non_exhaustive]
pub struct ProposedConstraint {
    /// The value.
    pub value: String,
    /// The line that makes it, if that is known.
    pub loc: Option<String>,
    /// The values that have the constraint: several if there are equal layers.
    pub count: usize,
    /// As JAX writes it, where it can be written so.
    pub spec: Option<String>,
    /// As Shardy writes it.
    pub sharding: String,
}

/// One sharding of the program that was planned in full.
#[derive(Clone, PartialEq, Debug, Serialize)]
#[non_exhaustive]
pub struct Alternative {
    /// What everybody calls it, if anybody does: `FSDP`.
    pub name: Option<&'static str>,
    /// Its mesh: `data=2+ model=4`, with `+` behind an axis along which parameters are stored, and what axes of other names
    /// do: `x=4:data`.
    pub mesh: String,
    /// Modelled seconds of a step.
    pub step_s: f64,
    /// Seconds of these in which nothing is computed.
    pub exposed_s: f64,
    /// Peak memory of a device, in bytes.
    pub peak_bytes: u64,
    /// Whether that fits.
    pub fits: bool,
}
