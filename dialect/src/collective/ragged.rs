//! `ragged_all_to_all`: every device sends a run of rows of its operand to each device of its group, where the run
//! replaces rows of that device's output. Source: JAX, `jax.lax.ragged_all_to_all`.
//!
//! A device shows its operand to the others, followed by the start, number and destination of the rows for each device
//! of the group; [`Ragged::receive`] reads them. Rows out of range are dropped.

use crate::ir::{ElementType, OpRef};
use crate::scalar::Scalar;

/// The sizes of a `ragged_all_to_all`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Ragged {
    /// The number of rows of the operand.
    rows: usize,
    /// The number of bytes of a row.
    row: usize,
    /// The type of offsets and sizes.
    index: ElementType,
    /// The number of offsets; each device of the group has an equal share of them.
    runs: usize,
}

/// The operands: rows, output, input offsets, send sizes, output offsets, receive sizes.
const OPERANDS: usize = 6;

impl Ragged {
    /// Returns its sizes, or the problem with its operands.
    pub fn of(op: OpRef<'_>) -> Result<Self, String> {
        let tensor = |i: usize| op.operand_tensor(i).ok_or_else(|| format!("operand {i} is not a tensor"));
        if op.operands().len() != OPERANDS || op.result_count() != 1 {
            return Err(format!("expected {OPERANDS} operands and one result of a ragged_all_to_all"));
        }
        let (rows, output, runs) = (tensor(0)?, tensor(1)?, tensor(2)?);
        let known = |shape: &[i64]| shape.iter().all(|&d| d >= 0);
        if rows.rank() == 0 || rows.shape.get(1..) != output.shape.get(1..) || rows.element != output.element {
            return Err("expected its operand and its output to have rows of the same type".to_owned());
        }
        if Some(output) != op.result_tensor(0) {
            return Err("expected its result to have the type of its output".to_owned());
        }
        if (2..OPERANDS).any(|i| op.operand_tensor(i) != Some(runs)) || runs.rank() != 1 || !runs.element.is_integer() {
            return Err("expected its offsets and sizes to be integers of one type, tensor<nxi32>".to_owned());
        }
        if !known(&rows.shape) || !known(&output.shape) || !known(&runs.shape) {
            return Err("expected its shapes to be static".to_owned());
        }
        let width: usize = rows.shape[1..].iter().map(|&d| d as usize).product();
        Ok(Self {
            rows: rows.shape[0] as usize,
            row: width * rows.element.bytes(),
            index: runs.element,
            runs: runs.shape[0] as usize,
        })
    }

    /// Returns the bytes that a device shows: its operand, input offsets, send sizes and output offsets.
    pub fn shown(&self, parts: [&[u8]; 4]) -> Vec<u8> {
        parts.concat()
    }

    /// Fills `output` of the device at `place` of its group with the rows that the group's devices send it.
    pub fn receive(&self, shown: &[&[u8]], place: usize, output: &mut [u8]) {
        let (data, width) = (self.rows * self.row, self.index.bytes());
        let each = self.runs / shown.len().max(1);
        for from in shown {
            let number = |list: usize, i: usize| {
                let at = data + (list * self.runs + i) * width;
                let value = from.get(at..at + width).map(|bytes| Scalar::decode(self.index, bytes));
                value.and_then(Scalar::as_i64).and_then(|n| usize::try_from(n).ok())
            };
            for run in place * each..(place + 1) * each {
                let (Some(start), Some(count), Some(to)) = (number(0, run), number(1, run), number(2, run)) else {
                    continue;
                };
                let there = output.len() / self.row.max(1);
                let count = count.min(self.rows.saturating_sub(start)).min(there.saturating_sub(to));
                if count > 0 {
                    let source = start * self.row..(start + count) * self.row;
                    output[to * self.row..(to + count) * self.row].copy_from_slice(&from[source]);
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn runs_of_rows_go_where_their_senders_say() {
        let ragged = Ragged { rows: 4, row: 1, index: ElementType::I32, runs: 2 };
        let shown = |rows: [u8; 4], starts: [i32; 2], sizes: [i32; 2], to: [i32; 2]| {
            let ints = |list: [i32; 2]| list.iter().flat_map(|n| n.to_le_bytes()).collect::<Vec<u8>>();
            ragged.shown([&rows, &ints(starts), &ints(sizes), &ints(to)])
        };
        let a = shown([1, 2, 3, 4], [0, 1], [1, 3], [2, 0]);
        let b = shown([5, 6, 7, 8], [2, 0], [2, 0], [0, 3]);
        let all: [&[u8]; 2] = [&a, &b];
        let mut output = [0; 4];
        ragged.receive(&all, 0, &mut output);
        assert_eq!(output, [7, 8, 1, 0]);
        let mut output = [9; 4];
        ragged.receive(&all, 1, &mut output);
        assert_eq!(output, [2, 3, 4, 9]);
        // Beyond the ends, nothing is read or written.
        let far = shown([1, 2, 3, 4], [3, -1], [9, 9], [3, 0]);
        let mut output = [0; 4];
        ragged.receive(&[&far, &far], 0, &mut output);
        assert_eq!(output, [0, 0, 0, 4]);
        ragged.receive(&[&far, &far], 1, &mut output);
        assert_eq!(output, [0, 0, 0, 4]);
    }
}
