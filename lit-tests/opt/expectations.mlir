// RUN: shardc opt --split-input-file --verify-diagnostics %s
// RUN: not shardc opt --split-input-file %s --diagnostics lines
// RUN: not shardc opt --split-input-file --verify-diagnostics opt/wrong_expectations.mlir
// RUN: not shardc opt --split-input-file --verify-diagnostics=only-expected opt/wrong_expectations.mlir
// Comments say what must be reported; faults are lines that tools read.
func.func @main(%a: tensor<4xf32>) -> tensor<4xf32> {
  // expected-error-re@below {{'stablehlo.{{t[a-z]+}}' is not a known op}}
  // expected-note@below {{did you mean 'stablehlo.tan'?}}
  %0 = stablehlo.tanj %a : tensor<4xf32>
  return %0 : tensor<4xf32>
}
// -----
// expected-warning @+2 {{this mesh has 4 devices, but another mesh has 2}}
sdy.mesh @two = <["x"=2]>
sdy.mesh @four = <["x"=4]>
// expected-note@above {{all meshes of a program must be over the same devices}}
