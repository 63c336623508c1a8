// RUN: not shardc compile --emit manual %s
// JAX's runtime can't run replicas of a partitioned program, so nothing is written for it.
module attributes {mhlo.num_replicas = 2 : i32} {
  sdy.mesh @mesh = <["x"=2]>
  func.func @main(%a: tensor<4xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}]>}) -> tensor<4xf32> {
    return %a : tensor<4xf32>
  }
}
