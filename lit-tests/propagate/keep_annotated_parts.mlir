// RUN: shardc opt --passes propagate{keep-annotated=true} %s
// RUN: shardc check --interpret %s
// What combines the parts of an argument that doesn't divide lies as the argument does; other collectives read it cut.
sdy.mesh @mesh = <["x"=2, "y"=4]>
func.func @main(%a: tensor<6x4xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"y"}, {}], unreduced={"x"}>}, %b: tensor<6x4xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"y"}, {}]>}) -> (tensor<6x4xf32>, tensor<6x4xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {}], unreduced={"y"}>}) {
  %0 = stablehlo.negate %a : tensor<6x4xf32>
  return %0, %b : tensor<6x4xf32>, tensor<6x4xf32>
}
