// RUN: shardc compile %s
// A shift that is larger than the axis goes around it.
module attributes {mhlo.num_partitions = 4 : i32} {
  func.func @main(%a: tensor<4xi32>) -> tensor<4xi32> {
    %0 = "stablehlo.collective_permute"(%a) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, source_target_pairs = #shardc.permutation<mesh = #stablehlo.mesh<axes = [#stablehlo.mesh_axis<name = "x", size = 4>]>, from = [#stablehlo.axis_ref<name = "x">], to = [#stablehlo.axis_ref<name = "x">], along = [#stablehlo.axis_ref<name = "x">], shift = 9223372036854775805>}> : (tensor<4xi32>) -> tensor<4xi32>
    return %0 : tensor<4xi32>
  }
}
