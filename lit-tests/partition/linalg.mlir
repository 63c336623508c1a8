// RUN: shardc opt --import --propagate %s
// RUN: shardc compile %s
// RUN: shardc check %s
// RUN: shardc compile --emit linalg %s
// Structured ops are nests: their dimensions are sharded as their maps say, and sums over shards are put together.
#mk = affine_map<(m, n, k) -> (m, k)>
#kn = affine_map<(m, n, k) -> (k, n)>
#mn = affine_map<(m, n, k) -> (m, n)>
#id = affine_map<(d0, d1) -> (d0, d1)>
#row = affine_map<(d0, d1) -> (d1)>
sdy.mesh @mesh = <["x"=2, "y"=2]>
func.func @main(%a: tensor<8x18xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {"y"}]>}, %w: tensor<18x12xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"y"}, {}]>}, %c: tensor<8x12xf32>, %bias: tensor<12xf32>) -> (tensor<8x12xf32>, tensor<8xf32>, tensor<8x18xf32>, tensor<8xf32>) {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<8x12xf32>
  %p = linalg.generic {indexing_maps = [#mk, #kn, #mn], iterator_types = ["parallel", "parallel", "reduction"]} ins(%a, %w : tensor<8x18xf32>, tensor<18x12xf32>) outs(%c : tensor<8x12xf32>) {
  ^bb0(%x: f32, %y: f32, %s: f32):
    %t = arith.mulf %x, %y : f32
    %u = arith.addf %s, %t : f32
    linalg.yield %u : f32
  } -> tensor<8x12xf32>
  %r = linalg.generic {indexing_maps = [#id, #row, #id], iterator_types = ["parallel", "parallel"]} ins(%p, %bias : tensor<8x12xf32>, tensor<12xf32>) outs(%e : tensor<8x12xf32>) {
  ^bb0(%x: f32, %b: f32, %o: f32):
    %s = arith.addf %x, %b : f32
    %m = arith.maximumf %s, %zero : f32
    linalg.yield %m : f32
  } -> tensor<8x12xf32>
  %ea = tensor.empty() : tensor<8x18xf32>
  %low = arith.constant 0xFF800000 : f32
  %e1 = tensor.empty() : tensor<8xf32>
  %f = linalg.fill ins(%low : f32) outs(%e1 : tensor<8xf32>) -> tensor<8xf32>
  %m = linalg.reduce { arith.maximumf } ins(%a : tensor<8x18xf32>) outs(%f : tensor<8xf32>) dimensions = [1]
  %far = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]} ins(%a : tensor<8x18xf32>) outs(%ea : tensor<8x18xf32>) {
  ^bb0(%x: f32, %o: f32):
    // Positions are those of the whole tensor, on every device.
    %i = linalg.index 0 : index
    %j = linalg.index 1 : index
    %ij = arith.cmpi ult, %j, %i : index
    %k = arith.select %ij, %x, %zero : f32
    linalg.yield %k : f32
  } -> tensor<8x18xf32>
  %z1 = linalg.fill ins(%zero : f32) outs(%e1 : tensor<8xf32>) -> tensor<8xf32>
  %weighted = linalg.generic {indexing_maps = [#id, affine_map<(d0, d1) -> (d0)>], iterator_types = ["parallel", "reduction"]} ins(%a : tensor<8x18xf32>) outs(%z1 : tensor<8xf32>) {
  ^bb0(%x: f32, %s: f32):
    %j = linalg.index 1 : index
    %k = arith.index_cast %j : index to i32
    %kf = arith.uitofp %k : i32 to f32
    %xf = arith.mulf %x, %kf : f32
    %t = arith.addf %s, %xf : f32
    linalg.yield %t : f32
  } -> tensor<8xf32>
  return %r, %m, %far, %weighted : tensor<8x12xf32>, tensor<8xf32>, tensor<8x18xf32>, tensor<8xf32>
}
