// RUN: shardc opt --passes import --groups axes %s
// RUN: shardc compile --groups axes %s
// RUN: shardc compile %s
// Groups given by axes of a mesh stay axes to the end, where they are printed as such or as lists; they take the mesh with them, since
// later passes may drop its name.

sdy.mesh @mesh = <["x"=2, "y"=4]>

func.func @main(%b: tensor<2xi32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}]>}) -> tensor<2xi32> {
  %r = sdy.manual_computation(%b) in_shardings=[<@mesh, [{"x"}]>] out_shardings=[<@mesh, [{"x"}]>] manual_axes={"x", "y"} (%a: tensor<1xi32>) {
    %0 = "stablehlo.all_reduce"(%a) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, replica_groups = #stablehlo.replica_group_mesh_axes<mesh = @mesh, axes = [#stablehlo.axis_ref<name = "x">, #stablehlo.axis_ref<name = "y", sub_axis_info = (1)2>]>, use_global_device_ids}> ({
    ^bb0(%p: tensor<i32>, %q: tensor<i32>):
      %s = stablehlo.add %p, %q : tensor<i32>
      stablehlo.return %s : tensor<i32>
    }) : (tensor<1xi32>) -> tensor<1xi32>
    // A mesh of its own, whose devices stand in another order.
    %1 = "stablehlo.all_gather"(%0) <{all_gather_dim = 0 : i64, channel_handle = #stablehlo.channel_handle<handle = 2, type = 1>, replica_groups = #stablehlo.replica_group_mesh_axes<mesh = #stablehlo.mesh<axes = [#stablehlo.mesh_axis<name = "u", size = 8>], device_ids = dense<[7, 6, 5, 4, 3, 2, 1, 0]> : tensor<8xi64>>, axes = [#stablehlo.axis_ref<name = "u", sub_axis_info = (4)2>]>, use_global_device_ids}> : (tensor<1xi32>) -> tensor<2xi32>
    %2 = stablehlo.slice %1 [1:2] : (tensor<2xi32>) -> tensor<1xi32>
    sdy.return %2 : tensor<1xi32>
  } : (tensor<2xi32>) -> tensor<2xi32>
  return %r : tensor<2xi32>
}
