// RUN: shardc opt --passes import,propagate,plan %s
// RUN: shardc check --interpret %s
// Each device sorts its shard, and the three first of each are sorted again. Equal elements stay in order.
sdy.mesh @mesh = <["x"=4]>
func.func @main(%a: tensor<2x16384xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"x"}]>}) -> (tensor<2x3xf32>, tensor<2x3xi32>) {
  %four = stablehlo.constant dense<4.0> : tensor<2x16384xf32>
  %ties = stablehlo.multiply %a, %four : tensor<2x16384xf32>
  %whole = stablehlo.round_nearest_even %ties : tensor<2x16384xf32>
  %values, %indices = chlo.top_k(%whole, k = 3) : tensor<2x16384xf32> -> (tensor<2x3xf32>, tensor<2x3xi32>)
  return %values, %indices : tensor<2x3xf32>, tensor<2x3xi32>
}
