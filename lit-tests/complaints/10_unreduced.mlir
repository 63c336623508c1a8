// RUN: shardc check --interpret %s
// RUN: shardc cost %s
// Asked for: no sum forgotten where partial results become partly sharded and partly replicated (openxla/xla#40034).
sdy.mesh @mesh = <["x"=2, "y"=2, "z"=2]>
func.func @main(%a: tensor<16x32xi32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"x", "y", "z"}]>}, %b: tensor<32x16xi32> {sdy.sharding = #sdy.sharding<@mesh, [{"x", "y", "z"}, {}]>}) -> (tensor<16x16xi32> {sdy.sharding = #sdy.sharding<@mesh, [{"y"}, {}], replicated={"x", "z"}>}) {
  %0 = stablehlo.dot_general %a, %b, contracting_dims = [1] x [0] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}, {}], unreduced={"x", "y", "z"}>]>} : (tensor<16x32xi32>, tensor<32x16xi32>) -> tensor<16x16xi32>
  return %0 : tensor<16x16xi32>
}
