// RUN: not shardc compile %s
// Names have to be UTF-8 text, while values of attributes may be any bytes.
module {
  func.func @"a\FF"(%a: tensor<4xf32>) -> tensor<4xf32> {
    return %a : tensor<4xf32>
  }
  func.func @main(%a: tensor<4xf32>) -> tensor<4xf32> {
    %0 = stablehlo.custom_call @"\FE"(%a) : (tensor<4xf32>) -> tensor<4xf32>
    %1 = stablehlo.tanh %a {"\80" = 1 : i32} : tensor<4xf32>
    %2 = stablehlo.tanh %a {a = "\80"} : tensor<4xf32>
    return %2 : tensor<4xf32>
  }
}
