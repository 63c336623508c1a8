// RUN: shardc opt --passes mpmd-assign %s
// RUN: shardc opt --passes mpmd-assign,mpmd-partition,mpmd-schedule{schedule=gpipe} %s
// RUN: shardc check --interpret %s
// A loop over four microbatches: every turn is a fragment a stage, and the stages of different turns run beside each other.
#topology = #mpmd.topology<<"m0": <["x"=1]>>, <"m1": <["x"=1]>>>
func.func @main(%x: tensor<4x8xf32>, %w: tensor<8x8xf32>, %v: tensor<8x8xf32>) -> tensor<8xf32> attributes {topology = #topology} {
  %zero = stablehlo.constant dense<0.000000e+00> : tensor<8xf32>
  %0:4 = mpmd.for (%zero, %x, %w, %v) {iterations = 4 : ui32} (%sum: tensor<8xf32>, %b: tensor<4x8xf32>, %c: tensor<8x8xf32>, %d: tensor<8x8xf32>, %i: tensor<ui32>) {
    %1 = stablehlo.constant dense<0> : tensor<ui32>
    %2 = stablehlo.dynamic_slice %b, %i, %1, sizes = [1, 8] : (tensor<4x8xf32>, tensor<ui32>, tensor<ui32>) -> tensor<1x8xf32>
    %3 = mpmd.named_computation<"s0"> (%2, %c) (%e: tensor<1x8xf32>, %f: tensor<8x8xf32>) {
      %7 = stablehlo.dot_general %e, %f, contracting_dims = [1] x [0] : (tensor<1x8xf32>, tensor<8x8xf32>) -> tensor<1x8xf32>
      mpmd.return %7 : tensor<1x8xf32>
    } : (tensor<1x8xf32>, tensor<8x8xf32>) -> tensor<1x8xf32>
    %4 = mpmd.named_computation<"s1"> (%3, %d) (%e: tensor<1x8xf32>, %f: tensor<8x8xf32>) {
      %7 = stablehlo.dot_general %e, %f, contracting_dims = [1] x [0] : (tensor<1x8xf32>, tensor<8x8xf32>) -> tensor<1x8xf32>
      mpmd.return %7 : tensor<1x8xf32>
    } : (tensor<1x8xf32>, tensor<8x8xf32>) -> tensor<1x8xf32>
    %5 = stablehlo.reshape %4 : (tensor<1x8xf32>) -> tensor<8xf32>
    %6 = stablehlo.add %sum, %5 : tensor<8xf32>
    mpmd.return %6, %b, %c, %d : tensor<8xf32>, tensor<4x8xf32>, tensor<8x8xf32>, tensor<8x8xf32>
  } : tensor<8xf32>, tensor<4x8xf32>, tensor<8x8xf32>, tensor<8x8xf32>
  return %0#0 : tensor<8xf32>
}
