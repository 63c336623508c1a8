// RUN: not shardc compile %s
// Neither the module nor a mesh says how many devices there are, and the collective names four.
func.func @main(%a: tensor<16xf32>) -> tensor<64xf32> {
  %0 = "stablehlo.all_gather"(%a) <{all_gather_dim = 0 : i64, channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, replica_groups = dense<[[0, 1, 2, 3]]> : tensor<1x4xi64>, use_global_device_ids}> : (tensor<16xf32>) -> tensor<64xf32>
  return %0 : tensor<64xf32>
}
