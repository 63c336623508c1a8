// RUN: not shardc opt --passes compile --verify-each %s
// Whoever runs a function that a custom call names has whole values, and one device.
sdy.mesh @mesh = <["x"=2]>
func.func private @named(%a: tensor<4xf32>) -> tensor<4xf32> {
  %0 = sdy.manual_computation(%a) in_shardings=[<@mesh, [{"x"}]>] out_shardings=[<@mesh, [{"x"}]>] manual_axes={"x"}
      (%shard: tensor<2xf32>) {
    %1 = stablehlo.negate %shard : tensor<2xf32>
    sdy.return %1 : tensor<2xf32>
  } : (tensor<4xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}
func.func @main(%a: tensor<4xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}]>}) -> tensor<4xf32> {
  %0 = stablehlo.custom_call @target(%a) {called_computations = [@named]} : (tensor<4xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}
