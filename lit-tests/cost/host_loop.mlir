// RUN: shardc cost --target v5e:2x2 %s
// RUN: shardc check %s
// The first loop stacks activations in the host's memory, the second takes them from there. Only slices are copied; the zeros that the buffer begins with are written by the host, though a buffer of the device begins with the same.
sdy.mesh @mesh = <["d"=4]>
func.func @main(%x: tensor<16x64xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"d"}, {}]>}) -> (tensor<16x64xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"d"}, {}]>}, tensor<4x16x64xf32>) {
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %none = stablehlo.constant dense<0.0> : tensor<f32>
  %one = stablehlo.constant dense<1> : tensor<i32>
  %many = stablehlo.constant dense<4> : tensor<i32>
  %z = stablehlo.broadcast_in_dim %none, dims = [] : (tensor<f32>) -> tensor<4x16x64xf32>
  %w:4 = stablehlo.while(%i = %zero, %v = %x, %host = %z, %own = %z) : tensor<i32>, tensor<16x64xf32>, tensor<4x16x64xf32>, tensor<4x16x64xf32>
  cond {
    %c = stablehlo.compare LT, %i, %many : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %c : tensor<i1>
  } do {
    %next = stablehlo.add %i, %one : tensor<i32>
    %sent = stablehlo.custom_call @MoveToHost(%v) : (tensor<16x64xf32>) -> tensor<16x64xf32>
    %row = stablehlo.reshape %sent : (tensor<16x64xf32>) -> tensor<1x16x64xf32>
    %kept = stablehlo.dynamic_update_slice %host, %row, %i, %zero, %zero : (tensor<4x16x64xf32>, tensor<1x16x64xf32>, tensor<i32>, tensor<i32>, tensor<i32>) -> tensor<4x16x64xf32>
    %s = stablehlo.sine %v : tensor<16x64xf32>
    %line = stablehlo.reshape %s : (tensor<16x64xf32>) -> tensor<1x16x64xf32>
    %held = stablehlo.dynamic_update_slice %own, %line, %i, %zero, %zero : (tensor<4x16x64xf32>, tensor<1x16x64xf32>, tensor<i32>, tensor<i32>, tensor<i32>) -> tensor<4x16x64xf32>
    stablehlo.return %next, %s, %kept, %held : tensor<i32>, tensor<16x64xf32>, tensor<4x16x64xf32>, tensor<4x16x64xf32>
  }
  %b:3 = stablehlo.while(%i = %zero, %v = %w#1, %host = %w#2) : tensor<i32>, tensor<16x64xf32>, tensor<4x16x64xf32>
  cond {
    %c = stablehlo.compare LT, %i, %many : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %c : tensor<i1>
  } do {
    %next = stablehlo.add %i, %one : tensor<i32>
    %row = stablehlo.dynamic_slice %host, %i, %zero, %zero, sizes = [1, 16, 64] : (tensor<4x16x64xf32>, tensor<i32>, tensor<i32>, tensor<i32>) -> tensor<1x16x64xf32>
    %there = stablehlo.optimization_barrier %row : tensor<1x16x64xf32>
    %got = stablehlo.custom_call @MoveToDevice(%there) : (tensor<1x16x64xf32>) -> tensor<1x16x64xf32>
    %flat = stablehlo.reshape %got : (tensor<1x16x64xf32>) -> tensor<16x64xf32>
    %s = stablehlo.multiply %v, %flat : tensor<16x64xf32>
    stablehlo.return %next, %s, %host : tensor<i32>, tensor<16x64xf32>, tensor<4x16x64xf32>
  }
  return %b#1, %w#3 : tensor<16x64xf32>, tensor<4x16x64xf32>
}
