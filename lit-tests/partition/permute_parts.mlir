// RUN: shardc opt --passes partition %s
// RUN: shardc run --interpret %s
// Every shard, three columns of four rows, is sent as two parts, in each round to another device.
sdy.mesh @mesh = <["x"=2, "y"=4]>
func.func @main() -> (tensor<8x12xi32> {sdy.sharding = #sdy.sharding<@mesh, [{"y"}, {"x"}]>}) {
  %a = stablehlo.iota dim = 1 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"x"}, {"y"}]>]>} : tensor<8x12xi32>
  %0 = shardc.permute_parts %a out_sharding=<@mesh, [{"y"}, {"x"}]> : tensor<8x12xi32>
  return %0 : tensor<8x12xi32>
}
