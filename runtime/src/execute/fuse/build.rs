//! Builds the kernel of an op that stores its results, with all ops that [`Fusion`] decided to fold into it, as one
//! expression graph.

use std::rc::Rc;

use dialect::buffers::Fusion;
use dialect::ir::{Op, Program, Value};
use dialect::kernel::{Affine, Arg, Guard, Index, Init, Input, Inst, Kernel, Nest, Outside};
use rustc_hash::FxHashMap;
use smallvec::SmallVec;

use super::fused::{Accumulator, Fused, Node, NodeData, Output};

/// Returns the loop nest of an op.
pub(in crate::execute) fn nest_of(program: &Program, op: Op) -> Option<Nest> {
    let view = program.view(op);
    match view.def().kernel(view) {
        Kernel::Nest(nest) => Some(nest),
        _ => None,
    }
}

/// An op as part of a kernel.
#[derive(Clone, Debug)]
pub(in crate::execute) struct Part {
    /// The op.
    pub op: Op,
    /// Its loop nest.
    pub nest: Rc<Nest>,
    /// For each of its loops, the number of the kernel's loop.
    pub loops: SmallVec<[usize; 6]>,
    /// Whether its results are stored. They aren't if only other ops of the kernel read them.
    pub stored: bool,
}

impl Part {
    /// Returns the part of a kernel of one op.
    pub(in crate::execute) fn alone(op: Op, nest: Nest) -> Self {
        let loops = (0..nest.loops.len()).collect();
        Self { op, nest: Rc::new(nest), loops, stored: true }
    }
}

/// Builds the kernel of ops that store their results, with everything folded into them. All ops use the loops of the
/// first op that has accumulators, or else of the first op. Later ops can use the elements that ops without
/// accumulators compute.
pub(in crate::execute) fn build(program: &Program, fusion: &Fusion, parts: &[Part]) -> Fused {
    let mut fused = Fused::default();
    if let Some(frame) = parts.iter().find(|p| !p.nest.init.is_empty()).or(parts.first()) {
        (fused.loops, fused.parallel) = (frame.nest.loops.clone(), frame.nest.parallel);
    }
    let mut builder = Builder {
        program,
        fusion,
        fused: &mut fused,
        nests: FxHashMap::default(),
        known: FxHashMap::default(),
        made: FxHashMap::default(),
        accumulators: 0,
    };
    let (mut ends, mut each) = (Vec::new(), Vec::new());
    for part in parts {
        let loops: Vec<Index> = part.loops.iter().map(|&l| Index::Loop(l)).collect();
        let inits: Vec<Node> = (0..part.nest.init.len()).map(|i| builder.init(part.op, &part.nest, i)).collect();
        let results = builder.body(part.op, &part.nest, &loops, &[]);
        builder.accumulators += inits.len();
        let is_map = inits.is_empty();
        builder
            .fused
            .accumulators
            .extend(inits.into_iter().zip(&results).map(|(init, &next)| Accumulator { init, next }));
        for (value, node) in program.results(part.op).zip(results) {
            if is_map {
                builder.made.insert(value, (node, loops.iter().cloned().collect()));
            }
            if let Some(t) = program.tensor_type(value).filter(|_| part.stored) {
                let list = if is_map { &mut each } else { &mut ends };
                list.push((node, t.element, t.shape.clone(), loops.clone()));
            }
        }
    }
    let (ranges, reduces) = (fused.ranges(), !fused.accumulators.is_empty());
    for (i, (node, element, shape, loops)) in ends.into_iter().chain(each).enumerate() {
        let at = (reduces && i >= fused.accumulators.len()).then(|| Affine::offset(&loops, &shape, &ranges).to_index());
        fused.results.push(node);
        fused.outputs.push(Output { each: at, ..Output::plain(element) });
    }
    fused
}

struct Builder<'a> {
    program: &'a Program,
    fusion: &'a Fusion,
    fused: &'a mut Fused,
    /// Loop nests of the folded ops.
    nests: FxHashMap<Op, Option<Rc<Nest>>>,
    /// The value of each op folded in at given positions and under given guards, so that diamonds are traversed only
    /// once.
    known: FxHashMap<(Op, String), Node>,
    /// The elements of results of the kernel itself, and their positions.
    made: FxHashMap<Value, (Node, SmallVec<[Index; 6]>)>,
    /// The number of accumulators of the preceding parts.
    accumulators: usize,
}

impl Builder<'_> {
    fn init(&mut self, op: Op, nest: &Nest, i: usize) -> Node {
        match &nest.init[i] {
            Init::Const(value) => self.fused.node(NodeData::Const(*value), nest.body.accumulators[i]),
            Init::Operand(operand) => self.operand(op, *operand, &[], &[]),
        }
    }

    /// Returns the results of `nest` at position `loops`. Every load is also under `guards`.
    fn body(&mut self, op: Op, nest: &Nest, loops: &[Index], guards: &[Guard]) -> Vec<Node> {
        let inputs: Vec<Node> = nest.inputs.iter().map(|input| self.input(op, input, loops, guards)).collect();
        let mut insts: Vec<Node> = Vec::with_capacity(nest.body.insts.len());
        let arg = |b: &mut Self, a: Arg, insts: &[Node]| match a {
            Arg::Input(i) => inputs[i],
            Arg::Inst(i) => insts[i],
            Arg::Accumulator(i) => b.fused.node(NodeData::Accumulator(b.accumulators + i), nest.body.accumulators[i]),
        };
        for inst in &nest.body.insts {
            let (data, ty) = match inst {
                Inst::Const(value, ty) => (NodeData::Const(*value), *ty),
                Inst::Index(index, ty) => (NodeData::Index(self.place(op, index, loops)), *ty),
                Inst::Op { op: scalar, args, ty } => {
                    let args = args.iter().map(|&a| arg(self, a, &insts)).collect();
                    (NodeData::Op(*scalar, args), *ty)
                }
            };
            let node = self.fused.node(data, ty);
            insts.push(node);
        }
        nest.body.results.iter().map(|&a| arg(self, a, &insts)).collect()
    }

    fn input(&mut self, op: Op, input: &Input, loops: &[Index], outer: &[Guard]) -> Node {
        let index: Vec<Index> = input.index.iter().map(|i| self.place(op, i, loops)).collect();
        let own: Vec<Guard> =
            input.guards.iter().map(|g| Guard { index: self.place(op, &g.index, loops), lo: g.lo, hi: g.hi }).collect();
        if own.is_empty() {
            return self.operand(op, input.operand, &index, outer);
        }
        let all: Vec<Guard> = outer.iter().chain(&own).cloned().collect();
        let value = self.operand(op, input.operand, &index, &all);
        let ty = self.fused.ty(value);
        let otherwise = match &input.outside {
            Some(Outside::Const(c)) => self.fused.node(NodeData::Const(*c), ty),
            Some(Outside::Operand(o)) => self.operand(op, *o, &[], &[]),
            None => self.fused.node(NodeData::Const(dialect::scalar::Scalar::zero(ty)), ty),
        };
        // A plain load stores the outside value itself. A computed value needs a select afterwards.
        if let NodeData::Load { buffer, index, guards, outside: None } = self.fused.data(value).clone()
            && guards == own
        {
            return self.fused.node(NodeData::Load { buffer, index, guards, outside: Some(otherwise) }, ty);
        }
        self.fused.node(NodeData::Guarded { guards: own, then: value, otherwise }, ty)
    }

    /// Returns operand `i` of `op` at `index`: folded in, or loaded under `guards`.
    fn operand(&mut self, op: Op, i: usize, index: &[Index], guards: &[Guard]) -> Node {
        let value = self.program.op(op).operands[i];
        if let Some((node, at)) = self.made.get(&value)
            && at[..] == *index
        {
            return *node;
        }
        if let dialect::ir::ValueSource::Result(producer, _) = self.program.value_source(value) {
            let view = self.program.view(producer);
            if let Some(splat) = view.def().constant(view).and_then(|l| l.splat_value()) {
                let ty = self.program.tensor_type(value).map_or(dialect::ir::ElementType::F32, |t| t.element);
                return self.fused.node(NodeData::Const(splat), ty);
            }
            if self.fusion.is_folded(producer) {
                let (nests, program) = (&mut self.nests, self.program);
                let nest = nests.entry(producer).or_insert_with(|| nest_of(program, producer).map(Rc::new)).clone();
                if let Some(nest) = nest {
                    let key = (producer, format!("{index:?}{guards:?}"));
                    if let Some(&known) = self.known.get(&key) {
                        return known;
                    }
                    let node = self.body(producer, &nest, index, guards)[0];
                    self.known.insert(key, node);
                    return node;
                }
            }
        }
        let Some(ty) = self.program.tensor_type(value).cloned() else {
            return self.fused.node(NodeData::Const(dialect::scalar::Scalar::Int(0)), dialect::ir::ElementType::I32);
        };
        let buffer = self.fused.buffer(value, ty.element, &ty.shape);
        let load =
            NodeData::Load { buffer, index: SmallVec::from(index.to_vec()), guards: guards.to_vec(), outside: None };
        self.fused.node(load, ty.element)
    }

    /// Returns `index` in the nest of `op`, with loops substituted and operands replaced by buffers.
    fn place(&mut self, op: Op, index: &Index, loops: &[Index]) -> Index {
        let (program, fused) = (self.program, &mut *self.fused);
        index.substitute(&mut |l| loops[l].clone(), &mut |operand| {
            let value = program.op(op).operands[operand];
            match program.tensor_type(value) {
                Some(t) => fused.buffer(value, t.element, &t.shape),
                None => fused.buffer(value, dialect::ir::ElementType::I32, &[]),
            }
        })
    }
}
