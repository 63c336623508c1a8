// RUN: shardc opt --passes import,propagate,decompose-sharded{search=greedy} %s
// A plan that chooses for each op alone keeps the op, and gathers what it scans.
sdy.mesh @mesh = <["x"=4]>
func.func @main(%a: tensor<256xi32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}]>}) -> (tensor<256xi32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}]>}) {
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %0 = "stablehlo.reduce_window"(%a, %zero) <{padding = dense<[[255, 0]]> : tensor<1x2xi64>, window_dimensions = array<i64: 256>}> ({
  ^bb0(%p: tensor<i32>, %q: tensor<i32>):
    %s = stablehlo.add %p, %q : tensor<i32>
    stablehlo.return %s : tensor<i32>
  }) : (tensor<256xi32>, tensor<i32>) -> tensor<256xi32>
  return %0 : tensor<256xi32>
}
