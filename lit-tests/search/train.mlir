// RUN: shardc search --target v5e:2x2 --show 0 %s
// RUN: shardc search --target v5e:2x2 --show 0 --memory 900MiB %s
// RUN: shardc search --target v5e:2x2 --memory 900MiB -o - %s | shardc cost --target v5e:2x2 --memory 900MiB -
// A step that learns: parameters are what it replaces. With little memory they are stored in shards, as FSDP does it.
func.func @main(%w: tensor<8192x8192xf32>, %x: tensor<32768x8192xf32>) -> (tensor<8192x8192xf32>) {
  %0 = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0] : (tensor<32768x8192xf32>, tensor<8192x8192xf32>) -> tensor<32768x8192xf32>
  %1 = stablehlo.tanh %0 : tensor<32768x8192xf32>
  %2 = stablehlo.dot_general %x, %1, contracting_dims = [0] x [0] : (tensor<32768x8192xf32>, tensor<32768x8192xf32>) -> tensor<8192x8192xf32>
  %3 = stablehlo.subtract %w, %2 : tensor<8192x8192xf32>
  return %3 : tensor<8192x8192xf32>
}
