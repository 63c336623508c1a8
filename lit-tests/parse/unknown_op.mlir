// RUN: shardc opt %s
// Ops and attributes of other dialects are kept and printed back.
func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = "acme.polish"(%x) <{grit = 7 : i32}> {acme.flag, acme.note = #acme.note<"slow", [1, 2]>} : (tensor<4xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}
