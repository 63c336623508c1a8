//! `shardc check` detects a wrong partitioner, and names the op that it partitions wrongly.

use dialect::diagnostic::Diagnostics;
use dialect::ir::Program;
use passes::options::Options;
use passes::{Pass, partition};
use shardc::Compiler;

const PROGRAM: &str = "sdy.mesh @mesh = <[\"x\"=4]>
func.func @main(%a: tensor<8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{\"x\"}]>}) -> (tensor<8xf32>, tensor<f32>) {
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %0 = stablehlo.tanh %a : tensor<8xf32>
  %1 = stablehlo.multiply %0, %a : tensor<8xf32>
  %2 = stablehlo.reduce(%1 init: %zero) applies stablehlo.add across dimensions = [0] : (tensor<8xf32>, tensor<f32>) -> tensor<f32>
  return %0, %2 : tensor<8xf32>, tensor<f32>
}
";

/// A wrong partitioner: it turns multiplications into additions.
static WRONG: Pass = Pass {
    name: "partition",
    doc: "Partitions, but adds where it should multiply.",
    options: &[],
    run: |program: &mut Program, _: &Options, diagnostics: &mut Diagnostics| {
        partition::partition(program, diagnostics);
        let registry = dialect::op::Registry::standard();
        let add = registry.get("stablehlo.add").expect("there is an addition");
        let name = program.name("stablehlo.add");
        for op in program.ops_under(program.body()) {
            if program.op_name(op) == "stablehlo.multiply"
                && program.tensor_type(program.result(op, 0)).is_some_and(|t| t.element.is_float())
            {
                let data = program.op_mut(op);
                (data.def, data.name) = (add, name);
            }
        }
    },
};

fn check(compiler: &Compiler) -> (u8, String) {
    let (mut out, mut err) = (Vec::new(), Vec::new());
    let mut stdin = PROGRAM.as_bytes();
    let io = shardc::Io { stdin: &mut stdin, out: &mut out, err: &mut err, out_color: false, err_color: false };
    let code = shardc::run_with(compiler, ["check", "--interpret", "-"], io);
    (code, String::from_utf8(out).unwrap() + &String::from_utf8(err).unwrap())
}

#[test]
fn a_right_partitioner_is_right() {
    let (code, said) = check(&Compiler::standard());
    assert_eq!(
        (code, said.as_str()),
        (0, "result 0: equal\nresult 1: equal (largest error 2.384e-7 at [], where 2.1e-6 is allowed)\n")
    );
}

#[test]
fn the_first_wrong_op_is_named() {
    let (code, said) = check(&Compiler::standard().with_passes(&[&WRONG]));
    assert_eq!(code, 1, "{said}");
    assert!(said.starts_with("result 0: equal\nresult 1: differs in 1 of 1 elements"), "{said}");
    assert!(
        said.contains("the first op that differs is stablehlo.multiply at <stdin>:5:8: its value differs in"),
        "{said}"
    );
}
