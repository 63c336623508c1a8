//! The decompositions that JAX calls by name: LAPACK's on CPU, XLA's own on TPU. They work on the last two dimensions;
//! the others are batches.
//!
//! Choices that mathematics leaves open are LAPACK's: the signs and scales of reflectors, the rows that are swapped,
//! the order of eigenvalues (ascending; those of a complex matrix in the order in which the QR algorithm finds them)
//! and singular values (descending). The phase of an eigenvector, and of a singular vector on the longer side, is such
//! that its largest element is positive. Sources: the LAPACK Users' Guide; jaxlib, `lapack_kernels`; XLA,
//! `qr_expander`, `eigh_expander`.

use super::dense::{Matrix, eigen, lower_factor, lu, qr, qr_product, singular, triangular};
use super::layouts::RowMajor;
use super::reductions::{hessenberg, multiply, pivoted_qr, three_diagonals, tridiagonal};
use super::schur::{general_eigen, real_schur, real_schur_values, schur};
use crate::eval::{EvalError, EvalResult};
use crate::ir::build::Builder;
use crate::ir::{AttrData, ElementType, Op, OpRef, TensorType, Value};
use crate::kernel::{Decomposition, External, Kernel, TriangularForm};
use crate::literal::Literal;
use crate::ops::stablehlo::control::target;
use crate::scalar::Scalar;
use crate::sharding::{FactorKind, ShardingRule};

/// The matrix computation of one of JAX's custom calls.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Call {
    /// A decomposition.
    Decomposition(Decomposition),
    /// A system of equations with a triangular matrix.
    TriangularSolve(TriangularForm),
}

impl Call {
    fn external(self) -> External {
        match self {
            Call::Decomposition(it) => External::Decomposition(it),
            Call::TriangularSolve(form) => External::TriangularSolve(form),
        }
    }
}

/// Returns the decomposition that a custom call names; `None` for others and for types and layouts that don't fit.
pub(crate) fn of(op: OpRef<'_>) -> Option<Call> {
    named(op).filter(|&it| row_major(it, op).is_some())
}

/// Returns which matrices of a call are row-major; `None` if any is in an order that LAPACK doesn't have.
fn row_major(it: Call, op: OpRef<'_>) -> Option<RowMajor> {
    RowMajor::of(op, op.operand_tensor(0)?.rank().checked_sub(inner(it))?)
}

/// Returns the computation for native code, which reads matrices that are column-major for LAPACK.
pub(crate) fn kernel(op: OpRef<'_>) -> Kernel {
    let Some(it) = of(op) else { return Kernel::None };
    let is_turned = row_major(it, op).is_some_and(|major| major.is_any());
    Kernel::External(if is_turned { External::Reference } else { it.external() })
}

/// Builds a call of row-major matrices as one of column-major matrices; `None` for other calls.
pub(crate) fn expand(op: Op, b: &mut Builder<'_>) -> Option<Vec<Value>> {
    let view = b.program.view(op);
    let major = row_major(of(view)?, view).filter(RowMajor::is_any)?;
    Some(major.expand(op, b))
}

fn named(op: OpRef<'_>) -> Option<Call> {
    let name = target(op);
    let letters = |key: &str| config(op, key);
    let letter = |key: &str| letters(key).and_then(|v| u8::try_from(v).ok());
    let call = |it: Call| fits(it, op).then_some(it);
    let lower = || Some(letter("uplo")? == b'L');
    let found = match name.strip_prefix("lapack_").and_then(|n| n.strip_suffix("_ffi")) {
        Some(name) if name.is_char_boundary(1) => match &name[1..] {
            "getrf" => Decomposition::Lu { permutation: false },
            "geqrf" => Decomposition::Qr,
            "orgqr" | "ungqr" => Decomposition::HouseholderProduct,
            "potrf" => Decomposition::Cholesky { lower: lower()? },
            "trsm" => {
                let form = TriangularForm {
                    left: letter("side")? == b'L',
                    lower: lower()?,
                    unit: letter("diag")? == b'U',
                    transposed: letter("trans_x")? != b'N',
                    conjugated: letter("trans_x")? == b'C',
                };
                return call(Call::TriangularSolve(form));
            }
            "gehrd" => Decomposition::Hessenberg { low: letters("low")?, high: letters("high")? },
            "sytrd" | "hetrd" => Decomposition::Tridiagonal { lower: lower()? },
            "geqp3" => Decomposition::PivotedQr,
            "ormqr" | "unmqr" => {
                let flag = |key: &str| letters(key).map(|v| v != 0);
                Decomposition::Reflect { left: flag("left")?, adjoint: flag("transpose")? }
            }
            "geev" => {
                let asked = |key: &str| Some(letter(key)? == b'V');
                Decomposition::Eigen { left: asked("compute_left")?, right: asked("compute_right")? }
            }
            "gees" if letter("sort")? == b'N' => Decomposition::Schur { vectors: letter("mode")? == b'V' },
            "gtsv" => Decomposition::ThreeDiagonals,
            "syevd" | "heevd" => Decomposition::Eigh { lower: lower()? },
            "gesdd" | "gesvd" => Decomposition::Svd { vectors: letter("mode")? != b'N' },
            _ => return None,
        },
        _ => match name {
            "LuDecomposition" => Decomposition::Lu { permutation: true },
            "Qr" => Decomposition::Qr,
            "ProductOfElementaryHouseholderReflectors" => Decomposition::HouseholderProduct,
            "Eigh" => {
                let text = op.attr("backend_config").and_then(AttrData::as_str).unwrap_or_default();
                Decomposition::Eigh { lower: !text.starts_with('0') }
            }
            _ => return None,
        },
    };
    call(Call::Decomposition(found))
}

fn config(op: OpRef<'_>, key: &str) -> Option<i64> {
    ["mhlo.backend_config", "backend_config"].iter().find_map(|name| {
        let AttrData::Dict(fields) = op.attr(name)? else { return None };
        let (_, value) = fields.iter().find(|f| op.program.name_text(f.0) == key)?;
        op.program.attr_data(*value).as_int()
    })
}

/// Returns how many of the last dimensions of operand 0 are one problem.
fn inner(it: Call) -> usize {
    match it {
        Call::Decomposition(it) => it.rank(),
        Call::TriangularSolve(_) => 2,
    }
}

/// Returns whether the types are those that the decomposition takes and returns.
fn fits(it: Call, op: OpRef<'_>) -> bool {
    let operands: Option<Vec<&TensorType>> = (0..op.operands().len()).map(|i| op.operand_tensor(i)).collect();
    let results: Option<Vec<&TensorType>> = (0..op.result_count()).map(|i| op.result_tensor(i)).collect();
    let (Some(operands), Some(results)) = (operands, results) else { return false };
    let Some(a) = operands.first().filter(|a| a.rank() >= inner(it)) else { return false };
    let (batch, last) = a.shape.split_at(a.rank() - inner(it));
    let (m, n) = (last[0], last[last.len() - 1]);
    use ElementType::{C64, C128, F32, F64};
    if !matches!(a.element, F32 | F64 | C64 | C128) || !operands.iter().chain(&results).all(|t| t.is_static()) {
        return false;
    }
    match (it, &operands[..], &results[..]) {
        (Call::Decomposition(it), ..) => decomposition_fits(it, &operands, &results, batch),
        (Call::TriangularSolve(form), [_, b], [x]) => {
            let Some((before, sides)) = b.shape.split_last_chunk::<2>() else { return false };
            let fits = before == batch && sides[if form.left { 0 } else { 1 }] == n && b.element == a.element;
            m == n && fits && x == b
        }
        _ => false,
    }
}

/// Returns whether the types are those of a decomposition of operand 0, whose batch dimensions are `batch`.
fn decomposition_fits(it: Decomposition, operands: &[&TensorType], results: &[&TensorType], batch: &[i64]) -> bool {
    use ElementType::{C64, C128, F64, I32};
    let (a, last) = (operands[0], &operands[0].shape[batch.len()..]);
    let (m, n) = (last[0], last[last.len() - 1]);
    let (k, real, square) = (m.min(n), a.element.part(), m == n);
    let is = |t: &TensorType, element: ElementType, dims: &[i64]| {
        t.element == element && t.shape.iter().eq(batch.iter().chain(dims))
    };
    let of_a = |t: &TensorType, dims: &[i64]| is(t, a.element, dims);
    match (it, operands, results) {
        (Decomposition::Lu { permutation }, [_], [f, p, i]) => {
            of_a(f, &[m, n]) && is(p, I32, &[k]) && is(i, I32, if permutation { &last[..1] } else { &[] })
        }
        (Decomposition::Qr, [_], [f, taus]) => of_a(f, &[m, n]) && of_a(taus, &[k]),
        (Decomposition::HouseholderProduct, [_, taus], [q]) => {
            let count = taus.shape.last().copied().unwrap_or(0);
            of_a(taus, &[count]) && count <= n && n <= m && of_a(q, &[m, n])
        }
        (Decomposition::Cholesky { .. }, [_], [l, i]) => square && of_a(l, &[m, n]) && is(i, I32, &[]),
        (Decomposition::Eigh { .. }, [_], [v, w]) => square && of_a(v, &[n, n]) && is(w, real, &[n]),
        (Decomposition::Eigh { .. }, [_], [v, w, i]) => {
            square && of_a(v, &[n, n]) && is(w, real, &[n]) && is(i, I32, &[])
        }
        (Decomposition::Eigen { .. }, [_], [values @ .., left, right, i]) => {
            let complex = if real == F64 { C128 } else { C64 };
            let parts = if a.element.is_complex() { 1 } else { 2 };
            let lines = values.len() == parts && values.iter().all(|v| of_a(v, &[n]));
            let vectors = is(left, complex, &[n, n]) && is(right, complex, &[n, n]);
            square && lines && vectors && is(i, I32, &[])
        }
        (Decomposition::Svd { .. }, [_], [c, s, u, vt, i]) => {
            let whole = of_a(u, &[m, m]) && of_a(vt, &[n, n]);
            let thin = of_a(u, &[m, k]) && of_a(vt, &[k, n]);
            of_a(c, &[m, n]) && is(s, real, &[k]) && (whole || thin) && is(i, I32, &[])
        }
        (Decomposition::Hessenberg { low, high }, [_], [h, taus, i]) => {
            let inside = 1 <= low && high <= n && (low <= high || n == 0);
            square && inside && of_a(h, &[n, n]) && of_a(taus, &[(n - 1).max(0)]) && is(i, I32, &[])
        }
        (Decomposition::Tridiagonal { .. }, [_], [t, d, e, taus, i]) => {
            let beside = [(n - 1).max(0)];
            let lines = is(d, real, &[n]) && is(e, real, &beside) && of_a(taus, &beside);
            square && of_a(t, &[n, n]) && lines && is(i, I32, &[])
        }
        (Decomposition::PivotedQr, [_, first], [f, order, taus]) => {
            is(first, I32, &[n]) && of_a(f, &[m, n]) && is(order, I32, &[n]) && of_a(taus, &[k])
        }
        (Decomposition::Reflect { left, .. }, [_, taus, c], [to]) => {
            let Some((before, sides)) = c.shape.split_last_chunk::<2>() else { return false };
            let count = taus.shape.last().copied().unwrap_or(0);
            let fits = before == batch && sides[usize::from(!left)] == m && of_a(c, sides) && to == c;
            fits && of_a(taus, &[count]) && count <= k
        }
        (Decomposition::Schur { .. }, [_], [t, q, values @ .., selected, i]) => {
            let parts = if a.element.is_complex() { 1 } else { 2 };
            let lines = values.len() == parts && values.iter().all(|v| of_a(v, &[n]));
            square && of_a(t, &[n, n]) && of_a(q, &[n, n]) && lines && is(selected, I32, &[]) && is(i, I32, &[])
        }
        (Decomposition::ThreeDiagonals, [_, d, above, b], [x, y, z, to, i]) => {
            let lines = [d, above, x, y, z].into_iter().all(|t| of_a(t, &[n]));
            let sides = b.shape.last().copied().unwrap_or(0);
            lines && of_a(b, &[n, sides]) && to == b && is(i, I32, &[])
        }
        _ => false,
    }
}

/// Returns the sharding rule of a LAPACK call: batches are independent. JAX adds its own rule to the call, which
/// doesn't mention the other dimensions.
pub(crate) fn rule(op: OpRef<'_>) -> Option<ShardingRule> {
    let it = of(op).filter(|_| target(op).starts_with("lapack_"))?;
    let operands: Vec<&TensorType> = (0..op.operands().len()).map(|i| op.operand_tensor(i)).collect::<Option<_>>()?;
    let results: Vec<&TensorType> = (0..op.result_count()).map(|i| op.result_tensor(i)).collect::<Option<_>>()?;
    let batches = operands.first()?.rank().checked_sub(inner(it))?;
    let mut rule = ShardingRule::of_op(op);
    for (d, &size) in operands[0].shape[..batches].iter().enumerate() {
        rule.add_all(size, FactorKind::PassThrough, d);
    }
    for (types, is_operand) in [(&operands, true), (&results, false)] {
        for (i, ty) in types.iter().enumerate() {
            for d in batches..ty.rank() {
                let at = [(i, d)];
                let (from, to): (&[_], &[_]) = if is_operand { (&at, &[]) } else { (&[], &at) };
                rule.add(ty.shape[d], FactorKind::NeedReplication, from, to);
            }
        }
    }
    Some(rule)
}

/// Evaluates the call by simple algorithms in f64.
pub(crate) fn evaluate(it: Call, op: OpRef<'_>, operands: &[Literal]) -> EvalResult<Vec<Literal>> {
    match row_major(it, op).filter(RowMajor::is_any) {
        Some(major) => Ok(major.written(by_columns(it, op, &major.read(operands))?)),
        None => by_columns(it, op, operands),
    }
}

/// Evaluates a call of matrices that are column-major for LAPACK.
fn by_columns(it: Call, op: OpRef<'_>, operands: &[Literal]) -> EvalResult<Vec<Literal>> {
    let unknown = || EvalError::new("a decomposition has a result that is not a tensor");
    let types: Vec<&TensorType> =
        (0..op.result_count()).map(|i| op.result_tensor(i)).collect::<Option<_>>().ok_or_else(unknown)?;
    let a = &operands[0];
    let batches: usize = a.shape[..a.shape.len() - inner(it)].iter().map(|&d| d.max(0) as usize).product();
    let mut results: Vec<Vec<Scalar>> = types.iter().map(|_| Vec::new()).collect();
    for batch in 0..batches {
        let matrix = |i: usize| Matrix::read(&operands[i], batch);
        let row = |i: usize| Matrix::read_row(&operands[i], batch);
        let a = if inner(it) == 1 { row(0) } else { matrix(0) };
        let int = |v: usize| Scalar::Int(v as i128);
        let it = match it {
            Call::Decomposition(it) => it,
            Call::TriangularSolve(form) => {
                results[0].extend(triangular(&a, matrix(1), form).scalars(types[0]));
                continue;
            }
        };
        let values: Vec<Vec<Scalar>> = match it {
            Decomposition::Lu { permutation } => {
                let (factors, swaps, singular) = lu(a);
                let first = usize::from(!permutation);
                let last = match permutation {
                    false => vec![int(singular)],
                    true => {
                        let mut rows: Vec<usize> = (0..factors.rows).collect();
                        swaps.iter().enumerate().for_each(|(i, &j)| rows.swap(i, j));
                        rows.into_iter().map(int).collect()
                    }
                };
                vec![factors.scalars(types[0]), swaps.into_iter().map(|row| int(row + first)).collect(), last]
            }
            Decomposition::Qr => {
                let (factors, taus) = qr(a);
                vec![factors.scalars(types[0]), taus.scalars(types[1])]
            }
            Decomposition::HouseholderProduct => {
                vec![qr_product(&a, &Matrix::read_row(&operands[1], batch)).scalars(types[0])]
            }
            Decomposition::Cholesky { lower } => {
                let (factor, failed) = lower_factor(a, lower);
                vec![factor.scalars(types[0]), vec![int(failed)]]
            }
            Decomposition::Eigh { lower } => {
                let (vectors, values) = eigen(&a, lower);
                let mut all = vec![vectors.scalars(types[0]), values.into_iter().map(Scalar::Float).collect()];
                all.extend((types.len() == 3).then(|| vec![int(0)]));
                all
            }
            Decomposition::Eigen { left, right } => eigenvectors(&a, left, right, &types),
            Decomposition::Svd { vectors } => {
                let size = |t: &TensorType, back: usize| t.shape[t.rank() - back].max(0) as usize;
                let (mut u, s, mut vt) = singular(&a, size(types[2], 1), size(types[3], 2));
                if !vectors {
                    u.clear();
                    vt.clear();
                }
                let s = s.into_iter().map(Scalar::Float).collect();
                vec![a.scalars(types[0]), s, u.scalars(types[2]), vt.scalars(types[3]), vec![int(0)]]
            }
            other => reduce(other, a, &types, &matrix, &row),
        };
        results.iter_mut().zip(values).for_each(|(all, values)| all.extend(values));
    }
    Ok(types.iter().zip(results).map(|(t, values)| Literal::from_scalars(t.element, &t.shape, values)).collect())
}

/// Returns the results of one problem: `a` is the first operand, `matrix` and `row` return the others.
fn reduce(
    it: Decomposition,
    a: Matrix,
    types: &[&TensorType],
    matrix: &dyn Fn(usize) -> Matrix,
    row: &dyn Fn(usize) -> Matrix,
) -> Vec<Vec<Scalar>> {
    let int = |v: usize| Scalar::Int(v as i128);
    match it {
        Decomposition::Hessenberg { low, high } => {
            let (h, taus) = hessenberg(a, low.max(1) as usize - 1..high.max(0) as usize);
            vec![h.scalars(types[0]), taus.scalars(types[1]), vec![int(0)]]
        }
        Decomposition::Tridiagonal { lower } => {
            let (t, d, e, taus) = tridiagonal(a, lower);
            vec![t.scalars(types[0]), floats(d), floats(e), taus.scalars(types[3]), vec![int(0)]]
        }
        Decomposition::PivotedQr => {
            let first: Vec<i64> = row(1).into_values().into_iter().map(|v| v.0 as i64).collect();
            let (f, order, taus) = pivoted_qr(a, &first);
            vec![f.scalars(types[0]), order.into_iter().map(int).collect(), taus.scalars(types[2])]
        }
        Decomposition::Reflect { left, adjoint } => {
            vec![multiply(&a, &row(1), matrix(2), left, adjoint).scalars(types[0])]
        }
        Decomposition::Schur { vectors } => schur_form(&a, vectors, types),
        Decomposition::ThreeDiagonals => {
            let mut lines = [a, row(1), row(2)].map(Matrix::into_values);
            let mut b = matrix(3);
            let [x, y, z] = &mut lines;
            let singular = three_diagonals([x, y, z], &mut b);
            let mut all: Vec<Vec<Scalar>> = lines.into_iter().map(|l| Matrix::row(l).scalars(types[0])).collect();
            all.extend([b.scalars(types[3]), vec![int(singular)]]);
            all
        }
        _ => Vec::new(),
    }
}

fn floats(values: Vec<f64>) -> Vec<Scalar> {
    values.into_iter().map(Scalar::Float).collect()
}

/// Returns NaNs for a result that wasn't found.
fn nan(ty: &TensorType, count: usize) -> Vec<Scalar> {
    let value = if ty.element.is_complex() { Scalar::Complex(f64::NAN, f64::NAN) } else { Scalar::Float(f64::NAN) };
    vec![value; count]
}

/// Returns the results of [`Decomposition::Schur`].
fn schur_form(a: &Matrix, vectors: bool, types: &[&TensorType]) -> Vec<Vec<Scalar>> {
    let (n, parts) = (a.rows, types.len() - 4);
    let int = |v: usize| vec![Scalar::Int(v as i128)];
    let found = if parts == 1 { schur(a) } else { real_schur(a) };
    let Some((t, mut q)) = found else {
        let lost = |i: usize| nan(types[i], if i < 2 { n * n } else { n });
        return (0..2 + parts).map(lost).chain([int(0), int(n)]).collect();
    };
    let values = match parts {
        1 => vec![Matrix::row((0..n).map(|i| t[(i, i)]).collect()).scalars(types[2])],
        _ => {
            let (re, im) = real_schur_values(&t);
            vec![floats(re), floats(im)]
        }
    };
    if !vectors {
        q.clear();
    }
    let both = [t.scalars(types[0]), q.scalars(types[1])];
    both.into_iter().chain(values).chain([int(0), int(0)]).collect()
}

/// Returns the results of [`Decomposition::Eigen`].
fn eigenvectors(a: &Matrix, left: bool, right: bool, types: &[&TensorType]) -> Vec<Vec<Scalar>> {
    let int = |v: usize| Scalar::Int(v as i128);
    let n = a.rows;
    let parts = types.len() - 3;
    let Some((values, mut lefts, mut rights)) = general_eigen(a) else {
        let mut all = vec![nan(types[0], n); parts];
        all.extend([nan(types[parts], n * n), nan(types[parts], n * n), vec![int(n)]]);
        return all;
    };
    if !left {
        lefts.clear();
    }
    if !right {
        rights.clear();
    }
    let mut all = match parts {
        1 => vec![Matrix::row(values).scalars(types[0])],
        _ => vec![floats(values.iter().map(|v| v.0).collect()), floats(values.iter().map(|v| v.1).collect())],
    };
    all.extend([lefts.scalars(types[parts]), rights.scalars(types[parts]), vec![int(0)]]);
    all
}
