// RUN: not shardc compile %s
// Of more partitions than the mesh has devices there is a warning: see mpmd/on_fewer_devices.
module attributes {mhlo.num_partitions = 2 : i32, mhlo.num_replicas = 1 : i32} {
  sdy.mesh @mesh = <["x"=4]>
  func.func public @main(%arg0: tensor<8x16xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}) -> tensor<8x16xf32> {
    %0 = stablehlo.add %arg0, %arg0 : tensor<8x16xf32>
    return %0 : tensor<8x16xf32>
  }
}
