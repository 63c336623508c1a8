// RUN: shardc check --interpret %s
// RUN: shardc compile --emit stablehlo %s
// An axis moves from ten rows to seven columns in one exchange: columns are padded before it, rows cut off after it.
sdy.mesh @mesh = <["x"=4]>
func.func @main(%a: tensor<10x7xi32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}) -> (tensor<10x7xi32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"x"}]>}) {
  %0 = stablehlo.negate %a : tensor<10x7xi32>
  return %0 : tensor<10x7xi32>
}
