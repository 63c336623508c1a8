// RUN: not shardc opt --passes propagate %s
// A constant that only groups read has a shape too.
func.func @main(%a: tensor<8x8xf32>) -> tensor<8x8xf32> {
  %0 = stablehlo.constant dense<0.0> : tensor<8x8x1xf32>
  sdy.sharding_group %a group_id=23 : tensor<8x8xf32>
  sdy.sharding_group %0 group_id=23 : tensor<8x8x1xf32>
  return %a : tensor<8x8xf32>
}
