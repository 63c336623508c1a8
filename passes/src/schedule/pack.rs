//! Packs several tensors that are scattered among `n` devices into one of shape `n x elements`: row `i` has the
//! elements of each that device `i` keeps; tensors that every device keeps in full are in every row. StableHLO's
//! reduce_scatter takes only one operand.

use dialect::ir::Value;
use dialect::ir::build::Builder;
use dialect::ops::build::shape;

/// Packs `values`, each with the dimension that is scattered, if any, into one tensor whose dimension 0 is scattered.
pub(super) fn pack(b: &mut Builder<'_>, values: &[(Value, Option<usize>)], n: i64) -> Value {
    let rows: Vec<Value> = values.iter().map(|&(value, dim)| rows(b, value, dim, n)).collect();
    shape::concatenate(b, &rows, 1)
}

fn rows(b: &mut Builder<'_>, value: Value, dim: Option<usize>, n: i64) -> Value {
    let sizes = b.tensor(value).shape.to_vec();
    let elements: i64 = sizes.iter().product();
    let Some(dim) = dim else {
        let row = shape::reshape(b, value, &[elements]);
        return shape::broadcast_in_dim(b, row, &[n, elements], &[1]);
    };
    let mut front = value;
    if dim > 0 {
        // The n shards along `dim` come first.
        let mut cut = sizes.clone();
        cut.splice(dim..=dim, [n, sizes[dim] / n]);
        let pieces = shape::reshape(b, value, &cut);
        let rest = (0..cut.len() as i64).filter(|&d| d != dim as i64);
        let permutation: Vec<i64> = [dim as i64].into_iter().chain(rest).collect();
        front = shape::transpose(b, pieces, &permutation);
    }
    shape::reshape(b, front, &[n, elements / n])
}

/// Returns a device's part of each tensor, of these shapes, from its row.
pub(super) fn unpack(b: &mut Builder<'_>, row: Value, shapes: &[Vec<i64>]) -> Vec<Value> {
    let mut start = 0;
    let mut values = Vec::with_capacity(shapes.len());
    for sizes in shapes {
        let elements: i64 = sizes.iter().product();
        let part = shape::slice_dim(b, row, 1, start, start + elements);
        values.push(shape::reshape(b, part, sizes));
        start += elements;
    }
    values
}
