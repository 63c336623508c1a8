// RUN: shardc opt --passes import %s
// Tiles become axes of one mesh, cut where any annotation cuts; dimensions that the backend_config names stay open.
module @jit_f attributes {mhlo.num_partitions = 8 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main(%a: tensor<8x16xf32> {mhlo.sharding = "{devices=[2,4]<=[8]}"},
                         %b: tensor<16x4xf32> {mhlo.sharding = "{devices=[2,1,4]<=[4,2]T(1,0) last_tile_dim_replicate}"},
                         %c: tensor<f32> {mhlo.sharding = "{replicated}"},
                         %d: tensor<8xf32> {mhlo.sharding = "{maximal device=3}"})
      -> (tensor<8x4xf32> {mhlo.sharding = "{devices=[2,1,4]0,1,2,3,4,5,6,7 last_tile_dim_replicate}"}) {
    %0 = stablehlo.dot_general %a, %b, contracting_dims = [1] x [0] : (tensor<8x16xf32>, tensor<16x4xf32>) -> tensor<8x4xf32>
    %1 = stablehlo.custom_call @Sharding(%0) {backend_config = "unspecified_dims=[1]", mhlo.sharding = "{devices=[4,1,2]<=[8] last_tile_dims={replicated}}"} : (tensor<8x4xf32>) -> tensor<8x4xf32>
    return %1 : tensor<8x4xf32>
  }
}
