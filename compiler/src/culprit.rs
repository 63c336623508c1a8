//! The search for the first op whose value differs between a planned program and its partitioned form. Both run with
//! the values of ops as results. In a loop that differs, bisection finds the first iteration after which a value
//! differs, and that iteration is written out; in a branch that differs, the ops of the region that ran are written
//! out.

use dialect::ir::build::Builder;
use dialect::ir::{AttrData, Block, ElementType, Op, Program, Renaming, Ty, Value};
use dialect::literal::Literal;
use dialect::op::Control;
use dialect::ops::{build, func};
use dialect::scalar::{Comparison as Direction, Scalar};
use dialect::sharding::TensorSharding;
use passes::Step;

use crate::check::{Judging, judge_against};
use crate::compare::Comparison;
use crate::compiler::{Compiler, Watch};
use crate::diagnostic::Outcome;
use crate::execute::{Backend, ExecuteOptions, run_global};
use crate::module::Module;
use crate::module::main_block;
use crate::place::place;

/// The maximum depth of nested regions that the search descends into.
const MAX_DEPTH: usize = 16;

/// The inputs of the search.
pub(crate) struct CulpritSearch<'a> {
    pub(crate) compiler: &'a Compiler,
    pub(crate) planned: &'a Module,
    /// The passes that turn `planned` into the per-device program.
    pub(crate) rest: &'a [Step],
    pub(crate) inputs: &'a [Vec<Literal>],
    pub(crate) judging: Judging<'a>,
}

/// An op whose value differs.
pub(crate) struct Culprit {
    /// Its source location.
    pub(crate) place: String,
    /// A sentence about it.
    pub(crate) text: String,
}

/// A value that a variant of the program returns, and the op that computes it.
type ReturnedValue = (Op, Value);

/// A variant of the program that ends with the inlined ops of a region.
struct Inside {
    program: Program,
    ops: Vec<Op>,
    /// `iteration 3`, `branch 1`
    what: String,
}

/// The results of a variant of the planned program, unpartitioned and partitioned, for each replica.
struct Runs {
    global: Vec<Vec<Literal>>,
    device: Vec<Vec<Literal>>,
    compared: Vec<Vec<Comparison>>,
}

impl CulpritSearch<'_> {
    /// Returns the first op that differs; `None` if no op does.
    pub(crate) fn run(&self) -> Outcome<Option<Culprit>> {
        let program = self.planned.program();
        let ops = main_block(program).map(|block| program.block_ops(block).to_vec()).unwrap_or_default();
        self.first(program, &ops).map(|first| {
            let (op, comparison) = first?;
            let (mut program, mut op, mut comparison) = (program.clone(), op, comparison);
            let mut around = String::new();
            for _ in 0..MAX_DEPTH {
                // If a variant can't be compiled or run, the search keeps the op found so far.
                let Some(inside) = self.inside(&program, op) else { break };
                let within = format!(", in {} of the {}", inside.what, self.described(&program, op));
                let first = self.first(&inside.program, &inside.ops).into_result().ok().flatten();
                let Some((inner, inner_comparison)) = first else { break };
                around.insert_str(0, &within);
                (program, op, comparison) = (inside.program, inner, inner_comparison);
            }
            let described = self.described(&program, op);
            let text =
                format!("the first op that differs is {described}{around}: its value {}", comparison.text("equal"));
            Some(Culprit { place: self.place(&program, op), text })
        })
    }

    /// `stablehlo.tanh at model.py:12:5`
    fn described(&self, program: &Program, op: Op) -> String {
        format!("{} at {}", program.op_name(op), self.place(program, op))
    }

    fn place(&self, program: &Program, op: Op) -> String {
        place(program, self.planned.source(), op).unwrap_or_else(|| "an op that the compiler created".to_owned())
    }

    /// Returns the first of `ops`, which are in `@main`, whose value differs.
    fn first(&self, program: &Program, ops: &[Op]) -> Outcome<Option<(Op, Comparison)>> {
        let mut program = program.clone();
        let results = ops.iter().flat_map(|&op| program.results(op).map(move |value| (op, value)));
        let shown: Vec<ReturnedValue> = results.filter(|&(_, v)| program.tensor_type(v).is_some()).collect();
        show(&mut program, &shown);
        self.runs(program).map(|runs| {
            let differs = |i: usize| runs.compared.iter().find_map(|all| all.get(i).filter(|c| c.differs()).cloned());
            (0..shown.len()).find_map(|i| Some((shown[i].0, differs(i)?)))
        })
    }

    /// Runs a variant unpartitioned and partitioned.
    fn runs(&self, program: Program) -> Outcome<Runs> {
        let source = self.planned.source();
        Outcome::of(source, run_global(&program, self.inputs, self.judging.limits)).and_then(|global| {
            let variant = self.planned.with_program(program);
            let device = self.compiler.run_steps(variant.clone(), self.rest, &mut Watch::default());
            let (backend, deadline) = (Backend::Reference, self.judging.limits.deadline);
            let execute = ExecuteOptions { backend, deadline, ..ExecuteOptions::default() };
            let device = device.and_then(|device| self.compiler.execute(&device, self.inputs, &execute));
            device.map(|device| {
                let compared = judge_against(&variant, self.inputs, &device.results, &global, self.judging).found;
                Runs { global, device: device.results, compared }
            })
        })
    }

    /// Returns the executed ops inside `op`. `op` is the first op of `@main` that differs.
    fn inside(&self, program: &Program, op: Op) -> Option<Inside> {
        let view = program.view(op);
        match view.def().control(view)? {
            Control::While => self.iteration(program, op),
            control @ (Control::Case | Control::If) => {
                let mut ask = program.clone();
                let operand = *program.op(op).operands.first()?;
                cut(&mut ask, op, &[]);
                show(&mut ask, &[(op, operand)]);
                let given = run_global(&ask, self.inputs, self.judging.limits).ok()?;
                // Replicas may branch differently; only the branch of the first is examined.
                let given = given.first()?.first()?.get(0);
                let count = program.op(op).regions.len();
                let branch = match control {
                    Control::If => usize::from(!given.is_true()),
                    _ => given.as_i64().and_then(|i| usize::try_from(i).ok()).map_or(count - 1, |i| i.min(count - 1)),
                };
                let mut inside = program.clone();
                let ops = written_out(&mut inside, program.region_block(op, branch)?, &[]);
                cut(&mut inside, op, &ops);
                Some(Inside { program: inside, ops, what: format!("branch {branch}") })
            }
            Control::Inline => {
                let mut inside = program.clone();
                let ops = written_out(&mut inside, program.region_block(op, 0)?, &program.op(op).operands);
                cut(&mut inside, op, &ops);
                Some(Inside { program: inside, ops, what: "the region".to_owned() })
            }
            _ => None,
        }
    }

    /// Finds the first iteration after which a loop-carried value differs, and inlines it after a loop over the earlier
    /// iterations.
    fn iteration(&self, program: &Program, op: Op) -> Option<Inside> {
        let after = |limit: i64| {
            let mut program = program.clone();
            let (made, limited) = limited(&mut program, op, limit)?;
            cut(&mut program, op, &made);
            let results = program.results(limited).filter(|&v| program.tensor_type(v).is_some());
            let shown: Vec<ReturnedValue> = results.map(|value| (limited, value)).collect();
            show(&mut program, &shown);
            self.runs(program).into_result().ok()
        };
        let differs = |runs: &Runs| runs.compared.iter().flatten().any(Comparison::differs);
        let all = after(i64::MAX)?;
        let counted = all.global.iter().chain(&all.device).filter_map(|values| values.last()?.get(0).as_i64());
        let (mut same, mut different) = (0, counted.max().filter(|_| differs(&all))?);
        while different - same > 1 {
            let middle = same + (different - same) / 2;
            if differs(&after(middle)?) {
                different = middle;
            } else {
                same = middle;
            }
        }
        let mut inside = program.clone();
        let (mut made, before) = limited(&mut inside, op, same)?;
        let carried: Vec<Value> = inside.results(before).collect();
        let mut ops = Vec::new();
        for region in 0..2 {
            ops.extend(written_out(&mut inside, program.region_block(op, region)?, &carried));
        }
        made.extend(&ops);
        cut(&mut inside, op, &made);
        Some(Inside { program: inside, ops, what: format!("iteration {different}") })
    }
}

/// Replaces `op` and all ops after it in `@main` by `with`. The caller then has to set the results of `@main`.
fn cut(program: &mut Program, op: Op, with: &[Op]) {
    let Some(block) = main_block(program) else { return };
    let Some(last) = program.terminator(block) else { return };
    let before = program.block_ops(block).iter().copied().take_while(|&o| o != op);
    let ops = before.chain(with.iter().copied()).chain([last]).collect();
    program.set_block_ops(block, ops);
}

/// Sets the results of `@main` to exactly these values.
fn show(program: &mut Program, shown: &[ReturnedValue]) {
    let Some(main) = func::function(program, "main") else { return };
    let Some(last) = func::block(program, main).and_then(|block| program.terminator(block)) else { return };
    let inputs: Vec<Ty> = func::signature(program, main).inputs.to_vec();
    let results: Vec<Ty> = shown.iter().map(|&(_, v)| program.value_type(v)).collect();
    func::set_signature(program, main, &inputs, &results);
    program.op_mut(last).operands = shown.iter().map(|s| s.1).collect();
    program.remove_attr(main, "res_attrs");
    // A donated argument's buffer was aliased to a result that no longer exists.
    let donated: Vec<(usize, Option<_>)> = (0..inputs.len()).map(|i| (i, None)).collect();
    func::set_arg_attrs(program, main, "tf.aliasing_output", &donated);
    let mut shardings = Vec::new();
    for (i, &(op, value)) in shown.iter().enumerate() {
        let index = program.results(op).position(|v| v == value);
        let sharding = index.and_then(|index| stated(program, op).get(index).cloned());
        shardings.extend(sharding.map(|s| (i, Some(program.intern_attr(AttrData::Sharding(s))))));
    }
    func::set_result_attrs(program, main, func::SHARDING, &shardings);
}

/// Returns the shardings stated on an op's results.
fn stated(program: &Program, op: Op) -> &[TensorSharding] {
    match program.view(op).attr(func::SHARDING) {
        Some(AttrData::ShardingPerValue(all)) => all,
        Some(AttrData::Sharding(one)) => std::slice::from_ref(one),
        _ => &[],
    }
}

/// Clones the ops of a region's block except its terminator, with the block arguments replaced by `arguments`.
fn written_out(program: &mut Program, block: Block, arguments: &[Value]) -> Vec<Op> {
    let mut renaming = Renaming::default();
    renaming.values.extend(program.block_args(block).iter().copied().zip(arguments.iter().copied()));
    let last = program.terminator(block);
    let ops: Vec<Op> = program.block_ops(block).iter().copied().filter(|&op| Some(op) != last).collect();
    ops.into_iter().map(|op| program.clone_op(op, &mut renaming)).collect()
}

/// Creates a copy of a loop that ends after at most `limit` iterations and counts them in an extra result. Returns the
/// created ops and the loop, which is the last of them.
fn limited(program: &mut Program, op: Op, limit: i64) -> Option<(Vec<Op>, Op)> {
    let data = program.op(op).clone();
    let mut shardings = stated(program, op).to_vec();
    let counter = shardings.first().map(|s| TensorSharding::replicated(s.mesh.clone(), 0));
    let number = |value: i64| Scalar::Int(value.into());
    let int = ElementType::I64;

    let mut made = Vec::new();
    let zero = build::scalar(&mut Builder::new(program, &mut made, data.loc), int, number(0));
    let ty = program.value_type(zero);
    place_all(program, &made, counter.as_ref());
    let mut regions = Vec::new();
    for (i, &region) in data.regions.iter().enumerate() {
        let region = program.clone_region(region, &mut Renaming::default());
        let &[block] = program.region_blocks(region) else { return None };
        let count = program.add_block_arg(block, ty, data.loc, data.span);
        let last = program.terminator(block)?;
        let mut ops = Vec::new();
        let mut b = Builder::new(program, &mut ops, data.loc);
        if i == 0 {
            let limit = build::scalar(&mut b, int, number(limit));
            let within = build::compare(&mut b, Direction::Lt, count, limit);
            let go_on = *b.program.op(last).operands.first()?;
            let both = build::and(&mut b, go_on, within);
            program.op_mut(last).operands[0] = both;
        } else {
            let one = build::scalar(&mut b, int, number(1));
            let next = build::add(&mut b, count, one);
            program.op_mut(last).operands.push(next);
        }
        place_all(program, &ops, counter.as_ref());
        let mut all = program.block_ops(block).to_vec();
        let end = all.len() - 1;
        all.splice(end..end, ops);
        program.set_block_ops(block, all);
        regions.push(region);
    }
    let operands: Vec<Value> = data.operands.iter().copied().chain([zero]).collect();
    let mut types: Vec<Ty> = program.results(op).map(|v| program.value_type(v)).collect();
    types.push(ty);
    let copy = program.new_op(data.def, &operands, &types, &data.attrs, &regions, data.loc);
    (program.op_mut(copy).name, program.op_mut(copy).span) = (data.name, data.span);
    if let Some(counter) = counter {
        shardings.push(counter);
        let attr = program.intern_attr(AttrData::ShardingPerValue(shardings));
        program.set_attr(copy, func::SHARDING, attr);
    }
    made.push(copy);
    Some((made, copy))
}

/// Sets the sharding of the only result of each op.
fn place_all(program: &mut Program, ops: &[Op], sharding: Option<&TensorSharding>) {
    let Some(sharding) = sharding else { return };
    let attr = program.intern_attr(AttrData::ShardingPerValue(vec![sharding.clone()]));
    for &op in ops {
        program.set_attr(op, func::SHARDING, attr);
    }
}
