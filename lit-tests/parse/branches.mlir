// RUN: shardc opt %s
// RUN: shardc opt --generic %s
// Blocks that branch to each other, with arguments and without, are read and kept; one may be named before it is there.
func.func private @f(%a: tensor<8xf32>, %c: i1) -> tensor<8xf32> {
  %n = stablehlo.negate %a : tensor<8xf32>
  cf.cond_br %c, ^more(%a, %c : tensor<8xf32>, i1), ^done(%n : tensor<8xf32>)
^more(%x: tensor<8xf32>, %again: i1):
  %y = stablehlo.add %x, %n : tensor<8xf32>
  %false = arith.constant false
  cf.cond_br %again, ^more(%y, %false : tensor<8xf32>, i1), ^other
^other:
  "mine.switch"(%y)[^done, ^more] : (tensor<8xf32>) -> ()
^done(%z: tensor<8xf32>):
  return %z : tensor<8xf32>
}
