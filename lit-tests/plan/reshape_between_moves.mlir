// RUN: shardc compile --emit sdy %s
// A merge of two dimensions, the minor one sharded, can be computed where neither its operand nor its result is needed. Sent in
// parts, shards go there at once, instead of by one all_to_all before and another after it.
sdy.mesh @mesh = <["x"=2, "y"=4]>
func.func @main(%a: tensor<2048x4x512xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {}, {"x", "y"}]>}) -> (tensor<2048x2048xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"x", "y"}]>}) {
  %0 = stablehlo.reshape %a : (tensor<2048x4x512xf32>) -> tensor<2048x2048xf32>
  return %0 : tensor<2048x2048xf32>
}
