// RUN: shardc opt --passes mpmd-microbatch{microbatches=2},cse %s
// RUN: shardc check --interpret --microbatches 2 %s
// The mean over the batch is added up before what needs it, which then goes on for each microbatch; a constraint stays one.
func.func @main(%x: tensor<4x6xi32>) -> tensor<4x6xi32> attributes {topology = #mpmd.topology<<"m0": <["x"=2]>>>} {
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %0 = sdy.sharding_constraint %x <@m0, [{"x"}, {}]> : tensor<4x6xi32>
  %1 = stablehlo.multiply %0, %0 : tensor<4x6xi32>
  %2 = stablehlo.reduce(%1 init: %zero) applies stablehlo.add across dimensions = [0] : (tensor<4x6xi32>, tensor<i32>) -> tensor<6xi32>
  %3 = stablehlo.broadcast_in_dim %2, dims = [1] : (tensor<6xi32>) -> tensor<4x6xi32>
  %4 = stablehlo.subtract %1, %3 : tensor<4x6xi32>
  return %4 : tensor<4x6xi32>
}
