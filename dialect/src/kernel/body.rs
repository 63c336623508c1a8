//! The straight-line scalar computation inside a loop nest.

use smallvec::SmallVec;

use super::Index;
use crate::ir::ElementType;
use crate::scalar::{Scalar, ScalarOp};

/// A value inside a [`Body`].
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Arg {
    /// The element of input `i`.
    Input(usize),
    /// Accumulator `i` before this iteration.
    Accumulator(usize),
    /// The result of instruction `i`.
    Inst(usize),
}

/// One instruction of a body.
#[derive(Clone, PartialEq, Debug)]
pub enum Inst {
    /// `op(args)`, an element of type `ty`. Comparisons compare in the type of their first argument.
    Op {
        /// The operation.
        op: ScalarOp,
        /// Its arguments.
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
    /// Returns the type of its value.
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
    /// One value per result.
    pub results: Vec<Arg>,
}

impl Body {
    /// Creates a body that applies `op` to all inputs.
    pub fn of(op: ScalarOp, inputs: &[ElementType], ty: ElementType) -> Self {
        let args = (0..inputs.len()).map(Arg::Input).collect();
        Self {
            inputs: inputs.to_vec(),
            accumulators: Vec::new(),
            insts: vec![Inst::Op { op, args, ty }],
            results: vec![Arg::Inst(0)],
        }
    }

    /// Creates a body that returns the first input.
    pub fn copy(ty: ElementType) -> Self {
        Self { inputs: vec![ty], accumulators: Vec::new(), insts: Vec::new(), results: vec![Arg::Input(0)] }
    }

    /// Returns the element type of `arg`.
    pub fn arg_type(&self, arg: Arg) -> ElementType {
        match arg {
            Arg::Input(i) => self.inputs[i],
            Arg::Accumulator(i) => self.accumulators[i],
            Arg::Inst(i) => self.insts[i].ty(),
        }
    }

    /// Appends `op(args)` with a result of type `ty`.
    pub fn op(&mut self, op: ScalarOp, args: &[Arg], ty: ElementType) -> Arg {
        self.push(Inst::Op { op, args: args.iter().copied().collect(), ty })
    }

    /// Appends an instruction.
    pub fn push(&mut self, inst: Inst) -> Arg {
        self.insts.push(inst);
        Arg::Inst(self.insts.len() - 1)
    }
}
