//! Decides what is computed together, so that fewer tensors go through memory. [`build`] makes the kernel of an op with
//! the ops that are folded into it, a [`Fused`](fused::Fused) loop nest; [`together`] merges such kernels, and
//! [`accumulate`] a product with the sum that it is added to. Over finished steps, [`chain`] runs kernels and products
//! block by block of rows, [`panels`] copies right operands before loops, [`common`] finds values that devices share,
//! and [`shared`] their panels.

pub(super) mod accumulate;
pub(super) mod build;
pub(super) mod chain;
pub(super) mod common;
pub(super) mod fused;
pub(super) mod panels;
pub(super) mod shared;
pub(super) mod together;
