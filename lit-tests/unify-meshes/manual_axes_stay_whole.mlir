// RUN: shardc opt --passes unify-meshes %s
// "i" is but a part of "x", which no manual axis can be: the second mesh stays.
sdy.mesh @flat = <["x"=8]>
sdy.mesh @grid = <["i"=4, "j"=2]>
func.func @main(%a: tensor<8x6xf32> {sdy.sharding = #sdy.sharding<@flat, [{"x"}, {}]>}) -> tensor<8x6xf32> {
  %0 = sdy.manual_computation(%a) in_shardings=[<@grid, [{"i"}, {}]>] out_shardings=[<@grid, [{"i"}, {}]>] manual_axes={"i"} (%b: tensor<2x6xf32>) {
    %1 = stablehlo.sine %b : tensor<2x6xf32>
    sdy.return %1 : tensor<2x6xf32>
  } : (tensor<8x6xf32>) -> tensor<8x6xf32>
  return %0 : tensor<8x6xf32>
}
