//! Tokens, which order side effects, and the ops that use them: transfers between devices and with the host.
//!
//! In the evaluator a token is an empty value. Sent values are stored until they are received; receiving before
//! anything was sent is an error, because no other device runs in between. Source: the StableHLO specification.

use std::collections::HashSet;

use crate::eval::{ChannelKey, Context, EvalResult};
use crate::ir::{AttrData, ElementType, OpRef, TypeData};
use crate::literal::Literal;
use crate::op::{HostEffect, HostPartner, Inferred, OpDef, Problem};
use crate::ops::func;
use crate::ops::support::constraint::{Checked, require};
use crate::scalar::Scalar;
use crate::text::{Piece, Syntax, TypeForm};

/// The ops of this family.
pub static OPS: &[&dyn OpDef] = &[&AfterAll, &CreateToken, &Send, &Recv, &Infeed, &Outfeed];

/// `after_all`: <https://openxla.org/stablehlo/spec#after_all>
pub struct AfterAll;
/// `create_token`, an `after_all` without operands: <https://openxla.org/stablehlo/spec#deprecated-operations>
pub struct CreateToken;
/// `send`: <https://openxla.org/stablehlo/spec#send>
pub struct Send;
/// `recv`: <https://openxla.org/stablehlo/spec#recv>
pub struct Recv;
/// `infeed`: <https://openxla.org/stablehlo/spec#infeed>
pub struct Infeed;
/// `outfeed`: <https://openxla.org/stablehlo/spec#outfeed>
pub struct Outfeed;

/// Returns the value of a token.
pub(crate) fn token() -> Literal {
    Literal::splat(ElementType::I1, &[0], Scalar::Int(0))
}

/// Checks that the last operand is a token and all others are tensors.
fn ends_with_token(op: OpRef<'_>, label: &str) -> Checked<()> {
    let types: Vec<&TypeData> = op.operand_types().collect();
    let last = matches!(types.last(), Some(TypeData::Token));
    require!(last, "expected a token as last operand ({label})");
    match types[..types.len() - 1].iter().position(|t| t.tensor().is_none()) {
        Some(i) => Err(Problem::operand(i, "expected a tensor (I1)")),
        None => Ok(()),
    }
}

/// Returns the declared results: tensors, then a token.
fn tensors_and_token(op: OpRef<'_>, labels: [&str; 2]) -> Inferred {
    let types: Vec<TypeData> = op.result_types().cloned().collect();
    let last = matches!(types.last(), Some(TypeData::Token));
    require!(last, "expected a token as last result ({})", labels[1]);
    let tensors = types[..types.len() - 1].iter().all(|t| t.tensor().is_some());
    require!(tensors, "expected tensors, then a token, as results ({})", labels[0]);
    Ok(types)
}

fn only_tokens(op: OpRef<'_>) -> Checked<()> {
    match op.operand_types().position(|t| *t != TypeData::Token) {
        Some(i) => Err(Problem::operand(i, "expected a token (I1)")),
        None => Ok(()),
    }
}

const PAIRS: &str = "source_target_pairs";

/// Returns the source and target device pairs of a transfer, possibly none.
fn pairs(op: OpRef<'_>) -> Vec<(i64, i64)> {
    op.ints(PAIRS).unwrap_or_default().chunks_exact(2).map(|p| (p[0], p[1])).collect()
}

/// Checks the channel and the pairs of a send or recv; `host` is the channel type for transfers with the host.
fn check_channel(op: OpRef<'_>, host: i64) -> Checked<()> {
    let kind = op.field("channel_handle", "type").and_then(AttrData::as_int);
    let kind = kind.ok_or_else(|| Problem::new("expected an attribute 'channel_handle' (I2)"))?;
    let want = if op.flag("is_host_transfer") { host } else { 1 };
    require!(kind == want, "expected a channel of type {want}, found {kind} (C5)");
    if let Some(literal) = op.dense(PAIRS) {
        let fits = literal.shape.len() == 2 && literal.shape[1] == 2;
        require!(fits, "expected {PAIRS} of shape Nx2 (C1)");
    }
    let pairs = pairs(op);
    let n = func::num_replicas(op.program).max(func::num_partitions(op.program));
    let (mut sources, mut targets) = (HashSet::new(), HashSet::new());
    for &(source, target) in &pairs {
        require!(sources.insert(source), "device {source} sends twice (C2)");
        require!(targets.insert(target), "device {target} receives twice (C3)");
        let known = (0..n).contains(&source) && (0..n).contains(&target);
        require!(known, "expected devices in 0..{n}, found {source} and {target} (C4)");
    }
    Ok(())
}

/// Returns the key under which a transfer's values are stored: channel and, between devices, target.
fn address(op: OpRef<'_>, target: Option<i64>) -> ChannelKey {
    ChannelKey::Channel(op.field("channel_handle", "handle").and_then(AttrData::as_int).unwrap_or(0), target)
}

/// Checks `layout`: a list of dimensions for each result except the token.
fn check_layouts(op: OpRef<'_>) -> Checked<()> {
    let Some(AttrData::Array(layouts)) = op.attr("layout") else { return Ok(()) };
    let (want, found) = (op.result_count() - 1, layouts.len());
    require!(found == want, "expected a layout for each of {want} results, found {found}");
    let integers = |attr: &AttrData| match attr {
        AttrData::Array(dims) => dims.iter().all(|&d| matches!(op.program.attr_data(d), AttrData::Int(..))),
        _ => false,
    };
    let fits = layouts.iter().all(|&l| integers(op.program.attr_data(l)));
    require!(fits, "expected layouts as lists of integers");
    Ok(())
}

impl OpDef for AfterAll {
    fn name(&self) -> &'static str {
        "stablehlo.after_all"
    }

    fn syntax(&self) -> Syntax {
        Syntax::Keys(&[], TypeForm::SameOrFunctional)
    }

    fn infer(&self, op: OpRef<'_>) -> Inferred {
        only_tokens(op)?;
        Ok(vec![TypeData::Token])
    }

    fn evaluate(&self, _: OpRef<'_>, _: &[Literal], _: &mut dyn Context) -> EvalResult<Vec<Literal>> {
        Ok(vec![token()])
    }

    fn examples(&self) -> &'static [&'static str] {
        &[
            "(%a: !stablehlo.token, %b: !stablehlo.token) %r = stablehlo.after_all %a, %b : !stablehlo.token",
            "() %r = stablehlo.after_all : !stablehlo.token",
        ]
    }
}

impl OpDef for CreateToken {
    fn name(&self) -> &'static str {
        "stablehlo.create_token"
    }

    fn syntax(&self) -> Syntax {
        Syntax::Pieces(&[Piece::AttrDict, Piece::Types(TypeForm::Result)])
    }

    fn infer(&self, _: OpRef<'_>) -> Inferred {
        Ok(vec![TypeData::Token])
    }

    fn evaluate(&self, _: OpRef<'_>, _: &[Literal], _: &mut dyn Context) -> EvalResult<Vec<Literal>> {
        Ok(vec![token()])
    }

    fn examples(&self) -> &'static [&'static str] {
        &["() %r = stablehlo.create_token : !stablehlo.token"]
    }
}

impl OpDef for Send {
    fn name(&self) -> &'static str {
        "stablehlo.send"
    }

    fn infer(&self, op: OpRef<'_>) -> Inferred {
        ends_with_token(op, "I2")?;
        check_channel(op, 2)?;
        Ok(vec![TypeData::Token])
    }

    fn evaluate(&self, op: OpRef<'_>, operands: &[Literal], cx: &mut dyn Context) -> EvalResult<Vec<Literal>> {
        let values = operands[..operands.len() - 1].to_vec();
        if op.flag("is_host_transfer") {
            cx.post(address(op, None), values)?;
        } else if let Some(&(_, target)) = pairs(op).iter().find(|p| p.0 == cx.lane() as i64) {
            cx.post(address(op, Some(target)), values)?;
        }
        Ok(vec![token()])
    }

    fn examples(&self) -> &'static [&'static str] {
        &[
            "(%a: tensor<2xf32>, %t: !stablehlo.token) %r = \"stablehlo.send\"(%a, %t) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 2>, is_host_transfer = true}> : (tensor<2xf32>, !stablehlo.token) -> !stablehlo.token",
        ]
    }

    fn side_effect(&self, _: OpRef<'_>) -> bool {
        true
    }

    fn host_effect(&self, op: OpRef<'_>) -> Option<HostEffect> {
        op.flag("is_host_transfer").then(|| HostEffect::of(op, HostPartner::Transfer))
    }
}

impl OpDef for Recv {
    fn name(&self) -> &'static str {
        "stablehlo.recv"
    }

    fn infer(&self, op: OpRef<'_>) -> Inferred {
        ends_with_token(op, "I1")?;
        check_channel(op, 3)?;
        tensors_and_token(op, ["C2", "C2"])
    }

    fn evaluate(&self, op: OpRef<'_>, _: &[Literal], cx: &mut dyn Context) -> EvalResult<Vec<Literal>> {
        let lane = cx.lane() as i64;
        let mut values = if op.flag("is_host_transfer") {
            cx.collect(address(op, None))?
        } else if pairs(op).iter().any(|p| p.1 == lane) {
            cx.collect(address(op, Some(lane)))?
        } else {
            // A device that isn't the target of a pair gets zeros.
            let zero = |t: &crate::ir::TensorType| Literal::splat(t.element, &t.shape, Scalar::zero(t.element));
            op.result_types().filter_map(|t| t.tensor().map(zero)).collect()
        };
        values.push(token());
        Ok(values)
    }

    fn examples(&self) -> &'static [&'static str] {
        &[
            "(%t: !stablehlo.token) %r:2 = \"stablehlo.recv\"(%t) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, source_target_pairs = dense<0> : tensor<1x2xi64>}> : (!stablehlo.token) -> (tensor<2xf32>, !stablehlo.token)",
        ]
    }

    fn side_effect(&self, _: OpRef<'_>) -> bool {
        true
    }

    fn host_effect(&self, op: OpRef<'_>) -> Option<HostEffect> {
        op.flag("is_host_transfer").then(|| HostEffect::of(op, HostPartner::Transfer))
    }
}

impl OpDef for Infeed {
    fn name(&self) -> &'static str {
        "stablehlo.infeed"
    }

    fn infer(&self, op: OpRef<'_>) -> Inferred {
        ends_with_token(op, "I1")?;
        require!(op.result_count() > 0, "expected at least one result (C1)");
        check_layouts(op)?;
        tensors_and_token(op, ["C2", "C3"])
    }

    fn evaluate(&self, op: OpRef<'_>, _: &[Literal], cx: &mut dyn Context) -> EvalResult<Vec<Literal>> {
        let mut values = if op.result_count() > 1 { cx.collect(ChannelKey::Infeed)? } else { Vec::new() };
        values.push(token());
        Ok(values)
    }

    fn examples(&self) -> &'static [&'static str] {
        &[
            "(%t: !stablehlo.token) %r:2 = \"stablehlo.infeed\"(%t) <{infeed_config = \"\"}> : (!stablehlo.token) -> (tensor<2xf32>, !stablehlo.token)",
        ]
    }

    fn side_effect(&self, _: OpRef<'_>) -> bool {
        true
    }

    fn host_effect(&self, op: OpRef<'_>) -> Option<HostEffect> {
        Some(HostEffect::of(op, HostPartner::Transfer))
    }
}

impl OpDef for Outfeed {
    fn name(&self) -> &'static str {
        "stablehlo.outfeed"
    }

    fn infer(&self, op: OpRef<'_>) -> Inferred {
        ends_with_token(op, "I2")?;
        Ok(vec![TypeData::Token])
    }

    /// Drops the values, because the evaluator has no host to receive them.
    fn evaluate(&self, _: OpRef<'_>, _: &[Literal], _: &mut dyn Context) -> EvalResult<Vec<Literal>> {
        Ok(vec![token()])
    }

    fn examples(&self) -> &'static [&'static str] {
        &[
            "(%a: tensor<2xf32>, %t: !stablehlo.token) %r = \"stablehlo.outfeed\"(%a, %t) <{outfeed_config = \"\"}> : (tensor<2xf32>, !stablehlo.token) -> !stablehlo.token",
        ]
    }

    fn side_effect(&self, _: OpRef<'_>) -> bool {
        true
    }

    fn host_effect(&self, op: OpRef<'_>) -> Option<HostEffect> {
        Some(HostEffect::of(op, HostPartner::Transfer))
    }
}
