// RUN: shardc compile %s
// RUN: shardc opt --passes compile-gspmd %s
// RUN: not shardc run --interpret %s
// RUN: not shardc check --interpret %s
// RUN: shardc cost %s
// RUN: shardc explain --tries 0 %s
// An ordered callback with a result, as JAX writes io_callback(ordered=True): device 0 runs it under its token and sends the
// others the result. Nothing here can compute that result.
module attributes {mhlo.num_partitions = 4 : i32, mhlo.num_replicas = 1 : i32} {
  sdy.mesh @mesh = <["a"=4]>
  sdy.mesh @maximal_mesh_0 = <[], device_ids=[0]>
  func.func public @main(%t: !stablehlo.token {jax.token = true}, %x: tensor<16xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"a"}]>}) -> (!stablehlo.token {jax.token = true}, tensor<16xf32>) {
    %0:2 = stablehlo.custom_call @xla_ffi_python_cpu_callback(%t, %x) {has_side_effect = true, sdy.sharding = #sdy.sharding_per_value<[<@maximal_mesh_0, []>, <@maximal_mesh_0, []>]>} : (!stablehlo.token, tensor<16xf32>) -> (!stablehlo.token, tensor<16xf32>)
    return %0#0, %0#1 : !stablehlo.token, tensor<16xf32>
  }
}
