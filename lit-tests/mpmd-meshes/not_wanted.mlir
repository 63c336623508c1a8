// RUN: shardc opt --passes mpmd-meshes %s
// Two views of all devices need no topology, and a mesh that nothing is sharded over none either.
module attributes {mhlo.num_partitions = 4 : i32} {
  sdy.mesh @line = <["z"=4]>
  sdy.mesh @grid = <["x"=2, "y"=2]>
  sdy.mesh @unused = <["x"=2], device_ids=[3, 2]>
  func.func @main(%a: tensor<8xi32> {sdy.sharding = #sdy.sharding<@line, [{"z"}]>}) -> (tensor<8xi32> {sdy.sharding = #sdy.sharding<@grid, [{"y"}]>}) {
    return %a : tensor<8xi32>
  }
}
