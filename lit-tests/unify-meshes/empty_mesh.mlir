// RUN: shardc check --interpret %s
// JAX's mesh without axes says nothing about where a value lies.
module @jit_f attributes {mhlo.num_partitions = 7 : i32, mhlo.num_replicas = 1 : i32} {
  sdy.mesh @empty_mesh = <[]>
  sdy.mesh @mesh = <["a"=7]>
  func.func public @main(%arg0: tensor<7x2xi32>, %arg1: tensor<i32> {sdy.sharding = #sdy.sharding<@empty_mesh, []>}) -> (tensor<7x2xi32>, tensor<i32>) {
    %0 = sdy.sharding_constraint %arg0 <@mesh, [{"a"}, {}]> : tensor<7x2xi32>
    return %arg0, %arg1 : tensor<7x2xi32>, tensor<i32>
  }
}
