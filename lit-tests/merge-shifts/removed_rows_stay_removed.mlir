// RUN: shardc opt --passes import,propagate,merge-shifts %s
// A pad of a slice can't be one shift, because rows that the slice removes would be visible; a shift of an unsharded
// dimension stays as it is.
sdy.mesh @mesh = <["x"=4]>
func.func @main(%a: tensor<64x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}) -> (tensor<64x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}, tensor<64x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}) {
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %0 = stablehlo.slice %a [1:64, 0:8] : (tensor<64x8xf32>) -> tensor<63x8xf32>
  %1 = stablehlo.pad %0, %zero, low = [1, 0], high = [0, 0], interior = [0, 0] : (tensor<63x8xf32>, tensor<f32>) -> tensor<64x8xf32>
  %2 = stablehlo.pad %a, %zero, low = [0, 1], high = [0, 1], interior = [0, 0] : (tensor<64x8xf32>, tensor<f32>) -> tensor<64x10xf32>
  %3 = stablehlo.slice %2 [0:64, 0:8] : (tensor<64x10xf32>) -> tensor<64x8xf32>
  return %1, %3 : tensor<64x8xf32>, tensor<64x8xf32>
}
