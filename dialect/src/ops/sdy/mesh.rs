//! `sdy.mesh`, and finding meshes by name.

use crate::eval::{Context, EvalError, EvalResult};
use crate::ir::{AttrData, OpRef, Program};
use crate::kernel::Kernel;
use crate::literal::Literal;
use crate::op::{Inferred, OpDef, Problem};
use crate::sharding::{Mesh, MeshRef, ShardingRule};
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

    fn kernel(&self, _: OpRef<'_>) -> Kernel {
        Kernel::None
    }

    fn sharding_rule(&self, _: OpRef<'_>) -> Option<ShardingRule> {
        None
    }

    fn evaluate(&self, _: OpRef<'_>, _: &[Literal], _: &mut dyn Context) -> EvalResult<Vec<Literal>> {
        Err(EvalError::new("a mesh is no computation"))
    }

    fn examples(&self) -> &'static [&'static str] {
        &["() sdy.mesh @mesh = <[\"a\"=3, \"b\"=2], device_ids=[0, 2, 4, 1, 3, 5]>"]
    }
}

/// The mesh called `name`.
pub fn mesh_named<'a>(program: &'a Program, name: &str) -> Option<&'a Mesh> {
    let op = program.top_level("sdy.mesh").find(|&op| super::super::func::symbol(program, op) == Some(name))?;
    program.attr(op, "mesh").and_then(|a| program.attr_data(a).as_mesh())
}

/// The mesh a sharding means.
pub fn resolve<'a>(program: &'a Program, mesh: &'a MeshRef) -> Option<&'a Mesh> {
    match mesh {
        MeshRef::Symbol(name) => mesh_named(program, program.name_text(*name)),
        MeshRef::Inline(mesh) => Some(mesh),
    }
}
