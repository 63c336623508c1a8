// RUN: not shardc compile %s
// Calls of calls grow exponentially; what they make is counted before anything is copied.
func.func @main(%a: tensor<f32>) -> tensor<f32> {
  %0 = call @f7(%a) : (tensor<f32>) -> tensor<f32>
  return %0 : tensor<f32>
}
func.func private @f7(%a: tensor<f32>) -> tensor<f32> {
  %0 = call @f6(%a) : (tensor<f32>) -> tensor<f32>
  %1 = call @f6(%0) : (tensor<f32>) -> tensor<f32>
  %2 = call @f6(%1) : (tensor<f32>) -> tensor<f32>
  %3 = call @f6(%2) : (tensor<f32>) -> tensor<f32>
  %4 = call @f6(%3) : (tensor<f32>) -> tensor<f32>
  %5 = call @f6(%4) : (tensor<f32>) -> tensor<f32>
  %6 = call @f6(%5) : (tensor<f32>) -> tensor<f32>
  %7 = call @f6(%6) : (tensor<f32>) -> tensor<f32>
  %8 = call @f6(%7) : (tensor<f32>) -> tensor<f32>
  %9 = call @f6(%8) : (tensor<f32>) -> tensor<f32>
  return %9 : tensor<f32>
}
func.func private @f6(%a: tensor<f32>) -> tensor<f32> {
  %0 = call @f5(%a) : (tensor<f32>) -> tensor<f32>
  %1 = call @f5(%0) : (tensor<f32>) -> tensor<f32>
  %2 = call @f5(%1) : (tensor<f32>) -> tensor<f32>
  %3 = call @f5(%2) : (tensor<f32>) -> tensor<f32>
  %4 = call @f5(%3) : (tensor<f32>) -> tensor<f32>
  %5 = call @f5(%4) : (tensor<f32>) -> tensor<f32>
  %6 = call @f5(%5) : (tensor<f32>) -> tensor<f32>
  %7 = call @f5(%6) : (tensor<f32>) -> tensor<f32>
  %8 = call @f5(%7) : (tensor<f32>) -> tensor<f32>
  %9 = call @f5(%8) : (tensor<f32>) -> tensor<f32>
  return %9 : tensor<f32>
}
func.func private @f5(%a: tensor<f32>) -> tensor<f32> {
  %0 = call @f4(%a) : (tensor<f32>) -> tensor<f32>
  %1 = call @f4(%0) : (tensor<f32>) -> tensor<f32>
  %2 = call @f4(%1) : (tensor<f32>) -> tensor<f32>
  %3 = call @f4(%2) : (tensor<f32>) -> tensor<f32>
  %4 = call @f4(%3) : (tensor<f32>) -> tensor<f32>
  %5 = call @f4(%4) : (tensor<f32>) -> tensor<f32>
  %6 = call @f4(%5) : (tensor<f32>) -> tensor<f32>
  %7 = call @f4(%6) : (tensor<f32>) -> tensor<f32>
  %8 = call @f4(%7) : (tensor<f32>) -> tensor<f32>
  %9 = call @f4(%8) : (tensor<f32>) -> tensor<f32>
  return %9 : tensor<f32>
}
func.func private @f4(%a: tensor<f32>) -> tensor<f32> {
  %0 = call @f3(%a) : (tensor<f32>) -> tensor<f32>
  %1 = call @f3(%0) : (tensor<f32>) -> tensor<f32>
  %2 = call @f3(%1) : (tensor<f32>) -> tensor<f32>
  %3 = call @f3(%2) : (tensor<f32>) -> tensor<f32>
  %4 = call @f3(%3) : (tensor<f32>) -> tensor<f32>
  %5 = call @f3(%4) : (tensor<f32>) -> tensor<f32>
  %6 = call @f3(%5) : (tensor<f32>) -> tensor<f32>
  %7 = call @f3(%6) : (tensor<f32>) -> tensor<f32>
  %8 = call @f3(%7) : (tensor<f32>) -> tensor<f32>
  %9 = call @f3(%8) : (tensor<f32>) -> tensor<f32>
  return %9 : tensor<f32>
}
func.func private @f3(%a: tensor<f32>) -> tensor<f32> {
  %0 = call @f2(%a) : (tensor<f32>) -> tensor<f32>
  %1 = call @f2(%0) : (tensor<f32>) -> tensor<f32>
  %2 = call @f2(%1) : (tensor<f32>) -> tensor<f32>
  %3 = call @f2(%2) : (tensor<f32>) -> tensor<f32>
  %4 = call @f2(%3) : (tensor<f32>) -> tensor<f32>
  %5 = call @f2(%4) : (tensor<f32>) -> tensor<f32>
  %6 = call @f2(%5) : (tensor<f32>) -> tensor<f32>
  %7 = call @f2(%6) : (tensor<f32>) -> tensor<f32>
  %8 = call @f2(%7) : (tensor<f32>) -> tensor<f32>
  %9 = call @f2(%8) : (tensor<f32>) -> tensor<f32>
  return %9 : tensor<f32>
}
func.func private @f2(%a: tensor<f32>) -> tensor<f32> {
  %0 = call @f1(%a) : (tensor<f32>) -> tensor<f32>
  %1 = call @f1(%0) : (tensor<f32>) -> tensor<f32>
  %2 = call @f1(%1) : (tensor<f32>) -> tensor<f32>
  %3 = call @f1(%2) : (tensor<f32>) -> tensor<f32>
  %4 = call @f1(%3) : (tensor<f32>) -> tensor<f32>
  %5 = call @f1(%4) : (tensor<f32>) -> tensor<f32>
  %6 = call @f1(%5) : (tensor<f32>) -> tensor<f32>
  %7 = call @f1(%6) : (tensor<f32>) -> tensor<f32>
  %8 = call @f1(%7) : (tensor<f32>) -> tensor<f32>
  %9 = call @f1(%8) : (tensor<f32>) -> tensor<f32>
  return %9 : tensor<f32>
}
func.func private @f1(%a: tensor<f32>) -> tensor<f32> {
  %0 = call @f0(%a) : (tensor<f32>) -> tensor<f32>
  %1 = call @f0(%0) : (tensor<f32>) -> tensor<f32>
  %2 = call @f0(%1) : (tensor<f32>) -> tensor<f32>
  %3 = call @f0(%2) : (tensor<f32>) -> tensor<f32>
  %4 = call @f0(%3) : (tensor<f32>) -> tensor<f32>
  %5 = call @f0(%4) : (tensor<f32>) -> tensor<f32>
  %6 = call @f0(%5) : (tensor<f32>) -> tensor<f32>
  %7 = call @f0(%6) : (tensor<f32>) -> tensor<f32>
  %8 = call @f0(%7) : (tensor<f32>) -> tensor<f32>
  %9 = call @f0(%8) : (tensor<f32>) -> tensor<f32>
  return %9 : tensor<f32>
}
func.func private @f0(%a: tensor<f32>) -> tensor<f32> {
  %0 = stablehlo.tanh %a : tensor<f32>
  %1 = stablehlo.tanh %0 : tensor<f32>
  %2 = stablehlo.tanh %1 : tensor<f32>
  %3 = stablehlo.tanh %2 : tensor<f32>
  %4 = stablehlo.tanh %3 : tensor<f32>
  %5 = stablehlo.tanh %4 : tensor<f32>
  %6 = stablehlo.tanh %5 : tensor<f32>
  %7 = stablehlo.tanh %6 : tensor<f32>
  %8 = stablehlo.tanh %7 : tensor<f32>
  %9 = stablehlo.tanh %8 : tensor<f32>
  return %9 : tensor<f32>
}
