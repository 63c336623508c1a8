// RUN: not shardc compile %s
// A memory that isn't known is never taken for the device's.
func.func @main(%a: tensor<4xf32> {mhlo.memory_kind = "vault"}, %b: tensor<4xf32> {mhlo.memory_kind = 5 : i32}) -> (tensor<4xf32> {mhlo.memory_kind = "disk"}) {
  %0 = stablehlo.custom_call @annotate_device_placement(%a) {mhlo.frontend_attributes = {_xla_buffer_placement = "tape"}} : (tensor<4xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}
