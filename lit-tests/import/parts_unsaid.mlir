// RUN: shardc opt --passes import %s
// RUN: shardc check --interpret %s
// Shardy's partitioner doesn't say what is unreduced before its collectives: they combine parts all the same. What others read
// too stays whole.
sdy.mesh @mesh = <["x"=2, "y"=2]>
func.func @main(%a: tensor<4x8xi32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"x"}]>}, %b: tensor<8x4xi32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}, %c: tensor<4x4xi32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {}]>}, %d: tensor<4x4xi32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {}]>}) -> (tensor<4x4xi32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {}]>}, tensor<4x4xi32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {"y"}]>}, tensor<4x4xi32>, tensor<4x4xi32>) {
  %0 = stablehlo.dot %a, %b : (tensor<4x8xi32>, tensor<8x4xi32>) -> tensor<4x4xi32>
  %1 = sdy.all_reduce {"x"} %0 out_sharding=<@mesh, [{}, {}]> : tensor<4x4xi32>
  %2 = sdy.reduce_scatter [{"x"}, {}] %c out_sharding=<@mesh, [{"x"}, {}]> : tensor<4x4xi32>
  %3 = sdy.reduce_scatter [{}, {"y"}] %2 out_sharding=<@mesh, [{"x"}, {"y"}]> : tensor<4x4xi32>
  %4 = sdy.all_reduce {"x"} %d out_sharding=<@mesh, [{}, {}]> : tensor<4x4xi32>
  return %1, %3, %4, %d : tensor<4x4xi32>, tensor<4x4xi32>, tensor<4x4xi32>, tensor<4x4xi32>
}
