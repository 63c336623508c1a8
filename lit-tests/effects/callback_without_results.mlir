// RUN: shardc opt --passes compile-gspmd %s
// RUN: shardc run %s
// RUN: shardc run --interpret %s
// RUN: shardc check %s
// RUN: shardc cost %s
// RUN: shardc explain --tries 0 %s
// What jax.debug.print of a sharded value is: device 0 alone runs it, on all of the value. A run leaves it out, with a note.
module attributes {mhlo.num_partitions = 4 : i32, mhlo.num_replicas = 1 : i32} {
  sdy.mesh @mesh = <["a"=4]>
  sdy.mesh @maximal_mesh_0 = <[], device_ids=[0]>
  func.func public @main(%x: tensor<8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"a"}]>}) -> (tensor<8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"a"}]>}) {
    stablehlo.custom_call @xla_ffi_python_cpu_callback(%x) {has_side_effect = true, sdy.sharding = #sdy.sharding_per_value<[<@maximal_mesh_0, []>]>} : (tensor<8xf32>) -> ()
    %0 = stablehlo.add %x, %x : tensor<8xf32>
    return %0 : tensor<8xf32>
  }
}
