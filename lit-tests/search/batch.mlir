// RUN: shardc search --target v5e:2x2 --show 1 --json %s
// RUN: shardc search --mesh a=2,b=2 --show 0 %s
// Many rows and small weights: the batch is sharded, and nothing is sent.
func.func @main(%x: tensor<65536x1024xbf16>, %up: tensor<1024x4096xbf16>, %down: tensor<4096x1024xbf16>) -> tensor<65536x1024xbf16> {
  %0 = stablehlo.dot_general %x, %up, contracting_dims = [1] x [0] : (tensor<65536x1024xbf16>, tensor<1024x4096xbf16>) -> tensor<65536x4096xbf16>
  %1 = stablehlo.tanh %0 : tensor<65536x4096xbf16>
  %2 = stablehlo.dot_general %1, %down, contracting_dims = [1] x [0] : (tensor<65536x4096xbf16>, tensor<4096x1024xbf16>) -> tensor<65536x1024xbf16>
  return %2 : tensor<65536x1024xbf16>
}
