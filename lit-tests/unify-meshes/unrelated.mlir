// RUN: not shardc opt --passes unify-meshes %s
// Six devices as two threes and as three twos: no axis of the one is made of parts of the other.
sdy.mesh @a = <["x"=2, "y"=3]>
sdy.mesh @b = <["p"=3, "q"=2]>
func.func @main(%a: tensor<6x6xf32> {sdy.sharding = #sdy.sharding<@a, [{"x"}, {}]>}, %b: tensor<6x6xf32> {sdy.sharding = #sdy.sharding<@b, [{"p"}, {"q"}]>}) -> tensor<6x6xf32> {
  %0 = stablehlo.add %a, %b : tensor<6x6xf32>
  return %0 : tensor<6x6xf32>
}
