// RUN: shardc compile %s

// A long sort along a sharded dimension: shards are sorted, their elements dealt out, sorted, put together and sorted
// again, then the ends of neighbors. The places that argsort wants tell equal elements apart. A short sort is gathered,
// which takes a single collective.
sdy.mesh @mesh = <["x"=8]>

func.func @main(
    %a: tensor<1048576xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}]>},
    %b: tensor<1024xi32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}]>}) -> (
    tensor<1048576xi32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}]>},
    tensor<1024xi32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}]>}) {
  %places = stablehlo.iota dim = 0 : tensor<1048576xi32>
  %0:2 = "stablehlo.sort"(%a, %places) <{dimension = 0 : i64, is_stable = true}> ({
  ^bb0(%x: tensor<f32>, %y: tensor<f32>, %i: tensor<i32>, %j: tensor<i32>):
    %p = stablehlo.compare LT, %x, %y, TOTALORDER : (tensor<f32>, tensor<f32>) -> tensor<i1>
    stablehlo.return %p : tensor<i1>
  }) : (tensor<1048576xf32>, tensor<1048576xi32>) -> (tensor<1048576xf32>, tensor<1048576xi32>)
  %1 = "stablehlo.sort"(%b) <{dimension = 0 : i64, is_stable = true}> ({
  ^bb0(%x: tensor<i32>, %y: tensor<i32>):
    %p = stablehlo.compare LT, %x, %y : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %p : tensor<i1>
  }) : (tensor<1024xi32>) -> tensor<1024xi32>
  return %0#1, %1 : tensor<1048576xi32>, tensor<1024xi32>
}
