// RUN: shardc compile %s
// Positions are i64, because a dimension has more than 2^30 elements; they are i32 in programs without such a dimension.
sdy.mesh @mesh = <["x"=4]>
func.func @main(%a: tensor<8589934592xi8> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}]>}, %i: tensor<i32>) -> tensor<1xi8> {
  %0 = stablehlo.dynamic_slice %a, %i, sizes = [1] : (tensor<8589934592xi8>, tensor<i32>) -> tensor<1xi8>
  return %0 : tensor<1xi8>
}
