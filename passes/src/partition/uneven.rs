//! Dimensions that don't divide: the padding at the end of a piece must not be seen by reductions.
//!
//! Before an op that reduces over such a dimension, positions past its end are replaced by the reduction's identity.

use dialect::codes;
use dialect::diagnostic::Diagnostic;
use dialect::ir::build::Builder;
use dialect::ir::{ElementType, Op, Program, Value};
use dialect::ops::build;
use dialect::scalar::Comparison;
use dialect::sharding::{FactorKind, Mesh, ShardingTable, identity};

use super::position::Positions;

/// The operands of `op` with padding under reductions replaced by the identity.
pub(super) fn mask(
    program: &mut Program,
    ops: &mut Vec<Op>,
    op: Op,
    operands: &[Value],
    shardings: &ShardingTable,
    mesh: &Mesh,
    positions: &mut Positions,
) -> Result<Vec<Value>, Diagnostic> {
    let mut masked = operands.to_vec();
    let globals = program.op(op).operands.clone();
    let mut padded: Vec<(usize, usize)> = Vec::new();
    for (i, v) in globals.iter().enumerate() {
        let (Some(s), Some(t)) = (shardings.get(*v), program.tensor_type(*v)) else { continue };
        padded.extend((0..t.rank()).filter(|&d| t.shape[d] % s.shards(d, mesh).max(1) != 0).map(|d| (i, d)));
    }
    if padded.is_empty() {
        return Ok(masked);
    }
    let view = program.view(op);
    let (def, loc) = (view.def(), program.op(op).loc);
    let Some(rule) = def.sharding_rule(view) else { return Ok(masked) };
    let kind = def.reduction(view);
    for (i, d) in padded {
        let reduced = rule.operands[i][d].iter().any(|&f| rule.factors[f as usize].kind == FactorKind::Reduction);
        if !reduced {
            continue;
        }
        let (Some(kind), Some(s)) = (kind, shardings.get(globals[i])) else {
            let message = format!("'{}' reduces over dimension {d}, which doesn't divide", program.op_name(op));
            return Err(Diagnostic::error(codes::UNEVEN_OP, program.op(op).span, message)
                .note("pad the dimension to a multiple of the axes' sizes, or don't cut it"));
        };
        let global = program.tensor_type(globals[i]).map_or(0, |t| t.shape[d]);
        let mut b = Builder::new(program, ops, loc);
        let local = b.tensor(masked[i]).clone();
        let offset = positions.offset(&mut b, mesh, &s.dims[d].axes, local.shape[d]);
        let at = build::iota(&mut b, ElementType::I64, &local.shape, d);
        let offset = build::shape::splat(&mut b, offset, &local.shape);
        let at = build::add(&mut b, at, offset);
        let end = build::splat(&mut b, ElementType::I64, &local.shape, dialect::scalar::Scalar::Int(global.into()));
        let inside = build::compare(&mut b, Comparison::Lt, at, end);
        let other = build::splat(&mut b, local.element, &local.shape, identity(kind, local.element));
        masked[i] = build::select(&mut b, inside, masked[i], other);
    }
    Ok(masked)
}
