// RUN: shardc opt --passes compile %s
// A function that a custom call names stays; one that only calls named, which are inlined, goes.

sdy.mesh @mesh = <["x"=2]>

func.func private @named(%a: tensor<4xf32>) -> tensor<4xf32> {
  %0 = stablehlo.negate %a : tensor<4xf32>
  return %0 : tensor<4xf32>
}

func.func private @called(%a: tensor<4xf32>) -> tensor<4xf32> {
  %0 = stablehlo.sine %a : tensor<4xf32>
  return %0 : tensor<4xf32>
}

func.func @main(%a: tensor<4xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}]>}) -> tensor<4xf32> {
  %0 = call @called(%a) : (tensor<4xf32>) -> tensor<4xf32>
  %1 = stablehlo.custom_call @target(%0) {called_computations = [@named]} : (tensor<4xf32>) -> tensor<4xf32>
  return %1 : tensor<4xf32>
}
