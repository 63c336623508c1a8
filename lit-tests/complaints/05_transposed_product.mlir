// RUN: shardc cost %s
// RUN: shardc check --interpret %s
// Asked for: no two full gathers of the operands to slice their product (openxla/xla#4062). What is least is moved, here rows of the
// narrow operands to where their part of the product is wanted.
sdy.mesh @mesh = <["x"=4, "y"=2]>
func.func @main(%a: tensor<512x16xi32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}, %b: tensor<16x512xi32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"y"}]>}) -> (tensor<512x512xi32> {sdy.sharding = #sdy.sharding<@mesh, [{"y"}, {"x"}]>}) {
  %0 = stablehlo.dot_general %a, %b, contracting_dims = [1] x [0] : (tensor<512x16xi32>, tensor<16x512xi32>) -> tensor<512x512xi32>
  return %0 : tensor<512x512xi32>
}
