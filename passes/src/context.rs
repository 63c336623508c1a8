//! What passes may ask for besides the program and their options: what an embedder adds to ours.

use crate::estimate::Targets;
use crate::plan::Rewrite;

/// The surroundings of a compilation, which a [`Registry`](crate::Registry) gives to every step it makes.
#[derive(Clone, Debug, Default)]
pub struct Context {
    /// The targets that can be named.
    pub targets: Targets,
    /// Rewrites by which plans are searched, besides our own.
    pub rewrites: Vec<&'static Rewrite>,
}
