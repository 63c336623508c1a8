// RUN: shardc check --interpret --target 2xv5e:2x2 %s
// RUN: shardc check --target 2xv5e:2x2 %s
// What is summed in stages is what is summed at once, also by native code.
sdy.mesh @mesh = <["x"=8]>
func.func @main(%x: tensor<64x512xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}, %y: tensor<64x512xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}) -> (tensor<512x512xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {}]>}, tensor<512x512xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {}]>}) {
  %0 = stablehlo.dot_general %x, %y, contracting_dims = [0] x [0] : (tensor<64x512xf32>, tensor<64x512xf32>) -> tensor<512x512xf32>
  %1 = stablehlo.multiply %x, %y : tensor<64x512xf32>
  %2 = stablehlo.dot_general %1, %y, contracting_dims = [0] x [0] : (tensor<64x512xf32>, tensor<64x512xf32>) -> tensor<512x512xf32>
  return %0, %2 : tensor<512x512xf32>, tensor<512x512xf32>
}
