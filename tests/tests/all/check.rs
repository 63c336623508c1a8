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

/// Five iterations, in the third of which what is multiplied is no longer zero: then a sum is no product.
const LOOP: &str = "sdy.mesh @mesh = <[\"x\"=4]>
func.func @main(%a: tensor<8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{\"x\"}]>}) -> tensor<8xf32> {
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %one = stablehlo.constant dense<1> : tensor<i32>
  %two = stablehlo.constant dense<2> : tensor<i32>
  %five = stablehlo.constant dense<5> : tensor<i32>
  %none = stablehlo.constant dense<0.0> : tensor<8xf32>
  %r:2 = stablehlo.while(%i = %zero, %x = %none) : tensor<i32>, tensor<8xf32>
   cond {
    %go = stablehlo.compare LT, %i, %five : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %go : tensor<i1>
  } do {
    %n = stablehlo.add %i, %one : tensor<i32>
    %y = stablehlo.multiply %x, %x : tensor<8xf32>
    %late = stablehlo.compare GE, %n, %two : (tensor<i32>, tensor<i32>) -> tensor<i1>
    %z = \"stablehlo.if\"(%late) ({
      %s = stablehlo.add %y, %a : tensor<8xf32>
      stablehlo.return %s : tensor<8xf32>
    }, {
      stablehlo.return %y : tensor<8xf32>
    }) : (tensor<i1>) -> tensor<8xf32>
    stablehlo.return %n, %z : tensor<i32>, tensor<8xf32>
  }
  return %r#1 : tensor<8xf32>
}
";

/// A loop in a branch in a loop: the inner one multiplies in the outer one's second iteration.
const NESTED: &str = "sdy.mesh @mesh = <[\"x\"=4]>
func.func @main(%a: tensor<8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{\"x\"}]>}) -> tensor<8xf32> {
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %one = stablehlo.constant dense<1> : tensor<i32>
  %three = stablehlo.constant dense<3> : tensor<i32>
  %r:2 = stablehlo.while(%i = %zero, %x = %a) : tensor<i32>, tensor<8xf32>
   cond {
    %go = stablehlo.compare LT, %i, %three : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %go : tensor<i1>
  } do {
    %n = stablehlo.add %i, %one : tensor<i32>
    %z = \"stablehlo.case\"(%i) ({
      stablehlo.return %x : tensor<8xf32>
    }, {
      %q:2 = stablehlo.while(%j = %zero, %y = %x) : tensor<i32>, tensor<8xf32>
       cond {
        %on = stablehlo.compare LT, %j, %three : (tensor<i32>, tensor<i32>) -> tensor<i1>
        stablehlo.return %on : tensor<i1>
      } do {
        %m = stablehlo.add %j, %one : tensor<i32>
        %t = stablehlo.tanh %y : tensor<8xf32>
        %p = stablehlo.multiply %t, %a : tensor<8xf32>
        stablehlo.return %m, %p : tensor<i32>, tensor<8xf32>
      }
      stablehlo.return %q#1 : tensor<8xf32>
    }) : (tensor<i32>) -> tensor<8xf32>
    stablehlo.return %n, %z : tensor<i32>, tensor<8xf32>
  }
  return %r#1 : tensor<8xf32>
}
";

fn check(compiler: &Compiler, program: &str) -> (u8, String) {
    check_with(compiler, &["--interpret"], program)
}

fn check_with(compiler: &Compiler, flags: &[&str], program: &str) -> (u8, String) {
    let (mut out, mut err) = (Vec::new(), Vec::new());
    let mut stdin = program.as_bytes();
    let io = shardc::Io { stdin: &mut stdin, out: &mut out, err: &mut err, out_color: false, err_color: false };
    let code = shardc::run_with(compiler, [&["check", "-"], flags].concat(), io);
    (code, String::from_utf8(out).unwrap() + &String::from_utf8(err).unwrap())
}

#[test]
#[cfg_attr(not(feature = "jit"), ignore = "needs native execution")]
fn without_time_it_says_what_is_not_checked() {
    let no_time = ["--budget", "0s"];
    let (code, said) = check_with(&Compiler::standard(), &no_time, PROGRAM);
    assert_eq!(code, 0, "{said}");
    let unchecked = "partially checked: the reference evaluator had no time to finish, so the results were compared with \
                     those of the same program run natively on one device";
    assert!(said.starts_with("result 0: equal") && said.contains(unchecked), "{said}");
    // What differs, differs, however little time there is.
    let (code, said) = check_with(&Compiler::standard().with_passes(&[&WRONG]), &no_time, PROGRAM);
    assert_eq!(code, 1, "{said}");
    assert!(said.contains("result 1: differs in 1 of 1 elements") && said.contains("partially checked: "), "{said}");
    let (code, said) = check_with(&Compiler::standard(), &["--budget", "10m"], PROGRAM);
    assert!(code == 0 && !said.contains("partially"), "{said}");
    let (code, said) = check_with(&Compiler::standard(), &["--budget", "soon"], PROGRAM);
    assert!(code == 2 && said.contains("expected a time like 30s, 500ms or 2m"), "{said}");
}

#[test]
fn a_right_partitioner_is_right() {
    let (code, said) = check(&Compiler::standard(), PROGRAM);
    assert_eq!(
        (code, said.as_str()),
        (0, "result 0: equal\nresult 1: equal (largest error 2.384e-7 at [], where 2.1e-6 is allowed)\n")
    );
}

#[test]
fn the_first_wrong_op_is_named() {
    let (code, said) = check(&Compiler::standard().with_passes(&[&WRONG]), PROGRAM);
    assert_eq!(code, 1, "{said}");
    assert!(said.starts_with("result 0: equal\nresult 1: differs in 1 of 1 elements"), "{said}");
    assert!(
        said.contains("the first op that differs is stablehlo.multiply at <stdin>:5:8: its value differs in"),
        "{said}"
    );
}

#[test]
fn the_first_wrong_op_of_the_first_wrong_iteration_is_named() {
    let (code, said) = check(&Compiler::standard(), LOOP);
    assert_eq!((code, said.as_str()), (0, "result 0: equal\n"));
    let (code, said) = check(&Compiler::standard().with_passes(&[&WRONG]), LOOP);
    assert_eq!(code, 1, "{said}");
    let named = "the first op that differs is stablehlo.multiply at <stdin>:14:10, in iteration 3 of the \
                 stablehlo.while at <stdin>:8:10: its value differs in";
    assert!(said.contains(named), "{said}");
}

#[test]
fn loops_and_branches_in_each_other_are_looked_into() {
    let (code, said) = check(&Compiler::standard().with_passes(&[&WRONG]), NESTED);
    assert_eq!(code, 1, "{said}");
    let named = "the first op that differs is stablehlo.multiply at <stdin>:22:14, in iteration 1 of the \
                 stablehlo.while at <stdin>:15:14, in branch 1 of the stablehlo.case at <stdin>:12:10, in iteration 2 \
                 of the stablehlo.while at <stdin>:6:10: its value differs in";
    assert!(said.contains(named), "{said}");
}
