//! Computes, from an op's kernel, the sets of operands through which partial sums can pass.
//!
//! An op is linear in a set of operands when it maps sums of them to sums of its results, the other operands fixed:
//! `a + b` in both together, `a * b` in each alone. A sum is never computed in a narrower type than before, so a
//! conversion counts as linear only when it widens.

use std::collections::BTreeSet;

use crate::plan::heuristics::PLAN;
use dialect::ir::{ElementType, OpRef};
use dialect::kernel::{Arg, Body, External, Init, Inst, Kernel, Outside};
use dialect::scalar::ScalarOp;
use smallvec::SmallVec;

/// How a scalar inside a body depends on the operands.
#[derive(Clone, Debug)]
struct Linearity {
    /// Sets of operands in which it is linear.
    linear: Vec<BTreeSet<usize>>,
    /// Every operand it depends on.
    depends: BTreeSet<usize>,
    /// Whether it is zero: then it is linear in every set.
    zero: bool,
}

impl Linearity {
    fn constant(zero: bool) -> Self {
        Linearity { linear: Vec::new(), depends: BTreeSet::new(), zero }
    }

    fn operand(i: usize) -> Self {
        Linearity { linear: vec![BTreeSet::from([i])], depends: BTreeSet::from([i]), zero: false }
    }

    fn nothing(depends: BTreeSet<usize>) -> Self {
        Linearity { linear: Vec::new(), depends, zero: false }
    }

    /// Returns whether it is linear in exactly those operands of `set` that it depends on.
    fn within(&self, set: &BTreeSet<usize>) -> bool {
        self.zero || self.linear.contains(&(&self.depends & set))
    }
}

/// Returns the form of a sum, or of a select between the two.
fn both(a: &Linearity, b: &Linearity) -> Linearity {
    if a.zero && b.zero {
        return Linearity::constant(true);
    }
    let mut sets: Vec<BTreeSet<usize>> = Vec::new();
    let mut add = |set: BTreeSet<usize>| {
        if a.within(&set) && b.within(&set) && !sets.contains(&set) && sets.len() < PLAN.linear_sets {
            sets.push(set);
        }
    };
    match (a.zero, b.zero) {
        (true, _) => b.linear.iter().for_each(|s| add(s.clone())),
        (_, true) => a.linear.iter().for_each(|s| add(s.clone())),
        _ => a.linear.iter().for_each(|s| b.linear.iter().for_each(|t| add(s | t))),
    }
    Linearity { linear: sets, depends: &a.depends | &b.depends, zero: false }
}

/// Returns the form of a product: linear in the sets in which one factor is linear and on which the other doesn't
/// depend.
fn times(a: &Linearity, b: &Linearity) -> Linearity {
    let mut sets = Vec::new();
    for (x, y) in [(a, b), (b, a)] {
        sets.extend(x.linear.iter().filter(|s| s.is_disjoint(&y.depends)).cloned());
    }
    sets.dedup();
    sets.truncate(PLAN.linear_sets);
    Linearity { linear: sets, depends: &a.depends | &b.depends, zero: a.zero || b.zero }
}

/// Returns the sets of operands in which `op` is linear.
pub(crate) fn linear_sets(op: OpRef<'_>, kernel: &Kernel) -> Vec<BTreeSet<usize>> {
    match kernel {
        Kernel::Nest(nest) => {
            let mut forms: Vec<Linearity> = Vec::new();
            for input in &nest.inputs {
                let read = Linearity::operand(input.operand);
                forms.push(match (&input.outside, input.guards.is_empty()) {
                    (_, true) | (None, _) => read,
                    (Some(Outside::Operand(i)), _) => both(&read, &Linearity::operand(*i)),
                    (Some(Outside::Const(c)), _) => both(&read, &Linearity::constant(c.is_zero())),
                });
            }
            let start = |init: &Init| match init {
                Init::Operand(i) => Linearity::operand(*i),
                Init::Const(c) => Linearity::constant(c.is_zero()),
            };
            let accumulators: Vec<Linearity> = nest.init.iter().map(start).collect();
            results(&nest.body, &forms, &accumulators, op)
        }
        Kernel::External(External::Scatter(_)) if op.def().reduction(op) == Some(Default::default()) => {
            // The targets that are added to, and the updates that are added; not the indices.
            let n = op.result_count();
            vec![(0..n).chain(n + 1..2 * n + 1).collect()]
        }
        _ => Vec::new(),
    }
}

fn results(body: &Body, inputs: &[Linearity], accumulators: &[Linearity], op: OpRef<'_>) -> Vec<BTreeSet<usize>> {
    let mut insts: Vec<Linearity> = Vec::new();
    for inst in &body.insts {
        let form = match inst {
            Inst::Const(c, _) => Linearity::constant(c.is_zero()),
            Inst::Index(..) => Linearity::constant(false),
            Inst::Op { op, args, ty } => {
                let types: SmallVec<[ElementType; 3]> = args.iter().map(|&a| body.arg_type(a)).collect();
                let args: SmallVec<[&Linearity; 3]> =
                    args.iter().map(|&a| form_of(a, inputs, accumulators, &insts)).collect();
                apply(*op, &args, &types, *ty)
            }
        };
        insts.push(form);
    }
    let results: Vec<&Linearity> = body.results.iter().map(|&r| form_of(r, inputs, accumulators, &insts)).collect();
    let Some(first) = results.first() else { return Vec::new() };
    // A set's operands must be of a type that can be summed, and every result must be linear in the set.
    let summed = |i: usize| {
        op.operand_tensor(i).is_some_and(|t| t.element.is_float() || t.element.is_integer() || t.element.is_complex())
    };
    let fits = |set: &&BTreeSet<usize>| set.iter().copied().all(summed) && results.iter().all(|r| r.within(set));
    // A result that is a bare input or accumulator is not a sum over the reduction.
    let grows = accumulators.is_empty() || body.results.iter().all(|&r| matches!(r, Arg::Inst(_)));
    if !grows {
        return Vec::new();
    }
    first.linear.iter().filter(fits).cloned().collect()
}

fn form_of<'f>(
    arg: Arg,
    inputs: &'f [Linearity],
    accumulators: &'f [Linearity],
    insts: &'f [Linearity],
) -> &'f Linearity {
    match arg {
        Arg::Input(i) => &inputs[i],
        Arg::Accumulator(i) => &accumulators[i],
        Arg::Inst(i) => &insts[i],
    }
}

fn apply(op: ScalarOp, args: &[&Linearity], types: &[ElementType], ty: ElementType) -> Linearity {
    let depends = args.iter().fold(BTreeSet::new(), |all, a| &all | &a.depends);
    match (op, args) {
        (ScalarOp::Add | ScalarOp::Sub, [a, b]) => both(a, b),
        (ScalarOp::Mul, [a, b]) => times(a, b),
        (ScalarOp::Div, [a, b]) if ty.is_float() || ty.is_complex() => {
            let linear = a.linear.iter().filter(|s| s.is_disjoint(&b.depends)).cloned().collect();
            Linearity { linear, depends, zero: a.zero }
        }
        (ScalarOp::Neg | ScalarOp::Real | ScalarOp::Imag, [a]) => (*a).clone(),
        (ScalarOp::Complex, [a, b]) => both(a, b),
        (ScalarOp::Select, [p, a, b]) => {
            let mut form = both(a, b);
            form.linear.retain(|s| s.is_disjoint(&p.depends));
            Linearity { depends, ..form }
        }
        (ScalarOp::Convert, [a]) if widens(types[0], ty) => (*a).clone(),
        _ => Linearity::nothing(depends),
    }
}

/// Returns whether a sum of values of the narrow type is at least as exact in the wide type.
fn widens(from: ElementType, to: ElementType) -> bool {
    let float = |t: ElementType| match t {
        ElementType::F64 => Some((11, 52)),
        ElementType::F32 => Some((8, 23)),
        ElementType::BF16 => Some((8, 7)),
        ElementType::F16 => Some((5, 10)),
        _ => None,
    };
    match (float(from), float(to)) {
        (Some((e, m)), Some((f, n))) => e <= f && m <= n,
        _ => from == to,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use dialect::diagnostic::Diagnostics;

    fn of_op(op: OpRef<'_>) -> Vec<BTreeSet<usize>> {
        linear_sets(op, &op.def().kernel(op))
    }

    fn sets(text: &str) -> Vec<u32> {
        let mut diagnostics = Diagnostics::default();
        let text = format!(
            "func.func @main({}) -> tensor<f32> {{ {} }}",
            text.split_once(" : ").unwrap().0,
            text.split_once(" : ").unwrap().1
        );
        let program = dialect::parse(&text, &mut diagnostics);
        assert!(!diagnostics.has_errors(), "{:?}", diagnostics.iter().next());
        let (_, block) = program.functions()[0];
        let ops = program.block_ops(block);
        let found = of_op(program.view(ops[ops.len() - 2]));
        let mut found: Vec<u32> = found.iter().map(|set| set.iter().fold(0, |bits, i| bits | 1 << i)).collect();
        found.sort_unstable();
        found
    }

    #[test]
    fn sums_are_linear_together_products_alone() {
        let two = "%a: tensor<f32>, %b: tensor<f32> : ";
        assert_eq!(sets(&format!("{two} %r = stablehlo.add %a, %b : tensor<f32> return %r : tensor<f32>")), [0b11]);
        assert_eq!(
            sets(&format!("{two} %r = stablehlo.multiply %a, %b : tensor<f32> return %r : tensor<f32>")),
            [1, 2]
        );
        assert_eq!(sets(&format!("{two} %r = stablehlo.divide %a, %b : tensor<f32> return %r : tensor<f32>")), [1]);
        assert_eq!(
            sets(&format!("{two} %r = stablehlo.maximum %a, %b : tensor<f32> return %r : tensor<f32>")),
            [0u32; 0]
        );
        assert_eq!(
            sets(&format!("{two} %r = stablehlo.multiply %a, %a : tensor<f32> return %r : tensor<f32>")),
            [1, 2]
        );
    }

    #[test]
    fn only_widening_conversions_are() {
        let from = |t: &str| {
            sets(&format!(
                "%a: tensor<{t}> :  %r = stablehlo.convert %a : (tensor<{t}>) -> tensor<f32> return %r : tensor<f32>"
            ))
        };
        assert_eq!(from("bf16"), [1]);
        assert_eq!(from("f64"), [0u32; 0]);
        assert_eq!(from("i32"), [0u32; 0]);
    }

    #[test]
    fn any_number_of_operands_is_followed() {
        let list = |of: &str| (0..40).map(|i| of.replace('N', &i.to_string())).collect::<Vec<_>>().join(", ");
        let text = format!(
            "func.func @main({}) -> tensor<80xf32> {{
            %r = stablehlo.concatenate {}, dim = 0 : ({}) -> tensor<80xf32> return %r : tensor<80xf32> }}",
            list("%aN: tensor<2xf32>"),
            list("%aN"),
            list("tensor<2xf32>")
        );
        let program = dialect::parse(&text, &mut Diagnostics::default());
        let (_, block) = program.functions()[0];
        let found = of_op(program.view(program.block_ops(block)[0]));
        assert_eq!(found, [(0..40).collect::<BTreeSet<usize>>()]);
    }

    #[test]
    fn reductions_are_linear_with_their_start() {
        let text = "%a: tensor<4xf32>, %z: tensor<f32> :  %r = stablehlo.reduce(%a init: %z) applies stablehlo.add across dimensions = [0] \
                    : (tensor<4xf32>, tensor<f32>) -> tensor<f32> return %r : tensor<f32>";
        assert_eq!(sets(text), [0b11]);
        assert_eq!(sets(&text.replace("stablehlo.add", "stablehlo.maximum")), [0u32; 0]);
    }
}
