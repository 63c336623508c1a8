// RUN: shardc cost %s
// RUN: shardc check --interpret %s
// Asked for: gradients of microbatches added up on each device and summed over devices once, after the loop, and a budget that says
// so, since the only symptom is traffic (AI-Hypercomputer/maxtext#5056, #5099).
// shardc: expect all_reduce <= 1
sdy.mesh @mesh = <["x"=8]>
func.func @main(%w: tensor<32x16xi32>, %batches: tensor<4x128x32xi32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"x"}, {}]>}) -> (tensor<32x16xi32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {}]>}) {
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %one = stablehlo.constant dense<1> : tensor<i32>
  %four = stablehlo.constant dense<4> : tensor<i32>
  %none = stablehlo.constant dense<0> : tensor<32x16xi32>
  %r:2 = stablehlo.while(%i = %zero, %sum = %none) : tensor<i32>, tensor<32x16xi32>
   cond {
    %go = stablehlo.compare LT, %i, %four : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %go : tensor<i1>
  } do {
    %d = stablehlo.dynamic_slice %batches, %i, %zero, %zero, sizes = [1, 128, 32] : (tensor<4x128x32xi32>, tensor<i32>, tensor<i32>, tensor<i32>) -> tensor<1x128x32xi32>
    %x = stablehlo.reshape %d : (tensor<1x128x32xi32>) -> tensor<128x32xi32>
    %y = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0] : (tensor<128x32xi32>, tensor<32x16xi32>) -> tensor<128x16xi32>
    %g = stablehlo.dot_general %x, %y, contracting_dims = [0] x [0] : (tensor<128x32xi32>, tensor<128x16xi32>) -> tensor<32x16xi32>
    %s = stablehlo.add %sum, %g : tensor<32x16xi32>
    %n = stablehlo.add %i, %one : tensor<i32>
    stablehlo.return %n, %s : tensor<i32>, tensor<32x16xi32>
  }
  return %r#1 : tensor<32x16xi32>
}
