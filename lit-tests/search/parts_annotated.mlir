// RUN: shardc search --target v5e:2x4 --memory 48MiB --show 0 %s
// RUN: shardc search --target v5e:2x4 --memory 48MiB -o - %s
// The mesh of a program with annotations is divided, too; what the user says is told in words of the parts.
sdy.mesh @mesh = <["x"=8]>
func.func @main(%x: tensor<2048x2048xbf16> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}, %up: tensor<2048x8192xbf16>, %down: tensor<8192x2048xbf16>) -> tensor<2048x2048xbf16> {
  %0 = stablehlo.dot_general %x, %up, contracting_dims = [1] x [0] : (tensor<2048x2048xbf16>, tensor<2048x8192xbf16>) -> tensor<2048x8192xbf16>
  %1 = stablehlo.tanh %0 : tensor<2048x8192xbf16>
  %2 = stablehlo.dot_general %1, %down, contracting_dims = [1] x [0] : (tensor<2048x8192xbf16>, tensor<8192x2048xbf16>) -> tensor<2048x2048xbf16>
  return %2 : tensor<2048x2048xbf16>
}
