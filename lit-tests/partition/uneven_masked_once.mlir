// RUN: shardc check --interpret %s
// RUN: shardc compile --emit stablehlo %s
// Two sums share one mask. What was padded with zeros needs none, nor does its double: zeros stay zeros.
sdy.mesh @mesh = <["x"=4]>
func.func @main(%a: tensor<10x3xi32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}, %b: tensor<10xi32>) -> (tensor<3xi32>, tensor<i32>, tensor<i32>) {
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %0 = stablehlo.reduce(%a init: %zero) applies stablehlo.add across dimensions = [0] : (tensor<10x3xi32>, tensor<i32>) -> tensor<3xi32>
  %1 = stablehlo.reduce(%a init: %zero) applies stablehlo.add across dimensions = [0, 1] : (tensor<10x3xi32>, tensor<i32>) -> tensor<i32>
  %2 = sdy.sharding_constraint %b <@mesh, [{"x"}]> : tensor<10xi32>
  %3 = stablehlo.add %2, %2 : tensor<10xi32>
  %4 = stablehlo.reduce(%3 init: %zero) applies stablehlo.add across dimensions = [0] : (tensor<10xi32>, tensor<i32>) -> tensor<i32>
  return %0, %1, %4 : tensor<3xi32>, tensor<i32>, tensor<i32>
}
