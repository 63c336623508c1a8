// RUN: shardc search --target v5e:2x4 --show 0 %s
// A result alone is annotated: the mesh is the program's own.
sdy.mesh @mesh = <["x"=8]>
func.func @main(%x: tensor<2048x2048xbf16>, %up: tensor<2048x8192xbf16>) -> (tensor<2048x8192xbf16> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}) {
  %0 = stablehlo.dot_general %x, %up, contracting_dims = [1] x [0] : (tensor<2048x2048xbf16>, tensor<2048x8192xbf16>) -> tensor<2048x8192xbf16>
  return %0 : tensor<2048x8192xbf16>
}
