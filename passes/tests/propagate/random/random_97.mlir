module {
  sdy.mesh @mesh = <["x"=4]>
  func.func public @main(%arg0: tensor<2xf32> {sdy.sharding = #sdy.sharding<@mesh, [{?}]>}, %arg1: tensor<i32>) -> (tensor<2xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}]>}, tensor<2xf32> {sdy.sharding = #sdy.sharding<@mesh, [{?}]>}, tensor<2xf32>) {
    %c = stablehlo.constant dense<0> : tensor<i32>
    %0 = stablehlo.dynamic_slice %arg0, %c, sizes = [1] : (tensor<2xf32>, tensor<i32>) -> tensor<1xf32>
    %1 = stablehlo.add %arg0, %arg0 : tensor<2xf32>
    %2 = stablehlo.maximum %arg0, %arg0 : tensor<2xf32>
    %c_0 = stablehlo.constant dense<0> : tensor<i32>
    %3:2 = stablehlo.while(%iterArg = %c_0, %iterArg_1 = %2) : tensor<i32>, tensor<2xf32>
    cond {
      %c_2 = stablehlo.constant dense<3> : tensor<i32>
      %8 = stablehlo.compare LT, %iterArg, %c_2 : (tensor<i32>, tensor<i32>) -> tensor<i1>
      stablehlo.return %8 : tensor<i1>
    } do {
      %8 = stablehlo.add %1, %iterArg_1 : tensor<2xf32>
      %c_2 = stablehlo.constant dense<1> : tensor<i32>
      %9 = stablehlo.add %iterArg, %c_2 : tensor<i32>
      stablehlo.return %9, %arg0 : tensor<i32>, tensor<2xf32>
    }
    %4 = stablehlo.slice %3#1 [0:2] : (tensor<2xf32>) -> tensor<2xf32>
    %5 = stablehlo.concatenate %4, %arg0, dim = 0 : (tensor<2xf32>, tensor<2xf32>) -> tensor<4xf32>
    %6 = stablehlo.sine %3#1 : tensor<2xf32>
    %7 = sdy.sharding_constraint %3#1 <@mesh, [{"x":(1)2, ?}]> : tensor<2xf32>
    return %4, %2, %6 : tensor<2xf32>, tensor<2xf32>, tensor<2xf32>
  }
}

// expected
// 0 <@mesh, [{}]>
// 1 <@mesh, [{"x":(1)2}]>
// 2 <@mesh, []>
//
// func main
//   arg 0 0
//   arg 1 -
//   result 0 0
//   result 1 0
//   result 2 0
//   stablehlo.maximum 1
//   stablehlo.while 2 1
//     stablehlo.compare -
//     stablehlo.return
//     stablehlo.add -
//     stablehlo.return
//   stablehlo.slice 1
//   stablehlo.sine 1
//   func.return
