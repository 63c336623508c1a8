module @jit_f attributes {mhlo.num_partitions = 8 : i32, mhlo.num_replicas = 1 : i32} {
  sdy.mesh @mesh = <["e"=8]> {stablehlo.mesh = {axes = [{name = "e", size = 8 : i64}]}}
  func.func public @main(%arg0: tensor<4096x1024xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"e"}, {}]>}, %arg1: tensor<1024x16xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {}]>}, %arg2: tensor<16x1024x4096xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"e"}, {}, {}]>}, %arg3: tensor<16x4096x1024xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"e"}, {}, {}]>}) -> (tensor<4096x1024xf32> {jax.result_info = "result", sdy.sharding = #sdy.sharding<@mesh, [{"e"}, {}]>}) {
    %0 = stablehlo.dot_general %arg0, %arg1, contracting_dims = [1] x [0], precision = [DEFAULT, DEFAULT] : (tensor<4096x1024xf32>, tensor<1024x16xf32>) -> tensor<4096x16xf32>
    %cst = stablehlo.constant dense<0xFF800000> : tensor<f32>
    %1 = stablehlo.reduce(%0 init: %cst) applies stablehlo.maximum across dimensions = [1] : (tensor<4096x16xf32>, tensor<f32>) -> tensor<4096xf32>
    %cst_0 = stablehlo.constant dense<0xFF800000> : tensor<f32>
    %2 = stablehlo.broadcast_in_dim %cst_0, dims = [] : (tensor<f32>) -> tensor<4096xf32>
    %3 = stablehlo.maximum %2, %1 : tensor<4096xf32>
    %4 = stablehlo.broadcast_in_dim %3, dims = [0] : (tensor<4096xf32>) -> tensor<4096x1xf32>
    %5 = stablehlo.broadcast_in_dim %4, dims = [0, 1] : (tensor<4096x1xf32>) -> tensor<4096x16xf32>
    %6 = stablehlo.subtract %0, %5 : tensor<4096x16xf32>
    %7 = stablehlo.exponential %6 : tensor<4096x16xf32>
    %cst_1 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %8 = stablehlo.reduce(%7 init: %cst_1) applies stablehlo.add across dimensions = [1] : (tensor<4096x16xf32>, tensor<f32>) -> tensor<4096xf32>
    %9 = stablehlo.broadcast_in_dim %8, dims = [0] : (tensor<4096xf32>) -> tensor<4096x1xf32>
    %10 = stablehlo.broadcast_in_dim %9, dims = [0, 1] : (tensor<4096x1xf32>) -> tensor<4096x16xf32>
    %11 = stablehlo.divide %7, %10 : tensor<4096x16xf32>
    %12 = call @argmax(%11) : (tensor<4096x16xf32>) -> tensor<4096xi32>
    %13 = call @_one_hot(%12) : (tensor<4096xi32>) -> tensor<4096x16xf32>
    %14 = call @cumsum(%13) : (tensor<4096x16xf32>) -> tensor<4096x16xf32>
    %15 = stablehlo.multiply %14, %13 : tensor<4096x16xf32>
    %cst_2 = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %16 = stablehlo.broadcast_in_dim %cst_2, dims = [] : (tensor<f32>) -> tensor<4096x16xf32>
    %17 = stablehlo.subtract %15, %16 : tensor<4096x16xf32>
    %18 = stablehlo.broadcast_in_dim %13, dims = [0, 1] : (tensor<4096x16xf32>) -> tensor<4096x16x1xf32>
    %19 = stablehlo.convert %17 : (tensor<4096x16xf32>) -> tensor<4096x16xi32>
    %20 = call @_one_hot_1(%19) : (tensor<4096x16xi32>) -> tensor<4096x16x512xf32>
    %21 = stablehlo.broadcast_in_dim %18, dims = [0, 1, 2] : (tensor<4096x16x1xf32>) -> tensor<4096x16x512xf32>
    %22 = stablehlo.multiply %21, %20 : tensor<4096x16x512xf32>
    %23 = stablehlo.broadcast_in_dim %11, dims = [0, 1] : (tensor<4096x16xf32>) -> tensor<4096x16x1xf32>
    %24 = stablehlo.broadcast_in_dim %23, dims = [0, 1, 2] : (tensor<4096x16x1xf32>) -> tensor<4096x16x512xf32>
    %25 = stablehlo.multiply %22, %24 : tensor<4096x16x512xf32>
    %26 = stablehlo.dot_general %22, %arg0, contracting_dims = [0] x [0], precision = [DEFAULT, DEFAULT] : (tensor<4096x16x512xf32>, tensor<4096x1024xf32>) -> tensor<16x512x1024xf32>
    %27 = sdy.sharding_constraint %26 <@mesh, [{"e"}, {}, {}]> : tensor<16x512x1024xf32>
    %28 = stablehlo.dot_general %27, %arg2, batching_dims = [0] x [0], contracting_dims = [2] x [1], precision = [DEFAULT, DEFAULT] : (tensor<16x512x1024xf32>, tensor<16x1024x4096xf32>) -> tensor<16x512x4096xf32>
    %29 = call @relu(%28) : (tensor<16x512x4096xf32>) -> tensor<16x512x4096xf32>
    %30 = stablehlo.dot_general %29, %arg3, batching_dims = [0] x [0], contracting_dims = [2] x [1], precision = [DEFAULT, DEFAULT] : (tensor<16x512x4096xf32>, tensor<16x4096x1024xf32>) -> tensor<16x512x1024xf32>
    %31 = stablehlo.dot_general %25, %30, contracting_dims = [2, 1] x [1, 0], precision = [DEFAULT, DEFAULT] : (tensor<4096x16x512xf32>, tensor<16x512x1024xf32>) -> tensor<4096x1024xf32>
    return %31 : tensor<4096x1024xf32>
  }
  func.func private @argmax(%arg0: tensor<4096x16xf32>) -> tensor<4096xi32> {
    %0 = stablehlo.iota dim = 1 : tensor<4096x16xi32>
    %cst = stablehlo.constant dense<0xFF800000> : tensor<f32>
    %c = stablehlo.constant dense<0> : tensor<i32>
    %1:2 = stablehlo.reduce(%arg0 init: %cst), (%0 init: %c) across dimensions = [1] : (tensor<4096x16xf32>, tensor<4096x16xi32>, tensor<f32>, tensor<i32>) -> (tensor<4096xf32>, tensor<4096xi32>)
     reducer(%arg1: tensor<f32>, %arg3: tensor<f32>) (%arg2: tensor<i32>, %arg4: tensor<i32>)  {
      %2 = stablehlo.compare GT, %arg1, %arg3, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
      %3 = stablehlo.compare NE, %arg1, %arg1, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
      %4 = stablehlo.or %2, %3 : tensor<i1>
      %5 = stablehlo.compare EQ, %arg1, %arg3, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
      %6 = stablehlo.compare LT, %arg2, %arg4, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
      %7 = stablehlo.and %5, %6 : tensor<i1>
      %8 = stablehlo.or %4, %7 : tensor<i1>
      %9 = stablehlo.select %4, %arg1, %arg3 : tensor<i1>, tensor<f32>
      %10 = stablehlo.select %8, %arg2, %arg4 : tensor<i1>, tensor<i32>
      stablehlo.return %9, %10 : tensor<f32>, tensor<i32>
    }
    return %1#1 : tensor<4096xi32>
  }
  func.func private @_one_hot(%arg0: tensor<4096xi32>) -> tensor<4096x16xf32> {
    %0 = stablehlo.broadcast_in_dim %arg0, dims = [0] : (tensor<4096xi32>) -> tensor<4096x1xi32>
    %1 = stablehlo.iota dim = 1 : tensor<1x16xi32>
    %2 = stablehlo.broadcast_in_dim %0, dims = [0, 1] : (tensor<4096x1xi32>) -> tensor<4096x16xi32>
    %3 = stablehlo.broadcast_in_dim %1, dims = [0, 1] : (tensor<1x16xi32>) -> tensor<4096x16xi32>
    %4 = stablehlo.compare EQ, %2, %3, SIGNED : (tensor<4096x16xi32>, tensor<4096x16xi32>) -> tensor<4096x16xi1>
    %5 = stablehlo.convert %4 : (tensor<4096x16xi1>) -> tensor<4096x16xf32>
    return %5 : tensor<4096x16xf32>
  }
  func.func private @cumsum(%arg0: tensor<4096x16xf32>) -> tensor<4096x16xf32> {
    %0 = call @cumsum_0(%arg0) : (tensor<4096x16xf32>) -> tensor<4096x16xf32>
    return %0 : tensor<4096x16xf32>
  }
  func.func private @cumsum_0(%arg0: tensor<4096x16xf32>) -> tensor<4096x16xf32> {
    %cst = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %0 = stablehlo.broadcast_in_dim %cst, dims = [] : (tensor<f32>) -> tensor<f32>
    %1 = "stablehlo.reduce_window"(%arg0, %0) <{base_dilations = array<i64: 1, 1>, padding = dense<[[4095, 0], [0, 0]]> : tensor<2x2xi64>, window_dilations = array<i64: 1, 1>, window_dimensions = array<i64: 4096, 1>, window_strides = array<i64: 1, 1>}> ({
    ^bb0(%arg1: tensor<f32>, %arg2: tensor<f32>):
      %2 = stablehlo.add %arg1, %arg2 : tensor<f32>
      stablehlo.return %2 : tensor<f32>
    }) : (tensor<4096x16xf32>, tensor<f32>) -> tensor<4096x16xf32>
    return %1 : tensor<4096x16xf32>
  }
  func.func private @_one_hot_1(%arg0: tensor<4096x16xi32>) -> tensor<4096x16x512xf32> {
    %0 = stablehlo.broadcast_in_dim %arg0, dims = [0, 1] : (tensor<4096x16xi32>) -> tensor<4096x16x1xi32>
    %1 = stablehlo.iota dim = 2 : tensor<1x1x512xi32>
    %2 = stablehlo.broadcast_in_dim %0, dims = [0, 1, 2] : (tensor<4096x16x1xi32>) -> tensor<4096x16x512xi32>
    %3 = stablehlo.broadcast_in_dim %1, dims = [0, 1, 2] : (tensor<1x1x512xi32>) -> tensor<4096x16x512xi32>
    %4 = stablehlo.compare EQ, %2, %3, SIGNED : (tensor<4096x16x512xi32>, tensor<4096x16x512xi32>) -> tensor<4096x16x512xi1>
    %5 = stablehlo.convert %4 : (tensor<4096x16x512xi1>) -> tensor<4096x16x512xf32>
    return %5 : tensor<4096x16x512xf32>
  }
  func.func private @relu(%arg0: tensor<16x512x4096xf32>) -> tensor<16x512x4096xf32> {
    %cst = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %0 = stablehlo.broadcast_in_dim %cst, dims = [] : (tensor<f32>) -> tensor<16x512x4096xf32>
    %1 = stablehlo.maximum %arg0, %0 : tensor<16x512x4096xf32>
    return %1 : tensor<16x512x4096xf32>
  }
}

// expected
// 0 <@mesh, [{"e"}, {}]>
// 1 <@mesh, [{}, {}]>
// 2 <@mesh, [{"e"}, {}, {}]>
// 3 <@mesh, [{"e"}]>
// 4 <@mesh, [{}, {"e"}]>
// 5 <@mesh, [{}, {"e"}, {}]>
//
// func main
//   arg 0 0
//   arg 1 1
//   arg 2 2
//   arg 3 2
//   result 0 0
//   stablehlo.dot_general 0
//   stablehlo.reduce 3
//     stablehlo.maximum -
//     stablehlo.return
//   stablehlo.broadcast_in_dim 3
//   stablehlo.maximum 3
//   stablehlo.broadcast_in_dim 0
//   stablehlo.broadcast_in_dim 0
//   stablehlo.subtract 0
//   stablehlo.exponential 0
//   stablehlo.reduce 3
//     stablehlo.add -
//     stablehlo.return
//   stablehlo.broadcast_in_dim 0
//   stablehlo.broadcast_in_dim 0
//   stablehlo.divide 0
//   func.call @argmax 3
//   func.call @_one_hot 4
//   func.call @cumsum 4
//   stablehlo.multiply 4
//   stablehlo.broadcast_in_dim 4
//   stablehlo.subtract 4
//   stablehlo.broadcast_in_dim 5
//   stablehlo.convert 4
//   func.call @_one_hot_1 5
//   stablehlo.broadcast_in_dim 5
//   stablehlo.multiply 5
//   stablehlo.broadcast_in_dim 5
//   stablehlo.broadcast_in_dim 5
//   stablehlo.multiply 5
//   stablehlo.dot_general 2
//   sdy.reshard 2
//   stablehlo.dot_general 2
//   func.call @relu 2
//   stablehlo.dot_general 2
//   stablehlo.dot_general 0
//   func.return
// func argmax
//   arg 0 0
//   result 0 3
//   stablehlo.iota 0
//   stablehlo.reduce 3 3
//     stablehlo.compare -
//     stablehlo.compare -
//     stablehlo.or -
//     stablehlo.compare -
//     stablehlo.compare -
//     stablehlo.and -
//     stablehlo.or -
//     stablehlo.select -
//     stablehlo.select -
//     stablehlo.return
//   func.return
// func _one_hot
//   arg 0 3
//   result 0 4
//   stablehlo.broadcast_in_dim 0
//   stablehlo.iota 4
//   stablehlo.broadcast_in_dim 4
//   stablehlo.broadcast_in_dim 4
//   stablehlo.compare 4
//   stablehlo.convert 4
//   func.return
// func cumsum_0
//   arg 0 4
//   result 0 4
//   stablehlo.broadcast_in_dim -
//   stablehlo.reduce_window 4
//     stablehlo.add -
//     stablehlo.return
//   func.return
// func cumsum
//   arg 0 4
//   result 0 4
//   func.call @cumsum_0 4
//   func.return
// func _one_hot_1
//   arg 0 4
//   result 0 5
//   stablehlo.broadcast_in_dim 5
//   stablehlo.iota -
//   stablehlo.broadcast_in_dim 5
//   stablehlo.broadcast_in_dim 5
//   stablehlo.compare 5
//   stablehlo.convert 5
//   func.return
// func relu
//   arg 0 2
//   result 0 2
//   stablehlo.broadcast_in_dim 2
//   stablehlo.maximum 2
//   func.return
