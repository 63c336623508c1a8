//! `shardc check` detects a wrong partitioner, and names the op that was partitioned wrongly.

use dialect::diagnostic::Diagnostics;
use dialect::ir::Program;
use passes::options::Options;
use passes::{Effect, Pass, Stage, partition};
use shardc::Compiler;
use shardc_tests::command::shardc_with;

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
    effect: Effect::Reach(Stage::Partitioned),
    options: &[],
    run: |program: &mut Program, _: &Options, diagnostics: &mut Diagnostics| {
        partition::partition(program, diagnostics);
        replace(program, "stablehlo.multiply", "stablehlo.add");
    },
};

/// Another wrong partitioner: it turns maxima into minima.
static FEWER: Pass = Pass {
    name: "partition",
    doc: "Partitions, but takes the smaller.",
    effect: Effect::Reach(Stage::Partitioned),
    options: &[],
    run: |program: &mut Program, _: &Options, diagnostics: &mut Diagnostics| {
        partition::partition(program, diagnostics);
        replace(program, "stablehlo.maximum", "stablehlo.minimum");
    },
};

/// Replaces ops on numbers by other ops.
fn replace(program: &mut Program, old: &str, new: &str) {
    let def = dialect::op::Registry::standard().get(new).expect("there is such an op");
    let name = program.name(new);
    for op in program.ops_under(program.body()) {
        let of_numbers = |t: &dialect::ir::TensorType| t.element != dialect::ir::ElementType::I1;
        if program.op_name(op) == old && program.tensor_type(program.result(op, 0)).is_some_and(of_numbers) {
            let data = program.op_mut(op);
            (data.def, data.name) = (def, name);
        }
    }
}

/// Five iterations. In the third, the multiplied value is no longer zero, so that a sum differs from a product.
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

/// A loop in a branch in a loop: the inner loop multiplies in the outer loop's second iteration.
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

/// Returns the exit code and all output of `check`.
fn check_with(compiler: &Compiler, flags: &[&str], program: &str) -> (u8, String) {
    shardc_with(compiler, &[&["check", "-"], flags].concat(), program).code_and_text()
}

#[test]
#[cfg_attr(not(feature = "jit"), ignore = "needs native execution")]
fn without_time_check_reports_what_it_left_out() {
    let no_time = ["--budget", "0s"];
    let (code, said) = check_with(&Compiler::standard(), &no_time, PROGRAM);
    assert_eq!(code, 0, "{said}");
    let unchecked = "partially checked: the reference evaluator didn't finish in the time, so the results were compared \
                     with those of the same program run natively on one device";
    assert!(said.starts_with("result 0: equal") && said.contains(unchecked), "{said}");
    // A difference is reported even without time.
    let (code, said) = check_with(&Compiler::standard().with_passes(&[&WRONG]), &no_time, PROGRAM);
    assert_eq!(code, 1, "{said}");
    assert!(said.contains("result 1: differs in 1 of 1 elements") && said.contains("\nnot checked: "), "{said}");
    let (code, said) = check_with(&Compiler::standard(), &["--budget", "10m"], PROGRAM);
    assert!(code == 0 && !said.contains("partially"), "{code} {said}");
    let (code, said) = check_with(&Compiler::standard(), &["--budget", "soon"], PROGRAM);
    assert!(code == 2 && said.contains("expected a time like 30s, 500ms or 2m"), "{code} {said}");
}

/// Sums whose last digits are amplified to the size of the whole: computed in parts, they differ from a single device.
const AMPLIFIED: &str = "sdy.mesh @mesh = <[\"x\"=4]>
func.func @main(%a: tensor<64x256xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {\"x\"}]>}) -> (tensor<64xf32>RESULT) {
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %one = stablehlo.constant dense<1.0> : tensor<64xf32>
  %tenth = stablehlo.constant dense<0.1> : tensor<64xf32>
  %many = stablehlo.constant dense<1.0e7> : tensor<64xf32>
  %5 = stablehlo.tanh %a : tensor<64x256xf32>
  %0 = stablehlo.reduce(%5 init: %zero) applies stablehlo.add across dimensions = [1] : (tensor<64x256xf32>, tensor<f32>) -> tensor<64xf32>
  %1 = stablehlo.multiply %0, %many : tensor<64xf32>
  %2 = stablehlo.sine %1 : tensor<64xf32>
  %3 = stablehlo.multiply %2, %tenth : tensor<64xf32>
  %4 = stablehlo.add %3, %one : tensor<64xf32>
  return %4VALUE : tensor<64xf32>RESULT
}
";

#[test]
#[cfg_attr(not(feature = "jit"), ignore = "needs native execution")]
fn differences_without_time_to_measure_them_are_not_checked() {
    let both = AMPLIFIED.replace("RESULT", ", tensor<64x256xf32>").replace("VALUE", ", %5");
    let (code, said) = check_with(&Compiler::standard(), &["--budget", "0s", "--json"], &both);
    assert_eq!(code, 0, "{said}");
    let json: serde_json::Value = serde_json::from_str(&said).unwrap();
    assert_eq!(
        (&json["results"][0]["equal"], &json["results"][0]["checked"]),
        (&false.into(), &false.into()),
        "{said}"
    );
    assert_eq!((&json["results"][1]["equal"], &json["results"][1]["checked"]), (&true.into(), &true.into()), "{said}");
    let (code, said) = check_with(&Compiler::standard(), &["--budget", "0s"], &both);
    assert_eq!(code, 0, "{said}");
    assert!(said.starts_with("result 0: not checked: ") && said.contains("\nresult 1: equal"), "{said}");
    assert!(
        said.contains("partially checked: the time was over before the effect of rounding could be measured"),
        "{said}"
    );
    // With enough time the results are equal; without other results, nothing is known.
    let (code, said) = check_with(&Compiler::standard(), &[], &both);
    assert!(code == 0 && said.starts_with("result 0: equal"), "{code} {said}");
    let alone = AMPLIFIED.replace("RESULT", "").replace("VALUE", "");
    let (code, said) = check_with(&Compiler::standard(), &["--budget", "0s"], &alone);
    assert_eq!(code, 1, "{said}");
    assert!(said.starts_with("result 0: not checked: ") && !said.contains("differs"), "{said}");
    assert!(
        said.ends_with(
            "not checked: the time was over before anything could be compared: a larger --budget is needed\n"
        ),
        "{said}"
    );
    // A given tolerance needs no measurement.
    let (code, said) = check_with(&Compiler::standard(), &["--budget", "0s", "--atol", "0.001"], &alone);
    assert!(code == 1 && said.starts_with("result 0: differs in "), "{code} {said}");
    let (code, said) = check_with(&Compiler::standard(), &["--budget", "0s", "--atol", "0.3"], &alone);
    assert!(code == 0 && said.starts_with("result 0: equal"), "{code} {said}");
}

#[test]
fn without_time_to_run_the_program_check_decides_nothing() {
    let (code, said) = check_with(&Compiler::standard(), &["--interpret", "--budget", "0s"], PROGRAM);
    let all = "result 0: not checked: 8 of 8 elements may differ by more than rounding explains
result 1: not checked: 1 of 1 elements may differ by more than rounding explains
not checked: the time was over before the partitioned program could run
not checked: the time was over before anything could be compared: a larger --budget is needed
";
    assert_eq!((code, said.as_str()), (1, all));
}

/// Integers are exact, so a difference is known without measurement.
#[test]
#[cfg_attr(not(feature = "jit"), ignore = "needs native execution")]
fn wrong_integers_differ_without_time() {
    let program = "sdy.mesh @mesh = <[\"x\"=4]>
func.func @main(%a: tensor<8xi32> {sdy.sharding = #sdy.sharding<@mesh, [{\"x\"}]>}) -> tensor<8xi32> {
  %0 = stablehlo.subtract %a, %a : tensor<8xi32>
  %1 = stablehlo.maximum %0, %a : tensor<8xi32>
  return %1 : tensor<8xi32>
}
";
    let (code, said) = check_with(&Compiler::standard(), &["--budget", "0s"], program);
    assert!(code == 0 && said.starts_with("result 0: equal\npartially checked: "), "{code} {said}");
    let (code, said) = check_with(&Compiler::standard().with_passes(&[&FEWER]), &["--budget", "0s"], program);
    assert!(code == 1 && said.starts_with("result 0: differs in "), "{code} {said}");
}

#[test]
fn a_correct_partitioner_passes() {
    let (code, said) = check_with(&Compiler::standard(), &["--interpret"], PROGRAM);
    assert_eq!(
        (code, said.as_str()),
        (0, "result 0: equal\nresult 1: equal (largest error 2.384e-7 at [], where 2.1e-6 is allowed)\n")
    );
}

#[test]
fn the_first_wrong_op_is_named() {
    let (code, said) = check_with(&Compiler::standard().with_passes(&[&WRONG]), &["--interpret"], PROGRAM);
    assert_eq!(code, 1, "{said}");
    assert!(said.starts_with("result 0: equal\nresult 1: differs in 1 of 1 elements"), "{said}");
    assert!(
        said.contains("the first op that differs is stablehlo.multiply at <stdin>:5:8: its value differs in"),
        "{said}"
    );
}

#[test]
fn the_first_wrong_op_of_the_first_wrong_iteration_is_named() {
    let (code, said) = check_with(&Compiler::standard(), &["--interpret"], LOOP);
    assert_eq!((code, said.as_str()), (0, "result 0: equal\n"));
    let (code, said) = check_with(&Compiler::standard().with_passes(&[&WRONG]), &["--interpret"], LOOP);
    assert_eq!(code, 1, "{said}");
    let named = "the first op that differs is stablehlo.multiply at <stdin>:14:10, in iteration 3 of the \
                 stablehlo.while at <stdin>:8:10: its value differs in";
    assert!(said.contains(named), "{said}");
}

#[test]
fn a_wrong_op_in_nested_loops_and_branches_is_named_with_its_iterations() {
    let (code, said) = check_with(&Compiler::standard().with_passes(&[&WRONG]), &["--interpret"], NESTED);
    assert_eq!(code, 1, "{said}");
    let named = "the first op that differs is stablehlo.multiply at <stdin>:22:14, in iteration 1 of the \
                 stablehlo.while at <stdin>:15:14, in branch 1 of the stablehlo.case at <stdin>:12:10, in iteration 2 \
                 of the stablehlo.while at <stdin>:6:10: its value differs in";
    assert!(said.contains(named), "{said}");
}
