//! Layouts of the matrices that LAPACK's calls read and write.
//!
//! LAPACK reads memory column by column. JAX's own calls state that layout for every matrix, so that they compute with
//! the matrices that the program has. `jax.ffi.ffi_call` states row-major matrices where its caller names no layout;
//! LAPACK then reads the same memory as another matrix: element (i, j) of m rows is the element at i + j * m. Source:
//! the StableHLO specification, `custom_call`; XLA, `custom_call_target` of the typed interface.

use crate::ir::build::Builder;
use crate::ir::{Attr, AttrData, Op, OpRef, TensorType, Value};
use crate::literal::Literal;
use crate::ops::build::shape;
use crate::scalar::Scalar;

const LAYOUTS: [&str; 2] = ["operand_layouts", "result_layouts"];

/// Operands and results that are row-major matrices.
pub(super) struct RowMajor {
    operands: Vec<bool>,
    results: Vec<bool>,
}

impl RowMajor {
    /// Returns those of a call whose problems have `batches` dimensions before them; `None` if a matrix is neither
    /// row-major nor column-major.
    pub(super) fn of(op: OpRef<'_>, batches: usize) -> Option<Self> {
        let operands: Vec<Option<&TensorType>> = (0..op.operands().len()).map(|i| op.operand_tensor(i)).collect();
        let results: Vec<Option<&TensorType>> = (0..op.result_count()).map(|i| op.result_tensor(i)).collect();
        let stated = |key: &str, types: &[Option<&TensorType>]| -> Option<Vec<bool>> {
            let Some(AttrData::Array(layouts)) = op.attr(key) else { return Some(vec![false; types.len()]) };
            types.iter().zip(layouts).map(|(ty, &layout)| is_row_major((*ty)?, layout, op, batches)).collect()
        };
        Some(Self { operands: stated(LAYOUTS[0], &operands)?, results: stated(LAYOUTS[1], &results)? })
    }

    /// Returns whether there is any.
    pub(super) fn is_any(&self) -> bool {
        self.operands.iter().chain(&self.results).any(|&is| is)
    }

    /// Returns the operands as LAPACK reads them.
    pub(super) fn read(&self, operands: &[Literal]) -> Vec<Literal> {
        let each = operands.iter().zip(&self.operands);
        each.map(|(l, &is)| if is { by_columns(l) } else { l.clone() }).collect()
    }

    /// Returns the results as the program reads them.
    pub(super) fn written(&self, results: Vec<Literal>) -> Vec<Literal> {
        results.into_iter().zip(&self.results).map(|(l, &is)| if is { by_rows(&l) } else { l }).collect()
    }

    /// Builds the same call of column-major matrices; returns the values that replace its results.
    pub(super) fn expand(&self, op: Op, b: &mut Builder<'_>) -> Vec<Value> {
        let data = b.program.op(op);
        let (def, name, attrs) = (data.def, data.name, data.attrs.to_vec());
        let operands = data.operands.to_vec();
        let types = b.program.view(op).result_type_ids().to_vec();
        let operands: Vec<Value> =
            operands.iter().zip(&self.operands).map(|(&v, &is)| if is { transposed_memory(b, v) } else { v }).collect();
        let call = b.named(def, name, &operands, &types, &attrs, &[]);
        for (key, are) in LAYOUTS.into_iter().zip([&self.operands, &self.results]) {
            if let Some(AttrData::Array(layouts)) = b.program.view(call).attr(key) {
                let layouts = layouts.to_vec();
                let new = layouts.iter().zip(are).map(|(&l, &is)| if is { column_major(b, l) } else { l }).collect();
                let new = b.program.intern_attr(AttrData::Array(new));
                b.program.set_attr(call, key, new);
            }
        }
        let results: Vec<Value> = b.program.results(call).collect();
        results.iter().zip(&self.results).map(|(&v, &is)| if is { memory_of_transposed(b, v) } else { v }).collect()
    }
}

/// Returns whether a value is a row-major matrix; `None` for a matrix in another order than by rows or by columns.
fn is_row_major(ty: &TensorType, layout: Attr, op: OpRef<'_>, batches: usize) -> Option<bool> {
    if ty.rank() != batches + 2 {
        return Some(false);
    }
    // From minor to major.
    let dims = op.program.attr_ints(layout).filter(|dims| dims.len() == ty.rank())?;
    let mut columns = dims.clone();
    columns.swap(0, 1);
    let descends = |dims: &[i64]| dims.is_sorted_by(|a, b| a > b);
    if descends(&columns) { Some(false) } else { descends(&dims).then_some(true) }
}

/// Returns the layout with the last two dimensions exchanged.
fn column_major(b: &mut Builder<'_>, layout: Attr) -> Attr {
    let mut dims = b.program.attr_ints(layout).unwrap_or_default();
    dims.swap(0, 1);
    let data = match b.program.attr_data(layout) {
        AttrData::Dense(ty, old) => {
            let values = dims.into_iter().map(|d| Scalar::Int(d.into()));
            AttrData::Dense(*ty, Literal::from_scalars(old.element, &old.shape, values))
        }
        _ => return b.program.attr_i64s(&dims),
    };
    b.program.intern_attr(data)
}

/// Returns the sizes of the last two dimensions.
fn sizes(shape: &[i64]) -> (usize, usize) {
    let size = |back: usize| shape[shape.len() - back].max(0) as usize;
    (size(2), size(1))
}

/// Returns the matrices that are by columns in memory what `rows` is by rows.
fn by_columns(rows: &Literal) -> Literal {
    let (m, n) = sizes(&rows.shape);
    Literal::from_fn(&rows.ty(), |at| {
        let (batch, i, j) = (at / (m * n), at / n % m, at % n);
        rows.get(batch * m * n + i + j * m)
    })
}

/// Returns the matrices that are by rows in memory what `columns` is by columns.
fn by_rows(columns: &Literal) -> Literal {
    let (m, n) = sizes(&columns.shape);
    Literal::from_fn(&columns.ty(), |at| {
        let (batch, j, i) = (at / (m * n), at / m % n, at % m);
        columns.get(batch * m * n + i * n + j)
    })
}

/// Returns the order of dimensions with the last two exchanged.
fn exchanged(rank: usize) -> Vec<i64> {
    let mut order: Vec<i64> = (0..rank as i64).collect();
    order.swap(rank - 2, rank - 1);
    order
}

/// Builds [`by_columns`].
fn transposed_memory(b: &mut Builder<'_>, value: Value) -> Value {
    let mut shape = b.tensor(value).shape.to_vec();
    let order = exchanged(shape.len());
    shape.swap(order.len() - 2, order.len() - 1);
    let turned = shape::reshape(b, value, &shape);
    shape::transpose(b, turned, &order)
}

/// Builds [`by_rows`].
fn memory_of_transposed(b: &mut Builder<'_>, value: Value) -> Value {
    let shape = b.tensor(value).shape.to_vec();
    let turned = shape::transpose(b, value, &exchanged(shape.len()));
    shape::reshape(b, turned, &shape)
}
