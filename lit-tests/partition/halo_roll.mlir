// RUN: shardc compile --emit stablehlo %s
// A roll is one permute of one row around the ring.
sdy.mesh @mesh = <["x"=4]>
func.func @main(%a: tensor<524288xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}]>}) -> (tensor<524288xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}]>}) {
  %0 = stablehlo.slice %a [524287:524288] : (tensor<524288xf32>) -> tensor<1xf32>
  %1 = stablehlo.slice %a [0:524287] : (tensor<524288xf32>) -> tensor<524287xf32>
  %2 = stablehlo.concatenate %0, %1, dim = 0 : (tensor<1xf32>, tensor<524287xf32>) -> tensor<524288xf32>
  return %2 : tensor<524288xf32>
}
