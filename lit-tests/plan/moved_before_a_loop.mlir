// RUN: shardc check %s
// RUN: shardc compile %s
// What a loop passes on unchanged is gathered once, before it.
sdy.mesh @mesh = <["x"=4]>
func.func @main(%a: tensor<8x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}, %h: tensor<4x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}) -> (tensor<4x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}) {
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %0:3 = stablehlo.while(%w = %a, %i = %zero, %g = %h) : tensor<8x8xf32>, tensor<i32>, tensor<4x8xf32>
  cond {
    %n = stablehlo.constant dense<6> : tensor<i32>
    %1 = stablehlo.compare LT, %i, %n, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %1 : tensor<i1>
  } do {
    %one = stablehlo.constant dense<1> : tensor<i32>
    %1 = stablehlo.dot_general %g, %w, contracting_dims = [1] x [0] : (tensor<4x8xf32>, tensor<8x8xf32>) -> tensor<4x8xf32>
    %2 = stablehlo.tanh %1 : tensor<4x8xf32>
    %3 = stablehlo.add %i, %one : tensor<i32>
    stablehlo.return %w, %3, %2 : tensor<8x8xf32>, tensor<i32>, tensor<4x8xf32>
  }
  return %0#2 : tensor<4x8xf32>
}
