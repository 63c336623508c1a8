//! mpmd-meshes: gives a program whose shardings are over meshes of different devices a topology of these meshes.
//!
//! The module states the number of devices (`mhlo.num_partitions`), and each mesh lists its own, in any order. A value
//! with a stated sharding over another mesh is moved there, as by JAX's `device_put`.

use dialect::codes;
use dialect::diagnostic::{Diagnostic, Diagnostics};
use dialect::ir::{Attr, AttrData, Name, Op, Program};
use dialect::ops::func;
use dialect::ops::mhlo::NUM_PARTITIONS;
use dialect::ops::mpmd::{DEVICES, TOPOLOGY};
use dialect::ops::sdy;
use dialect::sharding::{Mesh, MeshRef};
use rustc_hash::FxHashSet;

/// Returns the devices of a mesh, by their positions.
fn ids(mesh: &Mesh) -> Vec<i64> {
    mesh.device_ids.clone().unwrap_or_else(|| (0..mesh.devices()).collect())
}

pub(super) fn meshes(program: &mut Program, diagnostics: &mut Diagnostics) {
    let Some(main) = func::function(program, "main") else { return };
    let Some(devices) = func::declared_partitions(program) else { return };
    if func::num_replicas(program) > 1 || dialect::signature::is_stated(program, main) {
        return;
    }
    if program.attr(main, TOPOLOGY).is_some() {
        // JAX states its own number of devices, which may be that of one mesh.
        return state_devices(program, main, devices);
    }
    let known: Vec<(String, Mesh)> =
        sdy::meshes(program).map(|(_, name, mesh)| (name.to_owned(), mesh.clone())).collect();
    let is_of_all = |mesh: &Mesh| {
        let mut ids = ids(mesh);
        ids.sort_unstable();
        ids.into_iter().eq(0..devices)
    };
    if known.iter().all(|(_, mesh)| mesh.axes.is_empty() || is_of_all(mesh)) {
        return;
    }
    let used = used(program);
    let mut found: Vec<(Name, Mesh)> = Vec::new();
    for (name, mesh) in known {
        let name = program.name(&name);
        // A mesh without axes and devices doesn't determine where a value is.
        if used.contains(&name) && (!mesh.axes.is_empty() || mesh.is_maximal()) {
            found.push((name, mesh));
        }
    }
    if found.iter().all(|(_, mesh)| mesh.axes.is_empty() || is_of_all(mesh)) {
        return;
    }
    if let [(name, mesh)] = &found[..] {
        // A single mesh of more devices than the module has is an error, which partition reports.
        if ids(mesh).iter().any(|&id| id >= devices) {
            return;
        }
        if mesh.device_ids.is_none() {
            let d = idle_devices(program, *name, mesh.devices(), devices);
            diagnostics.push(d);
        }
    }
    for (_, mesh) in &mut found {
        mesh.device_ids = Some(ids(mesh));
    }
    let topology = program.intern_attr(AttrData::Topology(found));
    program.set_attr(main, TOPOLOGY, topology);
    state_devices(program, main, devices);
    let meshes: FxHashSet<Op> = sdy::meshes(program).map(|mesh| mesh.0).collect();
    let kept = program.block_ops(program.body()).iter().copied().filter(|op| !meshes.contains(op)).collect();
    program.set_block_ops(program.body(), kept);
}

/// Returns a warning that the module or its only mesh probably has another number of devices than intended.
fn idle_devices(program: &Program, name: Name, has: i64, devices: i64) -> Diagnostic {
    let name = program.name_text(name);
    let span = sdy::meshes(program).find(|mesh| mesh.1 == name).map(|mesh| program.op(mesh.0).span);
    let message = format!("@{name} has {has} of the module's {devices} devices; the others are idle");
    let d = Diagnostic::warning(codes::PARTITION_COUNT, span.unwrap_or_default(), message);
    d.note(format!("if the program runs on {has} devices, set {NUM_PARTITIONS} to {has}"))
}

/// Moves the number of devices from the module to `main`, because fragments run on the devices of their meshes, not on
/// all of the module's.
fn state_devices(program: &mut Program, main: Op, devices: i64) {
    let devices = program.attr_i64(devices);
    program.set_attr(main, DEVICES, devices);
    program.remove_attr(program.module, NUM_PARTITIONS);
}

/// Returns the number of devices that a program over several meshes states.
pub(super) fn stated_devices(program: &Program, main: Op) -> Option<i64> {
    program.attr(main, DEVICES).and_then(|attr| program.attr_data(attr).as_int())
}

/// Removes that number, when the module states it.
pub(super) fn forget_devices(program: &mut Program, main: Op) {
    program.remove_attr(main, DEVICES);
}

/// Returns the meshes that shardings name.
fn used(program: &Program) -> FxHashSet<Name> {
    let (mut names, mut seen) = (FxHashSet::default(), FxHashSet::default());
    program.walk(program.body(), &mut |op| {
        program.op(op).attrs.iter().for_each(|attr| note(program, attr.1, &mut names, &mut seen));
    });
    names
}

fn note(program: &Program, attr: Attr, names: &mut FxHashSet<Name>, seen: &mut FxHashSet<Attr>) {
    if !seen.insert(attr) {
        return;
    }
    let mut name = |mesh: &MeshRef| {
        if let MeshRef::Symbol(mesh) = mesh {
            names.insert(*mesh);
        }
    };
    match program.attr_data(attr) {
        AttrData::Sharding(sharding) => name(&sharding.mesh),
        AttrData::ShardingPerValue(list) => list.iter().for_each(|sharding| name(&sharding.mesh)),
        AttrData::Array(list) => list.iter().for_each(|&attr| note(program, attr, names, seen)),
        AttrData::Dict(entries) => entries.iter().for_each(|entry| note(program, entry.1, names, seen)),
        _ => {}
    }
}
