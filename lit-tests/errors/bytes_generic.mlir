// RUN: not shardc compile %s
// The same of names in generic form.
module {
  "func.func"() <{sym_name = "a\FF", function_type = (tensor<4xf32>) -> tensor<4xf32>}> ({
  ^bb0(%a: tensor<4xf32>):
    %0 = "stablehlo.custom_call"(%a) <{call_target_name = "\FE"}> : (tensor<4xf32>) -> tensor<4xf32>
    "func.return"(%0) : (tensor<4xf32>) -> ()
  }) : () -> ()
}
