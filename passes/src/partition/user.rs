//! Checks the user's collectives, which name devices, and device numbers, in a program that is otherwise independent of
//! devices.
//!
//! Along axes that are not manual the program describes global values, and the compiler chooses which device holds
//! which shard. A collective may only connect devices that differ in manual axes, or only in the replica.

use dialect::codes;
use dialect::diagnostic::Diagnostic;
use dialect::ir::{Name, Op, Program};
use dialect::sharding::{AxisPart, Mesh, digits, index};

/// Reports an error if `op` is a collective between devices that differ along an axis of the mesh not in `manual`, or a
/// device's number where no axis is manual.
pub(super) fn check(program: &Program, op: Op, mesh: &Mesh, manual: &[Name]) -> Result<(), Diagnostic> {
    let view = program.view(op);
    if manual.is_empty() && mesh.devices() > 1 && view.def().is_device_number() {
        let message = format!(
            "'{}' returns a different number on each device, but here the program computes global values",
            view.name()
        );
        let d = Diagnostic::error(codes::GLOBAL_DEVICE, view.span(), message);
        return Err(
            d.note("use it in a manual computation (jax.lax.axis_index in shard_map), or in an op on a single device")
        );
    }
    let Some(collective) = view.def().collective(view) else { return Ok(()) };
    // Groups along axes of this very mesh state the axes in which their devices differ.
    let along = collective.groups.axes().filter(|groups| {
        let names = mesh.axes.iter().map(|a| program.name_text(a.0));
        let same = groups.mesh().names().eq(names) && groups.mesh().sizes().eq(mesh.axes.iter().map(|a| a.1));
        same && !groups.mesh().is_reordered() && mesh.device_ids.is_none()
    });
    let positions = mesh.device_ids.is_some().then(|| mesh.positions());
    for (at, &(axis, size)) in mesh.axes.iter().enumerate().filter(|a| !manual.contains(&a.1.0)) {
        let digits = digits(mesh, &[AxisPart::whole(at as u32, size as u32)]);
        let place = |device: &i64| {
            let device = device.rem_euclid(mesh.devices());
            index(&digits, positions.as_ref().map_or(device, |p| p[device as usize]))
        };
        let differ = |mut group: Vec<i64>| {
            group.dedup_by_key(|device| place(device));
            group.len() > 1
        };
        let differs = match along {
            Some(groups) => groups.axes().iter().any(|part| part.axis as usize == at && part.size > 1),
            None => collective.groups.iter().any(|group| differ(group.collect())),
        };
        if differs {
            let (name, axis) = (program.op_name(op), program.name_text(axis));
            let message = format!("'{name}' communicates along \"{axis}\", which isn't manual here");
            let d = Diagnostic::error(codes::COLLECTIVE_AXIS, view.span(), message);
            return Err(d.note(
                "put it in a manual computation (shard_map) over the axis; without a channel it communicates between \
                replicas",
            ));
        }
    }
    Ok(())
}
