module {
  sdy.mesh @mesh = <["x"=8, "y"=3, "z"=3, "w"=2]>
  func.func public @main(%arg0: tensor<8x6xf32> {sdy.sharding = #sdy.sharding<@mesh, [{?}, {"w", "z"}], replicated={"y"}>}, %arg1: tensor<8x6xf32>, %arg2: tensor<8x6xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {?}]>}, %arg3: tensor<i32>) -> (tensor<1x8x6xf32> {sdy.sharding = #sdy.sharding<@mesh, [{?}, {}, {"w", ?}]>}, tensor<6x6xf32> {sdy.sharding = #sdy.sharding<@mesh, [{?}, {"w"}]>}, tensor<8x6xf32>) {
    %0 = sdy.reshard %arg0 <@mesh, [{"w", "y"}, {?}]> : tensor<8x6xf32>
    %1 = stablehlo.iota dim = 0 : tensor<6x1xi32>
    %2 = "stablehlo.gather"(%arg2, %1) <{dimension_numbers = #stablehlo.gather<offset_dims = [1], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>, indices_are_sorted = false, slice_sizes = array<i64: 1, 6>}> : (tensor<8x6xf32>, tensor<6x1xi32>) -> tensor<6x6xf32>
    %3 = sdy.manual_computation(%arg1) in_shardings=[<@mesh, [{}, {"z"}]>] out_shardings=[<@mesh, [{"z", ?}]>] manual_axes={"z"} (%arg4: tensor<8x2xf32>) {
      %17 = stablehlo.dot_general %arg4, %arg4, contracting_dims = [0] x [0] : (tensor<8x2xf32>, tensor<8x2xf32>) -> tensor<2x2xf32>
      %18:2 = stablehlo.custom_call @QrDecompositionBlock(%17) : (tensor<2x2xf32>) -> (tensor<2x2xf32>, tensor<2xf32>)
      %19 = stablehlo.add %17, %17 : tensor<2x2xf32>
      %20 = stablehlo.is_finite %17 : (tensor<2x2xf32>) -> tensor<2x2xi1>
      %21 = stablehlo.select %20, %17, %19 : tensor<2x2xi1>, tensor<2x2xf32>
      sdy.return %18#1 : tensor<2xf32>
    } : (tensor<8x6xf32>) -> tensor<6xf32>
    %4 = stablehlo.partition_id : tensor<ui32>
    %5 = stablehlo.convert %4 : (tensor<ui32>) -> tensor<f32>
    %6 = "stablehlo.map"(%arg2, %0) <{dimensions = array<i64: 0, 1>}> ({
    ^bb0(%arg4: tensor<f32>, %arg5: tensor<f32>):
      %17 = stablehlo.add %arg4, %arg5 : tensor<f32>
      stablehlo.return %17 : tensor<f32>
    }) {sdy.sharding_rule = #sdy.op_sharding_rule<([i, j], [i, j])->([i, j]) {i=8, j=6}, custom>} : (tensor<8x6xf32>, tensor<8x6xf32>) -> tensor<8x6xf32>
    %7 = stablehlo.sine %0 : tensor<8x6xf32>
    %8 = stablehlo.custom_call @xla.megascale.provide_metadata(%6) {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{?}, {"z", ?}]>]>} : (tensor<8x6xf32>) -> tensor<8x6xf32>
    %9 = stablehlo.iota dim = 1 : tensor<8x6xf32>
    %10 = stablehlo.reshape %8 : (tensor<8x6xf32>) -> tensor<1x8x6xf32>
    %cst = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %11 = stablehlo.reduce(%7 init: %cst) applies stablehlo.add across dimensions = [0, 1] : (tensor<8x6xf32>, tensor<f32>) -> tensor<f32>
    %12 = stablehlo.add %10, %10 : tensor<1x8x6xf32>
    %c = stablehlo.constant dense<0> : tensor<i32>
    %c_0 = stablehlo.constant dense<0> : tensor<i32>
    %13 = stablehlo.dynamic_slice %9, %c, %c_0, sizes = [8, 3] : (tensor<8x6xf32>, tensor<i32>, tensor<i32>) -> tensor<8x3xf32>
    %cst_1 = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %cst_2 = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %c_3 = stablehlo.constant dense<[1, 8, 6]> : tensor<3xi64>
    %14 = stablehlo.rng %cst_1, %cst_2, %c_3, distribution = NORMAL : (tensor<f32>, tensor<f32>, tensor<3xi64>) -> tensor<1x8x6xf32>
    %15 = stablehlo.replica_id : tensor<ui32>
    %16 = stablehlo.convert %15 : (tensor<ui32>) -> tensor<f32>
    return %12, %2, %arg0 : tensor<1x8x6xf32>, tensor<6x6xf32>, tensor<8x6xf32>
  }
}

// expected
// 0 <@mesh, [{}, {"w", "z"}]>
// 1 <@mesh, [{}, {"z"}]>
// 2 <@mesh, [{}, {"w"}]>
// 3 <@mesh, [{}, {}, {"w"}]>
// 4 <@mesh, [{"w", "y"}, {}]>
// 5 <@mesh, [{}, {}, {"z"}]>
//
// func main
//   arg 0 0
//   arg 1 1
//   arg 2 2
//   arg 3 -
//   result 0 3
//   result 1 2
//   result 2 0
//   sdy.reshard 4
//   stablehlo.iota -
//   stablehlo.gather 2
//   stablehlo.map 2
//     stablehlo.add -
//     stablehlo.return
//   stablehlo.custom_call 1
//   stablehlo.reshape 5
//   stablehlo.add 3
//   stablehlo.rng -
//   func.return
