// RUN: shardc opt --passes unify-meshes %s
// The first mesh that can express all: "p" and "q" are parts of "x".
sdy.mesh @flat = <["x"=8]>
sdy.mesh @cube = <["p"=2, "q"=4]>
func.func @main(%a: tensor<8x8xf32> {sdy.sharding = #sdy.sharding<@flat, [{"x"}, {}]>}, %b: tensor<8x8xf32> {sdy.sharding = #sdy.sharding<@cube, [{"q"}, {"p"}]>}) -> tensor<8x8xf32> {
  %0 = stablehlo.add %a, %b : tensor<8x8xf32>
  return %0 : tensor<8x8xf32>
}
