// RUN: shardc opt --passes mpmd-assign,mpmd-partition,mpmd-schedule{schedule=gpipe} %s
// RUN: shardc opt --passes mpmd-assign,mpmd-partition,mpmd-schedule{schedule=1f1b} %s
// Two stages, forward and backward, four microbatches: with gpipe a mesh runs its four forward computations first, with 1f1b the
// second mesh one forward and one backward in turn, and the first has at most two under way.
func.func @main(%x: tensor<16x64xf32>, %w0: tensor<64x64xf32>, %w1: tensor<64x64xf32>) -> (tensor<64x64xf32>, tensor<64x64xf32>) attributes {topology = #mpmd.topology<<"m0": <["x"=2]>>, <"m1": <["x"=2]>>>} {
  %g0:2 = mpmd.call @step(%x, %w0, %w1) {call_counter = 0 : ui32} : (tensor<16x64xf32>, tensor<64x64xf32>, tensor<64x64xf32>) -> (tensor<64x64xf32>, tensor<64x64xf32>)
  %g1:2 = mpmd.call @step(%x, %w0, %w1) {call_counter = 1 : ui32} : (tensor<16x64xf32>, tensor<64x64xf32>, tensor<64x64xf32>) -> (tensor<64x64xf32>, tensor<64x64xf32>)
  %g2:2 = mpmd.call @step(%x, %w0, %w1) {call_counter = 2 : ui32} : (tensor<16x64xf32>, tensor<64x64xf32>, tensor<64x64xf32>) -> (tensor<64x64xf32>, tensor<64x64xf32>)
  %g3:2 = mpmd.call @step(%x, %w0, %w1) {call_counter = 3 : ui32} : (tensor<16x64xf32>, tensor<64x64xf32>, tensor<64x64xf32>) -> (tensor<64x64xf32>, tensor<64x64xf32>)
  %s0_1 = stablehlo.add %g0#0, %g1#0 : tensor<64x64xf32>
  %s0_2 = stablehlo.add %s0_1, %g2#0 : tensor<64x64xf32>
  %s0_3 = stablehlo.add %s0_2, %g3#0 : tensor<64x64xf32>
  %s1_1 = stablehlo.add %g0#1, %g1#1 : tensor<64x64xf32>
  %s1_2 = stablehlo.add %s1_1, %g2#1 : tensor<64x64xf32>
  %s1_3 = stablehlo.add %s1_2, %g3#1 : tensor<64x64xf32>
  return %s0_3, %s1_3 : tensor<64x64xf32>, tensor<64x64xf32>
}
func.func private @step(%x: tensor<16x64xf32>, %w0: tensor<64x64xf32>, %w1: tensor<64x64xf32>) -> (tensor<64x64xf32>, tensor<64x64xf32>) {
  %a = mpmd.named_computation<"s0"> (%x, %w0) (%p: tensor<16x64xf32>, %q: tensor<64x64xf32>) {
    %r = stablehlo.dot_general %p, %q, contracting_dims = [1] x [0] : (tensor<16x64xf32>, tensor<64x64xf32>) -> tensor<16x64xf32>
    mpmd.return %r : tensor<16x64xf32>
  } : (tensor<16x64xf32>, tensor<64x64xf32>) -> tensor<16x64xf32>
  %b = mpmd.named_computation<"s1"> (%a, %w1) (%p: tensor<16x64xf32>, %q: tensor<64x64xf32>) {
    %r = stablehlo.dot_general %p, %q, contracting_dims = [1] x [0] : (tensor<16x64xf32>, tensor<64x64xf32>) -> tensor<16x64xf32>
    mpmd.return %r : tensor<16x64xf32>
  } : (tensor<16x64xf32>, tensor<64x64xf32>) -> tensor<16x64xf32>
  %d:2 = mpmd.named_computation<"s1"(1)> (%a, %b, %w1) (%p: tensor<16x64xf32>, %o: tensor<16x64xf32>, %q: tensor<64x64xf32>) {
    %r = stablehlo.dot_general %p, %o, contracting_dims = [0] x [0] : (tensor<16x64xf32>, tensor<16x64xf32>) -> tensor<64x64xf32>
    %t = stablehlo.dot_general %o, %q, contracting_dims = [1] x [1] : (tensor<16x64xf32>, tensor<64x64xf32>) -> tensor<16x64xf32>
    mpmd.return %r, %t : tensor<64x64xf32>, tensor<16x64xf32>
  } : (tensor<16x64xf32>, tensor<16x64xf32>, tensor<64x64xf32>) -> (tensor<64x64xf32>, tensor<16x64xf32>)
  %e = mpmd.named_computation<"s0"(1)> (%x, %d#1) (%p: tensor<16x64xf32>, %o: tensor<16x64xf32>) {
    %r = stablehlo.dot_general %p, %o, contracting_dims = [0] x [0] : (tensor<16x64xf32>, tensor<16x64xf32>) -> tensor<64x64xf32>
    mpmd.return %r : tensor<64x64xf32>
  } : (tensor<16x64xf32>, tensor<16x64xf32>) -> tensor<64x64xf32>
  return %e, %d#0 : tensor<64x64xf32>, tensor<64x64xf32>
}
