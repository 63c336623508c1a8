//! Ops with a region: named computations, fragments and loops with a fixed number of iterations.

use super::{MEMORY_KINDS, MESH_NAME, ORIGIN, STAGE, text};
use crate::eval::{Context, EvalResult, Lanes, Mask, on_one_lane};
use crate::ir::{AttrData, ElementType, OpRef, TensorType, TypeData};
use crate::kernel::Kernel;
use crate::literal::Literal;
use crate::op::{Control, DataFlow, Inferred, OpDef, Problem};
use crate::ops::sdy::region_flow;
use crate::ops::stablehlo::control::{region, regions_have_effects};
use crate::scalar::Scalar;
use crate::text::Syntax;

/// The type of the iteration's number, the last argument of a loop's body: a rank-0 `ui32`.
pub const INDEX: ElementType = ElementType::UI32;

/// Checks that the region takes values of `types`.
fn takes<'a>(op: OpRef<'a>, types: impl Iterator<Item = &'a TypeData>) -> Result<(), Problem> {
    let program = op.program;
    let types: Vec<&TypeData> = types.collect();
    let args: Vec<&TypeData> = op.region_args(0).iter().map(|&v| program.type_data(program.value_type(v))).collect();
    if args == types {
        return Ok(());
    }
    let text = |types: &[&TypeData]| {
        let texts: Vec<String> = types.iter().map(|ty| program.type_data_text(ty)).collect();
        texts.join(", ")
    };
    Err(Problem::new(format!("the body takes ({}), but the operands are ({})", text(&args), text(&types))))
}

/// Returns the types of the region's results.
fn returned<'a>(op: OpRef<'a>) -> impl Iterator<Item = &'a TypeData> {
    op.region_results(0).iter().map(move |&v| op.program.type_data(op.program.value_type(v)))
}

/// `mpmd.named_computation<"f"(1)>(%a) (%b: T) { … } : (T) -> T`: gives ops a name, by which they may be assigned to a
/// mesh.
pub struct NamedComputation;
/// `mpmd.named_computation`
pub static NAMED_COMPUTATION: NamedComputation = NamedComputation;

impl OpDef for NamedComputation {
    fn name(&self) -> &'static str {
        "mpmd.named_computation"
    }

    fn syntax(&self) -> Syntax {
        Syntax::Custom(&text::NAMED_COMPUTATION)
    }

    fn infer(&self, op: OpRef<'_>) -> Inferred {
        if !matches!(op.attr(ORIGIN), Some(AttrData::Origin(..))) {
            return Err(Problem::new("a named computation needs a name").note("write <\"name\">").into());
        }
        takes(op, op.operand_types())?;
        Ok(returned(op).cloned().collect())
    }

    fn kernel(&self, _: OpRef<'_>) -> Kernel {
        Kernel::Control
    }

    fn evaluate(&self, op: OpRef<'_>, operands: &[Literal], cx: &mut dyn Context) -> EvalResult<Vec<Literal>> {
        on_one_lane(op, operands, cx)
    }

    fn evaluate_spmd(
        &self,
        op: OpRef<'_>,
        operands: &[Lanes],
        mask: &Mask,
        cx: &mut dyn Context,
    ) -> EvalResult<Vec<Lanes>> {
        cx.region(region(op, 0)?, operands, mask)
    }

    fn examples(&self) -> &'static [&'static str] {
        &["(%a: tensor<4xf32>) %r = mpmd.named_computation<\"f\"(1)> (%a) (%b: tensor<4xf32>) { \
             %n = stablehlo.negate %b : tensor<4xf32> mpmd.return %n : tensor<4xf32> } : (tensor<4xf32>) -> tensor<4xf32>"]
    }

    fn control(&self, _: OpRef<'_>) -> Option<Control> {
        Some(Control::Inline)
    }

    fn data_flow(&self, op: OpRef<'_>) -> Vec<DataFlow> {
        region_flow(op)
    }

    fn side_effect(&self, op: OpRef<'_>) -> bool {
        op.result_count() == 0 || regions_have_effects(op)
    }
}

/// `mpmd.fragment<mesh="m", origin=["f"]> (%a) (%b: T) { … } : (!mpmd.mesh_tensor<"m", T>) -> !mpmd.mesh_tensor<"m",
/// T>`: a computation on one mesh. Its body works on global tensors.
pub struct Fragment;
/// `mpmd.fragment`
pub static FRAGMENT: Fragment = Fragment;

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

impl OpDef for Fragment {
    fn name(&self) -> &'static str {
        "mpmd.fragment"
    }

    fn syntax(&self) -> Syntax {
        Syntax::Custom(&text::FRAGMENT)
    }

    fn infer(&self, op: OpRef<'_>) -> Inferred {
        let operands = on_mesh(op, op.operand_types(), "operand")?;
        let results = on_mesh(op, op.result_types(), "result")?;
        takes(op, operands.iter())?;
        let given: Vec<TypeData> = returned(op).cloned().collect();
        if given != results {
            let text = |types: &[TypeData]| {
                types.iter().map(|ty| op.program.type_data_text(ty)).collect::<Vec<_>>().join(", ")
            };
            let message = format!("the body returns ({}), but the results are ({})", text(&given), text(&results));
            return Err(Problem::new(message).into());
        }
        let origins = matches!(op.attr(ORIGIN), Some(AttrData::Array(_)));
        if !origins {
            return Err(Problem::new("the list of origins is missing").note("write origin=[]").into());
        }
        if op.attr(STAGE).is_some() && super::origins(op).is_empty() {
            let message = "a fragment without origins has a stage, but only fragments of the user have one";
            return Err(Problem::new(message)
                .note("remove stage, or name the computation it came from in origin")
                .into());
        }
        Ok(op.result_types().cloned().collect())
    }

    fn kernel(&self, _: OpRef<'_>) -> Kernel {
        Kernel::Control
    }

    fn evaluate(&self, op: OpRef<'_>, operands: &[Literal], cx: &mut dyn Context) -> EvalResult<Vec<Literal>> {
        on_one_lane(op, operands, cx)
    }

    fn evaluate_spmd(
        &self,
        op: OpRef<'_>,
        operands: &[Lanes],
        mask: &Mask,
        cx: &mut dyn Context,
    ) -> EvalResult<Vec<Lanes>> {
        cx.region(region(op, 0)?, operands, mask)
    }

    fn examples(&self) -> &'static [&'static str] {
        &["(%a: !mpmd.mesh_tensor<\"m\", tensor<4xf32>>) %r = mpmd.fragment<mesh=\"m\", origin=[\"f\"], stage=1> (%a) \
             (%b: tensor<4xf32>) { %n = stablehlo.negate %b : tensor<4xf32> mpmd.return %n : tensor<4xf32> } \
             : (!mpmd.mesh_tensor<\"m\", tensor<4xf32>>) -> !mpmd.mesh_tensor<\"m\", tensor<4xf32>>"]
    }

    fn control(&self, _: OpRef<'_>) -> Option<Control> {
        Some(Control::Inline)
    }

    fn side_effect(&self, op: OpRef<'_>) -> bool {
        op.result_count() == 0 || regions_have_effects(op)
    }
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
        takes(op, op.operand_types().chain([&index]))?;
        let given: Vec<TypeData> = returned(op).cloned().collect();
        if !given.iter().eq(op.operand_types()) {
            return Err(Problem::new("the body returns other types than it takes").into());
        }
        Ok(given)
    }

    fn evaluate(&self, op: OpRef<'_>, operands: &[Literal], cx: &mut dyn Context) -> EvalResult<Vec<Literal>> {
        on_one_lane(op, operands, cx)
    }

    fn evaluate_spmd(
        &self,
        op: OpRef<'_>,
        operands: &[Lanes],
        mask: &Mask,
        cx: &mut dyn Context,
    ) -> EvalResult<Vec<Lanes>> {
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

    fn side_effect(&self, op: OpRef<'_>) -> bool {
        op.result_count() == 0 || regions_have_effects(op)
    }
}

/// Returns whether a memory kind exists.
pub(crate) fn is_memory_kind(word: &str) -> bool {
    MEMORY_KINDS.contains(&word)
}
