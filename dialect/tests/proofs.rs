//! Runs the generic proofs on every op, and checks that they detect errors.

use shardc_dialect::kernel::{External, Kernel};
use shardc_dialect::literal::Literal;
use shardc_dialect::op::{OpDef, Registry};
use shardc_dialect::ops::OPS;
use shardc_dialect::proofs::{Example, holds};
use shardc_dialect::sharding::ShardingRule;

/// Returns whether an op is only structure, without its own computation; `linalg.index` is meaningful only in the body
/// of another op, whose examples have it.
fn is_bare(def: &dyn OpDef) -> bool {
    let of_functions = [
        "builtin.module",
        "func.func",
        "func.call",
        "mpmd.call",
        "mpmd.fragment_call",
        "interpreter.run_parallel",
        "linalg.index",
    ];
    def.terminator() || of_functions.contains(&def.name())
}

#[test]
fn every_op_keeps_its_promises() {
    let ops: Vec<&'static dyn OpDef> = OPS.iter().copied().filter(|def| !is_bare(*def)).collect();
    match shardc_dialect::proofs::prove(&ops, &Registry::standard()) {
        Ok(count) => assert!(count >= 250, "only {count} examples"),
        Err(failures) => panic!("{failures}"),
    }
}

#[test]
fn terminators_with_examples_keep_theirs() {
    let with: Vec<&'static dyn OpDef> =
        OPS.iter().copied().filter(|d| is_bare(*d) && !d.examples().is_empty()).collect();
    assert!(shardc_dialect::proofs::prove(&with, &Registry::standard()).is_ok());
}

#[test]
fn many_ops_say_themselves_in_others() {
    let expands = |def: &&&'static dyn OpDef| {
        let examples = Example::all_of(**def, &Registry::standard()).expect("examples can be read");
        examples.into_iter().any(|mut e| {
            let mut ops = Vec::new();
            let mut build =
                shardc_dialect::ir::build::Builder::new(&mut e.program, &mut ops, shardc_dialect::ir::Loc::UNKNOWN);
            e.def.expand(e.op, &mut build).is_some()
        })
    };
    assert!(OPS.iter().filter(expands).count() >= 30);
}

/// Reverses its operand and claims that no data moves.
struct Liar;

impl OpDef for Liar {
    fn name(&self) -> &'static str {
        "test.liar"
    }

    fn infer(&self, op: shardc_dialect::ir::OpRef<'_>) -> shardc_dialect::op::Inferred {
        Ok(op.operand_types().cloned().collect())
    }

    fn evaluate(
        &self,
        _: shardc_dialect::ir::OpRef<'_>,
        operands: &[Literal],
        _: &mut dyn shardc_dialect::eval::Context,
    ) -> shardc_dialect::eval::EvalResult<Vec<Literal>> {
        let x = &operands[0];
        Ok(vec![Literal::from_fn(&x.ty(), |i| x.get(x.len() - 1 - i))])
    }

    fn sharding_rule(&self, op: shardc_dialect::ir::OpRef<'_>) -> Option<ShardingRule> {
        Some(ShardingRule::pointwise(&[1], &[1], &op.operand_tensor(0)?.shape))
    }

    fn kernel(&self, _: shardc_dialect::ir::OpRef<'_>) -> Kernel {
        Kernel::External(External::Reference)
    }

    fn examples(&self) -> &'static [&'static str] {
        &["(%a: tensor<6xf32>) %r = \"test.liar\"(%a) : (tensor<6xf32>) -> tensor<6xf32>"]
    }
}

#[test]
fn a_wrong_sharding_rule_is_caught() {
    let registry = Registry::standard().with_ops(&[&Liar]);
    let failures = shardc_dialect::proofs::prove(&[&Liar], &registry).expect_err("the rule is wrong");
    let (first, why) = failures.split_once("\n    ").expect("the example, then what is wrong");
    assert_eq!(first, format!("the sharding rule is true: {}", Liar.examples()[0]));
    assert!(why.starts_with("factor 0 (PassThrough): element "), "{why}");
    assert!(!why.contains('\n'), "only its rule is wrong: {why}");
    let example = &Example::all_of(&Liar, &registry).expect("it can be read")[0];
    let nothing = ShardingRule::new(&[1], &[1]);
    assert_eq!(holds(&example.program, example.op, &nothing), Ok(()), "a rule without factors claims nothing");
}
