// RUN: shardc cost %s
// RUN: shardc check --interpret %s
// Asked for: a stencil over a padded array that sends rows to neighbors, not the array to everybody (EnzymeAD/Enzyme-JAX#822).
sdy.mesh @mesh = <["x"=8]>
func.func @main(%a: tensor<512x64xi32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}) -> (tensor<512x64xi32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}) {
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %p = stablehlo.pad %a, %zero, low = [1, 0], high = [1, 0], interior = [0, 0] : (tensor<512x64xi32>, tensor<i32>) -> tensor<514x64xi32>
  %0 = stablehlo.slice %p [0:512, 0:64] : (tensor<514x64xi32>) -> tensor<512x64xi32>
  %1 = stablehlo.slice %p [1:513, 0:64] : (tensor<514x64xi32>) -> tensor<512x64xi32>
  %2 = stablehlo.slice %p [2:514, 0:64] : (tensor<514x64xi32>) -> tensor<512x64xi32>
  %3 = stablehlo.add %0, %1 : tensor<512x64xi32>
  %4 = stablehlo.add %3, %2 : tensor<512x64xi32>
  return %4 : tensor<512x64xi32>
}
