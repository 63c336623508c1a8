//! The number of devices of a module: from `mhlo.num_replicas` and `mhlo.num_partitions`, or else from its meshes.

use crate::ir::{AttrData, ElementType, Program, TypeData};
use crate::ops::mhlo::{NUM_PARTITIONS, NUM_REPLICAS};
use crate::ops::{mpmd, sdy};

/// Returns the number of replicas that the module declares; 1 by default.
pub fn num_replicas(program: &Program) -> i64 {
    count(program, NUM_REPLICAS).unwrap_or(1)
}

/// Returns the number of partitions that the module declares, or else the number of devices of its largest mesh, or
/// else 1.
pub fn num_partitions(program: &Program) -> i64 {
    count(program, NUM_PARTITIONS).or_else(|| mesh_devices(program)).unwrap_or(1)
}

/// Returns the numbers of replicas and partitions from the module's attributes or meshes; `None` if it has neither.
pub fn declared_devices(program: &Program) -> Option<(i64, i64)> {
    let (replicas, partitions) = (count(program, NUM_REPLICAS), count(program, NUM_PARTITIONS));
    if replicas.is_none() && partitions.is_none() {
        return mesh_devices(program).map(|n| (1, n));
    }
    Some((replicas.unwrap_or(1), partitions.or_else(|| mesh_devices(program)).unwrap_or(1)))
}

/// Returns the number of partitions that the module declares, if any.
pub fn declared_partitions(program: &Program) -> Option<i64> {
    count(program, NUM_PARTITIONS)
}

/// Sets both attributes, as `i32`.
pub fn set_devices(program: &mut Program, replicas: i64, partitions: i64) {
    let ty = program.intern_type(TypeData::Scalar(ElementType::I32));
    for (name, value) in [(NUM_REPLICAS, replicas), (NUM_PARTITIONS, partitions)] {
        let attr = program.intern_attr(AttrData::Int(value, ty));
        program.set_attr(program.module, name, attr);
    }
}

fn count(program: &Program, name: &str) -> Option<i64> {
    program.attr(program.module, name).and_then(|a| program.attr_data(a).as_int()).filter(|&n| n >= 1)
}

/// Returns the number of devices of the largest mesh; single-device meshes don't count. `None` for a program with a
/// topology, whose functions run on different numbers of devices, which the module doesn't state.
fn mesh_devices(program: &Program) -> Option<i64> {
    if super::function(program, "main").is_some_and(|main| program.attr(main, mpmd::TOPOLOGY).is_some()) {
        return None;
    }
    sdy::meshes(program).map(|mesh| mesh.2).filter(|m| !m.axes.is_empty()).map(|m| m.devices()).max()
}
