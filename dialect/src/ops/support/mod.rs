//! Code that the definitions of ops share; no op is defined here.

pub mod combiner;
pub(crate) mod comparator;
pub mod constraint;
pub(crate) mod inline;
pub(crate) mod products;
pub(crate) mod terminator;
