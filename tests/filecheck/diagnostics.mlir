// RUN: shardc opt %s -split-input-file -verify-diagnostics

func.func @main(%a: tensor<8xf32>) -> tensor<8xf32> {
  // expected-error-re@below {{'stablehlo.{{ta.+}}' is not a known op}}
  // expected-note@below {{did you mean 'stablehlo.tan'?}}
  %0 = stablehlo.tanj %a : tensor<8xf32>
  return %0 : tensor<8xf32>
}

// -----

sdy.mesh @two = <["x"=2]>
sdy.mesh @four = <["x"=4]>  // expected-warning {{this mesh has 4 devices, but another mesh has 2}}
