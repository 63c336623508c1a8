// RUN: shardc compile --emit sdy %s
// Two axes of different sizes change places: half of a shard each goes straight to where it is wanted, instead of an
// all-to-all and a permute of what that brought.
sdy.mesh @mesh = <["x"=2, "y"=4]>
func.func @main(%a: tensor<8192x8192xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {"y"}]>}) -> (tensor<8192x8192xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"y"}, {"x"}]>}) {
  return %a : tensor<8192x8192xf32>
}
