// RUN: shardc opt --passes mpmd-assign %s
// Five layers on two meshes, one layer four times as expensive as the others: the most seconds of a mesh are as few as can be.
func.func @main(%x: tensor<512x512xf32>, %wide: tensor<512x2048xf32>, %back: tensor<2048x512xf32>) -> tensor<512x512xf32> attributes {topology = #mpmd.topology<<"m0": <["x"=2]>>, <"m1": <["x"=2]>>>} {
  %0 = mpmd.named_computation<"large"> (%x, %wide, %back) (%a: tensor<512x512xf32>, %w: tensor<512x2048xf32>, %b: tensor<2048x512xf32>) {
    %5 = stablehlo.dot_general %a, %w, contracting_dims = [1] x [0] : (tensor<512x512xf32>, tensor<512x2048xf32>) -> tensor<512x2048xf32>
    %6 = stablehlo.dot_general %5, %b, contracting_dims = [1] x [0] : (tensor<512x2048xf32>, tensor<2048x512xf32>) -> tensor<512x512xf32>
    mpmd.return %6 : tensor<512x512xf32>
  } : (tensor<512x512xf32>, tensor<512x2048xf32>, tensor<2048x512xf32>) -> tensor<512x512xf32>
  %1 = mpmd.named_computation<"l1"> (%0) (%a: tensor<512x512xf32>) {
    %5 = stablehlo.dot_general %a, %a, contracting_dims = [1] x [0] : (tensor<512x512xf32>, tensor<512x512xf32>) -> tensor<512x512xf32>
    mpmd.return %5 : tensor<512x512xf32>
  } : (tensor<512x512xf32>) -> tensor<512x512xf32>
  %2 = mpmd.named_computation<"l2"> (%1) (%a: tensor<512x512xf32>) {
    %5 = stablehlo.dot_general %a, %a, contracting_dims = [1] x [0] : (tensor<512x512xf32>, tensor<512x512xf32>) -> tensor<512x512xf32>
    mpmd.return %5 : tensor<512x512xf32>
  } : (tensor<512x512xf32>) -> tensor<512x512xf32>
  %3 = mpmd.named_computation<"l3"> (%2) (%a: tensor<512x512xf32>) {
    %5 = stablehlo.dot_general %a, %a, contracting_dims = [1] x [0] : (tensor<512x512xf32>, tensor<512x512xf32>) -> tensor<512x512xf32>
    mpmd.return %5 : tensor<512x512xf32>
  } : (tensor<512x512xf32>) -> tensor<512x512xf32>
  %4 = mpmd.named_computation<"l4"> (%3) (%a: tensor<512x512xf32>) {
    %5 = stablehlo.dot_general %a, %a, contracting_dims = [1] x [0] : (tensor<512x512xf32>, tensor<512x512xf32>) -> tensor<512x512xf32>
    mpmd.return %5 : tensor<512x512xf32>
  } : (tensor<512x512xf32>) -> tensor<512x512xf32>
  return %4 : tensor<512x512xf32>
}
