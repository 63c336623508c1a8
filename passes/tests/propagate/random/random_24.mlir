module {
  sdy.mesh @mesh = <["x"=4, "y"=8, "z"=4]>
  func.func public @main(%arg0: tensor<3x4xf32>, %arg1: tensor<3x4xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"z", "x"}, {}]>}, %arg2: tensor<i32>) -> (tensor<3x4xf32>, tensor<3x4xf32>, tensor<3x4xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {?}p0], replicated={"z"}>}) {
    %0:2 = stablehlo.optimization_barrier %arg1, %arg0 : tensor<3x4xf32>, tensor<3x4xf32>
    %c = stablehlo.constant dense<0> : tensor<i32>
    %1 = "stablehlo.case"(%c) ({
      %6 = sdy.propagation_barrier %0#1 allowed_direction=FORWARD : tensor<3x4xf32>
      %7 = "stablehlo.sort"(%6) <{dimension = 0 : i64, is_stable = false}> ({
      ^bb0(%arg3: tensor<f32>, %arg4: tensor<f32>):
        %8 = stablehlo.compare LT, %arg3, %arg4 : (tensor<f32>, tensor<f32>) -> tensor<i1>
        stablehlo.return %8 : tensor<i1>
      }) : (tensor<3x4xf32>) -> tensor<3x4xf32>
      stablehlo.return %0#1 : tensor<3x4xf32>
    }, {
      %c_0 = stablehlo.constant dense<0> : tensor<i32>
      %c_1 = stablehlo.constant dense<0> : tensor<i32>
      %6 = stablehlo.dynamic_slice %arg0, %c_0, %c_1, sizes = [3, 4] : (tensor<3x4xf32>, tensor<i32>, tensor<i32>) -> tensor<3x4xf32>
      %7 = stablehlo.broadcast_in_dim %arg0, dims = [0, 2] : (tensor<3x4xf32>) -> tensor<3x4x4xf32>
      %8 = stablehlo.reshape %6 : (tensor<3x4xf32>) -> tensor<2x1x6xf32>
      stablehlo.return %0#0 : tensor<3x4xf32>
    }) : (tensor<i32>) -> tensor<3x4xf32>
    %2 = stablehlo.sine %0#0 : tensor<3x4xf32>
    %3 = sdy.propagation_barrier %1 allowed_direction=BACKWARD : tensor<3x4xf32>
    %4 = stablehlo.reshape %3 : (tensor<3x4xf32>) -> tensor<4x1x1x3xf32>
    %5 = stablehlo.add %arg1, %2 : tensor<3x4xf32>
    return %arg0, %3, %3 : tensor<3x4xf32>, tensor<3x4xf32>, tensor<3x4xf32>
  }
}

// expected
// 0 <@mesh, [{}, {}]>
// 1 <@mesh, [{"z", "x"}, {}]>
//
// func main
//   arg 0 0
//   arg 1 0
//   arg 2 -
//   result 0 0
//   result 1 -
//   result 2 0
//   stablehlo.optimization_barrier 1 1
//   stablehlo.case 1
//     stablehlo.return
//     stablehlo.return
//   sdy.propagation_barrier -
//   func.return
