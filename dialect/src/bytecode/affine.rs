//! Affine maps and sets, which have codes in MLIR since 2026; older files have them as text.

use super::entries::Reader;
use super::value::joined;
use super::{Fault, Read};
use crate::text::MAX_NESTING;

/// The limit of dimensions and of symbols: programs don't have more, and their text would be long.
const MOST: u64 = 1 << 12;

/// The form of a map, in the low bits of its first number.
const IDENTITY: u64 = 0;
const PERMUTATION: u64 = 1;
const PROJECTION: u64 = 2;

/// Reads `affine_map<(d0, d1)[s0] -> (d0 + s0)>`.
pub(super) fn map(r: &mut Reader<'_, '_>) -> Read<String> {
    let at = r.from.at;
    let head = r.from.number()?;
    let (dims, form) = (limited(at, head >> 2)?, head & 3);
    let mut symbols = 0;
    let results = match form {
        IDENTITY => names("d", dims),
        PERMUTATION => (0..dims).map(|_| Ok(format!("d{}", r.from.number()?))).collect::<Read<Vec<_>>>()?,
        PROJECTION => r.from.list("results", |from| Ok(format!("d{}", from.number()?)))?,
        _ => {
            symbols = number(r)?;
            let count = r.from.count("results")?;
            (0..count).map(|_| Ok(expression(r, 0)?.weak())).collect::<Read<Vec<_>>>()?
        }
    };
    Ok(format!("affine_map<{} -> ({})>", spaces(dims, symbols), joined(results.iter())))
}

/// Reads `affine_set<(d0)[s0] : (d0 - s0 >= 0)>`.
pub(super) fn set(r: &mut Reader<'_, '_>) -> Read<String> {
    let (dims, symbols) = (number(r)?, number(r)?);
    let count = r.from.count("constraints")?;
    let sides = (0..count).map(|_| Ok(expression(r, 0)?.weak())).collect::<Read<Vec<_>>>()?;
    let constraints = sides.into_iter().map(|side| {
        let relation = if r.from.byte()? != 0 { "==" } else { ">=" };
        Ok(format!("{side} {relation} 0"))
    });
    let constraints = constraints.collect::<Read<Vec<_>>>()?;
    Ok(format!("affine_set<{} : ({})>", spaces(dims, symbols), joined(constraints.iter())))
}

/// Reads `strided<[1, ?], offset: 3>`.
pub(super) fn strided(r: &mut Reader<'_, '_>) -> Read<String> {
    let shown = |n: i64| if n == i64::MIN { "?".to_owned() } else { n.to_string() };
    let offset = r.from.signed()?;
    let strides: Vec<String> = r.signed_list()?.into_iter().map(shown).collect();
    let offset = if offset == 0 { String::new() } else { format!(", offset: {}", shown(offset)) };
    Ok(format!("strided<[{}]{offset}>", joined(strides.iter())))
}

fn number(r: &mut Reader<'_, '_>) -> Read<u64> {
    let at = r.from.at;
    limited(at, r.from.number()?)
}

fn limited(at: usize, n: u64) -> Read<u64> {
    match n <= MOST {
        true => Ok(n),
        false => Err(Fault::unknown(at, format!("an affine map has {n} dimensions; at most {MOST} are supported"))),
    }
}

fn names(letter: &str, count: u64) -> Vec<String> {
    (0..count).map(|i| format!("{letter}{i}")).collect()
}

/// Returns the text `(d0, d1)[s0]`.
fn spaces(dims: u64, symbols: u64) -> String {
    let symbols = if symbols == 0 { String::new() } else { format!("[{}]", joined(names("s", symbols).iter())) };
    format!("({}){symbols}", joined(names("d", dims).iter()))
}

/// An expression in MLIR's syntax.
enum Expression {
    Constant(i64),
    /// A name, which never needs parentheses.
    Name(String),
    /// A sum.
    Sum(String),
    /// A product by a negative number: the subtrahend that replaces it in a sum, and the product itself.
    Negative(String, String),
    /// Any other operation.
    Operation(String),
}

impl Expression {
    /// Returns the text alone or in a sum.
    fn weak(self) -> String {
        match self {
            Self::Constant(n) => n.to_string(),
            Self::Name(text) | Self::Sum(text) | Self::Negative(_, text) | Self::Operation(text) => text,
        }
    }

    /// Returns the text as an operand of an operation that binds more tightly than a sum.
    fn strong(self) -> String {
        match self {
            Self::Sum(text) | Self::Negative(_, text) | Self::Operation(text) => format!("({text})"),
            other => other.weak(),
        }
    }
}

fn expression(r: &mut Reader<'_, '_>, depth: usize) -> Read<Expression> {
    if depth >= MAX_NESTING {
        return r.from.fault(format!("an affine expression is nested deeper than {MAX_NESTING} levels"));
    }
    let kind = r.one_of(&["d", "s", "constant", "+", "*", "mod", "floordiv", "ceildiv"])?;
    match kind {
        "d" | "s" => return Ok(Expression::Name(format!("{kind}{}", r.from.number()?))),
        "constant" => return Ok(Expression::Constant(r.from.signed()?)),
        _ => {}
    }
    let (left, right) = (expression(r, depth + 1)?, expression(r, depth + 1)?);
    Ok(match (kind, right) {
        ("+", Expression::Constant(n)) if n < 0 => Expression::Sum(format!("{} - {}", left.weak(), n.unsigned_abs())),
        ("+", Expression::Negative(less, _)) => Expression::Sum(format!("{} - {less}", left.weak())),
        ("+", right) => Expression::Sum(format!("{} + {}", left.weak(), right.weak())),
        ("*", Expression::Constant(-1)) => {
            let left = left.strong();
            Expression::Negative(left.clone(), format!("-{left}"))
        }
        ("*", Expression::Constant(n)) if n < 0 => {
            let left = left.strong();
            Expression::Negative(format!("{left} * {}", n.unsigned_abs()), format!("{left} * {n}"))
        }
        (_, right) => Expression::Operation(format!("{} {kind} {}", left.strong(), right.strong())),
    })
}
