module {
  sdy.mesh @mesh = <["a"=2, "b"=2, "c"=4]>
  func.func @main(%arg0: tensor<8x16x16xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"a"}, {"b"}, {"c"}]>}, %arg1: tensor<16xf32>, %arg2: tensor<2xui64>) -> (tensor<8x16x16xf32>, tensor<8x16x16xf32>, tensor<8x16x9xcomplex<f32>>, tensor<8x16x16xf32>, tensor<8x16x16xf32>, tensor<8x16x16xui32>) {
    %0 = "stablehlo.sort"(%arg0) <{dimension = 1 : i64, is_stable = true}> ({
    ^bb0(%arg3: tensor<f32>, %arg4: tensor<f32>):
      %7 = stablehlo.compare LT, %arg3, %arg4 : (tensor<f32>, tensor<f32>) -> tensor<i1>
      stablehlo.return %7 : tensor<i1>
    }) : (tensor<8x16x16xf32>) -> tensor<8x16x16xf32>
    %1 = stablehlo.cholesky %arg0, lower = true : tensor<8x16x16xf32>
    %2 = stablehlo.fft %arg0, type = RFFT, length = [16] : (tensor<8x16x16xf32>) -> tensor<8x16x9xcomplex<f32>>
    %3 = "stablehlo.triangular_solve"(%1, %arg0) <{left_side = true, lower = true, transpose_a = #stablehlo<transpose NO_TRANSPOSE>, unit_diagonal = false}> : (tensor<8x16x16xf32>, tensor<8x16x16xf32>) -> tensor<8x16x16xf32>
    %4 = "stablehlo.batch_norm_inference"(%arg0, %arg1, %arg1, %arg1, %arg1) <{epsilon = 1.000000e-03 : f32, feature_index = 2 : i64}> : (tensor<8x16x16xf32>, tensor<16xf32>, tensor<16xf32>, tensor<16xf32>, tensor<16xf32>) -> tensor<8x16x16xf32>
    %output_state, %output = stablehlo.rng_bit_generator %arg2, algorithm = DEFAULT : (tensor<2xui64>) -> (tensor<2xui64>, tensor<8x16x16xui32>)
    %5 = stablehlo.bitcast_convert %arg0 : (tensor<8x16x16xf32>) -> tensor<8x16x16xui32>
    %6 = stablehlo.add %output, %5 : tensor<8x16x16xui32>
    return %0, %1, %2, %3, %4, %6 : tensor<8x16x16xf32>, tensor<8x16x16xf32>, tensor<8x16x9xcomplex<f32>>, tensor<8x16x16xf32>, tensor<8x16x16xf32>, tensor<8x16x16xui32>
  }
}

// expected
// 0 <@mesh, [{"a"}, {"b"}, {"c"}]>
// 1 <@mesh, [{"c"}]>
// 2 <@mesh, [{"a"}, {"b"}, {}]>
// 3 <@mesh, [{"a"}, {"c"}, {}]>
// 4 <@mesh, [{}]>
//
// func main
//   arg 0 0
//   arg 1 1
//   arg 2 -
//   result 0 0
//   result 1 0
//   result 2 2
//   result 3 3
//   result 4 0
//   result 5 0
//   stablehlo.sort 0
//     stablehlo.compare -
//     stablehlo.return
//   stablehlo.cholesky 0
//   stablehlo.fft 2
//   stablehlo.triangular_solve 3
//   stablehlo.batch_norm_inference 0
//   stablehlo.rng_bit_generator 4 0
//   stablehlo.bitcast_convert 0
//   stablehlo.add 0
//   func.return
