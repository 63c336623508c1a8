//! Constraints that many ops share, in the specification's words, and functions that read operands and attributes under
//! them.
//!
//! Every function returns the first violated constraint as a [`Problem`] that ends with the specification's label.
//! Sizes are compared only between static types: an op with a dynamic dimension anywhere keeps its declared types.

use smallvec::SmallVec;

use crate::ir::{ElementType, OpRef, TensorType, TypeData, ValueSource};
use crate::literal::{Indices, Literal};
use crate::op::{Inferred, OpDef, Problem};
use crate::ops::stablehlo::shape::BroadcastInDim;
use crate::scalar::Scalar;

/// A result or the violated constraint.
pub type Checked<T> = Result<T, Problem>;

/// Checks that there are exactly `n` operands.
pub fn operand_count(op: OpRef<'_>, n: usize) -> Checked<()> {
    let found = op.operands().len();
    require!(found == n, "expected {n} operands, found {found}");
    Ok(())
}

/// Returns operand `i` as a tensor.
pub fn tensor(op: OpRef<'_>, i: usize) -> Checked<&TensorType> {
    if i >= op.operands().len() {
        return Err(Problem::new(format!("expected an operand {i}, found {} operands", op.operands().len())));
    }
    op.operand_tensor(i).ok_or_else(|| Problem::operand(i, "expected a tensor"))
}

/// Returns integer list attribute `name`.
pub fn ints(op: OpRef<'_>, name: &str) -> Checked<Vec<i64>> {
    op.ints(name).ok_or_else(|| Problem::new(format!("expected an attribute '{name}' of integers")))
}

/// Returns integer attribute `name`.
pub fn int(op: OpRef<'_>, name: &str) -> Checked<i64> {
    op.int(name).ok_or_else(|| Problem::new(format!("expected an integer attribute '{name}'")))
}

/// Returns a problem from the calling function unless a condition holds: `require!(n > 0, "expected {name} above 0")`;
/// `operand = i` after the condition blames that operand.
macro_rules! require {
    ($ok:expr, operand = $operand:expr, $($message:tt)+) => {
        if !$ok {
            return Err($crate::op::Problem::operand($operand, format!($($message)+)).into());
        }
    };
    ($ok:expr, $($message:tt)+) => {
        if !$ok {
            return Err($crate::op::Problem::new(format!($($message)+)).into());
        }
    };
}
pub(crate) use require;

/// Checks `0 <= values < rank`, and returns the values as dimensions.
pub fn dims(values: &[i64], rank: usize, what: &str, label: &str) -> Checked<Vec<usize>> {
    values
        .iter()
        .map(|&v| usize::try_from(v).ok().filter(|&d| d < rank).ok_or(v))
        .collect::<Result<_, _>>()
        .map_err(|v| Problem::new(format!("expected {what} in 0..{rank}, found {v} ({label})")))
}

/// Returns integer attribute `name`, which must be a dimension of `0..rank`.
pub fn dim(op: OpRef<'_>, name: &str, rank: usize, label: &str) -> Checked<usize> {
    Ok(dims(&[int(op, name)?], rank, name, label)?[0])
}

/// Checks that no dimension occurs twice.
pub fn unique(values: &[usize], what: &str, label: &str) -> Checked<()> {
    let mut sorted = values.to_vec();
    sorted.sort_unstable();
    match sorted.windows(2).find(|w| w[0] == w[1]) {
        Some(w) => Err(Problem::new(format!("expected {what} to be unique, found {} twice ({label})", w[0]))),
        None => Ok(()),
    }
}

/// Checks that there are exactly `n` values.
pub fn length(values: &[i64], n: usize, what: &str, label: &str) -> Checked<()> {
    require!(values.len() == n, "expected {n} values of {what}, found {} ({label})", values.len());
    Ok(())
}

/// Checks that operand `i` has the element type of operand `j`.
pub fn same_element(op: OpRef<'_>, i: usize, j: usize, label: &str) -> Checked<()> {
    let (a, b) = (tensor(op, i)?, tensor(op, j)?);
    let same = a.element == b.element;
    require!(same, operand = i, "expected the element type of {}, found {} ({label})", show(op, b), show(op, a));
    Ok(())
}

/// Returns whether the shapes are equal where both are known.
pub fn compatible(a: &[i64], b: &[i64]) -> bool {
    a.len() == b.len() && a.iter().zip(b).all(|(&a, &b)| a == b || a < 0 || b < 0)
}

/// Checks that operand `i` has the shape of operand `j`, where both are known.
pub fn same_shape(op: OpRef<'_>, i: usize, j: usize, label: &str) -> Checked<()> {
    let (a, b) = (tensor(op, i)?, tensor(op, j)?);
    let same = compatible(&a.shape, &b.shape);
    require!(same, operand = i, "expected the shape of {}, found {} ({label})", show(op, b), show(op, a));
    Ok(())
}

/// Returns operand `i`, which must have one element, of any type.
pub fn scalar<'a>(op: OpRef<'a>, i: usize, label: &str) -> Checked<&'a TensorType> {
    let ty = tensor(op, i)?;
    require!(ty.rank() == 0, operand = i, "expected a tensor of rank 0, found {} ({label})", show(op, ty));
    Ok(ty)
}

/// Returns whether no operand and no declared result has a dynamic dimension.
pub fn is_static(op: OpRef<'_>) -> bool {
    op.operand_types().chain(op.result_types()).all(|t| t.tensor().is_none_or(TensorType::is_static))
}

/// Returns the declared result types, for ops with unknown sizes.
pub fn declared(op: OpRef<'_>) -> Inferred {
    if op.result_count() == 0 {
        return Err(Problem::new("the result types of dynamic shapes must be given").into());
    }
    Ok(op.result_types().cloned().collect())
}

/// Returns the declared result types if they agree with the inferred ones, which have unknown sizes.
pub fn agreeing(op: OpRef<'_>, inferred: &[TensorType], label: &str) -> Inferred {
    for (i, want) in inferred.iter().enumerate() {
        let Some(found) = op.result_tensor(i) else { continue };
        let quantized = [want, found].iter().any(|t| t.element.class() == crate::ir::ElementClass::Other);
        let shape = compatible(&want.shape, &found.shape);
        let fits = shape && (quantized || want.element == found.element);
        require!(fits, "expected a result of type {}, found {} ({label})", show(op, want), show(op, found));
    }
    declared(op)
}

/// Returns the declared type of result `i`, if operands and attributes don't determine it.
pub fn result(op: OpRef<'_>, i: usize) -> Checked<&TensorType> {
    op.result_tensor(i).ok_or_else(|| Problem::new(format!("expected a tensor type for result {i}")))
}

/// Returns one result of this type.
pub fn one(ty: TensorType) -> Inferred {
    Ok(vec![TypeData::Tensor(ty)])
}

/// The text `tensor<2x3xf32>` of a type, for messages; it is formatted only if it is printed.
pub struct Shown<'a> {
    op: OpRef<'a>,
    ty: &'a TensorType,
}

/// Returns the text of `ty`.
pub fn show<'a>(op: OpRef<'a>, ty: &'a TensorType) -> Shown<'a> {
    Shown { op, ty }
}

impl std::fmt::Display for Shown<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("tensor<")?;
        for &d in &self.ty.shape {
            if d < 0 { f.write_str("?x")? } else { write!(f, "{d}x")? }
        }
        match self.ty.element {
            ElementType::Other(name) => write!(f, "{}>", self.op.program.name_text(name)),
            known => write!(f, "{}>", known.text().unwrap_or("?")),
        }
    }
}

/// Returns the literal of `shape` whose every element is copied from a row-major position of a literal.
pub fn rearrange<'a>(source: &Literal, shape: &[i64], mut from: impl FnMut(&[i64]) -> (&'a Literal, usize)) -> Literal {
    let mut bytes = Vec::new();
    for index in Indices::of(shape) {
        let (literal, at) = from(&index);
        bytes.extend_from_slice(literal.element_bytes(at));
    }
    Literal::from_bytes(source.element, shape, bytes)
}

/// Calls `f` for every index of `shape`, in row-major order, with its position, to which each dimension contributes its
/// index times its step.
pub fn walk(shape: &[i64], steps: &[usize], at: usize, f: &mut impl FnMut(usize)) {
    match (shape, steps) {
        (&[size], &[step]) => (0..size.max(0) as usize).for_each(|i| f(at + i * step)),
        ([size, shape @ ..], [step, steps @ ..]) => {
            (0..(*size).max(0) as usize).for_each(|i| walk(shape, steps, at + i * step, f));
        }
        _ => f(at),
    }
}

/// Returns the step of each dimension of a row-major tensor.
pub fn row_major(shape: &[i64]) -> SmallVec<[usize; 6]> {
    let mut steps: SmallVec<[usize; 6]> = SmallVec::from_elem(1, shape.len());
    for d in (1..shape.len()).rev() {
        steps[d - 1] = steps[d].saturating_mul(shape[d].max(0) as usize);
    }
    steps
}

/// Returns the literal of `shape` whose element at an index is that of `source` at the position from [`walk`], starting
/// at `start`.
pub fn strided(source: &Literal, shape: &[i64], start: usize, steps: &[usize]) -> Literal {
    let (bytes, size) = (source.stored_bytes(), source.element.bytes());
    let mut out = Vec::with_capacity(shape.iter().map(|&n| n.max(0) as usize).product::<usize>() * size);
    let one = bytes.len() == size;
    walk(shape, steps, start, &mut |at| {
        let at = if one { 0 } else { at * size };
        out.extend_from_slice(&bytes[at..at + size]);
    });
    Literal::from_bytes(source.element, shape, out)
}

/// Returns the value of every element of operand `i`, if it is a constant or the broadcast of one.
pub fn splat_operand(op: OpRef<'_>, i: usize) -> Option<Scalar> {
    if let Some(literal) = op.constant_operand(i) {
        return literal.splat_value();
    }
    let ValueSource::Result(maker, _) = op.program.value_source(*op.operands().get(i)?) else { return None };
    let broadcast = op.program.op_name(maker) == BroadcastInDim.name();
    op.program.view(maker).constant_operand(0).filter(|_| broadcast)?.splat_value()
}

/// Returns the dimensions of `0..rank` that aren't in `taken`.
pub fn others(rank: usize, taken: &[usize]) -> Vec<usize> {
    (0..rank).filter(|d| !taken.contains(d)).collect()
}
