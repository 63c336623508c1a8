//! The computation of a structured op: loops, the elements of operands that each iteration reads, and a body;
//! everything else is derived from these.

use smallvec::SmallVec;

use super::arith::{self, element};
use super::maps::{Map, bounds};
use crate::eval::{EvalError, EvalResult};
use crate::ir::build::Builder;
use crate::ir::{ElementType, Op, OpRef, Value};
use crate::kernel::{Arg, Body, Index, Init, Input, Inst, Nest};
use crate::literal::{Indices, Literal};
use crate::op::Problem;
use crate::ops::build;
use crate::ops::support::combiner::reduction_kind;
use crate::ops::support::constraint::{Checked, require, splat_operand};
use crate::scalar::{Scalar, ScalarOp};
use crate::sharding::ReductionKind;

/// A structured op. Its last operands, one for each result, are the initial values of the results.
#[derive(Clone, Debug)]
pub(super) struct Structured {
    /// The positions that are read from each operand.
    pub(super) maps: Vec<Map>,
    /// Which loops are reductions.
    pub(super) reduced: Vec<bool>,
    /// The computation from the elements of all operands to those of the results; `None` if this crate has no such
    /// computation.
    pub(super) body: Option<Body>,
}

/// The operation that combines the terms of all iterations to a result.
struct Combiner {
    op: ScalarOp,
    /// The value that is combined with the result so far.
    term: Arg,
}

impl Structured {
    /// Returns the number of operands that are only read.
    fn inputs(&self, op: OpRef<'_>) -> usize {
        op.operands().len() - op.result_count()
    }

    /// Returns the sizes of the loops, or the problem of the maps and types.
    pub(super) fn sizes(&self, op: OpRef<'_>) -> Checked<Vec<i64>> {
        let operands = op.operands().len();
        let same = self.maps.len() == operands && op.result_count() <= operands;
        require!(same, "expected a map for each of {operands} operands, found {}", self.maps.len());
        let mut sizes: Vec<Option<i64>> = vec![None; self.reduced.len()];
        let mut shapes = Vec::new();
        for (i, (map, &value)) in self.maps.iter().zip(op.operands()).enumerate() {
            let (_, shape) = element(op, value).ok_or_else(|| Problem::operand(i, "expected a tensor or a scalar"))?;
            require!(shape.iter().all(|&d| d >= 0), operand = i, "dynamic sizes are not supported");
            let (loops, dims) = (sizes.len(), shape.len());
            let fits = map.loops == loops && map.positions.len() == dims;
            require!(fits, operand = i, "expected a map from {loops} loops to {dims} dimensions");
            for (position, &size) in map.positions.iter().zip(&shape) {
                if let Index::Loop(l) = position {
                    let known = *sizes[*l].get_or_insert(size);
                    let same = known == size;
                    require!(same, operand = i, "loop d{l} has {known} iterations, but runs over {size} elements");
                }
            }
            shapes.push(shape);
        }
        let sizes: Option<Vec<i64>> = sizes.into_iter().collect();
        let sizes =
            sizes.ok_or_else(|| Problem::new("a loop indexes no dimension of any operand, so its size is unknown"))?;
        // Loops without iterations read nothing, so their positions may be outside.
        let runs = sizes.iter().all(|&n| n > 0);
        let some: Vec<i64> = sizes.iter().map(|&n| n.max(1)).collect();
        for (i, (map, shape)) in self.maps.iter().zip(&shapes).enumerate() {
            for (d, (position, &size)) in map.positions.iter().zip(shape).enumerate() {
                let inside = bounds(position, &some).is_some_and(|(low, high)| !runs || low >= 0 && high < size);
                require!(inside, operand = i, "its map reaches positions outside of dimension {d} of size {size}");
            }
        }
        Ok(sizes)
    }

    /// Returns the loop for each dimension of the results; `None` if results are written in any other way.
    fn parallel(&self, op: OpRef<'_>) -> Option<Vec<usize>> {
        let (first, others) = self.maps[self.inputs(op)..].split_first()?;
        let loops: Vec<usize> = first
            .positions
            .iter()
            .map(|p| if let Index::Loop(l) = p { Some(*l) } else { None })
            .collect::<Option<_>>()?;
        let once =
            (0..self.reduced.len()).all(|l| loops.iter().filter(|&&x| x == l).count() == usize::from(!self.reduced[l]));
        (once && others.iter().all(|map| map == first)).then_some(loops)
    }

    fn is_reduction(&self) -> bool {
        self.reduced.contains(&true)
    }

    /// Returns the combiner of the only result, if the body ends with it and doesn't use the result otherwise.
    fn combiner(&self, op: OpRef<'_>) -> Option<Combiner> {
        let (body, so_far) = (self.body.as_ref()?, Arg::Input(self.inputs(op)));
        let &[Arg::Inst(last)] = &body.results[..] else { return None };
        let Inst::Op { op: combine, args, ty } = &body.insts[last] else { return None };
        let term = match args[..] {
            [a, b] if a == so_far && b != so_far => b,
            [a, b] if b == so_far && a != so_far => a,
            _ => return None,
        };
        let used_elsewhere = body.insts.iter().enumerate().any(|(i, inst)| match inst {
            Inst::Op { args, .. } => i != last && args.contains(&so_far),
            _ => false,
        });
        let typed = body.arg_type(term) == *ty && body.arg_type(so_far) == *ty;
        (combine.commutes() && typed && !used_elsewhere).then_some(Combiner { op: *combine, term })
    }

    /// Returns whether the initial value of the result is the combiner's identity in every element.
    fn starts_at_identity(&self, op: OpRef<'_>, combiner: &Combiner) -> bool {
        let result = self.inputs(op);
        let identity = self.body.as_ref().and_then(|body| combiner.op.identity(body.arg_type(combiner.term)));
        identity.is_some() && splat_operand(op, result) == identity
    }

    /// Returns the loop nest; for reductions only if the results begin with the identity.
    pub(super) fn nest(&self, op: OpRef<'_>) -> Option<Nest> {
        let (sizes, body, parallel) = (self.sizes(op).ok()?, self.body.clone()?, self.parallel(op)?);
        let order: Vec<usize> = parallel.iter().copied().chain((0..sizes.len()).filter(|&l| self.reduced[l])).collect();
        let mut place = vec![0; sizes.len()];
        order.iter().enumerate().for_each(|(i, &l)| place[l] = i);
        let index = |at: &Index| at.substitute(&mut |l| Index::Loop(place[l]), &mut |operand| operand);
        let read = |(operand, map): (usize, &Map)| Input::of(operand, map.positions.iter().map(index));
        // Results are read even if they aren't needed, because that ties their dimensions to the loops.
        let inputs = self.maps.iter().enumerate().map(read).collect();
        let loops: SmallVec<[i64; 6]> = order.iter().map(|&l| sizes[l]).collect();
        let mut nest = Nest { loops, parallel: parallel.len(), inputs, init: Vec::new(), body };
        for inst in &mut nest.body.insts {
            if let Inst::Index(at, _) = inst {
                *at = index(at);
            }
        }
        if self.is_reduction() {
            let combiner = self.combiner(op).filter(|combiner| self.starts_at_identity(op, combiner))?;
            let ty = nest.body.arg_type(combiner.term);
            nest.init = vec![Init::Const(combiner.op.identity(ty)?)];
            nest.body.accumulators = vec![ty];
            let so_far = Arg::Input(self.inputs(op));
            for inst in &mut nest.body.insts {
                if let Inst::Op { args, .. } = inst {
                    args.iter_mut().filter(|arg| **arg == so_far).for_each(|arg| *arg = Arg::Accumulator(0));
                }
            }
        }
        Some(nest)
    }

    /// Returns how partial results of shards of reduced loops combine. Padding of such shards is filled with the
    /// identity of that operation, so this is limited to bodies that map the identity to itself.
    pub(super) fn reduction(&self, op: OpRef<'_>) -> Option<ReductionKind> {
        let combiner = self.combiner(op)?;
        let body = self.body.as_ref()?;
        let filled: Vec<bool> =
            self.maps.iter().map(|map| (0..self.reduced.len()).any(|l| self.reduced[l] && map.reads(l))).collect();
        let kind = reduction_kind(combiner.op, body.arg_type(combiner.term))?;
        is_identity(body, combiner.term, &filled, kind == ReductionKind::Sum).then_some(kind)
    }

    /// Evaluates the op as written.
    pub(super) fn evaluate(&self, op: OpRef<'_>, operands: &[Literal]) -> EvalResult<Vec<Literal>> {
        let body = self.body.as_ref().ok_or_else(|| EvalError::new("the op's body is not supported"))?;
        let sizes = self.sizes(op).map_err(|problem| EvalError::new(problem.message))?;
        let inputs = self.inputs(op);
        let mut results: Vec<Vec<Scalar>> =
            operands[inputs..].iter().map(|o| (0..o.len()).map(|i| o.get(i)).collect()).collect();
        // Sums of floats are rounded once.
        let combiner = self
            .combiner(op)
            .filter(|c| self.is_reduction() && c.op == ScalarOp::Add && body.arg_type(c.term).is_float());
        let terms = combiner.map(|c| Body { results: vec![c.term], ..body.clone() });
        for loops in Indices::of(&sizes) {
            let place = |i: usize| -> usize {
                let at: Vec<i64> = self.maps[i].positions.iter().map(|p| p.eval(&loops, &mut |_, _| 0)).collect();
                operands[i].position(&at)
            };
            let read = |i: usize| if i < inputs { operands[i].get(place(i)) } else { results[i - inputs][place(i)] };
            let elements: Vec<Scalar> = (0..operands.len()).map(read).collect();
            let mut position = |at: &Index| at.eval(&loops, &mut |_, _| 0);
            match &terms {
                Some(terms) => {
                    let term = terms.eval_at(&elements, &[], &mut position)[0].as_f64();
                    results[0][place(inputs)] = Scalar::Float(elements[inputs].as_f64() + term);
                }
                None => {
                    for (i, value) in body.eval_at(&elements, &[], &mut position).into_iter().enumerate() {
                        results[i][place(inputs + i)] = value;
                    }
                }
            }
        }
        let literal =
            |(values, like): (Vec<Scalar>, &Literal)| Literal::from_scalars(like.element, &like.shape, values);
        Ok(results.into_iter().zip(&operands[inputs..]).map(literal).collect())
    }

    /// Replaces a fill with a constant scalar by a constant, which needs no other op.
    pub(super) fn filled(&self, op: Op, b: &mut Builder<'_>) -> Option<Vec<Value>> {
        let view = b.program.view(op);
        let nest = self.nest(view)?;
        let value = match (&nest.body.results[..], &nest.inputs[..]) {
            ([Arg::Input(0)], [read, _]) if read.index.is_empty() => scalar_constant(view, 0)?,
            _ => return None,
        };
        let ty = view.result_tensor(0)?.clone();
        Some(vec![build::splat(b, ty.element, &ty.shape, value)])
    }

    /// Rewrites a reduction to begin with the identity, and combines its result with the initial value at the end, so
    /// that each device may reduce a shard.
    pub(super) fn begun_at_identity(&self, op: Op, b: &mut Builder<'_>) -> Option<Vec<Value>> {
        let view = b.program.view(op);
        self.parallel(view).filter(|_| self.is_reduction())?;
        let combiner = self.combiner(view).filter(|combiner| !self.starts_at_identity(view, combiner))?;
        let ty = self.body.as_ref()?.arg_type(combiner.term);
        let (identity, combine) = (combiner.op.identity(ty)?, arith::of_scalar(combiner.op, ty)?);
        let (name, def, result_types) = (view.name().to_owned(), view.def(), view.result_type_ids());
        let mut operands = view.operands().to_vec();
        let (attrs, regions) = (b.program.op(op).attrs.to_vec(), b.program.op(op).regions.to_vec());
        let before = operands.pop()?;
        let shape = b.program.tensor_type(before)?.shape.clone();
        operands.push(build::splat(b, ty, &shape, identity));
        let reduced = b.raw(def, &name, &operands, &result_types, &attrs, &regions);
        let reduced = b.program.result(reduced, 0);
        let combined = b.op(combine, &[before, reduced], &result_types, &[]);
        Some(vec![b.program.result(combined, 0)])
    }
}

impl Map {
    fn reads(&self, l: usize) -> bool {
        self.positions.iter().any(|p| p.any(|i| *i == Index::Loop(l)))
    }
}

/// Returns whether `arg` is the identity of a sum, or of a maximum or minimum, whenever one of the filled inputs is.
fn is_identity(body: &Body, arg: Arg, filled: &[bool], sum: bool) -> bool {
    let mut found: Vec<bool> = Vec::with_capacity(body.insts.len());
    let of = |found: &[bool], arg: Arg| match arg {
        Arg::Input(i) => filled[i],
        Arg::Accumulator(_) => false,
        Arg::Inst(i) => found[i],
    };
    for inst in &body.insts {
        let is = match inst {
            Inst::Op { op, args, .. } => {
                let mut each = args.iter().map(|&arg| of(&found, arg));
                match op {
                    ScalarOp::Mul => sum && each.any(|is| is),
                    ScalarOp::Add
                    | ScalarOp::Sub
                    | ScalarOp::Neg
                    | ScalarOp::Abs
                    | ScalarOp::Sqrt
                    | ScalarOp::Convert => sum && each.all(|is| is),
                    ScalarOp::Max | ScalarOp::Min => each.all(|is| is),
                    ScalarOp::Select => each.skip(1).all(|is| is),
                    _ => false,
                }
            }
            Inst::Const(..) | Inst::Index(..) => false,
        };
        found.push(is);
    }
    of(&found, arg)
}

/// Returns the element type of a value of the op.
pub(super) fn element_type(op: OpRef<'_>, value: Value) -> Option<ElementType> {
    element(op, value).map(|found| found.0)
}

/// Returns the number in operand `i`, if it is a constant scalar.
fn scalar_constant(op: OpRef<'_>, i: usize) -> Option<Scalar> {
    let crate::ir::ValueSource::Result(maker, _) = op.program.value_source(op.operands()[i]) else { return None };
    let maker = op.program.view(maker);
    let crate::kernel::Kernel::Nest(nest) = maker.def().kernel(maker) else { return None };
    match (&nest.body.insts[..], &nest.inputs[..]) {
        ([Inst::Const(value, _)], []) if nest.loops.is_empty() => Some(*value),
        _ => None,
    }
}
