//! Tests of chains of kernels and products, by their results.

use super::Step;
use crate::execute::compared::{compared, floats};

/// Runs ops on `%x`, a tensor of 512 x 96 elements, and compares the result of the last op with the reference. Returns
/// the number of kernels of each chain.
fn chains(ops: &str) -> Vec<usize> {
    let text = format!(
        "func.func @main(%x: tensor<512x96xf32>) -> tensor<512x96xf32> {{ {ops} return %r : tensor<512x96xf32> }}"
    );
    let mut random = fastrand::Rng::with_seed(1);
    let input = floats(&[512, 96], || f64::from(random.i32(-40..40)) / 8.0);
    let executable = compared(&text, &[input], 1e-5);
    let kernels = |(_, step): &(_, Step)| match step {
        Step::Chain { steps, .. } => Some(steps.len()),
        _ => None,
    };
    executable.lowered.steps.iter().filter_map(kernels).collect()
}

fn several_threads() -> bool {
    std::thread::available_parallelism().is_ok_and(|n| n.get() > 1)
}

const SOFTMAX: &str = "
    %low = stablehlo.constant dense<0xFF800000> : tensor<f32>
    %zero = stablehlo.constant dense<0.0> : tensor<f32>
    %m = stablehlo.reduce(%x init: %low) applies stablehlo.maximum across dimensions = [1] : (tensor<512x96xf32>, tensor<f32>) -> tensor<512xf32>
    %mb = stablehlo.broadcast_in_dim %m, dims = [0] : (tensor<512xf32>) -> tensor<512x96xf32>
    %d = stablehlo.subtract %x, %mb : tensor<512x96xf32>
    %e = stablehlo.exponential %d : tensor<512x96xf32>
    %s = stablehlo.reduce(%e init: %zero) applies stablehlo.add across dimensions = [1] : (tensor<512x96xf32>, tensor<f32>) -> tensor<512xf32>
    %sb = stablehlo.broadcast_in_dim %s, dims = [0] : (tensor<512xf32>) -> tensor<512x96xf32>";

#[test]
fn rows_go_through_all_kernels_of_a_softmax() {
    let found = chains(&format!("{SOFTMAX} %r = stablehlo.divide %e, %sb : tensor<512x96xf32>"));
    if several_threads() {
        assert_eq!(found.len(), 1, "{found:?}");
        assert!(found[0] >= 3, "{found:?}");
    }
}

/// Returns the text of an attention with `batches` batches: the softmax of products of all rows with all others, and
/// the sums of rows weighted by it. The mask is the same for all batches.
fn attention(batches: i64) -> String {
    let rows = 512 / batches;
    let (x, s, r) = (
        format!("tensor<{batches}x{rows}x96xf32>"),
        format!("tensor<{batches}x{rows}x{rows}xf32>"),
        format!("tensor<{batches}x{rows}xf32>"),
    );
    let mask = format!("tensor<{rows}x{rows}x");
    format!(
        "%low = stablehlo.constant dense<0xFF800000> : tensor<f32>
         %zero = stablehlo.constant dense<0.0> : tensor<f32>
         %least = stablehlo.constant dense<-1.0e30> : {s}
         %q = stablehlo.reshape %x : (tensor<512x96xf32>) -> {x}
         %p = stablehlo.dot_general %q, %q, batching_dims = [0] x [0], contracting_dims = [2] x [2] : ({x}, {x}) -> {s}
         %i = stablehlo.iota dim = 0 : {mask}i32>
         %j = stablehlo.iota dim = 1 : {mask}i32>
         %c = stablehlo.compare GE, %i, %j : ({mask}i32>, {mask}i32>) -> {mask}i1>
         %cb = stablehlo.broadcast_in_dim %c, dims = [1, 2] : ({mask}i1>) -> {s_bool}
         %w = stablehlo.select %cb, %p, %least : {s_bool}, {s}
         %m = stablehlo.reduce(%w init: %low) applies stablehlo.maximum across dimensions = [2] : ({s}, tensor<f32>) -> {r}
         %mb = stablehlo.broadcast_in_dim %m, dims = [0, 1] : ({r}) -> {s}
         %d = stablehlo.subtract %w, %mb : {s}
         %e = stablehlo.exponential %d : {s}
         %n = stablehlo.reduce(%e init: %zero) applies stablehlo.add across dimensions = [2] : ({s}, tensor<f32>) -> {r}
         %nb = stablehlo.broadcast_in_dim %n, dims = [0, 1] : ({r}) -> {s}
         %f = stablehlo.divide %e, %nb : {s}
         %o = stablehlo.dot_general %f, %q, batching_dims = [0] x [0], contracting_dims = [2] x [1] : ({s}, {x}) -> {x}
         %r = stablehlo.reshape %o : ({x}) -> tensor<512x96xf32>",
        s_bool = s.replace("f32", "i1"),
    )
}

#[test]
fn rows_go_through_the_products_of_an_attention() {
    for batches in [1, 2, 4] {
        // With several batches the mask is stored in memory.
        let found = chains(&attention(batches));
        if several_threads() {
            assert_eq!(found.len(), 1, "{batches}: {found:?}");
            assert!(found[0] >= 5, "{batches}: {found:?}");
        }
    }
}

#[test]
fn a_scalar_between_kernels_ends_no_chain() {
    let found = chains(
        "%zero = stablehlo.constant dense<0.0> : tensor<f32>
         %count = stablehlo.reduce(%x init: %zero) applies stablehlo.maximum across dimensions = [0, 1] : (tensor<512x96xf32>, tensor<f32>) -> tensor<f32>
         %s = stablehlo.reduce(%x init: %zero) applies stablehlo.add across dimensions = [1] : (tensor<512x96xf32>, tensor<f32>) -> tensor<512xf32>
         %root = stablehlo.sqrt %count : tensor<f32>
         %more = stablehlo.exponential %root : tensor<f32>
         %mb = stablehlo.broadcast_in_dim %more, dims = [] : (tensor<f32>) -> tensor<512x96xf32>
         %sb = stablehlo.broadcast_in_dim %s, dims = [0] : (tensor<512xf32>) -> tensor<512x96xf32>
         %d = stablehlo.subtract %x, %sb : tensor<512x96xf32>
         %q = stablehlo.multiply %d, %d : tensor<512x96xf32>
         %v = stablehlo.reduce(%q init: %zero) applies stablehlo.add across dimensions = [1] : (tensor<512x96xf32>, tensor<f32>) -> tensor<512xf32>
         %vb = stablehlo.broadcast_in_dim %v, dims = [0] : (tensor<512xf32>) -> tensor<512x96xf32>
         %p = stablehlo.divide %x, %mb : tensor<512x96xf32>
         %r = stablehlo.add %p, %vb : tensor<512x96xf32>",
    );
    if several_threads() {
        assert_eq!(found, [3]);
    }
}

#[test]
fn rows_that_others_need_end_a_chain() {
    // Rows in reverse order, sums of columns, and a row moved by one.
    for ops in [
        "%q = stablehlo.divide %e, %sb : tensor<512x96xf32> %r = stablehlo.reverse %q, dims = [0] : tensor<512x96xf32>",
        "%q = stablehlo.divide %e, %sb : tensor<512x96xf32>
         %c = stablehlo.reduce(%q init: %zero) applies stablehlo.add across dimensions = [0] : (tensor<512x96xf32>, tensor<f32>) -> tensor<96xf32>
         %cb = stablehlo.broadcast_in_dim %c, dims = [1] : (tensor<96xf32>) -> tensor<512x96xf32>
         %r = stablehlo.subtract %q, %cb : tensor<512x96xf32>",
        "%first = stablehlo.slice %sb [0:1, 0:96] : (tensor<512x96xf32>) -> tensor<1x96xf32>
         %rest = stablehlo.slice %e [0:511, 0:96] : (tensor<512x96xf32>) -> tensor<511x96xf32>
         %moved = stablehlo.concatenate %first, %rest, dim = 0 : (tensor<1x96xf32>, tensor<511x96xf32>) -> tensor<512x96xf32>
         %r = stablehlo.divide %moved, %sb : tensor<512x96xf32>",
    ] {
        chains(&format!("{SOFTMAX} {ops}"));
    }
}
