// RUN: shardc opt --passes mpmd-microbatch{microbatches=2},cse %s
// RUN: shardc check --interpret --microbatches 4 %s
// RUN: shardc check --interpret --microbatches auto %s
// A training step of a whole batch, cut into microbatches: gradients and the loss are added up, the output is put together,
// the weights' update is done once.
func.func @main(%x: tensor<8x4xi32>, %target: tensor<8x4xi32>, %w0: tensor<4x4xi32>, %w1: tensor<4x4xi32>) -> (tensor<8x4xi32>, tensor<i32>, tensor<4x4xi32>, tensor<4x4xi32>) attributes {topology = #mpmd.topology<<"m0": <["x"=2]>>, <"m1": <["x"=2]>>>} {
  %a = mpmd.named_computation<"s0"> (%x, %w0) (%p: tensor<8x4xi32>, %q: tensor<4x4xi32>) {
    %zero = stablehlo.constant dense<0> : tensor<i32>
    %zeros = stablehlo.broadcast_in_dim %zero, dims = [] : (tensor<i32>) -> tensor<8x4xi32>
    %r = stablehlo.dot_general %p, %q, contracting_dims = [1] x [0] : (tensor<8x4xi32>, tensor<4x4xi32>) -> tensor<8x4xi32>
    %m = stablehlo.maximum %r, %zeros : tensor<8x4xi32>
    mpmd.return %m : tensor<8x4xi32>
  } : (tensor<8x4xi32>, tensor<4x4xi32>) -> tensor<8x4xi32>
  %y = mpmd.named_computation<"s1"> (%a, %w1) (%p: tensor<8x4xi32>, %q: tensor<4x4xi32>) {
    %r = stablehlo.dot_general %p, %q, contracting_dims = [1] x [0] : (tensor<8x4xi32>, tensor<4x4xi32>) -> tensor<8x4xi32>
    mpmd.return %r : tensor<8x4xi32>
  } : (tensor<8x4xi32>, tensor<4x4xi32>) -> tensor<8x4xi32>
  %d = stablehlo.subtract %y, %target : tensor<8x4xi32>
  %squares = stablehlo.multiply %d, %d : tensor<8x4xi32>
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %loss = stablehlo.reduce(%squares init: %zero) applies stablehlo.add across dimensions = [0, 1] : (tensor<8x4xi32>, tensor<i32>) -> tensor<i32>
  %g1:2 = mpmd.named_computation<"s1"(1)> (%a, %d, %w1) (%p: tensor<8x4xi32>, %o: tensor<8x4xi32>, %q: tensor<4x4xi32>) {
    %two = stablehlo.constant dense<2> : tensor<4x4xi32>
    %r = stablehlo.dot_general %p, %o, contracting_dims = [0] x [0] : (tensor<8x4xi32>, tensor<8x4xi32>) -> tensor<4x4xi32>
    %twice = stablehlo.multiply %r, %two : tensor<4x4xi32>
    %t = stablehlo.dot_general %o, %q, contracting_dims = [1] x [1] : (tensor<8x4xi32>, tensor<4x4xi32>) -> tensor<8x4xi32>
    mpmd.return %twice, %t : tensor<4x4xi32>, tensor<8x4xi32>
  } : (tensor<8x4xi32>, tensor<8x4xi32>, tensor<4x4xi32>) -> (tensor<4x4xi32>, tensor<8x4xi32>)
  %g0 = mpmd.named_computation<"s0"(1)> (%x, %g1#1) (%p: tensor<8x4xi32>, %o: tensor<8x4xi32>) {
    %r = stablehlo.dot_general %p, %o, contracting_dims = [0] x [0] : (tensor<8x4xi32>, tensor<8x4xi32>) -> tensor<4x4xi32>
    mpmd.return %r : tensor<4x4xi32>
  } : (tensor<8x4xi32>, tensor<8x4xi32>) -> tensor<4x4xi32>
  %new0 = stablehlo.subtract %w0, %g0 : tensor<4x4xi32>
  %new1 = stablehlo.subtract %w1, %g1#0 : tensor<4x4xi32>
  return %y, %loss, %new0, %new1 : tensor<8x4xi32>, tensor<i32>, tensor<4x4xi32>, tensor<4x4xi32>
}
