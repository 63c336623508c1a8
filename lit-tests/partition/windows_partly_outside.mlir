// RUN: shardc run --interpret %s
// RUN: shardc check %s
// RUN: shardc compile --emit sdy %s
// A device writes what falls into its shard: of a window that reaches over the end of a shard, or of the tensor, the
// elements inside. An index that i64 can't hold stays outside.
sdy.mesh @mesh = <["x"=4]>
func.func @main() -> (tensor<8xi32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}]>}) {
  %a = stablehlo.iota dim = 0 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"x"}]>]>} : tensor<8xi32>
  %i = stablehlo.constant dense<[[18446744073709551615], [1], [6]]> : tensor<3x1xui64>
  %u = stablehlo.constant dense<[[100, 200, 300], [400, 500, 600], [700, 800, 900]]> : tensor<3x3xi32>
  %c = sdy.sharding_constraint %a <@mesh, [{"x"}]> : tensor<8xi32>
  %r = "stablehlo.scatter"(%c, %i, %u) <{scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [1], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>}> ({
  ^bb0(%x: tensor<i32>, %y: tensor<i32>):
    %s = stablehlo.add %x, %y : tensor<i32>
    stablehlo.return %s : tensor<i32>
  }) : (tensor<8xi32>, tensor<3x1xui64>, tensor<3x3xi32>) -> tensor<8xi32>
  return %r : tensor<8xi32>
}
