// RUN: shardc check %s
// Indices that are wider than positions, which are i32, are clamped or compared before they are narrowed: low bits of these would be valid positions.
sdy.mesh @mesh = <["x"=2]>
func.func @main(%a: tensor<8x4xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}, %u: tensor<2x4xf32>) -> (tensor<2x4xf32>, tensor<8x4xf32>, tensor<8x4xf32>, tensor<3x4xf32>) {
  %zero = stablehlo.constant dense<0> : tensor<i64>
  %far = stablehlo.constant dense<4294967298> : tensor<i64>
  %before = stablehlo.constant dense<-4294967294> : tensor<i64>
  %rows = stablehlo.constant dense<[[4294967298], [-4294967294], [3]]> : tensor<3x1xi64>
  %two = stablehlo.constant dense<[[-2147483648], [5]]> : tensor<2x1xi32>
  %0 = stablehlo.dynamic_slice %a, %far, %zero, sizes = [2, 4] : (tensor<8x4xf32>, tensor<i64>, tensor<i64>) -> tensor<2x4xf32>
  %1 = stablehlo.dynamic_update_slice %a, %u, %before, %far : (tensor<8x4xf32>, tensor<2x4xf32>, tensor<i64>, tensor<i64>) -> tensor<8x4xf32>
  %2 = "stablehlo.scatter"(%a, %two, %u) <{scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [1], inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>}> ({
  ^bb0(%old: tensor<f32>, %new: tensor<f32>):
    stablehlo.return %new : tensor<f32>
  }) : (tensor<8x4xf32>, tensor<2x1xi32>, tensor<2x4xf32>) -> tensor<8x4xf32>
  %3 = "stablehlo.gather"(%a, %rows) <{dimension_numbers = #stablehlo.gather<offset_dims = [1], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>, slice_sizes = array<i64: 1, 4>}> : (tensor<8x4xf32>, tensor<3x1xi64>) -> tensor<3x4xf32>
  return %0, %1, %2, %3 : tensor<2x4xf32>, tensor<8x4xf32>, tensor<8x4xf32>, tensor<3x4xf32>
}
