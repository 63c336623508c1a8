// RUN: not shardc opt --passes import %s
// What no mesh can say is refused at the annotation.
module attributes {mhlo.num_partitions = 6 : i32} {
  func.func public @main(%a: tensor<6xf32> {mhlo.sharding = "{devices=[2,3]<=[6] last_tile_dim_replicate}"},
                         %b: tensor<6xf32> {mhlo.sharding = "{devices=[3,2]<=[6] last_tile_dim_replicate}"},
                         %c: tensor<6xf32> {mhlo.sharding = "{devices=[4]<=[6]}"},
                         %d: tensor<6xf32> {mhlo.sharding = "{devices=[2,3]<=[6] last_tile_dims={shard_as}}"}) -> tensor<6xf32> {
    return %a : tensor<6xf32>
  }
}
