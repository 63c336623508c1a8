// RUN: shardc opt %s
// RUN: shardc opt --generic %s | shardc opt
// RUN: shardc opt --emit-bytecode %s | shardc opt --import
#id = affine_map<(d0, d1) -> (d0, d1)>
#t = affine_map<(d0, d1) -> (d1, d0 + 1)>
module {
  func.func @main(%a: tensor<8x16xf32>, %w: tensor<16x12xf32>, %i: tensor<8x16xi32>, %c: tensor<8x12xf32>, %s: f32) -> (tensor<8x12xf32>, tensor<16xf32>, tensor<16x8xf32>, tensor<3x8x16xf32>, tensor<8x16xf32>, tensor<15x8xi32>, tensor<8xi1>) {
    %zero = arith.constant 0.0 : f32
    %e = tensor.empty() : tensor<8x16xf32>
    %p = linalg.matmul ins(%a, %w : tensor<8x16xf32>, tensor<16x12xf32>) outs(%c : tensor<8x12xf32>) -> tensor<8x12xf32>
    %e1 = tensor.empty() : tensor<16xf32>
    %f1 = linalg.fill ins(%s : f32) outs(%e1 : tensor<16xf32>) -> tensor<16xf32>
    %r = linalg.reduce ins(%a : tensor<8x16xf32>) outs(%f1 : tensor<16xf32>) dimensions = [0] (%x: f32, %y: f32) {
      %k = math.exp %x : f32
      %m = arith.addf %k, %y fastmath<contract> : f32
      linalg.yield %m : f32
    }
    %e2 = tensor.empty() : tensor<16x8xf32>
    %t = linalg.transpose ins(%a : tensor<8x16xf32>) outs(%e2 : tensor<16x8xf32>) permutation = [1, 0]
    %e3 = tensor.empty() : tensor<3x8x16xf32>
    %b = linalg.broadcast ins(%a : tensor<8x16xf32>) outs(%e3 : tensor<3x8x16xf32>) dimensions = [0]
    %ex = linalg.exp ins(%a : tensor<8x16xf32>) outs(%e : tensor<8x16xf32>) -> tensor<8x16xf32>
    %e4 = tensor.empty() : tensor<15x8xi32>
    %g = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d1, d0 + 1)>, #id], iterator_types = ["parallel", "parallel"]} ins(%i : tensor<8x16xi32>) outs(%e4 : tensor<15x8xi32>) {
    ^bb0(%x: i32, %o: i32):
      %at = linalg.index 1 : index
      %c7 = arith.index_cast %at : index to i32
      %dv = arith.divui %x, %c7 exact : i32
      %l = arith.cmpi ult, %dv, %c7 : i32
      %q = arith.select %l, %x, %c7 : i32
      linalg.yield %q : i32
    } -> tensor<15x8xi32>
    %eit = tensor.empty() : tensor<16x8xi32>
    %it = linalg.transpose ins(%i : tensor<8x16xi32>) outs(%eit : tensor<16x8xi32>) permutation = [1, 0]
    %true = arith.constant true
    %e5 = tensor.empty() : tensor<8xi1>
    %f5 = linalg.fill ins(%true : i1) outs(%e5 : tensor<8xi1>) -> tensor<8xi1>
    %e6 = tensor.empty() : tensor<8x16xi1>
    %f5x = linalg.map ins(%i, %i : tensor<8x16xi32>, tensor<8x16xi32>) outs(%e6 : tensor<8x16xi1>) (%x: i32, %y: i32, %o: i1) {
      %l = arith.cmpi sle, %x, %y : i32
      linalg.yield %l : i1
    }
    %all = linalg.reduce { arith.andi } ins(%f5x : tensor<8x16xi1>) outs(%f5 : tensor<8xi1>) dimensions = [1]
    %es = linalg.elementwise kind=#linalg.elementwise_kind<select> ins(%e6, %a, %a : tensor<8x16xi1>, tensor<8x16xf32>, tensor<8x16xf32>) outs(%e : tensor<8x16xf32>) -> tensor<8x16xf32>
    %ed = linalg.elementwise kind=#linalg.elementwise_kind<div_unsigned> indexing_maps = [affine_map<(d0, d1) -> (d1, d0)>, #id, #id] ins(%it, %i : tensor<16x8xi32>, tensor<8x16xi32>) outs(%i : tensor<8x16xi32>) -> tensor<8x16xi32>
    %sq = linalg.square ins(%a : tensor<8x16xf32>) outs(%e : tensor<8x16xf32>) -> tensor<8x16xf32>
    return %p, %r, %t, %b, %ex, %g, %all : tensor<8x12xf32>, tensor<16xf32>, tensor<16x8xf32>, tensor<3x8x16xf32>, tensor<8x16xf32>, tensor<15x8xi32>, tensor<8xi1>
  }
}
