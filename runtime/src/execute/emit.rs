//! A fused kernel as MLIR text: `scf` loops over `memref` buffers, `arith` and `math` inside.
//!
//! Buffers are flat and row-major; `i1` is stored as a byte. bf16 and f16 values are held in f32 registers and rounded
//! after every operation, except that a sum of them accumulates in f32 and is rounded once. Neighboring loops that
//! every access traverses with one stride are joined, so that the innermost loop is as long as possible.

use std::fmt::Write as _;

use dialect::id::TiVec;
use dialect::ir::{ElementClass, ElementType};
use dialect::kernel::{Affine, Guard, Index};
use dialect::scalar::{Scalar, ScalarOp};
use smallvec::SmallVec;

use super::arith::{self, Math};
use super::complex;
use super::fused::{Fused, Node, NodeData, Place};
use super::update::{self, Bound};

/// The MLIR type that a buffer of this element type holds; `None` if there is no native code for it.
pub(super) fn storage(element: ElementType) -> Option<&'static str> {
    Some(match element {
        ElementType::I1 | ElementType::I8 | ElementType::UI8 => "i8",
        ElementType::I16 | ElementType::UI16 => "i16",
        ElementType::I32 | ElementType::UI32 => "i32",
        ElementType::I64 | ElementType::UI64 => "i64",
        ElementType::BF16 => "bf16",
        ElementType::F16 => "f16",
        ElementType::F32 => "f32",
        ElementType::F64 => "f64",
        _ => return None,
    })
}

/// The MLIR type that its values are computed in.
pub(super) fn register(element: ElementType) -> &'static str {
    match element {
        ElementType::I1 => "i1",
        ElementType::BF16 | ElementType::F16 => "f32",
        e => storage(e).unwrap_or("i64"),
    }
}

/// Whether values of the type are rounded after every operation.
fn is_narrow(element: ElementType) -> bool {
    matches!(element, ElementType::BF16 | ElementType::F16)
}

/// Appends function `name`, which computes `kernel`. Its parameters are pointers to the buffers, then to the results
/// that have buffers of their own.
///
/// A kernel that is worth sharing between `threads` threads takes the first and the last position of its outermost loop,
/// exclusive, as well; the number of these positions is returned.
pub(super) fn emit(kernel: &Fused, name: &str, threads: usize, math: Math, out: &mut String) -> Option<i64> {
    let whole = match complex::split(kernel) {
        Some(real) => collapse(&real),
        None => collapse(kernel),
    };
    let (kernel, bounds) = &update::narrowed(&whole).unwrap_or((whole, Vec::new()));
    let work: i64 = kernel.loops.iter().product();
    let large = kernel.parallel > 0 && work >= SHARED && bounds.is_empty();
    let parts = (threads > 1 && large).then(|| kernel.loops[0]);
    let mut e = Emitter {
        places: kernel.places(),
        kernel,
        math,
        out: String::new(),
        in_parts: parts.is_some(),
        bounds,
        next: 0,
        indent: 1,
        loops: Vec::new(),
        values: vec![None; kernel.nodes.len()].into(),
        outer: Vec::new(),
    };
    let count: i64 = kernel.loops[..kernel.parallel].iter().product();
    let mut params: Vec<String> = Vec::new();
    for (i, (_, element, shape)) in kernel.buffers.iter().enumerate() {
        let n: i64 = shape.iter().product();
        params.push(format!("%b{i}: memref<{n}x{}> {{llvm.noalias}}", storage(*element).unwrap_or("i8")));
    }
    for place in e.places.iter().filter(|p| p.part == 0 && kernel.in_place.is_none()) {
        let (i, n, ty) = (place.result, count * place.width, storage(place.element).unwrap_or("i8"));
        params.push(format!("%o{i}: memref<{n}x{ty}> {{llvm.noalias}}"));
    }
    if parts.is_some() {
        params.extend(["%from: index".to_owned(), "%to: index".to_owned()]);
    }
    let _ = writeln!(out, "func.func @{name}({}) {{", params.join(", "));
    e.loops = (0..kernel.loops.len()).map(|i| format!("%i{i}")).collect();
    e.function();
    out.push_str(&e.out);
    out.push_str("  return\n}\n");
    parts
}

/// From this many iterations on, several threads run a kernel.
const SHARED: i64 = 1 << 15;

struct Emitter<'a> {
    kernel: &'a Fused,
    /// Where the results are stored.
    places: SmallVec<[Place; 4]>,
    /// Whether the range of the outermost loop is a parameter.
    in_parts: bool,
    /// Loops that don't run all their positions.
    bounds: &'a [Bound],
    math: Math,
    out: String,
    next: usize,
    indent: usize,
    /// Names of the loop variables.
    loops: Vec<String>,
    /// Names of the nodes computed in the current scope.
    values: TiVec<Node, Option<String>>,
    /// Names of the accumulators.
    outer: Vec<String>,
}

impl Emitter<'_> {
    fn line(&mut self, text: &str) {
        for _ in 0..self.indent {
            self.out.push_str("  ");
        }
        self.out.push_str(text);
        self.out.push('\n');
    }

    /// Emits `%n = text` for a new value and returns its name.
    fn value(&mut self, text: &str) -> String {
        let name = format!("%{}", self.next);
        self.next += 1;
        self.line(&format!("{name} = {text}"));
        name
    }

    fn index_const(&mut self, v: i64) -> String {
        self.value(&format!("arith.constant {v} : index"))
    }

    fn open_loop(&mut self, l: usize) {
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

    fn close(&mut self) {
        self.indent -= 1;
        self.line("}");
    }

    fn function(&mut self) {
        let k = self.kernel;
        let reductions = k.parallel..k.loops.len();
        if let Some((dim, backward)) = k.scan {
            return self.scan(dim, backward);
        }
        if k.accumulators.is_empty() {
            (0..k.parallel).for_each(|l| self.open_loop(l));
            // All before the first is stored, perhaps over what others read.
            let values: Vec<String> = k.results.iter().map(|&node| self.node(node)).collect();
            values.iter().enumerate().for_each(|(i, v)| self.store(i, v));
            (0..k.parallel).for_each(|_| self.close());
            return;
        }
        if k.parallel > 0 && self.columns_innermost() {
            return self.reduce_in_memory();
        }
        (0..k.parallel).for_each(|l| self.open_loop(l));
        let inits: Vec<String> = k.accumulators.iter().map(|a| self.node(a.init)).collect();
        let finals = self.reduce(reductions, &inits);
        for (i, v) in finals.iter().enumerate() {
            let v = self.rounded(v, self.places[i].element);
            self.store(i, &v);
        }
        (0..k.parallel).for_each(|_| self.close());
    }

    /// Emits a loop that carries the accumulators inside the other parallel loops, and stores them in each iteration.
    fn scan(&mut self, dim: usize, backward: bool) {
        let k = self.kernel;
        (0..k.parallel).filter(|&l| l != dim).for_each(|l| self.open_loop(l));
        let saved = self.values.clone();
        let inits: Vec<String> = k.accumulators.iter().map(|a| self.node(a.init)).collect();
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
        let next: Vec<String> = k.accumulators.iter().map(|a| self.node(a.next)).collect();
        next.iter().enumerate().for_each(|(i, v)| self.store(i, v));
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
            let next = k.accumulators.iter().enumerate().map(|(i, a)| self.accumulated(i, a.next)).collect();
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

    /// The next value of accumulator `i`. A sum of narrow floats stays wide until the end, and a sum of floats may be
    /// reassociated, so that it vectorizes.
    fn accumulated(&mut self, i: usize, next: Node) -> String {
        let k = self.kernel;
        let ty = k.ty(next);
        if let NodeData::Op(ScalarOp::Add, args) = k.data(next)
            && ty.is_float()
            && let Some(&other) = args.iter().find(|&&a| *k.data(a) != NodeData::Accumulator(i))
            && args.iter().any(|&a| *k.data(a) == NodeData::Accumulator(i))
        {
            let (x, acc) = (self.node(other), self.outer[i].clone());
            return self.value(&format!("arith.addf {acc}, {x} fastmath<reassoc> : {}", register(ty)));
        }
        self.node(next)
    }

    fn rounded(&mut self, v: &str, ty: ElementType) -> String {
        if !is_narrow(ty) {
            return v.to_owned();
        }
        let t = storage(ty).unwrap_or("bf16");
        let low = self.value(&format!("arith.truncf {v} : f32 to {t}"));
        self.value(&format!("arith.extf {low} : {t} to f32"))
    }

    /// Whether the loads are contiguous along the last parallel loop and not along a reduction.
    fn columns_innermost(&self) -> bool {
        let k = self.kernel;
        let last = k.parallel - 1;
        let addresses = self.addresses();
        let width = self.places.iter().map(|p| p.width).max().unwrap_or(1);
        let along = |l: usize| addresses.iter().any(|a| a.is_affine() && (1..=width).contains(&a.loops[l]));
        let narrow = k.result_types.iter().any(|&t| is_narrow(t));
        k.loops[last] >= 8 && !narrow && along(last) && !(k.parallel..k.loops.len()).any(along)
    }

    fn addresses(&self) -> Vec<Affine> {
        let k = self.kernel;
        let ranges = k.ranges();
        let address = |n: &(NodeData, ElementType)| match &n.0 {
            NodeData::Load { buffer, index, .. } if !index.is_empty() => {
                Some(Affine::offset(index, &k.buffers[*buffer].2, &ranges))
            }
            _ => None,
        };
        k.nodes.iter().filter_map(address).collect()
    }

    /// Emits reduction loops outside and the last parallel loop innermost, with accumulators in the results' memory.
    fn reduce_in_memory(&mut self) {
        let k = self.kernel;
        let last = k.parallel - 1;
        (0..last).for_each(|l| self.open_loop(l));
        self.open_loop(last);
        let saved = self.values.clone();
        for (i, a) in k.accumulators.iter().enumerate() {
            let v = self.node(a.init);
            self.store(i, &v);
        }
        self.values = saved.clone();
        self.close();
        (k.parallel..k.loops.len()).for_each(|l| self.open_loop(l));
        self.open_loop(last);
        let places = self.places.clone();
        let load = |place: &Place| {
            let at = self.result_offset(place);
            let (i, ty) = (place.result, self.result_type(place));
            let v = self.value(&format!("memref.load %o{i}[{at}] : {ty}"));
            self.loaded(v, place.element)
        };
        self.outer = places.iter().map(load).collect();
        let next: Vec<String> = k.accumulators.iter().enumerate().map(|(i, a)| self.accumulated(i, a.next)).collect();
        next.iter().enumerate().for_each(|(i, v)| self.store(i, v));
        self.values = saved;
        (0..k.loops.len()).for_each(|_| self.close());
    }

    fn fresh(&mut self) -> String {
        self.next += 1;
        format!("%{}", self.next - 1)
    }

    /// The row-major position of the current iteration in a result.
    fn result_offset(&mut self, place: &Place) -> String {
        let k = self.kernel;
        let mut address = Affine::constant(place.part, k.loops.len());
        let mut stride = place.width;
        for l in (0..k.parallel).rev() {
            address.loops[l] = stride;
            stride *= k.loops[l];
        }
        self.address(&address)
    }

    /// The type of a result's memory.
    fn result_type(&self, place: &Place) -> String {
        let count: i64 = self.kernel.loops[..self.kernel.parallel].iter().product();
        format!("memref<{}x{}>", count * place.width, storage(place.element).unwrap_or("i8"))
    }

    /// Stores a value of [`Fused::results`].
    fn store(&mut self, i: usize, value: &str) {
        let place = self.places[i];
        let v = match place.element {
            ElementType::I1 => self.value(&format!("arith.extui {value} : i1 to i8")),
            e if is_narrow(e) => self.value(&format!("arith.truncf {value} : f32 to {}", storage(e).unwrap_or("bf16"))),
            _ => value.to_owned(),
        };
        let at = self.result_offset(&place);
        let to = self.kernel.in_place.map_or_else(|| format!("%o{}", place.result), |buffer| format!("%b{buffer}"));
        let ty = self.result_type(&place);
        self.line(&format!("memref.store {v}, {to}[{at}] : {ty}"));
    }

    fn loaded(&mut self, v: String, element: ElementType) -> String {
        match element {
            ElementType::I1 => {
                let zero = self.value("arith.constant 0 : i8");
                self.value(&format!("arith.cmpi ne, {v}, {zero} : i8"))
            }
            e if is_narrow(e) => self.value(&format!("arith.extf {v} : {} to f32", storage(e).unwrap_or("bf16"))),
            _ => v,
        }
    }

    // Index expressions ----------------------------------------------------------------------------------------

    fn address(&mut self, a: &Affine) -> String {
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

    fn index(&mut self, index: &Index) -> String {
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

    fn guards(&mut self, guards: &[Guard]) -> String {
        let mut all: Option<String> = None;
        for g in guards {
            let v = self.index(&g.index);
            let (lo, hi) = (self.index_const(g.lo), self.index_const(g.hi));
            let above = self.value(&format!("arith.cmpi sge, {v}, {lo} : index"));
            let below = self.value(&format!("arith.cmpi slt, {v}, {hi} : index"));
            let both = self.value(&format!("arith.andi {above}, {below} : i1"));
            all = Some(match all {
                None => both,
                Some(a) => self.value(&format!("arith.andi {a}, {both} : i1")),
            });
        }
        all.unwrap_or_else(|| self.value("arith.constant true"))
    }

    // Nodes ----------------------------------------------------------------------------------------------------

    fn node(&mut self, node: Node) -> String {
        if let Some(v) = &self.values[node] {
            return v.clone();
        }
        let k = self.kernel;
        let ty = k.ty(node);
        let v = match k.data(node) {
            NodeData::Const(c) => arith::constant(*c, ty, &mut |t| self.value(t)),
            NodeData::Index(index) => {
                let v = self.index(index);
                self.index_as(&v, ty)
            }
            NodeData::Accumulator(i) => self.outer[*i].clone(),
            NodeData::Op(op, args) => {
                let values: SmallVec<[String; 3]> = args.iter().map(|&a| self.node(a)).collect();
                let from = args.first().map_or(ty, |&a| k.ty(a));
                let from = if *op == ScalarOp::Select { ty } else { from };
                let operation = if self.math == Math::Strict { arith::strict_operation } else { arith::operation };
                let v = operation(*op, from, ty, &values, &mut |t| self.value(t));
                if arith::rounds(*op, from, ty) { self.rounded(&v, ty) } else { v }
            }
            NodeData::Guarded { guards, then, otherwise } => {
                let (t, o) = (self.node(*then), self.node(*otherwise));
                let g = self.guards(guards);
                self.value(&format!("arith.select {g}, {t}, {o} : {}", register(ty)))
            }
            NodeData::Load { buffer, index, guards, outside } => {
                let (_, element, shape) = &k.buffers[*buffer];
                let n: i64 = shape.iter().product();
                let address = Affine::offset(index, shape, &k.ranges());
                let (st, reg) = (storage(*element).unwrap_or("i8"), register(*element));
                if guards.is_empty() {
                    let at = self.address(&address);
                    let v = self.value(&format!("memref.load %b{buffer}[{at}] : memref<{n}x{st}>"));
                    self.loaded(v, *element)
                } else {
                    let other = match outside {
                        Some(o) => self.node(*o),
                        None => arith::constant(Scalar::zero(ty), ty, &mut |t| self.value(t)),
                    };
                    let g = self.guards(guards);
                    let name = self.fresh();
                    self.line(&format!("{name} = scf.if {g} -> ({reg}) {{"));
                    self.indent += 1;
                    let at = self.address(&address);
                    let v = self.value(&format!("memref.load %b{buffer}[{at}] : memref<{n}x{st}>"));
                    let v = self.loaded(v, *element);
                    self.line(&format!("scf.yield {v} : {reg}"));
                    self.indent -= 1;
                    self.line("} else {");
                    self.indent += 1;
                    self.line(&format!("scf.yield {other} : {reg}"));
                    self.close();
                    name
                }
            }
        };
        self.values[node] = Some(v.clone());
        v
    }

    fn index_as(&mut self, v: &str, ty: ElementType) -> String {
        let i = self.value(&format!("arith.index_cast {v} : index to i64"));
        arith::operation(ScalarOp::Convert, ElementType::I64, ty, &[i], &mut |t| self.value(t))
    }
}

/// The kernel with neighboring loops joined where every access traverses them with one stride.
fn collapse(kernel: &Fused) -> Fused {
    let mut k = kernel.clone();
    // Every buffer becomes flat: an index is a single offset.
    let ranges = k.ranges();
    for (data, _) in &mut k.nodes {
        if let NodeData::Load { buffer, index, .. } = data
            && index.len() > 1
        {
            let flat = Affine::offset(index, &k.buffers[*buffer].2, &ranges).to_index();
            *index = SmallVec::from_elem(flat, 1);
        }
    }
    let mut l = 0;
    // A scan needs its loop.
    while k.scan.is_none() && l + 1 < k.loops.len() {
        let together = (l + 1 < k.parallel) || l >= k.parallel;
        if together && joins(&k, l) {
            join(&mut k, l);
        } else {
            l += 1;
        }
    }
    k
}

/// Whether every access traverses loops `l` and `l + 1` with one stride.
fn joins(k: &Fused, l: usize) -> bool {
    let inner = k.loops[l + 1];
    let ranges = k.ranges();
    let mut free = true;
    let mut plain = |index: &Index| free &= !index.depends_on(l) && !index.depends_on(l + 1);
    for (data, _) in &k.nodes {
        match data {
            NodeData::Load { index, guards, .. } => {
                guards.iter().for_each(|g| plain(&g.index));
                if let [flat] = &index[..] {
                    let a = Affine::of(flat, &ranges);
                    a.others.iter().for_each(|o| plain(&o.index));
                    if a.loops[l] != a.loops[l + 1] * inner {
                        return false;
                    }
                }
            }
            NodeData::Index(index) => plain(index),
            NodeData::Guarded { guards, .. } => guards.iter().for_each(|g| plain(&g.index)),
            _ => {}
        }
    }
    free
}

fn join(k: &mut Fused, l: usize) {
    let ranges = k.ranges();
    // Every index depends only on the joined position, so the inner loop's variable stands for it and the outer's is 0.
    let place = |x: usize| match x.cmp(&l) {
        std::cmp::Ordering::Less => Index::Loop(x),
        std::cmp::Ordering::Equal => Index::Const(0),
        std::cmp::Ordering::Greater => Index::Loop(x - 1),
    };
    let renumber = |index: &mut Index| *index = index.substitute(&mut { place }, &mut |operand| operand);
    let each = |guards: &mut Vec<Guard>| guards.iter_mut().for_each(|g| renumber(&mut g.index));
    for (data, _) in &mut k.nodes {
        match data {
            NodeData::Load { index, guards, .. } => {
                // Use the affine form, in which it was found to have one stride.
                for flat in index.iter_mut() {
                    *flat = Affine::of(flat, &ranges).to_index();
                    renumber(flat);
                }
                each(guards);
            }
            NodeData::Index(index) => renumber(index),
            NodeData::Guarded { guards, .. } => each(guards),
            _ => {}
        }
    }
    k.loops[l + 1] *= k.loops[l];
    k.loops.remove(l);
    if l < k.parallel {
        k.parallel -= 1;
    }
}
