// RUN: shardc explain %s
// RUN: shardc show %s
// A dimension that its shards don't divide is padded: the waste is said.
sdy.mesh @mesh = <["x"=16]>
func.func @main(%a: tensor<1000x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}) -> (tensor<1000x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}) {
  %0 = stablehlo.add %a, %a : tensor<1000x8xf32>
  return %0 : tensor<1000x8xf32>
}
