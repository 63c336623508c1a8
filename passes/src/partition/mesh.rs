//! The mesh that the program is partitioned over.

use dialect::codes;
use dialect::diagnostic::{Diagnostic, Diagnostics};
use dialect::ir::Program;
use dialect::ops::{func, mhlo, sdy};
use dialect::sharding::{Mesh, MeshAxes, MeshRef};

/// Returns the only mesh that shardings refer to, with its name; an empty one when there is none.
pub(super) fn one_mesh(program: &Program, diagnostics: &mut Diagnostics) -> Option<(Option<String>, Mesh)> {
    let mut usable = sdy::meshes(program).filter(|m| !m.2.axes.is_empty());
    match (usable.next(), usable.next()) {
        (None, _) => Some((None, Mesh::default())),
        (Some((op, name, mesh)), None) => {
            let declared = func::declared_devices(program).map_or(mesh.devices(), |grid| grid.1);
            if mesh.devices() > declared {
                let message =
                    format!("the mesh has {} devices, but the module has {declared} partitions", mesh.devices());
                let d = Diagnostic::error(codes::PARTITION_COUNT, program.op(op).span, message);
                diagnostics.push(d.note(format!("{} is the number of devices of the mesh", mhlo::NUM_PARTITIONS)));
                return None;
            }
            Some((Some(name.to_owned()), mesh.clone()))
        }
        (Some(_), Some((op, ..))) => {
            let d = Diagnostic::error(
                codes::SEVERAL_MESHES,
                program.op(op).span,
                "the program still has more than one mesh",
            );
            diagnostics.push(d.note("run the pass unify-meshes first, or use one mesh for all shardings"));
            None
        }
    }
}

/// Returns the axes of the named mesh; an inline mesh has no name.
pub(crate) fn axes(program: &Program, name: Option<&str>, mesh: Mesh) -> MeshAxes {
    let named = name.and_then(|name| program.find_name(name)).map(MeshRef::Symbol);
    MeshAxes::new(named.unwrap_or_else(|| MeshRef::Inline(Box::default())), mesh)
}
