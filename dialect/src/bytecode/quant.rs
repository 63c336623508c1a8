//! Quantized types, by the codes in MLIR's QuantDialectBytecode.td; StableHLO's portable form has the same fields.

use std::rc::Rc;

use super::Read;
use super::entries::Reader;
use super::value::{Scalar, Type, float_text};

/// The fields that all quantized types begin with.
struct Head {
    signed: bool,
    storage: Rc<Type>,
    expressed: Rc<Type>,
}

pub(super) fn ty(r: &mut Reader<'_, '_>) -> Read<Type> {
    match r.from.number()? {
        4 => uniform(r),
        5 => per_axis(r),
        code => r.no_code(code, "a type of the dialect 'quant'"),
    }
}

fn head(r: &mut Reader<'_, '_>) -> Read<Head> {
    let flags = r.from.number()?;
    Ok(Head { signed: flags & 1 == 1, storage: r.ty()?, expressed: r.ty()? })
}

/// Reads a type with a single scale.
pub(super) fn uniform(r: &mut Reader<'_, '_>) -> Read<Type> {
    let head = head(r)?;
    let (scale, zero) = (r.double()?, r.from.signed()?);
    let storage = storage(r, &head)?;
    Ok(Type::new(format!("!quant.uniform<{storage}:{}, {}>", head.expressed.text, point(scale, zero))))
}

/// Reads a type with a scale for each index of a dimension.
pub(super) fn per_axis(r: &mut Reader<'_, '_>) -> Read<Type> {
    let head = head(r)?;
    let dimension = r.from.number()?;
    let storage = storage(r, &head)?;
    let n = r.from.count("scales")?;
    let scales = (0..n).map(|_| r.double()).collect::<Read<Vec<_>>>()?;
    let zeros = r.signed_list()?;
    if zeros.len() != n {
        return r.from.fault(format!("expected {n} zero points, one for each scale, found {}", zeros.len()));
    }
    let points: Vec<String> = scales.iter().zip(zeros).map(|(&scale, zero)| point(scale, zero)).collect();
    let points = points.join(", ");
    Ok(Type::new(format!("!quant.uniform<{storage}:{}:{dimension}, {{{points}}}>", head.expressed.text)))
}

/// Reads `i8`, `u8<1:255>`: the lowest and highest value follow if they differ from the type's limits.
fn storage(r: &mut Reader<'_, '_>, head: &Head) -> Read<String> {
    let (low, high) = (r.from.signed()?, r.from.signed()?);
    let Some(Scalar::Int(bits @ 1..=32) | Scalar::Unsigned(bits @ 1..=32)) = head.storage.scalar else {
        return r.from.fault(format!("a quantized type can't store {}", head.storage.text));
    };
    let (sign, all) = match head.signed {
        true => ("i", (-(1i64 << (bits - 1)), (1i64 << (bits - 1)) - 1)),
        false => ("u", (0, (1i64 << bits) - 1)),
    };
    let range = if (low, high) == all { String::new() } else { format!("<{low}:{high}>") };
    Ok(format!("{sign}{bits}{range}"))
}

fn point(scale: f64, zero: i64) -> String {
    let scale = float_text(scale.to_bits(), 64);
    if zero == 0 { scale } else { format!("{scale}:{zero}") }
}
