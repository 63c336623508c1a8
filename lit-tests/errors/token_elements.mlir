// RUN: not shardc compile %s
// Tokens order effects; no tensor holds them.
sdy.mesh @mesh = <["x"=2]>
func.func @main(%a: tensor<8x6x!stablehlo.token> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"x"}]>}, %b: tensor<6x4x!stablehlo.token> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}) -> tensor<8x4x!stablehlo.token> {
  %0 = stablehlo.dot_general %a, %b, contracting_dims = [1] x [0] : (tensor<8x6x!stablehlo.token>, tensor<6x4x!stablehlo.token>) -> tensor<8x4x!stablehlo.token>
  return %0 : tensor<8x4x!stablehlo.token>
}
