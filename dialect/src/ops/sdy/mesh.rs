//! `sdy.mesh`, and lookup of meshes by name.

use crate::eval::{Context, EvalError, EvalResult};
use crate::ir::{AttrData, Name, Op, OpRef, Program};
use crate::literal::Literal;
use crate::op::{Inferred, OpDef, Problem};
use crate::ops::{func, mpmd};
use crate::sharding::{Mesh, MeshRef};
use crate::text::Syntax;

/// `sdy.mesh @mesh = <["x"=2, "y"=4]>`: gives a mesh a name.
pub struct MeshOp;
/// `sdy.mesh`
pub static MESH: MeshOp = MeshOp;

impl OpDef for MeshOp {
    fn name(&self) -> &'static str {
        "sdy.mesh"
    }

    fn syntax(&self) -> Syntax {
        Syntax::Custom(&super::text::MESH)
    }

    fn infer(&self, op: OpRef<'_>) -> Inferred {
        match op.attr("mesh").and_then(AttrData::as_mesh) {
            Some(_) => Ok(Vec::new()),
            None => Err(Problem::new("expected a mesh").note("write sdy.mesh @mesh = <[\"x\"=2, \"y\"=4]>").into()),
        }
    }

    fn evaluate(&self, _: OpRef<'_>, _: &[Literal], _: &mut dyn Context) -> EvalResult<Vec<Literal>> {
        Err(EvalError::new("a mesh can't be evaluated"))
    }

    fn examples(&self) -> &'static [&'static str] {
        &["() sdy.mesh @mesh = <[\"a\"=3, \"b\"=2], device_ids=[0, 2, 4, 1, 3, 5]>"]
    }
}

/// Returns the meshes of a module, in order: the op, its name, the mesh.
pub fn meshes(program: &Program) -> impl Iterator<Item = (Op, &str, &Mesh)> {
    let mesh = |op: Op| Some((op, func::symbol(program, op)?, program.view(op).attr("mesh")?.as_mesh()?));
    program.top_level(MESH.name()).filter_map(mesh)
}

/// Returns the mesh called `name`: one of the module, or else one of the topology of `@main`.
pub fn mesh_named<'a>(program: &'a Program, name: &str) -> Option<&'a Mesh> {
    let own = meshes(program).find(|mesh| mesh.1 == name).map(|mesh| mesh.2);
    own.or_else(|| topology_meshes(program).iter().find(|mesh| program.name_text(mesh.0) == name).map(|mesh| &mesh.1))
}

/// Returns the meshes of the topology of `@main`, as written.
pub fn topology_meshes(program: &Program) -> &[(Name, Mesh)] {
    let main = func::function(program, "main");
    match main.and_then(|main| program.attr(main, mpmd::TOPOLOGY)).map(|attr| program.attr_data(attr)) {
        Some(AttrData::Topology(meshes)) => meshes,
        _ => &[],
    }
}

/// Returns the mesh a sharding refers to.
pub fn resolve<'a>(program: &'a Program, mesh: &'a MeshRef) -> Option<&'a Mesh> {
    match mesh {
        MeshRef::Symbol(name) => mesh_named(program, program.name_text(*name)),
        MeshRef::Inline(mesh) => Some(mesh),
    }
}
