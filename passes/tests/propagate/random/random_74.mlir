module {
  sdy.mesh @mesh = <["x"=4, "y"=8, "z"=2]>
  func.func public @main(%arg0: tensor<8x3xf32> {sdy.sharding = #sdy.sharding<@mesh, [{?}, {?}], replicated={"y"}>}, %arg1: tensor<8x3xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"y"}, {}]>}, %arg2: tensor<i32>) -> (tensor<3x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {}]>}) {
    %0 = stablehlo.sine %arg0 : tensor<8x3xf32>
    %1 = stablehlo.slice %0 [0:8, 0:3] : (tensor<8x3xf32>) -> tensor<8x3xf32>
    %2 = stablehlo.transpose %arg0, dims = [1, 0] : (tensor<8x3xf32>) -> tensor<3x8xf32>
    %c = stablehlo.constant dense<0> : tensor<i32>
    %3 = "stablehlo.case"(%c) ({
      %8 = stablehlo.slice %arg1 [0:8, 0:3] : (tensor<8x3xf32>) -> tensor<8x3xf32>
      %9 = stablehlo.slice %2 [0:3, 3:6] : (tensor<3x8xf32>) -> tensor<3x3xf32>
      %10 = stablehlo.iota dim = 0 : tensor<4x1xi32>
      %11 = "stablehlo.gather"(%9, %10) <{dimension_numbers = #stablehlo.gather<offset_dims = [1], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>, indices_are_sorted = false, slice_sizes = array<i64: 1, 3>}> : (tensor<3x3xf32>, tensor<4x1xi32>) -> tensor<4x3xf32>
      stablehlo.return %2 : tensor<3x8xf32>
    }, {
      %cst_1 = stablehlo.constant dense<1.000000e+00> : tensor<f32>
      %8 = stablehlo.broadcast_in_dim %cst_1, dims = [] : (tensor<f32>) -> tensor<8x3xf32>
      %9 = stablehlo.add %8, %8 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"z"}, {?}]>]>} : tensor<8x3xf32>
      %10 = stablehlo.add %8, %8 : tensor<8x3xf32>
      %11 = stablehlo.dot_general %10, %8, contracting_dims = [0] x [0] : (tensor<8x3xf32>, tensor<8x3xf32>) -> tensor<3x3xf32>
      %12 = stablehlo.iota dim = 1 : tensor<8x3xf32>
      stablehlo.return %2 : tensor<3x8xf32>
    }) : (tensor<i32>) -> tensor<3x8xf32>
    %c_0 = stablehlo.constant dense<0> : tensor<i32>
    %4 = stablehlo.dynamic_update_slice %3, %2, %arg2, %c_0 : (tensor<3x8xf32>, tensor<3x8xf32>, tensor<i32>, tensor<i32>) -> tensor<3x8xf32>
    %cst = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %5 = stablehlo.reduce(%2 init: %cst) applies stablehlo.add across dimensions = [1] : (tensor<3x8xf32>, tensor<f32>) -> tensor<3xf32>
    %6 = stablehlo.add %3, %2 : tensor<3x8xf32>
    %7 = stablehlo.multiply %6, %4 : tensor<3x8xf32>
    return %6 : tensor<3x8xf32>
  }
}

// expected
// 0 <@mesh, [{}, {}]>
// 1 <@mesh, [{"y"}, {}]>
//
// func main
//   arg 0 0
//   arg 1 1
//   arg 2 -
//   result 0 0
//   stablehlo.transpose -
//   stablehlo.case -
//     stablehlo.return
//     stablehlo.return
//   stablehlo.add -
//   func.return
