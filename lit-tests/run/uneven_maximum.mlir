// RUN: shardc check --interpret %s
// RUN: shardc check %s
// What lies past the end is no maximum: below all of a type without infinities is its least value.
sdy.mesh @mesh = <["x"=2]>
func.func @main(%a: tensor<7xf8E4M3FN> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}]>}) -> tensor<f8E4M3FN> {
  %low = stablehlo.constant dense<-4.480000e+02> : tensor<f8E4M3FN>
  %0 = stablehlo.reduce(%a init: %low) applies stablehlo.maximum across dimensions = [0] : (tensor<7xf8E4M3FN>, tensor<f8E4M3FN>) -> tensor<f8E4M3FN>
  return %0 : tensor<f8E4M3FN>
}
