// RUN: shardc check --interpret %s
// RUN: shardc compile %s
// Asked for: programs that are manual along some axes and automatic along others compile (jax-ml/jax#29162, openxla/xla#4340 abort).
sdy.mesh @mesh = <["x"=2, "y"=2]>
func.func @main(%a: tensor<8x8xi32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {"y"}]>}, %w: tensor<8x8xi32> {sdy.sharding = #sdy.sharding<@mesh, [{"y"}, {}]>}) -> tensor<8x8xi32> {
  %0 = sdy.manual_computation(%a, %w) in_shardings=[<@mesh, [{"x"}, {"y"}]>, <@mesh, [{"y"}, {}]>] out_shardings=[<@mesh, [{"x"}, {}]>] manual_axes={"x"} (%l: tensor<4x8xi32>, %v: tensor<8x8xi32>) {
    %1 = stablehlo.dot_general %l, %v, contracting_dims = [1] x [0] : (tensor<4x8xi32>, tensor<8x8xi32>) -> tensor<4x8xi32>
    %2 = "stablehlo.collective_permute"(%1) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, source_target_pairs = dense<[[0, 2], [1, 3], [2, 0], [3, 1]]> : tensor<4x2xi64>}> : (tensor<4x8xi32>) -> tensor<4x8xi32>
    sdy.return %2 : tensor<4x8xi32>
  } : (tensor<8x8xi32>, tensor<8x8xi32>) -> tensor<8x8xi32>
  return %0 : tensor<8x8xi32>
}
