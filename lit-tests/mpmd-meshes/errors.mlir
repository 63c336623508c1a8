// RUN: not shardc compile %s
// A mesh over devices that there aren't, and one that has a device twice.
module attributes {mhlo.num_partitions = 4 : i32} {
  sdy.mesh @far = <["x"=2], device_ids=[3, 4]>
  sdy.mesh @twice = <["x"=2], device_ids=[1, 1]>
  func.func @main(%a: tensor<8xi32> {sdy.sharding = #sdy.sharding<@far, [{"x"}]>}) -> tensor<8xi32> {
    return %a : tensor<8xi32>
  }
}
