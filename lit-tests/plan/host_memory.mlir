// RUN: shardc compile --emit sdy %s
// RUN: shardc cost --target v5e:2x4 %s
// Weights in the host's memory, which JAX constrains before it copies them: each device copies its shard, and then they send each other theirs, since there are no collectives in the host's memory.
sdy.mesh @mesh = <["d"=8]>
func.func @main(%w: tensor<1024x1024xf32> {mhlo.memory_kind = "pinned_host", sdy.sharding = #sdy.sharding<@mesh, [{"d"}, {}]>}, %x: tensor<8192x1024xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"d"}, {}]>}) -> (tensor<8192x1024xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"d"}, {}]>}) {
  %0 = sdy.sharding_constraint %w <@mesh, [{}, {}]> : tensor<1024x1024xf32>
  %1 = stablehlo.custom_call @annotate_device_placement(%0) {has_side_effect = true, mhlo.frontend_attributes = {_xla_buffer_placement = "device"}} : (tensor<1024x1024xf32>) -> tensor<1024x1024xf32>
  %2 = stablehlo.dot_general %x, %1, contracting_dims = [1] x [0] : (tensor<8192x1024xf32>, tensor<1024x1024xf32>) -> tensor<8192x1024xf32>
  return %2 : tensor<8192x1024xf32>
}
