// RUN: shardc compile --emit sdy %s
// A thirty-second of a shard each could go straight to where it is wanted, by 32 permutes: no more than 16 are made of one
// redistribution, so an all-to-all comes first.
sdy.mesh @mesh = <["x"=2, "y"=64]>
func.func @main(%a: tensor<65536x65536xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {"y"}]>}) -> (tensor<65536x65536xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"y"}, {"x"}]>}) {
  return %a : tensor<65536x65536xf32>
}
