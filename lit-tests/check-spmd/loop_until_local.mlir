// RUN: not shardc check --spmd %s
// RUN: shardc opt --passes check-spmd %s
// Each device loops until its own rows are small, but they are permuted in the loop. It may work for some inputs: compiling warns.
module attributes {mhlo.num_partitions = 2 : i32, mhlo.num_replicas = 1 : i32, shardc.meshes = {mesh = "<[\22x\22=2]>"}} {
  func.func @main(%x: tensor<4xf32> {shardc.global_type = tensor<8xf32>, shardc.sharding = "<@mesh, [{\22x\22}]>"}) -> (tensor<4xf32> {shardc.global_type = tensor<8xf32>, shardc.sharding = "<@mesh, [{\22x\22}]>"}) {
    %zero = stablehlo.constant dense<0.0> : tensor<f32>
    %one = stablehlo.constant dense<1.0> : tensor<f32>
    %half = stablehlo.constant dense<0.5> : tensor<4xf32>
    %0 = stablehlo.while(%v = %x) : tensor<4xf32>
    cond {
      %1 = stablehlo.reduce(%v init: %zero) applies stablehlo.maximum across dimensions = [0] : (tensor<4xf32>, tensor<f32>) -> tensor<f32>
      %2 = stablehlo.compare GT, %1, %one : (tensor<f32>, tensor<f32>) -> tensor<i1>
      stablehlo.return %2 : tensor<i1>
    } do {
      %1 = stablehlo.multiply %v, %half : tensor<4xf32>
      %2 = "stablehlo.collective_permute"(%1) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, source_target_pairs = dense<[[0, 1], [1, 0]]> : tensor<2x2xi64>}> : (tensor<4xf32>) -> tensor<4xf32>
      stablehlo.return %2 : tensor<4xf32>
    }
    return %0 : tensor<4xf32>
  }
}
