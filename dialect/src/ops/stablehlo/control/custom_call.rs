//! `stablehlo.custom_call`: calls by name of operations outside the specification.
//!
//! Known targets are annotations (which return their operand) and the `check.*` targets of StableHLO's test suite,
//! which compare two tensors and stop the run if they differ. `ApproxTopK` returns the exact result, and the
//! decompositions of LAPACK and of TPU that JAX calls are computed. Others are kept but can't be evaluated.

use super::{device_placement, library_call, ragged_all_to_all as ragged};
use crate::eval::{Context, EvalError, EvalResult, LaneResults, Lanes, Mask, each_lane};
use crate::ir::build::Builder;
use crate::ir::{AttrData, Op, OpRef, TensorType, Value};
use crate::kernel::{External, Kernel, LibraryCall};
use crate::literal::Literal;
use crate::memory::Residence;
use crate::op::{Collective, Control, HostEffect, HostPartner, Inferred, OpDef, OpPriority, Problem};
use crate::ops::check::{self, Tolerance};
use crate::ops::mhlo;
use crate::ops::stablehlo::linalg::decomposition;
use crate::ops::stablehlo::transfer::token;
use crate::sharding::{FactorKind, ReductionKind, ShardingRule};
use crate::text::{CustomSyntax, Parse, ParsedOp, Parser, Printer, Syntax, TypeForm};

/// `stablehlo.custom_call`. <https://openxla.org/stablehlo/spec#custom_call>
pub struct CustomCall;

/// Targets that return their operand.
const IDENTITIES: &[&str] = &[
    "Sharding",
    "LayoutConstraint",
    "annotate_device_placement",
    "MoveToHost",
    "MoveToDevice",
    "InspectSharding",
    "xla.megascale.provide_metadata",
    "xla.sdy.FuncResultSharding",
];

/// The tolerance of `check.expect_almost_eq` as a custom call, which is wider than that of the op with this name.
const ALMOST: f64 = 1e-3;
/// The difference in ULPs that `check.expect_close` as a custom call allows.
const CLOSE: i64 = 3;

/// Targets whose dimensions all pass through, as Shardy lists them.
const POINTWISE: &[&str] = &[
    "annotate_device_placement",
    "Cholesky",
    "CompactWyHelper",
    "InspectSharding",
    "InvertDiagBlocksLowerTriangular",
    "InvertDiagBlocksUpperTriangular",
    "LayoutConstraint",
    "mhlo.erf",
    "MoveToDevice",
    "MoveToHost",
    "Sharding",
    "X64Combine",
    "X64SplitHigh",
    "X64SplitLow",
    "xla.megascale.provide_metadata",
    "_SPMDInternalOp_MultiPad",
    "_SPMDInternalOp_RotateRight",
    "_SPMDInternalOp_MultiRotate",
    "_SPMDInternalOp_MultiSlice",
    "_SPMDInternalOp_Wrap",
];

/// Returns the target of a custom call.
pub(crate) fn target<'a>(op: OpRef<'a>) -> &'a str {
    op.attr("call_target_name").and_then(AttrData::as_str).unwrap_or_default()
}

fn is_identity(op: OpRef<'_>) -> bool {
    let types = |mut a: Vec<_>, b: Vec<_>| {
        a.truncate(b.len());
        a == b
    };
    IDENTITIES.contains(&target(op)) && types(op.type_ids(op.operands()), op.result_type_ids())
}

impl OpDef for CustomCall {
    fn name(&self) -> &'static str {
        "stablehlo.custom_call"
    }

    fn syntax(&self) -> Syntax {
        Syntax::Custom(&SYNTAX)
    }

    fn infer(&self, op: OpRef<'_>) -> Inferred {
        if op.attr("call_target_name").and_then(AttrData::as_str).is_none() {
            let is_string = matches!(op.attr("call_target_name"), Some(AttrData::String(_)));
            let what = if is_string { "needs a target that is UTF-8 text" } else { "needs a target" };
            return Err(Problem::new(format!("a custom call {what} (I2)"))
                .note("write stablehlo.custom_call @target(…)")
                .into());
        }
        if target(op).starts_with("check.expect_") && op.operands().len() != 2 {
            let found = op.operands().len();
            return Err(Problem::new(format!("{} compares two values, found {found}", target(op))).into());
        }
        super::custom_call_attributes::check(op)?;
        library_call::check(op)?;
        device_placement::check(op)?;
        if target(op) == ragged::TARGET {
            ragged::check(op)?;
        }
        Ok(op.result_types().cloned().collect())
    }

    fn kernel(&self, op: OpRef<'_>) -> Kernel {
        match () {
            () if is_identity(op) => Kernel::Control,
            () if target(op) == ragged::TARGET => Kernel::External(External::Collective),
            () => decomposition::kernel(op),
        }
    }

    fn expand(&self, op: Op, build: &mut Builder<'_>) -> Option<Vec<Value>> {
        decomposition::expand(op, build)
    }

    /// Returns the rule of a decomposition, or else the user's custom rule, or else Shardy's rule for the target.
    fn sharding_rule(&self, op: OpRef<'_>) -> Option<ShardingRule> {
        if let Some(rule) = decomposition::rule(op) {
            return Some(rule);
        }
        if let Some(rule) = own_rule(op) {
            return Some(rule);
        }
        let operands: Option<Vec<TensorType>> = op.operand_types().map(|t| t.tensor().cloned()).collect();
        let results: Option<Vec<TensorType>> = op.result_types().map(|t| t.tensor().cloned()).collect();
        let (operands, results) = (operands?, results?);
        known_rule(target(op), &operands, &results)
    }

    fn reduction(&self, op: OpRef<'_>) -> Option<ReductionKind> {
        crate::ops::sdy::stated_reduction(op)
    }

    /// Returns a rule that also propagates along dimensions that these targets need replicated, as Shardy does.
    fn propagation_rule(&self, op: OpRef<'_>) -> Option<ShardingRule> {
        if let Some(rule) = own_rule(op) {
            return Some(rule);
        }
        let mut rule = self.sharding_rule(op)?;
        let last = rule.operands.first()?.last().and_then(|dim| dim.first().copied());
        match target(op) {
            "Eigh" => {
                rule.factors.iter_mut().for_each(|f| f.kind = FactorKind::PassThrough);
                // Eigenvalues are sharded like the eigenvectors' last dimension, which numbers them.
                *rule.results.get_mut(1)?.last_mut()? = last.into_iter().collect();
            }
            "mhlo.topk" | "ApproxTopK" | "PartialReduce" => {
                let all = op.operand_tensor(0)?.shape.last() == op.result_tensor(0)?.shape.last();
                if all || target(op) != "mhlo.topk" {
                    let factor = rule.factors.get_mut(last? as usize)?;
                    (factor.kind, factor.blocked) = (FactorKind::PassThrough, false);
                }
                for dim in rule.results.iter_mut().filter_map(|r| r.last_mut()).filter(|_| all) {
                    *dim = last.into_iter().collect();
                }
            }
            _ => {}
        }
        Some(rule)
    }

    fn evaluate(&self, op: OpRef<'_>, operands: &[Literal], cx: &mut dyn Context) -> EvalResult<Vec<Literal>> {
        if is_identity(op) {
            return Ok(operands[..op.result_count()].to_vec());
        }
        let tolerance = match target(op) {
            "check.expect_eq" => Tolerance::Exact,
            "check.expect_almost_eq" => {
                Tolerance::Absolute(op.attr("tolerance").and_then(AttrData::as_float).unwrap_or(ALMOST))
            }
            "check.expect_close" => Tolerance::Ulps {
                min: op.int("min_ulp_difference").unwrap_or(0),
                max: op.int("max_ulp_difference").unwrap_or(CLOSE),
            },
            "ApproxTopK" => return super::approx_top_k::evaluate(op, operands, cx),
            // The host receives nothing, because the evaluator has no host.
            _ if self.host_effect(op).is_some_and(|effect| !effect.returns_data) => {
                return Ok(op.results().map(|_| token()).collect());
            }
            target => {
                if let Some(it) = decomposition::of(op) {
                    return decomposition::evaluate(it, op, operands);
                }
                let mut message = format!("custom call target '@{target}' is unknown, so it can't be evaluated");
                let is_library = ["lapack_", "cusolver", "hipsolver"].iter().any(|name| target.starts_with(name));
                message.push_str(match is_library {
                    true => {
                        ": lower for TPU, where JAX writes the algorithm itself: \
                         jax.jit(f).trace(...).lower(lowering_platforms=('tpu',))"
                    }
                    false => "; it can be compiled; to run it, compute the same with StableHLO ops",
                });
                return Err(EvalError::new(message));
            }
        };
        match operands {
            [found, expected] if op.result_count() == 0 => {
                check::compare(found, expected, tolerance).map_err(EvalError::new)?;
                Ok(Vec::new())
            }
            _ => Err(EvalError::new(format!("{} compares two values", target(op)))),
        }
    }

    fn evaluate_spmd(&self, op: OpRef<'_>, operands: &[Lanes], mask: &Mask, cx: &mut dyn Context) -> LaneResults {
        if target(op) == ragged::TARGET {
            return ragged::evaluate(op, operands, mask, cx);
        }
        each_lane(op, operands, mask, cx)
    }

    fn collective(&self, op: OpRef<'_>) -> Option<Collective> {
        if target(op) == ragged::TARGET { ragged::collective(op) } else { None }
    }

    fn op_priority(&self, op: OpRef<'_>) -> OpPriority {
        if matches!(target(op), "MoveToDevice" | "MoveToHost") { OpPriority::First } else { OpPriority::Late }
    }

    fn examples(&self) -> &'static [&'static str] {
        &[
            "(%a: tensor<2x3xf32>) %r = stablehlo.custom_call @Sharding(%a) : (tensor<2x3xf32>) -> tensor<2x3xf32>",
            "(%a: tensor<4xi32>) stablehlo.custom_call @check.expect_eq(%a, %a) {has_side_effect = true} : (tensor<4xi32>, tensor<4xi32>) -> ()",
            "(%a: tensor<2x4x3xf32>) %r, %t = stablehlo.custom_call @lapack_sgeqrf_ffi(%a) {mhlo.backend_config = {}} : (tensor<2x4x3xf32>) -> (tensor<2x4x3xf32>, tensor<2x3xf32>)",
            "(%a: tensor<2x4x3xf32>) %r, %t = stablehlo.custom_call @lapack_sgeqrf_ffi(%a) {mhlo.backend_config = {}, operand_layouts = [dense<[2, 1, 0]> : tensor<3xindex>], result_layouts = [dense<[2, 1, 0]> : tensor<3xindex>, dense<[1, 0]> : tensor<2xindex>]} : (tensor<2x4x3xf32>) -> (tensor<2x4x3xf32>, tensor<2x3xf32>)",
            "(%a: tensor<2x3x3xf64>) %r, %p, %i = stablehlo.custom_call @lapack_dgetrf_ffi(%a) {mhlo.backend_config = {}} : (tensor<2x3x3xf64>) -> (tensor<2x3x3xf64>, tensor<2x3xi32>, tensor<2xi32>)",
            "(%a: tensor<2x3x4xf32>) %c, %s, %u, %v, %i = stablehlo.custom_call @lapack_sgesdd_ffi(%a) {mhlo.backend_config = {mode = 83 : ui8}} : (tensor<2x3x4xf32>) -> (tensor<2x3x4xf32>, tensor<2x3xf32>, tensor<2x3x3xf32>, tensor<2x3x4xf32>, tensor<2xi32>)",
            "(%x: tensor<2x4xf32>, %y: tensor<2x4xf32>, %z: tensor<2x4xf32>, %b: tensor<2x4x3xf32>) %l, %m, %n, %r, %i = stablehlo.custom_call @lapack_sgtsv_ffi(%x, %y, %z, %b) {mhlo.backend_config = {}} : (tensor<2x4xf32>, tensor<2x4xf32>, tensor<2x4xf32>, tensor<2x4x3xf32>) -> (tensor<2x4xf32>, tensor<2x4xf32>, tensor<2x4xf32>, tensor<2x4x3xf32>, tensor<2xi32>)",
            "(%a: tensor<2x3x3xcomplex<f32>>) %h, %t, %i = stablehlo.custom_call @lapack_cgehrd_ffi(%a) {mhlo.backend_config = {high = 3 : i32, low = 1 : i32}} : (tensor<2x3x3xcomplex<f32>>) -> (tensor<2x3x3xcomplex<f32>>, tensor<2x2xcomplex<f32>>, tensor<2xi32>)",
            "(%a: tensor<2x3x3xf64>) %t, %q, %r, %j, %s, %i = stablehlo.custom_call @lapack_dgees_ffi(%a) {mhlo.backend_config = {mode = 86 : ui8, sort = 78 : ui8}} : (tensor<2x3x3xf64>) -> (tensor<2x3x3xf64>, tensor<2x3x3xf64>, tensor<2x3xf64>, tensor<2x3xf64>, tensor<2xi32>, tensor<2xi32>)",
            "(%a: tensor<3x3xcomplex<f32>>) %v, %w = stablehlo.custom_call @Eigh(%a) {backend_config = \"1,1,100,1e-6\"} : (tensor<3x3xcomplex<f32>>) -> (tensor<3x3xcomplex<f32>>, tensor<3xf32>)",
        ]
    }

    fn control(&self, op: OpRef<'_>) -> Option<Control> {
        is_identity(op).then_some(Control::Identity)
    }

    fn side_effect(&self, op: OpRef<'_>) -> bool {
        op.result_count() == 0 || op.flag("has_side_effect")
    }

    fn residence(&self, op: OpRef<'_>) -> Residence {
        device_placement::memory(op).filter(|_| is_identity(op)).map_or(Residence::Computed, Residence::Moved)
    }

    fn host_effect(&self, op: OpRef<'_>) -> Option<HostEffect> {
        let target = target(op);
        if CALLBACKS.contains(&target) {
            return Some(HostEffect::of(op, HostPartner::Callback));
        }
        let known = is_identity(op)
            || target.starts_with("check.expect_")
            || matches!(target, ragged::TARGET | "ApproxTopK" | mhlo::ENTER_MANUAL | mhlo::LEAVE_MANUAL)
            || decomposition::of(op).is_some()
            || self.partitions_itself(op);
        (!known).then(|| HostEffect::of(op, HostPartner::Library))
    }

    fn library_call<'a>(&self, op: OpRef<'a>) -> Option<LibraryCall<'a>> {
        let library = self.host_effect(op).is_some_and(|effect| effect.partner == HostPartner::Library);
        (library || self.partitions_itself(op)).then(|| library_call::of(op))
    }

    fn partitions_itself(&self, op: OpRef<'_>) -> bool {
        target(op) == "CustomSPMDPartitioning"
    }

    fn shows_sharding(&self, op: OpRef<'_>) -> bool {
        target(op) == "InspectSharding" && is_identity(op)
    }
}

/// Targets by which JAX calls functions of its Python process.
const CALLBACKS: &[&str] = &[
    "xla_python_cpu_callback",
    "xla_python_gpu_callback",
    "xla_ffi_python_cpu_callback",
    "xla_ffi_python_gpu_callback",
    "xla_ffi_partitioned_python_cpu_callback",
    "xla_ffi_partitioned_python_gpu_callback",
];

/// Returns the user's custom rule.
fn own_rule(op: OpRef<'_>) -> Option<ShardingRule> {
    op.attr(crate::ops::sdy::SHARDING_RULE)?.as_rule().cloned()
}

/// Returns the rule of a known target. Source: Shardy's registry of sharding rules; the table of custom calls.
fn known_rule(target: &str, operands: &[TensorType], results: &[TensorType]) -> Option<ShardingRule> {
    let ranks = |list: &[TensorType]| list.iter().map(TensorType::rank).collect::<Vec<_>>();
    let mut rule = ShardingRule::new(&ranks(operands), &ranks(results));
    let first = operands.first()?;
    let rank = first.rank();
    let all = |list: &[TensorType], dim: usize| -> Vec<(usize, usize)> {
        (0..list.len()).filter(|&i| dim < list[i].rank()).map(|i| (i, dim)).collect()
    };
    if POINTWISE.contains(&target) {
        // These targets don't change the shape.
        for dim in 0..rank {
            rule.add(first.shape[dim], FactorKind::PassThrough, &all(operands, dim), &all(results, dim));
        }
        return Some(rule);
    }
    // The decompositions work on the last two dimensions; the others are batch dimensions.
    let batches = rank.checked_sub(2);
    match target {
        "Eigh" | "Qr" | "QrDecompositionBlock" | "ProductOfElementaryHouseholderReflectors" => {
            let batches = batches?;
            for dim in 0..batches {
                rule.add(first.shape[dim], FactorKind::PassThrough, &all(operands, dim), &all(results, dim));
            }
            for dim in batches..rank {
                // Vectors of taus or eigenvalues have separate dimensions.
                let of_rank = |list: &[TensorType]| {
                    all(list, dim).into_iter().filter(|&(i, _)| list[i].rank() == rank).collect::<Vec<_>>()
                };
                rule.add(first.shape[dim], FactorKind::NeedReplication, &of_rank(operands), &of_rank(results));
            }
            for (list, is_operand) in [(operands, true), (results, false)] {
                for (i, ty) in list.iter().enumerate().filter(|(_, ty)| ty.rank() != rank && ty.rank() > batches) {
                    let at = [(i, batches)];
                    let (from, to): (&[_], &[_]) = if is_operand { (&at, &[]) } else { (&[], &at) };
                    rule.add(ty.shape[batches], FactorKind::NeedReplication, from, to);
                }
            }
            Some(rule)
        }
        "mhlo.topk" | "ApproxTopK" | "PartialReduce" => {
            let last = rank.checked_sub(1)?;
            for dim in 0..last {
                rule.add(first.shape[dim], FactorKind::PassThrough, &all(operands, dim), &all(results, dim));
            }
            let shared = target == "mhlo.topk";
            let to = if shared { all(results, last) } else { Vec::new() };
            let whole = rule.add(first.shape[last], FactorKind::NeedReplication, &all(operands, last), &to);
            rule.block(whole);
            if !shared && let Some(result) = results.first() {
                let kept = *result.shape.get(last)?;
                let kept = rule.add(kept, FactorKind::NeedReplication, &[], &all(results, last));
                rule.block(kept);
            }
            Some(rule)
        }
        _ => None,
    }
}

static SYNTAX: CustomSyntax = CustomSyntax { parse, print };

fn parse(p: &mut Parser<'_>, op: &mut ParsedOp) -> Parse<()> {
    let name = p.symbol()?;
    let attr = p.program.attr_str(&name);
    op.set(&mut p.program, "call_target_name", attr);
    p.operands_in_parentheses(op)?;
    p.attr_dict(op)?;
    p.types(op, TypeForm::Functional)
}

fn print(p: &mut Printer<'_>, op: OpRef<'_>) -> bool {
    if op.attr("call_target_name").and_then(AttrData::as_str).is_none() {
        return false;
    }
    p.text(" ");
    p.symbol(target(op));
    p.operands_in_parentheses(op);
    p.attr_dict(op, &["call_target_name"]);
    p.type_form(op, TypeForm::Functional);
    true
}
