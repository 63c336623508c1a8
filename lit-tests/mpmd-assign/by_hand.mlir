// RUN: shardc opt --passes mpmd-assign{assign=first@b,second@a,bias@a} %s
// Names go to the meshes that are given. A value is sent once to a mesh that reads it, what is made of constants alone is made
// wherever it is read, and an argument is on the mesh that reads it first.
func.func @main(%x: tensor<4x8xf32>, %bias: tensor<8xf32>) -> (tensor<4x8xf32>, tensor<4x8xf32>) attributes {topology = #mpmd.topology<<"a": <["x"=2]>>, <"b": <["x"=2]>>>} {
  %two = stablehlo.constant dense<2.000000e+00> : tensor<f32>
  %twos = stablehlo.broadcast_in_dim %two, dims = [] : (tensor<f32>) -> tensor<4x8xf32>
  %b = mpmd.named_tensor %bias name="bias" : tensor<8xf32>
  %0 = mpmd.named_computation<"first"> (%x, %twos) (%y: tensor<4x8xf32>, %t: tensor<4x8xf32>) {
    %4 = stablehlo.multiply %y, %t : tensor<4x8xf32>
    mpmd.return %4 : tensor<4x8xf32>
  } : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
  %1 = mpmd.broadcast %0 : tensor<4x8xf32>
  %2 = mpmd.named_computation<"second"> (%1, %twos, %b) (%y: tensor<4x8xf32>, %t: tensor<4x8xf32>, %c: tensor<8xf32>) {
    %4 = stablehlo.divide %y, %t : tensor<4x8xf32>
    %5 = stablehlo.broadcast_in_dim %c, dims = [1] : (tensor<8xf32>) -> tensor<4x8xf32>
    %6 = stablehlo.add %4, %5 : tensor<4x8xf32>
    mpmd.return %6 : tensor<4x8xf32>
  } : (tensor<4x8xf32>, tensor<4x8xf32>, tensor<8xf32>) -> tensor<4x8xf32>
  %3 = mpmd.reduce<max> %2, %0, %twos : (tensor<4x8xf32>, tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
  return %3, %0 : tensor<4x8xf32>, tensor<4x8xf32>
}
