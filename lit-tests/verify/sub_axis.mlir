// RUN: not shardc opt %s
// Parts of an axis divide it, and neighbors that make a larger part are written as one.
sdy.mesh @mesh = <["x"=8]>
func.func @main(%a: tensor<8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x":(1)3}]>},
    %b: tensor<8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x":(1)2, "x":(2)4}]>},
    %c: tensor<8x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x":(1)4}, {"x":(2)4}]>}) {
  return
}
