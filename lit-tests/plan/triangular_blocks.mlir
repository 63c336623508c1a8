// RUN: shardc compile %s

// The rows of a large matrix are sharded: each device solves for its unknowns and tells the others, the matrix stays. A
// matrix on the right whose columns are sharded is the same, seen from the side.
sdy.mesh @mesh = <["x"=2]>

func.func @main(
    %a: tensor<2048x2048xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>},
    %b: tensor<2048x4xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>},
    %c: tensor<4x2048xf32>) -> (
    tensor<2048x4xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}, tensor<4x2048xf32>) {
  %0 = "stablehlo.triangular_solve"(%a, %b) <{left_side = true, lower = true, transpose_a = #stablehlo<transpose NO_TRANSPOSE>, unit_diagonal = false}> : (tensor<2048x2048xf32>, tensor<2048x4xf32>) -> tensor<2048x4xf32>
  %1 = "stablehlo.triangular_solve"(%a, %c) <{left_side = false, lower = true, transpose_a = #stablehlo<transpose NO_TRANSPOSE>, unit_diagonal = false}> : (tensor<2048x2048xf32>, tensor<4x2048xf32>) -> tensor<4x2048xf32>
  return %0, %1 : tensor<2048x4xf32>, tensor<4x2048xf32>
}
