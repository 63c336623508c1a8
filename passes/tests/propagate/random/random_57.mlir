module {
  sdy.mesh @mesh = <["x"=3]>
  func.func public @main(%arg0: tensor<8x12x12xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {?}, {}]>}, %arg1: tensor<4x4xf32> {sdy.sharding = #sdy.sharding<@mesh, [{?}, {?}]>}, %arg2: tensor<6x6xf32>, %arg3: tensor<i32>) -> tensor<6x6xf32> {
    %0 = stablehlo.reshape %arg1 : (tensor<4x4xf32>) -> tensor<16xf32>
    %1 = call @f0(%0) : (tensor<16xf32>) -> tensor<16xf32>
    %2 = stablehlo.reshape %arg0 : (tensor<8x12x12xf32>) -> tensor<24x12x4xf32>
    %3 = stablehlo.exponential %arg2 : tensor<6x6xf32>
    %c = stablehlo.constant dense<0> : tensor<i32>
    %c_0 = stablehlo.constant dense<0> : tensor<i32>
    %4 = stablehlo.dynamic_slice %arg1, %c, %c_0, sizes = [2, 2] : (tensor<4x4xf32>, tensor<i32>, tensor<i32>) -> tensor<2x2xf32>
    %cst = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %5 = stablehlo.pad %1, %cst, low = [0], high = [4], interior = [0] : (tensor<16xf32>, tensor<f32>) -> tensor<20xf32>
    %6 = stablehlo.add %3, %3 : tensor<6x6xf32>
    return %6 : tensor<6x6xf32>
  }
  func.func private @f0(%arg0: tensor<16xf32>) -> tensor<16xf32> {
    %cst = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %0 = stablehlo.broadcast_in_dim %cst, dims = [] : (tensor<f32>) -> tensor<16xf32>
    %1 = stablehlo.add %0, %0 : tensor<16xf32>
    %2 = stablehlo.add %arg0, %0 : tensor<16xf32>
    return %arg0 : tensor<16xf32>
  }
}

// expected
// 0 <@mesh, [{}, {}, {}]>
// 1 <@mesh, [{}, {}]>
//
// func main
//   arg 0 0
//   arg 1 1
//   arg 2 -
//   arg 3 -
//   result 0 -
//   stablehlo.reshape -
//   func.call @f0 -
//   stablehlo.exponential -
//   stablehlo.add -
//   func.return
// func f0
//   arg 0 -
//   result 0 -
//   func.return
