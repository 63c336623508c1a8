// RUN: shardc check --interpret %s
// Sums and maxima of ten elements on four devices, with integers that must agree exactly.
sdy.mesh @mesh = <["x"=4]>
func.func @main(%a: tensor<10x3xi32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}) -> (tensor<3xi32>, tensor<3xi32>) {
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %low = stablehlo.constant dense<-2147483648> : tensor<i32>
  %0 = stablehlo.reduce(%a init: %zero) applies stablehlo.add across dimensions = [0] : (tensor<10x3xi32>, tensor<i32>) -> tensor<3xi32>
  %1 = stablehlo.negate %a : tensor<10x3xi32>
  %2 = stablehlo.reduce(%1 init: %low) applies stablehlo.maximum across dimensions = [0] : (tensor<10x3xi32>, tensor<i32>) -> tensor<3xi32>
  return %0, %2 : tensor<3xi32>, tensor<3xi32>
}
