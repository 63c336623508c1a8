// RUN: shardc opt --passes partition %s
// RUN: shardc run --interpret %s
// In each permute devices send rows of different operands; rows that a device has itself need none, and operands of rank 0
// fill rows.
sdy.mesh @mesh = <["x"=4]>
func.func @main() -> (tensor<16xi32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}]>}) {
  %a = stablehlo.iota dim = 0 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"x"}]>]>} : tensor<8xi32>
  %b = stablehlo.iota dim = 0 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"x"}]>]>} : tensor<6xi32>
  %c = stablehlo.constant {sdy.sharding = #sdy.sharding_per_value<[<@mesh, []>]>} dense<-1> : tensor<i32>
  %0 = shardc.assemble %a, %b, %c, dim = 0, operands = [2, 1, 0], starts = [0, 0, 0], counts = [2, 6, 8], reversed = [0, 1, 0] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"x"}]>]>} : (tensor<8xi32>, tensor<6xi32>, tensor<i32>) -> tensor<16xi32>
  return %0 : tensor<16xi32>
}
