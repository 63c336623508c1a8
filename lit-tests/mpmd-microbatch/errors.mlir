// RUN: not shardc opt --passes mpmd-microbatch{microbatches=3} %s
// RUN: not shardc opt --passes mpmd-microbatch{microbatches=many} %s
// RUN: not shardc opt --passes 'mpmd-microbatch{microbatches=2 batch=7}' %s
// RUN: shardc opt --passes mpmd-microbatch{microbatches=auto} %s
// Eight rows can't be cut into three parts of one size; of a sum over all of them before anything else, no part is of use.
func.func @main(%x: tensor<8x4xi32>) -> tensor<4xi32> attributes {topology = #mpmd.topology<<"m0": <["x"=2]>>>} {
  %0 = stablehlo.reverse %x, dims = [0] : tensor<8x4xi32>
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %1 = stablehlo.reduce(%0 init: %zero) applies stablehlo.add across dimensions = [0] : (tensor<8x4xi32>, tensor<i32>) -> tensor<4xi32>
  return %1 : tensor<4xi32>
}
