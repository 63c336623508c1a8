module {
  sdy.mesh @mesh = <["x"=2, "y"=2, "z"=8]>
  func.func public @main(%arg0: tensor<8x8x12xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {}, {?}]>}, %arg1: tensor<i32>) -> (tensor<8x8x12xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"z", ?}, {}, {}]>}, tensor<8x8x12xf32>) {
    %0 = stablehlo.dot_general %arg0, %arg0, contracting_dims = [1] x [0] : (tensor<8x8x12xf32>, tensor<8x8x12xf32>) -> tensor<8x12x8x12xf32>
    %cst = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %1 = stablehlo.broadcast_in_dim %cst, dims = [] : (tensor<f32>) -> tensor<8x8x12xf32>
    %2 = stablehlo.add %1, %1 : tensor<8x8x12xf32>
    %3 = stablehlo.concatenate %arg0, %2, %2, dim = 2 : (tensor<8x8x12xf32>, tensor<8x8x12xf32>, tensor<8x8x12xf32>) -> tensor<8x8x36xf32>
    %4 = stablehlo.iota dim = 2 : tensor<8x8x12xf32>
    return %2, %4 : tensor<8x8x12xf32>, tensor<8x8x12xf32>
  }
}

// expected
// 0 <@mesh, [{}, {}, {}]>
// 1 <@mesh, [{"z"}, {}, {}]>
//
// func main
//   arg 0 0
//   arg 1 -
//   result 0 1
//   result 1 -
//   stablehlo.broadcast_in_dim 1
//   stablehlo.add 1
//   stablehlo.iota -
//   func.return
