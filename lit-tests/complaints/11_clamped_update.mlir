// RUN: shardc check --interpret %s
// RUN: shardc run --interpret %s
// Asked for: an update along a sharded dimension whose start is clamped isn't dropped (openxla/xla#49118), and a slice of one is
// that of the whole tensor (openxla/xla#49122).
sdy.mesh @mesh = <["x"=2]>
func.func @main() -> (tensor<2x2xi32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"x"}]>}, tensor<2x6xi32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"x"}]>}) {
  %x = stablehlo.constant dense<[[0, 1], [2, 3]]> : tensor<2x2xi32>
  %c = sdy.sharding_constraint %x <@mesh, [{}, {"x"}]> : tensor<2x2xi32>
  %u = stablehlo.constant dense<99> : tensor<2x1xi32>
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %two = stablehlo.constant dense<2> : tensor<i32>
  %0 = stablehlo.dynamic_update_slice %c, %u, %zero, %two : (tensor<2x2xi32>, tensor<2x1xi32>, tensor<i32>, tensor<i32>) -> tensor<2x2xi32>
  %w = stablehlo.constant dense<[[0, 1, 2, 3, 4, 5, 6, 7], [8, 9, 10, 11, 12, 13, 14, 15]]> : tensor<2x8xi32>
  %d = sdy.sharding_constraint %w <@mesh, [{}, {"x"}]> : tensor<2x8xi32>
  %seven = stablehlo.constant dense<7> : tensor<i32>
  %1 = stablehlo.dynamic_slice %d, %zero, %seven, sizes = [2, 6] : (tensor<2x8xi32>, tensor<i32>, tensor<i32>) -> tensor<2x6xi32>
  return %0, %1 : tensor<2x2xi32>, tensor<2x6xi32>
}
