//! Groups as attributes: lists as a dense tensor, axes of a mesh as `#stablehlo.replica_group_mesh_axes`, permutations
//! along axes and pairs within groups as custom attributes. All except lists are expanded only when lists are printed.
//!
//! Source: the StableHLO specification, "Replica groups".

use std::sync::Arc;

use super::axes::{AxisGroups, AxisPairs, AxisPermutation, GroupMesh};
use super::groups::{Lists, Rows};
use crate::ir::{Attr, AttrData, ElementType, Name, Program};
use crate::literal::Literal;
use crate::scalar::Scalar;
use crate::sharding::{Axes, AxisPart, Mesh, PairRun, Pairs};

const ALONG: &str = "stablehlo.replica_group_mesh_axes";
const MESH: &str = "stablehlo.mesh";
const MESH_AXIS: &str = "stablehlo.mesh_axis";
const AXIS: &str = "stablehlo.axis_ref";
const PERMUTATION: &str = "shardc.permutation";
const PAIRS: &str = "shardc.pairs";

/// Returns whether an attribute states groups along axes of a mesh, valid or not.
pub fn is_along_axes(program: &Program, attr: Attr) -> bool {
    matches!(program.attr_data(attr), AttrData::Struct(kind, _) if &**kind == ALONG)
}

/// Returns the groups, or pairs, of an attribute; `None` if it has none, or names a mesh or axes that don't exist.
pub fn rows(program: &Program, attr: Attr) -> Option<Rows> {
    match program.attr_data(attr) {
        AttrData::Dense(_, ids) => match ids.shape[..] {
            [_, _] if ids.is_empty() && !ids.element.is_float() => Some(Rows::All),
            _ => Lists::new(ids.clone()).map(Rows::Lists),
        },
        AttrData::Struct(kind, _) if &**kind == ALONG => {
            let mesh = mesh(program, field(program, attr, "mesh")?)?;
            let axes = axes(program, field(program, attr, "axes")?, &mesh)?;
            let replicas = field(program, attr, "replicas").and_then(AttrData::as_int).unwrap_or(1);
            AxisGroups::new(mesh, axes, replicas).map(|axes| Rows::Axes(Arc::new(axes)))
        }
        AttrData::Struct(kind, _) if &**kind == PERMUTATION => {
            let mesh = mesh(program, field(program, attr, "mesh")?)?;
            let from = axes(program, field(program, attr, "from")?, &mesh)?;
            let to = axes(program, field(program, attr, "to")?, &mesh)?;
            let shift = match (field(program, attr, "along"), field(program, attr, "shift")) {
                (Some(along), Some(by)) => Some((axes(program, along, &mesh)?, by.as_int()?)),
                (None, None) => None,
                _ => return None,
            };
            let moves = AxisPermutation::new(mesh, &from, &to)?;
            let moves = match shift {
                Some((along, by)) => moves.shifted(&along, by)?,
                None => moves,
            };
            Some(Rows::Permutation(Arc::new(moves)))
        }
        AttrData::Struct(kind, _) if &**kind == PAIRS => {
            let mesh = mesh(program, field(program, attr, "mesh")?)?;
            let axes = axes(program, field(program, attr, "axes")?, &mesh)?;
            let groups = AxisGroups::new(mesh, axes, 1)?;
            let AttrData::Dense(_, runs) = field(program, attr, "runs")? else { return None };
            let at = |i: usize| runs.get(i).as_i64();
            let run = |i: usize| {
                let (source, target, count) = (at(5 * i)?, at(5 * i + 1)?, at(5 * i + 4)?);
                Some(PairRun { source, target, source_step: at(5 * i + 2)?, target_step: at(5 * i + 3)?, count })
            };
            let runs: Vec<PairRun> = (0..runs.len() / 5).map(run).collect::<Option<_>>()?;
            let pairs = Pairs::of_runs(runs, groups.size() as i64)?;
            Some(Rows::Pairs(Arc::new(AxisPairs::new(groups, pairs))))
        }
        _ => None,
    }
}

/// Replaces the symbol of a mesh in groups along its axes by the mesh itself, so that the groups stay valid when the
/// symbol is removed; `None` for any other attribute, and if the mesh doesn't exist.
pub fn with_its_mesh(program: &mut Program, attr: Attr) -> Option<Attr> {
    let AttrData::Struct(kind, fields) = program.attr_data(attr) else { return None };
    let kind = kind.clone();
    let mut fields = fields.clone();
    let mesh = fields.iter_mut().find(|f| program.name_text(f.0) == "mesh")?;
    let AttrData::Symbol(name) = program.attr_data(mesh.1) else { return None };
    let named = crate::ops::sdy::mesh_named(program, name)?.clone();
    mesh.1 = MeshAttr::new(program, &named).0;
    Some(program.intern_attr(AttrData::Struct(kind, fields)))
}

/// Returns the lists for an attribute that states groups or pairs along axes; `None` for any other.
pub fn as_lists(program: &Program, attr: Attr) -> Option<Literal> {
    let rows = rows(program, attr)?;
    let by_axes = matches!(rows, Rows::Axes(_) | Rows::Permutation(_) | Rows::Pairs(_));
    by_axes.then(|| {
        let shape = [rows.count() as i64, rows.width() as i64];
        let ids = (0..rows.count()).flat_map(|row| rows.row(row)).map(|id| Scalar::Int(id.into()));
        Literal::from_scalars(ElementType::I64, &shape, ids)
    })
}

/// Returns whether an attribute states groups or pairs along axes in a syntax that can be parsed again: replicas of a
/// mesh have none. The syntax for pairs of a permute is custom, because the specification has none.
pub fn is_compact(program: &Program, attr: Attr) -> bool {
    let AttrData::Struct(kind, _) = program.attr_data(attr) else { return false };
    [ALONG, PERMUTATION, PAIRS].contains(&&**kind) && field(program, attr, "replicas").is_none()
}

/// Returns `[[0, 1], [2, 3]]`; rows shorter than the longest are padded with -1.
pub fn literal_of(lists: &[Vec<i64>]) -> Literal {
    let width = lists.iter().map(Vec::len).max().unwrap_or(0);
    let shape = [lists.len() as i64, width as i64];
    let ids = lists.iter().flat_map(|row| (0..width).map(move |i| row.get(i).copied().unwrap_or(-1)));
    Literal::from_scalars(ElementType::I64, &shape, ids.map(|id| Scalar::Int(id.into())))
}

/// Returns the mesh of groups: Shardy's mesh by its symbol, or `#stablehlo.mesh<axes = [#stablehlo.mesh_axis<name =
/// "x", size = 2>]>`.
fn mesh(program: &Program, mesh: &AttrData) -> Option<GroupMesh> {
    match mesh {
        AttrData::Symbol(name) => {
            let mesh = crate::ops::sdy::mesh_named(program, name)?;
            let axes = mesh.axes.iter().map(|a| (program.name_text(a.0).into(), a.1)).collect();
            GroupMesh::new(axes, mesh.device_ids.as_deref().map(order_of))
        }
        AttrData::Struct(kind, fields) if &**kind == MESH => {
            let get = |key| fields.iter().find(|f| program.name_text(f.0) == key).map(|f| program.attr_data(f.1));
            let AttrData::Array(axes) = get("axes")? else { return None };
            let axis =
                |&a: &Attr| Some((field(program, a, "name")?.as_str()?.into(), field(program, a, "size")?.as_int()?));
            let order = match get("device_ids") {
                Some(AttrData::Dense(_, ids)) => Some(ids.clone()),
                Some(_) => return None,
                None => None,
            };
            GroupMesh::new(axes.iter().map(axis).collect::<Option<_>>()?, order)
        }
        _ => None,
    }
}

fn order_of(ids: &[i64]) -> Literal {
    let ids = ids.iter().map(|&id| Scalar::Int(id.into()));
    Literal::from_scalars(ElementType::I64, &[ids.len() as i64], ids)
}

/// Reads `[#stablehlo.axis_ref<name = "x">, #stablehlo.axis_ref<name = "y", sub_axis_info = (1)2>]`.
fn axes(program: &Program, axes: &AttrData, mesh: &GroupMesh) -> Option<Axes> {
    let AttrData::Array(axes) = axes else { return None };
    let axis = |&attr: &Attr| {
        let name = field(program, attr, "name")?.as_str()?;
        let Some(part) = field(program, attr, "sub_axis_info") else { return mesh.axis(name, None) };
        let AttrData::Opaque(part) = part else { return None };
        let (pre, size) = part.strip_prefix('(')?.split_once(')')?;
        mesh.axis(name, Some((pre.parse().ok()?, size.parse().ok()?)))
    };
    axes.iter().map(axis).collect()
}

/// Returns a field of a struct.
fn field<'a>(program: &'a Program, attr: Attr, key: &str) -> Option<&'a AttrData> {
    match program.attr_data(attr) {
        AttrData::Struct(_, fields) => {
            fields.iter().find(|f| program.name_text(f.0) == key).map(|f| program.attr_data(f.1))
        }
        _ => None,
    }
}

/// A mesh as it appears in collectives' groups, interned once for all groups along its axes.
#[derive(Clone, Copy, Debug)]
pub struct MeshAttr(Attr);

impl MeshAttr {
    /// Interns `mesh`.
    pub fn new(program: &mut Program, mesh: &Mesh) -> Self {
        let axis = |program: &mut Program, (name, size): (Name, i64)| {
            let name = program.name_text(name).to_owned();
            let name = program.attr_str(&name);
            let size = program.attr_i64(size);
            structure(program, MESH_AXIS, &[("name", name), ("size", size)])
        };
        let axes: Vec<Attr> = mesh.axes.iter().map(|&a| axis(program, a)).collect();
        let mut fields = vec![("axes", program.intern_attr(AttrData::Array(axes)))];
        if let Some(ids) = &mesh.device_ids {
            let ty = program.tensor(&[ids.len() as i64], ElementType::I64);
            fields.push(("device_ids", program.intern_attr(AttrData::Dense(ty, order_of(ids)))));
        }
        Self(structure(program, MESH, &fields))
    }

    /// Returns the groups of devices that differ only in `axes`, in each of `replicas` replicas of the mesh.
    pub fn along(self, program: &mut Program, axes: &[AxisPart], replicas: i64) -> Attr {
        let axes = self.named(program, axes);
        let mut fields = vec![("mesh", self.0), ("axes", axes)];
        if replicas > 1 {
            fields.push(("replicas", program.attr_i64(replicas)));
        }
        structure(program, ALONG, &fields)
    }

    /// Returns the pairs that move every shard of a value from its device under `from` (all dimensions' axes in order)
    /// to its device under `to`.
    pub fn permutation(self, program: &mut Program, from: &[AxisPart], to: &[AxisPart]) -> Attr {
        let (from, to) = (self.named(program, from), self.named(program, to));
        structure(program, PERMUTATION, &[("mesh", self.0), ("from", from), ("to", to)])
    }

    /// Returns the same pairs with targets shifted by `by` places along `axes`, cyclically.
    pub fn shifted_permutation(
        self,
        program: &mut Program,
        (from, to): (&[AxisPart], &[AxisPart]),
        axes: &[AxisPart],
        by: i64,
    ) -> Attr {
        let [from, to, along] = [from, to, axes].map(|axes| self.named(program, axes));
        let by = program.attr_i64(by);
        let fields = [("mesh", self.0), ("from", from), ("to", to), ("along", along), ("shift", by)];
        structure(program, PERMUTATION, &fields)
    }

    /// Returns the same `pairs` of places within every group of devices that differ only in `axes`.
    pub fn pairs(self, program: &mut Program, axes: &[AxisPart], pairs: &Pairs) -> Attr {
        let axes = self.named(program, axes);
        let row = |r: &PairRun| [r.source, r.target, r.source_step, r.target_step, r.count];
        let shape = [pairs.runs().len() as i64, 5];
        let numbers = pairs.runs().iter().flat_map(row).map(|n| Scalar::Int(n.into()));
        let runs = Literal::from_scalars(ElementType::I64, &shape, numbers);
        let ty = program.tensor(&shape, ElementType::I64);
        let runs = program.intern_attr(AttrData::Dense(ty, runs));
        structure(program, PAIRS, &[("mesh", self.0), ("axes", axes), ("runs", runs)])
    }

    /// Returns `[#stablehlo.axis_ref<name = "x">]`: parts of the mesh's axes by name.
    fn named(self, program: &mut Program, parts: &[AxisPart]) -> Attr {
        let mut items = Vec::with_capacity(parts.len());
        for part in parts {
            let Some((name, size)) = self.axis(program, part.axis) else { continue };
            let mut fields = vec![("name", name)];
            if (part.pre, i64::from(part.size)) != (1, size) {
                let part = AttrData::Opaque(format!("({}){}", part.pre, part.size).into());
                fields.push(("sub_axis_info", program.intern_attr(part)));
            }
            items.push(structure(program, AXIS, &fields));
        }
        program.intern_attr(AttrData::Array(items))
    }

    /// Returns name and size of an axis of the mesh.
    fn axis(self, program: &Program, axis: u32) -> Option<(Attr, i64)> {
        let AttrData::Array(axes) = field(program, self.0, "axes")? else { return None };
        let AttrData::Struct(_, fields) = program.attr_data(*axes.get(axis as usize)?) else { return None };
        let get = |key| fields.iter().find(|f| program.name_text(f.0) == key).map(|f| f.1);
        Some((get("name")?, program.attr_data(get("size")?).as_int()?))
    }
}

fn structure(program: &mut Program, kind: &str, fields: &[(&str, Attr)]) -> Attr {
    let fields = fields.iter().map(|&(key, attr)| (program.name(key), attr)).collect();
    program.intern_attr(AttrData::Struct(kind.into(), fields))
}
