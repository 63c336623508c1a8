// RUN: shardc opt --passes import,propagate,plan %s
// RUN: shardc check --interpret %s
// RUN: shardc check --interpret --plan greedy %s
// Each device scans its part, and only the totals of the parts are gathered: of a sum, and of a scan from the end that
// the devices don't divide, by a region that is no single operation. A sum that begins with 3 adds that once for each
// position before the first element, so its parts can't be told apart from the whole.
sdy.mesh @mesh = <["x"=4]>
func.func @main(%a: tensor<2x256xi32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"x"}]>}, %f: tensor<255xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}]>}, %c: tensor<8xi32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}]>}) -> (tensor<2x256xi32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"x"}]>}, tensor<255xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}]>}, tensor<8xi32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}]>}) {
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %0 = "stablehlo.reduce_window"(%a, %zero) <{padding = dense<[[0, 0], [255, 0]]> : tensor<2x2xi64>, window_dimensions = array<i64: 1, 256>}> ({
  ^bb0(%p: tensor<i32>, %q: tensor<i32>):
    %s = stablehlo.add %p, %q : tensor<i32>
    stablehlo.return %s : tensor<i32>
  }) : (tensor<2x256xi32>, tensor<i32>) -> tensor<2x256xi32>
  %low = stablehlo.constant dense<0xFF800000> : tensor<f32>
  %1 = "stablehlo.reduce_window"(%f, %low) <{padding = dense<[[0, 254]]> : tensor<1x2xi64>, window_dimensions = array<i64: 255>}> ({
  ^bb0(%p: tensor<f32>, %q: tensor<f32>):
    %m = stablehlo.maximum %p, %q : tensor<f32>
    %d = stablehlo.subtract %p, %q : tensor<f32>
    %nan = stablehlo.compare NE, %d, %d, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
    %s = stablehlo.add %p, %q : tensor<f32>
    %abs = stablehlo.abs %d : tensor<f32>
    %negated = stablehlo.negate %abs : tensor<f32>
    %e = stablehlo.exponential %negated : tensor<f32>
    %l = stablehlo.log_plus_one %e : tensor<f32>
    %r = stablehlo.add %m, %l : tensor<f32>
    %v = stablehlo.select %nan, %s, %r : tensor<i1>, tensor<f32>
    stablehlo.return %v : tensor<f32>
  }) : (tensor<255xf32>, tensor<f32>) -> tensor<255xf32>
  %three = stablehlo.constant dense<3> : tensor<i32>
  %2 = "stablehlo.reduce_window"(%c, %three) <{padding = dense<[[7, 0]]> : tensor<1x2xi64>, window_dimensions = array<i64: 8>}> ({
  ^bb0(%p: tensor<i32>, %q: tensor<i32>):
    %s = stablehlo.add %p, %q : tensor<i32>
    stablehlo.return %s : tensor<i32>
  }) : (tensor<8xi32>, tensor<i32>) -> tensor<8xi32>
  return %0, %1, %2 : tensor<2x256xi32>, tensor<255xf32>, tensor<8xi32>
}
