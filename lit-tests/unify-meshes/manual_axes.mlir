// RUN: shardc opt --passes unify-meshes %s
// RUN: shardc check %s
// Manual axes are named in the new mesh too: "i" is "x" and "y" together.
sdy.mesh @cube = <["x"=2, "y"=2, "z"=2]>
sdy.mesh @grid = <["i"=4, "j"=2]>
func.func @main(%a: tensor<8x6xf32> {sdy.sharding = #sdy.sharding<@cube, [{"x"}, {}]>}) -> tensor<8x6xf32> {
  %0 = sdy.manual_computation(%a) in_shardings=[<@grid, [{"i"}, {"j"}]>] out_shardings=[<@grid, [{"i"}, {"j"}]>] manual_axes={"i", "j"} (%b: tensor<2x3xf32>) {
    %1 = stablehlo.sine %b : tensor<2x3xf32>
    sdy.return %1 : tensor<2x3xf32>
  } : (tensor<8x6xf32>) -> tensor<8x6xf32>
  return %0 : tensor<8x6xf32>
}
