// RUN: shardc check --edge-cases %s
// RUN: shardc check --edge-cases --seed 5 --interpret %s
// A maximum over NaN, a sort of equal values and a window whose position is out of range, all along a sharded dimension.
sdy.mesh @mesh = <["x"=4]>
func.func @main(%a: tensor<16xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}]>}, %k: tensor<16xi32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}]>}, %at: tensor<3xi32>) -> (tensor<f32>, tensor<16xi32>, tensor<16xf32>, tensor<3xf32>, tensor<4xf32>) {
  %low = stablehlo.constant dense<0xFF800000> : tensor<f32>
  %0 = stablehlo.reduce(%a init: %low) applies stablehlo.maximum across dimensions = [0] : (tensor<16xf32>, tensor<f32>) -> tensor<f32>
  %1:2 = "stablehlo.sort"(%k, %a) <{dimension = 0 : i64, is_stable = true}> ({
  ^bb0(%x: tensor<i32>, %y: tensor<i32>, %u: tensor<f32>, %v: tensor<f32>):
    %2 = stablehlo.compare LT, %x, %y : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %2 : tensor<i1>
  }) : (tensor<16xi32>, tensor<16xf32>) -> (tensor<16xi32>, tensor<16xf32>)
  %3 = stablehlo.reshape %at : (tensor<3xi32>) -> tensor<3x1xi32>
  %4 = "stablehlo.gather"(%a, %3) <{dimension_numbers = #stablehlo.gather<collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>, slice_sizes = array<i64: 1>}> : (tensor<16xf32>, tensor<3x1xi32>) -> tensor<3xf32>
  %5 = stablehlo.slice %at [0:1] : (tensor<3xi32>) -> tensor<1xi32>
  %6 = stablehlo.reshape %5 : (tensor<1xi32>) -> tensor<i32>
  %7 = stablehlo.dynamic_slice %a, %6, sizes = [4] : (tensor<16xf32>, tensor<i32>) -> tensor<4xf32>
  return %0, %1#0, %1#1, %4, %7 : tensor<f32>, tensor<16xi32>, tensor<16xf32>, tensor<3xf32>, tensor<4xf32>
}
