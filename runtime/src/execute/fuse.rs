//! Which values are stored and which are folded into the kernels that read them.
//!
//! A value is folded when recomputing it where it is read costs no more than storing it: all its readers end up in
//! one kernel that runs no more often than it has elements, or it is a mere copy (broadcast, slice, reshape,
//! transpose). Reductions, matmuls and everything that isn't a loop nest store their results.

use dialect::ir::{Block, Op, Program, Value};
use dialect::kernel::{Arg, Guard, Index, Init, Input, Inst, Kernel, Nest, Outside};
use dialect::scalar::ScalarOp;
use rustc_hash::{FxHashMap, FxHashSet};
use smallvec::SmallVec;

use super::fused::{Accumulator, Fused, Node, NodeData};

/// Kernels grow no larger than this many instructions, counted as a tree.
const MAX_WEIGHT: u64 = 600;

/// The fused kernels of a block.
pub(super) struct Fusion {
    /// For each op that stores its results by a loop nest: the kernel.
    pub kernels: FxHashMap<Op, Fused>,
    /// Ops folded away.
    pub folded: FxHashSet<Op>,
}

/// Which ops of `block` may be folded, and the kernels of the others. `native` says whether a nest can be compiled;
/// `stored` are values that must be in memory (results, values read inside regions).
pub(super) fn fuse(
    program: &Program,
    block: Block,
    stored: &dyn Fn(Value) -> bool,
    native: &dyn Fn(Op, &Nest) -> bool,
) -> Fusion {
    let ops = program.block_ops(block);
    let mut nests: FxHashMap<Op, Nest> = FxHashMap::default();
    for &op in ops {
        let view = program.view(op);
        if view.def().flops(view) > 0.0
            && view.def().reduction(view).is_some()
            && !view.def().elementwise()
            && is_matmul(program, op)
        {
            continue;
        }
        if let Kernel::Nest(nest) = view.def().kernel(view)
            && native(op, &nest)
        {
            nests.insert(op, nest);
        }
    }
    // Readers of each value in this block: the op and how.
    let mut readers: FxHashMap<Value, Vec<(Op, bool)>> = FxHashMap::default();
    for &op in ops {
        for (i, &v) in program.op(op).operands.iter().enumerate() {
            let foldable = nests.get(&op).is_some_and(|n| only_inputs(n, i));
            readers.entry(v).or_default().push((op, foldable));
        }
    }
    let mut fusion = Planner {
        program,
        nests: &nests,
        readers: &readers,
        roots: FxHashMap::default(),
        weights: FxHashMap::default(),
    };
    let mut folded = FxHashSet::default();
    for &op in ops.iter().rev() {
        let Some(nest) = nests.get(&op) else { continue };
        let root = if fusion.folds(op, nest, stored) { fusion.reader_roots(op) } else { SmallVec::from_slice(&[op]) };
        if root[..] != [op] {
            folded.insert(op);
        }
        fusion.roots.insert(op, root);
    }
    let mut kernels = FxHashMap::default();
    for &op in ops {
        if let Some(nest) = nests.get(&op)
            && !folded.contains(&op)
        {
            kernels.insert(op, build(program, op, nest, &nests, &folded));
        }
    }
    Fusion { kernels, folded }
}

/// Products over a reduction that a matrix library does better than a loop nest.
pub(super) fn is_matmul(program: &Program, op: Op) -> bool {
    dialect::ops::stablehlo::contraction::DotDims::of(program.view(op)).is_some()
}

/// Whether operand `i` is read by inputs alone, not in index expressions, starts or paddings.
fn only_inputs(nest: &Nest, i: usize) -> bool {
    fn indirect(index: &Index, i: usize) -> bool {
        match index {
            Index::Load { operand, index } => *operand == i || index.iter().any(|x| indirect(x, i)),
            Index::Add(a, b) => indirect(a, i) || indirect(b, i),
            Index::Mul(a, _) | Index::FloorDiv(a, _) | Index::Mod(a, _) | Index::Clamp(a, _, _) => indirect(a, i),
            Index::Loop(_) | Index::Const(_) => false,
        }
    }
    let in_index = |input: &Input| {
        input.index.iter().any(|x| indirect(x, i)) || input.guards.iter().any(|g| indirect(&g.index, i))
    };
    let in_body = |inst: &Inst| matches!(inst, Inst::Index(x, _) if indirect(x, i));
    !nest.inputs.iter().any(in_index) && !nest.body.insts.iter().any(in_body)
}

struct Planner<'a> {
    program: &'a Program,
    nests: &'a FxHashMap<Op, Nest>,
    readers: &'a FxHashMap<Value, Vec<(Op, bool)>>,
    /// For each op: the storing ops it ends up in (itself when it stores).
    roots: FxHashMap<Op, SmallVec<[Op; 2]>>,
    /// For each folded op: the size of its expression as a tree, readers' inputs included.
    weights: FxHashMap<Op, u64>,
}

impl Planner<'_> {
    fn reader_roots(&self, op: Op) -> SmallVec<[Op; 2]> {
        let mut roots: SmallVec<[Op; 2]> = SmallVec::new();
        let result = self.program.result(op, 0);
        for (reader, _) in self.readers.get(&result).into_iter().flatten() {
            for &root in self.roots.get(reader).into_iter().flatten() {
                if !roots.contains(&root) {
                    roots.push(root);
                }
            }
        }
        roots
    }

    fn folds(&mut self, op: Op, nest: &Nest, stored: &dyn Fn(Value) -> bool) -> bool {
        if self.program.result_count(op) != 1 || nest.loops.len() != nest.parallel {
            return false;
        }
        let result = self.program.result(op, 0);
        let Some(readers) = self.readers.get(&result) else { return false };
        if stored(result) || readers.iter().any(|r| !r.1) {
            return false;
        }
        let own = 1 + nest.body.insts.len() as u64 + nest.inputs.len() as u64;
        // Every reader's expression holds this one once more for each time it reads it.
        let weight =
            readers.iter().map(|(r, _)| self.weights.get(r).copied().unwrap_or(1)).sum::<u64>().saturating_mul(own);
        let roots = self.reader_roots(op);
        let elements: i64 = nest.loops.iter().product();
        let runs = |root: &Op| self.nests.get(root).map_or(i64::MAX, |n| n.loops.iter().product::<i64>());
        let once = roots.len() == 1 && roots.iter().all(|r| runs(r) <= elements.max(1));
        if (once && weight <= MAX_WEIGHT) || (is_copy(nest) && weight <= MAX_WEIGHT && roots.len() <= 4) {
            self.weights.insert(op, weight);
            return true;
        }
        false
    }
}

/// Whether the nest only moves elements, or makes them from nothing, at the price of an index.
fn is_copy(nest: &Nest) -> bool {
    let cheap = |inst: &Inst| match inst {
        Inst::Const(..) | Inst::Index(..) => true,
        Inst::Op { op, .. } => matches!(op, ScalarOp::Convert | ScalarOp::Neg | ScalarOp::Not),
    };
    nest.inputs.len() <= 1
        && nest.body.insts.len() <= 1
        && nest.body.insts.iter().all(cheap)
        && nest.inputs.iter().all(|i| !has_load(&i.index))
}

fn has_load(index: &[Index]) -> bool {
    fn load(i: &Index) -> bool {
        match i {
            Index::Load { .. } => true,
            Index::Add(a, b) => load(a) || load(b),
            Index::Mul(a, _) | Index::FloorDiv(a, _) | Index::Mod(a, _) | Index::Clamp(a, _, _) => load(a),
            Index::Loop(_) | Index::Const(_) => false,
        }
    }
    index.iter().any(load)
}

/// The kernel of one op that stores, with everything folded into it.
pub(super) fn build(
    program: &Program,
    op: Op,
    nest: &Nest,
    nests: &FxHashMap<Op, Nest>,
    folded: &FxHashSet<Op>,
) -> Fused {
    let mut fused = Fused::default();
    (fused.loops, fused.parallel) = (nest.loops.clone(), nest.parallel);
    let mut builder = Builder { program, nests, folded, fused: &mut fused };
    let loops: Vec<Index> = (0..nest.loops.len()).map(Index::Loop).collect();
    let inits: Vec<Node> = (0..nest.init.len()).map(|i| builder.init(op, nest, i)).collect();
    let results = builder.body(op, nest, &loops, &[]);
    let types: Vec<_> = program.results(op).filter_map(|v| program.tensor_type(v)).map(|t| t.element).collect();
    fused.accumulators = inits.into_iter().zip(&results).map(|(init, &next)| Accumulator { init, next }).collect();
    fused.results = results;
    fused.result_types = types;
    fused
}

struct Builder<'a> {
    program: &'a Program,
    nests: &'a FxHashMap<Op, Nest>,
    folded: &'a FxHashSet<Op>,
    fused: &'a mut Fused,
}

impl Builder<'_> {
    fn init(&mut self, op: Op, nest: &Nest, i: usize) -> Node {
        match &nest.init[i] {
            Init::Const(value) => self.fused.node(NodeData::Const(*value), nest.body.accumulators[i]),
            Init::Operand(operand) => self.operand(op, *operand, &[], &[]),
        }
    }

    /// The results of `nest` at position `loops`; every load is under `guards` too.
    fn body(&mut self, op: Op, nest: &Nest, loops: &[Index], guards: &[Guard]) -> Vec<Node> {
        let inputs: Vec<Node> = nest.inputs.iter().map(|input| self.input(op, input, loops, guards)).collect();
        let mut insts: Vec<Node> = Vec::with_capacity(nest.body.insts.len());
        let arg = |b: &mut Self, a: Arg, insts: &[Node]| match a {
            Arg::Input(i) => inputs[i],
            Arg::Inst(i) => insts[i],
            Arg::Accumulator(i) => b.fused.node(NodeData::Accumulator(i), nest.body.accumulators[i]),
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
        // A plain load takes the value outside along; anything computed is chosen afterwards.
        if let NodeData::Load { buffer, index, guards, outside: None } = self.fused.data(value).clone()
            && guards == own
        {
            return self.fused.node(NodeData::Load { buffer, index, guards, outside: Some(otherwise) }, ty);
        }
        self.fused.node(NodeData::Guarded { guards: own, then: value, otherwise }, ty)
    }

    /// Operand `i` of `op` at `index`: folded in, or loaded under `guards`.
    fn operand(&mut self, op: Op, i: usize, index: &[Index], guards: &[Guard]) -> Node {
        let value = self.program.op(op).operands[i];
        if let dialect::ir::ValueSource::Result(producer, _) = self.program.value_source(value) {
            let view = self.program.view(producer);
            if let Some(splat) = view.def().constant(view).and_then(|l| l.splat_value()) {
                let ty = self.program.tensor_type(value).map_or(dialect::ir::ElementType::F32, |t| t.element);
                return self.fused.node(NodeData::Const(splat), ty);
            }
            if self.folded.contains(&producer)
                && let Some(nest) = self.nests.get(&producer)
            {
                return self.body(producer, nest, index, guards)[0];
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

    /// `index` of `op`'s nest with the loops replaced, and operands by buffers.
    fn place(&mut self, op: Op, index: &Index, loops: &[Index]) -> Index {
        let mut sub = |i: &Index| Box::new(self.place(op, i, loops));
        match index {
            Index::Loop(i) => loops[*i].clone(),
            Index::Const(c) => Index::Const(*c),
            Index::Add(a, b) => (*sub(a)).plus(*sub(b)),
            Index::Mul(a, f) => (*sub(a)).times(*f),
            Index::FloorDiv(a, by) => (*sub(a)).floor_div(*by),
            Index::Mod(a, by) => (*sub(a)).modulo(*by),
            Index::Clamp(a, lo, hi) => Index::Clamp(sub(a), *lo, *hi),
            Index::Load { operand, index } => {
                let index = index.iter().map(|i| self.place(op, i, loops)).collect();
                let value = self.program.op(op).operands[*operand];
                let (element, shape) = self
                    .program
                    .tensor_type(value)
                    .map_or_else(|| (dialect::ir::ElementType::I32, SmallVec::new()), |t| (t.element, t.shape.clone()));
                Index::Load { operand: self.fused.buffer(value, element, &shape), index }
            }
        }
    }
}
