// RUN: shardc run %s
// RUN: shardc run --interpret %s
// RUN: shardc check %s
// What goes to the outfeed, or to the host by send, is left out of a run, natively and by the evaluator.
func.func @main(%x: tensor<8xf32>) -> tensor<8xf32> {
  %t = stablehlo.create_token : !stablehlo.token
  %sum = stablehlo.add %x, %x : tensor<8xf32>
  %out = "stablehlo.outfeed"(%sum, %t) <{outfeed_config = ""}> : (tensor<8xf32>, !stablehlo.token) -> !stablehlo.token
  %sent = "stablehlo.send"(%x, %out) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 2>, is_host_transfer = true}> : (tensor<8xf32>, !stablehlo.token) -> !stablehlo.token
  return %sum : tensor<8xf32>
}
