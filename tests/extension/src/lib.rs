//! Extensions that another company could add to shardc without changing it: an op, a pass that creates it, a pipeline,
//! a rewrite for the plan search, a cost model and a target.

use shardc::dialect::ir::{Value, ValueSource};
use shardc::dialect::kernel::{Arg, Body, Inst};
use shardc::dialect::ops::stablehlo::elementwise::{Classes, Compute, PLAIN, Pointwise, Typing};
use shardc::dialect::scalar::ScalarOp;
use shardc::dialect::sharding::Reshard;
use shardc::{
    CollectiveKind, CollectiveLoad, Compiler, CostModel, Derivation, Effect, Flat, Pass, Pipeline, Precision, Rewrite,
    Target,
};

/// `log(1 + exp(x))`, as one op.
pub static SOFTPLUS: Pointwise = Pointwise {
    name: "acme.softplus",
    arity: 1,
    syntax: PLAIN,
    typing: Typing::Same(Classes::REAL),
    compute: Compute::Own(|op| {
        let ty = op.result_tensor(0)?.element;
        let mut body = Body::of(ScalarOp::Exp, &[ty], ty);
        let result = body.push(Inst::Op { op: ScalarOp::Log1p, args: [Arg::Inst(0)].into_iter().collect(), ty });
        Some(Body { results: vec![result], ..body })
    }),
    expands: false,
    examples: &[
        "(%x: tensor<4x6xf32>) %r = acme.softplus %x : tensor<4x6xf32>",
        "(%x: tensor<f64>) %r = acme.softplus %x : tensor<f64>",
    ],
};

/// Fuses `log_plus_one(exponential(x))` into one op.
pub static FUSE: Pass = Pass {
    name: "acme-fuse",
    doc: "Makes acme.softplus of the logarithm of one plus an exponential.",
    effect: Effect::Rewrite,
    options: &[],
    run: |program, _, _| {
        let name = program.name(SOFTPLUS.name);
        for op in program.ops_under(program.body()) {
            let exponential = |value: Value| match program.value_source(value) {
                ValueSource::Result(op, _) if program.op_name(op) == "stablehlo.exponential" => {
                    Some(program.op(op).operands[0])
                }
                _ => None,
            };
            let log = program.op_name(op) == "stablehlo.log_plus_one";
            if let Some(x) = log.then(|| program.op(op).operands[0]).and_then(exponential) {
                let data = program.op_mut(op);
                (data.def, data.name, data.operands[0]) = (&SOFTPLUS, name, x);
            }
        }
    },
};

/// Reshards a value that is gathered only to be sliced again directly, from its sharding before the gather.
pub static REGATHERED: Rewrite =
    Rewrite::new("acme_regathered", "all_slice(all_gather x) = the cheapest steps from x", |plans, class, made| {
        let Derivation::Step { kind: Reshard::AllSlice(_), from } = made else { return Vec::new() };
        let Some(to) = plans.distribution(class).cloned() else { return Vec::new() };
        let sources = plans.derivations(*from).into_iter().filter_map(|made| match made {
            Derivation::Step { kind: Reshard::AllGather(_), from } => Some(from),
            _ => None,
        });
        sources.collect::<Vec<_>>().into_iter().map(|source| plans.moved(source, &to)).collect()
    });

/// Boxes of eight devices: fast links inside, a slow network between them.
#[derive(Debug)]
pub struct Boxes;

impl CostModel for Boxes {
    fn name(&self) -> &str {
        "acme-boxes"
    }

    fn collective_seconds(&self, load: &CollectiveLoad) -> f64 {
        match load.devices {
            0 | 1 if load.kind != CollectiveKind::CollectivePermute => 0.0,
            ..=8 => 2e-6 + load.moved_bytes() / 200e9,
            _ => 20e-6 + load.moved_bytes() / 12e9,
        }
    }

    fn peak_flops(&self, precision: Precision) -> f64 {
        if precision <= Precision::Fp8 { 1e15 } else { 5e14 }
    }

    fn memory_bandwidth(&self) -> f64 {
        3e12
    }

    fn memory_bytes(&self) -> u64 {
        80 << 30
    }
}

/// The pass, then shardc's own pipeline.
pub const PIPELINE: Pipeline =
    Pipeline { name: "acme", doc: "Compiles with the ops of ACME.", passes: "acme-fuse,compile" };

/// The compiler as ACME ships it.
pub fn compiler() -> Compiler {
    let machine = Flat { latency: 20e-6, bandwidth: 5e9, ..Flat::default() };
    Compiler::standard()
        .with_ops(&[&SOFTPLUS])
        .with_passes(&[&FUSE])
        .with_pipeline(PIPELINE)
        .with_target("acme-box", Target::Flat(machine))
        .with_rewrites(&[&REGATHERED])
        .and_then(|compiler| compiler.with_cost_model(&Boxes))
        .expect("both are proved by the tests")
}
