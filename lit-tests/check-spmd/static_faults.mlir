// RUN: shardc opt --passes check-spmd{strict=true} --split-input-file --verify-diagnostics %s
// Device 1 sends to two.
module attributes {mhlo.num_partitions = 3 : i32} {
  func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
    // expected-error@+1 {{device 1 sends twice (C2)}}
    %0 = "stablehlo.collective_permute"(%x) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, source_target_pairs = dense<[[1, 0], [1, 2]]> : tensor<2x2xi64>}> : (tensor<4xf32>) -> tensor<4xf32>
    return %0 : tensor<4xf32>
  }
}
// -----
// Device 3 is in no group.
module attributes {mhlo.num_partitions = 4 : i32} {
  func.func @main(%x: tensor<4xf32>) -> tensor<8xf32> {
    // expected-error@+1 {{the groups name 3 of 4 devices (C3)}}
    %0 = "stablehlo.all_gather"(%x) <{all_gather_dim = 0 : i64, channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, replica_groups = dense<[[0, 1], [2, -1]]> : tensor<2x2xi64>, use_global_device_ids}> : (tensor<4xf32>) -> tensor<8xf32> // expected-error {{all groups must have the same size}}
    return %0 : tensor<8xf32>
  }
}
// -----
// Sent from 0 to 1, received from 1 by 0.
module attributes {mhlo.num_partitions = 2 : i32} {
  func.func @main(%x: tensor<4xf32>, %t: !stablehlo.token) -> tensor<4xf32> {
    // expected-error@+1 {{'stablehlo.send' sends over channel 1 from device 0 to 1 without a counterpart}}
    %0 = "stablehlo.send"(%x, %t) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, source_target_pairs = dense<[[0, 1]]> : tensor<1x2xi64>}> : (tensor<4xf32>, !stablehlo.token) -> !stablehlo.token
    %1:2 = "stablehlo.recv"(%0) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, source_target_pairs = dense<[[1, 0]]> : tensor<1x2xi64>}> : (!stablehlo.token) -> (tensor<4xf32>, !stablehlo.token)
    return %1#0 : tensor<4xf32>
  }
}
// -----
// A loop in a loop: the inner one runs as often as the outer one's counter says, which each device was given.
module attributes {mhlo.num_replicas = 2 : i32} {
  func.func @main(%x: tensor<f32>, %n: tensor<i32>) -> tensor<f32> {
    %one = stablehlo.constant dense<1> : tensor<i32>
    %zero = stablehlo.constant dense<0> : tensor<i32>
    %0:2 = stablehlo.while(%i = %n, %v = %x) : tensor<i32>, tensor<f32>
    cond {
      %1 = stablehlo.compare GT, %one, %zero : (tensor<i32>, tensor<i32>) -> tensor<i1>
      stablehlo.return %1 : tensor<i1>
    } do {
      %2:2 = stablehlo.while(%j = %i, %w = %v) : tensor<i32>, tensor<f32>
      cond {
        %3 = stablehlo.compare GT, %j, %zero : (tensor<i32>, tensor<i32>) -> tensor<i1>
        stablehlo.return %3 : tensor<i1>
      } do {
        %3 = stablehlo.subtract %j, %one : tensor<i32>
        // expected-error@+1 {{devices 0 and 1 of a group may not both run this 'stablehlo.all_reduce'}}
        %4 = "stablehlo.all_reduce"(%w) <{replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>}> ({
        ^bb0(%a: tensor<f32>, %b: tensor<f32>):
          %5 = stablehlo.add %a, %b : tensor<f32>
          stablehlo.return %5 : tensor<f32>
        }) : (tensor<f32>) -> tensor<f32>
        stablehlo.return %3, %4 : tensor<i32>, tensor<f32>
      }
      %6 = stablehlo.subtract %i, %one : tensor<i32>
      stablehlo.return %6, %2#1 : tensor<i32>, tensor<f32>
    }
    return %0#1 : tensor<f32>
  }
}
// -----
// The global program has nothing to check yet.
// expected-error@+1 {{the program is not a per-device program, because it has a mesh}}
sdy.mesh @mesh = <["x"=2]>
func.func @main(%x: tensor<4xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}]>}) -> tensor<4xf32> {
  return %x : tensor<4xf32>
}
