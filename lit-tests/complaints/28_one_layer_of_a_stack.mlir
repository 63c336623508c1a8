// RUN: shardc cost %s
// RUN: shardc check --interpret %s
// Asked for: one layer taken of a stack that is sharded by layers doesn't move the others (openxla/xla#44796, #46108).
sdy.mesh @mesh = <["x"=8]>
func.func @main(%stack: tensor<8x64x64xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}, {}]>}, %i: tensor<i32>) -> (tensor<64x64xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {}]>}) {
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %0 = stablehlo.dynamic_slice %stack, %i, %zero, %zero, sizes = [1, 64, 64] : (tensor<8x64x64xf32>, tensor<i32>, tensor<i32>, tensor<i32>) -> tensor<1x64x64xf32>
  %1 = stablehlo.reshape %0 : (tensor<1x64x64xf32>) -> tensor<64x64xf32>
  return %1 : tensor<64x64xf32>
}
