//! Unifies meshes: meshes over the same devices in the same order are views of one another.
//!
//! An axis is a run of the row-major device number. Where the runs of one mesh split those of another into whole
//! factors, every axis of the latter is a list of (sub-)axes of the former, and its shardings can be rewritten. Runs
//! after propagation, which by Shardy's semantics never crosses meshes.

use dialect::codes;
use dialect::diagnostic::{Diagnostic, Diagnostics};
use dialect::ir::{Attr, AttrData, Name, Op, Program};
use dialect::ops::{func, sdy};
use dialect::sharding::{AxisList, AxisRef, Mesh, MeshRef, TensorSharding};

/// Rewrites every sharding to the module's first mesh that can express all of them.
pub fn unify_meshes(program: &mut Program, diagnostics: &mut Diagnostics) {
    drop_empty(program);
    let meshes: Vec<(Op, String, Mesh)> =
        sdy::meshes(program).filter(|m| !m.2.axes.is_empty()).map(|(op, n, m)| (op, n.to_owned(), m.clone())).collect();
    if meshes.len() < 2 {
        return;
    }
    let fits = |target: &Mesh| {
        meshes
            .iter()
            .all(|m| m.2.axes.iter().all(|&(axis, _)| target.translate_refs(&[AxisRef::full(axis)], &m.2).is_some()))
            && manual_axes(program).iter().all(|(axis, from)| whole_axes(*axis, from, target).is_some())
    };
    let Some(main) = meshes.iter().position(|m| fits(&m.2)) else {
        let d = Diagnostic::error(
            codes::UNRELATED_MESHES,
            program.op(meshes[1].0).span,
            "the axes of two meshes divide the devices so that neither mesh refines the other",
        )
        .also(program.op(meshes[0].0).span, "the other mesh")
        .note("give both meshes the same device order, and axes whose sizes divide each other's");
        return diagnostics.push(d);
    };
    let names: Vec<Name> = meshes.iter().map(|m| program.name(&m.1)).collect();
    let target = meshes[main].2.clone();
    let rewrite = Rewrite {
        target: &target,
        target_name: names[main],
        meshes: names.into_iter().zip(meshes.iter().map(|m| &m.2)).collect(),
    };
    for index in 0..program.op_count() {
        let op = Op::new(index);
        let mesh = mesh_of(program, op).cloned();
        for i in 0..program.op(op).attrs.len() {
            let old = program.op(op).attrs[i].1;
            let new = rewrite.attr(program, old, mesh.as_ref());
            program.op_mut(op).attrs[i].1 = new;
        }
    }
    let body = program.body();
    let gone: Vec<Op> = meshes.iter().enumerate().filter(|m| m.0 != main).map(|m| m.1.0).collect();
    let kept = program.block_ops(body).iter().copied().filter(|op| !gone.contains(op)).collect();
    program.set_block_ops(body, kept);
}

/// Removes shardings over a mesh without axes from ops, as JAX states them for callbacks in a `shard_map`, because they
/// have no meaning.
fn drop_empty(program: &mut Program) {
    let is_empty = |mesh: &Mesh| mesh.axes.is_empty() && !mesh.is_maximal();
    if !sdy::meshes(program).any(|(_, _, mesh)| is_empty(mesh)) {
        return;
    }
    for op in program.ops_under(program.body()) {
        let shardings = sdy::result_shardings(program.view(op)).unwrap_or_default();
        let empty = |s: &TensorSharding| sdy::resolve(program, &s.mesh).is_some_and(is_empty);
        if !shardings.is_empty() && shardings.iter().all(empty) {
            program.remove_attr(op, func::SHARDING);
        }
    }
}

/// Returns the mesh that an op's own lists of axes refer to: that of its shardings.
fn mesh_of(program: &Program, op: Op) -> Option<&Mesh> {
    let view = program.view(op);
    if let Some(manual) = sdy::ManualComputation::of(view) {
        return manual.mesh;
    }
    program.op(op).attrs.iter().find_map(|a| match program.attr_data(a.1) {
        AttrData::Sharding(s) => sdy::resolve(program, &s.mesh),
        AttrData::ShardingPerValue(list) => list.first().and_then(|s| sdy::resolve(program, &s.mesh)),
        _ => None,
    })
}

/// Returns the manual axes of the program's manual computations, each with its mesh.
fn manual_axes(program: &Program) -> Vec<(Name, Mesh)> {
    let mut list: Vec<(Name, Mesh)> = Vec::new();
    program.walk(program.body(), &mut |op| {
        if let Some(manual) = sdy::ManualComputation::of(program.view(op))
            && let Some(mesh) = manual.mesh
        {
            for &axis in manual.manual_axes {
                if !list.iter().any(|(a, m)| *a == axis && m == mesh) {
                    list.push((axis, mesh.clone()));
                }
            }
        }
    });
    list
}

/// Returns `axis` of `from` as whole axes of `to`, because a manual axis can't be a sub-axis.
fn whole_axes(axis: Name, from: &Mesh, to: &Mesh) -> Option<Vec<Name>> {
    let parts = to.translate_refs(&[AxisRef::full(axis)], from)?;
    parts.iter().map(|part| part.sub.is_none().then_some(part.name)).collect()
}

struct Rewrite<'a> {
    target: &'a Mesh,
    target_name: Name,
    meshes: Vec<(Name, &'a Mesh)>,
}

impl Rewrite<'_> {
    /// Rewrites an attribute; `mesh` is the mesh that its own axes refer to.
    fn attr(&self, program: &mut Program, attr: Attr, mesh: Option<&Mesh>) -> Attr {
        let new = match (program.attr_data(attr).clone(), mesh) {
            (AttrData::ManualAxes(names), Some(mesh)) => {
                let whole = names.iter().flat_map(|&axis| whole_axes(axis, mesh, self.target).unwrap_or_default());
                let mut whole: Vec<Name> = whole.collect();
                whole.sort_by_key(|&axis| self.target.axis_index(axis));
                AttrData::ManualAxes(whole)
            }
            (AttrData::Axes(axes), Some(mesh)) => AttrData::Axes(self.list(&axes, mesh)),
            (AttrData::AxesPerDim(dims), Some(mesh)) => {
                AttrData::AxesPerDim(dims.iter().map(|axes| self.list(axes, mesh)).collect())
            }
            (AttrData::AllToAllParams(mut moves), Some(mesh)) => {
                moves.iter_mut().for_each(|m| m.axes = self.list(&m.axes, mesh));
                AttrData::AllToAllParams(moves)
            }
            (data, _) => return self.nested(program, attr, data, mesh),
        };
        program.intern_attr(new)
    }

    fn nested(&self, program: &mut Program, attr: Attr, data: AttrData, mesh: Option<&Mesh>) -> Attr {
        let new = match data {
            AttrData::Sharding(s) => AttrData::Sharding(self.sharding(&s)),
            AttrData::ShardingPerValue(list) => {
                AttrData::ShardingPerValue(list.iter().map(|s| self.sharding(s)).collect())
            }
            AttrData::Array(items) => AttrData::Array(items.iter().map(|&a| self.attr(program, a, mesh)).collect()),
            AttrData::Dict(items) => {
                AttrData::Dict(items.iter().map(|&(n, a)| (n, self.attr(program, a, mesh))).collect())
            }
            _ => return attr,
        };
        program.intern_attr(new)
    }

    fn sharding(&self, s: &TensorSharding) -> TensorSharding {
        let mesh = match &s.mesh {
            MeshRef::Symbol(name) if *name == self.target_name => return s.clone(),
            MeshRef::Symbol(name) => self.meshes.iter().find(|m| m.0 == *name).map(|m| m.1),
            MeshRef::Inline(mesh) => Some(&**mesh),
        };
        let Some(mesh) = mesh else { return s.clone() };
        let list = |axes: &AxisList| self.list(axes, mesh);
        let mut new = s.clone();
        new.mesh = MeshRef::Symbol(self.target_name);
        for d in &mut new.dims {
            d.axes = list(&d.axes);
        }
        (new.replicated, new.unreduced) = (list(&s.replicated), list(&s.unreduced));
        new
    }

    /// Translates axes of `from` to axes of the target.
    fn list(&self, axes: &AxisList, from: &Mesh) -> AxisList {
        self.target.translate_refs(axes, from).unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn axes_of_one_mesh_are_parts_of_anothers() {
        let mut p = Program::new();
        let [x, y, z] = ["x", "y", "z"].map(|n| p.name(n));
        let mesh = |axes: &[(Name, i64)]| Mesh { axes: axes.iter().copied().collect(), device_ids: None };
        let (grid, line) = (mesh(&[(x, 2), (y, 4)]), mesh(&[(z, 8)]));
        assert_eq!(
            grid.translate_refs(&[AxisRef::full(z)], &line).as_deref(),
            Some(&[AxisRef::full(x), AxisRef::full(y)][..])
        );
        assert_eq!(
            line.translate_refs(&[AxisRef::full(y)], &grid).as_deref(),
            Some(&[AxisRef::part(z, 2, 4, &line)][..])
        );
        let other = mesh(&[(x, 4), (y, 2)]);
        assert_eq!(
            other.translate_refs(&[AxisRef::full(y)], &grid).as_deref(),
            Some(&[AxisRef::part(x, 2, 2, &other), AxisRef::full(y)][..])
        );
        let (six, two) = (mesh(&[(x, 2), (y, 3)]), mesh(&[(x, 3), (y, 2)]));
        assert_eq!(two.translate_refs(&[AxisRef::full(x)], &six), None);
    }
}
