//! The memory that values of small programs are in.

use shardc_dialect::diagnostic::Diagnostics;
use shardc_dialect::memory::MemorySpaces;
use shardc_dialect::ops::func;

/// The results of all ops of `@main` that have one, in order: `d` for those in the device's memory, `h` for the host's.
fn spaces(text: &str) -> String {
    let mut diagnostics = Diagnostics::default();
    let program = shardc_dialect::parse(text, &mut diagnostics);
    shardc_dialect::verify(&program, &mut diagnostics);
    assert!(diagnostics.is_empty(), "{diagnostics:?}");
    let main = func::function(&program, "main").expect("a main");
    let block = func::block(&program, main).expect("a body");
    let spaces = MemorySpaces::of(&program, main);
    let results = program.ops_under(block).into_iter().flat_map(|op| program.results(op).collect::<Vec<_>>());
    results.map(|value| if spaces.is_on_host(value) { 'h' } else { 'd' }).collect()
}

const TO_HOST: &str = "stablehlo.custom_call @annotate_device_placement(%x) {mhlo.frontend_attributes = {_xla_buffer_placement = \"unpinned_host\"}} : (tensor<8xf32>) -> tensor<8xf32>";

fn of(argument: &str, body: &str) -> String {
    spaces(&format!(
        "func.func @main(%a: tensor<8xf32>{argument}, %i: tensor<i32>, %p: tensor<i1>) {{\n{body}\nreturn\n}}"
    ))
}

#[test]
fn parts_and_other_shapes_stay_where_they_are() {
    let body = "%0 = stablehlo.slice %a [0:4] : (tensor<8xf32>) -> tensor<4xf32>
        %1 = stablehlo.reshape %0 : (tensor<4xf32>) -> tensor<2x2xf32>
        %2 = stablehlo.transpose %1, dims = [1, 0] : (tensor<2x2xf32>) -> tensor<2x2xf32>
        %3 = stablehlo.dynamic_slice %a, %i, sizes = [2] : (tensor<8xf32>, tensor<i32>) -> tensor<2xf32>
        %4 = stablehlo.broadcast_in_dim %3, dims = [1] : (tensor<2xf32>) -> tensor<1x2xf32>
        %5 = stablehlo.broadcast_in_dim %3, dims = [1] : (tensor<2xf32>) -> tensor<2x2xf32>
        %6 = stablehlo.negate %2 : tensor<2x2xf32>
        %7 = stablehlo.dynamic_update_slice %a, %3, %i : (tensor<8xf32>, tensor<2xf32>, tensor<i32>) -> tensor<8xf32>
        %8 = stablehlo.optimization_barrier %7 : tensor<8xf32>";
    for kind in ["pinned_host", "unpinned_host"] {
        assert_eq!(of(&format!(" {{mhlo.memory_kind = \"{kind}\"}}"), body), "hhhhhddhh");
    }
    assert_eq!(of(" {mhlo.memory_kind = \"device\"}", body), "d".repeat(9));
    assert_eq!(of("", body), "d".repeat(9));
}

#[test]
fn loops_carry_a_buffer_in_one_memory_from_the_zeros_on() {
    let looped = |update: &str, more: &str| {
        of(
            "",
            &format!(
                "%zero = stablehlo.constant dense<0.0> : tensor<f32>
                 %z = stablehlo.broadcast_in_dim %zero, dims = [] : (tensor<f32>) -> tensor<64xf32>
                 %w:2 = stablehlo.while(%x = %a, %buffer = %z) : tensor<8xf32>, tensor<64xf32>
                 cond {{
                   stablehlo.return %p : tensor<i1>
                 }} do {{
                   %m = {update}
                   %d = stablehlo.dynamic_update_slice %buffer, %m, %i : (tensor<64xf32>, tensor<8xf32>, tensor<i32>) -> tensor<64xf32>
                   stablehlo.return %x, %d : tensor<8xf32>, tensor<64xf32>
                 }}
                 {more}"
            ),
        )
    };
    assert_eq!(looped(TO_HOST, ""), "dhdhhh");
    assert_eq!(looped("stablehlo.negate %x : tensor<8xf32>", ""), "dddddd");
    // The device fills what it reads itself.
    assert_eq!(looped(TO_HOST, "%r = stablehlo.negate %z : tensor<64xf32>"), "dddhhhd");
}

#[test]
fn an_update_is_where_its_buffer_is() {
    let body = format!(
        "%x = stablehlo.negate %a : tensor<8xf32>
         %0 = {TO_HOST}
         %1 = stablehlo.dynamic_update_slice %a, %0, %i : (tensor<8xf32>, tensor<8xf32>, tensor<i32>) -> tensor<8xf32>
         %2 = stablehlo.dynamic_update_slice %0, %a, %i : (tensor<8xf32>, tensor<8xf32>, tensor<i32>) -> tensor<8xf32>
         %z = stablehlo.constant dense<0.0> : tensor<8xf32>
         %3 = stablehlo.dynamic_update_slice %z, %2, %i : (tensor<8xf32>, tensor<8xf32>, tensor<i32>) -> tensor<8xf32>"
    );
    assert_eq!(of("", &body), "dhdhhh");
}

#[test]
fn branches_and_the_host_itself() {
    let branch = "%c = \"stablehlo.if\"(%p) ({
          stablehlo.return %a : tensor<8xf32>
        }, {
          %s = stablehlo.slice %a [0:8] : (tensor<8xf32>) -> tensor<8xf32>
          stablehlo.return %s : tensor<8xf32>
        }) : (tensor<i1>) -> tensor<8xf32>";
    assert_eq!(of(" {mhlo.memory_kind = \"pinned_host\"}", branch), "hh");
    assert_eq!(of("", branch), "dd");
    let computed =
        "%0 = stablehlo.negate %a {mhlo.frontend_attributes = {_xla_compute_type = \"host\"}} : tensor<8xf32>
        %1 = stablehlo.negate %0 : tensor<8xf32>
        %2 = stablehlo.custom_call @MoveToHost(%1) : (tensor<8xf32>) -> tensor<8xf32>
        %3 = stablehlo.custom_call @MoveToDevice(%2) : (tensor<8xf32>) -> tensor<8xf32>";
    assert_eq!(of("", computed), "hdhd");
}
