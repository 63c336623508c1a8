// RUN: shardc opt --passes compile-gspmd %s
// RUN: shardc compile --emit sdy %s
// RUN: shardc check --interpret %s
// RUN: shardc explain %s
// A callback in a shard_map runs on every device. JAX states its sharding over a mesh without axes.
module attributes {mhlo.num_partitions = 2 : i32, mhlo.num_replicas = 1 : i32} {
  sdy.mesh @mesh = <["a"=2]>
  sdy.mesh @empty_mesh = <[]>
  func.func public @main(%x: tensor<8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"a"}]>}) -> tensor<8xf32> {
    %0 = sdy.manual_computation(%x) in_shardings=[<@mesh, [{"a"}]>] out_shardings=[<@mesh, [{"a"}]>] manual_axes={"a"} (%shard: tensor<4xf32>) {
      stablehlo.custom_call @xla_ffi_python_cpu_callback(%shard) {has_side_effect = true, sdy.sharding = #sdy.sharding_per_value<[<@empty_mesh, []>]>} : (tensor<4xf32>) -> ()
      %1 = stablehlo.custom_call @Sharding(%shard) {sdy.sharding = #sdy.sharding_per_value<[<@empty_mesh, [{}]>]>} : (tensor<4xf32>) -> tensor<4xf32>
      sdy.return %1 : tensor<4xf32>
    } : (tensor<8xf32>) -> tensor<8xf32>
    return %0 : tensor<8xf32>
  }
}
