//! Assembles a tensor from many pieces, each of which is copied to its position.

use dialect::ir::OpRef;
use dialect::sharding::Assembly;

use super::{Native, View, ViewMut, share};

struct Assemble {
    pieces: Vec<Piece>,
    /// Bytes of the result for one position in the dimensions before the dimension along which pieces are concatenated.
    bytes: usize,
}

/// The source and the target of a piece, for one position in the dimensions before the concatenated one.
struct Piece {
    operand: usize,
    /// Bytes from one such position of the operand to the next.
    stride: usize,
    /// The first byte of the piece in the operand.
    from: usize,
    /// The first byte of the piece in the result.
    to: usize,
    /// Bytes of each contiguous copy, and the number of copies.
    row: usize,
    rows: usize,
    /// The order of the rows.
    order: Order,
}

#[derive(Clone, Copy, PartialEq)]
enum Order {
    Same,
    Reversed,
    Repeated,
}

/// Returns native code for an op that assembles many pieces; `None` for other ops.
pub(crate) fn of(op: OpRef<'_>) -> Option<Box<dyn Native>> {
    let assembly = Assembly::of_many(op)?;
    let result = op.result_tensor(0).filter(|ty| ty.is_static())?;
    let inner: usize = result.shape[assembly.dim + 1..].iter().map(|&n| n as usize).product();
    let (element, line) = (result.element.bytes(), inner * result.element.bytes());
    let piece = |(p, place): (dialect::sharding::AssemblyPiece, std::ops::Range<i64>)| {
        let (to, rows) = (place.start as usize * line, p.count as usize);
        match assembly.sizes[p.operand] {
            // The operand has rank 0 and one element.
            None => Piece {
                operand: p.operand,
                stride: 0,
                from: 0,
                to,
                row: element,
                rows: rows * inner,
                order: Order::Repeated,
            },
            Some(size) => {
                let (stride, from) = (size as usize * line, p.start as usize * line);
                let (row, rows, order) =
                    if p.reversed { (line, rows, Order::Reversed) } else { (line * rows, 1, Order::Same) };
                Piece { operand: p.operand, stride, from, to, row, rows, order }
            }
        }
    };
    let pieces = assembly.placed().filter(|(p, _)| p.count > 0).map(piece).collect();
    Some(Box::new(Assemble { pieces, bytes: result.shape[assembly.dim].max(0) as usize * line }))
}

impl Native for Assemble {
    fn run(&self, operands: &[View<'_>], results: &mut [ViewMut<'_>], threads: usize) -> Result<(), String> {
        share(threads, self.bytes, results[0].bytes, |first, part| {
            for (i, to) in part.chunks_exact_mut(self.bytes.max(1)).enumerate() {
                self.pieces.iter().for_each(|piece| piece.copy(operands[piece.operand].bytes, first + i, to));
            }
        });
        Ok(())
    }
}

impl Piece {
    /// Copies the piece for position `outer` of the dimensions before, to that position's part `to` of the result.
    fn copy(&self, operand: &[u8], outer: usize, to: &mut [u8]) {
        if self.row == 0 {
            return;
        }
        let from = &operand[outer * self.stride + self.from..];
        let to = to[self.to..][..self.row * self.rows].chunks_exact_mut(self.row);
        match self.order {
            Order::Same => to.zip(from.chunks_exact(self.row)).for_each(|(to, from)| to.copy_from_slice(from)),
            Order::Reversed => {
                let from = from[..self.row * self.rows].chunks_exact(self.row).rev();
                to.zip(from).for_each(|(to, from)| to.copy_from_slice(from));
            }
            Order::Repeated => to.for_each(|to| to.copy_from_slice(&from[..self.row])),
        }
    }
}
