// RUN: shardc opt --passes import,propagate,decompose-sharded %s
// The scanned dimension is whole on every device, so the op stays.
sdy.mesh @mesh = <["x"=4]>
func.func @main(%a: tensor<8x256xi32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}) -> (tensor<8x256xi32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}) {
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %0 = "stablehlo.reduce_window"(%a, %zero) <{padding = dense<[[0, 0], [255, 0]]> : tensor<2x2xi64>, window_dimensions = array<i64: 1, 256>}> ({
  ^bb0(%p: tensor<i32>, %q: tensor<i32>):
    %s = stablehlo.add %p, %q : tensor<i32>
    stablehlo.return %s : tensor<i32>
  }) : (tensor<8x256xi32>, tensor<i32>) -> tensor<8x256xi32>
  return %0 : tensor<8x256xi32>
}
