// RUN: shardc opt --passes cse %s
// RUN: shardc run %s
// Regions are equal whatever their values are called: one of the two sums goes, and one of the two loops. A difference of
// another order of operands stays.
func.func @main(%x: tensor<2x3xf32>) -> (tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<i32>, tensor<i32>) {
  %z = stablehlo.constant dense<0.0> : tensor<f32>
  %0 = "stablehlo.reduce"(%x, %z) <{dimensions = array<i64: 1>}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %s = stablehlo.subtract %a, %b : tensor<f32>
    stablehlo.return %s : tensor<f32>
  }) : (tensor<2x3xf32>, tensor<f32>) -> tensor<2xf32>
  %1 = "stablehlo.reduce"(%x, %z) <{dimensions = array<i64: 1>}> ({
  ^bb0(%sum: tensor<f32>, %element: tensor<f32>):
    %next = stablehlo.subtract %sum, %element : tensor<f32>
    stablehlo.return %next : tensor<f32>
  }) : (tensor<2x3xf32>, tensor<f32>) -> tensor<2xf32>
  %2 = "stablehlo.reduce"(%x, %z) <{dimensions = array<i64: 1>}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %s = stablehlo.subtract %b, %a : tensor<f32>
    stablehlo.return %s : tensor<f32>
  }) : (tensor<2x3xf32>, tensor<f32>) -> tensor<2xf32>
  %c = stablehlo.constant dense<1> : tensor<i32>
  %n = stablehlo.constant dense<9> : tensor<i32>
  %3 = stablehlo.while(%i = %c) : tensor<i32>
  cond {
    %less = stablehlo.compare LT, %i, %n : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %less : tensor<i1>
  } do {
    %next = stablehlo.add %i, %i : tensor<i32>
    stablehlo.return %next : tensor<i32>
  }
  %4 = stablehlo.while(%count = %c) : tensor<i32>
  cond {
    %goes_on = stablehlo.compare LT, %count, %n : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %goes_on : tensor<i1>
  } do {
    %twice = stablehlo.add %count, %count : tensor<i32>
    stablehlo.return %twice : tensor<i32>
  }
  return %0, %1, %2, %3, %4 : tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<i32>, tensor<i32>
}
