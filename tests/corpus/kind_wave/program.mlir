module @jit_wave attributes {mhlo.num_partitions = 8 : i32, mhlo.num_replicas = 1 : i32} {
  sdy.mesh @mesh = <["x"=2, "y"=4]> {stablehlo.mesh = {axes = [{name = "x", size = 2 : i64}, {name = "y", size = 4 : i64}]}}
  func.func public @main(%arg0: tensor<16x16xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {"y"}]>}, %arg1: tensor<16x16xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {"y"}]>}) -> (tensor<16x16xf32> {jax.result_info = "result[0]"}, tensor<16x16xf32> {jax.result_info = "result[1]"}) {
    %c = stablehlo.constant dense<0> : tensor<i32>
    %0:3 = stablehlo.while(%iterArg = %c, %iterArg_0 = %arg0, %iterArg_1 = %arg1) : tensor<i32>, tensor<16x16xf32>, tensor<16x16xf32>
    cond {
      %c_2 = stablehlo.constant dense<3> : tensor<i32>
      %1 = stablehlo.compare LT, %iterArg, %c_2, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
      stablehlo.return %1 : tensor<i1>
    } do {
      %1:2 = func.call @closed_call(%iterArg_0, %iterArg_1) : (tensor<16x16xf32>, tensor<16x16xf32>) -> (tensor<16x16xf32>, tensor<16x16xf32>)
      %c_2 = stablehlo.constant dense<1> : tensor<i32>
      %2 = stablehlo.add %iterArg, %c_2 : tensor<i32>
      stablehlo.return %2, %1#0, %1#1 : tensor<i32>, tensor<16x16xf32>, tensor<16x16xf32>
    }
    return %0#1, %0#2 : tensor<16x16xf32>, tensor<16x16xf32>
  }
  func.func private @closed_call(%arg0: tensor<16x16xf32>, %arg1: tensor<16x16xf32>) -> (tensor<16x16xf32>, tensor<16x16xf32>) {
    %c = stablehlo.constant dense<0> : tensor<i32>
    %0 = call @_pad(%arg0, %c) : (tensor<16x16xf32>, tensor<i32>) -> tensor<18x18xf32>
    %1 = stablehlo.slice %0 [2:18, 1:17] : (tensor<18x18xf32>) -> tensor<16x16xf32>
    %2 = stablehlo.slice %0 [0:16, 1:17] : (tensor<18x18xf32>) -> tensor<16x16xf32>
    %3 = stablehlo.add %1, %2 : tensor<16x16xf32>
    %4 = stablehlo.slice %0 [1:17, 2:18] : (tensor<18x18xf32>) -> tensor<16x16xf32>
    %5 = stablehlo.add %3, %4 : tensor<16x16xf32>
    %6 = stablehlo.slice %0 [1:17, 0:16] : (tensor<18x18xf32>) -> tensor<16x16xf32>
    %7 = stablehlo.add %5, %6 : tensor<16x16xf32>
    %cst = stablehlo.constant dense<2.000000e+00> : tensor<f32>
    %8 = stablehlo.broadcast_in_dim %cst, dims = [] : (tensor<f32>) -> tensor<16x16xf32>
    %9 = stablehlo.multiply %8, %arg0 : tensor<16x16xf32>
    %10 = stablehlo.subtract %9, %arg1 : tensor<16x16xf32>
    %cst_0 = stablehlo.constant dense<4.000000e+00> : tensor<f32>
    %11 = stablehlo.broadcast_in_dim %cst_0, dims = [] : (tensor<f32>) -> tensor<16x16xf32>
    %12 = stablehlo.multiply %11, %arg0 : tensor<16x16xf32>
    %13 = stablehlo.subtract %7, %12 : tensor<16x16xf32>
    %cst_1 = stablehlo.constant dense<1.000000e-01> : tensor<f32>
    %14 = stablehlo.broadcast_in_dim %cst_1, dims = [] : (tensor<f32>) -> tensor<16x16xf32>
    %15 = stablehlo.multiply %14, %13 : tensor<16x16xf32>
    %16 = stablehlo.add %10, %15 : tensor<16x16xf32>
    return %16, %arg0 : tensor<16x16xf32>, tensor<16x16xf32>
  }
  func.func private @_pad(%arg0: tensor<16x16xf32>, %arg1: tensor<i32>) -> tensor<18x18xf32> {
    %0 = stablehlo.convert %arg1 : (tensor<i32>) -> tensor<f32>
    %1 = stablehlo.pad %arg0, %0, low = [1, 1], high = [1, 1], interior = [0, 0] : (tensor<16x16xf32>, tensor<f32>) -> tensor<18x18xf32>
    return %1 : tensor<18x18xf32>
  }
}
