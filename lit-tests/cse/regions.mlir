// RUN: shardc opt --passes cse %s
// RUN: shardc run --interpret %s
// Inside a branch, what stands before it is known; what one branch computes, neither the other nor what follows may read.
func.func @main(%p: tensor<i1>, %a: tensor<4xi32>) -> (tensor<4xi32>, tensor<4xi32>) {
  %0 = stablehlo.add %a, %a : tensor<4xi32>
  %1 = "stablehlo.if"(%p) ({
    %2 = stablehlo.add %a, %a : tensor<4xi32>
    %3 = stablehlo.multiply %2, %a : tensor<4xi32>
    stablehlo.return %3 : tensor<4xi32>
  }, {
    %2 = stablehlo.multiply %0, %a : tensor<4xi32>
    stablehlo.return %2 : tensor<4xi32>
  }) : (tensor<i1>) -> tensor<4xi32>
  %4 = stablehlo.multiply %0, %a : tensor<4xi32>
  return %1, %4 : tensor<4xi32>, tensor<4xi32>
}
