// RUN: not shardc compile %s
// Pairs of a permute by axes of a mesh: each of these names something that doesn't exist, or axes that overlap.
module attributes {mhlo.num_partitions = 8 : i32} {
  func.func @main(%a: tensor<4xi32>) -> tensor<4xi32> {
    %0 = "stablehlo.collective_permute"(%a) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, source_target_pairs = #shardc.permutation<mesh = #stablehlo.mesh<axes = [#stablehlo.mesh_axis<name = "x", size = 2>, #stablehlo.mesh_axis<name = "y", size = 4>]>, from = [#stablehlo.axis_ref<name = "y">], to = [#stablehlo.axis_ref<name = "x">]>}> : (tensor<4xi32>) -> tensor<4xi32>
    %1 = "stablehlo.collective_permute"(%0) <{channel_handle = #stablehlo.channel_handle<handle = 2, type = 1>, source_target_pairs = #shardc.permutation<mesh = #stablehlo.mesh<axes = [#stablehlo.mesh_axis<name = "x", size = 8>]>, from = [#stablehlo.axis_ref<name = "x">], to = [#stablehlo.axis_ref<name = "x">], along = [#stablehlo.axis_ref<name = "x">, #stablehlo.axis_ref<name = "x">], shift = 1>}> : (tensor<4xi32>) -> tensor<4xi32>
    %2 = "stablehlo.collective_permute"(%1) <{channel_handle = #stablehlo.channel_handle<handle = 3, type = 1>, source_target_pairs = #shardc.pairs<mesh = #stablehlo.mesh<axes = [#stablehlo.mesh_axis<name = "x", size = 8>]>, axes = [#stablehlo.axis_ref<name = "x">], runs = dense<[[0, 1, 1, 1, 9]]> : tensor<1x5xi64>>}> : (tensor<4xi32>) -> tensor<4xi32>
    return %2 : tensor<4xi32>
  }
}
