// RUN: not shardc cost %s
// A stated cost that isn't a number of operations is an error.
func.func @main(%a: tensor<8xf32>) -> tensor<8xf32> {
  %0 = stablehlo.custom_call @library(%a) {shardc.flops = "fast"} : (tensor<8xf32>) -> tensor<8xf32>
  %1 = stablehlo.custom_call @library(%0) {mhlo.frontend_attributes = {shardc.bytes = "-4"}} : (tensor<8xf32>) -> tensor<8xf32>
  return %1 : tensor<8xf32>
}
