// RUN: shardc compile %s
// RUN: shardc check --interpret %s
// A mesh over some of the devices, in any order, and one over all of them.
module attributes {mhlo.num_partitions = 6 : i32} {
  sdy.mesh @some = <["x"=3], device_ids=[5, 1, 3]>
  sdy.mesh @all = <["a"=3, "b"=2]>
  func.func @main(%a: tensor<6x4xi32> {sdy.sharding = #sdy.sharding<@some, [{"x"}, {}]>}) -> tensor<6x4xi32> {
    %0 = stablehlo.reverse %a, dims = [0] : tensor<6x4xi32>
    %1 = sdy.sharding_constraint %0 <@all, [{"a"}, {"b"}]> : tensor<6x4xi32>
    %2 = stablehlo.multiply %1, %1 : tensor<6x4xi32>
    return %2 : tensor<6x4xi32>
  }
}
