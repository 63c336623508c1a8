//! Dimensions of arguments and results that the shards don't divide evenly, and that are therefore padded.

use dialect::ir::{Op, Program, TensorType};
use dialect::ops::{func, sdy};
use dialect::sharding::{Layout, TensorSharding};
use serde::Serialize;

use crate::place::value_name;

/// A dimension that its shards don't divide evenly.
#[derive(Clone, PartialEq, Debug, Serialize)]
#[non_exhaustive]
pub struct UnevenDimension {
    /// The argument's name, or `result 0`.
    pub value: String,
    /// The dimension.
    pub dim: usize,
    /// Its size.
    pub size: i64,
    /// Its number of shards.
    pub shards: i64,
    /// The total size of all shards with their padding.
    pub padded: i64,
}

/// Returns the padded dimensions of a program's arguments and results, sorted by decreasing padding.
pub(super) fn uneven(program: &Program) -> Vec<UnevenDimension> {
    let Some(main) = func::function(program, "main") else { return Vec::new() };
    let Some(block) = func::block(program, main) else { return Vec::new() };
    let mut found = Vec::new();
    for (i, &value) in program.block_args(block).iter().enumerate() {
        let sharding = func::arg_sharding(program, main, i);
        find(program, program.tensor_type(value), sharding, || value_name(program, value), &mut found);
    }
    let returned = program.terminator(block).map_or(&[][..], |end: Op| &program.op(end).operands);
    for (i, &value) in returned.iter().enumerate() {
        let sharding = func::result_sharding(program, main, i);
        find(program, program.tensor_type(value), sharding, || format!("result {i}"), &mut found);
    }
    let share = |d: &UnevenDimension| (d.padded - d.size) as f64 / d.size.max(1) as f64;
    found.sort_by(|a, b| share(b).total_cmp(&share(a)));
    found
}

fn find(
    program: &Program,
    ty: Option<&TensorType>,
    sharding: Option<&TensorSharding>,
    name: impl Fn() -> String,
    found: &mut Vec<UnevenDimension>,
) {
    let (Some(ty), Some(sharding)) = (ty, sharding) else { return };
    let Some(mesh) = sdy::resolve(program, &sharding.mesh).filter(|_| ty.is_static()) else { return };
    let shard = Layout::new(ty, Some(sharding), mesh).shard;
    for dim in shard.padded() {
        let of = shard.dims[dim];
        let padded = of.size().saturating_mul(of.shards);
        found.push(UnevenDimension { value: name(), dim, size: of.global, shards: of.shards, padded });
    }
}
