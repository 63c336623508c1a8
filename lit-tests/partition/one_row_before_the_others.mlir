// RUN: shardc check --interpret %s
// RUN: shardc compile --emit stablehlo %s
// A row that every device has is joined to rows that move by one: one permute of one row.
sdy.mesh @mesh = <["x"=8]>
func.func @main(%a: tensor<1024x128xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}, %r: tensor<1x128xf32>) -> (tensor<1024x128xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}) {
  %0 = stablehlo.slice %a [0:1023, 0:128] : (tensor<1024x128xf32>) -> tensor<1023x128xf32>
  %1 = stablehlo.concatenate %r, %0, dim = 0 : (tensor<1x128xf32>, tensor<1023x128xf32>) -> tensor<1024x128xf32>
  %2 = stablehlo.subtract %a, %1 : tensor<1024x128xf32>
  return %2 : tensor<1024x128xf32>
}
