//! Checks of quantized element types on StableHLO's ops: the specification's constraints on the types, the ops that
//! accept per-axis scales, and the relation between the scales of operands and results.

use super::Verifier;
use crate::ir::{AttrData, DYNAMIC, ElementType, OpRef, Program, Quantized, TensorType, TypeData};
use crate::op::Problem;

/// Ops that accept operands with one scale per index of a dimension; all others need a single scale. Ops with regions
/// pass their operands on.
const PER_AXIS: [&str; 22] = [
    "add",
    "bitcast_convert",
    "broadcast_in_dim",
    "case",
    "composite",
    "constant",
    "convolution",
    "custom_call",
    "dot",
    "dot_general",
    "dynamic_broadcast_in_dim",
    "dynamic_conv",
    "dynamic_reshape",
    "get_tuple_element",
    "if",
    "reshape",
    "return",
    "transpose",
    "tuple",
    "uniform_dequantize",
    "uniform_quantize",
    "while",
];

impl<'a> Verifier<'a> {
    /// Checks the quantized types of a StableHLO op.
    pub(super) fn quantized(&mut self, op: OpRef<'a>) {
        let Some(name) = op.name().strip_prefix("stablehlo.") else { return };
        let mut types = op.operand_types().chain(op.result_types()).filter_map(TypeData::tensor);
        if !types.any(|t| matches!(t.element, ElementType::Other(_))) {
            return;
        }
        let operands: Vec<Option<&TensorType>> = (0..op.operands().len()).map(|i| op.operand_tensor(i)).collect();
        let results: Vec<Option<&TensorType>> = (0..op.result_count()).map(|i| op.result_tensor(i)).collect();
        let mut problems = Vec::new();
        for (i, ty) in operands.iter().enumerate().filter_map(|(i, t)| Some((i, (*t)?))) {
            let Some(q) = Quantized::of(self.program, ty.element) else { continue };
            problems.extend(of_type(&q, ty).map(|message| Problem::operand(i, message)));
            if q.per_axis() && !PER_AXIS.contains(&name) {
                let message = "expected one scale for all elements, found one for each index of a dimension";
                problems.push(Problem::operand(i, message).note("dequantize it first"));
            }
        }
        for (i, ty) in results.iter().enumerate().filter_map(|(i, t)| Some((i, (*t)?))) {
            let message = Quantized::of(self.program, ty.element).and_then(|q| of_type(&q, ty));
            problems.extend(message.map(|message| Problem::new(format!("result {i}: {message}"))));
        }
        if problems.is_empty() {
            let tensors: Option<Vec<&TensorType>> = operands.into_iter().chain(results).collect();
            problems.extend(tensors.and_then(|tensors| relation(self.program, op, name, &tensors)));
        }
        problems.into_iter().for_each(|p| self.problem(op, p));
    }
}

/// Returns the problem of a quantized type as the element type of a tensor. The labels are those of the specification's
/// "Types".
fn of_type(q: &Quantized, ty: &TensorType) -> Option<String> {
    let range = q.range.0..=q.range.1;
    if let Some(zero) = q.zero_points.iter().find(|z| !range.contains(z)) {
        return Some(format!("zero point {zero} is not among the stored values {} to {} (C8)", q.range.0, q.range.1));
    }
    let dimension = q.dimension?;
    let Some(&size) = usize::try_from(dimension).ok().and_then(|d| ty.shape.get(d)) else {
        return Some(format!("the scales are along dimension {dimension} of a tensor of rank {} (C12)", ty.rank()));
    };
    (size != DYNAMIC && size != q.scales.len() as i64).then(|| {
        format!(
            "expected one scale for each index, found {} for dimension {dimension} of size {size} (C13)",
            q.scales.len()
        )
    })
}

/// Checks an op's constraints on the scales of its operands and result, operands first.
fn relation(program: &Program, op: OpRef<'_>, name: &str, tensors: &[&TensorType]) -> Option<Problem> {
    let q: Vec<Option<Quantized>> = tensors.iter().map(|t| Quantized::of(program, t.element)).collect();
    let message: String = match (name, &q[..]) {
        ("add", [lhs, rhs, result]) => add(lhs.as_ref(), rhs.as_ref(), result.as_ref())?.to_owned(),
        ("transpose", [Some(operand), Some(result)]) => {
            let permutation = op.ints("permutation")?;
            let from = |d: i64| usize::try_from(d).ok().and_then(|d| permutation.get(d)).copied();
            if !same_scales(operand, result) {
                "operand and result have different scales or zero points (C1)".to_owned()
            } else if operand.dimension != result.dimension.and_then(from) {
                "the result's scales aren't along the permuted dimension of the operand's scales (C4)".to_owned()
            } else {
                return None;
            }
        }
        ("broadcast_in_dim" | "dynamic_broadcast_in_dim", [Some(operand), .., Some(result)]) => {
            broadcast(op, tensors, operand, result)?.to_owned()
        }
        ("dot_general", [lhs, Some(rhs), result]) => {
            let contracting = op.field_ints("dot_dimension_numbers", "rhs_contracting_dimensions");
            if rhs.dimension.is_some_and(|d| contracting.contains(&d)) {
                "the right operand's scales are along a dimension that is summed over (C16)".to_owned()
            } else {
                product(
                    tensors,
                    [lhs.as_ref(), Some(rhs), result.as_ref()],
                    ["C14", "C15", "C17", "C18", "C19", "C20"],
                )?
            }
        }
        ("convolution" | "dynamic_conv", [lhs, rhs, .., result]) => {
            let Some(AttrData::ConvDims(dims)) = op.attr("dimension_numbers") else { return None };
            let elsewhere =
                |q: &Option<Quantized>, want: i64| q.as_ref().and_then(|q| q.dimension).is_some_and(|d| d != want);
            if elsewhere(rhs, dims.kernel_output_feature) {
                "the kernel's scales aren't along its output features (C29)".to_owned()
            } else if elsewhere(result, dims.output_feature) {
                "the result's scales aren't along its features (C30)".to_owned()
            } else {
                let sides = [lhs.as_ref(), rhs.as_ref(), result.as_ref()];
                product(tensors, sides, ["C28", "", "C31", "C32", "C33", "C34"])?
            }
        }
        ("uniform_quantize", [operand, Some(result)]) => {
            let expressed = operand.as_ref().map_or(tensors[0].element, |q| q.expressed);
            (expressed != result.expressed)
                .then(|| "the result expresses another type than the operand has (C2)".to_owned())?
        }
        ("uniform_dequantize", [Some(operand), _]) => (operand.expressed != tensors[1].element)
            .then(|| "the result has another type than the operand expresses (C2)".to_owned())?,
        ("constant", [Some(result)]) => {
            let value = op.dense("value")?.element;
            if value == result.storage
                || value.bits() == result.storage.bits() && value.class() == result.storage.class()
            {
                return None;
            }
            "the value's elements aren't those that the result's type stores (C1)".to_owned()
        }
        _ => return None,
    };
    Some(Problem::new(message))
}

fn same_scales(a: &Quantized, b: &Quantized) -> bool {
    a.scales == b.scales && a.zero_points == b.zero_points
}

fn add(lhs: Option<&Quantized>, rhs: Option<&Quantized>, result: Option<&Quantized>) -> Option<&'static str> {
    let (Some(lhs), Some(rhs), Some(result)) = (lhs, rhs, result) else {
        return Some("operands and result must all be quantized or none (C2)");
    };
    let sides = [lhs, rhs];
    if sides.iter().any(|q| q.storage != result.storage) {
        return Some("operands and result store different types (C3)");
    }
    if sides.iter().any(|q| q.expressed != result.expressed) {
        return Some("operands and result express different types (C4)");
    }
    if !result.per_axis() && sides.iter().any(|q| q.per_axis()) {
        return Some("an operand has a scale for each index of a dimension, but the result has one for all (C5)");
    }
    let elsewhere = |q: &&Quantized| q.per_axis() && q.dimension != result.dimension;
    sides.iter().any(elsewhere).then_some("an operand's scales are along another dimension than the result's (C6)")
}

fn broadcast(op: OpRef<'_>, tensors: &[&TensorType], operand: &Quantized, result: &Quantized) -> Option<&'static str> {
    let (Some(from), Some(to)) = (operand.dimension, result.dimension) else {
        let plain = !operand.per_axis() && !result.per_axis() && same_scales(operand, result);
        return (!plain).then_some("operand and result have different scales or zero points (C6)");
    };
    let dims = op.ints("broadcast_dimensions")?;
    if usize::try_from(from).ok().and_then(|d| dims.get(d)) != Some(&to) {
        return Some("the result's scales aren't along the dimension that the operand's dimension becomes (C6)");
    }
    // A single element is broadcast together with its scale.
    let single = tensors[0].shape.get(from as usize) == Some(&1);
    let at = |i: usize| if single { 0 } else { i };
    let same = (0..result.scales.len()).all(|i| {
        operand.scales.get(at(i)) == result.scales.get(i) && operand.zero_points.get(at(i)) == result.zero_points.get(i)
    });
    (!same).then_some("operand and result have different scales or zero points (C6)")
}

/// Checks sums of products by the scales of left operand, right operand and result. `labels` are those of the
/// constraints on: which of them are quantized, zero points (none: any are allowed), storage types, expressed types,
/// scales, a quantized right operand alone.
fn product(tensors: &[&TensorType], sides: [Option<&Quantized>; 3], labels: [&str; 6]) -> Option<String> {
    let say = |text: &str, label: usize| Some(format!("{text} ({})", labels[label]));
    let [lhs, rhs, result] = sides;
    let (Some(rhs), true) = (rhs, lhs.is_some() == result.is_some()) else {
        return say(
            "the right operand must be quantized, and the left operand and the result must both be quantized or not",
            0,
        );
    };
    if !labels[1].is_empty() && rhs.zero_points.iter().any(|&z| z != 0) {
        return say("the right operand's zero points must be 0", 1);
    }
    let (Some(lhs), Some(result)) = (lhs, result) else {
        let ends = [tensors[0].element, tensors[tensors.len() - 1].element];
        let plain = ends.iter().all(|&e| e == rhs.expressed);
        return if plain {
            None
        } else {
            say("the right operand expresses another type than the elements of the others", 5)
        };
    };
    if lhs.storage != rhs.storage {
        return say("the operands store different types", 2);
    }
    if [lhs, rhs].iter().any(|q| q.expressed != result.expressed) {
        return say("operands and result express different types", 3);
    }
    if !rhs.per_axis() && result.per_axis() {
        return say("the result has a scale for each index of a dimension, but the right operand has one for all", 4);
    }
    None
}
