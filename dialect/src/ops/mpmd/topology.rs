//! The meshes of a program over several meshes: the attribute `topology` of its functions.

use crate::ir::{AttrData, MeshTensor, Name, Op, OpRef, Program, TensorType, Value};
use crate::ops::func;
use crate::sharding::{Layout, MAX_DEVICES, Mesh};

/// The attribute of a function with its topology.
pub const TOPOLOGY: &str = "topology";

/// The meshes of a topology, with the devices of each.
///
/// The devices of a mesh without `device_ids` come after those of the meshes before it; `device_ids` name devices of
/// the whole program, and meshes may share devices.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Topology {
    /// Each mesh with its name. Its `device_ids` are always present and name devices of the whole program.
    pub meshes: Vec<(Name, Mesh)>,
}

impl Topology {
    /// Returns the topology of a function, if it has one.
    pub fn of(program: &Program, function: Op) -> Option<Self> {
        let AttrData::Topology(meshes) = program.attr_data(program.attr(function, TOPOLOGY)?) else { return None };
        Some(Self::new(meshes))
    }

    /// Returns the topology of these meshes. Devices after the first [`MAX_DEVICES`], which no verified program has,
    /// get no numbers.
    pub fn new(meshes: &[(Name, Mesh)]) -> Self {
        let mut next = 0i64;
        let mut placed = Vec::with_capacity(meshes.len());
        for (name, mesh) in meshes {
            let mut mesh = mesh.clone();
            let end = next.saturating_add(mesh.devices()).min(MAX_DEVICES);
            let ids = mesh.device_ids.take().unwrap_or_else(|| (next..end).collect());
            next = ids.iter().map(|&id| id.saturating_add(1)).max().unwrap_or(0).max(next);
            mesh.device_ids = Some(ids);
            placed.push((*name, mesh));
        }
        Self { meshes: placed }
    }

    /// Returns the largest device number plus one.
    pub fn devices(&self) -> i64 {
        let ids = self.meshes.iter().flat_map(|m| m.1.device_ids.iter().flatten());
        ids.map(|&id| id.saturating_add(1)).max().unwrap_or(0)
    }

    /// Returns the mesh called `name`.
    pub fn mesh(&self, name: Name) -> Option<&Mesh> {
        self.meshes.iter().find(|m| m.0 == name).map(|m| &m.1)
    }

    /// Returns the devices of the mesh called `name`, in order of their positions.
    pub fn ids(&self, name: Name) -> &[i64] {
        self.mesh(name).and_then(|mesh| mesh.device_ids.as_deref()).unwrap_or_default()
    }

    /// Returns the mesh called `name` by itself, with devices numbered by their positions.
    pub fn alone(&self, name: Name) -> Option<Mesh> {
        self.mesh(name).map(|mesh| Mesh { axes: mesh.axes.clone(), device_ids: None })
    }

    /// Returns the layout of a tensor on its mesh, with devices numbered by their positions.
    pub fn layout(&self, tensor: &MeshTensor) -> Option<Layout> {
        Some(Layout::new(&tensor.tensor, tensor.sharding.as_ref(), &self.alone(tensor.mesh)?))
    }

    /// Returns a device's shard of a tensor.
    pub fn local_type(&self, tensor: &MeshTensor) -> Option<TensorType> {
        self.layout(tensor).map(|layout| layout.local_type())
    }
}

/// Returns the mesh of a value, if its type names one.
pub fn mesh_of(program: &Program, value: Value) -> Option<Name> {
    program.type_data(program.value_type(value)).mesh_tensor().map(|tensor| tensor.mesh)
}

/// Returns the names of the computations that an op came from, each with the number of times JAX transposed it.
pub fn origins(op: OpRef<'_>) -> Vec<(Name, i64)> {
    match op.attr(super::ORIGIN) {
        Some(AttrData::Array(list)) => list.iter().filter_map(|&attr| op.program.attr_data(attr).as_origin()).collect(),
        Some(one) => one.as_origin().into_iter().collect(),
        None => Vec::new(),
    }
}

/// Returns the topology of the program's main function.
pub(super) fn of_program(program: &Program) -> Option<Topology> {
    Topology::of(program, func::function(program, "main")?)
}
