// RUN: shardc search --target v5e:2x2 --show 0 %s
// Each of eight experts has its own weights: they are a batch of the products, but no dimension of the tokens.
func.func @main(%x: tensor<8x512x2048xbf16>, %up: tensor<8x2048x8192xbf16>, %down: tensor<8x8192x2048xbf16>) -> tensor<8x512x2048xbf16> {
  %0 = stablehlo.dot_general %x, %up, batching_dims = [0] x [0], contracting_dims = [2] x [1] : (tensor<8x512x2048xbf16>, tensor<8x2048x8192xbf16>) -> tensor<8x512x8192xbf16>
  %1 = stablehlo.tanh %0 : tensor<8x512x8192xbf16>
  %2 = stablehlo.dot_general %1, %down, batching_dims = [0] x [0], contracting_dims = [2] x [1] : (tensor<8x512x8192xbf16>, tensor<8x8192x2048xbf16>) -> tensor<8x512x2048xbf16>
  return %2 : tensor<8x512x2048xbf16>
}
