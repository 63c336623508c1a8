// RUN: shardc check --spmd %s
// RUN: shardc check --spmd --json %s
// Four devices as two rows of two: which row a device is in decides a branch, and collectives in it stay within rows.
module attributes {mhlo.num_partitions = 4 : i32, mhlo.num_replicas = 1 : i32} {
  func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
    %id = stablehlo.partition_id : tensor<ui32>
    %two = stablehlo.constant dense<2> : tensor<ui32>
    %row = stablehlo.divide %id, %two : tensor<ui32>
    %index = stablehlo.convert %row : (tensor<ui32>) -> tensor<i32>
    %0 = "stablehlo.case"(%index) ({
      %1 = "stablehlo.collective_permute"(%x) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, source_target_pairs = dense<[[0, 1], [1, 0]]> : tensor<2x2xi64>}> : (tensor<4xf32>) -> tensor<4xf32>
      stablehlo.return %1 : tensor<4xf32>
    }, {
      %1 = "stablehlo.all_gather"(%x) <{all_gather_dim = 0 : i64, channel_handle = #stablehlo.channel_handle<handle = 2, type = 1>, replica_groups = dense<[[0, 1], [2, 3]]> : tensor<2x2xi64>, use_global_device_ids}> : (tensor<4xf32>) -> tensor<8xf32>
      %2 = stablehlo.slice %1 [2:6] : (tensor<8xf32>) -> tensor<4xf32>
      stablehlo.return %2 : tensor<4xf32>
    }) : (tensor<i32>) -> tensor<4xf32>
    // All hold the same rows now, so all loop equally often.
    %3 = "stablehlo.all_gather"(%0) <{all_gather_dim = 0 : i64, channel_handle = #stablehlo.channel_handle<handle = 3, type = 1>, replica_groups = dense<[[0, 1, 2, 3]]> : tensor<1x4xi64>, use_global_device_ids}> : (tensor<4xf32>) -> tensor<16xf32>
    %4 = stablehlo.slice %3 [0:1] : (tensor<16xf32>) -> tensor<1xf32>
    %start = stablehlo.reshape %4 : (tensor<1xf32>) -> tensor<f32>
    %limit = stablehlo.constant dense<100.0> : tensor<f32>
    %5:2 = stablehlo.while(%v = %0, %n = %start) : tensor<4xf32>, tensor<f32>
    cond {
      %6 = stablehlo.compare LT, %n, %limit : (tensor<f32>, tensor<f32>) -> tensor<i1>
      stablehlo.return %6 : tensor<i1>
    } do {
      %6 = "stablehlo.collective_permute"(%v) <{channel_handle = #stablehlo.channel_handle<handle = 4, type = 1>, source_target_pairs = dense<[[0, 1], [1, 2], [2, 3], [3, 0]]> : tensor<4x2xi64>}> : (tensor<4xf32>) -> tensor<4xf32>
      %7 = stablehlo.add %n, %limit : tensor<f32>
      stablehlo.return %6, %7 : tensor<4xf32>, tensor<f32>
    }
    return %5#0 : tensor<4xf32>
  }
}
