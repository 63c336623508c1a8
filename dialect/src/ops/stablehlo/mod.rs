//! The ops of StableHLO, by family. Source: the StableHLO specification.

pub mod asynchronous;
pub mod collective;
pub mod constant;
pub mod contraction;
pub mod control;
pub mod deprecated;
pub mod dynamic;
pub mod einsum;
pub mod elementwise;
pub mod indexing;
pub mod joining;
pub mod linalg;
pub mod normalization;
pub mod random;
pub mod reduction;
pub mod reshape;
pub mod shape;
pub mod slicing;
pub mod sort;
mod syntax;
pub mod transfer;
pub mod tuple;
pub mod window;

use crate::op::OpDef;

/// The ops of this dialect, with a row for each family. The order has no meaning.
pub static OPS: &[&[&dyn OpDef]] = &[
    asynchronous::OPS,
    collective::OPS,
    constant::OPS,
    contraction::OPS,
    control::OPS,
    deprecated::OPS,
    dynamic::OPS,
    einsum::OPS,
    elementwise::OPS,
    indexing::OPS,
    joining::OPS,
    linalg::OPS,
    normalization::OPS,
    random::OPS,
    reduction::OPS,
    reshape::OPS,
    shape::OPS,
    slicing::OPS,
    sort::OPS,
    transfer::OPS,
    tuple::OPS,
    window::OPS,
];
