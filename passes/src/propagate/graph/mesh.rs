//! The meshes of a program, numbered; they convert shardings to compact axes and back.

use dialect::ir::Name;
use dialect::sharding::{AxisList, AxisPart, AxisRef, Mesh, MeshRef, TensorSharding};
use rustc_hash::FxHashMap;

use crate::propagate::algorithm::sharding::Sharding;

/// One mesh.
pub struct MeshInfo {
    /// Its symbol.
    pub name: Name,
    /// Its axes and devices.
    pub mesh: Mesh,
}

impl MeshInfo {
    /// Returns `axis` by its name in the text.
    pub fn axis_ref(&self, axis: AxisPart) -> AxisRef {
        self.mesh.axis_ref(axis)
    }

    /// Returns the axis with this name in the text; `None` when the mesh has no such axis or its size doesn't fit.
    pub fn axis(&self, axis: AxisRef) -> Option<AxisPart> {
        self.mesh.axis_part(axis)
    }
}

/// All meshes, by number and by symbol. Equal meshes share one number.
#[derive(Default)]
pub struct Meshes {
    list: Vec<MeshInfo>,
    by_name: FxHashMap<Name, u32>,
}

impl Meshes {
    /// Adds the mesh called `name`; one equal to an earlier mesh gets its number.
    pub fn add(&mut self, name: Name, mesh: &Mesh) -> u32 {
        let number = self.find(mesh).unwrap_or_else(|| {
            self.list.push(MeshInfo { name, mesh: mesh.clone() });
            (self.list.len() - 1) as u32
        });
        self.by_name.entry(name).or_insert(number);
        number
    }

    /// Returns the number of a mesh equal to `mesh`.
    pub fn find(&self, mesh: &Mesh) -> Option<u32> {
        self.list.iter().position(|m| m.mesh == *mesh).map(|i| i as u32)
    }

    /// Returns the number of the mesh called `name`.
    pub fn named(&self, name: Name) -> Option<u32> {
        self.by_name.get(&name).copied()
    }

    /// Returns whether shardings are written with this symbol.
    pub fn is_symbol(&self, name: Name) -> bool {
        self.list.iter().any(|m| m.name == name)
    }

    /// Returns the mesh numbered `number`.
    pub fn get(&self, number: u32) -> &MeshInfo {
        &self.list[number as usize]
    }

    /// Returns whether it is a mesh without axes and devices, which is compatible with every other.
    pub fn is_empty_mesh(&self, number: u32) -> bool {
        let mesh = &self.get(number).mesh;
        mesh.axes.is_empty() && mesh.device_ids.is_none()
    }

    /// Returns the compact form without axes of size one, which have no effect.
    pub fn read_nontrivial(&self, sharding: &TensorSharding) -> Option<Sharding> {
        let mut compact = self.read(sharding)?;
        for dim in &mut compact.dims {
            dim.axes.retain(|a| a.size != 1);
            if dim.axes.is_empty() && !dim.open {
                dim.priority = None;
            }
        }
        compact.replicated.retain(|a| a.size != 1);
        compact.unreduced.retain(|a| a.size != 1);
        Some(compact)
    }

    /// Returns the compact form; `None` when it names an unknown mesh or axis.
    fn read(&self, sharding: &TensorSharding) -> Option<Sharding> {
        let mesh = match &sharding.mesh {
            MeshRef::Symbol(name) => self.named(*name)?,
            MeshRef::Inline(mesh) => self.find(mesh)?,
        };
        let info = self.get(mesh);
        sharding.convert(mesh, |a| info.axis(a))
    }

    /// Returns axes of mesh `mesh` by their names in the text.
    pub fn axes(&self, mesh: u32, axes: &[AxisPart]) -> AxisList {
        let info = self.get(mesh);
        axes.iter().map(|&a| info.axis_ref(a)).collect()
    }

    /// Returns the sharding as written in the text.
    pub fn write(&self, sharding: &Sharding) -> TensorSharding {
        let info = self.get(sharding.mesh);
        let written = sharding.convert(MeshRef::Symbol(info.name), |a| Some(info.axis_ref(a)));
        written.expect("every axis has a name")
    }
}
