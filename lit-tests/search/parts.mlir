// RUN: shardc search --target v5e:2x4 --mesh x=8 --memory 48MiB --show 0 %s
// RUN: shardc search --target v5e:2x4 --mesh x=8 --memory 48MiB -o - %s | shardc cost --target v5e:2x4 -
// The axis of a mesh that is given is divided: parts of it shard different things. JAX gets a mesh that has the parts as axes.
func.func @main(%x: tensor<2048x2048xbf16>, %up: tensor<2048x8192xbf16>, %down: tensor<8192x2048xbf16>) -> tensor<2048x2048xbf16> {
  %0 = stablehlo.dot_general %x, %up, contracting_dims = [1] x [0] : (tensor<2048x2048xbf16>, tensor<2048x8192xbf16>) -> tensor<2048x8192xbf16>
  %1 = stablehlo.tanh %0 : tensor<2048x8192xbf16>
  %2 = stablehlo.dot_general %1, %down, contracting_dims = [1] x [0] : (tensor<2048x8192xbf16>, tensor<8192x2048xbf16>) -> tensor<2048x2048xbf16>
  return %2 : tensor<2048x2048xbf16>
}
