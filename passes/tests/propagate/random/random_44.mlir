module {
  sdy.mesh @mesh = <["x"=4, "y"=4]>
  func.func public @main(%arg0: tensor<8x2xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {?}]>}, %arg1: tensor<8x2xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"y", ?}, {?}]>}, %arg2: tensor<8x2xf32>, %arg3: tensor<8x2xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"y"}]>}, %arg4: tensor<i32>) -> tensor<8x2xf32> {
    %0 = sdy.manual_computation(%arg0) in_shardings=[<@mesh, [{"y"}, {}]>] out_shardings=[<@mesh, [{"y"}, {}]>] manual_axes={"y"} (%arg5: tensor<2x2xf32>) {
      %13 = stablehlo.slice %arg5 [1:2, 0:2] : (tensor<2x2xf32>) -> tensor<1x2xf32>
      sdy.return %arg5 : tensor<2x2xf32>
    } : (tensor<8x2xf32>) -> tensor<8x2xf32>
    %1 = sdy.sharding_constraint %0 <@mesh, [{"y", "x"}, {}]> : tensor<8x2xf32>
    %2 = sdy.sharding_constraint %arg2 <@mesh, [{}, {}]> : tensor<8x2xf32>
    %3 = sdy.propagation_barrier %arg2 allowed_direction=BACKWARD : tensor<8x2xf32>
    %4 = stablehlo.iota dim = 1 : tensor<8x2xf32>
    %5 = stablehlo.reshape %4 : (tensor<8x2xf32>) -> tensor<16xf32>
    %6 = call @f0(%5) : (tensor<16xf32>) -> tensor<17xf32>
    %7 = stablehlo.dot_general %1, %3, contracting_dims = [1] x [1] : (tensor<8x2xf32>, tensor<8x2xf32>) -> tensor<8x8xf32>
    %c = stablehlo.constant dense<0> : tensor<i32>
    %8:3 = stablehlo.while(%iterArg = %c, %iterArg_2 = %7, %iterArg_3 = %5) : tensor<i32>, tensor<8x8xf32>, tensor<16xf32>
    cond {
      %c_4 = stablehlo.constant dense<3> : tensor<i32>
      %13 = stablehlo.compare LT, %iterArg, %c_4 : (tensor<i32>, tensor<i32>) -> tensor<i1>
      stablehlo.return %13 : tensor<i1>
    } do {
      %13 = stablehlo.reshape %3 : (tensor<8x2xf32>) -> tensor<16xf32>
      %14 = stablehlo.negate %iterArg_3 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}]>]>} : tensor<16xf32>
      %c_4 = stablehlo.constant dense<1> : tensor<i32>
      %15 = stablehlo.add %iterArg, %c_4 : tensor<i32>
      stablehlo.return %15, %iterArg_2, %14 : tensor<i32>, tensor<8x8xf32>, tensor<16xf32>
    }
    %9 = sdy.propagation_barrier %7 allowed_direction=FORWARD : tensor<8x8xf32>
    %10 = stablehlo.maximum %9, %8#1 : tensor<8x8xf32>
    %11 = stablehlo.transpose %3, dims = [0, 1] : (tensor<8x2xf32>) -> tensor<8x2xf32>
    %c_0 = stablehlo.constant dense<0> : tensor<i32>
    %c_1 = stablehlo.constant dense<0> : tensor<i32>
    %12 = stablehlo.dynamic_update_slice %10, %3, %c_0, %c_1 : (tensor<8x8xf32>, tensor<8x2xf32>, tensor<i32>, tensor<i32>) -> tensor<8x8xf32>
    return %11 : tensor<8x2xf32>
  }
  func.func private @f0(%arg0: tensor<16xf32>) -> tensor<17xf32> {
    %cst = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %0 = stablehlo.pad %arg0, %cst, low = [1], high = [0], interior = [0] : (tensor<16xf32>, tensor<f32>) -> tensor<17xf32>
    %1 = stablehlo.reverse %arg0, dims = [0] : tensor<16xf32>
    return %0 : tensor<17xf32>
  }
}

// expected
// 0 <@mesh, [{}, {}]>
// 1 <@mesh, [{"y"}, {}]>
// 2 <@mesh, [{}, {"y":(1)2}]>
//
// func main
//   arg 0 0
//   arg 1 1
//   arg 2 0
//   arg 3 2
//   arg 4 -
//   result 0 -
//   sdy.propagation_barrier -
//   stablehlo.iota -
//   stablehlo.reshape -
//   func.call @f0 -
//   stablehlo.transpose -
//   func.return
// func f0
//   arg 0 -
//   result 0 -
//   stablehlo.pad -
//   func.return
