// RUN: shardc cost --target v5e:4x4 %s
// Eight devices on a slice of sixteen chips.
sdy.mesh @mesh = <["x"=8]>
func.func @main(%a: tensor<8x4xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}) -> tensor<8x4xf32> {
  %0 = stablehlo.tanh %a : tensor<8x4xf32>
  return %0 : tensor<8x4xf32>
}
