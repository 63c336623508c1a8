//! The user's collectives, which name devices, and numbers of devices, in a program that is otherwise independent of devices.
//!
//! Along axes that are not manual the program is about global values: the compiler chooses which device holds what. A
//! collective may only be between devices that differ in manual axes, or in the replica alone.

use dialect::codes;
use dialect::diagnostic::Diagnostic;
use dialect::ir::{Name, Op, Program};
use dialect::sharding::{AxisPart, Mesh, digits, index};

/// An error if `op` is a collective between devices that differ along an axis of the mesh other than these manual ones,
/// or the number of a device where none are manual.
pub(super) fn check(program: &Program, op: Op, mesh: &Mesh, manual: &[Name]) -> Result<(), Diagnostic> {
    let view = program.view(op);
    if manual.is_empty() && mesh.devices() > 1 && view.def().is_device_number() {
        let message =
            format!("'{}' is another number on each device, but here the program is about global values", view.name());
        let d = Diagnostic::error(codes::GLOBAL_DEVICE, view.span(), message);
        return Err(d.note(
            "use it in a manual computation (jax.lax.axis_index in shard_map), or in an op on one device alone",
        ));
    }
    let Some(collective) = view.def().collective(view) else { return Ok(()) };
    let positions = mesh.positions();
    for (at, &(axis, size)) in mesh.axes.iter().enumerate().filter(|a| !manual.contains(&a.1.0)) {
        let digits = digits(mesh, &[AxisPart::whole(at as u32, size as u32)]);
        let place = |device: &i64| index(&digits, positions[device.rem_euclid(mesh.devices()) as usize]);
        let differ = |mut group: Vec<i64>| {
            group.dedup_by_key(|device| place(device));
            group.len() > 1
        };
        if collective.groups.iter().any(|group| differ(group.collect())) {
            let (name, axis) = (program.op_name(op), program.name_text(axis));
            let message = format!("'{name}' is between devices along \"{axis}\", which isn't manual here");
            let d = Diagnostic::error(codes::COLLECTIVE_AXIS, view.span(), message);
            return Err(d.note(
                "put it in a manual computation (shard_map) of the axis; without a channel it is between replicas",
            ));
        }
    }
    Ok(())
}
