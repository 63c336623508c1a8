module {
  sdy.mesh @mesh = <["x"=3]>
  func.func public @main(%arg0: tensor<3xf32> {sdy.sharding = #sdy.sharding<@mesh, [{?}], replicated={"x"}>}, %arg1: tensor<8x4xf32>, %arg2: tensor<i32>) -> (tensor<4x1xf32> {sdy.sharding = #sdy.sharding<@mesh, [{?}p2, {}]>}, tensor<8x1xf32>) {
    %0 = stablehlo.dot_general %arg1, %arg1, contracting_dims = [1] x [1] : (tensor<8x4xf32>, tensor<8x4xf32>) -> tensor<8x8xf32>
    sdy.sharding_group %0 group_id=2 : tensor<8x8xf32>
    %1 = stablehlo.slice %arg1 [0:8, 2:3] : (tensor<8x4xf32>) -> tensor<8x1xf32>
    %cst = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %2 = stablehlo.pad %arg1, %cst, low = [2, 2], high = [1, 4], interior = [0, 0] : (tensor<8x4xf32>, tensor<f32>) -> tensor<11x10xf32>
    %3 = stablehlo.dot_general %arg1, %1, contracting_dims = [0] x [0] : (tensor<8x4xf32>, tensor<8x1xf32>) -> tensor<4x1xf32>
    %c = stablehlo.constant dense<0> : tensor<i32>
    %4 = stablehlo.dynamic_update_slice %1, %1, %c, %arg2 : (tensor<8x1xf32>, tensor<8x1xf32>, tensor<i32>, tensor<i32>) -> tensor<8x1xf32>
    %5 = stablehlo.multiply %3, %3 : tensor<4x1xf32>
    return %3, %1 : tensor<4x1xf32>, tensor<8x1xf32>
  }
}

// expected
// 0 <@mesh, [{}]>
// 1 <@mesh, [{}, {}]>
//
// func main
//   arg 0 0
//   arg 1 -
//   arg 2 -
//   result 0 1
//   result 1 -
//   stablehlo.slice -
//   stablehlo.dot_general -
//   func.return
