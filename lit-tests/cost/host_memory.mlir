// RUN: shardc cost --target v5e:2x4 %s
// RUN: shardc cost --target v5e:2x4 --json %s
// RUN: shardc cost --target h100:8 --deny memory --memory 5GiB %s
// RUN: shardc compile %s
// Of an optimizer's state in the host's memory a device holds the copy, and what is made of it takes its place: 4 GiB of 8. Copies go over PCIe, each in its own direction.
sdy.mesh @mesh = <["d"=8]>
func.func @main(%m: tensor<65536x65536xf32> {mhlo.memory_kind = "pinned_host", sdy.sharding = #sdy.sharding<@mesh, [{"d"}, {}]>}, %g: tensor<65536x65536xf32> {mhlo.memory_kind = "device", sdy.sharding = #sdy.sharding<@mesh, [{"d"}, {}]>}) -> (tensor<65536x65536xf32> {mhlo.memory_kind = "pinned_host", sdy.sharding = #sdy.sharding<@mesh, [{"d"}, {}]>}) {
  %0 = stablehlo.custom_call @annotate_device_placement(%m) {has_side_effect = true, mhlo.frontend_attributes = {_xla_buffer_placement = "device"}} : (tensor<65536x65536xf32>) -> tensor<65536x65536xf32>
  %1 = stablehlo.add %0, %g : tensor<65536x65536xf32>
  %2 = stablehlo.custom_call @annotate_device_placement(%1) {has_side_effect = true, mhlo.frontend_attributes = {_xla_buffer_placement = "pinned_host"}} : (tensor<65536x65536xf32>) -> tensor<65536x65536xf32>
  return %2 : tensor<65536x65536xf32>
}
