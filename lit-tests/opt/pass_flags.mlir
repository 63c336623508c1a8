// RUN: shardc opt %s | shardc opt -propagate
// RUN: shardc opt --pass-pipeline=builtin.module(func.func(import),propagate{origins=true}) %s
// RUN: shardc opt --propagate=origins --dump-pass-pipeline --passes symbol-dce -o - %s
// RUN: not shardc opt --pass-pipeline=builtin.module(propagate{orgins=true}) %s
// RUN: not shardc opt --propagate=orgins=true %s
// RUN: not shardc opt --pass-pipeline=any(propagate) --cse %s
// Passes as mlir-opt's users give them: flags in their order, with options; a list in the op they run on; standard input.
sdy.mesh @mesh = <["x"=2]>
func.func @main(%a: tensor<4x4xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {?}]>}) -> tensor<4x4xf32> {
  %0 = stablehlo.tanh %a : tensor<4x4xf32>
  return %0 : tensor<4x4xf32>
}
