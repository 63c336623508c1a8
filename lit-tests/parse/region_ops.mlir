// RUN: shardc opt %s
// Ops with regions: loops, branches, reductions, manual computations.
sdy.mesh @mesh = <["x"=2]>
func.func @main(%a: tensor<8xf32>, %n: tensor<i32>, %p: tensor<i1>) -> tensor<f32> {
  %one = stablehlo.constant dense<1> : tensor<i32>
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %w:2 = stablehlo.while(%i = %n, %acc = %a) : tensor<i32>, tensor<8xf32>
  cond {
    %c = stablehlo.compare GT, %i, %one : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %c : tensor<i1>
  } do {
    %next = stablehlo.subtract %i, %one : tensor<i32>
    %twice = stablehlo.add %acc, %acc : tensor<8xf32>
    stablehlo.return %next, %twice : tensor<i32>, tensor<8xf32>
  }
  %r = "stablehlo.if"(%p) ({
    stablehlo.return %w#1 : tensor<8xf32>
  }, {
    stablehlo.return %a : tensor<8xf32>
  }) : (tensor<i1>) -> tensor<8xf32>
  %m = sdy.manual_computation(%r) in_shardings=[<@mesh, [{"x"}]>] out_shardings=[<@mesh, [{"x"}]>] manual_axes={"x"} (%local: tensor<4xf32>) {
    %s = stablehlo.negate %local : tensor<4xf32>
    sdy.return %s : tensor<4xf32>
  } : (tensor<8xf32>) -> tensor<8xf32>
  %sum = stablehlo.reduce(%m init: %zero) applies stablehlo.add across dimensions = [0] : (tensor<8xf32>, tensor<f32>) -> tensor<f32>
  return %sum : tensor<f32>
}
