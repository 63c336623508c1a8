// RUN: shardc opt %s
// RUN: shardc compile %s
// RUN: shardc opt --generic %s | shardc opt -
// RUN: shardc opt --emit-bytecode %s | shardc opt -
// Attributes that nobody here computes with are kept as they are: locations, maps and sets, elements of vectors.
module @outer attributes {acme.place = loc("model.py":1:2)} {
  module @inner {
    func.func private @g(i32)
  }
  func.func @main(%a: tensor<8x4xf32>) -> tensor<8x4xf32> {
    %0 = arith.constant {acme.map = affine_map<(d0, d1) -> (d1, d0)>, acme.set = affine_set<(d0) : (d0 - 1 >= 0)>} 7 : i32
    %1 = arith.constant dense<[1.0, 2.0]> : vector<2xf32>
    %2 = stablehlo.tanh %a {acme.from = loc(fused["a", "b"]), acme.mask = sparse<0, true> : vector<2xi1>} : tensor<8x4xf32>
    return %2 : tensor<8x4xf32>
  }
}
