// RUN: shardc compile --emit sdy %s
// RUN: shardc check --interpret %s
// What a loop stacks for the loop of a backward pass stays in shards of the batch, as it is made and read, though
// propagation has the stack sharded by features.
sdy.mesh @mesh = <["x"=4]>
func.func @main(%weights: tensor<3x8x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {}, {"x"}]>}, %begin: tensor<256x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>})
    -> (tensor<3x8x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {}, {"x"}]>}) {
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %none = stablehlo.constant dense<0.0> : tensor<3x256x8xf32>
  %0:4 = stablehlo.while(%i = %zero, %ws = %weights, %x = %begin, %stack = %none) : tensor<i32>, tensor<3x8x8xf32>, tensor<256x8xf32>, tensor<3x256x8xf32>
  cond {
    %n = stablehlo.constant dense<3> : tensor<i32>
    %1 = stablehlo.compare LT, %i, %n, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %1 : tensor<i1>
  } do {
    %o = stablehlo.constant dense<0> : tensor<i32>
    %one = stablehlo.constant dense<1> : tensor<i32>
    %1 = stablehlo.dynamic_slice %ws, %i, %o, %o, sizes = [1, 8, 8] : (tensor<3x8x8xf32>, tensor<i32>, tensor<i32>, tensor<i32>) -> tensor<1x8x8xf32>
    %w = stablehlo.reshape %1 : (tensor<1x8x8xf32>) -> tensor<8x8xf32>
    %y = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0] : (tensor<256x8xf32>, tensor<8x8xf32>) -> tensor<256x8xf32>
    %z = stablehlo.tanh %y : tensor<256x8xf32>
    %2 = stablehlo.broadcast_in_dim %z, dims = [1, 2] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{?}, {?}, {"x", ?}]>]>} : (tensor<256x8xf32>) -> tensor<1x256x8xf32>
    %3 = stablehlo.dynamic_update_slice %stack, %2, %i, %o, %o : (tensor<3x256x8xf32>, tensor<1x256x8xf32>, tensor<i32>, tensor<i32>, tensor<i32>) -> tensor<3x256x8xf32>
    %4 = stablehlo.add %i, %one : tensor<i32>
    stablehlo.return %4, %ws, %z, %3 : tensor<i32>, tensor<3x8x8xf32>, tensor<256x8xf32>, tensor<3x256x8xf32>
  }
  %gradients = stablehlo.constant dense<0.0> : tensor<3x8x8xf32>
  %5:5 = stablehlo.while(%i = %zero, %ws = %weights, %d = %0#2, %stack = %0#3, %gs = %gradients) : tensor<i32>, tensor<3x8x8xf32>, tensor<256x8xf32>, tensor<3x256x8xf32>, tensor<3x8x8xf32>
  cond {
    %n = stablehlo.constant dense<3> : tensor<i32>
    %6 = stablehlo.compare LT, %i, %n, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %6 : tensor<i1>
  } do {
    %o = stablehlo.constant dense<0> : tensor<i32>
    %one = stablehlo.constant dense<1> : tensor<i32>
    %two = stablehlo.constant dense<2> : tensor<i32>
    %at = stablehlo.subtract %two, %i : tensor<i32>
    %6 = stablehlo.dynamic_slice %stack, %at, %o, %o, sizes = [1, 256, 8] : (tensor<3x256x8xf32>, tensor<i32>, tensor<i32>, tensor<i32>) -> tensor<1x256x8xf32>
    %z = stablehlo.reshape %6 : (tensor<1x256x8xf32>) -> tensor<256x8xf32>
    %7 = stablehlo.dynamic_slice %ws, %at, %o, %o, sizes = [1, 8, 8] : (tensor<3x8x8xf32>, tensor<i32>, tensor<i32>, tensor<i32>) -> tensor<1x8x8xf32>
    %w = stablehlo.reshape %7 : (tensor<1x8x8xf32>) -> tensor<8x8xf32>
    %8 = stablehlo.multiply %z, %d : tensor<256x8xf32>
    %g = stablehlo.dot_general %z, %8, contracting_dims = [0] x [0] : (tensor<256x8xf32>, tensor<256x8xf32>) -> tensor<8x8xf32>
    %e = stablehlo.dot_general %8, %w, contracting_dims = [1] x [1] : (tensor<256x8xf32>, tensor<8x8xf32>) -> tensor<256x8xf32>
    %9 = stablehlo.broadcast_in_dim %g, dims = [1, 2] : (tensor<8x8xf32>) -> tensor<1x8x8xf32>
    %10 = stablehlo.dynamic_update_slice %gs, %9, %at, %o, %o : (tensor<3x8x8xf32>, tensor<1x8x8xf32>, tensor<i32>, tensor<i32>, tensor<i32>) -> tensor<3x8x8xf32>
    %11 = stablehlo.add %i, %one : tensor<i32>
    stablehlo.return %11, %ws, %e, %stack, %10 : tensor<i32>, tensor<3x8x8xf32>, tensor<256x8xf32>, tensor<3x256x8xf32>, tensor<3x8x8xf32>
  }
  return %5#4 : tensor<3x8x8xf32>
}
