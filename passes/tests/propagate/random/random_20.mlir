module {
  sdy.mesh @mesh = <["x"=6, "y"=8, "z"=8]>
  func.func public @main(%arg0: tensor<4x2xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"y":(4)2}, {?}]>}, %arg1: tensor<i32>) -> (tensor<8x2xf32>, tensor<2x4xf32>, tensor<8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"y", ?}]>}) {
    %0 = stablehlo.reshape %arg0 : (tensor<4x2xf32>) -> tensor<8xf32>
    %1 = stablehlo.dot_general %arg0, %arg0, contracting_dims = [1] x [1] : (tensor<4x2xf32>, tensor<4x2xf32>) -> tensor<4x4xf32>
    %2 = stablehlo.dot_general %arg0, %1, contracting_dims = [0] x [1] : (tensor<4x2xf32>, tensor<4x4xf32>) -> tensor<2x4xf32>
    %3 = sdy.sharding_constraint %0 <@mesh, [{"z":(1)2, "y":(1)4}]> : tensor<8xf32>
    %4 = stablehlo.sine %2 : tensor<2x4xf32>
    %5 = stablehlo.concatenate %arg0, %arg0, dim = 0 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}, {"z"}]>]>} : (tensor<4x2xf32>, tensor<4x2xf32>) -> tensor<8x2xf32>
    %c = stablehlo.constant dense<0> : tensor<i32>
    %6 = "stablehlo.case"(%c) ({
      %10 = stablehlo.dot_general %2, %2, batching_dims = [1] x [1], contracting_dims = [0] x [0] : (tensor<2x4xf32>, tensor<2x4xf32>) -> tensor<4xf32>
      stablehlo.return %3 : tensor<8xf32>
    }, {
      %10 = stablehlo.reverse %arg0, dims = [1] : tensor<4x2xf32>
      %11 = "stablehlo.sort"(%4) <{dimension = 0 : i64, is_stable = false}> ({
      ^bb0(%arg2: tensor<f32>, %arg3: tensor<f32>):
        %12 = stablehlo.compare LT, %arg2, %arg3 : (tensor<f32>, tensor<f32>) -> tensor<i1>
        stablehlo.return %12 : tensor<i1>
      }) : (tensor<2x4xf32>) -> tensor<2x4xf32>
      stablehlo.return %3 : tensor<8xf32>
    }) : (tensor<i32>) -> tensor<8xf32>
    %7 = stablehlo.compare LT, %5, %5 : (tensor<8x2xf32>, tensor<8x2xf32>) -> tensor<8x2xi1>
    %8 = stablehlo.select %7, %5, %5 : tensor<8x2xi1>, tensor<8x2xf32>
    %9 = stablehlo.negate %2 : tensor<2x4xf32>
    return %5, %4, %3 : tensor<8x2xf32>, tensor<2x4xf32>, tensor<8xf32>
  }
}

// expected
// 0 <@mesh, [{"y":(4)2}, {}]>
// 1 <@mesh, [{}, {}]>
// 2 <@mesh, [{"y"}]>
// 3 <@mesh, [{"z":(1)2, "y":(1)4}]>
// 4 <@mesh, [{"y":(2)2}, {"y":(4)2}]>
// 5 <@mesh, [{}, {"z"}]>
//
// func main
//   arg 0 0
//   arg 1 -
//   result 0 1
//   result 1 1
//   result 2 2
//   stablehlo.reshape 3
//   stablehlo.dot_general 0
//   stablehlo.dot_general 4
//   sdy.reshard 3
//   stablehlo.sine 4
//   sdy.reshard 5
//   sdy.reshard 5
//   stablehlo.concatenate 5
//   func.return
