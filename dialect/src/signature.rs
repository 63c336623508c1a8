//! The global program's types, shardings and meshes, stored on a per-device `@main` as attributes that MLIR can ignore.
//! They are enough to shard inputs and to assemble results.

use crate::ir::{Attr, AttrData, Op, Program, TensorType, Ty, TypeData};
use crate::ops::func;
use crate::ops::stablehlo::transfer;
use crate::sharding::{Layout, Mesh, MeshRef, TensorSharding};

/// The global type of an argument or result.
pub const GLOBAL_TYPE: &str = "shardc.global_type";
/// Its sharding, as text: `<@mesh, […]>`.
pub const SHARDING: &str = "shardc.sharding";
/// The module's meshes, as texts by name.
pub const MESHES: &str = "shardc.meshes";

/// One argument or result of the global program.
#[derive(Clone, Debug)]
pub struct Side {
    /// Its type; for a token, the type of the evaluator's value for it, which has no elements.
    pub global: TensorType,
    /// Its sharding; `None` means replicated.
    pub sharding: Option<TensorSharding>,
    /// Whether it is a token, which orders effects and has no data.
    pub is_token: bool,
}

/// The global program's signature.
#[derive(Clone, Debug)]
pub struct Signature {
    /// The mesh and its name, if there is one.
    pub mesh: Option<(String, Mesh)>,
    /// The arguments.
    pub arguments: Vec<Side>,
    /// The results.
    pub results: Vec<Side>,
}

impl Signature {
    /// Reads the attributes of a per-device program's `@main`; arguments and results without them are replicated.
    /// `None` without `@main`, for types other than tensors and tokens, and if an attribute is malformed.
    pub fn of(program: &mut Program) -> Option<Self> {
        let main = func::function(program, "main")?;
        let types = func::signature(program, main);
        let (inputs, outputs) = (types.inputs.to_vec(), types.results.to_vec());
        let mut arguments = Vec::with_capacity(inputs.len());
        for (i, &own) in inputs.iter().enumerate() {
            let ty = func::arg_attr(program, main, i, GLOBAL_TYPE);
            let text = func::arg_attr(program, main, i, SHARDING);
            arguments.push(side(program, own, ty, text)?);
        }
        let mut results = Vec::with_capacity(outputs.len());
        for (i, &own) in outputs.iter().enumerate() {
            let ty = func::result_attr(program, main, i, GLOBAL_TYPE);
            let text = func::result_attr(program, main, i, SHARDING);
            results.push(side(program, own, ty, text)?);
        }
        Some(Self { mesh: mesh(program), arguments, results })
    }

    /// Returns the layout of `side` on the devices: one mesh position per device, or one device without a mesh. A
    /// sharding over an inline mesh is on the devices that this mesh names.
    pub fn layout(&self, side: &Side) -> Layout {
        let of_part = side.sharding.as_ref().and_then(|sharding| match &sharding.mesh {
            MeshRef::Inline(mesh) => Some((sharding, mesh)),
            MeshRef::Symbol(_) => None,
        });
        match (of_part, &self.mesh) {
            (Some((sharding, mesh)), Some((_, all))) => {
                let layout = Layout::new(&side.global, Some(sharding), mesh);
                layout.among(mesh, all.devices().max(1) as usize)
            }
            (_, Some((_, mesh))) => Layout::new(&side.global, side.sharding.as_ref(), mesh),
            (_, None) => Layout::new(&side.global, None, &Mesh::default()),
        }
    }
}

/// Returns whether `main` states global types, as in a per-device program.
pub fn is_stated(program: &Program, main: Op) -> bool {
    let types = func::signature(program, main);
    (0..types.inputs.len()).any(|i| func::arg_attr(program, main, i, GLOBAL_TYPE).is_some())
        || (0..types.results.len()).any(|i| func::result_attr(program, main, i, GLOBAL_TYPE).is_some())
}

fn side(program: &mut Program, own: Ty, ty: Option<Attr>, text: Option<Attr>) -> Option<Side> {
    let ty = match ty.map(|a| program.attr_data(a)) {
        Some(AttrData::Type(ty)) => *ty,
        Some(_) => return None,
        None => own,
    };
    let is_token = *program.type_data(ty) == TypeData::Token;
    let global = if is_token { transfer::token().ty() } else { program.type_data(ty).tensor()?.clone() };
    let sharding = match text {
        Some(text) => {
            let text = program.attr_data(text).as_str()?.to_owned();
            let attr = crate::text::attribute_of_text(program, &format!("#sdy.sharding{text}"))?;
            Some(program.attr_data(attr).as_sharding()?.clone())
        }
        None => None,
    };
    Some(Side { global, sharding, is_token })
}

/// Returns the attributes of a per-device op about its global value.
pub fn stated_side(program: &mut Program, op: Op) -> Option<Side> {
    let (ty, text) = (program.attr(op, GLOBAL_TYPE)?, program.attr(op, SHARDING));
    let own = program.value_type(*program.op(op).operands.first()?);
    side(program, own, Some(ty), text)
}

/// Returns the mesh of a per-device program, with its name.
fn mesh(program: &mut Program) -> Option<(String, Mesh)> {
    let attr = program.attr(program.module, MESHES)?;
    let AttrData::Dict(entries) = program.attr_data(attr) else { return None };
    let &(name, text) = entries.first()?;
    let text = program.attr_data(text).as_str()?.to_owned();
    let name = program.name_text(name).to_owned();
    let attr = crate::text::attribute_of_text(program, &format!("#sdy.mesh{text}"))?;
    Some((name, program.attr_data(attr).as_mesh()?.clone()))
}
