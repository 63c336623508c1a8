// RUN: shardc opt --passes unify-meshes %s
// The eight devices of @rows are those of @grid in the same order: "r" is "x" and "y" together.
sdy.mesh @rows = <["r"=8]>
sdy.mesh @grid = <["x"=4, "y"=2]>
func.func @main(%a: tensor<8x8xf32> {sdy.sharding = #sdy.sharding<@rows, [{"r"}, {}]>}, %b: tensor<8x8xf32> {sdy.sharding = #sdy.sharding<@grid, [{"x"}, {"y"}]>}) -> tensor<8x8xf32> {
  %0 = stablehlo.add %a, %b : tensor<8x8xf32>
  return %0 : tensor<8x8xf32>
}
