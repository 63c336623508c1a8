//! Ops with a region: named computations, fragments and loops with a fixed number of iterations.

use super::{MEMORY_KINDS, MESH_NAME, ORIGIN, STAGE, text};
use crate::eval::{Context, LaneResults, Lanes, Mask};
use crate::ir::{AttrData, ElementType, OpRef, TensorType, TypeData};
use crate::literal::Literal;
use crate::op::{Inferred, OpDef, Problem};
use crate::ops::stablehlo::control::region;
use crate::ops::support::constraint::require;
use crate::ops::support::inline::{InlineRegion, check_arguments, returned_types, type_list};
use crate::scalar::Scalar;
use crate::text::Syntax;

/// The type of the iteration's number, the last argument of a loop's body: a rank-0 `ui32`.
pub const INDEX: ElementType = ElementType::UI32;

/// `mpmd.named_computation<"f"(1)>(%a) (%b: T) { … } : (T) -> T`: gives ops a name, by which they may be assigned to a
/// mesh.
pub static NAMED_COMPUTATION: InlineRegion = InlineRegion {
    name: "mpmd.named_computation",
    syntax: &text::NAMED_COMPUTATION,
    infer: |op| {
        if !matches!(op.attr(ORIGIN), Some(AttrData::Origin(..))) {
            return Err(Problem::new("a named computation needs a name").note("write <\"name\">").into());
        }
        check_arguments(op, op.operand_types())?;
        Ok(returned_types(op))
    },
    has_flow: true,
    examples: &["(%a: tensor<4xf32>) %r = mpmd.named_computation<\"f\"(1)> (%a) (%b: tensor<4xf32>) { \
         %n = stablehlo.negate %b : tensor<4xf32> mpmd.return %n : tensor<4xf32> } : (tensor<4xf32>) -> tensor<4xf32>"],
};

/// `mpmd.fragment<mesh="m", origin=["f"]> (%a) (%b: T) { … } : (!mpmd.mesh_tensor<"m", T>) -> !mpmd.mesh_tensor<"m",
/// T>`: a computation on one mesh. Its body works on global tensors.
pub static FRAGMENT: InlineRegion = InlineRegion {
    name: "mpmd.fragment",
    syntax: &text::FRAGMENT,
    infer: infer_fragment,
    has_flow: false,
    examples: &[
        "(%a: !mpmd.mesh_tensor<\"m\", tensor<4xf32>>) %r = mpmd.fragment<mesh=\"m\", origin=[\"f\"], stage=1> (%a) \
         (%b: tensor<4xf32>) { %n = stablehlo.negate %b : tensor<4xf32> mpmd.return %n : tensor<4xf32> } \
         : (!mpmd.mesh_tensor<\"m\", tensor<4xf32>>) -> !mpmd.mesh_tensor<\"m\", tensor<4xf32>>",
    ],
};

/// Returns the global types of the tensors on `mesh` that a fragment takes or returns; a token is on any mesh.
pub(super) fn on_mesh<'a>(
    op: OpRef<'a>,
    types: impl Iterator<Item = &'a TypeData>,
    what: &str,
) -> Result<Vec<TypeData>, Problem> {
    let Some(mesh) = op.attr(MESH_NAME).and_then(AttrData::as_str) else {
        return Err(Problem::new("the name of a mesh is missing").note("write <mesh=\"m\", origin=[]>"));
    };
    let each = types.enumerate().map(|(i, ty)| match ty {
        TypeData::MeshTensor(t) if op.program.name_text(t.mesh) == mesh => Ok(t.tensor.clone().into()),
        TypeData::Token => Ok(TypeData::Token),
        other => {
            let message =
                format!("{what} {i} is {}, expected a tensor on mesh \"{mesh}\"", op.program.type_data_text(other));
            Err(Problem::new(message).note("move a value from another mesh with mpmd.transfer"))
        }
    });
    each.collect()
}

fn infer_fragment(op: OpRef<'_>) -> Inferred {
    let operands = on_mesh(op, op.operand_types(), "operand")?;
    let results = on_mesh(op, op.result_types(), "result")?;
    check_arguments(op, operands.iter())?;
    let returned = returned_types(op);
    require!(
        returned == results,
        "the body returns ({}), but the results are ({})",
        type_list(op, &returned),
        type_list(op, &results)
    );
    if !matches!(op.attr(ORIGIN), Some(AttrData::Array(_))) {
        return Err(Problem::new("the list of origins is missing").note("write origin=[]").into());
    }
    if op.attr(STAGE).is_some() && super::origins(op).is_empty() {
        let problem = Problem::new("a fragment without origins has a stage, but only fragments of the user have one");
        return Err(problem.note("remove stage, or name the computation it came from in origin").into());
    }
    Ok(op.result_types().cloned().collect())
}

/// `mpmd.for (%a) {iterations = 3 : ui32} (%b: T, %i: tensor<ui32>) { … } : T`: runs the body a fixed number of times.
pub struct For;
/// `mpmd.for`
pub static FOR: For = For;

/// Returns the number of iterations of a loop.
fn iterations(op: OpRef<'_>) -> Result<i64, Problem> {
    let found = op.int("iterations").filter(|&n| n >= 1);
    found.ok_or_else(|| Problem::new("iterations is not a positive number").note("write {iterations = 3 : ui32}"))
}

impl OpDef for For {
    fn name(&self) -> &'static str {
        "mpmd.for"
    }

    fn syntax(&self) -> Syntax {
        Syntax::Custom(&text::FOR)
    }

    fn infer(&self, op: OpRef<'_>) -> Inferred {
        let iterations = iterations(op)?;
        if let Some(factor) = op.int("unroll_factor")
            && (factor < 1 || iterations % factor != 0)
        {
            let message = format!("unroll_factor is {factor}, which doesn't divide {iterations} iterations");
            return Err(Problem::new(message).into());
        }
        let index = TypeData::Tensor(TensorType::new(&[], INDEX));
        check_arguments(op, op.operand_types().chain([&index]))?;
        let returned = returned_types(op);
        require!(returned.iter().eq(op.operand_types()), "the body returns other types than it takes");
        Ok(returned)
    }

    fn evaluate_spmd(&self, op: OpRef<'_>, operands: &[Lanes], mask: &Mask, cx: &mut dyn Context) -> LaneResults {
        let (iterations, body) = (iterations(op)?, region(op, 0)?);
        let mut values = operands.to_vec();
        for turn in 0..iterations {
            cx.step()?;
            let index = Literal::from_scalars(INDEX, &[], [Scalar::Int(turn.into())]);
            values.push(mask.iter().map(|&runs| runs.then(|| index.clone())).collect());
            values = cx.region(body, &values, mask)?;
        }
        Ok(values)
    }

    fn examples(&self) -> &'static [&'static str] {
        &["(%a: tensor<4xf32>) %r = mpmd.for (%a) {iterations = 3 : ui32} (%b: tensor<4xf32>, %i: tensor<ui32>) { \
             %n = stablehlo.add %b, %b : tensor<4xf32> mpmd.return %n : tensor<4xf32> } : tensor<4xf32>"]
    }
}

/// Returns whether a memory kind exists.
pub(crate) fn is_memory_kind(word: &str) -> bool {
    MEMORY_KINDS.contains(&word)
}
