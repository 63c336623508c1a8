// RUN: shardc cost --target v5litepod-8 %s
// RUN: not shardc cost --target v5litpod-8 %s
// RUN: not shardc cost --target v4-12 %s
// Targets may be called as clouds and devices call them; an unknown one names what is near.
sdy.mesh @mesh = <["x"=8]>
func.func @main(%a: tensor<8x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}) -> tensor<8x8xf32> {
  %0 = stablehlo.add %a, %a : tensor<8x8xf32>
  return %0 : tensor<8x8xf32>
}
