// RUN: not shardc opt --split-input-file %s
func.func @main(%a: tensor<8x16xf32>, %e: tensor<8xf32>) -> tensor<8xf32> {
  %0 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1 + 1)>, affine_map<(d0, d1) -> (d0)>], iterator_types = ["parallel", "reduction"]} ins(%a : tensor<8x16xf32>) outs(%e : tensor<8xf32>) {
  ^bb0(%x: f32, %s: f32):
    %t = arith.addf %x, %s : f32
    linalg.yield %t : f32
  } -> tensor<8xf32>
  return %0 : tensor<8xf32>
}
// -----
func.func @main(%a: tensor<8x16xf32>, %b: tensor<16x4xf32>, %e: tensor<8x5xf32>) -> tensor<8x5xf32> {
  %0 = linalg.matmul ins(%a, %b : tensor<8x16xf32>, tensor<16x4xf32>) outs(%e : tensor<8x5xf32>) -> tensor<8x5xf32>
  return %0 : tensor<8x5xf32>
}
// -----
func.func @main(%a: tensor<8x16xf16>, %b: tensor<16x4xf16>, %e: tensor<8x4xf32>) -> tensor<8x4xf32> {
  %0 = linalg.matmul ins(%a, %b : tensor<8x16xf16>, tensor<16x4xf16>) outs(%e : tensor<8x4xf32>) -> tensor<8x4xf32>
  return %0 : tensor<8x4xf32>
}
// -----
func.func @main(%a: tensor<8xf32>, %e: tensor<9xf32>) -> tensor<9xf32> {
  %0 = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0 + 2)>, affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]} ins(%a : tensor<8xf32>) outs(%e : tensor<9xf32>) {
  ^bb0(%x: f32, %s: f32):
    linalg.yield %x : f32
  } -> tensor<9xf32>
  return %0 : tensor<9xf32>
}
// -----
func.func @main(%a: tensor<8xf32>, %e: tensor<8xf32>) -> tensor<8xf32> {
  %0 = linalg.generic {indexing_maps = [affine_map<(d0)[s0] -> (d0 + s0)>, affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]} ins(%a : tensor<8xf32>) outs(%e : tensor<8xf32>) {
  ^bb0(%x: f32, %s: f32):
    %0 = arith.cmpf less, %x, %s : f32
    linalg.yield %x : f32
  } -> tensor<8xf32>
  %1 = linalg.transpose ins(%a : tensor<8xf32>) outs(%e : tensor<8xf32>) permutation = [1]
  return %1 : tensor<8xf32>
}
// -----
func.func @main(%a: tensor<8xf32>, %e: tensor<8xf32>) -> tensor<8xf32> {
  %0 = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]} ins(%a : tensor<8xf32>) outs(%e : tensor<8xf32>) {
  ^bb0(%x: f32, %s: f32):
    %i = linalg.index 1 : index
    linalg.yield %x : f32
  } -> tensor<8xf32>
  return %0 : tensor<8xf32>
}
// -----
func.func @main(%a: tensor<8xf32>, %e: tensor<8xf32>) -> tensor<8xf32> {
  %1 = linalg.elementwise kind=#linalg.elementwise_kind<erf> ins(%a : tensor<8xf32>) outs(%e : tensor<8xf32>) -> tensor<8xf32>
  return %1 : tensor<8xf32>
}
