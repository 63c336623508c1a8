// RUN: shardc cost %s
// Asked for: an argsort that gathers nothing (jax-ml/jax#35650 counts two all-gathers). Rows that are sharded are sorted where they
// are; where the sorted dimension is sharded, other dimensions take its axes.
sdy.mesh @mesh = <["x"=4]>
func.func @main(%a: tensor<64x4096xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}, %b: tensor<64x4096xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"x"}]>}) -> (tensor<64x4096xi32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}, tensor<64x4096xi32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"x"}]>}) {
  %i = stablehlo.iota dim = 1 : tensor<64x4096xi32>
  %0:2 = "stablehlo.sort"(%a, %i) <{dimension = 1 : i64, is_stable = true}> ({
  ^bb0(%p: tensor<f32>, %q: tensor<f32>, %r: tensor<i32>, %s: tensor<i32>):
    %c = stablehlo.compare LT, %p, %q, TOTALORDER : (tensor<f32>, tensor<f32>) -> tensor<i1>
    stablehlo.return %c : tensor<i1>
  }) : (tensor<64x4096xf32>, tensor<64x4096xi32>) -> (tensor<64x4096xf32>, tensor<64x4096xi32>)
  %1:2 = "stablehlo.sort"(%b, %i) <{dimension = 1 : i64, is_stable = true}> ({
  ^bb0(%p: tensor<f32>, %q: tensor<f32>, %r: tensor<i32>, %s: tensor<i32>):
    %c = stablehlo.compare LT, %p, %q, TOTALORDER : (tensor<f32>, tensor<f32>) -> tensor<i1>
    stablehlo.return %c : tensor<i1>
  }) : (tensor<64x4096xf32>, tensor<64x4096xi32>) -> (tensor<64x4096xf32>, tensor<64x4096xi32>)
  return %0#1, %1#1 : tensor<64x4096xi32>, tensor<64x4096xi32>
}
