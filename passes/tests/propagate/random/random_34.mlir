module {
  sdy.mesh @mesh = <["x"=3, "y"=4, "z"=2]>
  func.func public @main(%arg0: tensor<3x12xf32>, %arg1: tensor<3x12xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"y", "x"}]>}, %arg2: tensor<8x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{?}, {"x"}]>}, %arg3: tensor<8x8xf32>, %arg4: tensor<i32>) -> (tensor<8x36xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"y"}, {}], replicated={"x"}>}, tensor<3x12xf32>) {
    %0 = stablehlo.broadcast_in_dim %arg2, dims = [1, 2] : (tensor<8x8xf32>) -> tensor<4x8x8xf32>
    %1 = stablehlo.iota dim = 0 : tensor<8x1xi32>
    %2 = "stablehlo.gather"(%arg0, %1) <{dimension_numbers = #stablehlo.gather<offset_dims = [1], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>, indices_are_sorted = false, slice_sizes = array<i64: 1, 12>}> : (tensor<3x12xf32>, tensor<8x1xi32>) -> tensor<8x12xf32>
    %3 = stablehlo.reverse %arg3, dims = [0, 1] : tensor<8x8xf32>
    %4 = stablehlo.maximum %2, %2 : tensor<8x12xf32>
    %5 = stablehlo.concatenate %2, %2, %4, dim = 1 : (tensor<8x12xf32>, tensor<8x12xf32>, tensor<8x12xf32>) -> tensor<8x36xf32>
    %6 = stablehlo.transpose %2, dims = [0, 1] : (tensor<8x12xf32>) -> tensor<8x12xf32>
    %7 = stablehlo.maximum %6, %4 : tensor<8x12xf32>
    %c = stablehlo.constant dense<0> : tensor<i32>
    %8 = "stablehlo.case"(%c) ({
      %13 = stablehlo.reshape %2 : (tensor<8x12xf32>) -> tensor<3x1x4x8xf32>
      stablehlo.return %2 : tensor<8x12xf32>
    }, {
      %cst_0 = stablehlo.constant dense<1.000000e+00> : tensor<f32>
      %13 = stablehlo.reduce(%5 init: %cst_0) applies stablehlo.add across dimensions = [0, 1] : (tensor<8x36xf32>, tensor<f32>) -> tensor<f32>
      %14 = stablehlo.reshape %5 : (tensor<8x36xf32>) -> tensor<6x2x24x1xf32>
      %15 = stablehlo.transpose %6, dims = [0, 1] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}, {}]>]>} : (tensor<8x12xf32>) -> tensor<8x12xf32>
      stablehlo.return %15 : tensor<8x12xf32>
    }) : (tensor<i32>) -> tensor<8x12xf32>
    %9 = sdy.propagation_barrier %2 allowed_direction=BACKWARD : tensor<8x12xf32>
    %cst = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %10 = stablehlo.broadcast_in_dim %cst, dims = [] : (tensor<f32>) -> tensor<8x12xf32>
    %11 = stablehlo.add %7, %10 : tensor<8x12xf32>
    %12 = stablehlo.add %11, %10 : tensor<8x12xf32>
    return %5, %arg1 : tensor<8x36xf32>, tensor<3x12xf32>
  }
}

// expected
// 0 <@mesh, [{}, {"y", "x"}]>
// 1 <@mesh, [{}, {}]>
// 2 <@mesh, [{"y"}, {}]>
//
// func main
//   arg 0 -
//   arg 1 0
//   arg 2 1
//   arg 3 -
//   arg 4 -
//   result 0 2
//   result 1 0
//   stablehlo.iota 2
//   stablehlo.gather 2
//   stablehlo.maximum 2
//   stablehlo.concatenate 2
//   func.return
