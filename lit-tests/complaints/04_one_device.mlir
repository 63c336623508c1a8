// RUN: not shardc compile %s
// Asked for: not to find by a log that an argument on device 0 alone is sent to everybody (Physical-Intelligence/openpi#112).
// Callbacks on one device are in one-device/callback.mlir.
module attributes {mhlo.num_partitions = 4 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main(%arg0: tensor<8x4xf32> {mhlo.sharding = "{maximal device=0}"}) -> (tensor<8x4xf32> {mhlo.sharding = "{devices=[4,1]<=[4]}"}) {
    %0 = stablehlo.sine %arg0 : tensor<8x4xf32>
    return %0 : tensor<8x4xf32>
  }
}
