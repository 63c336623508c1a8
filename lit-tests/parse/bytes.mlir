// RUN: shardc opt --mlir-print-debuginfo %s
// Strings of attributes and locations are bytes, in text and in bytecode.
module attributes {a.list = ["\80", {b = "é\00"}], a.opaque = #foo<bar "\FF">} {
  func.func @main(%a: tensor<4xf32>) -> tensor<4xf32> {
    %0 = stablehlo.custom_call @foo(%a) {backend_config = "\FF\96x\00\22\\\0A", mhlo.frontend_attributes = {k = "\ef"}} : (tensor<4xf32>) -> tensor<4xf32> loc("\FE"("\FD.py":1:2))
    %1 = stablehlo.custom_call @bar(%0) {api_version = 4 : i32, backend_config = {a = dense_resource<blob> : tensor<2xi32>, b = [dense_resource<"b\FF"> : tensor<ui8>]}} : (tensor<4xf32>) -> tensor<4xf32>
    return %1 : tensor<4xf32>
  }
}
{-#
  dialect_resources: {
    builtin: {
      blob: "0x0400000001000000FFFFFFFF",
      "b\FF": "0x01000000C8"
    }
  }
#-}
