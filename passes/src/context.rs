//! What passes can use besides the program and their options: what an embedder adds to the built-in set.

use crate::estimate::Targets;
use crate::plan::Rewrite;

/// The context of a compilation, which a [`Registry`](crate::Registry) gives to every step it makes.
#[derive(Clone, Debug, Default)]
pub struct Context {
    /// The named targets.
    pub targets: Targets,
    /// Rewrites used in the search for plans, besides the built-in ones.
    pub rewrites: Vec<&'static Rewrite>,
}
