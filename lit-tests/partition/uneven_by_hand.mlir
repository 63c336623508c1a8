// RUN: shardc check --interpret %s
// RUN: shardc opt --passes partition %s
// A gather by hand of a dimension that is divided by another axis too, and doesn't divide: shards of four rows don't hold
// those of two, so rows go through all devices.
sdy.mesh @mesh = <["x"=2, "y"=3]>
func.func @main(%a: tensor<7x4xi32> {sdy.sharding = #sdy.sharding<@mesh, [{"x", "y"}, {}]>}) -> (tensor<7x4xi32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}) {
  %0 = sdy.all_gather [{"y"}, {}] %a out_sharding=<@mesh, [{"x"}, {}]> : tensor<7x4xi32>
  return %0 : tensor<7x4xi32>
}
