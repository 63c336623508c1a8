// RUN: not shardc run --interpret %s
// RUN: not shardc check --interpret %s
// RUN: shardc cost %s
// Infeed takes data from a host that a simulated run doesn't have; what goes to the outfeed is left out.
func.func @main(%x: tensor<8xf32>) -> tensor<8xf32> {
  %t = stablehlo.create_token : !stablehlo.token
  %in:2 = "stablehlo.infeed"(%t) <{infeed_config = ""}> : (!stablehlo.token) -> (tensor<8xf32>, !stablehlo.token)
  %sum = stablehlo.add %x, %in#0 : tensor<8xf32>
  %out = "stablehlo.outfeed"(%sum, %in#1) <{outfeed_config = ""}> : (tensor<8xf32>, !stablehlo.token) -> !stablehlo.token
  return %sum : tensor<8xf32>
}
