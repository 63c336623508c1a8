// RUN: shardc compile --emit sdy %s
// RUN: shardc check --interpret %s
// Gradients of microbatches are added up as partial sums and combined once after the loop, whatever they begin with and though two
// parts are taken off and added in each iteration.
sdy.mesh @mesh = <["x"=4]>
func.func @main(%w: tensor<16x8xi32>, %batch: tensor<3x8x16xi32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"x"}, {}]>}, %begin: tensor<8x16xi32>)
    -> (tensor<8x16xi32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {}]>}) {
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %0:4 = stablehlo.while(%i = %zero, %xs = %batch, %ws = %w, %sum = %begin) : tensor<i32>, tensor<3x8x16xi32>, tensor<16x8xi32>, tensor<8x16xi32>
  cond {
    %n = stablehlo.constant dense<3> : tensor<i32>
    %1 = stablehlo.compare LT, %i, %n, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %1 : tensor<i1>
  } do {
    %none = stablehlo.constant dense<0> : tensor<i32>
    %one = stablehlo.constant dense<1> : tensor<i32>
    %1 = stablehlo.dynamic_slice %xs, %i, %none, %none, sizes = [1, 8, 16] : (tensor<3x8x16xi32>, tensor<i32>, tensor<i32>, tensor<i32>) -> tensor<1x8x16xi32>
    %x = stablehlo.reshape %1 : (tensor<1x8x16xi32>) -> tensor<8x16xi32>
    %y = stablehlo.dot_general %x, %ws, contracting_dims = [1] x [0] : (tensor<8x16xi32>, tensor<16x8xi32>) -> tensor<8x8xi32>
    %g = stablehlo.dot_general %y, %x, contracting_dims = [0] x [0] : (tensor<8x8xi32>, tensor<8x16xi32>) -> tensor<8x16xi32>
    %h = stablehlo.dot_general %x, %y, contracting_dims = [0] x [0] : (tensor<8x16xi32>, tensor<8x8xi32>) -> tensor<16x8xi32>
    %t = stablehlo.transpose %h, dims = [1, 0] : (tensor<16x8xi32>) -> tensor<8x16xi32>
    %2 = stablehlo.subtract %sum, %g : tensor<8x16xi32>
    %3 = stablehlo.add %t, %2 : tensor<8x16xi32>
    %6 = stablehlo.add %i, %one : tensor<i32>
    stablehlo.return %6, %xs, %ws, %3 : tensor<i32>, tensor<3x8x16xi32>, tensor<16x8xi32>, tensor<8x16xi32>
  }
  return %0#3 : tensor<8x16xi32>
}
