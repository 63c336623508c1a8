//! Index expressions.

use dialect::ir::ElementClass;
use dialect::kernel::{Affine, Index};

use super::arith::Write;
use super::{Emitter, storage};

impl Emitter<'_> {
    /// Writes an index as a number.
    pub(super) fn position(&mut self, index: &Index) -> String {
        let v = self.index(index);
        self.value(&format!("arith.index_cast {v} : index to i64"))
    }

    /// Writes the values of an index along a vector, as numbers. The index must change by a constant per iteration of
    /// the last parallel loop.
    pub(super) fn positions(&mut self, index: &Index) -> String {
        let affine = Affine::of(index, &self.kernel.ranges());
        let step = affine.loops[..self.kernel.parallel].last().copied().unwrap_or(0);
        let first = self.address(&affine);
        let first = self.value(&format!("arith.index_cast {first} : index to i64"));
        let ty = self.of("i64");
        let all = self.value(&format!("vector.broadcast {first} : i64 to {ty}"));
        if step == 0 {
            return all;
        }
        let steps: Vec<String> = (0..self.width).map(|lane| (lane * step).to_string()).collect();
        let steps = self.value(&format!("arith.constant dense<[{}]> : {ty}", steps.join(", ")));
        self.value(&format!("arith.addi {all}, {steps} : {ty}"))
    }

    pub(super) fn address(&mut self, a: &Affine) -> String {
        let mut sum: Option<String> = None;
        let mut terms: Vec<(String, i64)> = Vec::new();
        for (l, &c) in a.loops.iter().enumerate().filter(|l| *l.1 != 0) {
            terms.push((self.loops[l].clone(), c));
        }
        for other in &a.others {
            let v = self.index(&other.index);
            terms.push((v, other.factor));
        }
        for (v, factor) in terms {
            let scaled = if factor == 1 {
                v
            } else {
                let f = self.index_const(factor);
                self.value(&format!("arith.muli {v}, {f} overflow<nsw> : index"))
            };
            sum = Some(match sum {
                None => scaled,
                Some(s) => self.value(&format!("arith.addi {s}, {scaled} overflow<nsw> : index")),
            });
        }
        match sum {
            None => self.index_const(a.constant),
            Some(s) if a.constant == 0 => s,
            Some(s) => {
                let c = self.index_const(a.constant);
                self.value(&format!("arith.addi {s}, {c} overflow<nsw> : index"))
            }
        }
    }

    pub(super) fn index(&mut self, index: &Index) -> String {
        match index {
            Index::Loop(l) => self.loops[*l].clone(),
            Index::Const(c) => self.index_const(*c),
            Index::Add(a, b) => {
                let (a, b) = (self.index(a), self.index(b));
                self.value(&format!("arith.addi {a}, {b} : index"))
            }
            Index::Mul(a, f) => {
                let (a, f) = (self.index(a), self.index_const(*f));
                self.value(&format!("arith.muli {a}, {f} : index"))
            }
            // The unsigned ops are exact for numbers that are never negative.
            Index::FloorDiv(a, by) => {
                let op = if self.is_never_negative(a) { "divui" } else { "floordivsi" };
                let (a, by) = (self.index(a), self.index_const(*by));
                self.value(&format!("arith.{op} {a}, {by} : index"))
            }
            Index::Mod(a, by) if self.is_never_negative(a) => {
                let (a, by) = (self.index(a), self.index_const(*by));
                self.value(&format!("arith.remui {a}, {by} : index"))
            }
            Index::Mod(a, by) => {
                let (a, by) = (self.index(a), self.index_const(*by));
                let q = self.value(&format!("arith.floordivsi {a}, {by} : index"));
                let p = self.value(&format!("arith.muli {q}, {by} : index"));
                self.value(&format!("arith.subi {a}, {p} : index"))
            }
            Index::Clamp(a, lo, hi) => {
                let (a, lo, hi) = (self.index(a), self.index_const(*lo), self.index_const(*hi));
                let v = self.value(&format!("arith.minsi {a}, {hi} : index"));
                self.value(&format!("arith.maxsi {v}, {lo} : index"))
            }
            Index::Load { operand, index } => {
                let (_, element, shape) = &self.kernel.buffers[*operand];
                let (element, shape) = (*element, shape.clone());
                let address = Affine::offset(index, &shape, &self.kernel.ranges());
                let at = self.address(&address);
                let ty = storage(element).unwrap_or("i8");
                let n: i64 = shape.iter().product();
                let v = self.value(&format!("memref.load %b{operand}[{at}] : memref<{n}x{ty}>"));
                let cast = if element.class() == ElementClass::Unsigned { "index_castui" } else { "index_cast" };
                self.value(&format!("arith.{cast} {v} : {ty} to index"))
            }
        }
    }

    fn is_never_negative(&self, index: &Index) -> bool {
        index.positions(&self.kernel.ranges()).first >= 0
    }
}
