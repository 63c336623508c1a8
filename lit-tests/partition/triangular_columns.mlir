// RUN: shardc compile %s

// Each column on the right of a triangular matrix is solved for alone, in batches too: nothing moves.
sdy.mesh @mesh = <["x"=2, "y"=2]>

func.func @main(
    %a: tensor<4x8x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}, {}]>},
    %b: tensor<4x8x6xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}, {"y"}]>}) -> (
    tensor<4x8x6xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}, {"y"}]>}) {
  %0 = stablehlo.cholesky %a, lower = true : tensor<4x8x8xf32>
  %1 = "stablehlo.triangular_solve"(%0, %b) <{left_side = true, lower = true, transpose_a = #stablehlo<transpose NO_TRANSPOSE>, unit_diagonal = false}> : (tensor<4x8x8xf32>, tensor<4x8x6xf32>) -> tensor<4x8x6xf32>
  return %1 : tensor<4x8x6xf32>
}
