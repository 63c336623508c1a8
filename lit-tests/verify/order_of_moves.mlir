// RUN: not shardc opt %s
// The moves of an all-to-all are listed by the dimensions that give axes.
sdy.mesh @mesh = <["x"=2, "y"=2]>
func.func @main(%a: tensor<16x8x8x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}, {"y"}, {}]>}) -> tensor<16x8x8x8xf32> {
  %0 = sdy.all_to_all [{"y"}: 2->1, {"x"}: 0->3] %a out_sharding=<@mesh, [{}, {"y"}, {}, {"x"}]> : tensor<16x8x8x8xf32>
  return %0 : tensor<16x8x8x8xf32>
}
