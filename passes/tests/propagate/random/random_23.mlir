module {
  sdy.mesh @mesh = <["x"=8, "y"=2]>
  func.func public @main(%arg0: tensor<4x6xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x":(1)4, ?}, {?}p0]>}, %arg1: tensor<8x8xf32>, %arg2: tensor<8x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {}]>}, %arg3: tensor<8x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {}], replicated={"y"}>}, %arg4: tensor<i32>) -> tensor<4x16xf32> {
    %0 = stablehlo.concatenate %arg3, %arg3, %arg3, dim = 0 : (tensor<8x8xf32>, tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<24x8xf32>
    %1 = stablehlo.slice %arg2 [1:5, 0:8] : (tensor<8x8xf32>) -> tensor<4x8xf32>
    %2 = stablehlo.negate %arg2 : tensor<8x8xf32>
    %c = stablehlo.constant dense<0> : tensor<i32>
    %c_0 = stablehlo.constant dense<0> : tensor<i32>
    %3 = stablehlo.dynamic_slice %2, %c, %c_0, sizes = [4, 8] : (tensor<8x8xf32>, tensor<i32>, tensor<i32>) -> tensor<4x8xf32>
    %4 = call @f0(%1, %3) : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
    %cst = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %5 = stablehlo.broadcast_in_dim %cst, dims = [] : (tensor<f32>) -> tensor<4x8xf32>
    %6 = stablehlo.add %1, %5 : tensor<4x8xf32>
    %7 = stablehlo.concatenate %6, %3, dim = 1 : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x16xf32>
    return %7 : tensor<4x16xf32>
  }
  func.func private @f0(%arg0: tensor<4x8xf32>, %arg1: tensor<4x8xf32>) -> tensor<4x8xf32> {
    %0 = stablehlo.multiply %arg1, %arg1 : tensor<4x8xf32>
    %1 = stablehlo.add %arg0, %0 : tensor<4x8xf32>
    %2 = stablehlo.reshape %1 : (tensor<4x8xf32>) -> tensor<8x1x4xf32>
    %3 = stablehlo.reshape %0 : (tensor<4x8xf32>) -> tensor<8x2x2xf32>
    return %0 : tensor<4x8xf32>
  }
}

// expected
// 0 <@mesh, [{}, {}]>
//
// func main
//   arg 0 0
//   arg 1 -
//   arg 2 0
//   arg 3 0
//   arg 4 -
//   result 0 -
//   stablehlo.slice -
//   stablehlo.negate -
//   stablehlo.dynamic_slice -
//   func.call @f0 -
//   stablehlo.broadcast_in_dim -
//   stablehlo.add -
//   stablehlo.concatenate -
//   func.return
// func f0
//   arg 0 -
//   arg 1 -
//   result 0 -
//   stablehlo.multiply -
//   func.return
