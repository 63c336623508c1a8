// RUN: not shardc opt %s
// A module is one block, wherever its arguments are said to be.
"builtin.module"() ({
  sdy.mesh @mesh = <["x"=2]>
^bb0(%a: tensor<4xf32>):
  func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> { return %x : tensor<4xf32> }
}) : () -> ()
