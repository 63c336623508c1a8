//! The keys of a comparator, which compares keys of one element with the same keys of the other, one key after the
//! other.

use std::cell::Cell;

use dialect::ir::ElementType;
use dialect::kernel::{Arg, Body, Inst};
use dialect::scalar::{Comparison, Scalar, ScalarOp};

use super::words::{self, Slice};
use crate::kernels::native::{Routine, Times};

/// A number by which elements are ordered.
pub(super) struct Key {
    pub source: Source,
    /// The key's type.
    pub ty: ElementType,
    pub descending: bool,
    /// Whether floats are in total order. Otherwise zeros are equal, and a NaN is neither before nor after any value.
    pub total: bool,
}

/// The computation of a key from the operands' elements.
pub(super) enum Source {
    /// The key is the element of an operand.
    Plain(usize),
    /// The key is the element of an operand, with all zeros replaced by the positive one and all NaNs by the positive
    /// quiet one.
    Canonical(usize),
    /// The key is computed. Input `i` is the element of operand `i`.
    Computed(Box<Routine>),
}

impl Source {
    /// Returns the elements that are ordered: those of an operand, or computed ones, which are stored in `memory`.
    pub(super) fn elements<'a>(&self, slices: &[Slice<'a>], memory: &'a mut Vec<u64>) -> Slice<'a> {
        match self {
            Source::Plain(operand) | Source::Canonical(operand) => slices[*operand],
            Source::Computed(routine) => words::computed(routine, slices, memory),
        }
    }
}

/// Returns the keys that `before` compares, the most important first; `None` if it does anything else.
pub(super) fn keys(before: &Body) -> Option<Vec<Key>> {
    let mut keys = Vec::new();
    let result = *before.results.first()?;
    let reader = Reader { body: before, left: Cell::new(MAX_STEPS) };
    reader.less(result, &mut keys)?;
    (!keys.is_empty() && reader.left.get() > 0).then_some(keys)
}

/// The maximum number of instructions visited, counted once per use, because shared ones may be used exponentially
/// often.
const MAX_STEPS: usize = 5000;

struct Reader<'b> {
    body: &'b Body,
    left: Cell<usize>,
}

impl Reader<'_> {
    fn step(&self) -> Option<()> {
        self.left.set(self.left.get().saturating_sub(1));
        (self.left.get() > 0).then_some(())
    }

    fn op(&self, arg: Arg) -> Option<(ScalarOp, &[Arg])> {
        self.step()?;
        match arg {
            Arg::Inst(i) => match &self.body.insts[i] {
                Inst::Op { op, args, .. } => Some((*op, args)),
                _ => None,
            },
            _ => None,
        }
    }

    /// Reads `arg` as "the left element is before the right one".
    fn less(&self, arg: Arg, keys: &mut Vec<Key>) -> Option<()> {
        let (op, args) = self.op(arg)?;
        match (op, args) {
            (ScalarOp::Compare(_) | ScalarOp::CompareTotal(_), _) => {
                keys.push(self.key(arg)?);
                Some(())
            }
            // Before by the first key, or equal by it and before by the others.
            (ScalarOp::Or, &[a, b]) => self.either(a, b, keys).or_else(|| self.either(b, a, keys)),
            (ScalarOp::Select, &[choice, a, b]) => {
                let (equal, unequal) = if self.compares(choice, Comparison::Eq) { (a, b) } else { (b, a) };
                let known = self.compares(choice, Comparison::Eq) || self.compares(choice, Comparison::Ne);
                let first = self.key(unequal).filter(|key| known && self.is_same(choice, key))?;
                keys.push(first);
                self.less(equal, keys)
            }
            _ => None,
        }
    }

    fn either(&self, less: Arg, rest: Arg, keys: &mut Vec<Key>) -> Option<()> {
        let first = self.key(less)?;
        let (ScalarOp::And, &[a, b]) = self.op(rest)? else { return None };
        let others = |equal: Arg, others: Arg, first: &Key| {
            (self.compares(equal, Comparison::Eq) && self.is_same(equal, first)).then_some(others)
        };
        let rest = others(a, b, &first).or_else(|| others(b, a, &first))?;
        keys.push(first);
        self.less(rest, keys)
    }

    fn compares(&self, arg: Arg, by: Comparison) -> bool {
        matches!(self.op(arg), Some((ScalarOp::Compare(c) | ScalarOp::CompareTotal(c), _)) if c == by)
    }

    /// Returns whether a comparison is of the same key.
    fn is_same(&self, arg: Arg, key: &Key) -> bool {
        let Some((op, &[a, b])) = self.op(arg) else { return false };
        let total = matches!(op, ScalarOp::CompareTotal(_));
        let is_float = self.body.arg_type(a).is_float();
        if is_float && total != key.total {
            return false;
        }
        let same = |left: Arg, right: Arg| {
            self.mirrored(left, right)
                && self.side(left) == Some(0)
                && self.source(left).is_some_and(|s| s == key.source)
        };
        same(a, b) || same(b, a)
    }

    /// Reads a comparison as a key.
    fn key(&self, arg: Arg) -> Option<Key> {
        let (op, &[a, b]) = self.op(arg)? else { return None };
        let (by, total) = match op {
            ScalarOp::Compare(by) => (by, false),
            ScalarOp::CompareTotal(by) => (by, true),
            _ => return None,
        };
        let descending = match by {
            Comparison::Lt => false,
            Comparison::Gt => true,
            _ => return None,
        };
        let ty = self.body.arg_type(a);
        if !self.mirrored(a, b) || !(ty.is_float() || ty.is_integer() || ty == ElementType::I1) {
            return None;
        }
        let (left, turned) = match (self.side(a)?, self.side(b)?) {
            (0, 1) => (a, false),
            (1, 0) => (b, true),
            _ => return None,
        };
        Some(Key { source: self.source(left)?, ty, descending: descending != turned, total: total || !ty.is_float() })
    }

    /// Returns whether both are the same computation of elements of opposite sides.
    fn mirrored(&self, a: Arg, b: Arg) -> bool {
        if self.step().is_none() {
            return false;
        }
        match (a, b) {
            (Arg::Input(i), Arg::Input(j)) => i ^ 1 == j,
            (Arg::Inst(i), Arg::Inst(j)) => match (&self.body.insts[i], &self.body.insts[j]) {
                (Inst::Op { op, args, ty }, Inst::Op { op: other, args: others, ty: also }) => {
                    let pairs = || args.iter().zip(others);
                    op == other && ty == also && pairs().all(|(&a, &b)| self.mirrored(a, b))
                }
                (Inst::Const(a, ty), Inst::Const(b, also)) => ty == also && same_bits(*a, *b),
                _ => false,
            },
            _ => false,
        }
    }

    /// Returns the side whose elements are read: 0 for the left one, 1 for the right one; `None` for both or neither.
    fn side(&self, arg: Arg) -> Option<usize> {
        let mut sides = [false; 2];
        self.sides(arg, &mut sides);
        match sides {
            [true, false] => Some(0),
            [false, true] => Some(1),
            _ => None,
        }
    }

    fn sides(&self, arg: Arg, sides: &mut [bool; 2]) {
        match arg {
            Arg::Input(i) => sides[i % 2] = true,
            Arg::Inst(_) => {
                for &arg in self.op(arg).map(|o| o.1).unwrap_or_default() {
                    self.sides(arg, sides);
                }
            }
            Arg::Accumulator(_) => {}
        }
    }

    /// Returns the computation of a key from left elements.
    fn source(&self, arg: Arg) -> Option<Source> {
        if let Arg::Input(i) = arg {
            return Some(Source::Plain(i / 2));
        }
        if let Some(operand) = self.canonical(arg) {
            return Some(Source::Canonical(operand));
        }
        let half = |all: &[ElementType]| all.iter().step_by(2).copied().collect();
        let mut body = Body { inputs: half(&self.body.inputs), ..Body::default() };
        let result = self.copy(arg, &mut body)?;
        body.results = vec![result];
        Some(Source::Computed(Box::new(Routine::new(body, Times::Many))))
    }

    fn copy(&self, arg: Arg, body: &mut Body) -> Option<Arg> {
        self.step()?;
        match arg {
            Arg::Input(i) => Some(Arg::Input(i / 2)),
            Arg::Accumulator(_) => None,
            Arg::Inst(i) => {
                let inst = match &self.body.insts[i] {
                    Inst::Op { op, args, ty } => {
                        let args = args.iter().map(|&a| self.copy(a, body)).collect::<Option<_>>()?;
                        Inst::Op { op: *op, args, ty: *ty }
                    }
                    Inst::Const(..) => self.body.insts[i].clone(),
                    Inst::Index(..) => return None,
                };
                Some(body.push(inst))
            }
        }
    }

    /// Returns the operand, if `arg` is its element with one zero and one NaN: `x != x ? nan : (x == 0 ? 0 : x)`, as
    /// JAX writes it.
    fn canonical(&self, arg: Arg) -> Option<usize> {
        let (ScalarOp::Select, &[is_nan, nan, rest]) = self.op(arg)? else { return None };
        let (ScalarOp::Select, &[is_zero, zero, plain]) = self.op(rest)? else { return None };
        let Arg::Input(i) = plain else { return None };
        let (ScalarOp::Compare(Comparison::Ne), &[a, b]) = self.op(is_nan)? else { return None };
        let (ScalarOp::Compare(Comparison::Eq), &[c, d]) = self.op(is_zero)? else { return None };
        let nan = matches!(self.constant(nan)?, Scalar::Float(v) if v.is_nan() && v.is_sign_positive());
        let positive = |arg: Arg| matches!(self.constant(arg), Some(Scalar::Float(v)) if v.to_bits() == 0);
        let zero = positive(zero) && (c == plain && positive_or_negative(self.constant(d)));
        (nan && zero && a == plain && b == plain).then_some(i / 2)
    }

    fn constant(&self, arg: Arg) -> Option<Scalar> {
        match arg {
            Arg::Inst(i) => match &self.body.insts[i] {
                Inst::Const(value, _) => Some(*value),
                _ => None,
            },
            _ => None,
        }
    }
}

fn positive_or_negative(zero: Option<Scalar>) -> bool {
    matches!(zero, Some(Scalar::Float(v)) if v == 0.0)
}

fn same_bits(a: Scalar, b: Scalar) -> bool {
    match (a, b) {
        (Scalar::Float(a), Scalar::Float(b)) => a.to_bits() == b.to_bits(),
        _ => a == b,
    }
}

impl PartialEq for Source {
    fn eq(&self, other: &Self) -> bool {
        match (self, other) {
            (Source::Plain(a), Source::Plain(b)) | (Source::Canonical(a), Source::Canonical(b)) => a == b,
            (Source::Computed(a), Source::Computed(b)) => {
                let (a, b) = (a.body(), b.body());
                let same = |(a, b): (&Inst, &Inst)| match (a, b) {
                    (Inst::Const(a, ty), Inst::Const(b, also)) => ty == also && same_bits(*a, *b),
                    _ => a == b,
                };
                a.results == b.results && a.insts.len() == b.insts.len() && a.insts.iter().zip(&b.insts).all(same)
            }
            _ => false,
        }
    }
}
