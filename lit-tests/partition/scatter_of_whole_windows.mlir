// RUN: shardc check %s
// RUN: shardc compile --emit sdy %s
// Windows as large as a dimension begin where the indices say: all but the first are partly outside.
sdy.mesh @mesh = <["x"=2]>
func.func @main(%a: tensor<8x2xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"x"}]>}) -> (tensor<8x2xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"x"}]>}) {
  %at = stablehlo.iota dim = 0 : tensor<4x2xi32>
  %updates = stablehlo.constant dense<1.0> : tensor<4x2xf32>
  %0 = "stablehlo.scatter"(%a, %at, %updates) <{scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [1], inserted_window_dims = [0], scatter_dims_to_operand_dims = [0, 1], index_vector_dim = 1>}> ({
  ^bb0(%p: tensor<f32>, %q: tensor<f32>):
    %sum = stablehlo.add %p, %q : tensor<f32>
    stablehlo.return %sum : tensor<f32>
  }) : (tensor<8x2xf32>, tensor<4x2xi32>, tensor<4x2xf32>) -> tensor<8x2xf32>
  return %0 : tensor<8x2xf32>
}
