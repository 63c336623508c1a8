// RUN: shardc compile --emit manual %s
// XLA keeps nothing of a manual computation whose results have no elements, so one that calls the host has one more.
module attributes {mhlo.num_partitions = 4 : i32, mhlo.num_replicas = 1 : i32} {
  sdy.mesh @mesh = <["a"=4]>
  sdy.mesh @maximal_mesh_0 = <[], device_ids=[0]>
  func.func public @main(%x: tensor<8x0xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"a"}, {}]>}) -> (tensor<8x0xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"a"}, {}]>}) {
    stablehlo.custom_call @xla_ffi_python_cpu_callback() {has_side_effect = true, sdy.sharding = #sdy.sharding_per_value<[<@maximal_mesh_0, []>]>} : () -> ()
    return %x : tensor<8x0xf32>
  }
}
