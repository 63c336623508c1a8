// RUN: shardc compile %s
// RUN: shardc check %s

// One layer of a stack that is sharded by layers: the device that holds it contributes it, all others zeros. Of rows that
// may lie on two devices each contributes those it holds.
sdy.mesh @mesh = <["x"=4]>

func.func @main(
    %stack: tensor<8x64x64xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}, {}]>},
    %rows: tensor<4096x5xi32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>},
    %layer: tensor<i32>) -> (tensor<1x64x64xf32>, tensor<3x5xi32>) {
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %a = stablehlo.dynamic_slice %stack, %layer, %zero, %zero, sizes = [1, 64, 64] : (tensor<8x64x64xf32>, tensor<i32>, tensor<i32>, tensor<i32>) -> tensor<1x64x64xf32>
  %start = stablehlo.constant dense<1022> : tensor<i32>
  %first = stablehlo.add %start, %layer : tensor<i32>
  %b = stablehlo.dynamic_slice %rows, %first, %zero, sizes = [3, 5] : (tensor<4096x5xi32>, tensor<i32>, tensor<i32>) -> tensor<3x5xi32>
  return %a, %b : tensor<1x64x64xf32>, tensor<3x5xi32>
}
