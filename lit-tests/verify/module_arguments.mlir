// RUN: not shardc opt %s
// Nobody enters a module, nor one inside it.
"builtin.module"() ({
^bb0(%a: tensor<2xf32>):
  "x.y"(%a) : (tensor<2xf32>) -> ()
  "builtin.module"() ({
  ^bb0(%b: tensor<2xf32>):
    "x.y"(%b) : (tensor<2xf32>) -> ()
  }) : () -> ()
}) : () -> ()
