// RUN: shardc compile --emit manual %s
// RUN: shardc check --interpret %s
// Both starts are out of range, and a transpose between the windows doesn't keep XLA from joining them: the barrier does.
// A branch has a barrier of its own.
sdy.mesh @mesh = <["x"=2]>
func.func @main(%a: tensor<4x10xi32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}, %i: tensor<i32>) -> (tensor<2x4xi32>, tensor<1x4xi32>) {
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %nine = stablehlo.constant dense<9> : tensor<i32>
  %seven = stablehlo.constant dense<7> : tensor<i32>
  %0 = stablehlo.dynamic_slice %a, %zero, %nine, sizes = [4, 5] : (tensor<4x10xi32>, tensor<i32>, tensor<i32>) -> tensor<4x5xi32>
  %1 = stablehlo.transpose %0, dims = [1, 0] : (tensor<4x5xi32>) -> tensor<5x4xi32>
  %2 = stablehlo.dynamic_slice %1, %seven, %zero, sizes = [2, 4] : (tensor<5x4xi32>, tensor<i32>, tensor<i32>) -> tensor<2x4xi32>
  %3 = "stablehlo.case"(%i) ({
    %4 = stablehlo.dynamic_slice %1, %seven, %zero, sizes = [1, 4] : (tensor<5x4xi32>, tensor<i32>, tensor<i32>) -> tensor<1x4xi32>
    stablehlo.return %4 : tensor<1x4xi32>
  }, {
    %5 = stablehlo.dynamic_slice %2, %nine, %zero, sizes = [1, 4] : (tensor<2x4xi32>, tensor<i32>, tensor<i32>) -> tensor<1x4xi32>
    stablehlo.return %5 : tensor<1x4xi32>
  }) : (tensor<i32>) -> tensor<1x4xi32>
  return %2, %3 : tensor<2x4xi32>, tensor<1x4xi32>
}
