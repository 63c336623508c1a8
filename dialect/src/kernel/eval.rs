//! The reference evaluation of a [`Nest`] and of a [`Body`], slow and obvious: proofs and evaluators compare with it.
//! Also converts an op's region of scalar ops (the combiner of a reduction) to a body.

use rustc_hash::FxHashMap;
use smallvec::smallvec;

use super::{Arg, Body, Index, Init, Inst, Kernel, Nest, Outside};
use crate::ir::{Block, ElementType, OpRef, Program, Region, TypeData, Value, ValueSource};
use crate::literal::{Indices, Literal};
use crate::op::Control;
use crate::scalar::{Comparison, Scalar, ScalarOp};
use crate::scalar_eval::{float_binary, float_unary};

impl Nest {
    /// Runs the nest over the op's operands and returns its results, all of the shape of the parallel loops.
    pub fn eval(&self, operands: &[Literal]) -> Vec<Literal> {
        let (parallel, reduced) = self.loops.split_at(self.parallel);
        let types: Vec<ElementType> = self.body.results.iter().map(|&r| self.body.arg_type(r)).collect();
        let mut results: Vec<Vec<Scalar>> = vec![Vec::new(); types.len()];
        for at in Indices::of(parallel) {
            let mut accumulators: Vec<Scalar> = self
                .init
                .iter()
                .map(|init| match init {
                    Init::Const(v) => *v,
                    Init::Operand(i) => operands[*i].get(0),
                })
                .collect();
            let mut loops: Vec<i64> = at.to_vec();
            loops.resize(self.loops.len(), 0);
            if reduced.is_empty() {
                accumulators = self.iteration(&loops, &accumulators, operands);
            }
            for inner in Indices::of(reduced).filter(|_| !reduced.is_empty()) {
                loops[self.parallel..].copy_from_slice(&inner);
                accumulators = self.iteration(&loops, &accumulators, operands);
            }
            for (result, value) in results.iter_mut().zip(accumulators) {
                result.push(value);
            }
        }
        let literal = |(values, &ty): (Vec<Scalar>, &ElementType)| Literal::from_scalars(ty, parallel, values);
        results.into_iter().zip(&types).map(literal).collect()
    }

    fn iteration(&self, loops: &[i64], accumulators: &[Scalar], operands: &[Literal]) -> Vec<Scalar> {
        let mut position = |index: &Index| {
            index.eval(loops, &mut |operand, at| {
                let table = &operands[operand];
                table.get(table.position(at)).as_i64().unwrap_or(0)
            })
        };
        let mut inputs = Vec::with_capacity(self.inputs.len());
        for input in &self.inputs {
            let inside = input.guards.iter().all(|g| (g.lo..g.hi).contains(&position(&g.index)));
            inputs.push(match (&input.outside, inside) {
                (Some(Outside::Const(v)), false) => *v,
                (Some(Outside::Operand(i)), false) => operands[*i].get(0),
                _ => {
                    let at: Vec<i64> = input.index.iter().map(&mut position).collect();
                    let source = &operands[input.operand];
                    source.get(source.position(&at))
                }
            });
        }
        self.body.eval_at(&inputs, accumulators, &mut position)
    }
}

impl Body {
    /// Returns the results of one iteration. Bodies made from regions have no index expressions; in other bodies index
    /// expressions count as 0, see [`Body::eval_at`].
    pub fn eval(&self, inputs: &[Scalar], accumulators: &[Scalar]) -> Vec<Scalar> {
        self.eval_at(inputs, accumulators, &mut |_| 0)
    }

    /// Returns the results of one iteration; `index` returns the value of an index expression.
    pub fn eval_at(
        &self,
        inputs: &[Scalar],
        accumulators: &[Scalar],
        index: &mut dyn FnMut(&Index) -> i64,
    ) -> Vec<Scalar> {
        let mut values: Vec<Scalar> = Vec::with_capacity(self.insts.len());
        self.run(inputs, accumulators, index, &mut values);
        self.results.iter().map(|&r| value_of(r, inputs, accumulators, &values)).collect()
    }

    /// Writes the results of [`Body::eval`] into `results`; `values` is scratch memory, reusable by further calls.
    pub fn eval_into(
        &self,
        inputs: &[Scalar],
        accumulators: &[Scalar],
        values: &mut Vec<Scalar>,
        results: &mut Vec<Scalar>,
    ) {
        self.run(inputs, accumulators, &mut |_| 0, values);
        results.clear();
        results.extend(self.results.iter().map(|&r| value_of(r, inputs, accumulators, values)));
    }

    /// Fills `values` with the instructions' values.
    fn run(
        &self,
        inputs: &[Scalar],
        accumulators: &[Scalar],
        index: &mut dyn FnMut(&Index) -> i64,
        values: &mut Vec<Scalar>,
    ) {
        values.clear();
        for inst in &self.insts {
            let value = match inst {
                Inst::Const(v, ty) => v.round(*ty),
                Inst::Index(i, ty) => ScalarOp::Convert.apply(ElementType::I64, *ty, &[Scalar::Int(index(i).into())]),
                Inst::Op { op, args, ty } => {
                    let operands: smallvec::SmallVec<[Scalar; 3]> =
                        args.iter().map(|&a| value_of(a, inputs, accumulators, values)).collect();
                    let operand_ty = args.first().map_or(*ty, |&a| self.arg_type(a));
                    op.apply(operand_ty, *ty, &operands)
                }
            };
            values.push(value);
        }
    }

    /// Returns the commutative operation of the body, if it only applies that to its input and accumulator, or to its
    /// two inputs.
    pub fn as_binary(&self) -> Option<ScalarOp> {
        let [Inst::Op { op, args, ty }] = &self.insts[..] else { return None };
        let [a, b] = args[..] else { return None };
        let plain = |x: Arg| self.arg_type(x) == *ty && !matches!(x, Arg::Inst(_));
        let whole = self.results == [Arg::Inst(0)] && self.inputs.len() + self.accumulators.len() == 2;
        (op.commutes() && whole && a != b && plain(a) && plain(b)).then_some(*op)
    }
}

fn value_of(arg: Arg, inputs: &[Scalar], accumulators: &[Scalar], values: &[Scalar]) -> Scalar {
    match arg {
        Arg::Input(i) => inputs[i],
        Arg::Accumulator(i) => accumulators[i],
        Arg::Inst(i) => values[i],
    }
}

/// Returns the scalar computation of a region whose ops are all scalar; `args` are the arguments of its block. For
/// branches it computes both sides and selects one. `None` if an op has no scalar computation (loops have none), or
/// reads a value from outside the region that isn't a constant.
pub fn body_of_region(program: &Program, region: Region, args: &[Arg]) -> Option<Body> {
    body_of_loops(program, region, args, &|_| None)
}

/// Does the same as [`body_of_region`], but takes from `special` the instructions of ops that are meaningful only
/// inside loops.
pub fn body_of_loops(
    program: &Program,
    region: Region,
    args: &[Arg],
    special: &dyn Fn(OpRef<'_>) -> Option<Inst>,
) -> Option<Body> {
    let block = match program.region_blocks(region) {
        &[block] => block,
        _ => return None,
    };
    let params = program.block_args(block);
    if params.len() != args.len() {
        return None;
    }
    let mut reader = Reader { program, special, body: Body::default(), known: FxHashMap::default() };
    let (mut inputs, mut accumulators) = (Vec::new(), Vec::new());
    for (&param, &arg) in params.iter().zip(args) {
        let element = match program.type_data(program.value_type(param)) {
            TypeData::Tensor(ty) => ty.element,
            TypeData::Scalar(element) => *element,
            _ => return None,
        };
        match arg {
            Arg::Input(i) => inputs.push((i, element)),
            Arg::Accumulator(i) => accumulators.push((i, element)),
            Arg::Inst(_) => return None,
        }
        reader.known.insert(param, arg);
    }
    reader.body.inputs = in_order(inputs)?;
    reader.body.accumulators = in_order(accumulators)?;
    reader.body.results = reader.block(block)?;
    Some(reader.body)
}

/// Returns the element types by position; `None` if positions are missing or duplicated.
fn in_order(mut list: Vec<(usize, ElementType)>) -> Option<Vec<ElementType>> {
    list.sort_by_key(|e| e.0);
    list.iter().enumerate().all(|(at, e)| e.0 == at).then(|| list.iter().map(|e| e.1).collect())
}

/// Reads a region as a body.
struct Reader<'p> {
    program: &'p Program,
    special: &'p dyn Fn(OpRef<'_>) -> Option<Inst>,
    body: Body,
    known: FxHashMap<Value, Arg>,
}

impl Reader<'_> {
    /// Appends the computation of a block, and returns the operands of its terminator.
    fn block(&mut self, block: Block) -> Option<Vec<Arg>> {
        for &op in self.program.block_ops(block) {
            let op = self.program.view(op);
            let operands: Vec<Arg> = op.operands().iter().map(|&v| self.value(v)).collect::<Option<_>>()?;
            if op.def().terminator() {
                return Some(operands);
            }
            let results = match op.def().control(op) {
                Some(Control::Identity) => operands,
                Some(Control::If | Control::Case) => self.branches(op, &operands)?,
                _ => self.inline(op, &operands)?,
            };
            self.known.extend(op.results().zip(results));
        }
        None
    }

    fn value(&mut self, value: Value) -> Option<Arg> {
        if let Some(&arg) = self.known.get(&value) {
            return Some(arg);
        }
        let ValueSource::Result(op, _) = self.program.value_source(value) else { return None };
        self.inline(self.program.view(op), &[]).map(|r| r[0])
    }

    /// Appends the computations of all branches of an op, and selects among their results.
    fn branches(&mut self, op: OpRef<'_>, operands: &[Arg]) -> Option<Vec<Arg>> {
        let &[index] = operands else { return None };
        let regions = self.program.op(op.op).regions.len();
        let mut branches: Vec<Vec<Arg>> = (0..regions).map(|i| self.block(op.block(i)?)).collect::<Option<_>>()?;
        let mut chosen = branches.pop()?;
        for (i, branch) in branches.into_iter().enumerate().rev() {
            let is_chosen = match self.body.arg_type(index) {
                ElementType::I1 => index,
                ty => {
                    let number = self.body.push(Inst::Const(Scalar::Int(i as i128), ty));
                    let args = smallvec![index, number];
                    self.body.push(Inst::Op { op: ScalarOp::Compare(Comparison::Eq), args, ty: ElementType::I1 })
                }
            };
            for (chosen, value) in chosen.iter_mut().zip(branch).filter(|(chosen, value)| **chosen != *value) {
                let ty = self.body.arg_type(value);
                *chosen =
                    self.body.push(Inst::Op { op: ScalarOp::Select, args: smallvec![is_chosen, value, *chosen], ty });
            }
        }
        Some(chosen)
    }

    /// Appends the computation of a rank-0 op.
    fn inline(&mut self, op: OpRef<'_>, operands: &[Arg]) -> Option<Vec<Arg>> {
        let body = &mut self.body;
        if let Some(inst) = (self.special)(op) {
            return Some(vec![body.push(inst)]);
        }
        if let Some(literal) = op.def().constant(op) {
            let value = literal.shape.is_empty().then(|| literal.get(0))?;
            return Some(vec![body.push(Inst::Const(value, literal.element))]);
        }
        let Kernel::Nest(nest) = op.def().kernel(op) else { return None };
        let scalar = |i: &crate::kernel::Input| i.index.is_empty() && i.guards.is_empty() && i.operand < operands.len();
        if !nest.loops.is_empty() || !nest.inputs.iter().all(scalar) {
            return None;
        }
        let first = body.insts.len();
        let renamed = |arg: Arg| match arg {
            Arg::Input(i) => Some(operands[nest.inputs[i].operand]),
            Arg::Inst(i) => Some(Arg::Inst(first + i)),
            Arg::Accumulator(_) => None,
        };
        for inst in &nest.body.insts {
            body.insts.push(match inst {
                Inst::Op { op, args, ty } => {
                    Inst::Op { op: *op, args: args.iter().map(|&a| renamed(a)).collect::<Option<_>>()?, ty: *ty }
                }
                Inst::Const(..) => inst.clone(),
                Inst::Index(..) => return None,
            });
        }
        nest.body.results.iter().map(|&r| renamed(r)).collect()
    }
}

/// Returns the body's first result for every element of `shape`; operands have this shape or one element.
pub fn map(body: &Body, shape: &[i64], operands: &[Literal]) -> Literal {
    let ty = body.results.first().map_or(ElementType::I1, |&r| body.arg_type(r));
    let n: usize = shape.iter().map(|&d| d.max(0) as usize).product();
    let width = |o: &Literal| o.stored_bytes().len() == o.element.bytes();
    let mut values = Vec::with_capacity(body.insts.len());
    let mut first = |inputs: &[Scalar]| {
        body.run(inputs, &[], &mut |_| 0, &mut values);
        body.results.first().map_or(Scalar::zero(ty), |&r| value_of(r, inputs, &[], &values))
    };
    if n > 0 && operands.iter().all(width) {
        let inputs: Vec<Scalar> = operands.iter().map(|o| o.get(0)).collect();
        return Literal::splat(ty, shape, first(&inputs));
    }
    if let Some(result) = map_f32(body, shape, operands, n) {
        return result;
    }
    let mut bytes = Vec::with_capacity(n * ty.bytes());
    match (&body.insts[..], operands) {
        // Applies a single operation to its operands directly, without building lists.
        ([Inst::Op { op: ScalarOp::Select, args, .. }], [p, a, b])
            if args[..] == [Arg::Input(0), Arg::Input(1), Arg::Input(2)] && a.element == ty && b.element == ty =>
        {
            (0..n).for_each(|i| bytes.extend_from_slice(if p.get(i).is_true() { a } else { b }.element_bytes(i)));
        }
        ([Inst::Op { op, args, .. }], [a]) if args[..] == [Arg::Input(0)] && body.results == [Arg::Inst(0)] => {
            (0..n).for_each(|i| op.apply(body.inputs[0], ty, &[a.get(i)]).encode(ty, &mut bytes));
        }
        ([Inst::Op { op, args, .. }], [a, b])
            if args[..] == [Arg::Input(0), Arg::Input(1)] && body.results == [Arg::Inst(0)] =>
        {
            (0..n).for_each(|i| op.apply(body.inputs[0], ty, &[a.get(i), b.get(i)]).encode(ty, &mut bytes));
        }
        _ => {
            let mut inputs = vec![Scalar::Int(0); operands.len()];
            for i in 0..n {
                for (input, operand) in inputs.iter_mut().zip(operands) {
                    *input = operand.get(i);
                }
                first(&inputs).encode(ty, &mut bytes);
            }
        }
    }
    Literal::from_bytes(ty, shape, bytes)
}

/// Does the same as [`map`] for one operation on f32, without converting to [`Scalar`], because this is the most common
/// case in programs. `None` in other cases.
fn map_f32(body: &Body, shape: &[i64], operands: &[Literal], n: usize) -> Option<Literal> {
    let [Inst::Op { op, args, ty: ElementType::F32 }] = &body.insts[..] else { return None };
    let op = *op;
    if body.results != [Arg::Inst(0)] || !body.inputs.iter().all(|&ty| ty == ElementType::F32) {
        return None;
    }
    Some(match (operands, &args[..]) {
        ([a], [Arg::Input(0)]) => {
            float_unary(op, 1.0)?;
            let a = f32s(a);
            Literal::from_floats(ElementType::F32, shape, (0..n).map(|i| float_unary(op, a(i)).unwrap_or(f64::NAN)))
        }
        ([a, b], [Arg::Input(0), Arg::Input(1)]) => {
            float_binary(op, 1.0, 1.0)?;
            let (a, b) = (f32s(a), f32s(b));
            let value = |i| float_binary(op, a(i), b(i)).unwrap_or(f64::NAN);
            Literal::from_floats(ElementType::F32, shape, (0..n).map(value))
        }
        _ => return None,
    })
}

/// Returns a function that reads an f32 element.
fn f32s(literal: &Literal) -> impl Fn(usize) -> f64 {
    let all = literal.stored_bytes().as_chunks().0;
    let last = all.len().saturating_sub(1);
    move |i| f32::from_le_bytes(all[i.min(last)]).into()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::proofs::{example_block, example_program};

    /// Returns the body of the region of an op with these block arguments and ops.
    fn body(region: &str, args: &[Arg]) -> Option<Body> {
        let text = format!(
            "(%a: tensor<f32>, %z: tensor<f32>) %c = stablehlo.constant dense<2.0> : tensor<f32>\n\"test.op\"(%a) ({{\n^bb0{region}\n}}) : (tensor<f32>) -> ()"
        );
        let program = example_program(&text);
        let op = *program.block_ops(example_block(&program)).last()?;
        body_of_region(&program, program.view(op).region(0)?, args)
    }

    const TWO: &[Arg] = &[Arg::Accumulator(0), Arg::Input(0)];

    #[test]
    fn one_operation_is_recognized() {
        let add = "(%x: tensor<f32>, %y: tensor<f32>):\n%s = stablehlo.add %x, %y : tensor<f32>\nstablehlo.return %s : tensor<f32>";
        let add = body(add, TWO).unwrap();
        assert_eq!(add.as_binary(), Some(ScalarOp::Add));
        assert!(add.eval(&[Scalar::Float(2.0)], &[Scalar::Float(3.0)]) == [Scalar::Float(5.0)]);
        let minus = "(%x: tensor<f32>, %y: tensor<f32>):\n%s = stablehlo.subtract %x, %y : tensor<f32>\nstablehlo.return %s : tensor<f32>";
        let minus = body(minus, TWO).unwrap();
        assert_eq!(minus.as_binary(), None);
        assert!(minus.eval(&[Scalar::Float(2.0)], &[Scalar::Float(3.0)]) == [Scalar::Float(1.0)]);
        let twice = "(%x: tensor<f32>, %y: tensor<f32>):\n%s = stablehlo.add %y, %y : tensor<f32>\nstablehlo.return %s : tensor<f32>";
        assert_eq!(body(twice, TWO).unwrap().as_binary(), None);
    }

    #[test]
    fn a_region_of_several_ops() {
        // The larger value with its position, and a constant from outside the region.
        let text = "(%x: tensor<f32>, %i: tensor<i32>, %y: tensor<f32>, %j: tensor<i32>):
            %h = stablehlo.multiply %y, %c : tensor<f32>
            %p = stablehlo.compare GE, %x, %h : (tensor<f32>, tensor<f32>) -> tensor<i1>
            %v = stablehlo.select %p, %x, %h : tensor<i1>, tensor<f32>
            %k = stablehlo.select %p, %i, %j : tensor<i1>, tensor<i32>
            stablehlo.return %v, %k : tensor<f32>, tensor<i32>";
        let args = [Arg::Accumulator(0), Arg::Accumulator(1), Arg::Input(0), Arg::Input(1)];
        let body = body(text, &args).unwrap();
        assert_eq!(body.inputs, [ElementType::F32, ElementType::I32]);
        let (float, int) = (Scalar::Float, Scalar::Int);
        assert!(body.eval(&[float(2.0), int(7)], &[float(3.0), int(1)]) == [float(4.0), int(7)]);
        assert!(body.eval(&[float(1.0), int(7)], &[float(3.0), int(1)]) == [float(3.0), int(1)]);
        assert_eq!(body.as_binary(), None);
    }

    #[test]
    fn branches_become_selections() {
        let text = "(%x: tensor<f32>, %y: tensor<f32>):
            %p = stablehlo.compare GE, %x, %y : (tensor<f32>, tensor<f32>) -> tensor<i1>
            %k = stablehlo.convert %y : (tensor<f32>) -> tensor<i32>
            %v:2 = \"stablehlo.if\"(%p) ({
              %d = stablehlo.subtract %x, %y : tensor<f32>
              stablehlo.return %d, %c : tensor<f32>, tensor<f32>
            }, {
              %m = \"stablehlo.case\"(%k) ({
                %s = stablehlo.negate %y : tensor<f32>
                stablehlo.return %s : tensor<f32>
              }, {
                stablehlo.return %x : tensor<f32>
              }, {
                stablehlo.return %c : tensor<f32>
              }) : (tensor<i32>) -> tensor<f32>
              stablehlo.return %m, %c : tensor<f32>, tensor<f32>
            }) : (tensor<i1>) -> (tensor<f32>, tensor<f32>)
            stablehlo.return %v#0 : tensor<f32>";
        let body = body(text, TWO).unwrap();
        let value = |x: f64, y: f64| body.eval(&[Scalar::Float(y)], &[Scalar::Float(x)]);
        assert!(value(3.0, 1.0) == [Scalar::Float(2.0)]);
        assert!(value(-1.0, 0.5) == [Scalar::Float(-0.5)]);
        assert!(value(-1.0, 1.5) == [Scalar::Float(-1.0)]);
        assert!(value(-1.0, 9.0) == [Scalar::Float(2.0)]);
        assert!(value(-9.0, -7.0) == [Scalar::Float(2.0)]);
    }

    #[test]
    fn what_is_not_scalar_is_refused() {
        let outer = "(%x: tensor<f32>, %y: tensor<f32>):\n%s = stablehlo.add %x, %z : tensor<f32>\nstablehlo.return %s : tensor<f32>";
        assert_eq!(body(outer, TWO), None);
        let unknown = "(%x: tensor<f32>, %y: tensor<f32>):\n%s = \"x.y\"(%x) : (tensor<f32>) -> tensor<f32>\nstablehlo.return %s : tensor<f32>";
        assert_eq!(body(unknown, TWO), None);
        let add = "(%x: tensor<f32>, %y: tensor<f32>):\nstablehlo.return %x : tensor<f32>";
        assert_eq!(body(add, &[Arg::Input(0)]), None);
        assert_eq!(body(add, &[Arg::Input(0), Arg::Input(2)]), None);
    }

    #[test]
    fn an_empty_reduction_is_its_start() {
        let nest = Nest {
            loops: [2, 0].into_iter().collect(),
            parallel: 1,
            inputs: vec![crate::kernel::Input::at(0, [0, 1])],
            init: vec![Init::Operand(1)],
            body: Body {
                results: vec![Arg::Accumulator(0)],
                accumulators: vec![ElementType::F32],
                ..Body::copy(ElementType::F32)
            },
        };
        let empty = Literal::from_scalars(ElementType::F32, &[2, 0], []);
        let start = Literal::scalar(ElementType::F32, Scalar::Float(7.0));
        assert_eq!(
            nest.eval(&[empty, start]),
            [Literal::from_scalars(ElementType::F32, &[2], [Scalar::Float(7.0); 2])]
        );
    }
}
