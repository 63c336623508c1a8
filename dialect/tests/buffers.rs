//! Tests kernels, lifetimes and buffers of small programs against results worked out by hand; and, for any program,
//! that values that are live at the same time never overlap.

use std::sync::Arc;

use shardc_dialect::buffers::{Buffers, Facts, FusionModel, Liveness, NONE, Node, decide, peak};
use shardc_dialect::diagnostic::Diagnostics;
use shardc_dialect::ir::{Op, Program, Value, ValueSource};
use shardc_dialect::ops::func;

fn program(text: &str) -> (Program, Op) {
    let mut diagnostics = Diagnostics::default();
    let program = shardc_dialect::parse(text, &mut diagnostics);
    shardc_dialect::verify(&program, &mut diagnostics);
    assert!(diagnostics.is_empty(), "{diagnostics:?}");
    let main = func::function(&program, "main").expect("a main");
    (program, main)
}

/// Returns the ops of `@main` by name, with folded ops in parentheses; and the plan.
fn kernels(text: &str) -> (String, Buffers) {
    let (program, main) = program(text);
    let buffers = Buffers::of(&program, main);
    let block = func::block(&program, main).expect("a body");
    let name = |op: Op| {
        let short = program.op_name(op).rsplit('.').next().unwrap_or_default().to_owned();
        if buffers.fusion.is_folded(op) { format!("({short})") } else { short }
    };
    let names: Vec<String> = program.ops_under(block).into_iter().map(name).collect();
    (names.join(" "), buffers)
}

fn main_of(body: &str) -> String {
    format!("func.func @main(%a: tensor<1024xf32>, %b: tensor<1024xf32>) -> tensor<1024xf32> {{\n{body}\n}}")
}

#[test]
fn a_chain_is_one_kernel_and_a_value_read_twice_in_it_is_folded() {
    let (names, buffers) = kernels(&main_of(
        "%0 = stablehlo.multiply %a, %b : tensor<1024xf32>
         %1 = stablehlo.multiply %0, %0 : tensor<1024xf32>
         %2 = stablehlo.add %1, %0 : tensor<1024xf32>
         return %2 : tensor<1024xf32>",
    ));
    assert_eq!(names, "(multiply) (multiply) add return");
    assert_eq!(buffers.bytes(), 3 * 4096);
}

#[test]
fn long_chains_are_several_kernels() {
    let mut body = String::from("%0 = stablehlo.add %a, %b : tensor<1024xf32>\n");
    for i in 1..250 {
        body.push_str(&format!("%{i} = stablehlo.multiply %{}, %b : tensor<1024xf32>\n", i - 1));
    }
    body.push_str("return %249 : tensor<1024xf32>");
    let (names, buffers) = kernels(&main_of(&body));
    // An op with two inputs has weight two.
    assert_eq!(names.split(' ').filter(|n| !n.starts_with('(')).count(), 5 + 1);
    // Each kernel reuses the buffer of its operand.
    assert_eq!(buffers.bytes(), 3 * 4096);
}

#[test]
fn what_two_kernels_read_is_stored_unless_it_is_a_copy() {
    let two = |op: &str| {
        kernels(&format!(
            "func.func @main(%a: tensor<32x32xf32>) -> (tensor<32xf32>, tensor<32x32xf32>) {{
               %z = stablehlo.constant dense<0.0> : tensor<f32>
               %0 = stablehlo.{op} : (tensor<32x32xf32>) -> tensor<32x32xf32>
               %1 = stablehlo.reduce(%0 init: %z) applies stablehlo.add across dimensions = [1] : (tensor<32x32xf32>, tensor<f32>) -> tensor<32xf32>
               %2 = stablehlo.negate %0 : tensor<32x32xf32>
               return %1, %2 : tensor<32xf32>, tensor<32x32xf32>
             }}"
        ))
        .0
    };
    assert_eq!(two("transpose %a, dims = [1, 0]"), "constant (transpose) reduce add return negate return");
    assert_eq!(two("exponential %a").replace("tensor", ""), "constant exponential reduce add return negate return");
}

#[test]
fn products_read_memory() {
    let (names, _) = kernels(
        "func.func @main(%a: tensor<16x16xf32>) -> tensor<16x16xf32> {
           %0 = stablehlo.exponential %a : tensor<16x16xf32>
           %1 = stablehlo.dot_general %0, %a, contracting_dims = [1] x [0] : (tensor<16x16xf32>, tensor<16x16xf32>) -> tensor<16x16xf32>
           %2 = stablehlo.negate %1 : tensor<16x16xf32>
           %3 = stablehlo.negate %2 : tensor<16x16xf32>
           return %3 : tensor<16x16xf32>
         }",
    );
    assert_eq!(names, "exponential dot_general (negate) negate return");
}

#[test]
fn an_outer_product_is_elementwise() {
    let (names, _) = kernels(
        "func.func @main(%a: tensor<16xf32>, %b: tensor<16xf32>) -> tensor<16x16xf32> {
           %0 = stablehlo.dot_general %a, %b, contracting_dims = [] x [] : (tensor<16xf32>, tensor<16xf32>) -> tensor<16x16xf32>
           %1 = stablehlo.exponential %0 : tensor<16x16xf32>
           return %1 : tensor<16x16xf32>
         }",
    );
    assert_eq!(names, "(dot_general) exponential return");
}

/// Returns, for each op of a block without regions, the ops in whose kernels it is computed.
fn decided(text: &str, model: FusionModel) -> Vec<Vec<u32>> {
    let (program, main) = program(text);
    let ops = program.block_ops(func::block(&program, main).expect("a body"));
    let maker = |v: &Value| match program.value_source(*v) {
        ValueSource::Result(op, _) => ops.iter().position(|&o| o == op).expect("an op of the block") as u32,
        ValueSource::Arg(..) => NONE,
    };
    let node = |&op: &Op| Node {
        facts: Facts::of(program.view(op)).map(Arc::new),
        runs: 0,
        by_host: false,
        operands: program.op(op).operands.iter().map(maker).collect(),
    };
    decide(&ops.iter().map(node).collect::<Vec<_>>(), model).iter().map(|roots| roots.to_vec()).collect()
}

#[test]
fn compilers_of_targets_compute_again_what_a_larger_kernel_reads() {
    let text = "func.func @main(%a: tensor<16xf32>) -> tensor<16x16xf32> {
        %0 = stablehlo.exponential %a : tensor<16xf32>
        %1 = stablehlo.broadcast_in_dim %0, dims = [0] : (tensor<16xf32>) -> tensor<16x16xf32>
        %2 = stablehlo.negate %1 : tensor<16x16xf32>
        return %2 : tensor<16x16xf32>
    }";
    assert_eq!(decided(text, FusionModel::NATIVE), [[0], [2], [2], [3]]);
    assert_eq!(decided(text, FusionModel::TARGET), [[2], [2], [2], [3]]);
}

#[test]
fn only_our_runtime_keeps_ops_without_machine_code_apart() {
    let text = "func.func @main(%a: tensor<16xi32>) -> tensor<16xi32> {
        %0 = stablehlo.power %a, %a : tensor<16xi32>
        %1 = stablehlo.negate %0 : tensor<16xi32>
        return %1 : tensor<16xi32>
    }";
    assert_eq!(decided(text, FusionModel::NATIVE), [[0], [1], [2]]);
    assert_eq!(decided(text, FusionModel::TARGET), [[1], [1], [2]]);
}

#[test]
fn loops_keep_what_they_read_and_take_the_place_of_what_they_begin_with() {
    let (_, buffers) = kernels(
        "func.func @main(%x: tensor<1024xf32>, %n: tensor<i32>) -> tensor<1024xf32> {
           %zero = stablehlo.constant dense<0> : tensor<i32>
           %outside = stablehlo.cosine %x : tensor<1024xf32>
           %start = stablehlo.sine %x : tensor<1024xf32>
           %w:2 = stablehlo.while(%i = %zero, %v = %start) : tensor<i32>, tensor<1024xf32>
           cond {
             %c = stablehlo.compare LT, %i, %n : (tensor<i32>, tensor<i32>) -> tensor<i1>
             stablehlo.return %c : tensor<i1>
           } do {
             %one = stablehlo.constant dense<1> : tensor<i32>
             %next = stablehlo.add %i, %one : tensor<i32>
             %r = stablehlo.add %v, %outside : tensor<1024xf32>
             %q = stablehlo.reverse %r, dims = [0] : tensor<1024xf32>
             stablehlo.return %next, %q : tensor<i32>, tensor<1024xf32>
           }
           return %w#1 : tensor<1024xf32>
         }",
    );
    // %x, %outside, the carried value and its next value; %n, %zero and the counter; the condition is where the next
    // value will be.
    assert_eq!(buffers.bytes(), 4 * 4096 + 3 * 64);
}

#[test]
fn a_loop_makes_the_next_value_in_the_place_of_the_last_where_nobody_reads_that() {
    let moves = |next: &str| {
        let (_, buffers) = kernels(&format!(
            "func.func @main(%x: tensor<16x16xf32>) -> tensor<16x16xf32> {{
               %w = stablehlo.while(%v = %x) : tensor<16x16xf32>
               cond {{
                 %t = stablehlo.constant dense<false> : tensor<i1>
                 stablehlo.return %t : tensor<i1>
               }} do {{
                 %e = stablehlo.dot_general %v, %v, contracting_dims = [1] x [0] : (tensor<16x16xf32>, tensor<16x16xf32>) -> tensor<16x16xf32>
                 {next}
                 stablehlo.return %n : tensor<16x16xf32>
               }}
               return %w : tensor<16x16xf32>
             }}"
        ));
        (buffers.after.values().map(Vec::len).sum::<usize>(), buffers.bytes() / 1024)
    };
    // Elementwise on the old value, so in its buffer. The buffers are the argument, the carried value, the product; and
    // the condition.
    assert_eq!(moves("%n = stablehlo.add %e, %v : tensor<16x16xf32>"), (0, 3));
    // The old value is dead at that point.
    assert_eq!(moves("%n = stablehlo.transpose %e, dims = [1, 0] : (tensor<16x16xf32>) -> tensor<16x16xf32>"), (0, 3));
    // The old value is still read at other positions, so it is copied.
    let reversed = "%r = stablehlo.reverse %v, dims = [0] : tensor<16x16xf32>
                    %n = stablehlo.add %r, %v : tensor<16x16xf32>";
    assert_eq!(moves(reversed).0, 1);
}

#[test]
fn donated_arguments_are_written_over() {
    let bytes = |attribute: &str| {
        kernels(&format!(
            "func.func @main(%a: tensor<1024xf32>{attribute}) -> tensor<1024xf32> {{
               %0 = stablehlo.exponential %a : tensor<1024xf32>
               return %0 : tensor<1024xf32>
             }}"
        ))
        .1
        .bytes()
    };
    assert_eq!(bytes(""), 2 * 4096);
    assert_eq!(bytes(" {jax.buffer_donor = true}"), 4096);
}

#[test]
fn a_timeline_holds_to_the_end_of_a_loop_what_came_from_before_it() {
    let mut t = Liveness::default();
    let before = t.define();
    let unread = t.define();
    t.step();
    t.enter();
    t.step();
    let inside = t.define();
    t.step();
    t.enter();
    t.step();
    t.read(before);
    t.read(inside);
    t.step();
    t.leave();
    t.step();
    t.leave();
    assert_eq!((t.live(before), t.live(unread), t.live(inside)), ((0, 6), (0, 0), (2, 5)));
    assert_eq!(peak([((0, 6), 3.0), ((0, 0), 4.0), ((2, 5), 2.0)]), 7.0);
}

/// The bytes in the device's memory and in the host's.
fn memories(text: &str) -> [usize; 2] {
    let (program, main) = program(text);
    let buffers = Buffers::of(&program, main);
    let both = buffers.buffers.iter().map(|b| b.offset + b.bytes.next_multiple_of(64)).max();
    assert_eq!(both, Some(buffers.bytes()), "the host's memory comes after the device's");
    [buffers.device_bytes, buffers.host_bytes]
}

#[test]
fn values_take_the_place_of_others_in_the_same_memory_only() {
    let moved = |donated: &str| {
        memories(&format!(
            "func.func @main(%a: tensor<1024xf32> {{{donated}mhlo.memory_kind = \"pinned_host\"}}) -> tensor<1024xf32> {{
               %0 = stablehlo.custom_call @MoveToDevice(%a) : (tensor<1024xf32>) -> tensor<1024xf32>
               %1 = stablehlo.exponential %0 : tensor<1024xf32>
               %2 = stablehlo.custom_call @MoveToHost(%1) : (tensor<1024xf32>) -> tensor<1024xf32>
               return %2 : tensor<1024xf32>
             }}"
        ))
    };
    assert_eq!(moved(""), [4096, 8192]);
    assert_eq!(moved("jax.buffer_donor = true, "), [4096, 4096]);
    // A copy to where a value is already is another name for it.
    let stays = memories(
        "func.func @main(%a: tensor<1024xf32>) -> tensor<1024xf32> {
           %0 = stablehlo.custom_call @MoveToDevice(%a) : (tensor<1024xf32>) -> tensor<1024xf32>
           return %0 : tensor<1024xf32>
         }",
    );
    assert_eq!(stays, [4096, 0]);
}

#[test]
fn several_carried_values_may_begin_with_one_of_which_the_first_takes_the_place() {
    let (_, buffers) = kernels(
        "func.func @main(%a: tensor<1024xf32>, %n: tensor<i1>) -> (tensor<1024xf32>, tensor<1024xf32>) {
           %0 = stablehlo.exponential %a : tensor<1024xf32>
           %w:2 = stablehlo.while(%x = %0, %y = %0) : tensor<1024xf32>, tensor<1024xf32>
           cond {
             stablehlo.return %n : tensor<i1>
           } do {
             %s = stablehlo.sine %x : tensor<1024xf32>
             %c = stablehlo.cosine %y : tensor<1024xf32>
             stablehlo.return %s, %c : tensor<1024xf32>, tensor<1024xf32>
           }
           return %w#0, %w#1 : tensor<1024xf32>, tensor<1024xf32>
         }",
    );
    // The argument, the condition, and one buffer for each carried value.
    assert_eq!(buffers.bytes(), 3 * 4096 + 64);
}
