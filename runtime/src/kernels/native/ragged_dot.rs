//! `ragged_dot`: one library product for each group.

#![allow(unsafe_code, reason = "groups are parts of the operands, which products read by address and stride")]

use dialect::ir::{ElementType, TensorType};
use dialect::literal::Indices;
use dialect::ops::chlo::ragged_dot::{Ragged, RaggedDims};
use dialect::scalar::Scalar;

use super::{Native, View, ViewMut};
use crate::kernels::gemm::{Gemm, Loops, Run, is_product_of};

struct RaggedDot {
    dims: RaggedDims,
    types: [ElementType; 3],
    lengths: [usize; 3],
    /// The type and the shape of the group sizes.
    sizes: TensorType,
    /// The loops of one product. The ragged loop is separate.
    loops: Loops,
    ragged: Run,
    /// The loops along which group sizes differ.
    prefix: Vec<Run>,
    /// The strides, in elements, of the groups' right matrices, and of their results.
    group: (isize, isize),
}

pub(super) fn of(dims: &RaggedDims, operands: &[&TensorType], out: &TensorType) -> Option<Box<dyn Native>> {
    let [lhs, rhs, sizes] = operands else { return None };
    let types = [lhs.element, rhs.element, out.element];
    if !is_product_of(types) {
        return None;
    }
    let [left, right, made] = [*lhs, rhs, out].map(|t| strides(&t.shape));
    let in_front = usize::from(dims.kind == Ragged::Contracted);
    let run = |l: Option<usize>, r: Option<usize>, o: Option<usize>| {
        let size = l.map(|d| lhs.shape[d]).or(r.map(|d| rhs.shape[d])).unwrap_or(1).max(0) as usize;
        let stride = |of: &[isize], d: Option<usize>| d.map_or(0, |d| of[d]);
        Run { size, lhs: stride(&left, l), rhs: stride(&right, r), out: stride(&made, o) }
    };
    let (batches, free) = (dims.lhs_batch.len(), dims.lhs_free.len());
    // Loops over the left operand's dimensions, each with its dimension.
    let batch =
        |i: usize| (dims.lhs_batch[i], run(Some(dims.lhs_batch[i]), Some(dims.rhs_batch[i]), Some(in_front + i)));
    let row = |i: usize| (dims.lhs_free[i], run(Some(dims.lhs_free[i]), None, Some(in_front + batches + i)));
    let sum = |i: usize| (dims.lhs_contract[i], run(Some(dims.lhs_contract[i]), Some(dims.rhs_contract[i]), None));
    let roles: [Vec<(usize, Run)>; 3] = [
        (0..batches).map(batch).collect(),
        (0..free).map(row).collect(),
        (0..dims.lhs_contract.len()).map(sum).collect(),
    ];
    let find = |d: usize| roles.iter().flatten().find(|l| l.0 == d).map(|l| l.1);
    let differs = dims.kind != Ragged::Batch && sizes.rank() > 1;
    let prefix = if differs { &dims.prefix[..] } else { &[] };
    // Such products would be partial sums.
    if prefix.iter().any(|d| dims.lhs_contract.contains(d)) {
        return None;
    }
    let apart = |d: usize| prefix.contains(&d) || dims.kind != Ragged::Batch && d == dims.ragged;
    let [batch, rows, contracted] =
        roles.clone().map(|role| role.into_iter().filter(|l| !apart(l.0)).map(|l| l.1).collect::<Vec<Run>>());
    let column = |i: usize| run(None, Some(dims.rhs_free[i]), Some(in_front + batches + free + i));
    let loops = Loops { batch, rows, columns: (0..dims.rhs_free.len()).map(column).collect(), contracted };
    Some(Box::new(RaggedDot {
        types,
        lengths: [*lhs, rhs, out].map(|t| t.elements().unwrap_or(0)),
        sizes: (*sizes).clone(),
        loops,
        ragged: find(dims.ragged)?,
        prefix: prefix.iter().map(|&d| find(d)).collect::<Option<_>>()?,
        group: (dims.group.map_or(0, |d| right[d]), if in_front == 1 { made[0] } else { 0 }),
        dims: dims.clone(),
    }))
}

fn strides(shape: &[i64]) -> Vec<isize> {
    let mut strides = vec![1; shape.len()];
    for d in (1..shape.len()).rev() {
        strides[d - 1] = strides[d] * shape[d] as isize;
    }
    strides
}

impl Native for RaggedDot {
    fn run(&self, operands: &[View<'_>], results: &mut [ViewMut<'_>], threads: usize) -> Result<(), String> {
        results[0].bytes.fill(0);
        let mut out = Out { operands, bytes: &mut *results[0].bytes, threads };
        if self.dims.kind == Ragged::Batch {
            self.multiply(&mut out, self.loops.clone(), [0; 3]);
            return Ok(());
        }
        let groups = self.sizes.shape.last().copied().unwrap_or(0).max(0) as usize;
        let width = self.sizes.element.bytes();
        let before: Vec<i64> = self.prefix.iter().map(|r| r.size as i64).collect();
        for (number, at) in Indices::of(&before).enumerate() {
            let mut offset = [0isize; 3];
            for (run, &i) in self.prefix.iter().zip(&at) {
                let strides = [run.lhs, run.rhs, run.out];
                offset.iter_mut().zip(strides).for_each(|(o, stride)| *o += stride * i as isize);
            }
            let mut start = 0;
            for g in 0..groups {
                let size = &operands[2].bytes[(number * groups + g) * width..][..width];
                let size = match Scalar::decode(self.sizes.element, size) {
                    Scalar::Int(v) => v.clamp(0, self.ragged.size as i128) as usize,
                    _ => 0,
                };
                let end = (start + size).min(self.ragged.size);
                let run = Run { size: end - start, ..self.ragged };
                let mut loops = self.loops.clone();
                match self.dims.kind {
                    Ragged::Contracted => loops.contracted.push(run),
                    _ => loops.rows.push(run),
                }
                let (first, g) = (start as isize, g as isize);
                let at = [
                    offset[0] + first * run.lhs,
                    offset[1] + first * run.rhs + g * self.group.0,
                    offset[2] + first * run.out + g * self.group.1,
                ];
                if end > start {
                    self.multiply(&mut out, loops, at);
                }
                start = end;
            }
        }
        Ok(())
    }
}

/// The buffers of one run.
struct Out<'a> {
    operands: &'a [View<'a>],
    bytes: &'a mut [u8],
    threads: usize,
}

impl RaggedDot {
    /// Computes one product, beginning at these elements.
    fn multiply(&self, out: &mut Out<'_>, loops: Loops, at: [isize; 3]) {
        let Loops { batch, rows, columns, contracted } = &loops;
        if batch.iter().chain(rows).chain(columns).chain(contracted).any(|r| r.size == 0) {
            return;
        }
        let gemm = Gemm::of_loops(self.types, self.lengths, loops);
        let threads = gemm.threads(out.threads);
        let byte = |i: usize| at[i] * self.types[i].bytes() as isize;
        // SAFETY: the loops cover parts of the operands' and the result's dimensions, beginning at `at`; none of them
        // is empty, as was checked above. Views are aligned to 8 bytes, and `out` has exclusive access to the result.
        unsafe {
            let lhs = out.operands[0].bytes.as_ptr().offset(byte(0));
            let rhs = out.operands[1].bytes.as_ptr().offset(byte(1));
            gemm.run(lhs, rhs, out.bytes.as_mut_ptr().offset(byte(2)), threads);
        }
    }
}
