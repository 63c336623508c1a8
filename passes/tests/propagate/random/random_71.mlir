module {
  sdy.mesh @mesh = <["x"=4, "y"=4]>
  func.func public @main(%arg0: tensor<8x3xf32> {sdy.sharding = #sdy.sharding<@mesh, [{?}, {"y", ?}]>}, %arg1: tensor<6x4x8xf32>, %arg2: tensor<i32>) -> (tensor<1x24x1xf32>, tensor<1x24x1xf32>) {
    %0 = stablehlo.transpose %arg0, dims = [1, 0] : (tensor<8x3xf32>) -> tensor<3x8xf32>
    %1 = stablehlo.multiply %0, %0 : tensor<3x8xf32>
    %2 = stablehlo.reshape %arg1 : (tensor<6x4x8xf32>) -> tensor<192xf32>
    %3 = stablehlo.transpose %0, dims = [0, 1] : (tensor<3x8xf32>) -> tensor<3x8xf32>
    %4 = stablehlo.dot_general %0, %1, batching_dims = [0] x [0], contracting_dims = [1] x [1] : (tensor<3x8xf32>, tensor<3x8xf32>) -> tensor<3xf32>
    %5 = stablehlo.dot_general %1, %0, contracting_dims = [0] x [0] : (tensor<3x8xf32>, tensor<3x8xf32>) -> tensor<8x8xf32>
    %6 = stablehlo.multiply %3, %1 : tensor<3x8xf32>
    %7 = stablehlo.reshape %6 : (tensor<3x8xf32>) -> tensor<1x24x1xf32>
    return %7, %7 : tensor<1x24x1xf32>, tensor<1x24x1xf32>
  }
}

// expected
// 0 <@mesh, [{}, {}]>
// 1 <@mesh, [{"y"}, {}]>
//
// func main
//   arg 0 0
//   arg 1 -
//   arg 2 -
//   result 0 -
//   result 1 -
//   stablehlo.transpose 1
//   stablehlo.multiply 1
//   stablehlo.transpose 1
//   stablehlo.multiply 1
//   stablehlo.reshape -
//   func.return
