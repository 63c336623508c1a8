//! Tests of programs by value: the results of each control-flow op and collective on several devices.

use dialect::diagnostic::Diagnostics;
use dialect::eval::{EvalError, EvalResult, Lanes};
use dialect::ir::{ElementType, Program};
use dialect::literal::Literal;
use dialect::scalar::Scalar;

use super::{Limits, evaluate, evaluate_global, evaluate_within};

fn program(text: &str) -> Program {
    let mut diagnostics = Diagnostics::default();
    let program = dialect::parse(text, &mut diagnostics);
    assert!(!diagnostics.has_errors(), "{diagnostics:#?}");
    program
}

fn ints(shape: &[i64], values: &[i64]) -> Literal {
    Literal::from_scalars(ElementType::I32, shape, values.iter().map(|&v| Scalar::Int(v.into())))
}

/// Returns a value with these integers for each device.
fn lanes(shape: &[i64], values: &[&[i64]]) -> Lanes {
    values.iter().map(|v| Some(ints(shape, v))).collect()
}

/// Returns the integers of a result on every device.
fn shown(result: &Lanes) -> Vec<Vec<i64>> {
    result.iter().map(|v| v.as_ref().and_then(Literal::to_ints).unwrap_or_default()).collect()
}

/// Returns the first result of `@main` with this body on `grid` (replicas, partitions) devices. `types` are those of
/// argument `%x` and of the result.
fn run(body: &str, types: (&str, &str), grid: (usize, usize), x: Lanes) -> EvalResult<Vec<Vec<i64>>> {
    let text = format!("func.func @main(%x: {}) -> {} {{\n{body}\n}}", types.0, types.1);
    Ok(shown(&evaluate(&program(&text), "main", grid.0, grid.1, &[x])?[0]))
}

const CHANNEL: &str = "channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>";
const SUM: &str = "({ ^bb0(%a: tensor<i32>, %b: tensor<i32>): %s = stablehlo.add %a, %b : tensor<i32> stablehlo.return %s : tensor<i32> })";

#[test]
fn all_gather_in_the_order_of_the_group() {
    let body = format!(
        "%r = \"stablehlo.all_gather\"(%x) <{{all_gather_dim = 1 : i64, {CHANNEL}, replica_groups = dense<[[2, 0], [1, 3]]> : tensor<2x2xi64>, use_global_device_ids}}> : (tensor<2x1xi32>) -> tensor<2x2xi32> return %r : tensor<2x2xi32>"
    );
    let x = lanes(&[2, 1], &[&[1, 2], &[3, 4], &[5, 6], &[7, 8]]);
    let found = run(&body, ("tensor<2x1xi32>", "tensor<2x2xi32>"), (1, 4), x).unwrap();
    assert_eq!(found, [[5, 1, 6, 2], [3, 7, 4, 8], [5, 1, 6, 2], [3, 7, 4, 8]]);
}

#[test]
fn all_reduce_across_replicas_then_across_all() {
    let x = || lanes(&[], &[&[1], &[10], &[100], &[1000]]);
    let reduce = |attributes: &str| {
        let body = format!(
            "%r = \"stablehlo.all_reduce\"(%x) <{{{attributes}}}> {SUM} : (tensor<i32>) -> tensor<i32> return %r : tensor<i32>"
        );
        run(&body, ("tensor<i32>", "tensor<i32>"), (2, 2), x()).unwrap()
    };
    let groups = "replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>";
    // Without a channel, the ids are replicas, and every partition reduces separately.
    assert_eq!(reduce(groups), [[101], [1010], [101], [1010]]);
    // With a channel, all partitions of the replicas take part.
    assert_eq!(reduce(&format!("{CHANNEL}, {groups}")), [[1111]; 4]);
    // Flat ids; the second group is padded.
    let flat = "replica_groups = dense<[[0, 1, 3], [2, -1, -1]]> : tensor<2x3xi64>, use_global_device_ids";
    assert_eq!(reduce(&format!("{CHANNEL}, {flat}")), [[1011], [1011], [100], [1011]]);
    // An empty list means one group of all devices.
    let all = "replica_groups = dense<> : tensor<0x0xi64>, use_global_device_ids";
    assert_eq!(reduce(&format!("{CHANNEL}, {all}")), [[1111]; 4]);
}

#[test]
fn an_all_reduce_converts_to_the_type_of_its_computation() {
    let text = format!(
        "func.func @main(%x: tensor<2xi8>) -> tensor<2xi32> {{ %r = \"stablehlo.all_reduce\"(%x) <{{{CHANNEL}, replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>, use_global_device_ids}}> {SUM} : (tensor<2xi8>) -> tensor<2xi32> return %r : tensor<2xi32> }}"
    );
    let x =
        |values: [i64; 2]| Some(Literal::from_scalars(ElementType::I8, &[2], values.map(|v| Scalar::Int(v.into()))));
    let found = evaluate(&program(&text), "main", 1, 2, &[vec![x([100, -1]), x([100, -2])]]).unwrap();
    assert_eq!(shown(&found[0]), [[200, -3], [200, -3]]);
}

#[test]
fn reduce_scatter_gives_each_device_its_piece() {
    let body = format!(
        "%r = \"stablehlo.reduce_scatter\"(%x) <{{{CHANNEL}, replica_groups = dense<[[1, 0]]> : tensor<1x2xi64>, scatter_dimension = 0 : i64, use_global_device_ids}}> {SUM} : (tensor<4xi32>) -> tensor<2xi32> return %r : tensor<2xi32>"
    );
    let x = lanes(&[4], &[&[1, 2, 3, 4], &[10, 20, 30, 40]]);
    let found = run(&body, ("tensor<4xi32>", "tensor<2xi32>"), (1, 2), x).unwrap();
    assert_eq!(found, [[33, 44], [11, 22]]);
}

#[test]
fn all_to_all_as_in_the_specification() {
    let body = "%r = \"stablehlo.all_to_all\"(%x) <{split_dimension = 1 : i64, concat_dimension = 0 : i64, split_count = 2 : i64, replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>}> : (tensor<2x4xi32>) -> tensor<4x2xi32> return %r : tensor<4x2xi32>";
    let x = lanes(&[2, 4], &[&[1, 2, 3, 4, 5, 6, 7, 8], &[9, 10, 11, 12, 13, 14, 15, 16]]);
    let found = run(body, ("tensor<2x4xi32>", "tensor<4x2xi32>"), (2, 1), x).unwrap();
    assert_eq!(found, [[1, 2, 5, 6, 9, 10, 13, 14], [3, 4, 7, 8, 11, 12, 15, 16]]);
}

#[test]
fn a_permute_leaves_zeros_where_nobody_sends() {
    let body = format!(
        "%r = \"stablehlo.collective_permute\"(%x) <{{{CHANNEL}, source_target_pairs = dense<[[0, 1], [1, 2]]> : tensor<2x2xi64>}}> : (tensor<2xi32>) -> tensor<2xi32> return %r : tensor<2xi32>"
    );
    let x = lanes(&[2], &[&[1, 2], &[5, 6], &[9, 10]]);
    assert_eq!(run(&body, ("tensor<2xi32>", "tensor<2xi32>"), (1, 3), x).unwrap(), [[0, 0], [1, 2], [5, 6]]);
}

#[test]
fn a_broadcast_comes_from_the_first_of_the_group() {
    let body = "%r = \"stablehlo.collective_broadcast\"(%x) <{replica_groups = dense<[[2, 1]]> : tensor<1x2xi64>}> : (tensor<2xi32>) -> tensor<2xi32> return %r : tensor<2xi32>";
    let x = lanes(&[2], &[&[1, 2], &[3, 4], &[5, 6], &[7, 8]]);
    let found = run(body, ("tensor<2xi32>", "tensor<2xi32>"), (4, 1), x).unwrap();
    assert_eq!(found, [[0, 0], [5, 6], [5, 6], [0, 0]]);
}

#[test]
fn devices_know_where_they_are() {
    let body = "%p = stablehlo.partition_id : tensor<ui32> %q = stablehlo.replica_id : tensor<ui32> %a = stablehlo.convert %p : (tensor<ui32>) -> tensor<i32> %b = stablehlo.convert %q : (tensor<ui32>) -> tensor<i32> %t = stablehlo.constant dense<10> : tensor<i32> %c = stablehlo.multiply %b, %t : tensor<i32> %d = stablehlo.add %a, %c : tensor<i32> %r = stablehlo.add %d, %x : tensor<i32> return %r : tensor<i32>";
    let x = lanes(&[], &[&[0][..]; 6]);
    assert_eq!(run(body, ("tensor<i32>", "tensor<i32>"), (2, 3), x).unwrap(), [[0], [1], [2], [10], [11], [12]]);
}

#[test]
fn devices_leave_a_loop_one_by_one() {
    // Counts down and doubles: a device with the value x runs x iterations.
    let body = "%one = stablehlo.constant dense<1> : tensor<i32> %zero = stablehlo.constant dense<0> : tensor<i32>
      %r:2 = stablehlo.while(%n = %x, %v = %one) : tensor<i32>, tensor<i32>
      cond { %c = stablehlo.compare GT, %n, %zero, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1> stablehlo.return %c : tensor<i1> }
      do { %m = stablehlo.subtract %n, %one : tensor<i32> %w = stablehlo.add %v, %v : tensor<i32> stablehlo.return %m, %w : tensor<i32>, tensor<i32> }
      return %r#1 : tensor<i32>";
    let x = lanes(&[], &[&[0], &[3], &[1]]);
    assert_eq!(run(body, ("tensor<i32>", "tensor<i32>"), (1, 3), x).unwrap(), [[1], [8], [2]]);
}

#[test]
fn a_collective_that_misses_a_device_is_an_error() {
    let body = format!(
        "%zero = stablehlo.constant dense<0> : tensor<i32> %c = stablehlo.compare GT, %x, %zero, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
         %r = \"stablehlo.if\"(%c) ({{ %s = \"stablehlo.all_reduce\"(%x) <{{{CHANNEL}, replica_groups = dense<[[0, 1], [2, 3]]> : tensor<2x2xi64>, use_global_device_ids}}> {SUM} : (tensor<i32>) -> tensor<i32> stablehlo.return %s : tensor<i32> }},
         {{ stablehlo.return %zero : tensor<i32> }}) : (tensor<i1>) -> tensor<i32> return %r : tensor<i32>"
    );
    let types = ("tensor<i32>", "tensor<i32>");
    // All devices of a group may skip the collective.
    let found = run(&body, types, (1, 4), lanes(&[], &[&[1], &[2], &[0], &[-1]])).unwrap();
    assert_eq!(found, [[3], [3], [0], [0]]);
    let error = run(&body, types, (1, 4), lanes(&[], &[&[1], &[2], &[0], &[4]])).unwrap_err();
    assert_eq!(
        error.to_string(),
        "stablehlo.all_reduce: device 3 waits for device 2, which took another branch or left the loop"
    );
    assert!(!error.span.is_empty());
}

#[test]
fn an_index_out_of_range_takes_the_last_branch() {
    let branch =
        |v: i64| format!("{{ %c = stablehlo.constant dense<{v}> : tensor<i32> stablehlo.return %c : tensor<i32> }}");
    let body = format!(
        "%r = \"stablehlo.case\"(%x) ({}, {}, {}) : (tensor<i32>) -> tensor<i32> return %r : tensor<i32>",
        branch(10),
        branch(20),
        branch(30)
    );
    let x = lanes(&[], &[&[0], &[1], &[2], &[3], &[-1]]);
    assert_eq!(run(&body, ("tensor<i32>", "tensor<i32>"), (1, 5), x).unwrap(), [[10], [20], [30], [30], [30]]);
}

#[test]
fn calls_run_their_function() {
    let text = "func.func @main(%x: tensor<i32>) -> tensor<i32> { %a = call @twice(%x) : (tensor<i32>) -> tensor<i32> %b = call @twice(%a) : (tensor<i32>) -> tensor<i32> return %b : tensor<i32> }
      func.func private @twice(%x: tensor<i32>) -> tensor<i32> { %r = stablehlo.add %x, %x : tensor<i32> return %r : tensor<i32> }";
    assert_eq!(evaluate_global(&program(text), &[ints(&[], &[3])]).unwrap()[0].to_ints(), Some(vec![12]));
}

// Manual computations -------------------------------------------------------------------------------------------------

/// Returns the result of a program over full tensors. Checks that the same program in lockstep on `devices` devices,
/// each with the full tensors, has the same result.
fn global(text: &str, devices: usize, inputs: &[Literal]) -> Vec<i64> {
    let program = program(text);
    let whole = evaluate_global(&program, inputs).unwrap_or_else(|e| panic!("{e}"));
    let copies: Vec<Lanes> = inputs.iter().map(|v| vec![Some(v.clone()); devices]).collect();
    let lockstep = evaluate(&program, "main", 1, devices, &copies).unwrap_or_else(|e| panic!("{e}"));
    assert_eq!(lockstep[0], vec![Some(whole[0].clone()); devices]);
    whole[0].to_ints().unwrap()
}

#[test]
fn a_manual_computation_cuts_and_joins() {
    let text = r#"sdy.mesh @mesh = <["x"=2, "y"=2]>
      func.func @main(%a: tensor<4x2xi32>) -> tensor<2x4xi32> {
        %0 = sdy.manual_computation(%a) in_shardings=[<@mesh, [{"x"}, {"y"}]>] out_shardings=[<@mesh, [{}, {"x", "y"}]>] manual_axes={"x", "y"} (%b: tensor<2x1xi32>) {
          %p = stablehlo.partition_id : tensor<ui32>
          %q = stablehlo.convert %p : (tensor<ui32>) -> tensor<i32>
          %h = stablehlo.constant dense<100> : tensor<i32>
          %m = stablehlo.multiply %q, %h : tensor<i32>
          %w = stablehlo.broadcast_in_dim %m, dims = [] : (tensor<i32>) -> tensor<2x1xi32>
          %s = stablehlo.add %b, %w : tensor<2x1xi32>
          sdy.return %s : tensor<2x1xi32>
        } : (tensor<4x2xi32>) -> tensor<2x4xi32>
        return %0 : tensor<2x4xi32>
      }"#;
    let found = global(text, 4, &[ints(&[4, 2], &[0, 1, 2, 3, 4, 5, 6, 7])]);
    assert_eq!(found, [0, 101, 204, 305, 2, 103, 206, 307]);
    // Device ids in another order: the same shards are on devices with other ids.
    let turned = text.replace("\"y\"=2]>", "\"y\"=2], device_ids=[3, 2, 1, 0]>");
    let found = global(&turned, 4, &[ints(&[4, 2], &[0, 1, 2, 3, 4, 5, 6, 7])]);
    assert_eq!(found, [300, 201, 104, 5, 302, 203, 106, 7]);
}

#[test]
fn a_partly_manual_computation_speaks_of_whole_tensors_along_the_other_axes() {
    let text = format!(
        r#"sdy.mesh @mesh = <["x"=2, "y"=3]>
      func.func @main(%a: tensor<4x3xi32>) -> tensor<2x3xi32> {{
        %0 = sdy.manual_computation(%a) in_shardings=[<@mesh, [{{"x"}}, {{"y"}}]>] out_shardings=[<@mesh, [{{}}, {{"y"}}], replicated={{"x"}}>] manual_axes={{"x"}} (%b: tensor<2x3xi32>) {{
          %r = "stablehlo.all_reduce"(%b) <{{{CHANNEL}, replica_groups = dense<[[0, 3], [1, 4], [2, 5]]> : tensor<3x2xi64>, use_global_device_ids}}> {} : (tensor<2x3xi32>) -> tensor<2x3xi32>
          sdy.return %r : tensor<2x3xi32>
        }} : (tensor<4x3xi32>) -> tensor<2x3xi32>
        return %0 : tensor<2x3xi32>
      }}"#,
        SUM.replace("%a", "%u").replace("%b", "%v")
    );
    let a: Vec<i64> = (0..12).collect();
    assert_eq!(global(&text, 6, &[ints(&[4, 3], &a)]), [6, 8, 10, 12, 14, 16]);
}

#[test]
fn manual_computations_inside_each_other() {
    let text = r#"sdy.mesh @mesh = <["x"=2, "y"=2]>
      func.func @main(%a: tensor<4x2xi32>) -> tensor<4x2xi32> {
        %0 = sdy.manual_computation(%a) in_shardings=[<@mesh, [{"x"}, {}]>] out_shardings=[<@mesh, [{"x"}, {}]>] manual_axes={"x"} (%b: tensor<2x2xi32>) {
          %1 = sdy.manual_computation(%b) in_shardings=[<@mesh, [{"y"}, {}]>] out_shardings=[<@mesh, [{"y"}, {}]>] manual_axes={"y"} (%c: tensor<1x2xi32>) {
            %p = stablehlo.partition_id : tensor<ui32>
            %q = stablehlo.convert %p : (tensor<ui32>) -> tensor<i32>
            %w = stablehlo.broadcast_in_dim %q, dims = [] : (tensor<i32>) -> tensor<1x2xi32>
            %s = stablehlo.add %c, %w : tensor<1x2xi32>
            sdy.return %s : tensor<1x2xi32>
          } : (tensor<2x2xi32>) -> tensor<2x2xi32>
          sdy.return %1 : tensor<2x2xi32>
        } : (tensor<4x2xi32>) -> tensor<4x2xi32>
        return %0 : tensor<4x2xi32>
      }"#;
    assert_eq!(global(text, 4, &[ints(&[4, 2], &[0, 0, 10, 10, 20, 20, 30, 30])]), [0, 0, 11, 11, 22, 22, 33, 33]);
}

#[test]
fn unreduced_values_are_parts_that_add_up() {
    let text = r#"sdy.mesh @mesh = <["x"=2, "y"=2]>
      func.func @main(%a: tensor<2xi32>) -> tensor<2xi32> {
        %0 = sdy.manual_computation(%a) in_shardings=[<@mesh, [{"y"}], unreduced={"x"}>] out_shardings=[<@mesh, [{"y"}], unreduced={"x"}>] manual_axes={"x", "y"} (%b: tensor<1xi32>) {
          %c = stablehlo.constant dense<1> : tensor<1xi32>
          %s = stablehlo.add %b, %c : tensor<1xi32>
          sdy.return %s : tensor<1xi32>
        } : (tensor<2xi32>) -> tensor<2xi32>
        return %0 : tensor<2xi32>
      }"#;
    // One of the two devices along x has the value, the other has zero; both add one.
    assert_eq!(global(text, 4, &[ints(&[2], &[10, 20])]), [12, 22]);
}

// Limits and mistakes -------------------------------------------------------------------------------------------------

fn error(text: &str, inputs: &[Literal], limits: Limits) -> EvalError {
    let inputs: Vec<Lanes> = inputs.iter().map(|v| vec![Some(v.clone())]).collect();
    evaluate_within(&program(text), "main", 1, 1, &inputs, limits).expect_err("an error")
}

#[test]
fn a_loop_without_end_is_stopped() {
    let text = "func.func @main() { %t = stablehlo.constant dense<true> : tensor<i1> stablehlo.while() cond { stablehlo.return %t : tensor<i1> } do { stablehlo.return } return }";
    let limits = Limits { steps: 1000, ..Limits::default() };
    let expected = "stablehlo.while: loops ran more than 1000 iterations; the program may never end";
    assert_eq!(error(text, &[], limits).to_string(), expected);
}

#[test]
fn recursion_is_refused() {
    let text = "func.func @main() { call @f() : () -> () return }
      func.func private @f() { call @g() : () -> () return }
      func.func private @g() { call @f() : () -> () return }";
    let expected = "func.call: @f calls itself; functions can't be recursive";
    assert_eq!(error(text, &[], Limits::default()).to_string(), expected);
}

#[test]
fn results_too_large_for_memory_are_refused() {
    let text = "func.func @main(%x: tensor<f32>) { %y = stablehlo.broadcast_in_dim %x, dims = [] : (tensor<f32>) -> tensor<1048576x1048576xf32> return }";
    let x = Literal::scalar(ElementType::F32, Scalar::Float(1.0));
    let message = error(text, &[x], Limits::default()).to_string();
    assert!(message.contains("take 4398046511104 bytes on 1 devices"), "{message}");
}

#[test]
fn wrong_inputs_are_named() {
    let text = "func.func @main(%x: tensor<2xi32>) { return }";
    let limits = Limits::default();
    assert_eq!(error(text, &[], limits).to_string(), "@main takes 1 inputs, but 0 are given");
    let wrong = error(text, &[ints(&[3], &[1, 2, 3])], limits).to_string();
    assert_eq!(wrong, "input 0 of @main is tensor<2xi32>, but tensor<3xi32> is given");
    let missing = evaluate(&program(text), "other", 1, 1, &[]).unwrap_err().to_string();
    assert_eq!(missing, "function @other is undefined; the module has @main");
}

#[test]
fn a_failed_check_stops_the_run() {
    let text = "func.func @main(%x: tensor<2xi32>) { check.expect_eq_const %x, dense<[1, 2]> : tensor<2xi32> return }";
    assert_eq!(evaluate_global(&program(text), &[ints(&[2], &[1, 2])]), Ok(vec![]));
    let message = error(text, &[ints(&[2], &[1, 3])], Limits::default()).to_string();
    assert_eq!(message, "check.expect_eq_const: element 1 is 3, expected 2 (exactly); 1 of 2 elements differ");
}

#[test]
fn the_kernel_of_the_inverse_functions_has_chlos_values() {
    let text = "func.func @main(%x: tensor<5xcomplex<f64>>) -> tensor<5xcomplex<f64>> {
      %r = chlo._asin_acos_kernel %x : tensor<5xcomplex<f64>> -> tensor<5xcomplex<f64>>
      return %r : tensor<5xcomplex<f64>>
    }";
    // sqrt(a² - x²) and log(a + sqrt(a² - 1)) of a = (|z + 1| + |z - 1|) / 2, by numpy.
    let cases = [
        ((0.5, 0.25), (0.9117543273261621, 0.28139605624529274)),
        ((-2.0, -3.0), (3.1157990841033647, 1.9833870299165355)),
        ((0.0, 0.0), (1.0, 0.0)),
        ((1000.0, -1.0), (1.0000005000411167, 7.600902709542488)),
        ((2.0, 0.0), (0.0, 1.3169578969248166)),
    ];
    let inputs = cases.map(|((re, im), _)| Scalar::Complex(re, im));
    let x = Literal::from_scalars(ElementType::C128, &[5], inputs);
    let found = evaluate_global(&program(text), &[x]).unwrap();
    for (i, (z, (re, im))) in cases.into_iter().enumerate() {
        let Scalar::Complex(a, b) = found[0].get(i) else { panic!("not complex") };
        assert!((a - re).abs() < 1e-10 && (b - im).abs() < 1e-12, "{z:?} gives ({a}, {b})");
    }
}
