//! Groups given by axes of a mesh instead of rows. Source: the StableHLO specification, "Replica groups".

use crate::ir::build::Builder;
use crate::ir::{Attr, AttrData, Name, Op, OpRef, Program, Ty, Value};
use crate::sharding::{AxisRef, MAX_DEVICES, Mesh, SubAxis};

/// `#stablehlo.replica_group_mesh_axes<mesh = @mesh, axes = [#stablehlo.axis_ref<name = "x">]>` as rows of devices; `None` for any
/// other attribute, and for a mesh or axis that isn't there.
pub(super) fn mesh_groups(op: OpRef<'_>, name: &str) -> Option<Vec<Vec<i64>>> {
    let program = op.program;
    if !is_mesh_groups(op, name) {
        return None;
    }
    let AttrData::Array(axes) = op.field(name, "axes")? else { return None };
    let (names, mesh) = named_mesh(program, op.field(name, "mesh")?)?;
    if mesh.devices() > MAX_DEVICES || mesh.axes.iter().any(|a| a.1 < 1) {
        return None;
    }
    let axis = |&attr: &Attr| -> Option<AxisRef> {
        let text = field(program, attr, "name")?.as_str()?;
        let name = Name::new(names.iter().position(|n| n == text)?);
        let Some(part) = field(program, attr, "sub_axis_info") else { return Some(AxisRef::full(name)) };
        // `(1)2`
        let AttrData::Opaque(part) = part else { return None };
        let (pre, size) = part.strip_prefix('(')?.split_once(')')?;
        let int = |text: &str| text.parse::<i64>().ok().filter(|&v| v > 0);
        let sub = SubAxis { pre: int(pre)?, size: int(size)? };
        let fits =
            sub.pre.checked_mul(sub.size).is_some_and(|end| mesh.axis_size(name).is_some_and(|full| full % end == 0));
        fits.then_some(AxisRef { name, sub: Some(sub) })
    };
    let axes: Option<Vec<AxisRef>> = axes.iter().map(axis).collect();
    Some(crate::sharding::groups(&mesh, &axes?))
}

/// The names of a mesh's axes, and the mesh with numbers for names: Shardy's under a symbol, or
/// `#stablehlo.mesh<axes = [#stablehlo.mesh_axis<name = "x", size = 2>]>`.
fn named_mesh(program: &Program, mesh: &AttrData) -> Option<(Vec<String>, Mesh)> {
    let (axes, device_ids): (Vec<(String, i64)>, _) = match mesh {
        AttrData::Symbol(mesh) => {
            let mesh = crate::ops::sdy::mesh_named(program, mesh)?;
            let axes = mesh.axes.iter().map(|a| (program.name_text(a.0).to_owned(), a.1));
            (axes.collect(), mesh.device_ids.clone())
        }
        AttrData::Struct(kind, fields) if &**kind == "stablehlo.mesh" => {
            let get = |key| fields.iter().find(|f| program.name_text(f.0) == key).map(|f| program.attr_data(f.1));
            let AttrData::Array(axes) = get("axes")? else { return None };
            let axis = |&a: &Attr| {
                Some((field(program, a, "name")?.as_str()?.to_owned(), field(program, a, "size")?.as_int()?))
            };
            let ids = match get("device_ids") {
                Some(AttrData::Dense(_, ids)) => Some(ids.to_ints()?),
                Some(_) => return None,
                None => None,
            };
            (axes.iter().map(axis).collect::<Option<_>>()?, ids)
        }
        _ => return None,
    };
    let numbered = axes.iter().enumerate().map(|(i, a)| (Name::new(i), a.1)).collect();
    Some((axes.into_iter().map(|a| a.0).collect(), Mesh { axes: numbered, device_ids }))
}

/// A field of a struct.
fn field<'a>(program: &'a Program, attr: Attr, key: &str) -> Option<&'a AttrData> {
    match program.attr_data(attr) {
        AttrData::Struct(_, fields) => {
            fields.iter().find(|f| program.name_text(f.0) == key).map(|f| program.attr_data(f.1))
        }
        _ => None,
    }
}

/// The op with its groups, if axes of a mesh give them, written as rows; its results.
pub(super) fn in_rows(op: Op, build: &mut Builder<'_>) -> Option<Vec<Value>> {
    let rows = mesh_groups(build.program.view(op), super::GROUPS)?;
    let rows = crate::ops::build::collective::rows(build, &rows);
    let data = build.program.op(op).clone();
    let types: Vec<Ty> =
        build.program.results(op).collect::<Vec<_>>().into_iter().map(|v| build.program.value_type(v)).collect();
    let key = build.program.name(super::GROUPS);
    let attrs: Vec<(Name, Attr)> = data.attrs.iter().map(|&(n, a)| (n, if n == key { rows } else { a })).collect();
    let made = build.raw(data.def, data.def.name(), &data.operands, &types, &attrs, &data.regions);
    build.program.op_mut(made).span = data.span;
    Some(build.program.results(made).collect())
}

/// Whether the groups are given by axes of a mesh.
pub(super) fn is_mesh_groups(op: OpRef<'_>, name: &str) -> bool {
    matches!(op.attr(name), Some(AttrData::Struct(kind, _)) if &**kind == "stablehlo.replica_group_mesh_axes")
}
