// RUN: shardc opt --passes mpmd-scopes{scopes=f,g} %s
// RUN: shardc opt --passes mpmd-scopes{scopes=f,g},mpmd-microbatch{microbatches=2} %s
// A call is under the name where it stands; what others read in between takes a computation apart, constants don't.
func.func @main(%x: tensor<4xi32>) -> tensor<4xi32> attributes {topology = #mpmd.topology<<"m0": <["x"=2]>>>} {
  %0 = func.call @twice(%x) : (tensor<4xi32>) -> tensor<4xi32> loc("jit(step)/f/jit(twice)")
  %1 = stablehlo.constant dense<3> : tensor<4xi32>
  %2 = stablehlo.multiply %0, %1 : tensor<4xi32> loc("jit(step)/f/mul")
  %3 = stablehlo.negate %2 : tensor<4xi32> loc("jit(step)/g/neg")
  %4 = stablehlo.add %3, %0 : tensor<4xi32> loc("jit(step)/f/add")
  return %4 : tensor<4xi32>
}
func.func private @twice(%x: tensor<4xi32>) -> tensor<4xi32> {
  %0 = stablehlo.add %x, %x : tensor<4xi32>
  return %0 : tensor<4xi32>
}
