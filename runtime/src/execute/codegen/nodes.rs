//! Writes the body of a kernel: its loads, operations and stores at one position, or at the positions of a vector.

use dialect::ir::ElementType;
use dialect::kernel::{Affine, Guard, Index};
use dialect::scalar::{Scalar, ScalarOp};
use smallvec::SmallVec;

use super::arith::{self, Math, Write};
use super::{Emitter, is_narrow, register, storage};
use crate::execute::fuse::fused::{Node, NodeData, Place};

impl Emitter<'_> {
    /// Writes the value of a node: one element, or a vector of elements.
    pub(super) fn node(&mut self, node: Node, vector: bool) -> String {
        let known = if vector { &self.vectors } else { &self.values };
        if let Some(v) = &known[node] {
            return v.clone();
        }
        let lanes = self.lanes.as_ref().filter(|_| vector);
        let repeats =
            lanes.is_some_and(|lanes| !lanes.varies[node]) && !matches!(self.kernel.data(node), NodeData::Const(_));
        let one = repeats.then(|| self.node(node, false));
        let width = self.vector_width(vector);
        let outer = std::mem::replace(&mut self.width, width);
        let v = match one {
            Some(one) => {
                let element = register(self.kernel.ty(node));
                let ty = self.of(element);
                self.value(&format!("vector.broadcast {one} : {element} to {ty}"))
            }
            None => self.compute(node, vector),
        };
        self.width = outer;
        let known = if vector { &mut self.vectors } else { &mut self.values };
        known[node] = Some(v.clone());
        v
    }

    fn compute(&mut self, node: Node, vector: bool) -> String {
        let k = self.kernel;
        let ty = k.ty(node);
        match k.data(node) {
            NodeData::Const(c) => arith::constant(*c, ty, self),
            NodeData::Index(index) => {
                let i = if vector { self.positions(index) } else { self.position(index) };
                arith::operation(ScalarOp::Convert, ElementType::I64, ty, &[i], self)
            }
            NodeData::Accumulator(i) => self.outer[*i].clone(),
            NodeData::Op(op, args) => {
                let values: SmallVec<[String; 3]> = args.iter().map(|&a| self.node(a, vector)).collect();
                let from = args.first().map_or(ty, |&a| k.ty(a));
                let from = if *op == ScalarOp::Select { ty } else { from };
                let operation = if self.math == Math::Strict { arith::strict_operation } else { arith::operation };
                let v = operation(*op, from, ty, &values, self);
                if arith::rounds(*op, from, ty) { self.rounded(&v, ty) } else { v }
            }
            NodeData::Guarded { guards, then, otherwise } => {
                let (t, o) = (self.node(*then, vector), self.node(*otherwise, vector));
                let g = self.guards(guards, vector);
                arith::operation(ScalarOp::Select, ty, ty, &[g, t, o], self)
            }
            NodeData::Load { buffer, index, guards, outside: None } if guards.is_empty() => self.load(*buffer, index),
            NodeData::Load { buffer, index, guards, outside } => {
                let other = match outside {
                    Some(o) => self.node(*o, vector),
                    None => arith::constant(Scalar::zero(ty), ty, self),
                };
                // The guards are the same for all elements of a vector.
                let outer = std::mem::replace(&mut self.width, 1);
                let g = self.guards(guards, false);
                self.width = outer;
                let (name, reg) = (self.fresh(), self.of(register(ty)));
                self.line(&format!("{name} = scf.if {g} -> ({reg}) {{"));
                self.indent += 1;
                let v = self.load(*buffer, index);
                self.line(&format!("scf.yield {v} : {reg}"));
                self.indent -= 1;
                self.line("} else {");
                self.indent += 1;
                self.line(&format!("scf.yield {other} : {reg}"));
                self.close();
                name
            }
        }
    }

    /// Loads the elements of a buffer that begin at an index, and converts them to register types.
    fn load(&mut self, buffer: usize, index: &[Index]) -> String {
        let k = self.kernel;
        let (_, element, shape) = &k.buffers[buffer];
        let n: i64 = shape.iter().product();
        let at = self.address(&Affine::offset(index, shape, &k.ranges()));
        self.load_at(&format!("%b{buffer}"), &at, n, *element)
    }

    /// Loads the elements that begin at `at` from flat memory of `count` elements.
    pub(super) fn load_at(&mut self, from: &str, at: &str, count: i64, element: ElementType) -> String {
        let stored = storage(element).unwrap_or("i8");
        let ty = self.of(stored);
        let v = match self.width {
            1 => self.value(&format!("memref.load {from}[{at}] : memref<{count}x{stored}>")),
            _ => self.value(&format!("vector.load {from}[{at}] : memref<{count}x{stored}>, {ty}")),
        };
        arith::loaded(&v, element, self)
    }

    /// Returns the row-major position of the current iteration in a result.
    pub(super) fn result_offset(&mut self, place: &Place) -> String {
        let k = self.kernel;
        if let Some(at) = &k.outputs[place.result].each {
            return self.address(&Affine::of(at, &k.ranges()));
        }
        let mut address = Affine::constant(place.part, k.loops.len());
        let mut stride = place.width;
        for l in (0..k.parallel).rev() {
            address.loops[l] = stride;
            stride *= k.loops[l];
        }
        self.address(&address)
    }

    /// Returns the number of elements in a result's memory.
    pub(super) fn result_count(&self, place: &Place) -> i64 {
        let k = self.kernel;
        let loops = if k.outputs[place.result].each.is_some() { k.loops.len() } else { k.parallel };
        k.loops[..loops].iter().product::<i64>() * place.width
    }

    /// Stores a value of `Fused::results` at the current iteration, or at the
    /// iterations of a vector.
    pub(super) fn store(&mut self, i: usize, value: &str, vector: bool) {
        let place = self.places[i];
        let at = self.result_offset(&place);
        let own = || format!("%o{}", place.result);
        let into = self.kernel.outputs[place.result].in_place.map_or_else(own, |buffer| format!("%b{buffer}"));
        self.store_at(&into, &at, self.result_count(&place), place.element, value, vector);
    }

    /// Stores a value, or a vector, to flat memory of `count` elements from `at` on.
    pub(super) fn store_at(
        &mut self,
        into: &str,
        at: &str,
        count: i64,
        element: ElementType,
        value: &str,
        vector: bool,
    ) {
        let stored = storage(element).unwrap_or("i8");
        let width = self.vector_width(vector);
        let outer = std::mem::replace(&mut self.width, width);
        let to = self.of(stored);
        let v = arith::stored(value, element, self);
        self.width = outer;
        let memory = format!("memref<{count}x{stored}>");
        match vector {
            false => self.line(&format!("memref.store {v}, {into}[{at}] : {memory}")),
            true => self.line(&format!("vector.store {v}, {into}[{at}] : {memory}, {to}")),
        }
    }

    /// Rounds a value to its element type, if it is computed in a wider one.
    pub(super) fn rounded(&mut self, v: &str, ty: ElementType) -> String {
        if !is_narrow(ty) {
            return v.to_owned();
        }
        let v = arith::stored(v, ty, self);
        arith::loaded(&v, ty, self)
    }

    /// Writes whether all guards hold.
    fn guards(&mut self, guards: &[Guard], vector: bool) -> String {
        let mut all: Option<String> = None;
        for g in guards {
            let v = if vector { self.positions(&g.index) } else { self.position(&g.index) };
            let mut bound = |of: i64| arith::constant(Scalar::Int(of.into()), ElementType::I64, self);
            let (lo, hi) = (bound(g.lo), bound(g.hi));
            let (i64, i1) = (self.of("i64"), self.of("i1"));
            let above = self.value(&format!("arith.cmpi sge, {v}, {lo} : {i64}"));
            let below = self.value(&format!("arith.cmpi slt, {v}, {hi} : {i64}"));
            let both = self.value(&format!("arith.andi {above}, {below} : {i1}"));
            all = Some(match all {
                None => both,
                Some(a) => self.value(&format!("arith.andi {a}, {both} : {i1}")),
            });
        }
        all.unwrap_or_else(|| arith::constant(Scalar::Int(1), ElementType::I1, self))
    }

    /// Returns the number of elements of values that are written for a vector, or for one position.
    pub(super) fn vector_width(&self, vector: bool) -> i64 {
        self.lanes.as_ref().filter(|_| vector).map_or(1, |lanes| lanes.count)
    }
}
