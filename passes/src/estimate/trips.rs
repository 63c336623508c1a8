//! The trip counts of loops. A count is known where a counter starts at a constant and a constant is added or
//! subtracted until the counter passes a constant, as in JAX's `fori_loop` and `scan`; else it is that of the loop's
//! attribute [`TRIP_COUNT`], or a guess.

use dialect::ir::{AttrData, Block, ElementType, Op, OpRef, Program, TypeData, Value, ValueSource};
use dialect::kernel::{Arg, Inst, Kernel};
use dialect::op::{Control, TRIP_COUNT};
use dialect::scalar::{Comparison, ScalarOp};
use smallvec::SmallVec;

use super::target::UNKNOWN_TRIP_COUNT;

/// The trip count of a loop.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Trips {
    /// The number of iterations.
    pub count: u64,
    /// Whether the number is [`UNKNOWN_TRIP_COUNT`], because neither the condition nor an attribute determines it.
    pub guessed: bool,
}

impl Trips {
    /// Returns the trips of a loop op.
    pub fn of(op: OpRef<'_>) -> Self {
        let stated = || u64::try_from(op.attr(TRIP_COUNT).and_then(AttrData::as_int)?).ok();
        let known = trip_count(op).or_else(stated);
        Self { count: known.unwrap_or(UNKNOWN_TRIP_COUNT), guessed: known.is_none() }
    }
}

/// Sets [`TRIP_COUNT`] to `count` on every loop whose trip count is unknown.
pub fn state_trips(program: &mut Program, count: u64) {
    let ty = program.intern_type(TypeData::Scalar(ElementType::I64));
    let count = program.intern_attr(AttrData::Int(i64::try_from(count).unwrap_or(i64::MAX), ty));
    for op in loops(program).filter(|&op| Trips::of(program.view(op)).guessed).collect::<Vec<_>>() {
        program.set_attr(op, TRIP_COUNT, count);
    }
}

/// Removes [`TRIP_COUNT`] from every loop, for parsers that don't know it.
pub fn remove_trips(program: &mut Program) {
    let stated: Vec<Op> = loops(program).filter(|&op| program.attr(op, TRIP_COUNT).is_some()).collect();
    stated.into_iter().for_each(|op| program.remove_attr(op, TRIP_COUNT));
}

fn loops(program: &Program) -> impl Iterator<Item = Op> + '_ {
    let is_loop = |&op: &Op| program.op(op).def.control(program.view(op)) == Some(Control::While);
    program.ops_under(program.body()).into_iter().filter(is_loop)
}

/// Returns the trip count that a loop op's condition (region 0) and body (region 1) determine; `None` if they don't.
fn trip_count(op: OpRef<'_>) -> Option<u64> {
    let program = op.program;
    let (condition, body) = (op.block(0)?, op.block(1)?);
    let tested = *program.op(program.terminator(condition)?).operands.first()?;
    let (ScalarOp::Compare(direction), sides) = scalar_op(program, tested)? else { return None };
    // The counter is on the left; if it is on the right, the comparison is mirrored.
    let (counter, limit, direction) = match (argument_of(program, condition, sides[0]), constant(program, sides[1])) {
        (Some(counter), Some(limit)) => (counter, limit, direction),
        _ => (argument_of(program, condition, sides[1])?, constant(program, sides[0])?, turned(direction)),
    };
    let start = constant(program, *op.operands().get(counter)?)?;
    let next = *program.op(program.terminator(body)?).operands.get(counter)?;
    let step = step_of(program, body, counter, next)?;
    trips(start, step, limit, direction)
}

/// Returns the step of `counter + step`, also in the form `counter - -step`.
fn step_of(program: &Program, body: Block, counter: usize, next: Value) -> Option<i64> {
    let (op, sides) = scalar_op(program, next)?;
    let is_counter = |v: Value| argument_of(program, body, v) == Some(counter);
    match op {
        ScalarOp::Add if is_counter(sides[0]) => constant(program, sides[1]),
        ScalarOp::Add if is_counter(sides[1]) => constant(program, sides[0]),
        ScalarOp::Sub if is_counter(sides[0]) => constant(program, sides[1])?.checked_neg(),
        _ => None,
    }
}

fn trips(start: i64, step: i64, limit: i64, direction: Comparison) -> Option<u64> {
    let (start, step, limit) = (i128::from(start), i128::from(step), i128::from(limit));
    let distance = match direction {
        Comparison::Lt if step > 0 => limit - start,
        Comparison::Le if step > 0 => limit - start + 1,
        Comparison::Gt if step < 0 => start - limit,
        Comparison::Ge if step < 0 => start - limit + 1,
        Comparison::Ne if step != 0 && (limit - start) % step == 0 && (limit - start) / step >= 0 => {
            (limit - start).abs()
        }
        _ => return None,
    };
    let size = step.abs();
    u64::try_from((distance.max(0) + size - 1) / size).ok()
}

fn turned(direction: Comparison) -> Comparison {
    match direction {
        Comparison::Lt => Comparison::Gt,
        Comparison::Le => Comparison::Ge,
        Comparison::Gt => Comparison::Lt,
        Comparison::Ge => Comparison::Le,
        same => same,
    }
}

/// Returns the single scalar operation that computes `value` from two operands, and the operands.
fn scalar_op(program: &Program, value: Value) -> Option<(ScalarOp, SmallVec<[Value; 2]>)> {
    let ValueSource::Result(op, _) = program.value_source(value) else { return None };
    let view = program.view(op);
    let Kernel::Nest(nest) = view.def().kernel(view) else { return None };
    let [Inst::Op { op, args, .. }] = nest.body.insts.as_slice() else { return None };
    let operand = |arg: &Arg| match arg {
        Arg::Input(i) => view.operands().get(nest.inputs.get(*i)?.operand).copied(),
        _ => None,
    };
    let operands = args.iter().map(operand).collect::<Option<SmallVec<[Value; 2]>>>()?;
    (operands.len() == 2).then_some((*op, operands))
}

fn argument_of(program: &Program, block: Block, value: Value) -> Option<usize> {
    program.block_args(block).iter().position(|&a| a == value)
}

fn constant(program: &Program, value: Value) -> Option<i64> {
    let ValueSource::Result(op, _) = program.value_source(value) else { return None };
    let view = program.view(op);
    view.def().constant(view).filter(|l| l.len() == 1).and_then(|l| l.get(0).as_i64())
}

#[cfg(test)]
mod tests {
    use super::*;
    use dialect::diagnostic::Diagnostics;

    /// Returns the trip count of `for (i = start; i <test> limit; i = i <step>)`.
    fn check(start: i64, test: &str, limit: i64, step: &str, by: i64) -> Option<u64> {
        let text = format!(
            "func.func @main() -> tensor<i32> {{
               %start = stablehlo.constant dense<{start}> : tensor<i32>
               %limit = stablehlo.constant dense<{limit}> : tensor<i32>
               %w = stablehlo.while(%i = %start) : tensor<i32>
               cond {{
                 %c = stablehlo.compare {test}, %i, %limit : (tensor<i32>, tensor<i32>) -> tensor<i1>
                 stablehlo.return %c : tensor<i1>
               }} do {{
                 %by = stablehlo.constant dense<{by}> : tensor<i32>
                 %n = stablehlo.{step} %i, %by : tensor<i32>
                 stablehlo.return %n : tensor<i32>
               }}
               return %w : tensor<i32>
             }}"
        );
        let mut diagnostics = Diagnostics::default();
        let program = dialect::parse(&text, &mut diagnostics);
        assert!(diagnostics.is_empty(), "{diagnostics:?}");
        let block = program.functions()[0].1;
        trip_count(program.view(program.block_ops(block)[2]))
    }

    #[test]
    fn counters_with_constant_bounds_are_known() {
        assert_eq!(check(0, "LT", 10, "add", 1), Some(10));
        assert_eq!(check(0, "LT", 10, "add", 3), Some(4));
        assert_eq!(check(0, "LE", 9, "add", 3), Some(4));
        assert_eq!(check(5, "LT", 5, "add", 1), Some(0));
        assert_eq!(check(9, "GE", 0, "subtract", 1), Some(10));
        assert_eq!(check(9, "GT", 0, "add", -2), Some(5));
        assert_eq!(check(0, "NE", 8, "add", 2), Some(4));
    }

    #[test]
    fn an_attribute_states_what_the_condition_does_not_tell() {
        let text = "func.func @main(%limit: tensor<i32>) -> tensor<i32> {
          %w = stablehlo.while(%i = %limit) : tensor<i32>
          cond {
            %c = stablehlo.compare LT, %i, %limit : (tensor<i32>, tensor<i32>) -> tensor<i1>
            stablehlo.return %c : tensor<i1>
          } do {
            stablehlo.return %i : tensor<i32>
          }
          return %w : tensor<i32>
        }";
        let mut diagnostics = Diagnostics::default();
        let mut program = dialect::parse(text, &mut diagnostics);
        assert!(diagnostics.is_empty(), "{diagnostics:?}");
        let trips = |program: &Program| Trips::of(program.view(loops(program).next().unwrap()));
        assert_eq!(trips(&program), Trips { count: UNKNOWN_TRIP_COUNT, guessed: true });
        state_trips(&mut program, 100);
        assert_eq!(trips(&program), Trips { count: 100, guessed: false });
        let printed = dialect::print(&program);
        let read = dialect::parse(&printed, &mut diagnostics);
        assert!(diagnostics.is_empty(), "{diagnostics:?}");
        assert_eq!(trips(&read), Trips { count: 100, guessed: false });
        remove_trips(&mut program);
        assert!(trips(&program).guessed);
    }

    #[test]
    fn others_are_not() {
        assert_eq!(check(0, "LT", 10, "add", -1), None);
        assert_eq!(check(0, "NE", 7, "add", 2), None);
        assert_eq!(check(1, "LT", 10, "multiply", 2), None);
    }
}
