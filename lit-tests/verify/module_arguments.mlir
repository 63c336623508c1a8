// RUN: not shardc opt %s
"builtin.module"() ({
^bb0(%a: tensor<2xf32>):
  "x.y"(%a) : (tensor<2xf32>) -> ()
}) : () -> ()
