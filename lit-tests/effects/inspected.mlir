// RUN: shardc compile --emit manual %s
// RUN: shardc opt --passes compile-gspmd %s
// RUN: shardc check --interpret %s
// jax.debug.inspect_array_sharding: XLA calls back when it compiles. In the manual computation all is one device's, so what is
// shown is a constant beside it, which is sharded as the plan shards the value, and which nothing computes.
module attributes {mhlo.num_partitions = 4 : i32, mhlo.num_replicas = 1 : i32} {
  sdy.mesh @mesh = <["a"=2, "b"=2]>
  func.func public @main(%x: tensor<8x4xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"a"}, {"b"}]>}) -> tensor<8x4xf32> {
    %0 = stablehlo.multiply %x, %x : tensor<8x4xf32>
    %1 = stablehlo.custom_call @InspectSharding(%0) {backend_config = "pointers", has_side_effect = true} : (tensor<8x4xf32>) -> tensor<8x4xf32>
    return %0 : tensor<8x4xf32>
  }
}
