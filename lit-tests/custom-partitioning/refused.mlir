// RUN: not shardc compile %s
// RUN: not shardc check --interpret %s
// RUN: shardc opt --passes sharded,custom-partitioning %s
// JAX's custom_partitioning is a pointer to a function of the process that wrote the program: refused by name. The pass writes
// what that function needs to know.
module attributes {mhlo.num_partitions = 2 : i32, mhlo.num_replicas = 1 : i32} {
  sdy.mesh @mesh = <["b"=2]>
  func.func public @main(%x: tensor<4x2xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"b"}, {}]>}) -> tensor<4x2xf32> {
    %0 = stablehlo.custom_call @CustomSPMDPartitioning(%x) {api_version = 2 : i32, backend_config = "139985394403536", sdy.sharding_rule = #sdy.op_sharding_rule<([i, j])->([i, j]) {i=4, j=2}, custom>} : (tensor<4x2xf32>) -> tensor<4x2xf32>
    return %0 : tensor<4x2xf32>
  }
}
