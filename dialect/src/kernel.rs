//! What an op computes, as a loop nest: the one description from which sharding rules, costs, fusion and native code
//! are derived.
//!
//! A nest runs over `loops`; the first `parallel` of them are the dimensions of the results in order, the rest are
//! reduced, innermost last. Every input is read at quasi-affine positions; where a guard fails its `outside` value
//! stands instead. The body computes from the loaded elements (and, in a reduction, the accumulators) one value a
//! result. Results all have the shape of the parallel loops.

use smallvec::SmallVec;

use crate::ir::ElementType;
use crate::scalar::{Scalar, ScalarOp};

/// The computation of an op.
#[derive(Clone, PartialEq, Debug)]
pub enum Kernel {
    /// A loop nest.
    Nest(Nest),
    /// Done by a named implementation of the runtime.
    External(External),
    /// Regions decide: while, if, case, manual_computation, call.
    Control,
    /// Nothing the runtime can do: returns, meshes, unknown ops.
    None,
}

/// Computations with an implementation of their own in the runtime.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum External {
    /// `stablehlo.scatter`
    Scatter,
    /// A collective of any kind: [`OpDef::collective`](crate::op::OpDef::collective) says which.
    Collective,
    /// `stablehlo.partition_id`
    PartitionId,
    /// `stablehlo.replica_id`
    ReplicaId,
    /// `stablehlo.sort`
    Sort,
    /// `stablehlo.select_and_scatter`
    SelectAndScatter,
    /// `stablehlo.rng_bit_generator`
    RngBitGenerator,
    /// `stablehlo.fft`
    Fft,
    /// `stablehlo.cholesky`
    Cholesky,
    /// `stablehlo.triangular_solve`
    TriangularSolve,
    /// Nothing of its own: the runtime asks for the op's reference meaning.
    Reference,
}

/// A loop nest.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Nest {
    /// Trip counts: the parallel loops first.
    pub loops: SmallVec<[i64; 6]>,
    /// How many of the loops are parallel.
    pub parallel: usize,
    /// What is read.
    pub inputs: Vec<Input>,
    /// Initial values of the accumulators, one a result; empty without reduction loops.
    pub init: Vec<Init>,
    /// What is computed from the inputs (then the accumulators).
    pub body: Body,
}

/// One element read from an operand in every iteration.
#[derive(Clone, PartialEq, Debug)]
pub struct Input {
    /// Which operand of the op.
    pub operand: usize,
    /// A position for each dimension of the operand.
    pub index: SmallVec<[Index; 4]>,
    /// Conditions under which the element exists; all must hold.
    pub guards: Vec<Guard>,
    /// What stands in its place where a guard fails; required when there are guards.
    pub outside: Option<Outside>,
}

impl Input {
    /// Reads operand `operand` at plain loop positions, without guards.
    pub fn at(operand: usize, loops: impl IntoIterator<Item = usize>) -> Self {
        let index = loops.into_iter().map(Index::Loop).collect();
        Self { operand, index, guards: Vec::new(), outside: None }
    }
}

/// A value read in place of an element that doesn't exist.
#[derive(Clone, PartialEq, Debug)]
pub enum Outside {
    /// A constant of the operand's element type.
    Const(Scalar),
    /// The only element of a rank-0 operand.
    Operand(usize),
}

/// The start of an accumulator.
#[derive(Clone, PartialEq, Debug)]
pub enum Init {
    /// A constant of the result's element type.
    Const(Scalar),
    /// The only element of a rank-0 operand.
    Operand(usize),
}

/// `lo <= index < hi`. Interior padding guards the remainder: `Mod(index, step)` in `0..1`.
#[derive(Clone, PartialEq, Debug)]
pub struct Guard {
    /// What is compared.
    pub index: Index,
    /// Smallest allowed value.
    pub lo: i64,
    /// One past the largest allowed value.
    pub hi: i64,
}

/// A quasi-affine integer expression over the loops, with runtime scalars and indirect loads.
#[derive(Clone, PartialEq, Debug)]
pub enum Index {
    /// Loop `i`.
    Loop(usize),
    /// A constant.
    Const(i64),
    /// Sum.
    Add(Box<Index>, Box<Index>),
    /// Product with a constant.
    Mul(Box<Index>, i64),
    /// Floor division by a positive constant.
    FloorDiv(Box<Index>, i64),
    /// Remainder, never negative, by a positive constant.
    Mod(Box<Index>, i64),
    /// Clamped to `lo..=hi`: start indices of dynamic slices and gathers.
    Clamp(Box<Index>, i64, i64),
    /// An element of an integer operand: rank-0 starts of a dynamic slice, index tables of a gather.
    Load {
        /// Which operand of the op.
        operand: usize,
        /// Where in it.
        index: Vec<Index>,
    },
}

impl Index {
    /// `self + other`
    pub fn plus(self, other: Index) -> Index {
        match (self, other) {
            (Index::Const(a), Index::Const(b)) => Index::Const(a + b),
            (Index::Const(0), x) | (x, Index::Const(0)) => x,
            (a, b) => Index::Add(Box::new(a), Box::new(b)),
        }
    }

    /// `self * factor`
    pub fn times(self, factor: i64) -> Index {
        match (self, factor) {
            (_, 0) => Index::Const(0),
            (x, 1) => x,
            (Index::Const(a), f) => Index::Const(a * f),
            (x, f) => Index::Mul(Box::new(x), f),
        }
    }

    /// `floor(self / by)`
    pub fn floor_div(self, by: i64) -> Index {
        if by == 1 { self } else { Index::FloorDiv(Box::new(self), by) }
    }

    /// `self mod by`
    pub fn modulo(self, by: i64) -> Index {
        if by == 1 { Index::Const(0) } else { Index::Mod(Box::new(self), by) }
    }

    /// Its value: `loops` gives the loops' positions, `load` reads operands.
    pub fn eval(&self, loops: &[i64], load: &mut dyn FnMut(usize, &[i64]) -> i64) -> i64 {
        match self {
            Index::Loop(i) => loops[*i],
            Index::Const(c) => *c,
            Index::Add(a, b) => a.eval(loops, load) + b.eval(loops, load),
            Index::Mul(a, f) => a.eval(loops, load) * f,
            Index::FloorDiv(a, by) => a.eval(loops, load).div_euclid(*by),
            Index::Mod(a, by) => a.eval(loops, load).rem_euclid(*by),
            Index::Clamp(a, lo, hi) => a.eval(loops, load).min(*hi).max(*lo),
            Index::Load { operand, index } => {
                let at: Vec<i64> = index.iter().map(|i| i.eval(loops, load)).collect();
                load(*operand, &at)
            }
        }
    }

    /// Calls `f` on every loop it reads.
    pub fn loops(&self, f: &mut dyn FnMut(usize)) {
        match self {
            Index::Loop(i) => f(*i),
            Index::Const(_) => {}
            Index::Add(a, b) => {
                a.loops(f);
                b.loops(f);
            }
            Index::Mul(a, _) | Index::FloorDiv(a, _) | Index::Mod(a, _) | Index::Clamp(a, _, _) => a.loops(f),
            Index::Load { index, .. } => index.iter().for_each(|i| i.loops(f)),
        }
    }
}

/// A value inside a [`Body`].
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Arg {
    /// The element of input `i`.
    Input(usize),
    /// Accumulator `i` before this iteration.
    Accumulator(usize),
    /// What instruction `i` computed.
    Inst(usize),
}

/// One instruction of a body.
#[derive(Clone, PartialEq, Debug)]
pub enum Inst {
    /// `op(args)` giving an element of type `ty`. For comparisons the operands' type is that of the first argument.
    Op {
        /// What is computed.
        op: ScalarOp,
        /// From what.
        args: SmallVec<[Arg; 3]>,
        /// The result's type.
        ty: ElementType,
    },
    /// A constant.
    Const(Scalar, ElementType),
    /// An index expression as an element of an integer or float type: iota.
    Index(Index, ElementType),
}

impl Inst {
    /// The type of what it computes.
    pub fn ty(&self) -> ElementType {
        match self {
            Inst::Op { ty, .. } | Inst::Const(_, ty) | Inst::Index(_, ty) => *ty,
        }
    }
}

/// A straight-line scalar computation.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Body {
    /// Element types of the inputs.
    pub inputs: Vec<ElementType>,
    /// Element types of the accumulators.
    pub accumulators: Vec<ElementType>,
    /// Instructions in order.
    pub insts: Vec<Inst>,
    /// One value a result.
    pub results: Vec<Arg>,
}

impl Body {
    /// `op` of all the inputs.
    pub fn of(op: ScalarOp, inputs: &[ElementType], ty: ElementType) -> Self {
        let args = (0..inputs.len()).map(Arg::Input).collect();
        Self {
            inputs: inputs.to_vec(),
            accumulators: Vec::new(),
            insts: vec![Inst::Op { op, args, ty }],
            results: vec![Arg::Inst(0)],
        }
    }

    /// The first input, unchanged.
    pub fn copy(ty: ElementType) -> Self {
        Self { inputs: vec![ty], accumulators: Vec::new(), insts: Vec::new(), results: vec![Arg::Input(0)] }
    }

    /// The element type of `arg`.
    pub fn arg_type(&self, arg: Arg) -> ElementType {
        match arg {
            Arg::Input(i) => self.inputs[i],
            Arg::Accumulator(i) => self.accumulators[i],
            Arg::Inst(i) => self.insts[i].ty(),
        }
    }

    /// Appends an instruction.
    pub fn push(&mut self, inst: Inst) -> Arg {
        self.insts.push(inst);
        Arg::Inst(self.insts.len() - 1)
    }
}
