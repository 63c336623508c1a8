// RUN: shardc compile %s | shardc compile -
// RUN: shardc run --interpret %s
// RUN: shardc compile %s | shardc run --interpret -
// What was partitioned stays as it is, with its global signature.
sdy.mesh @mesh = <["x"=2]>
func.func @main(%a: tensor<4xi32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}]>}) -> (tensor<4xi32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}]>}, tensor<i32>) {
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %0 = stablehlo.add %a, %a : tensor<4xi32>
  %1 = stablehlo.reduce(%a init: %zero) applies stablehlo.add across dimensions = [0] : (tensor<4xi32>, tensor<i32>) -> tensor<i32>
  return %0, %1 : tensor<4xi32>, tensor<i32>
}
