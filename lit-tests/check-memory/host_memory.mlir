// RUN: shardc compile --target v5e:2x2 --deny memory %s
// RUN: not shardc compile --target v5e:2x2 --deny memory --memory 3GiB %s
// 16 GiB of each shard of a table in the host's memory are none of the device's, which copies 4 GiB of it.
sdy.mesh @mesh = <["x"=4]>
func.func @main(%table: tensor<524288x65536xbf16> {mhlo.memory_kind = "pinned_host", sdy.sharding = #sdy.sharding<@mesh, [{}, {"x"}]>}) -> (tensor<131072x65536xbf16> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"x"}]>}) {
  %1 = stablehlo.slice %table [0:131072, 0:65536] : (tensor<524288x65536xbf16>) -> tensor<131072x65536xbf16>
  %2 = stablehlo.custom_call @annotate_device_placement(%1) {has_side_effect = true, mhlo.frontend_attributes = {_xla_buffer_placement = "device"}} : (tensor<131072x65536xbf16>) -> tensor<131072x65536xbf16>
  return %2 : tensor<131072x65536xbf16>
}
