//! What every op promises, proved on its examples: text round trip, `infer` gives the types of `evaluate`, the loop
//! nest computes what `evaluate` does, and the sharding rule is true: the op on the pieces, put together, is the op.

mod context;
mod cut;

use context::{Plain, inputs};
use dialect::diagnostic::Diagnostics;
use dialect::ir::{Op, Program, TypeData};
use dialect::kernel::Kernel;
use dialect::literal::Literal;
use dialect::op::OpDef;
use dialect::ops::{OPS, example_block, example_program};
use dialect::text::PrintOptions;

/// The op an example is about: the last of that name.
fn example_op(def: &dyn OpDef, program: &Program) -> Op {
    let ops = program.block_ops(example_block(program));
    let found = ops.iter().rev().find(|&&op| program.op_name(op) == def.name());
    *found.unwrap_or_else(|| panic!("an example of {} without it", def.name()))
}

/// Runs `f` on every example; fails with all that failed.
fn each_example(f: impl Fn(&'static dyn OpDef, &Program, Op) -> Result<(), String>) {
    let mut failures = Vec::new();
    let mut count = 0;
    for &def in OPS {
        for text in def.examples() {
            let program = example_program(text);
            let op = example_op(def, &program);
            count += 1;
            if let Err(message) = f(def, &program, op) {
                failures.push(format!("{text}\n    {message}"));
            }
        }
    }
    assert!(count >= 80, "only {count} examples");
    assert!(failures.is_empty(), "{} of {count} examples:\n{}", failures.len(), failures.join("\n"));
}

/// Whether one device alone can run it.
fn runs_alone(def: &dyn OpDef, program: &Program, op: Op) -> bool {
    let view = program.view(op);
    def.collective(view).is_none()
        && !matches!(def.kernel(view), Kernel::None | Kernel::Control)
        && !def.side_effect(view)
}

fn evaluate(program: &Program, op: Op, operands: &[Literal]) -> Result<Vec<Literal>, String> {
    program.op(op).def.evaluate(program.view(op), operands, &mut Plain::new(program)).map_err(|e| e.message)
}

#[test]
fn every_op_has_examples() {
    // Structure without a computation of its own.
    let bare = |def: &&&dyn OpDef| def.examples().is_empty() && !def.terminator();
    let without: Vec<&str> = OPS.iter().filter(bare).map(|def| def.name()).collect();
    let expected = ["builtin.module", "func.func", "func.call", "interpreter.run_parallel"];
    let missing: Vec<&&str> = without.iter().filter(|name| !expected.contains(name)).collect();
    assert!(missing.is_empty(), "ops without examples: {missing:?}");
}

#[test]
fn text_survives_a_round_trip() {
    each_example(|_, program, _| {
        let text = dialect::print(program);
        let generic = dialect::print_with(program, PrintOptions { generic: true, ..PrintOptions::default() });
        for form in [&text, &generic] {
            let mut diagnostics = Diagnostics::default();
            let again = dialect::parse(form, &mut diagnostics);
            if diagnostics.has_errors() {
                return Err(format!("{form}: {diagnostics:?}"));
            }
            let printed = dialect::print(&again);
            if printed != text {
                return Err(format!("\n{text}became\n{printed}"));
            }
        }
        Ok(())
    });
}

#[test]
fn infer_gives_the_types_of_evaluate() {
    each_example(|def, program, op| {
        let view = program.view(op);
        let types = def.infer(view).map_err(|p| format!("{p:?}"))?;
        let declared: Vec<TypeData> = view.result_types().cloned().collect();
        if types != declared {
            return Err(format!("inferred {types:?}, declared {declared:?}"));
        }
        if !runs_alone(def, program, op) {
            return Ok(());
        }
        let results = evaluate(program, op, &inputs(program, op))?;
        let found: Vec<TypeData> = results.iter().map(|r| r.ty().into()).collect();
        if found == types { Ok(()) } else { Err(format!("inferred {types:?}, evaluated {found:?}")) }
    });
}

#[test]
fn the_nest_computes_what_evaluate_does() {
    each_example(|def, program, op| {
        let Kernel::Nest(nest) = def.kernel(program.view(op)) else { return Ok(()) };
        let operands = inputs(program, op);
        let want = evaluate(program, op, &operands)?;
        let found = nest.eval(&operands);
        if want.len() != found.len() {
            return Err(format!("{} results, the nest has {}", want.len(), found.len()));
        }
        want.iter().zip(&found).try_for_each(|(w, f)| context::same(w, f, 1e-6))
    });
}

#[test]
fn the_sharding_rule_is_true() {
    each_example(|def, program, op| {
        if !runs_alone(def, program, op) {
            return Ok(());
        }
        match def.sharding_rule(program.view(op)) {
            Some(rule) => cut::check(program, op, &rule),
            None => Ok(()),
        }
    });
}

#[test]
fn the_rule_a_nest_says_is_true() {
    each_example(|def, program, op| {
        let view = program.view(op);
        let Kernel::Nest(nest) = def.kernel(view) else { return Ok(()) };
        // Of an operand that is never read (an empty part of a concatenation) the nest can't say anything.
        if inputs(program, op).iter().any(|l| l.is_empty()) {
            return Ok(());
        }
        cut::check(program, op, &dialect::sharding::rule_of_nest(view, &nest))
    });
}

/// Reverses its operand and claims that nothing moves.
struct Liar;

impl OpDef for Liar {
    fn name(&self) -> &'static str {
        "test.liar"
    }

    fn infer(&self, op: dialect::ir::OpRef<'_>) -> dialect::op::Inferred {
        Ok(op.operand_types().cloned().collect())
    }

    fn evaluate(
        &self,
        _: dialect::ir::OpRef<'_>,
        operands: &[Literal],
        _: &mut dyn dialect::eval::Context,
    ) -> dialect::eval::EvalResult<Vec<Literal>> {
        let x = &operands[0];
        Ok(vec![Literal::from_fn(&x.ty(), |i| x.get(x.len() - 1 - i))])
    }

    fn examples(&self) -> &'static [&'static str] {
        &[]
    }
}

#[test]
fn a_wrong_sharding_rule_is_caught() {
    let mut diagnostics = Diagnostics::default();
    let text = "\"test.example\"() ({\n^bb0(%a: tensor<6xf32>):\n%r = \"test.liar\"(%a) : (tensor<6xf32>) -> tensor<6xf32>\n}) : () -> ()";
    let registry = dialect::op::Registry::standard().with_ops(&[&Liar]);
    let program = dialect::parse_with(text, &registry, &mut diagnostics);
    assert!(!diagnostics.has_errors(), "{diagnostics:?}");
    let op = example_op(&Liar, &program);
    let pointwise = dialect::sharding::ShardingRule::pointwise(&[1], &[1], &[6]);
    let error = cut::check(&program, op, &pointwise).expect_err("the rule is wrong");
    assert!(error.starts_with("factor 0 (PassThrough): element "), "{error}");
    let whole = dialect::sharding::ShardingRule::new(&[1], &[1]);
    assert_eq!(cut::check(&program, op, &whole), Ok(()), "a rule without factors claims nothing");
}

#[test]
fn expansions_are_the_same_computation() {
    let count = std::cell::Cell::new(0);
    each_example(|def, program, op| {
        let mut expanded = program.clone();
        let mut ops = Vec::new();
        let mut build = dialect::ir::build::Builder::new(&mut expanded, &mut ops, dialect::ir::Loc::UNKNOWN);
        let foreign = def.name().starts_with("chlo.");
        let Some(results) = def.expand(op, &mut build) else {
            let external = matches!(def.kernel(program.view(op)), Kernel::External(_));
            return if foreign && !external { Err("it has no StableHLO form".to_owned()) } else { Ok(()) };
        };
        if !runs_alone(def, program, op) {
            return Ok(());
        }
        count.set(count.get() + 1);
        let operands = inputs(program, op);
        let want = evaluate(program, op, &operands)?;
        if let Some(&other) = ops.iter().find(|&&op| !expanded.op_name(op).starts_with("stablehlo.")) {
            return Err(format!("it expands to {}", expanded.op_name(other)));
        }
        let mut context = Plain::new(&expanded);
        for (&value, literal) in expanded.view(op).operands().iter().zip(&operands) {
            context.set(value, literal.clone());
        }
        context.run(&ops).map_err(|e| e.message)?;
        let found = context.get(&results).map_err(|e| e.message)?;
        // Formulas are the same to the bit; sums may be grouped otherwise.
        let tolerance = if foreign { 0.0 } else { 1e-5 };
        want.iter().zip(&found).try_for_each(|(w, f)| context::same(w, f, tolerance))
    });
    assert!(count.get() >= 30, "{}", count.get());
}
