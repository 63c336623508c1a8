// Unsigned integers, comparisons with NaN (square roots of negative numbers), positions of loops, single bits.
#id = affine_map<(d0, d1) -> (d0, d1)>
func.func @main(%a: tensor<4x6xi32>, %b: tensor<4x6xi32>, %f: tensor<4x6xf32>) -> (tensor<4x6xf32>, tensor<4x6xf32>, tensor<4x6xf32>) {
  %e = tensor.empty() : tensor<4x6xf32>
  %0 = linalg.generic {indexing_maps = [#id, #id, #id], iterator_types = ["parallel", "parallel"]} ins(%a, %b : tensor<4x6xi32>, tensor<4x6xi32>) outs(%e : tensor<4x6xf32>) {
  ^bb0(%x: i32, %y: i32, %o: f32):
    %c9 = arith.constant 9 : i32
    %c7 = arith.constant 7 : i32
    %m = arith.subi %x, %c9 : i32
    %d = arith.divui %m, %c7 : i32
    %r = arith.remui %m, %c7 : i32
    %mx = arith.maxui %d, %y : i32
    %mn = arith.minui %mx, %m : i32
    %t = arith.trunci %m : i32 to i8
    %w = arith.extui %t : i8 to i32
    %s0 = arith.addi %r, %w : i32
    %s1 = arith.addi %s0, %mn : i32
    %s = arith.uitofp %s1 : i32 to f32
    linalg.yield %s : f32
  } -> tensor<4x6xf32>
  %1 = linalg.generic {indexing_maps = [#id, #id, #id], iterator_types = ["parallel", "parallel"]} ins(%f, %0 : tensor<4x6xf32>, tensor<4x6xf32>) outs(%e : tensor<4x6xf32>) {
  ^bb0(%x: f32, %y: f32, %o: f32):
    %q = math.sqrt %x : f32
    %i = linalg.index 0 : index
    %j = linalg.index 1 : index
    %k = arith.muli %i, %j : index
    %n = arith.index_cast %k : index to i64
    %p = arith.sitofp %n : i64 to f32
    %h = arith.constant 0.125 : f32
    %u = arith.mulf %p, %h : f32
    %c1 = arith.cmpf ugt, %q, %u : f32
    %c2 = arith.cmpf ole, %q, %u : f32
    %c3 = arith.cmpf one, %q, %u : f32
    %c4 = arith.cmpf ueq, %q, %q : f32
    %c5 = arith.cmpf ord, %q, %u : f32
    %c6 = arith.cmpf uno, %q, %u : f32
    %c7 = arith.cmpf une, %q, %q : f32
    %x1 = arith.addi %c1, %c3 : i1
    %x2 = arith.maxsi %c2, %c4 : i1
    %x3 = arith.cmpi slt, %c5, %c6 : i1
    %x4 = arith.minui %c6, %c7 : i1
    %n1 = arith.extui %x1 : i1 to i32
    %n2 = arith.extui %x2 : i1 to i32
    %n3 = arith.extui %x3 : i1 to i32
    %n4 = arith.extui %x4 : i1 to i32
    %two = arith.constant 2 : i32
    %m1 = arith.muli %n1, %two : i32
    %m2 = arith.addi %m1, %n2 : i32
    %m3 = arith.muli %m2, %two : i32
    %m4 = arith.addi %m3, %n3 : i32
    %m5 = arith.muli %m4, %two : i32
    %m6 = arith.addi %m5, %n4 : i32
    %z = arith.sitofp %m6 : i32 to f32
    %zz = arith.addf %z, %u : f32
    linalg.yield %zz : f32
  } -> tensor<4x6xf32>
  %ei = tensor.empty() : tensor<4x6xi32>
  %g = linalg.elementwise kind=#linalg.elementwise_kind<max_unsigned> ins(%a, %b : tensor<4x6xi32>, tensor<4x6xi32>) outs(%ei : tensor<4x6xi32>) -> tensor<4x6xi32>
  %h = linalg.map ins(%g, %a : tensor<4x6xi32>, tensor<4x6xi32>) outs(%e : tensor<4x6xf32>) (%x: i32, %y: i32, %o: f32) {
    %l = arith.cmpi ult, %y, %x : i32
    %b1 = arith.trunci %x : i32 to i1
    %both = arith.andi %l, %b1 : i1
    %r = arith.uitofp %both : i1 to f32
    linalg.yield %r : f32
  }
  %q = linalg.square ins(%h : tensor<4x6xf32>) outs(%e : tensor<4x6xf32>) -> tensor<4x6xf32>
  return %0, %1, %q : tensor<4x6xf32>, tensor<4x6xf32>, tensor<4x6xf32> }
