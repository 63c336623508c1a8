// RUN: shardc check --spmd %s
// RUN: shardc opt --passes check-spmd --split-input-file --verify-diagnostics %s
// The number of steps is an argument: the same everywhere only if the program says so. Groups need no declared devices.
func.func @main(%x: tensor<4xf32>, %n: tensor<i32> {shardc.global_type = tensor<i32>}) -> tensor<4xf32> {
  %one = stablehlo.constant dense<1> : tensor<i32>
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %0:2 = stablehlo.while(%v = %x, %i = %n) : tensor<4xf32>, tensor<i32>
  cond {
    %1 = stablehlo.compare GT, %i, %zero : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %1 : tensor<i1>
  } do {
    %1 = "stablehlo.collective_permute"(%v) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, source_target_pairs = dense<[[0, 1], [1, 0]]> : tensor<2x2xi64>}> : (tensor<4xf32>) -> tensor<4xf32>
    %2 = stablehlo.subtract %i, %one : tensor<i32>
    stablehlo.return %1, %2 : tensor<4xf32>, tensor<i32>
  }
  return %0#0 : tensor<4xf32>
}
