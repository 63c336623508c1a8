//! Systems with a triangular matrix whose rows or columns are sharded, solved block by block: the matrix, which is
//! large, stays in place, and only solved unknowns are sent.
//!
//! Blocks of unknowns are solved for in order, each by the device that has its block of the diagonal. If devices have
//! rows of equations, it sends the block to all others, and each substitutes it in its own equations. If devices have
//! columns, each sends the sum of its unknowns' terms in the next block of equations.
//!
//! A decomposition isn't done in this way: all of its panels together are as large as the matrix, so nothing would be
//! saved.

use super::TriangularSolve;
use crate::ir::build::Builder;
use crate::ir::{Attr, AttrData, ElementType, Op, Value};
use crate::kernel::TriangularForm;
use crate::op::{CollectiveKind, Like, Steps, Surroundings};
use crate::ops::build;
use crate::ops::support::constraint::is_static;
use crate::scalar::{Comparison, Scalar};

/// The largest number of blocks, because more would need an unreasonable number of ops.
const MAX_BLOCKS: i64 = 64;

/// See [`OpDef::in_steps`](crate::op::OpDef::in_steps).
pub(super) fn in_steps(op: Op, around: &dyn Surroundings, b: &mut Builder<'_>) -> Option<Steps> {
    let view = b.program.view(op);
    let form = TriangularSolve::check(view).ok().filter(|_| is_static(view))?;
    let (matrix, right) = (view.operands()[0], view.operands()[1]);
    let ty = view.operand_tensor(0)?.clone();
    let batch = ty.rank() - 2;
    let (along, free) = if form.left { (batch, batch + 1) } else { (batch + 1, batch) };
    let shape = view.operand_tensor(1)?.shape.to_vec();
    if form.conjugated && ty.element.is_complex() || shape.contains(&0) {
        return None;
    }
    let shards = around.shards(b.program, matrix);
    let sharded = match (shards[batch], shards[batch + 1]) {
        (2.., 1) => batch,
        (1, 2..) => batch + 1,
        _ => return None,
    };
    let (n, size) = (shards[sharded], shape[along]);
    if size % n != 0 || n > MAX_BLOCKS || around.shards(b.program, right)[free] > 1 {
        return None;
    }
    let mut blocks = Blocks {
        form,
        batch,
        matrix,
        // If the matrix is on the right, its transpose is on the left of the unknowns.
        transposed: form.transposed == form.left,
        sharded,
        n,
        rows: size / n,
        columns: shape[free],
        element: ty.element,
        steps: Steps::default(),
    };
    let elements = |shape: &[i64], shards: &[i64]| -> f64 {
        shape.iter().zip(shards).map(|(n, shards)| (n + shards - 1) / shards).product::<i64>() as f64
    };
    let bytes = ty.element.bytes() as f64;
    let local = bytes * elements(&ty.shape, &shards);
    let of = (matrix, sharded);
    let gather = around.seconds(b.program, CollectiveKind::AllGather, of, (local, local * n as f64));
    let block = bytes * elements(&shape[..batch], &shards[..batch]) * (blocks.rows * blocks.columns) as f64;
    let reduce = around.seconds(b.program, CollectiveKind::AllReduce, of, (block, block));
    let times = if blocks.by_equations() { n - 1 } else { 2 * n };
    if reduce * times as f64 >= gather {
        return None;
    }
    let solved = match form.left {
        true => blocks.solve(b, right),
        false => {
            let flipped: Vec<i64> = (0..batch as i64).chain([batch as i64 + 1, batch as i64]).collect();
            let right = build::shape::transpose(b, right, &flipped);
            blocks.like(b, right, Some(batch));
            let solved = blocks.solve(b, right);
            blocks.like(b, solved, Some(batch));
            build::shape::transpose(b, solved, &flipped)
        }
    };
    blocks.steps.results = vec![solved];
    Some(blocks.steps)
}

/// A system `m x = r`, where `m` is the matrix or its transpose.
struct Blocks {
    form: TriangularForm,
    /// The number of leading dimensions.
    batch: usize,
    matrix: Value,
    transposed: bool,
    /// The sharded dimension of the matrix.
    sharded: usize,
    /// The number of shards and of blocks.
    n: i64,
    /// The number of unknowns of a block.
    rows: i64,
    /// The number of systems.
    columns: i64,
    element: ElementType,
    steps: Steps,
}

impl Blocks {
    /// Returns whether devices have rows of equations rather than columns.
    fn by_equations(&self) -> bool {
        (self.sharded == self.batch) != self.transposed
    }

    /// Records that `value`, an intermediate value, is sharded like the matrix: along dimension `dim` and in its
    /// leading dimensions.
    fn like(&mut self, b: &Builder<'_>, value: Value, dim: Option<usize>) -> Value {
        let place = |d: usize| match d {
            d if d < self.batch => vec![d],
            d if dim == Some(d) => vec![self.sharded],
            _ => Vec::new(),
        };
        let dims = (0..b.tensor(value).rank()).map(place).collect();
        self.steps.made.push((value, Like { of: self.matrix, dims }));
        value
    }

    /// Returns the leading dimensions' sizes, then these.
    fn shape(&self, b: &Builder<'_>, sizes: &[i64]) -> Vec<i64> {
        [&b.tensor(self.matrix).shape[..self.batch], sizes].concat()
    }

    /// Builds the solution for `right`.
    fn solve(&mut self, b: &mut Builder<'_>, right: Value) -> Value {
        let (at, n, rows, columns) = (self.batch, self.n, self.rows, self.columns);
        let shape = b.tensor(right).shape.to_vec();
        let (stack, one) = (self.shape(b, &[n, rows, columns]), self.shape(b, &[rows, columns]));
        let split = self.shape(b, &[n, rows, n, rows]);
        let matrix = build::shape::reshape(b, self.matrix, &split);
        let parts = if self.sharded == at { at } else { at + 2 };
        self.like(b, matrix, Some(parts));
        let diagonal = self.diagonal(b, matrix);
        let mut rest = build::shape::reshape(b, right, &stack);
        self.like(b, rest, Some(at));
        let mut found: Option<Value> = None;
        let forward = self.form.lower != self.transposed;
        let order: Vec<i64> = if forward { (0..n).collect() } else { (0..n).rev().collect() };
        for (done, &block) in order.iter().enumerate() {
            let right = match self.by_equations() {
                true => rest,
                false => {
                    let mut right = self.block(b, rest, block);
                    if let Some(found) = found {
                        let known = self.row(b, matrix, block, forward);
                        let inner =
                            if self.transposed { [at as i64, at as i64 + 1] } else { [at as i64 + 1, at as i64 + 2] };
                        let sum = self.product(b, known, found, &inner, &[at as i64, at as i64 + 1]);
                        self.like(b, sum, None);
                        right = build::subtract(b, right, sum);
                        self.like(b, right, None);
                    }
                    let to: Vec<i64> = (0..at as i64).chain([at as i64 + 1, at as i64 + 2]).collect();
                    let all = build::shape::broadcast_in_dim(b, right, &stack, &to);
                    self.like(b, all, Some(at))
                }
            };
            let solved = self.solve_blocks(b, diagonal, right);
            let old = found.unwrap_or_else(|| {
                let none = build::splat(b, self.element, &stack, Scalar::zero(self.element));
                self.like(b, none, Some(at))
            });
            let here = self.is_block(b, &stack, at, block, Comparison::Eq);
            let next = build::select(b, here, solved, old);
            found = Some(self.like(b, next, Some(at)));
            if self.by_equations() && done + 1 < order.len() {
                let solved = self.block(b, solved, block);
                debug_assert_eq!(b.tensor(solved).shape[..], one);
                let known = self.column(b, matrix, block);
                let inner = if self.transposed { [at as i64] } else { [at as i64 + 2] };
                let taken = self.product(b, known, solved, &inner, &[at as i64]);
                self.like(b, taken, Some(at));
                rest = build::subtract(b, rest, taken);
                self.like(b, rest, Some(at));
            }
        }
        let found = found.unwrap_or(rest);
        build::shape::reshape(b, found, &shape)
    }

    /// Builds block `block` of a stack of blocks, for all devices.
    fn block(&mut self, b: &mut Builder<'_>, stack: Value, block: i64) -> Value {
        let mut sizes = b.tensor(stack).shape.to_vec();
        sizes[self.batch] = 1;
        let starts: Vec<Value> =
            (0..sizes.len()).map(|d| build::index(b, if d == self.batch { block } else { 0 })).collect();
        let one = build::shape::dynamic_slice(b, stack, &starts, &sizes);
        self.like(b, one, None);
        sizes.remove(self.batch);
        let one = build::shape::reshape(b, one, &sizes);
        self.like(b, one, None)
    }

    /// Builds the coefficients of unknowns `block` in all equations: [n, rows, rows] if the matrix isn't transposed.
    fn column(&mut self, b: &mut Builder<'_>, matrix: Value, block: i64) -> Value {
        let dim = if self.transposed { self.batch } else { self.batch + 2 };
        let column = build::shape::slice_dim(b, matrix, dim, block, block + 1);
        let parts = if self.transposed { self.batch + 2 } else { self.batch };
        self.like(b, column, Some(parts));
        let mut shape = b.tensor(column).shape.to_vec();
        shape.remove(dim);
        let column = build::shape::reshape(b, column, &shape);
        self.like(b, column, Some(if self.transposed { self.batch + 1 } else { self.batch }))
    }

    /// Builds the coefficients of all unknowns in equations `block`, zero for those that aren't solved for yet.
    fn row(&mut self, b: &mut Builder<'_>, matrix: Value, block: i64, forward: bool) -> Value {
        let (dim, parts) = if self.transposed { (self.batch + 2, self.batch) } else { (self.batch, self.batch + 2) };
        let row = build::shape::slice_dim(b, matrix, dim, block, block + 1);
        self.like(b, row, Some(parts));
        let mut shape = b.tensor(row).shape.to_vec();
        shape.remove(dim);
        let row = build::shape::reshape(b, row, &shape);
        let parts = if self.transposed { self.batch } else { self.batch + 1 };
        self.like(b, row, Some(parts));
        let solved = self.is_block(b, &shape, parts, block, if forward { Comparison::Lt } else { Comparison::Gt });
        let none = build::splat(b, self.element, &shape, Scalar::zero(self.element));
        self.like(b, none, Some(parts));
        let row = build::select(b, solved, row, none);
        self.like(b, row, Some(parts))
    }

    /// Builds the comparison `by` of `block` with the position along dimension `dim`, by which a tensor of `shape` is
    /// sharded.
    fn is_block(&mut self, b: &mut Builder<'_>, shape: &[i64], dim: usize, block: i64, by: Comparison) -> Value {
        let number = build::iota(b, ElementType::I32, shape, dim);
        self.like(b, number, Some(dim));
        let block = build::splat(b, ElementType::I32, shape, Scalar::Int(block.into()));
        self.like(b, block, Some(dim));
        let is = build::compare(b, by, number, block);
        self.like(b, is, Some(dim))
    }

    /// Builds a stack of the blocks on the diagonal.
    fn diagonal(&mut self, b: &mut Builder<'_>, matrix: Value) -> Value {
        let (at, shape) = (self.batch, b.tensor(matrix).shape.to_vec());
        let parts = if self.sharded == at { at } else { at + 2 };
        let [row, column] = [at, at + 2].map(|dim| {
            let number = build::iota(b, ElementType::I32, &shape, dim);
            self.like(b, number, Some(parts))
        });
        let is = build::compare(b, Comparison::Eq, row, column);
        self.like(b, is, Some(parts));
        let none = build::splat(b, self.element, &shape, Scalar::zero(self.element));
        self.like(b, none, Some(parts));
        let only = build::select(b, is, matrix, none);
        self.like(b, only, Some(parts));
        if parts == at {
            let blocks = build::region::sum(b, only, &[at as i64 + 2]);
            return self.like(b, blocks, Some(at));
        }
        let blocks = build::region::sum(b, only, &[at as i64]);
        self.like(b, blocks, Some(at + 1));
        let order: Vec<i64> = (0..at as i64).chain([1, 0, 2].map(|d| at as i64 + d)).collect();
        let blocks = build::shape::transpose(b, blocks, &order);
        self.like(b, blocks, Some(at))
    }

    /// Builds the product over dimensions `left` and `right`, in full precision.
    fn product(&self, b: &mut Builder<'_>, lhs: Value, rhs: Value, left: &[i64], right: &[i64]) -> Value {
        let batch: Vec<i64> = (0..self.batch as i64).collect();
        let highest = b.program.attr_enum("precision", "HIGHEST");
        let precision: Attr = b.program.intern_attr(AttrData::Array(vec![highest; 2]));
        let attrs = [("precision_config", precision)];
        build::shape::dot_general(b, (lhs, rhs), (&batch, &batch), (left, right), self.element, &attrs)
    }

    /// Solves each block of the diagonal for its right-hand side.
    fn solve_blocks(&mut self, b: &mut Builder<'_>, diagonal: Value, right: Value) -> Value {
        let flag = |b: &mut Builder<'_>, on: bool| b.program.intern_attr(AttrData::Bool(on));
        let (yes, lower, unit) = (flag(b, true), flag(b, self.form.lower), flag(b, self.form.unit));
        let transpose = b.program.attr_enum("transpose", if self.transposed { "TRANSPOSE" } else { "NO_TRANSPOSE" });
        let attrs = [("left_side", yes), ("lower", lower), ("transpose_a", transpose), ("unit_diagonal", unit)];
        let solved = b.inferred(&TriangularSolve, &[diagonal, right], &attrs, &[])[0];
        self.like(b, solved, Some(self.batch))
    }
}
