//! The costs of programs, compared with numbers calculated by hand.

use dialect::diagnostic::Diagnostics;
use dialect::ir::Program;
use shardc_passes::estimate::{Estimate, Flat, Machine, Target, estimate};

fn program(text: &str) -> Program {
    let mut diagnostics = Diagnostics::default();
    let program = dialect::parse(text, &mut diagnostics);
    dialect::verify(&program, &mut diagnostics);
    assert!(diagnostics.is_empty(), "{diagnostics:?}");
    program
}

fn flat(text: &str) -> Estimate {
    estimate(&program(text), &Machine::flat(Flat::default()))
}

fn close(got: f64, want: f64) {
    assert!((got - want).abs() <= 1e-9 * want.abs(), "got {got}, want {want}");
}

const ALL_REDUCE: &str = "\"stablehlo.all_reduce\"(%v) <{replica_groups = dense<[[0, 1, 2, 3]]> : tensor<1x4xi64>}> ({
  ^bb0(%p: tensor<f32>, %q: tensor<f32>):
    %s = stablehlo.add %p, %q : tensor<f32>
    stablehlo.return %s : tensor<f32>
  }) : (tensor<1024xf32>) -> tensor<1024xf32>";

#[test]
fn a_product_takes_the_longer_of_arithmetic_and_memory() {
    let large = flat(
        "func.func @main(%a: tensor<1024x2048xbf16>, %b: tensor<2048x512xbf16>) -> tensor<1024x512xbf16> {
           %0 = stablehlo.dot_general %a, %b, contracting_dims = [1] x [0] : (tensor<1024x2048xbf16>, tensor<2048x512xbf16>) -> tensor<1024x512xbf16>
           return %0 : tensor<1024x512xbf16>
         }",
    );
    let flops = 2.0 * 1024.0 * 2048.0 * 512.0;
    let bytes = 2.0 * (1024.0 * 2048.0 + 2048.0 * 512.0 + 1024.0 * 512.0);
    close(large.flops, flops);
    close(large.memory_traffic, bytes);
    close(large.compute_seconds, (flops / 2e14_f64).max(bytes / 1e12));
    close(large.step_seconds, large.compute_seconds);
    close(large.peak_bytes, bytes);
    let thin = flat(
        "func.func @main(%a: tensor<1x2048xbf16>, %b: tensor<2048x512xbf16>) -> tensor<1x512xbf16> {
           %0 = stablehlo.dot_general %a, %b, contracting_dims = [1] x [0] : (tensor<1x2048xbf16>, tensor<2048x512xbf16>) -> tensor<1x512xbf16>
           return %0 : tensor<1x512xbf16>
         }",
    );
    close(thin.compute_seconds, 2.0 * (2048.0 + 2048.0 * 512.0 + 512.0) / 1e12);
}

#[test]
fn elementwise_chains_touch_memory_once() {
    let chain = flat(
        "func.func @main(%a: tensor<1024xf32>, %b: tensor<1024xf32>) -> tensor<1024xf32> {
           %c = stablehlo.constant dense<2.0> : tensor<f32>
           %0 = stablehlo.broadcast_in_dim %c, dims = [] : (tensor<f32>) -> tensor<1024xf32>
           %1 = stablehlo.multiply %a, %0 : tensor<1024xf32>
           %2 = stablehlo.add %1, %b : tensor<1024xf32>
           %3 = stablehlo.tanh %2 : tensor<1024xf32>
           return %3 : tensor<1024xf32>
         }",
    );
    // Two arguments are read, one result is written; no other value is ever in memory.
    close(chain.memory_traffic, 3.0 * 4096.0);
    close(chain.peak_bytes, 3.0 * 4096.0);
}

#[test]
fn a_value_read_twice_is_kept() {
    let twice = flat(
        "func.func @main(%a: tensor<1024xf32>) -> (tensor<1024xf32>, tensor<1024xf32>) {
           %0 = stablehlo.exponential %a : tensor<1024xf32>
           %1 = stablehlo.tanh %0 : tensor<1024xf32>
           %2 = stablehlo.negate %0 : tensor<1024xf32>
           return %1, %2 : tensor<1024xf32>, tensor<1024xf32>
         }",
    );
    // exp reads and writes, tanh and negate read and write.
    close(twice.memory_traffic, 6.0 * 4096.0);
    // negate is the last to read exp's result and reuses its buffer.
    close(twice.peak_bytes, 3.0 * 4096.0);
}

#[test]
fn collectives_are_a_ring_on_flat() {
    let e = flat(&format!(
        "func.func @main(%v: tensor<1024xf32>) -> tensor<1024xf32> {{\n  %0 = {ALL_REDUCE}\n  return %0 : tensor<1024xf32>\n}}"
    ));
    close(e.communication_seconds, 1e-6 + 2.0 * 4096.0 * 0.75 / 90e9);
    close(e.exposed_seconds(), e.communication_seconds);
    assert_eq!((e.collectives.len(), e.collectives[0].group, e.collectives[0].count), (1, 4, 1));
    assert_eq!((e.collectives[0].operand_bytes, e.collectives[0].result_bytes), (4096, 4096));
}

fn looped(limit: &str) -> Estimate {
    flat(&format!(
        "func.func @main(%x: tensor<1024xf32>, %n: tensor<i32>) -> tensor<1024xf32> {{
           %zero = stablehlo.constant dense<0> : tensor<i32>
           %w:2 = stablehlo.while(%i = %zero, %v = %x) : tensor<i32>, tensor<1024xf32>
           cond {{
             %ten = stablehlo.constant dense<10> : tensor<i32>
             %c = stablehlo.compare LT, %i, {limit} : (tensor<i32>, tensor<i32>) -> tensor<i1>
             stablehlo.return %c : tensor<i1>
           }} do {{
             %one = stablehlo.constant dense<1> : tensor<i32>
             %next = stablehlo.add %i, %one : tensor<i32>
             %r = {ALL_REDUCE}
             stablehlo.return %next, %r : tensor<i32>, tensor<1024xf32>
           }}
           return %w#1 : tensor<1024xf32>
         }}"
    ))
}

#[test]
fn loops_count_as_often_as_they_run() {
    let one = 1e-6 + 2.0 * 4096.0 * 0.75 / 90e9;
    let known = looped("%ten");
    assert_eq!(known.collectives[0].count, 10);
    close(known.communication_seconds, 10.0 * one);
    // An unknown bound counts as eight.
    let unknown = looped("%n");
    assert_eq!(unknown.collectives[0].count, 8);
    close(unknown.communication_seconds, 8.0 * one);
}

#[test]
fn communication_hides_behind_independent_arithmetic_on_a_slice() {
    let text = format!(
        "func.func @main(%v: tensor<1024xf32>, %a: tensor<4096x4096xbf16>) -> (tensor<1024xf32>, tensor<4096x4096xbf16>) {{
           %0 = {ALL_REDUCE}
           %1 = stablehlo.dot_general %a, %a, contracting_dims = [1] x [0] : (tensor<4096x4096xbf16>, tensor<4096x4096xbf16>) -> tensor<4096x4096xbf16>
           return %0, %1 : tensor<1024xf32>, tensor<4096x4096xbf16>
         }}"
    );
    let machine = Machine::new(Target::parse("v5e:2x2").unwrap(), &[4]).unwrap();
    let slice = estimate(&program(&text), &machine);
    assert!(slice.communication_seconds > 0.0 && slice.compute_seconds > slice.communication_seconds);
    close(slice.step_seconds, slice.compute_seconds);
    assert_eq!(slice.exposed_seconds(), 0.0);
    // The flat model runs one thing at a time.
    let flat = flat(&text);
    close(flat.step_seconds, flat.compute_seconds + flat.communication_seconds);
}

#[test]
fn donated_arguments_make_room() {
    let peak = |attribute: &str| {
        flat(&format!(
            "func.func @main(%a: tensor<1024xf32>{attribute}) -> tensor<1024xf32> {{
               %0 = stablehlo.exponential %a : tensor<1024xf32>
               %1 = \"acme.opaque\"(%0) : (tensor<1024xf32>) -> tensor<1024xf32>
               %2 = stablehlo.exponential %1 : tensor<1024xf32>
               return %2 : tensor<1024xf32>
             }}"
        ))
        .peak_bytes
    };
    close(peak(""), 3.0 * 4096.0);
    close(peak(" {jax.buffer_donor = true}"), 2.0 * 4096.0);
}

#[test]
fn the_slowest_branch_counts() {
    let e = flat(&format!(
        "func.func @main(%taken: tensor<i1>, %v: tensor<1024xf32>) -> tensor<1024xf32> {{
           %0 = \"stablehlo.if\"(%taken) ({{
             stablehlo.return %v : tensor<1024xf32>
           }}, {{
             %r = {ALL_REDUCE}
             stablehlo.return %r : tensor<1024xf32>
           }}) : (tensor<i1>) -> tensor<1024xf32>
           return %0 : tensor<1024xf32>
         }}"
    ));
    assert_eq!(e.collectives.len(), 1);
    close(e.step_seconds, 1e-6 + 2.0 * 4096.0 * 0.75 / 90e9);
}

#[test]
fn copies_to_and_from_the_host_run_beside_arithmetic_and_each_other_on_a_slice() {
    let text = "func.func @main(%m: tensor<8192xf32> {mhlo.memory_kind = \"pinned_host\"}, %v: tensor<4096xf32>, %a: tensor<4096x4096xbf16>) -> (tensor<8192xf32>, tensor<4096xf32>, tensor<4096x4096xbf16>) {
        %0 = stablehlo.custom_call @MoveToDevice(%m) : (tensor<8192xf32>) -> tensor<8192xf32>
        %1 = stablehlo.custom_call @MoveToHost(%v) : (tensor<4096xf32>) -> tensor<4096xf32>
        %2 = stablehlo.dot_general %a, %a, contracting_dims = [1] x [0] : (tensor<4096x4096xbf16>, tensor<4096x4096xbf16>) -> tensor<4096x4096xbf16>
        return %0, %1, %2 : tensor<8192xf32>, tensor<4096xf32>, tensor<4096x4096xbf16>
      }";
    let machine = Machine::new(Target::parse("v5e:1x1").unwrap(), &[1]).unwrap();
    let slice = estimate(&program(text), &machine);
    let [down, up] = [4.0 * 8192.0 / 16e9, 4.0 * 4096.0 / 16e9];
    let copies: Vec<(u64, f64)> = slice.host_copies.iter().map(|c| (c.bytes, c.seconds)).collect();
    assert_eq!(copies, [(32768, down), (16384, up)]);
    close(slice.host_copy_seconds, down + up);
    assert_eq!((slice.step_seconds, slice.host_exposed_seconds), (slice.compute_seconds, 0.0));
    assert!(slice.compute_seconds > down + up && slice.timeline.iter().all(|event| event.start == 0.0));
    assert_eq!((slice.host_peak_bytes, slice.communication_seconds), (32768.0 + 16384.0, 0.0));
    // The flat model has one hand.
    let flat = flat(text);
    close(flat.step_seconds, flat.compute_seconds + flat.host_copy_seconds);
    close(flat.host_exposed_seconds, down + up);
}

#[test]
fn what_is_read_from_the_host_without_a_copy_comes_over_the_link() {
    let text = "func.func @main(%m: tensor<1024x1024xf32> {mhlo.memory_kind = \"pinned_host\"}, %i: tensor<i32>) -> tensor<8x1024xf32> {
        %zero = stablehlo.constant dense<0> : tensor<i32>
        %0 = stablehlo.dynamic_slice %m, %i, %zero, sizes = [8, 1024] : (tensor<1024x1024xf32>, tensor<i32>, tensor<i32>) -> tensor<8x1024xf32>
        %1 = stablehlo.exponential %0 : tensor<8x1024xf32>
        return %1 : tensor<8x1024xf32>
      }";
    let read = flat(text);
    close(read.compute_seconds, 8.0 * 4096.0 / 16e9);
    assert!(read.host_copies.is_empty());
}
