//! What another company adds to shardc, without touching it: an op, a pass that makes it, a pipeline and a target.

use dialect::eval::{Context, EvalResult};
use dialect::ir::{ElementType, OpRef, Value, ValueSource};
use dialect::kernel::{Arg, Body, Input, Inst, Kernel, Nest, map};
use dialect::literal::Literal;
use dialect::op::{Inferred, OpDef};
use dialect::scalar::ScalarOp;
use dialect::text::{Piece, Syntax, TypeForm};
use shardc::{Compiler, Flat, Pass, Pipeline, Target};

/// `log(1 + exp(x))`, as one op.
pub struct Softplus;

impl Softplus {
    fn body(ty: ElementType) -> Body {
        let mut body = Body::of(ScalarOp::Exp, &[ty], ty);
        let result = body.push(Inst::Op { op: ScalarOp::Log1p, args: [Arg::Inst(0)].into_iter().collect(), ty });
        Body { results: vec![result], ..body }
    }
}

impl OpDef for Softplus {
    fn name(&self) -> &'static str {
        "acme.softplus"
    }

    fn syntax(&self) -> Syntax {
        Syntax::Pieces(&[Piece::Operands, Piece::AttrDict, Piece::Types(TypeForm::SameOrFunctional)])
    }

    fn infer(&self, op: OpRef<'_>) -> Inferred {
        Ok(op.operand_types().cloned().collect())
    }

    fn kernel(&self, op: OpRef<'_>) -> Kernel {
        let Some(ty) = op.result_tensor(0).filter(|t| t.is_static()) else { return Kernel::None };
        let rank = ty.rank();
        let (loops, inputs) = (ty.shape.iter().copied().collect(), vec![Input::at(0, 0..rank)]);
        Kernel::Nest(Nest { loops, parallel: rank, inputs, init: Vec::new(), body: Self::body(ty.element) })
    }

    fn evaluate(&self, _: OpRef<'_>, operands: &[Literal], _: &mut dyn Context) -> EvalResult<Vec<Literal>> {
        Ok(vec![map(&Self::body(operands[0].element), &operands[0].shape, operands)])
    }

    fn elementwise(&self) -> bool {
        true
    }

    fn examples(&self) -> &'static [&'static str] {
        &[
            "(%x: tensor<4x6xf32>) %r = acme.softplus %x : tensor<4x6xf32>",
            "(%x: tensor<f64>) %r = acme.softplus %x : tensor<f64>",
        ]
    }
}

/// Makes one op of `log_plus_one(exponential(x))`.
pub static FUSE: Pass = Pass {
    name: "acme-fuse",
    doc: "Makes acme.softplus of the logarithm of one plus an exponential.",
    options: &[],
    run: |program, _, _| {
        let name = program.name(Softplus.name());
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
                (data.def, data.name, data.operands[0]) = (&Softplus, name, x);
            }
        }
    },
};

/// The pass, then what shardc does.
pub const PIPELINE: Pipeline =
    Pipeline { name: "acme", doc: "Compiles with the ops of ACME.", passes: "acme-fuse,compile" };

/// shardc as ACME ships it.
pub fn compiler() -> Compiler {
    let machine = Flat { latency: 20e-6, bandwidth: 5e9, ..Flat::default() };
    Compiler::standard()
        .with_ops(&[&Softplus])
        .with_passes(&[&FUSE])
        .with_pipeline(PIPELINE)
        .with_target("acme-box", Target::Flat(machine))
}
