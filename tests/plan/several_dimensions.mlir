module @m {
  sdy.mesh @mesh = <["x"=4, "y"=2]>
  func.func public @main(%arg0: tensor<8x16x4xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"y"}, {}, {"x"}]>}, %arg1: tensor<8x16xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {"y"}]>}, %arg2: tensor<16x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"x","y"}]>}, %arg3: tensor<16x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {"y"}]>}) -> (tensor<8x16x4xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"x","y"}, {}]>}, tensor<8x16xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {}]>}, tensor<16x16xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {"y"}]>}, tensor<16x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"x", "y"}]>}, tensor<8x16x4xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"y","x"}, {}]>}) {
    %0 = stablehlo.negate %arg0 : tensor<8x16x4xf32>
    %1 = stablehlo.add %arg1, %arg1 : tensor<8x16xf32>
    %2 = stablehlo.dot_general %arg2, %arg2, contracting_dims = [1] x [1] : (tensor<16x8xf32>, tensor<16x8xf32>) -> tensor<16x16xf32>
    %3 = stablehlo.negate %arg3 : tensor<16x8xf32>
    return %0, %1, %2, %3, %0 : tensor<8x16x4xf32>, tensor<8x16xf32>, tensor<16x16xf32>, tensor<16x8xf32>, tensor<8x16x4xf32>
  }
}
