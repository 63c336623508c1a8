// RUN: not shardc opt --canonicalize %s
// RUN: not shardc opt -sdy-insert-explicit-reshards=enable-full-version=true %s
// RUN: not shardc opt --mlir-pass-statistics-display=list %s
// RUN: not shardc opt --no-such-flag %s
// RUN: not shardc opt --sdy-close-shardings %s
// RUN: not shardc opt --generic=maybe %s
// RUN: shardc opt --allow-unregistered-dialect=true --mlir-print-op-generic=0 --mlir-disable-threading=1 %s
// RUN: shardc opt --allow-unregistered-dialect --mlir-disable-threading --mlir-print-ir-module-scope --verify-each=0 %s
// What mlir-opt has and shardc doesn't is refused by name, with what to do; what is so anyway is accepted.
func.func @main(%a: tensor<4xf32>) -> tensor<4xf32> {
  %0 = "acme.wave"(%a) {height = 3 : i32} : (tensor<4xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}
