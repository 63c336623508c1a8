module {
  sdy.mesh @mesh = <["x"=2, "y"=4]>
  func.func public @main(%arg0: tensor<16xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"y"}], replicated={"x"}>}, %arg1: tensor<16xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}]>}, %arg2: tensor<16xf32>, %arg3: tensor<i32>) -> (tensor<16xf32>, tensor<16xf32>) {
    %0 = stablehlo.reshape %arg0 : (tensor<16xf32>) -> tensor<1x16xf32>
    %1 = stablehlo.iota dim = 0 : tensor<16xf32>
    %c = stablehlo.constant dense<0> : tensor<i32>
    %2 = "stablehlo.case"(%c) ({
      %8 = stablehlo.maximum %1, %1 : tensor<16xf32>
      stablehlo.return %1 : tensor<16xf32>
    }, {
      %8 = stablehlo.maximum %1, %1 : tensor<16xf32>
      %9 = sdy.propagation_barrier %8 allowed_direction=NONE : tensor<16xf32>
      stablehlo.return %arg0 : tensor<16xf32>
    }) : (tensor<i32>) -> tensor<16xf32>
    %3 = stablehlo.maximum %1, %arg1 : tensor<16xf32>
    %4 = stablehlo.negate %2 : tensor<16xf32>
    %c_0 = stablehlo.constant dense<0> : tensor<i32>
    %5 = "stablehlo.case"(%c_0) ({
      stablehlo.return %4 : tensor<16xf32>
    }, {
      %8 = stablehlo.multiply %arg2, %arg2 : tensor<16xf32>
      %9 = stablehlo.iota dim = 0 : tensor<16xf32>
      stablehlo.return %arg2 : tensor<16xf32>
    }) : (tensor<i32>) -> tensor<16xf32>
    %6 = stablehlo.maximum %4, %4 : tensor<16xf32>
    %7 = stablehlo.dynamic_update_slice %3, %3, %arg3 : (tensor<16xf32>, tensor<16xf32>, tensor<i32>) -> tensor<16xf32>
    return %6, %5 : tensor<16xf32>, tensor<16xf32>
  }
}

// expected
// 0 <@mesh, [{"y"}]>
// 1 <@mesh, [{}]>
//
// func main
//   arg 0 0
//   arg 1 1
//   arg 2 0
//   arg 3 -
//   result 0 0
//   result 1 0
//   stablehlo.iota 0
//   stablehlo.case 0
//     stablehlo.return
//     stablehlo.return
//   stablehlo.negate 0
//   stablehlo.case 0
//     stablehlo.return
//     stablehlo.return
//   stablehlo.maximum 0
//   func.return
