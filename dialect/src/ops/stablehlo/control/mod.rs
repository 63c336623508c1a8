//! StableHLO's control flow: loops, branches, barriers, and the return that ends their regions.
//!
//! Devices may differ in a condition: each runs its own branch or number of iterations, in lockstep under a mask; a
//! collective that then lacks some of its devices is an error. Source: the StableHLO specification, "Control flow".

mod approx_top_k;
mod composite;
mod custom_call;
mod custom_call_attributes;
pub(crate) mod device_placement;
mod library_call;
mod ragged_all_to_all;
mod text;

pub use composite::Composite;
pub use custom_call::CustomCall;
pub(crate) use custom_call::target;

use smallvec::smallvec;

use crate::eval::{Context, EvalError, EvalResult, LaneResults, Lanes, Mask};
use crate::ir::{ElementType, OpRef, Ty, TypeData, Value};
use crate::op::{Control, DataFlow, Inferred, OpDef, Problem};
use crate::ops::support::terminator::Terminator;
use crate::scalar::Scalar;
use crate::text::{Piece, Syntax, TypeForm};

/// The ops of this family.
pub static OPS: &[&dyn OpDef] = &[&While, &CASE, &IF, &OptimizationBarrier, &CustomCall, &Composite, &RETURN];

/// `stablehlo.while`: runs its body while its condition is true.
/// <https://openxla.org/stablehlo/spec#while>
pub struct While;

impl OpDef for While {
    fn name(&self) -> &'static str {
        "stablehlo.while"
    }

    fn syntax(&self) -> Syntax {
        Syntax::Custom(&text::WHILE)
    }

    fn infer(&self, op: OpRef<'_>) -> Inferred {
        let mut problems = Vec::new();
        let carried = op.type_ids(op.operands());
        let regions = [("condition", 0, "C1"), ("body", 1, "C2")];
        for (what, region, label) in regions {
            if op.block(region).is_none() {
                problems.push(Problem::new(format!("a while needs a {what} ({label})")));
                continue;
            }
            let args = op.type_ids(op.region_args(region));
            if !op.program.compatible_types(&args, &carried) {
                problems.push(Problem::new(format!(
                    "the {what} takes {}, but the loop carries {} ({label})",
                    op.program.types_text(&args),
                    op.program.types_text(&carried)
                )));
            }
        }
        if op.block(0).is_some() && !gives_one_bool(op, 0) {
            problems.push(Problem::new(format!(
                "the condition returns {}, expected (tensor<i1>) (C1)",
                op.program.types_text(&op.type_ids(op.region_results(0)))
            )));
        }
        let given = op.type_ids(op.region_results(1));
        if op.block(1).is_some() && !op.program.compatible_types(&given, &carried) {
            problems.push(Problem::new(format!(
                "the body returns {}, but the loop carries {} (C2)",
                op.program.types_text(&given),
                op.program.types_text(&carried)
            )));
        }
        if problems.is_empty() { Ok(op.operand_types().cloned().collect()) } else { Err(problems) }
    }

    fn evaluate_spmd(&self, op: OpRef<'_>, operands: &[Lanes], mask: &Mask, cx: &mut dyn Context) -> LaneResults {
        let (cond, body) = (region(op, 0)?, region(op, 1)?);
        let mut values: Vec<Lanes> = operands.iter().map(|o| masked(o, mask)).collect();
        let mut running = mask.clone();
        loop {
            let go_on = cx.region(cond, &values, &running)?;
            for lane in 0..running.len() {
                running[lane] = running[lane] && scalar_of(&go_on, lane)?.is_true();
            }
            if !running.contains(&true) {
                return Ok(values);
            }
            cx.step()?;
            let next = cx.region(body, &values, &running)?;
            for (value, mut new) in values.iter_mut().zip(next) {
                for lane in (0..running.len()).filter(|&l| running[l]) {
                    value[lane] = new[lane].take();
                }
            }
        }
    }

    fn examples(&self) -> &'static [&'static str] {
        &["(%n: tensor<i32>, %x: tensor<2xf32>) %r:2 = stablehlo.while(%a = %n, %b = %x) : tensor<i32>, tensor<2xf32> \
             cond { %c = stablehlo.constant dense<4> : tensor<i32> \
             %p = stablehlo.compare LT, %a, %c, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1> \
             stablehlo.return %p : tensor<i1> } \
             do { %c = stablehlo.constant dense<2> : tensor<i32> %m = stablehlo.maximum %a, %c : tensor<i32> \
             %i = stablehlo.add %m, %c : tensor<i32> %y = stablehlo.add %b, %b : tensor<2xf32> \
             stablehlo.return %i, %y : tensor<i32>, tensor<2xf32> }"]
    }

    fn control(&self, _: OpRef<'_>) -> Option<Control> {
        Some(Control::While)
    }

    fn data_flow(&self, op: OpRef<'_>) -> Vec<DataFlow> {
        let at = |values: &[Value], i: usize| values.get(i).copied();
        op.results()
            .enumerate()
            .map(|(i, owner)| DataFlow {
                owner,
                sources: [at(op.operands(), i), at(op.region_results(1), i)].into_iter().flatten().collect(),
                targets: [Some(owner), at(op.region_args(0), i), at(op.region_args(1), i)]
                    .into_iter()
                    .flatten()
                    .collect(),
            })
            .collect()
    }

    fn block_arg_name(&self) -> Option<&'static str> {
        Some("iterArg")
    }
}

/// An op that runs one of its regions, selected by its operand.
pub struct Branch {
    name: &'static str,
    /// The operand's name and type.
    selector: (&'static str, ElementType),
    /// The number of branches; `None` for at least one.
    branches: Option<usize>,
    /// Returns the branch for an operand, given the number of branches.
    choose: fn(Scalar, usize) -> usize,
    /// The specification's labels for the number of branches, their arguments and their results.
    labels: [&'static str; 3],
    control: Control,
    example: &'static [&'static str],
}

/// `stablehlo.case`: runs the branch that its index selects. <https://openxla.org/stablehlo/spec#case>
pub static CASE: Branch = Branch {
    name: "stablehlo.case",
    selector: ("index", ElementType::I32),
    branches: None,
    choose: |index, count| match index.as_i64() {
        Some(i) if (0..count as i64).contains(&i) => i as usize,
        _ => count.saturating_sub(1),
    },
    labels: ["C1", "C2", "C3"],
    control: Control::Case,
    example: &["(%i: tensor<i32>, %x: tensor<2xf32>, %y: tensor<2xf32>) %r = \"stablehlo.case\"(%i) ({ \
         stablehlo.return %x : tensor<2xf32> }, { stablehlo.return %y : tensor<2xf32> }) \
         : (tensor<i32>) -> tensor<2xf32>"],
};

/// `stablehlo.if`: runs one of two branches. <https://openxla.org/stablehlo/spec#if>
pub static IF: Branch = Branch {
    name: "stablehlo.if",
    selector: ("predicate", ElementType::I1),
    branches: Some(2),
    choose: |predicate, _| usize::from(!predicate.is_true()),
    labels: ["C1", "C1", "C2"],
    control: Control::If,
    example: &["(%p: tensor<i1>, %x: tensor<2xf32>, %y: tensor<2xf32>) %r = \"stablehlo.if\"(%p) ({ \
         stablehlo.return %x : tensor<2xf32> }, { %z = stablehlo.add %x, %y : tensor<2xf32> \
         stablehlo.return %z : tensor<2xf32> }) : (tensor<i1>) -> tensor<2xf32>"],
};

impl OpDef for Branch {
    fn name(&self) -> &'static str {
        self.name
    }

    fn infer(&self, op: OpRef<'_>) -> Inferred {
        let ((what, element), found) = (self.selector, op.program.op(op.op).regions.len());
        let (count, mut problems) = (self.branches.unwrap_or(found), Vec::new());
        let scalar = op.operand_tensor(0).is_some_and(|t| t.element == element && t.rank() == 0);
        if op.operands().len() != 1 || !scalar {
            let found = op.program.types_text(&op.type_ids(op.operands()));
            let text = element.text().unwrap_or_default();
            problems.push(Problem::operand(0, format!("the {what} must be one tensor<{text}>, found {found} (I1)")));
        }
        if count == 0 || found != count {
            problems.push(Problem::new(format!(
                "expected {} branches, found {found} ({})",
                count.max(1),
                self.labels[0]
            )));
        }
        let types: Vec<Vec<Ty>> = (0..count).map(|i| op.type_ids(op.region_results(i))).collect();
        for (i, given) in types.iter().enumerate() {
            if !op.region_args(i).is_empty() {
                problems.push(Problem::new(format!("branch {i} must not take arguments ({})", self.labels[1])));
            }
            if !op.program.compatible_types(given, &types[0]) {
                problems.push(Problem::new(format!(
                    "branch {i} returns {}, but branch 0 returns {} ({})",
                    op.program.types_text(given),
                    op.program.types_text(&types[0]),
                    self.labels[2]
                )));
            }
        }
        if !problems.is_empty() {
            return Err(problems);
        }
        let given: Vec<TypeData> =
            types.first().into_iter().flatten().map(|&t| op.program.type_data(t).clone()).collect();
        Ok(given)
    }

    fn evaluate_spmd(&self, op: OpRef<'_>, operands: &[Lanes], mask: &Mask, cx: &mut dyn Context) -> LaneResults {
        let branches = op.program.op(op.op).regions.len();
        let mut chosen = vec![None; mask.len()];
        for lane in (0..mask.len()).filter(|&l| mask[l]) {
            chosen[lane] = Some((self.choose)(scalar_of(operands, lane)?, branches));
        }
        let mut results: Vec<Lanes> = vec![vec![None; mask.len()]; op.result_count()];
        for branch in 0..branches {
            let running: Mask = chosen.iter().map(|&c| c == Some(branch)).collect();
            if !running.contains(&true) {
                continue;
            }
            let given = cx.region(region(op, branch)?, &[], &running)?;
            for (result, mut value) in results.iter_mut().zip(given) {
                for lane in (0..running.len()).filter(|&l| running[l]) {
                    result[lane] = value[lane].take();
                }
            }
        }
        Ok(results)
    }

    fn examples(&self) -> &'static [&'static str] {
        self.example
    }

    fn control(&self, _: OpRef<'_>) -> Option<Control> {
        Some(self.control)
    }

    fn data_flow(&self, op: OpRef<'_>) -> Vec<DataFlow> {
        let branches = op.program.op(op.op).regions.len();
        op.results()
            .enumerate()
            .map(|(i, owner)| DataFlow {
                owner,
                sources: (0..branches).filter_map(|b| op.region_results(b).get(i).copied()).collect(),
                targets: smallvec![owner],
            })
            .collect()
    }
}

/// `stablehlo.optimization_barrier`: returns its operands, all computed before any user of a result.
/// <https://openxla.org/stablehlo/spec#optimization_barrier>
pub struct OptimizationBarrier;

impl OpDef for OptimizationBarrier {
    fn name(&self) -> &'static str {
        "stablehlo.optimization_barrier"
    }

    fn syntax(&self) -> Syntax {
        Syntax::Custom(&text::BARRIER)
    }

    fn infer(&self, op: OpRef<'_>) -> Inferred {
        Ok(op.operand_types().cloned().collect())
    }

    fn examples(&self) -> &'static [&'static str] {
        &[
            "(%a: tensor<2x3xf32>, %b: tensor<4xi32>) %r:2 = stablehlo.optimization_barrier %a, %b : tensor<2x3xf32>, tensor<4xi32>",
        ]
    }

    fn control(&self, _: OpRef<'_>) -> Option<Control> {
        Some(Control::Identity)
    }

    fn data_flow(&self, op: OpRef<'_>) -> Vec<DataFlow> {
        let pairs = op.results().zip(op.operands());
        pairs
            .map(|(owner, &source)| DataFlow { owner, sources: smallvec![source], targets: smallvec![owner] })
            .collect()
    }
}

/// `stablehlo.return`: ends a region; its operands are the region's results.
pub static RETURN: Terminator = Terminator {
    name: "stablehlo.return",
    syntax: &[Piece::Operands, Piece::AttrDict, Piece::Types(TypeForm::OperandsOnly)],
};

/// Region `i`, or an error for an op without it.
pub(crate) fn region(op: OpRef<'_>, i: usize) -> EvalResult<crate::ir::Region> {
    op.region(i).ok_or_else(|| EvalError::new(format!("region {i} is missing")))
}

/// Returns `lanes` where `mask` is set, and nothing elsewhere.
pub(crate) fn masked(lanes: &Lanes, mask: &Mask) -> Lanes {
    lanes.iter().zip(mask).map(|(value, &runs)| if runs { value.clone() } else { None }).collect()
}

/// Returns the single element of the first value on `lane`.
fn scalar_of(values: &[Lanes], lane: usize) -> EvalResult<Scalar> {
    match values.first().and_then(|v| v.get(lane)) {
        Some(Some(literal)) if literal.len() == 1 => Ok(literal.get(0)),
        _ => Err(EvalError::new("expected one scalar")),
    }
}

fn gives_one_bool(op: OpRef<'_>, region: usize) -> bool {
    match op.region_results(region) {
        [value] => op.program.tensor_type(*value).is_some_and(|t| t.element == ElementType::I1 && t.rank() == 0),
        _ => false,
    }
}
