// RUN: shardc compile %s
// A function that an op only names runs where that op says: its collective's devices are not those of the module.
func.func @f(%a: tensor<2xf32>) -> tensor<2xf32> {
  %0 = "stablehlo.collective_permute"(%a) <{source_target_pairs = dense<[[0, 1]]> : tensor<1x2xi64>}> : (tensor<2xf32>) -> tensor<2xf32>
  return %0 : tensor<2xf32>
}
func.func @main(%a: tensor<2xf32>) -> tensor<2xf32> {
  %0 = stablehlo.custom_call @foo(%a) {called_computations = [@f]} : (tensor<2xf32>) -> tensor<2xf32>
  return %0 : tensor<2xf32>
}
