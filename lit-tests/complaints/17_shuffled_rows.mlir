// RUN: shardc explain %s
// RUN: shardc check --interpret %s
// Asked for: "what is this all-gather doing there?", of rows that are shuffled each for itself (jax-ml/jax#20381). Nothing is sent;
// as JAX prints it.
module @jit_func attributes {mhlo.num_partitions = 8 : i32, mhlo.num_replicas = 1 : i32} {
  sdy.mesh @mesh = <["dp"=8]> {stablehlo.mesh = {axes = [{name = "dp", size = 8 : i64}]}}
  func.func public @main(%arg0: tensor<2xui32> {sdy.sharding = #sdy.sharding<@mesh, [{}]>}, %arg1: tensor<24x64x2xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"dp"}, {}, {}]>}) -> (tensor<24x64x2xf32> {jax.result_info = "result", sdy.sharding = #sdy.sharding<@mesh, [{"dp"}, {}, {}]>}) {
    %0 = call @_threefry_split(%arg0) : (tensor<2xui32>) -> tensor<24x2xui32>
    %1 = stablehlo.iota dim = 0 : tensor<64xi32>
    %2 = call @_shuffle(%0, %1) : (tensor<24x2xui32>, tensor<64xi32>) -> tensor<24x64xi32>
    %3 = call @_take(%arg1, %2) : (tensor<24x64x2xf32>, tensor<24x64xi32>) -> tensor<24x64x2xf32>
    return %3 : tensor<24x64x2xf32>
  }
  func.func private @_threefry_split(%arg0: tensor<2xui32>) -> tensor<24x2xui32> {
    %0 = stablehlo.slice %arg0 [0:1] : (tensor<2xui32>) -> tensor<1xui32>
    %1 = stablehlo.reshape %0 : (tensor<1xui32>) -> tensor<ui32>
    %2 = stablehlo.slice %arg0 [1:2] : (tensor<2xui32>) -> tensor<1xui32>
    %3 = stablehlo.reshape %2 : (tensor<1xui32>) -> tensor<ui32>
    %4 = stablehlo.iota dim = 0 : tensor<24xui64>
    %c = stablehlo.constant dense<1> : tensor<ui64>
    %5 = stablehlo.broadcast_in_dim %c, dims = [] : (tensor<ui64>) -> tensor<24xui64>
    %6 = stablehlo.multiply %5, %4 : tensor<24xui64>
    %c_0 = stablehlo.constant dense<32> : tensor<ui64>
    %7 = stablehlo.broadcast_in_dim %c_0, dims = [] : (tensor<ui64>) -> tensor<24xui64>
    %8 = stablehlo.shift_right_logical %6, %7 : tensor<24xui64>
    %9 = stablehlo.convert %6 : (tensor<24xui64>) -> tensor<24xui32>
    %10 = stablehlo.convert %8 : (tensor<24xui64>) -> tensor<24xui32>
    %11:2 = call @threefry2x32(%1, %3, %10, %9) : (tensor<ui32>, tensor<ui32>, tensor<24xui32>, tensor<24xui32>) -> (tensor<24xui32>, tensor<24xui32>)
    %12 = stablehlo.broadcast_in_dim %11#0, dims = [0] : (tensor<24xui32>) -> tensor<24x1xui32>
    %13 = stablehlo.broadcast_in_dim %11#1, dims = [0] : (tensor<24xui32>) -> tensor<24x1xui32>
    %14 = stablehlo.concatenate %12, %13, dim = 1 : (tensor<24x1xui32>, tensor<24x1xui32>) -> tensor<24x2xui32>
    return %14 : tensor<24x2xui32>
  }
  func.func private @threefry2x32(%arg0: tensor<ui32>, %arg1: tensor<ui32>, %arg2: tensor<24xui32>, %arg3: tensor<24xui32>) -> (tensor<24xui32>, tensor<24xui32>) {
    %c = stablehlo.constant dense<[13, 15, 26, 6]> : tensor<4xui32>
    %c_0 = stablehlo.constant dense<[17, 29, 16, 24]> : tensor<4xui32>
    %0 = stablehlo.xor %arg0, %arg1 : tensor<ui32>
    %c_1 = stablehlo.constant dense<466688986> : tensor<ui32>
    %1 = stablehlo.xor %0, %c_1 : tensor<ui32>
    %2 = stablehlo.broadcast_in_dim %arg0, dims = [] : (tensor<ui32>) -> tensor<24xui32>
    %3 = stablehlo.add %arg2, %2 : tensor<24xui32>
    %4 = stablehlo.broadcast_in_dim %arg1, dims = [] : (tensor<ui32>) -> tensor<24xui32>
    %5 = stablehlo.add %arg3, %4 : tensor<24xui32>
    %c_2 = stablehlo.constant dense<0> : tensor<i32>
    %c_3 = stablehlo.constant dense<0> : tensor<i32>
    %6:9 = stablehlo.while(%iterArg = %c_3, %iterArg_4 = %c_2, %iterArg_5 = %3, %iterArg_6 = %5, %iterArg_7 = %arg1, %iterArg_8 = %1, %iterArg_9 = %arg0, %iterArg_10 = %c, %iterArg_11 = %c_0) : tensor<i32>, tensor<i32>, tensor<24xui32>, tensor<24xui32>, tensor<ui32>, tensor<ui32>, tensor<ui32>, tensor<4xui32>, tensor<4xui32>
    cond {
      %c_12 = stablehlo.constant dense<5> : tensor<i32>
      %7 = stablehlo.compare LT, %iterArg, %c_12, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
      stablehlo.return %7 : tensor<i1>
    } do {
      %7:8 = func.call @closed_call(%iterArg_4, %iterArg_5, %iterArg_6, %iterArg_7, %iterArg_8, %iterArg_9, %iterArg_10, %iterArg_11) : (tensor<i32>, tensor<24xui32>, tensor<24xui32>, tensor<ui32>, tensor<ui32>, tensor<ui32>, tensor<4xui32>, tensor<4xui32>) -> (tensor<i32>, tensor<24xui32>, tensor<24xui32>, tensor<ui32>, tensor<ui32>, tensor<ui32>, tensor<4xui32>, tensor<4xui32>)
      %c_12 = stablehlo.constant dense<1> : tensor<i32>
      %8 = stablehlo.add %iterArg, %c_12 : tensor<i32>
      stablehlo.return %8, %7#0, %7#1, %7#2, %7#3, %7#4, %7#5, %7#6, %7#7 : tensor<i32>, tensor<i32>, tensor<24xui32>, tensor<24xui32>, tensor<ui32>, tensor<ui32>, tensor<ui32>, tensor<4xui32>, tensor<4xui32>
    }
    return %6#2, %6#3 : tensor<24xui32>, tensor<24xui32>
  }
  func.func private @closed_call(%arg0: tensor<i32>, %arg1: tensor<24xui32>, %arg2: tensor<24xui32>, %arg3: tensor<ui32>, %arg4: tensor<ui32>, %arg5: tensor<ui32>, %arg6: tensor<4xui32>, %arg7: tensor<4xui32>) -> (tensor<i32>, tensor<24xui32>, tensor<24xui32>, tensor<ui32>, tensor<ui32>, tensor<ui32>, tensor<4xui32>, tensor<4xui32>) {
    %c = stablehlo.constant dense<1> : tensor<i32>
    %0 = stablehlo.add %arg0, %c : tensor<i32>
    %1 = stablehlo.slice %arg6 [0:1] : (tensor<4xui32>) -> tensor<1xui32>
    %2 = stablehlo.reshape %1 : (tensor<1xui32>) -> tensor<ui32>
    %3 = stablehlo.add %arg1, %arg2 : tensor<24xui32>
    %4 = stablehlo.broadcast_in_dim %2, dims = [] : (tensor<ui32>) -> tensor<24xui32>
    %5 = stablehlo.shift_left %arg2, %4 : tensor<24xui32>
    %c_0 = stablehlo.constant dense<32> : tensor<ui32>
    %6 = stablehlo.subtract %c_0, %2 : tensor<ui32>
    %7 = stablehlo.broadcast_in_dim %6, dims = [] : (tensor<ui32>) -> tensor<24xui32>
    %8 = stablehlo.shift_right_logical %arg2, %7 : tensor<24xui32>
    %9 = stablehlo.or %5, %8 : tensor<24xui32>
    %10 = stablehlo.xor %3, %9 : tensor<24xui32>
    %11 = stablehlo.slice %arg6 [1:2] : (tensor<4xui32>) -> tensor<1xui32>
    %12 = stablehlo.reshape %11 : (tensor<1xui32>) -> tensor<ui32>
    %13 = stablehlo.add %3, %10 : tensor<24xui32>
    %14 = stablehlo.broadcast_in_dim %12, dims = [] : (tensor<ui32>) -> tensor<24xui32>
    %15 = stablehlo.shift_left %10, %14 : tensor<24xui32>
    %c_1 = stablehlo.constant dense<32> : tensor<ui32>
    %16 = stablehlo.subtract %c_1, %12 : tensor<ui32>
    %17 = stablehlo.broadcast_in_dim %16, dims = [] : (tensor<ui32>) -> tensor<24xui32>
    %18 = stablehlo.shift_right_logical %10, %17 : tensor<24xui32>
    %19 = stablehlo.or %15, %18 : tensor<24xui32>
    %20 = stablehlo.xor %13, %19 : tensor<24xui32>
    %21 = stablehlo.slice %arg6 [2:3] : (tensor<4xui32>) -> tensor<1xui32>
    %22 = stablehlo.reshape %21 : (tensor<1xui32>) -> tensor<ui32>
    %23 = stablehlo.add %13, %20 : tensor<24xui32>
    %24 = stablehlo.broadcast_in_dim %22, dims = [] : (tensor<ui32>) -> tensor<24xui32>
    %25 = stablehlo.shift_left %20, %24 : tensor<24xui32>
    %c_2 = stablehlo.constant dense<32> : tensor<ui32>
    %26 = stablehlo.subtract %c_2, %22 : tensor<ui32>
    %27 = stablehlo.broadcast_in_dim %26, dims = [] : (tensor<ui32>) -> tensor<24xui32>
    %28 = stablehlo.shift_right_logical %20, %27 : tensor<24xui32>
    %29 = stablehlo.or %25, %28 : tensor<24xui32>
    %30 = stablehlo.xor %23, %29 : tensor<24xui32>
    %31 = stablehlo.slice %arg6 [3:4] : (tensor<4xui32>) -> tensor<1xui32>
    %32 = stablehlo.reshape %31 : (tensor<1xui32>) -> tensor<ui32>
    %33 = stablehlo.add %23, %30 : tensor<24xui32>
    %34 = stablehlo.broadcast_in_dim %32, dims = [] : (tensor<ui32>) -> tensor<24xui32>
    %35 = stablehlo.shift_left %30, %34 : tensor<24xui32>
    %c_3 = stablehlo.constant dense<32> : tensor<ui32>
    %36 = stablehlo.subtract %c_3, %32 : tensor<ui32>
    %37 = stablehlo.broadcast_in_dim %36, dims = [] : (tensor<ui32>) -> tensor<24xui32>
    %38 = stablehlo.shift_right_logical %30, %37 : tensor<24xui32>
    %39 = stablehlo.or %35, %38 : tensor<24xui32>
    %40 = stablehlo.xor %33, %39 : tensor<24xui32>
    %41 = stablehlo.broadcast_in_dim %arg3, dims = [] : (tensor<ui32>) -> tensor<24xui32>
    %42 = stablehlo.add %33, %41 : tensor<24xui32>
    %43 = stablehlo.broadcast_in_dim %arg4, dims = [] : (tensor<ui32>) -> tensor<24xui32>
    %44 = stablehlo.add %40, %43 : tensor<24xui32>
    %c_4 = stablehlo.constant dense<1> : tensor<i32>
    %45 = stablehlo.add %arg0, %c_4 : tensor<i32>
    %46 = stablehlo.convert %45 : (tensor<i32>) -> tensor<ui32>
    %47 = stablehlo.broadcast_in_dim %46, dims = [] : (tensor<ui32>) -> tensor<24xui32>
    %48 = stablehlo.add %44, %47 : tensor<24xui32>
    return %0, %42, %48, %arg4, %arg5, %arg3, %arg7, %arg6 : tensor<i32>, tensor<24xui32>, tensor<24xui32>, tensor<ui32>, tensor<ui32>, tensor<ui32>, tensor<4xui32>, tensor<4xui32>
  }
  func.func private @_shuffle(%arg0: tensor<24x2xui32>, %arg1: tensor<64xi32>) -> tensor<24x64xi32> {
    %0 = call @_threefry_split_0(%arg0) : (tensor<24x2xui32>) -> tensor<24x2x2xui32>
    %1 = stablehlo.slice %0 [0:24, 1:2, 0:2] : (tensor<24x2x2xui32>) -> tensor<24x1x2xui32>
    %2 = stablehlo.reshape %1 : (tensor<24x1x2xui32>) -> tensor<24x2xui32>
    %3 = stablehlo.slice %2 [0:24, 0:1] : (tensor<24x2xui32>) -> tensor<24x1xui32>
    %4 = stablehlo.reshape %3 : (tensor<24x1xui32>) -> tensor<24xui32>
    %5 = stablehlo.slice %2 [0:24, 1:2] : (tensor<24x2xui32>) -> tensor<24x1xui32>
    %6 = stablehlo.reshape %5 : (tensor<24x1xui32>) -> tensor<24xui32>
    %7 = stablehlo.iota dim = 0 : tensor<64xui64>
    %c = stablehlo.constant dense<1> : tensor<ui64>
    %8 = stablehlo.broadcast_in_dim %c, dims = [] : (tensor<ui64>) -> tensor<64xui64>
    %9 = stablehlo.multiply %8, %7 : tensor<64xui64>
    %c_0 = stablehlo.constant dense<32> : tensor<ui64>
    %10 = stablehlo.broadcast_in_dim %c_0, dims = [] : (tensor<ui64>) -> tensor<64xui64>
    %11 = stablehlo.shift_right_logical %9, %10 : tensor<64xui64>
    %12 = stablehlo.convert %9 : (tensor<64xui64>) -> tensor<64xui32>
    %13 = stablehlo.convert %11 : (tensor<64xui64>) -> tensor<64xui32>
    %14 = stablehlo.broadcast_in_dim %13, dims = [1] : (tensor<64xui32>) -> tensor<1x64xui32>
    %15 = stablehlo.broadcast_in_dim %12, dims = [1] : (tensor<64xui32>) -> tensor<1x64xui32>
    %16 = stablehlo.broadcast_in_dim %4, dims = [0] : (tensor<24xui32>) -> tensor<24x1xui32>
    %17 = stablehlo.broadcast_in_dim %6, dims = [0] : (tensor<24xui32>) -> tensor<24x1xui32>
    %18:2 = call @threefry2x32_3(%16, %17, %14, %15) : (tensor<24x1xui32>, tensor<24x1xui32>, tensor<1x64xui32>, tensor<1x64xui32>) -> (tensor<24x64xui32>, tensor<24x64xui32>)
    %19 = stablehlo.xor %18#0, %18#1 : tensor<24x64xui32>
    %20 = stablehlo.broadcast_in_dim %arg1, dims = [1] : (tensor<64xi32>) -> tensor<24x64xi32>
    %21:2 = "stablehlo.sort"(%19, %20) <{dimension = 1 : i64, is_stable = true}> ({
    ^bb0(%arg2: tensor<ui32>, %arg3: tensor<ui32>, %arg4: tensor<i32>, %arg5: tensor<i32>):
      %22 = stablehlo.compare LT, %arg2, %arg3, UNSIGNED : (tensor<ui32>, tensor<ui32>) -> tensor<i1>
      stablehlo.return %22 : tensor<i1>
    }) : (tensor<24x64xui32>, tensor<24x64xi32>) -> (tensor<24x64xui32>, tensor<24x64xi32>)
    return %21#1 : tensor<24x64xi32>
  }
  func.func private @_threefry_split_0(%arg0: tensor<24x2xui32>) -> tensor<24x2x2xui32> {
    %0 = stablehlo.slice %arg0 [0:24, 0:1] : (tensor<24x2xui32>) -> tensor<24x1xui32>
    %1 = stablehlo.reshape %0 : (tensor<24x1xui32>) -> tensor<24xui32>
    %2 = stablehlo.slice %arg0 [0:24, 1:2] : (tensor<24x2xui32>) -> tensor<24x1xui32>
    %3 = stablehlo.reshape %2 : (tensor<24x1xui32>) -> tensor<24xui32>
    %4 = stablehlo.iota dim = 0 : tensor<2xui64>
    %c = stablehlo.constant dense<1> : tensor<ui64>
    %5 = stablehlo.broadcast_in_dim %c, dims = [] : (tensor<ui64>) -> tensor<2xui64>
    %6 = stablehlo.multiply %5, %4 : tensor<2xui64>
    %c_0 = stablehlo.constant dense<32> : tensor<ui64>
    %7 = stablehlo.broadcast_in_dim %c_0, dims = [] : (tensor<ui64>) -> tensor<2xui64>
    %8 = stablehlo.shift_right_logical %6, %7 : tensor<2xui64>
    %9 = stablehlo.convert %6 : (tensor<2xui64>) -> tensor<2xui32>
    %10 = stablehlo.convert %8 : (tensor<2xui64>) -> tensor<2xui32>
    %11 = stablehlo.broadcast_in_dim %10, dims = [1] : (tensor<2xui32>) -> tensor<1x2xui32>
    %12 = stablehlo.broadcast_in_dim %9, dims = [1] : (tensor<2xui32>) -> tensor<1x2xui32>
    %13 = stablehlo.broadcast_in_dim %1, dims = [0] : (tensor<24xui32>) -> tensor<24x1xui32>
    %14 = stablehlo.broadcast_in_dim %3, dims = [0] : (tensor<24xui32>) -> tensor<24x1xui32>
    %15:2 = call @threefry2x32_1(%13, %14, %11, %12) : (tensor<24x1xui32>, tensor<24x1xui32>, tensor<1x2xui32>, tensor<1x2xui32>) -> (tensor<24x2xui32>, tensor<24x2xui32>)
    %16 = stablehlo.broadcast_in_dim %15#0, dims = [0, 1] : (tensor<24x2xui32>) -> tensor<24x2x1xui32>
    %17 = stablehlo.broadcast_in_dim %15#1, dims = [0, 1] : (tensor<24x2xui32>) -> tensor<24x2x1xui32>
    %18 = stablehlo.concatenate %16, %17, dim = 2 : (tensor<24x2x1xui32>, tensor<24x2x1xui32>) -> tensor<24x2x2xui32>
    return %18 : tensor<24x2x2xui32>
  }
  func.func private @threefry2x32_1(%arg0: tensor<24x1xui32>, %arg1: tensor<24x1xui32>, %arg2: tensor<1x2xui32>, %arg3: tensor<1x2xui32>) -> (tensor<24x2xui32>, tensor<24x2xui32>) {
    %c = stablehlo.constant dense<[13, 15, 26, 6]> : tensor<4xui32>
    %c_0 = stablehlo.constant dense<[17, 29, 16, 24]> : tensor<4xui32>
    %0 = stablehlo.xor %arg0, %arg1 : tensor<24x1xui32>
    %c_1 = stablehlo.constant dense<466688986> : tensor<ui32>
    %1 = stablehlo.broadcast_in_dim %c_1, dims = [] : (tensor<ui32>) -> tensor<24x1xui32>
    %2 = stablehlo.xor %0, %1 : tensor<24x1xui32>
    %3 = stablehlo.broadcast_in_dim %arg2, dims = [0, 1] : (tensor<1x2xui32>) -> tensor<24x2xui32>
    %4 = stablehlo.broadcast_in_dim %arg0, dims = [0, 1] : (tensor<24x1xui32>) -> tensor<24x2xui32>
    %5 = stablehlo.add %3, %4 : tensor<24x2xui32>
    %6 = stablehlo.broadcast_in_dim %arg3, dims = [0, 1] : (tensor<1x2xui32>) -> tensor<24x2xui32>
    %7 = stablehlo.broadcast_in_dim %arg1, dims = [0, 1] : (tensor<24x1xui32>) -> tensor<24x2xui32>
    %8 = stablehlo.add %6, %7 : tensor<24x2xui32>
    %c_2 = stablehlo.constant dense<0> : tensor<i32>
    %c_3 = stablehlo.constant dense<0> : tensor<i32>
    %9:9 = stablehlo.while(%iterArg = %c_3, %iterArg_4 = %c_2, %iterArg_5 = %5, %iterArg_6 = %8, %iterArg_7 = %arg1, %iterArg_8 = %2, %iterArg_9 = %arg0, %iterArg_10 = %c, %iterArg_11 = %c_0) : tensor<i32>, tensor<i32>, tensor<24x2xui32>, tensor<24x2xui32>, tensor<24x1xui32>, tensor<24x1xui32>, tensor<24x1xui32>, tensor<4xui32>, tensor<4xui32>
    cond {
      %c_12 = stablehlo.constant dense<5> : tensor<i32>
      %10 = stablehlo.compare LT, %iterArg, %c_12, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
      stablehlo.return %10 : tensor<i1>
    } do {
      %10:8 = func.call @closed_call_2(%iterArg_4, %iterArg_5, %iterArg_6, %iterArg_7, %iterArg_8, %iterArg_9, %iterArg_10, %iterArg_11) : (tensor<i32>, tensor<24x2xui32>, tensor<24x2xui32>, tensor<24x1xui32>, tensor<24x1xui32>, tensor<24x1xui32>, tensor<4xui32>, tensor<4xui32>) -> (tensor<i32>, tensor<24x2xui32>, tensor<24x2xui32>, tensor<24x1xui32>, tensor<24x1xui32>, tensor<24x1xui32>, tensor<4xui32>, tensor<4xui32>)
      %c_12 = stablehlo.constant dense<1> : tensor<i32>
      %11 = stablehlo.add %iterArg, %c_12 : tensor<i32>
      stablehlo.return %11, %10#0, %10#1, %10#2, %10#3, %10#4, %10#5, %10#6, %10#7 : tensor<i32>, tensor<i32>, tensor<24x2xui32>, tensor<24x2xui32>, tensor<24x1xui32>, tensor<24x1xui32>, tensor<24x1xui32>, tensor<4xui32>, tensor<4xui32>
    }
    return %9#2, %9#3 : tensor<24x2xui32>, tensor<24x2xui32>
  }
  func.func private @closed_call_2(%arg0: tensor<i32>, %arg1: tensor<24x2xui32>, %arg2: tensor<24x2xui32>, %arg3: tensor<24x1xui32>, %arg4: tensor<24x1xui32>, %arg5: tensor<24x1xui32>, %arg6: tensor<4xui32>, %arg7: tensor<4xui32>) -> (tensor<i32>, tensor<24x2xui32>, tensor<24x2xui32>, tensor<24x1xui32>, tensor<24x1xui32>, tensor<24x1xui32>, tensor<4xui32>, tensor<4xui32>) {
    %c = stablehlo.constant dense<1> : tensor<i32>
    %0 = stablehlo.add %arg0, %c : tensor<i32>
    %1 = stablehlo.slice %arg6 [0:1] : (tensor<4xui32>) -> tensor<1xui32>
    %2 = stablehlo.reshape %1 : (tensor<1xui32>) -> tensor<ui32>
    %3 = stablehlo.add %arg1, %arg2 : tensor<24x2xui32>
    %4 = stablehlo.broadcast_in_dim %2, dims = [] : (tensor<ui32>) -> tensor<24x2xui32>
    %5 = stablehlo.shift_left %arg2, %4 : tensor<24x2xui32>
    %c_0 = stablehlo.constant dense<32> : tensor<ui32>
    %6 = stablehlo.subtract %c_0, %2 : tensor<ui32>
    %7 = stablehlo.broadcast_in_dim %6, dims = [] : (tensor<ui32>) -> tensor<24x2xui32>
    %8 = stablehlo.shift_right_logical %arg2, %7 : tensor<24x2xui32>
    %9 = stablehlo.or %5, %8 : tensor<24x2xui32>
    %10 = stablehlo.xor %3, %9 : tensor<24x2xui32>
    %11 = stablehlo.slice %arg6 [1:2] : (tensor<4xui32>) -> tensor<1xui32>
    %12 = stablehlo.reshape %11 : (tensor<1xui32>) -> tensor<ui32>
    %13 = stablehlo.add %3, %10 : tensor<24x2xui32>
    %14 = stablehlo.broadcast_in_dim %12, dims = [] : (tensor<ui32>) -> tensor<24x2xui32>
    %15 = stablehlo.shift_left %10, %14 : tensor<24x2xui32>
    %c_1 = stablehlo.constant dense<32> : tensor<ui32>
    %16 = stablehlo.subtract %c_1, %12 : tensor<ui32>
    %17 = stablehlo.broadcast_in_dim %16, dims = [] : (tensor<ui32>) -> tensor<24x2xui32>
    %18 = stablehlo.shift_right_logical %10, %17 : tensor<24x2xui32>
    %19 = stablehlo.or %15, %18 : tensor<24x2xui32>
    %20 = stablehlo.xor %13, %19 : tensor<24x2xui32>
    %21 = stablehlo.slice %arg6 [2:3] : (tensor<4xui32>) -> tensor<1xui32>
    %22 = stablehlo.reshape %21 : (tensor<1xui32>) -> tensor<ui32>
    %23 = stablehlo.add %13, %20 : tensor<24x2xui32>
    %24 = stablehlo.broadcast_in_dim %22, dims = [] : (tensor<ui32>) -> tensor<24x2xui32>
    %25 = stablehlo.shift_left %20, %24 : tensor<24x2xui32>
    %c_2 = stablehlo.constant dense<32> : tensor<ui32>
    %26 = stablehlo.subtract %c_2, %22 : tensor<ui32>
    %27 = stablehlo.broadcast_in_dim %26, dims = [] : (tensor<ui32>) -> tensor<24x2xui32>
    %28 = stablehlo.shift_right_logical %20, %27 : tensor<24x2xui32>
    %29 = stablehlo.or %25, %28 : tensor<24x2xui32>
    %30 = stablehlo.xor %23, %29 : tensor<24x2xui32>
    %31 = stablehlo.slice %arg6 [3:4] : (tensor<4xui32>) -> tensor<1xui32>
    %32 = stablehlo.reshape %31 : (tensor<1xui32>) -> tensor<ui32>
    %33 = stablehlo.add %23, %30 : tensor<24x2xui32>
    %34 = stablehlo.broadcast_in_dim %32, dims = [] : (tensor<ui32>) -> tensor<24x2xui32>
    %35 = stablehlo.shift_left %30, %34 : tensor<24x2xui32>
    %c_3 = stablehlo.constant dense<32> : tensor<ui32>
    %36 = stablehlo.subtract %c_3, %32 : tensor<ui32>
    %37 = stablehlo.broadcast_in_dim %36, dims = [] : (tensor<ui32>) -> tensor<24x2xui32>
    %38 = stablehlo.shift_right_logical %30, %37 : tensor<24x2xui32>
    %39 = stablehlo.or %35, %38 : tensor<24x2xui32>
    %40 = stablehlo.xor %33, %39 : tensor<24x2xui32>
    %41 = stablehlo.broadcast_in_dim %arg3, dims = [0, 1] : (tensor<24x1xui32>) -> tensor<24x2xui32>
    %42 = stablehlo.add %33, %41 : tensor<24x2xui32>
    %43 = stablehlo.broadcast_in_dim %arg4, dims = [0, 1] : (tensor<24x1xui32>) -> tensor<24x2xui32>
    %44 = stablehlo.add %40, %43 : tensor<24x2xui32>
    %c_4 = stablehlo.constant dense<1> : tensor<i32>
    %45 = stablehlo.add %arg0, %c_4 : tensor<i32>
    %46 = stablehlo.convert %45 : (tensor<i32>) -> tensor<ui32>
    %47 = stablehlo.broadcast_in_dim %46, dims = [] : (tensor<ui32>) -> tensor<24x2xui32>
    %48 = stablehlo.add %44, %47 : tensor<24x2xui32>
    return %0, %42, %48, %arg4, %arg5, %arg3, %arg7, %arg6 : tensor<i32>, tensor<24x2xui32>, tensor<24x2xui32>, tensor<24x1xui32>, tensor<24x1xui32>, tensor<24x1xui32>, tensor<4xui32>, tensor<4xui32>
  }
  func.func private @threefry2x32_3(%arg0: tensor<24x1xui32>, %arg1: tensor<24x1xui32>, %arg2: tensor<1x64xui32>, %arg3: tensor<1x64xui32>) -> (tensor<24x64xui32>, tensor<24x64xui32>) {
    %c = stablehlo.constant dense<[13, 15, 26, 6]> : tensor<4xui32>
    %c_0 = stablehlo.constant dense<[17, 29, 16, 24]> : tensor<4xui32>
    %0 = stablehlo.xor %arg0, %arg1 : tensor<24x1xui32>
    %c_1 = stablehlo.constant dense<466688986> : tensor<ui32>
    %1 = stablehlo.broadcast_in_dim %c_1, dims = [] : (tensor<ui32>) -> tensor<24x1xui32>
    %2 = stablehlo.xor %0, %1 : tensor<24x1xui32>
    %3 = stablehlo.broadcast_in_dim %arg2, dims = [0, 1] : (tensor<1x64xui32>) -> tensor<24x64xui32>
    %4 = stablehlo.broadcast_in_dim %arg0, dims = [0, 1] : (tensor<24x1xui32>) -> tensor<24x64xui32>
    %5 = stablehlo.add %3, %4 : tensor<24x64xui32>
    %6 = stablehlo.broadcast_in_dim %arg3, dims = [0, 1] : (tensor<1x64xui32>) -> tensor<24x64xui32>
    %7 = stablehlo.broadcast_in_dim %arg1, dims = [0, 1] : (tensor<24x1xui32>) -> tensor<24x64xui32>
    %8 = stablehlo.add %6, %7 : tensor<24x64xui32>
    %c_2 = stablehlo.constant dense<0> : tensor<i32>
    %c_3 = stablehlo.constant dense<0> : tensor<i32>
    %9:9 = stablehlo.while(%iterArg = %c_3, %iterArg_4 = %c_2, %iterArg_5 = %5, %iterArg_6 = %8, %iterArg_7 = %arg1, %iterArg_8 = %2, %iterArg_9 = %arg0, %iterArg_10 = %c, %iterArg_11 = %c_0) : tensor<i32>, tensor<i32>, tensor<24x64xui32>, tensor<24x64xui32>, tensor<24x1xui32>, tensor<24x1xui32>, tensor<24x1xui32>, tensor<4xui32>, tensor<4xui32>
    cond {
      %c_12 = stablehlo.constant dense<5> : tensor<i32>
      %10 = stablehlo.compare LT, %iterArg, %c_12, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
      stablehlo.return %10 : tensor<i1>
    } do {
      %10:8 = func.call @closed_call_4(%iterArg_4, %iterArg_5, %iterArg_6, %iterArg_7, %iterArg_8, %iterArg_9, %iterArg_10, %iterArg_11) : (tensor<i32>, tensor<24x64xui32>, tensor<24x64xui32>, tensor<24x1xui32>, tensor<24x1xui32>, tensor<24x1xui32>, tensor<4xui32>, tensor<4xui32>) -> (tensor<i32>, tensor<24x64xui32>, tensor<24x64xui32>, tensor<24x1xui32>, tensor<24x1xui32>, tensor<24x1xui32>, tensor<4xui32>, tensor<4xui32>)
      %c_12 = stablehlo.constant dense<1> : tensor<i32>
      %11 = stablehlo.add %iterArg, %c_12 : tensor<i32>
      stablehlo.return %11, %10#0, %10#1, %10#2, %10#3, %10#4, %10#5, %10#6, %10#7 : tensor<i32>, tensor<i32>, tensor<24x64xui32>, tensor<24x64xui32>, tensor<24x1xui32>, tensor<24x1xui32>, tensor<24x1xui32>, tensor<4xui32>, tensor<4xui32>
    }
    return %9#2, %9#3 : tensor<24x64xui32>, tensor<24x64xui32>
  }
  func.func private @closed_call_4(%arg0: tensor<i32>, %arg1: tensor<24x64xui32>, %arg2: tensor<24x64xui32>, %arg3: tensor<24x1xui32>, %arg4: tensor<24x1xui32>, %arg5: tensor<24x1xui32>, %arg6: tensor<4xui32>, %arg7: tensor<4xui32>) -> (tensor<i32>, tensor<24x64xui32>, tensor<24x64xui32>, tensor<24x1xui32>, tensor<24x1xui32>, tensor<24x1xui32>, tensor<4xui32>, tensor<4xui32>) {
    %c = stablehlo.constant dense<1> : tensor<i32>
    %0 = stablehlo.add %arg0, %c : tensor<i32>
    %1 = stablehlo.slice %arg6 [0:1] : (tensor<4xui32>) -> tensor<1xui32>
    %2 = stablehlo.reshape %1 : (tensor<1xui32>) -> tensor<ui32>
    %3 = stablehlo.add %arg1, %arg2 : tensor<24x64xui32>
    %4 = stablehlo.broadcast_in_dim %2, dims = [] : (tensor<ui32>) -> tensor<24x64xui32>
    %5 = stablehlo.shift_left %arg2, %4 : tensor<24x64xui32>
    %c_0 = stablehlo.constant dense<32> : tensor<ui32>
    %6 = stablehlo.subtract %c_0, %2 : tensor<ui32>
    %7 = stablehlo.broadcast_in_dim %6, dims = [] : (tensor<ui32>) -> tensor<24x64xui32>
    %8 = stablehlo.shift_right_logical %arg2, %7 : tensor<24x64xui32>
    %9 = stablehlo.or %5, %8 : tensor<24x64xui32>
    %10 = stablehlo.xor %3, %9 : tensor<24x64xui32>
    %11 = stablehlo.slice %arg6 [1:2] : (tensor<4xui32>) -> tensor<1xui32>
    %12 = stablehlo.reshape %11 : (tensor<1xui32>) -> tensor<ui32>
    %13 = stablehlo.add %3, %10 : tensor<24x64xui32>
    %14 = stablehlo.broadcast_in_dim %12, dims = [] : (tensor<ui32>) -> tensor<24x64xui32>
    %15 = stablehlo.shift_left %10, %14 : tensor<24x64xui32>
    %c_1 = stablehlo.constant dense<32> : tensor<ui32>
    %16 = stablehlo.subtract %c_1, %12 : tensor<ui32>
    %17 = stablehlo.broadcast_in_dim %16, dims = [] : (tensor<ui32>) -> tensor<24x64xui32>
    %18 = stablehlo.shift_right_logical %10, %17 : tensor<24x64xui32>
    %19 = stablehlo.or %15, %18 : tensor<24x64xui32>
    %20 = stablehlo.xor %13, %19 : tensor<24x64xui32>
    %21 = stablehlo.slice %arg6 [2:3] : (tensor<4xui32>) -> tensor<1xui32>
    %22 = stablehlo.reshape %21 : (tensor<1xui32>) -> tensor<ui32>
    %23 = stablehlo.add %13, %20 : tensor<24x64xui32>
    %24 = stablehlo.broadcast_in_dim %22, dims = [] : (tensor<ui32>) -> tensor<24x64xui32>
    %25 = stablehlo.shift_left %20, %24 : tensor<24x64xui32>
    %c_2 = stablehlo.constant dense<32> : tensor<ui32>
    %26 = stablehlo.subtract %c_2, %22 : tensor<ui32>
    %27 = stablehlo.broadcast_in_dim %26, dims = [] : (tensor<ui32>) -> tensor<24x64xui32>
    %28 = stablehlo.shift_right_logical %20, %27 : tensor<24x64xui32>
    %29 = stablehlo.or %25, %28 : tensor<24x64xui32>
    %30 = stablehlo.xor %23, %29 : tensor<24x64xui32>
    %31 = stablehlo.slice %arg6 [3:4] : (tensor<4xui32>) -> tensor<1xui32>
    %32 = stablehlo.reshape %31 : (tensor<1xui32>) -> tensor<ui32>
    %33 = stablehlo.add %23, %30 : tensor<24x64xui32>
    %34 = stablehlo.broadcast_in_dim %32, dims = [] : (tensor<ui32>) -> tensor<24x64xui32>
    %35 = stablehlo.shift_left %30, %34 : tensor<24x64xui32>
    %c_3 = stablehlo.constant dense<32> : tensor<ui32>
    %36 = stablehlo.subtract %c_3, %32 : tensor<ui32>
    %37 = stablehlo.broadcast_in_dim %36, dims = [] : (tensor<ui32>) -> tensor<24x64xui32>
    %38 = stablehlo.shift_right_logical %30, %37 : tensor<24x64xui32>
    %39 = stablehlo.or %35, %38 : tensor<24x64xui32>
    %40 = stablehlo.xor %33, %39 : tensor<24x64xui32>
    %41 = stablehlo.broadcast_in_dim %arg3, dims = [0, 1] : (tensor<24x1xui32>) -> tensor<24x64xui32>
    %42 = stablehlo.add %33, %41 : tensor<24x64xui32>
    %43 = stablehlo.broadcast_in_dim %arg4, dims = [0, 1] : (tensor<24x1xui32>) -> tensor<24x64xui32>
    %44 = stablehlo.add %40, %43 : tensor<24x64xui32>
    %c_4 = stablehlo.constant dense<1> : tensor<i32>
    %45 = stablehlo.add %arg0, %c_4 : tensor<i32>
    %46 = stablehlo.convert %45 : (tensor<i32>) -> tensor<ui32>
    %47 = stablehlo.broadcast_in_dim %46, dims = [] : (tensor<ui32>) -> tensor<24x64xui32>
    %48 = stablehlo.add %44, %47 : tensor<24x64xui32>
    return %0, %42, %48, %arg4, %arg5, %arg3, %arg7, %arg6 : tensor<i32>, tensor<24x64xui32>, tensor<24x64xui32>, tensor<24x1xui32>, tensor<24x1xui32>, tensor<24x1xui32>, tensor<4xui32>, tensor<4xui32>
  }
  func.func private @_take(%arg0: tensor<24x64x2xf32>, %arg1: tensor<24x64xi32>) -> tensor<24x64x2xf32> {
    %c = stablehlo.constant dense<0> : tensor<i32>
    %0 = stablehlo.broadcast_in_dim %c, dims = [] : (tensor<i32>) -> tensor<24x64xi32>
    %1 = stablehlo.compare LT, %arg1, %0, SIGNED : (tensor<24x64xi32>, tensor<24x64xi32>) -> tensor<24x64xi1>
    %c_0 = stablehlo.constant dense<64> : tensor<i32>
    %2 = stablehlo.broadcast_in_dim %c_0, dims = [] : (tensor<i32>) -> tensor<24x64xi32>
    %3 = stablehlo.add %arg1, %2 : tensor<24x64xi32>
    %4 = call @_where(%1, %3, %arg1) : (tensor<24x64xi1>, tensor<24x64xi32>, tensor<24x64xi32>) -> tensor<24x64xi32>
    %5 = stablehlo.broadcast_in_dim %4, dims = [0, 1] : (tensor<24x64xi32>) -> tensor<24x64x1xi32>
    %c_1 = stablehlo.constant dense<63> : tensor<1xi32>
    %c_2 = stablehlo.constant dense<0> : tensor<i32>
    %6 = stablehlo.broadcast_in_dim %c_2, dims = [] : (tensor<i32>) -> tensor<24x64x1xi32>
    %7 = stablehlo.compare GE, %5, %6, SIGNED : (tensor<24x64x1xi32>, tensor<24x64x1xi32>) -> tensor<24x64x1xi1>
    %8 = stablehlo.broadcast_in_dim %c_1, dims = [2] : (tensor<1xi32>) -> tensor<1x1x1xi32>
    %9 = stablehlo.broadcast_in_dim %8, dims = [0, 1, 2] : (tensor<1x1x1xi32>) -> tensor<24x64x1xi32>
    %10 = stablehlo.compare LE, %5, %9, SIGNED : (tensor<24x64x1xi32>, tensor<24x64x1xi32>) -> tensor<24x64x1xi1>
    %11 = stablehlo.and %7, %10 : tensor<24x64x1xi1>
    %c_3 = stablehlo.constant dense<true> : tensor<i1>
    %12 = stablehlo.reduce(%11 init: %c_3) applies stablehlo.and across dimensions = [2] : (tensor<24x64x1xi1>, tensor<i1>) -> tensor<24x64xi1>
    %13 = "stablehlo.gather"(%arg0, %5) <{dimension_numbers = #stablehlo.gather<offset_dims = [2], collapsed_slice_dims = [1], operand_batching_dims = [0], start_indices_batching_dims = [0], start_index_map = [1], index_vector_dim = 2>, indices_are_sorted = false, slice_sizes = array<i64: 1, 1, 2>}> : (tensor<24x64x2xf32>, tensor<24x64x1xi32>) -> tensor<24x64x2xf32>
    %14 = stablehlo.broadcast_in_dim %12, dims = [0, 1] : (tensor<24x64xi1>) -> tensor<24x64x2xi1>
    %cst = stablehlo.constant dense<0x7FC00000> : tensor<f32>
    %15 = stablehlo.broadcast_in_dim %cst, dims = [] : (tensor<f32>) -> tensor<24x64x2xf32>
    %16 = stablehlo.select %14, %13, %15 : tensor<24x64x2xi1>, tensor<24x64x2xf32>
    return %16 : tensor<24x64x2xf32>
  }
  func.func private @_where(%arg0: tensor<24x64xi1>, %arg1: tensor<24x64xi32>, %arg2: tensor<24x64xi32>) -> tensor<24x64xi32> {
    %0 = stablehlo.select %arg0, %arg1, %arg2 : tensor<24x64xi1>, tensor<24x64xi32>
    return %0 : tensor<24x64xi32>
  }
}
