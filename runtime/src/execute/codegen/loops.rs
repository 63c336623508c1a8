//! Writes the loops of a kernel, around the body that [`super::nodes`] writes.

use dialect::ir::ElementType;
use dialect::kernel::Affine;
use dialect::scalar::ScalarOp;

use super::arith::Write;
use super::lanes::Lanes;
use super::{Emitter, is_narrow, register};
use crate::execute::fuse::fused::{Fused, Node, NodeData};

impl Emitter<'_> {
    pub(super) fn function(&mut self) {
        let k = self.kernel;
        let reductions = k.parallel..k.loops.len();
        if let Some((dim, backward)) = k.scan {
            return self.scan(dim, backward);
        }
        if k.accumulators.is_empty() {
            let mut body = |e: &mut Self, vector: bool| {
                // All values are computed before the first is stored, because a store may overwrite operands of the
                // others.
                let values: Vec<String> = k.results.iter().map(|&node| e.node(node, vector)).collect();
                values.iter().enumerate().for_each(|(i, v)| e.store(i, v, vector));
            };
            if let Some(Lanes { turned: Some(turned), count, .. }) = self.lanes.clone() {
                return self.tiles(&turned, count, &mut body);
            }
            let outer = k.parallel.saturating_sub(1);
            (0..outer).for_each(|l| self.open_loop(l));
            self.innermost(k.overwritten().next().is_none(), &mut body);
            (0..outer).for_each(|_| self.close());
            return;
        }
        if columns_innermost(k) {
            return self.reduce_in_memory();
        }
        (0..k.parallel).for_each(|l| self.open_loop(l));
        let inits: Vec<String> = k.accumulators.iter().map(|a| self.node(a.init, false)).collect();
        let finals = self.reduce(reductions, &inits);
        for (i, v) in finals.iter().enumerate() {
            let v = self.rounded(v, self.places[i].element);
            self.store(i, &v, false);
        }
        (0..k.parallel).for_each(|_| self.close());
    }

    /// Emits a loop that carries the accumulators inside the other parallel loops, and stores them in each iteration.
    fn scan(&mut self, dim: usize, backward: bool) {
        let k = self.kernel;
        (0..k.parallel).filter(|&l| l != dim).for_each(|l| self.open_loop(l));
        let saved = self.values.clone();
        let inits: Vec<String> = k.accumulators.iter().map(|a| self.node(a.init, false)).collect();
        let (lo, hi, step) = (self.index_const(0), self.index_const(k.loops[dim]), self.index_const(1));
        let (name, results) = (self.fresh(), self.fresh());
        let names: Vec<String> = inits.iter().map(|_| self.fresh()).collect();
        let types: Vec<&str> = k.accumulators.iter().map(|a| register(k.ty(a.init))).collect();
        let carried: Vec<String> = names.iter().zip(&inits).map(|(n, i)| format!("{n} = {i}")).collect();
        self.line(&format!(
            "{results}:{} = scf.for {name} = {lo} to {hi} step {step} iter_args({}) -> ({}) {{",
            inits.len(),
            carried.join(", "),
            types.join(", ")
        ));
        self.indent += 1;
        self.loops[dim] = name.clone();
        if backward {
            let last = self.index_const(k.loops[dim] - 1);
            self.loops[dim] = self.value(&format!("arith.subi {last}, {name} : index"));
        }
        self.outer = names;
        self.values = saved.clone();
        let next: Vec<String> = match &k.accumulators[..] {
            // A single sum is rounded where it is stored.
            [one] => vec![self.accumulated(0, one.next, false)],
            all => all.iter().map(|a| self.node(a.next, false)).collect(),
        };
        next.iter().enumerate().for_each(|(i, v)| self.store(i, v, false));
        self.line(&format!("scf.yield {} : {}", next.join(", "), types.join(", ")));
        self.close();
        self.values = saved;
        (1..k.parallel).for_each(|_| self.close());
    }

    /// Emits nested reduction loops that carry the accumulators, and returns their final values.
    fn reduce(&mut self, mut loops: std::ops::Range<usize>, inits: &[String]) -> Vec<String> {
        let k = self.kernel;
        let Some(l) = loops.next() else {
            self.outer = inits.to_vec();
            let saved = self.values.clone();
            let next = k.accumulators.iter().enumerate().map(|(i, a)| self.accumulated(i, a.next, false)).collect();
            self.store_each(false);
            self.values = saved;
            return next;
        };
        let (lo, hi, step) = (self.index_const(0), self.index_const(k.loops[l]), self.index_const(1));
        let names: Vec<String> = inits.iter().map(|_| self.fresh()).collect();
        let results = self.fresh();
        let types: Vec<&str> = k.accumulators.iter().map(|a| register(k.ty(a.init))).collect();
        let carried: Vec<String> = names.iter().zip(inits).map(|(n, i)| format!("{n} = {i}")).collect();
        let name = self.loops[l].clone();
        let n = inits.len();
        self.line(&format!(
            "{results}:{n} = scf.for {name} = {lo} to {hi} step {step} iter_args({}) -> ({}) {{",
            carried.join(", "),
            types.join(", ")
        ));
        self.indent += 1;
        // Values computed inside the loop aren't visible outside.
        let saved = self.values.clone();
        let next = self.reduce(loops, &names);
        self.values = saved;
        self.line(&format!("scf.yield {} : {}", next.join(", "), types.join(", ")));
        self.close();
        (0..n).map(|i| format!("{results}#{i}")).collect()
    }

    /// Stores the results that have an element for each iteration of all loops.
    fn store_each(&mut self, vector: bool) {
        let k = self.kernel;
        let each = k.accumulators.len()..k.results.len();
        let values: Vec<(usize, String)> = each.map(|i| (i, self.node(k.results[i], vector))).collect();
        values.iter().for_each(|(i, v)| self.store(*i, v, vector));
    }

    /// Computes the next value of accumulator `i`. A sum of narrow floats stays wide until the end. A sum of floats may
    /// be reassociated, so that it vectorizes.
    fn accumulated(&mut self, i: usize, next: Node, vector: bool) -> String {
        let k = self.kernel;
        let ty = k.ty(next);
        if let NodeData::Op(ScalarOp::Add, args) = k.data(next)
            && ty.is_float()
            && let Some(&other) = args.iter().find(|&&a| *k.data(a) != NodeData::Accumulator(i))
            && args.iter().any(|&a| *k.data(a) == NodeData::Accumulator(i))
        {
            let (x, acc) = (self.node(other, vector), self.outer[i].clone());
            let ty = self.of(register(ty));
            return self.value(&format!("arith.addf {acc}, {x} fastmath<reassoc> : {ty}"));
        }
        self.node(next, vector)
    }

    /// Emits reduction loops outside and the last parallel loop innermost, with accumulators in the results' memory.
    /// Accumulators of a wider type than the results are held in a row on the stack.
    fn reduce_in_memory(&mut self) {
        let k = self.kernel;
        let last = k.parallel - 1;
        let places = self.places[..k.accumulators.len()].to_vec();
        let n = k.loops[last];
        for (i, _) in places.iter().enumerate().filter(|(_, place)| is_narrow(place.element)) {
            self.line(&format!("%s{i} = memref.alloca() {{alignment = 64 : i64}} : memref<{n}xf32>"));
        }
        // The memory of an accumulator while the loops run.
        let held = |e: &mut Self, i: usize| match is_narrow(places[i].element) {
            true => (format!("%s{i}"), e.loops[last].clone(), n, ElementType::F32),
            false => {
                let at = e.result_offset(&places[i]);
                (format!("%o{}", places[i].result), at, e.result_count(&places[i]), places[i].element)
            }
        };
        (0..last).for_each(|l| self.open_loop(l));
        self.innermost(true, &mut |e, vector| {
            for (i, a) in k.accumulators.iter().enumerate() {
                let v = e.node(a.init, vector);
                let (into, at, count, element) = held(e, i);
                e.store_at(&into, &at, count, element, &v, vector);
            }
        });
        (k.parallel..k.loops.len()).for_each(|l| self.open_loop(l));
        self.innermost(false, &mut |e, vector| {
            e.width = e.vector_width(vector);
            let load = |i: usize| {
                let (from, at, count, element) = held(e, i);
                e.load_at(&from, &at, count, element)
            };
            e.outer = (0..places.len()).map(load).collect();
            let each = k.accumulators.iter().enumerate();
            let next: Vec<String> = each.map(|(i, a)| e.accumulated(i, a.next, vector)).collect();
            e.width = 1;
            e.store_each(vector);
            for (i, v) in next.iter().enumerate() {
                let (into, at, count, element) = held(e, i);
                e.store_at(&into, &at, count, element, v, vector);
            }
        });
        (k.parallel..k.loops.len()).for_each(|_| self.close());
        if places.iter().any(|place| is_narrow(place.element)) {
            self.innermost(true, &mut |e, vector| {
                for i in (0..places.len()).filter(|&i| is_narrow(places[i].element)) {
                    e.width = e.vector_width(vector);
                    let v = e.load_at(&format!("%s{i}"), &e.loops[last].clone(), n, ElementType::F32);
                    e.width = 1;
                    e.store(i, &v, vector);
                }
            });
        }
        (0..last).for_each(|_| self.close());
    }

    /// Emits the last parallel loop, which is the innermost one, around `body`: by single positions, or by vectors and
    /// then the remainder. If positions may be computed twice (`repeats`), the last vector ends at the loop's end and
    /// overlaps the previous one.
    fn innermost(&mut self, repeats: bool, body: &mut dyn FnMut(&mut Self, bool)) {
        let k = self.kernel;
        let Some(last) = k.parallel.checked_sub(1) else { return body(self, false) };
        let Some(lanes) = &self.lanes else {
            let saved = self.values.clone();
            self.open_loop(last);
            body(self, false);
            self.values = saved;
            return self.close();
        };
        let (n, count) = (k.loops[last], lanes.count);
        let (even, alone, in_parts) = (n % count == 0, lanes.divides_alone(k), last == 0 && self.in_parts);
        let step = self.index_const(count);
        if !in_parts && (even || repeats) {
            let (lo, hi) = (self.index_const(0), self.index_const(n));
            let most = (!even).then(|| self.index_const(n - count));
            return self.strip(last, [&lo, &hi, &step], most, true, body);
        }
        if in_parts && alone {
            let [lo, hi] = ["%from", "%to"].map(|at| self.value(&format!("arith.muli {at}, {step} : index")));
            return self.strip(last, [&lo, &hi, &step], None, true, body);
        }
        let (lo, hi) = match in_parts {
            true => ("%from".to_owned(), "%to".to_owned()),
            false => (self.index_const(0), self.index_const(n)),
        };
        let size = self.value(&format!("arith.subi {hi}, {lo} : index"));
        let left = self.value(&format!("arith.remui {size}, {step} : index"));
        let middle = self.value(&format!("arith.subi {hi}, {left} : index"));
        self.strip(last, [&lo, &middle, &step], None, true, body);
        let one = self.index_const(1);
        self.strip(last, [&middle, &hi, &one], None, false, body);
    }

    /// Emits the innermost loop over some positions, by vectors or by single positions. No vector begins after `most`.
    fn strip(
        &mut self,
        l: usize,
        [lo, hi, step]: [&str; 3],
        most: Option<String>,
        vector: bool,
        body: &mut dyn FnMut(&mut Self, bool),
    ) {
        let saved = (self.values.clone(), self.vectors.clone(), self.loops[l].clone());
        let name = self.fresh();
        self.line(&format!("scf.for {name} = {lo} to {hi} step {step} {{"));
        self.indent += 1;
        self.loops[l] = match most {
            Some(most) => self.value(&format!("arith.minsi {name}, {most} : index")),
            None => name,
        };
        body(self, vector);
        self.close();
        (self.values, self.vectors, self.loops[l]) = saved;
    }

    pub(super) fn open_loop(&mut self, l: usize) {
        let n = self.kernel.loops[l];
        let (lo, hi) = match l {
            0 if self.in_parts => ("%from".to_owned(), "%to".to_owned()),
            _ => (self.index_const(0), self.index_const(n)),
        };
        let (lo, hi) = match self.bounds.iter().find(|b| b.index == l) {
            Some(bound) => {
                let offset = self.index(&bound.offset);
                let mut limit = |of: i64, extreme: &str, other: &str| {
                    let of = self.index_const(of);
                    let at = self.value(&format!("arith.subi {of}, {offset} : index"));
                    self.value(&format!("arith.{extreme} {at}, {other} : index"))
                };
                (limit(bound.lo, "maxsi", &lo), limit(bound.hi, "minsi", &hi))
            }
            None => (lo, hi),
        };
        let step = self.index_const(1);
        let name = self.loops[l].clone();
        self.line(&format!("scf.for {name} = {lo} to {hi} step {step} {{"));
        self.indent += 1;
    }

    pub(super) fn close(&mut self) {
        self.indent -= 1;
        self.line("}");
    }
}

/// The maximum number of f32 elements that hold accumulators of narrower types, because they are on the stack.
const WIDE: i64 = 1 << 14;

/// Returns whether a reduction iterates over its results innermost, with accumulators in their memory. It does if the
/// loads that move with the last parallel loop are contiguous along it and not along a reduction loop.
pub(in crate::execute) fn columns_innermost(k: &Fused) -> bool {
    let Some(last) = k.parallel.checked_sub(1).filter(|_| !k.accumulators.is_empty()) else { return false };
    let addresses: Vec<Affine> = addresses(k).into_iter().filter(|a| a.is_affine() && a.loops[last] != 0).collect();
    let width = k.places().iter().map(|p| p.width).max().unwrap_or(1);
    let along = |l: usize| addresses.iter().any(|a| (1..=width).contains(&a.loops[l]));
    let narrow = k.places()[..k.accumulators.len()].iter().filter(|p| is_narrow(p.element)).count() as i64;
    k.loops[last] >= 8 && narrow * k.loops[last] <= WIDE && along(last) && !(k.parallel..k.loops.len()).any(along)
}

fn addresses(k: &Fused) -> Vec<Affine> {
    let ranges = k.ranges();
    let address = |n: &(NodeData, ElementType)| match &n.0 {
        NodeData::Load { buffer, index, .. } if !index.is_empty() => {
            Some(Affine::offset(index, &k.buffers[*buffer].2, &ranges))
        }
        _ => None,
    };
    let stored = k.outputs.iter().filter_map(|o| o.each.as_ref()).map(|at| Affine::of(at, &ranges));
    k.nodes.iter().filter_map(address).chain(stored).collect()
}
