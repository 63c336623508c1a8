module {
  sdy.mesh @mesh = <["x"=2, "y"=8, "z"=4]>
  func.func public @main(%arg0: tensor<4x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{?}, {}], replicated={"x"}>}, %arg1: tensor<4x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"y":(4)2}], replicated={"z"}>}, %arg2: tensor<16xf32> {sdy.sharding = #sdy.sharding<@mesh, [{?}p1], replicated={"z"}>}, %arg3: tensor<i32>) -> (tensor<4x4x1xf32>, tensor<16xf32>, tensor<6x4x8xf32>) {
    %0 = stablehlo.transpose %arg1, dims = [1, 0] : (tensor<4x8xf32>) -> tensor<8x4xf32>
    %1 = stablehlo.transpose %arg0, dims = [0, 1] : (tensor<4x8xf32>) -> tensor<4x8xf32>
    %2 = stablehlo.broadcast_in_dim %arg0, dims = [1, 2] : (tensor<4x8xf32>) -> tensor<6x4x8xf32>
    %3 = sdy.propagation_barrier %arg2 allowed_direction=FORWARD : tensor<16xf32>
    %4 = stablehlo.slice %0 [0:8, 0:1] : (tensor<8x4xf32>) -> tensor<8x1xf32>
    %5 = stablehlo.reshape %arg1 : (tensor<4x8xf32>) -> tensor<16x2xf32>
    %c = stablehlo.constant dense<0> : tensor<i32>
    %6 = stablehlo.dynamic_slice %3, %c, sizes = [16] : (tensor<16xf32>, tensor<i32>) -> tensor<16xf32>
    %7 = stablehlo.reshape %3 : (tensor<16xf32>) -> tensor<4x4x1xf32>
    %8 = stablehlo.negate %7 : tensor<4x4x1xf32>
    return %8, %arg2, %2 : tensor<4x4x1xf32>, tensor<16xf32>, tensor<6x4x8xf32>
  }
}

// expected
// 0 <@mesh, [{}, {}]>
// 1 <@mesh, [{}, {"y":(4)2}]>
// 2 <@mesh, [{}]>
//
// func main
//   arg 0 0
//   arg 1 1
//   arg 2 2
//   arg 3 -
//   result 0 -
//   result 1 -
//   result 2 -
//   stablehlo.broadcast_in_dim -
//   sdy.propagation_barrier -
//   stablehlo.reshape -
//   stablehlo.negate -
//   func.return
