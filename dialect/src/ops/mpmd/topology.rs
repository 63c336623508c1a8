//! The meshes of a program over several: the attribute `topology` of its functions.

use crate::ir::{AttrData, MeshTensor, Name, Op, OpRef, Program, TensorType, Value};
use crate::ops::func;
use crate::sharding::{Layout, Mesh};

/// The attribute of a function with its topology.
pub const TOPOLOGY: &str = "topology";

/// The meshes of a topology, with the devices of each.
///
/// The devices of a mesh without `device_ids` come after those of the meshes before it; `device_ids` name devices of the whole
/// program, and meshes may share some.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Topology {
    /// Each mesh with its name; its `device_ids` are always there, and name devices of the whole program.
    pub meshes: Vec<(Name, Mesh)>,
}

impl Topology {
    /// That of a function, if it has one.
    pub fn of(program: &Program, function: Op) -> Option<Self> {
        let AttrData::Topology(meshes) = program.attr_data(program.attr(function, TOPOLOGY)?) else { return None };
        Some(Self::new(meshes))
    }

    /// The topology of these meshes.
    pub fn new(meshes: &[(Name, Mesh)]) -> Self {
        let mut next = 0;
        let mut placed = Vec::with_capacity(meshes.len());
        for (name, mesh) in meshes {
            let mut mesh = mesh.clone();
            let ids = mesh.device_ids.take().unwrap_or_else(|| (next..next + mesh.devices()).collect());
            next = ids.iter().map(|&id| id.saturating_add(1)).max().unwrap_or(0).max(next);
            mesh.device_ids = Some(ids);
            placed.push((*name, mesh));
        }
        Self { meshes: placed }
    }

    /// One past the largest device.
    pub fn devices(&self) -> i64 {
        let ids = self.meshes.iter().flat_map(|m| m.1.device_ids.iter().flatten());
        ids.map(|&id| id.saturating_add(1)).max().unwrap_or(0)
    }

    /// The mesh called `name`.
    pub fn mesh(&self, name: Name) -> Option<&Mesh> {
        self.meshes.iter().find(|m| m.0 == name).map(|m| &m.1)
    }

    /// The devices of the mesh called `name`, by their positions.
    pub fn ids(&self, name: Name) -> &[i64] {
        self.mesh(name).and_then(|mesh| mesh.device_ids.as_deref()).unwrap_or_default()
    }

    /// The mesh called `name` by itself: its devices are numbered by their positions.
    pub fn alone(&self, name: Name) -> Option<Mesh> {
        self.mesh(name).map(|mesh| Mesh { axes: mesh.axes.clone(), device_ids: None })
    }

    /// How a tensor is sharded on its mesh, whose devices are numbered by their positions.
    pub fn layout(&self, tensor: &MeshTensor) -> Option<Layout> {
        Some(Layout::new(&tensor.tensor, tensor.sharding.as_ref(), &self.alone(tensor.mesh)?))
    }

    /// A device's shard of a tensor.
    pub fn local_type(&self, tensor: &MeshTensor) -> Option<TensorType> {
        self.layout(tensor).map(|layout| layout.local_type())
    }
}

/// The mesh that a value is on, if its type says one.
pub fn mesh_of(program: &Program, value: Value) -> Option<Name> {
    program.type_data(program.value_type(value)).mesh_tensor().map(|tensor| tensor.mesh)
}

/// The names of the computations that an op came from, each with how often JAX transposed it.
pub fn origins(op: OpRef<'_>) -> Vec<(Name, i64)> {
    let of = |data: &AttrData| match data {
        AttrData::Origin(name, transposed) => Some((*name, *transposed)),
        _ => None,
    };
    match op.attr(super::ORIGIN) {
        Some(AttrData::Array(list)) => list.iter().filter_map(|&attr| of(op.program.attr_data(attr))).collect(),
        Some(one) => of(one).into_iter().collect(),
        None => Vec::new(),
    }
}

/// The topology of the function that is the program's own.
pub(super) fn of_program(program: &Program) -> Option<Topology> {
    Topology::of(program, func::function(program, "main")?)
}
