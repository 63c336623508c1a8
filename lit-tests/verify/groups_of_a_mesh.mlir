// RUN: not shardc opt %s
// Groups are along axes of a mesh that is there.
sdy.mesh @mesh = <["x"=2]>
func.func @main(%a: tensor<4xi32>) -> tensor<4xi32> {
  %0 = "stablehlo.all_gather"(%a) <{all_gather_dim = 0 : i64, replica_groups = #stablehlo.replica_group_mesh_axes<mesh = @mash, axes = [#stablehlo.axis_ref<name = "x">]>}> : (tensor<4xi32>) -> tensor<4xi32>
  %1 = "stablehlo.all_gather"(%0) <{all_gather_dim = 0 : i64, replica_groups = #stablehlo.replica_group_mesh_axes<mesh = @mesh, axes = [#stablehlo.axis_ref<name = "y">]>}> : (tensor<4xi32>) -> tensor<4xi32>
  %2 = "stablehlo.all_gather"(%1) <{all_gather_dim = 0 : i64, replica_groups = #stablehlo.replica_group_mesh_axes<mesh = @mesh, axes = [#stablehlo.axis_ref<name = "x", sub_axis_info = (2)2>]>}> : (tensor<4xi32>) -> tensor<4xi32>
  return %2 : tensor<4xi32>
}
