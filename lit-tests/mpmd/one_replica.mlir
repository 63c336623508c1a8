// RUN: shardc opt --passes compile --verify-each %s
// The same of a program that states its topology and says nothing of partitions.
module attributes {mhlo.num_replicas = 1 : i32} {
  func.func @main(%x: !mpmd.mesh_tensor<"a", tensor<4x8xf32>, sharding=<@a, [{}, {"x"}]>>) -> !mpmd.mesh_tensor<"a", tensor<4xf32>> attributes {topology = #mpmd.topology<<"a": <["x"=2]>>, <"b": <["x"=2]>>>} {
    %0 = mpmd.fragment<mesh="a", origin=[]> (%x) (%y: tensor<4x8xf32>) {
      %cst = stablehlo.constant dense<0.000000e+00> : tensor<f32>
      %2 = stablehlo.reduce(%y init: %cst) applies stablehlo.add across dimensions = [1] : (tensor<4x8xf32>, tensor<f32>) -> tensor<4xf32>
      mpmd.return %2 : tensor<4xf32>
    } : (!mpmd.mesh_tensor<"a", tensor<4x8xf32>, sharding=<@a, [{}, {"x"}]>>) -> !mpmd.mesh_tensor<"a", tensor<4xf32>>
    return %0 : !mpmd.mesh_tensor<"a", tensor<4xf32>>
  }
}
