//! Kernels that read a tensor in another order than they write: their writes are contiguous along one loop, and their
//! reads along another.
//!
//! Square tiles, whose sides have as many positions as a vector, are read by vectors along the one loop, transposed in
//! registers, and kept on the stack until they are used by vectors along the other loop. So each cache line is
//! transferred only once.

use dialect::kernel::Affine;

use super::arith::Write;
use super::{Emitter, storage};
use crate::execute::fuse::fused::{Fused, Node, NodeData};

/// The maximum number of positions of a tile in each direction.
pub(super) const LARGEST: i64 = 16;

/// Loads that are contiguous along a loop other than the innermost one.
#[derive(Clone, Debug)]
pub(super) struct Turned {
    /// The loop along which they are contiguous.
    pub along: usize,
    /// The loads.
    pub loads: Vec<Node>,
}

impl Turned {
    /// Returns the loop along which a load is contiguous, if its address depends only on loops.
    pub(super) fn along(k: &Fused, address: &Affine) -> Option<usize> {
        let last = k.parallel.checked_sub(1)?;
        let along = (0..last).rev().find(|&l| address.loops[l] == 1)?;
        (address.is_affine() && k.accumulators.is_empty() && k.scan.is_none()).then_some(along)
    }
}

impl Emitter<'_> {
    /// Emits the loops of a kernel with such loads, around `body`.
    pub(super) fn tiles(&mut self, turned: &Turned, side: i64, body: &mut dyn FnMut(&mut Self, bool)) {
        let k = self.kernel;
        let (t, last) = (turned.along, k.parallel - 1);
        for (i, &load) in turned.loads.iter().enumerate() {
            let ty = storage(k.ty(load)).unwrap_or("i8");
            self.line(&format!("%t{i} = memref.alloca() {{alignment = 64 : i64}} : memref<{}x{ty}>", side * side));
        }
        (0..last).filter(|&l| l != t).for_each(|l| self.open_loop(l));
        let (lo, hi) = match t == 0 && self.in_parts {
            true => ("%from".to_owned(), "%to".to_owned()),
            false => (self.index_const(0), self.index_const(k.loops[t])),
        };
        let (one, step) = (self.index_const(1), self.index_const(side));
        let size = self.value(&format!("arith.subi {hi}, {lo} : index"));
        let left = self.value(&format!("arith.remui {size}, {step} : index"));
        let middle = self.value(&format!("arith.subi {hi}, {left} : index"));
        let n = k.loops[last];
        let [zero, whole, end] = [0, n - n % side, n].map(|at| self.index_const(at));
        self.range([&lo, &middle, &step], &mut |e, row| {
            e.range([&zero, &whole, &step], &mut |e, column| {
                for (i, &load) in turned.loads.iter().enumerate() {
                    e.turn(i, load, t, [row, column], side);
                }
                let count = e.index_const(side);
                e.range([&zero, &count, &one], &mut |e, i| {
                    e.loops[t] = e.value(&format!("arith.addi {row}, {i} : index"));
                    e.loops[last] = column.to_owned();
                    let at = e.value(&format!("arith.muli {i}, {step} : index"));
                    e.width = side;
                    for (i, &load) in turned.loads.iter().enumerate() {
                        e.vectors[load] = Some(e.load_at(&format!("%t{i}"), &at, side * side, k.ty(load)));
                    }
                    e.width = 1;
                    body(e, true);
                });
            });
            let below = e.value(&format!("arith.addi {row}, {step} : index"));
            e.positions_of([t, last], [row, &below, &whole, &end], &one, body);
        });
        self.positions_of([t, last], [&middle, &hi, &zero, &end], &one, body);
        (0..last).filter(|&l| l != t).for_each(|_| self.close());
    }

    /// Emits two nested loops over single positions, each over its own range.
    fn positions_of(
        &mut self,
        [outer, inner]: [usize; 2],
        [lo, hi, from, to]: [&str; 4],
        one: &str,
        body: &mut dyn FnMut(&mut Self, bool),
    ) {
        self.range([lo, hi, one], &mut |e, i| {
            e.loops[outer] = i.to_owned();
            e.range([from, to, one], &mut |e, j| {
                e.loops[inner] = j.to_owned();
                body(e, false);
            });
        });
    }

    /// Emits a loop. Names of values that are computed inside are dropped after it.
    fn range(&mut self, [lo, hi, step]: [&str; 3], body: &mut dyn FnMut(&mut Self, &str)) {
        let saved = (self.values.clone(), self.vectors.clone(), self.loops.clone());
        let name = self.fresh();
        self.line(&format!("scf.for {name} = {lo} to {hi} step {step} {{"));
        self.indent += 1;
        body(self, &name);
        self.close();
        (self.values, self.vectors, self.loops) = saved;
    }

    /// Reads the tile of load `i` that begins at a row and a column, and stores its transpose.
    fn turn(&mut self, i: usize, load: Node, along: usize, [row, column]: [&str; 2], side: i64) {
        let k = self.kernel;
        let NodeData::Load { buffer, index, .. } = k.data(load) else { return };
        let (_, element, shape) = &k.buffers[*buffer];
        let (ty, count) = (storage(*element).unwrap_or("i8"), shape.iter().product::<i64>());
        let address = Affine::offset(index, shape, &k.ranges());
        let outer = self.loops.clone();
        self.loops[along] = row.to_owned();
        let mut lines: Vec<String> = Vec::new();
        for j in 0..side {
            let j = self.index_const(j);
            self.loops[k.parallel - 1] = self.value(&format!("arith.addi {column}, {j} : index"));
            let at = self.address(&address);
            lines
                .push(self.value(&format!("vector.load %b{buffer}[{at}] : memref<{count}x{ty}>, vector<{side}x{ty}>")));
        }
        self.loops = outer;
        // Transposes by exchanging squares of one element, then of two, and so on, across the diagonal.
        let mut square = 1;
        while square < side {
            for a in (0..side).filter(|a| a & square == 0) {
                let b = a + square;
                let pick = |second: i64| {
                    let lane = |lane: i64| match (lane & square == 0, second) {
                        (true, 0) => lane,
                        (true, _) => lane + square,
                        (false, 0) => side + lane - square,
                        (false, _) => side + lane,
                    };
                    (0..side).map(|l| lane(l).to_string()).collect::<Vec<String>>().join(", ")
                };
                let vector = format!("vector<{side}x{ty}>");
                let [x, y] = [&lines[a as usize], &lines[b as usize]];
                let texts =
                    [0, 1].map(|second| format!("vector.shuffle {x}, {y} [{}] : {vector}, {vector}", pick(second)));
                let [x, y] = texts.map(|text| self.value(&text));
                (lines[a as usize], lines[b as usize]) = (x, y);
            }
            square *= 2;
        }
        for (line, v) in lines.iter().enumerate() {
            let at = self.index_const(line as i64 * side);
            self.line(&format!("vector.store {v}, %t{i}[{at}] : memref<{}x{ty}>, vector<{side}x{ty}>", side * side));
        }
    }
}
