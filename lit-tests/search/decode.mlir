// RUN: shardc search --target v5e:2x4 --show 1 %s
// RUN: shardc search --target v5e:2x4 --memory 20MiB --show 0 %s
// Few rows and large weights, which take longer to read than to multiply by: Megatron's sharding, one all-reduce of the rows.
// Where nothing fits, the least memory counts.
func.func @main(%x: tensor<16x4096xbf16>, %up: tensor<4096x16384xbf16>, %down: tensor<16384x4096xbf16>) -> tensor<16x4096xbf16> {
  %0 = stablehlo.dot_general %x, %up, contracting_dims = [1] x [0] : (tensor<16x4096xbf16>, tensor<4096x16384xbf16>) -> tensor<16x16384xbf16>
  %1 = stablehlo.tanh %0 : tensor<16x16384xbf16>
  %2 = stablehlo.dot_general %1, %down, contracting_dims = [1] x [0] : (tensor<16x16384xbf16>, tensor<16384x4096xbf16>) -> tensor<16x4096xbf16>
  return %2 : tensor<16x4096xbf16>
}
