module {
  sdy.mesh @mesh = <["x"=4]>
  func.func public @main(%arg0: tensor<16xf32>, %arg1: tensor<16xf32>, %arg2: tensor<16xf32>, %arg3: tensor<i32>) -> (tensor<16xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}]>}, tensor<16xf32>, tensor<1x8x1xf32>) {
    %0 = stablehlo.reshape %arg0 : (tensor<16xf32>) -> tensor<1x4x4x1xf32>
    %1 = stablehlo.sine %arg0 : tensor<16xf32>
    %2:2 = stablehlo.optimization_barrier %1, %1 : tensor<16xf32>, tensor<16xf32>
    %3 = call @f0(%1) : (tensor<16xf32>) -> tensor<17xf32>
    %c = stablehlo.constant dense<0> : tensor<i32>
    %4 = stablehlo.dynamic_slice %3, %c, sizes = [8] : (tensor<17xf32>, tensor<i32>) -> tensor<8xf32>
    %5 = stablehlo.slice %2#0 [0:16] : (tensor<16xf32>) -> tensor<16xf32>
    %6 = stablehlo.reshape %4 : (tensor<8xf32>) -> tensor<1x8x1xf32>
    %7 = stablehlo.concatenate %6, %6, dim = 2 : (tensor<1x8x1xf32>, tensor<1x8x1xf32>) -> tensor<1x8x2xf32>
    return %5, %2#1, %6 : tensor<16xf32>, tensor<16xf32>, tensor<1x8x1xf32>
  }
  func.func private @f0(%arg0: tensor<16xf32>) -> tensor<17xf32> {
    %0 = sdy.propagation_barrier %arg0 allowed_direction=NONE : tensor<16xf32>
    %cst = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %1 = stablehlo.pad %0, %cst, low = [0], high = [1], interior = [0] : (tensor<16xf32>, tensor<f32>) -> tensor<17xf32>
    return %1 : tensor<17xf32>
  }
}

// expected
// 0 <@mesh, [{}]>
//
// func main
//   arg 0 -
//   arg 1 -
//   arg 2 -
//   arg 3 -
//   result 0 0
//   result 1 -
//   result 2 -
//   stablehlo.sine -
//   stablehlo.optimization_barrier - -
//   func.call @f0 -
//   stablehlo.dynamic_slice -
//   stablehlo.slice -
//   stablehlo.reshape -
//   func.return
// func f0
//   arg 0 -
//   result 0 -
//   sdy.propagation_barrier -
//   stablehlo.pad -
//   func.return
