module {
  func.func @f0(%arg0: tensor<5x1xf32>, %arg1: tensor<5x1xf32>, %arg2: tensor<i32>, %arg3: tensor<i32>) -> tensor<5x1xf32> {
    %0 = stablehlo.dynamic_update_slice %arg0, %arg1, %arg2, %arg3 {sdy.sharding_rule = #sdy.op_sharding_rule<([i, j], [i, j], [], [])->([i, j]) {i=5, j=1}>} : (tensor<5x1xf32>, tensor<5x1xf32>, tensor<i32>, tensor<i32>) -> tensor<5x1xf32>
    return %0 : tensor<5x1xf32>
  }
  func.func @f1(%arg0: tensor<8xf32>) -> tensor<0xf32> {
    %0 = stablehlo.slice %arg0 [3:3] {sdy.sharding_rule = #sdy.op_sharding_rule<([i])->([i]) {i=8} permutation={i}>} : (tensor<8xf32>) -> tensor<0xf32>
    return %0 : tensor<0xf32>
  }
  func.func @f2(%arg0: tensor<2x8xf32>, %arg1: tensor<f32>) -> tensor<2x10xf32> {
    %0 = stablehlo.pad %arg0, %arg1, low = [0, 0], high = [0, 2], interior = [0, 0] {sdy.sharding_rule = #sdy.op_sharding_rule<([i, j], [])->([i, j]) {i=2, j=8} permutation={j}>} : (tensor<2x8xf32>, tensor<f32>) -> tensor<2x10xf32>
    return %0 : tensor<2x10xf32>
  }
  func.func @f3(%arg0: tensor<1xf32>) -> tensor<1x1xf32> {
    %0 = stablehlo.reshape %arg0 {sdy.sharding_rule = #sdy.op_sharding_rule<([i])->([j, k]) {i=1, j=1, k=1}>} : (tensor<1xf32>) -> tensor<1x1xf32>
    return %0 : tensor<1x1xf32>
  }
  func.func @f4(%arg0: tensor<1x8xf32>) -> tensor<1x8xf32> {
    %0 = stablehlo.concatenate %arg0, dim = 0 {sdy.sharding_rule = #sdy.op_sharding_rule<([i, j])->([i, j]) {i=1, j=8} need_replication={i}>} : (tensor<1x8xf32>) -> tensor<1x8xf32>
    return %0 : tensor<1x8xf32>
  }
  func.func @f5(%arg0: tensor<2x2x4x1xf32>, %arg1: tensor<2xi32>, %arg2: tensor<1x4x2x1xf32>) -> tensor<2x2x4x1xf32> {
    %0 = "stablehlo.scatter"(%arg0, %arg1, %arg2) <{indices_are_sorted = false, scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [0, 1, 3], inserted_window_dims = [1], scatter_dims_to_operand_dims = [2], index_vector_dim = 1>, unique_indices = false}> ({
    ^bb0(%arg3: tensor<f32>, %arg4: tensor<f32>):
      %1 = stablehlo.multiply %arg3, %arg4 {sdy.sharding_rule = #sdy.op_sharding_rule<([], [])->([])>} : tensor<f32>
      stablehlo.return %1 : tensor<f32>
    }) {sdy.sharding_rule = #sdy.op_sharding_rule<([i, n, k, m], [l], [j, k, l, m])->([i, n, k, m]) {i=2, j=1, k=4, l=2, m=1, n=2} reduction={l} need_replication={i, j}>} : (tensor<2x2x4x1xf32>, tensor<2xi32>, tensor<1x4x2x1xf32>) -> tensor<2x2x4x1xf32>
    return %0 : tensor<2x2x4x1xf32>
  }
  func.func @f6(%arg0: tensor<3x1x7x10xf32>) -> tensor<210x1xf32> {
    %0 = stablehlo.reshape %arg0 {sdy.sharding_rule = #sdy.op_sharding_rule<([i, j, k, l])->([ikl, m]) {i=3, j=1, k=7, l=10, m=1}>} : (tensor<3x1x7x10xf32>) -> tensor<210x1xf32>
    return %0 : tensor<210x1xf32>
  }
  func.func @f7(%arg0: tensor<f32>) -> tensor<4x4x1x8xf32> {
    %0 = stablehlo.broadcast_in_dim %arg0, dims = [] {sdy.sharding_rule = #sdy.op_sharding_rule<([])->([i, j, k, l]) {i=4, j=4, k=1, l=8}>} : (tensor<f32>) -> tensor<4x4x1x8xf32>
    return %0 : tensor<4x4x1x8xf32>
  }
  func.func @f8(%arg0: tensor<3x2x3xf32>) -> tensor<3x2x3xf32> {
    %0 = stablehlo.reverse %arg0, dims = [2, 0] {sdy.sharding_rule = #sdy.op_sharding_rule<([i, j, k])->([i, j, k]) {i=3, j=2, k=3} permutation={i, k}>} : tensor<3x2x3xf32>
    return %0 : tensor<3x2x3xf32>
  }
  func.func @f9(%arg0: tensor<1x2x1xf32>, %arg1: tensor<2x2x1xf32>, %arg2: tensor<8x2x1xf32>) -> tensor<11x2x1xf32> {
    %0 = stablehlo.concatenate %arg0, %arg1, %arg2, dim = 0 {sdy.sharding_rule = #sdy.op_sharding_rule<([i, j, k], [i, j, k], [i, j, k])->([i, j, k]) {i=11, j=2, k=1} need_replication={i}>} : (tensor<1x2x1xf32>, tensor<2x2x1xf32>, tensor<8x2x1xf32>) -> tensor<11x2x1xf32>
    return %0 : tensor<11x2x1xf32>
  }
  func.func @f10(%arg0: tensor<f32>) -> tensor<f32> {
    %0 = stablehlo.transpose %arg0, dims = [] {sdy.sharding_rule = #sdy.op_sharding_rule<([])->([])>} : (tensor<f32>) -> tensor<f32>
    return %0 : tensor<f32>
  }
  func.func @f11(%arg0: tensor<4x2xf32>) -> tensor<8x1x2x4xf32> {
    %0 = stablehlo.broadcast_in_dim %arg0, dims = [3, 2] {sdy.sharding_rule = #sdy.op_sharding_rule<([l, k])->([i, j, k, l]) {i=8, j=1, k=2, l=4}>} : (tensor<4x2xf32>) -> tensor<8x1x2x4xf32>
    return %0 : tensor<8x1x2x4xf32>
  }
  func.func @f12(%arg0: tensor<4xf32>, %arg1: tensor<1xi32>, %arg2: tensor<4xf32>) -> tensor<4xf32> {
    %0 = "stablehlo.scatter"(%arg0, %arg1, %arg2) <{indices_are_sorted = false, scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [0], scatter_dims_to_operand_dims = [0]>, unique_indices = false}> ({
    ^bb0(%arg3: tensor<f32>, %arg4: tensor<f32>):
      stablehlo.return %arg4 : tensor<f32>
    }) {sdy.sharding_rule = #sdy.op_sharding_rule<([i], [j], [i])->([i]) {i=4, j=1} need_replication={j}>} : (tensor<4xf32>, tensor<1xi32>, tensor<4xf32>) -> tensor<4xf32>
    return %0 : tensor<4xf32>
  }
  func.func @f13(%arg0: tensor<2x8xf32>, %arg1: tensor<f32>) -> tensor<4x17xf32> {
    %0 = stablehlo.pad %arg0, %arg1, low = [-1, 0], high = [2, 2], interior = [1, 1] {sdy.sharding_rule = #sdy.op_sharding_rule<([i, j], [])->([i, j]) {i=2, j=8} permutation={i, j}>} : (tensor<2x8xf32>, tensor<f32>) -> tensor<4x17xf32>
    return %0 : tensor<4x17xf32>
  }
  func.func @f14(%arg0: tensor<8x4xf32>, %arg1: tensor<8x4xf32>) -> tensor<16x4xf32> {
    %0 = stablehlo.slice %arg0 [0:3, 0:4] {sdy.sharding_rule = #sdy.op_sharding_rule<([i, j])->([i, j]) {i=8, j=4} permutation={i}>} : (tensor<8x4xf32>) -> tensor<3x4xf32>
    %1 = stablehlo.concatenate %arg0, %arg0, dim = 0 {sdy.sharding_rule = #sdy.op_sharding_rule<([i, j], [i, j])->([i, j]) {i=16, j=4} need_replication={i}>} : (tensor<8x4xf32>, tensor<8x4xf32>) -> tensor<16x4xf32>
    return %1 : tensor<16x4xf32>
  }
  func.func @f15(%arg0: tensor<8x2xf32>) -> tensor<8x2xf32> {
    %0 = stablehlo.concatenate %arg0, dim = 0 {sdy.sharding_rule = #sdy.op_sharding_rule<([i, j])->([i, j]) {i=8, j=2} need_replication={i}>} : (tensor<8x2xf32>) -> tensor<8x2xf32>
    return %0 : tensor<8x2xf32>
  }
  func.func @f16(%arg0: tensor<2x1xf32>, %arg1: tensor<2x2xi32>) -> tensor<2x1x1xf32> {
    %0 = "stablehlo.gather"(%arg0, %arg1) <{dimension_numbers = #stablehlo.gather<offset_dims = [1, 2], start_index_map = [0, 1]>, indices_are_sorted = false, slice_sizes = array<i64: 1, 1>}> {sdy.sharding_rule = #sdy.op_sharding_rule<([j, l], [m, i])->([i, k, l]) {i=2, j=2, k=1, l=1, m=2} reduction={j} need_replication={k, m}>} : (tensor<2x1xf32>, tensor<2x2xi32>) -> tensor<2x1x1xf32>
    return %0 : tensor<2x1x1xf32>
  }
  func.func @f17(%arg0: tensor<8x4xf32>, %arg1: tensor<8x4xf32>) -> tensor<14x4xf32> {
    %0 = stablehlo.slice %arg0 [0:3, 0:4] {sdy.sharding_rule = #sdy.op_sharding_rule<([i, j])->([i, j]) {i=8, j=4} permutation={i}>} : (tensor<8x4xf32>) -> tensor<3x4xf32>
    %1 = stablehlo.concatenate %0, %arg0, %0, dim = 0 {sdy.sharding_rule = #sdy.op_sharding_rule<([i, j], [i, j], [i, j])->([i, j]) {i=14, j=4} permutation={i}>} : (tensor<3x4xf32>, tensor<8x4xf32>, tensor<3x4xf32>) -> tensor<14x4xf32>
    return %1 : tensor<14x4xf32>
  }
  func.func @f18(%arg0: tensor<8xf32>, %arg1: tensor<5xf32>) -> tensor<8xf32> {
    %c = stablehlo.constant dense<1> : tensor<i32>
    %0 = stablehlo.dynamic_update_slice %arg0, %arg1, %c {sdy.sharding_rule = #sdy.op_sharding_rule<([i], [j], [])->([i]) {i=8, j=5}>} : (tensor<8xf32>, tensor<5xf32>, tensor<i32>) -> tensor<8xf32>
    return %0 : tensor<8xf32>
  }
  func.func @f19(%arg0: tensor<5x5xf32>) -> tensor<5x5xf32> {
    %0 = stablehlo.slice %arg0 [0:5, 0:5] {sdy.sharding_rule = #sdy.op_sharding_rule<([i, j])->([i, j]) {i=5, j=5}>} : (tensor<5x5xf32>) -> tensor<5x5xf32>
    return %0 : tensor<5x5xf32>
  }
  func.func @f20(%arg0: tensor<4x2x2x2xf32>, %arg1: tensor<2x2x3xi32>) -> tensor<2x1x2x2x2xf32> {
    %0 = "stablehlo.gather"(%arg0, %arg1) <{dimension_numbers = #stablehlo.gather<offset_dims = [1, 2, 3], operand_batching_dims = [1], start_indices_batching_dims = [1], start_index_map = [0, 2, 3], index_vector_dim = 2>, indices_are_sorted = false, slice_sizes = array<i64: 1, 1, 2, 2>}> {sdy.sharding_rule = #sdy.op_sharding_rule<([j, n, l, m], [i, n, o])->([i, k, l, m, n]) {i=2, j=4, k=1, l=2, m=2, n=2, o=3} reduction={j} need_replication={k, o}>} : (tensor<4x2x2x2xf32>, tensor<2x2x3xi32>) -> tensor<2x1x2x2x2xf32>
    return %0 : tensor<2x1x2x2x2xf32>
  }
  func.func @f21(%arg0: tensor<16x16xf32>, %arg1: tensor<f32>) -> tensor<16x16xf32> {
    %0 = stablehlo.dot_general %arg0, %arg1, contracting_dims = [] x [] {sdy.sharding_rule = #sdy.op_sharding_rule<([i, j], [])->([i, j]) {i=16, j=16}>} : (tensor<16x16xf32>, tensor<f32>) -> tensor<16x16xf32>
    return %0 : tensor<16x16xf32>
  }
  func.func @f22(%arg0: tensor<12x4x1x2xf32>) -> tensor<3x32xf32> {
    %0 = stablehlo.reshape %arg0 {sdy.sharding_rule = #sdy.op_sharding_rule<([ij, k, l, m])->([i, jkm]) {i=3, j=4, k=4, l=1, m=2}>} : (tensor<12x4x1x2xf32>) -> tensor<3x32xf32>
    return %0 : tensor<3x32xf32>
  }
  func.func @f23(%arg0: tensor<3x4xf32>, %arg1: tensor<4x5xf32>) -> tensor<3x5xf32> {
    %0 = stablehlo.dot %arg0, %arg1 {sdy.sharding_rule = #sdy.op_sharding_rule<([i, k], [k, j])->([i, j]) {i=3, j=5, k=4} reduction={k}>} : (tensor<3x4xf32>, tensor<4x5xf32>) -> tensor<3x5xf32>
    return %0 : tensor<3x5xf32>
  }
  func.func @f24(%arg0: tensor<2xf32>, %arg1: tensor<2xf32>, %arg2: tensor<1xf32>) -> tensor<5xf32> {
    %0 = stablehlo.concatenate %arg0, %arg1, %arg2, dim = 0 {sdy.sharding_rule = #sdy.op_sharding_rule<([i], [i], [i])->([i]) {i=5} need_replication={i}>} : (tensor<2xf32>, tensor<2xf32>, tensor<1xf32>) -> tensor<5xf32>
    return %0 : tensor<5xf32>
  }
  func.func @f25(%arg0: tensor<5x8xf32>, %arg1: tensor<f32>) -> tensor<7x10xf32> {
    %0 = stablehlo.pad %arg0, %arg1, low = [0, 0], high = [2, 2], interior = [0, 0] {sdy.sharding_rule = #sdy.op_sharding_rule<([i, j], [])->([i, j]) {i=5, j=8} permutation={i, j}>} : (tensor<5x8xf32>, tensor<f32>) -> tensor<7x10xf32>
    return %0 : tensor<7x10xf32>
  }
  func.func @f26(%arg0: tensor<5xf32>, %arg1: tensor<1xf32>, %arg2: tensor<i32>) -> tensor<5xf32> {
    %0 = stablehlo.dynamic_update_slice %arg0, %arg1, %arg2 {sdy.sharding_rule = #sdy.op_sharding_rule<([i], [j], [])->([i]) {i=5, j=1} need_replication={j}>} : (tensor<5xf32>, tensor<1xf32>, tensor<i32>) -> tensor<5xf32>
    return %0 : tensor<5xf32>
  }
  func.func @f27(%arg0: tensor<2x5x8xf32>, %arg1: tensor<2x2x5xf32>) -> tensor<2x5x8xf32> {
    %c = stablehlo.constant dense<1> : tensor<i32>
    %0 = stablehlo.dynamic_update_slice %arg0, %arg1, %c, %c, %c {sdy.sharding_rule = #sdy.op_sharding_rule<([i, j, l], [i, k, m], [], [], [])->([i, j, l]) {i=2, j=5, k=2, l=8, m=5}>} : (tensor<2x5x8xf32>, tensor<2x2x5xf32>, tensor<i32>, tensor<i32>, tensor<i32>) -> tensor<2x5x8xf32>
    return %0 : tensor<2x5x8xf32>
  }
  func.func @f28(%arg0: tensor<2x5xf32>, %arg1: tensor<f32>) -> tensor<4x9xf32> {
    %0 = stablehlo.pad %arg0, %arg1, low = [1, 2], high = [1, 2], interior = [0, 0] {sdy.sharding_rule = #sdy.op_sharding_rule<([i, j], [])->([i, j]) {i=2, j=5} permutation={i, j}>} : (tensor<2x5xf32>, tensor<f32>) -> tensor<4x9xf32>
    return %0 : tensor<4x9xf32>
  }
  func.func @f29(%arg0: tensor<2x0xf32>) -> tensor<2x0xf32> {
    %0 = stablehlo.concatenate %arg0, dim = 1 {sdy.sharding_rule = #sdy.op_sharding_rule<([i, j])->([i, j]) {i=2, j=0} need_replication={j}>} : (tensor<2x0xf32>) -> tensor<2x0xf32>
    return %0 : tensor<2x0xf32>
  }
  func.func @f30(%arg0: tensor<1x1x3xf32>, %arg1: tensor<1x1x1x3xf32>) -> tensor<1x1x1xf32> {
    %0 = stablehlo.dot_general %arg0, %arg1, batching_dims = [1, 0] x [2, 0], contracting_dims = [2] x [3] {sdy.sharding_rule = #sdy.op_sharding_rule<([j, i, l], [j, k, i, l])->([i, j, k]) {i=1, j=1, k=1, l=3} reduction={l}>} : (tensor<1x1x3xf32>, tensor<1x1x1x3xf32>) -> tensor<1x1x1xf32>
    return %0 : tensor<1x1x1xf32>
  }
  func.func @f31(%arg0: tensor<1x2xf32>) -> tensor<1x2xf32> {
    %0 = stablehlo.concatenate %arg0, dim = 0 {sdy.sharding_rule = #sdy.op_sharding_rule<([i, j])->([i, j]) {i=1, j=2} need_replication={i}>} : (tensor<1x2xf32>) -> tensor<1x2xf32>
    return %0 : tensor<1x2xf32>
  }
  func.func @f32(%arg0: tensor<8x2xf32>, %arg1: tensor<8x0xf32>, %arg2: tensor<8x8xf32>) -> tensor<8x10xf32> {
    %0 = stablehlo.concatenate %arg0, %arg1, %arg2, dim = 1 {sdy.sharding_rule = #sdy.op_sharding_rule<([i, j], [i, j], [i, j])->([i, j]) {i=8, j=10} need_replication={j}>} : (tensor<8x2xf32>, tensor<8x0xf32>, tensor<8x8xf32>) -> tensor<8x10xf32>
    return %0 : tensor<8x10xf32>
  }
  func.func @f33(%arg0: tensor<8x4xf32>, %arg1: tensor<8x4xf32>) -> tensor<11x4xf32> {
    %0 = stablehlo.slice %arg0 [0:3, 0:4] {sdy.sharding_rule = #sdy.op_sharding_rule<([i, j])->([i, j]) {i=8, j=4} permutation={i}>} : (tensor<8x4xf32>) -> tensor<3x4xf32>
    %1 = stablehlo.concatenate %0, %arg1, dim = 0 {sdy.sharding_rule = #sdy.op_sharding_rule<([i, j], [i, j])->([i, j]) {i=11, j=4} need_replication={i}>} : (tensor<3x4xf32>, tensor<8x4xf32>) -> tensor<11x4xf32>
    return %1 : tensor<11x4xf32>
  }
  func.func @f34(%arg0: tensor<2x8x3x1xf32>, %arg1: tensor<3x1x2x8xf32>) -> tensor<1x2xf32> {
    %0 = stablehlo.dot_general %arg0, %arg1, batching_dims = [3, 0] x [1, 2], contracting_dims = [1, 2] x [3, 0] {sdy.sharding_rule = #sdy.op_sharding_rule<([j, k, l, i], [l, i, j, k])->([i, j]) {i=1, j=2, k=8, l=3} reduction={k, l}>} : (tensor<2x8x3x1xf32>, tensor<3x1x2x8xf32>) -> tensor<1x2xf32>
    return %0 : tensor<1x2xf32>
  }
  func.func @f35(%arg0: tensor<2xf32>, %arg1: tensor<8xf32>, %arg2: tensor<2xf32>) -> tensor<12xf32> {
    %0 = stablehlo.concatenate %arg0, %arg1, %arg2, dim = 0 {sdy.sharding_rule = #sdy.op_sharding_rule<([i], [i], [i])->([i]) {i=12} need_replication={i}>} : (tensor<2xf32>, tensor<8xf32>, tensor<2xf32>) -> tensor<12xf32>
    return %0 : tensor<12xf32>
  }
  func.func @f36(%arg0: tensor<8xf32>) -> tensor<8xf32> {
    %0 = stablehlo.transpose %arg0, dims = [0] {sdy.sharding_rule = #sdy.op_sharding_rule<([i])->([i]) {i=8}>} : (tensor<8xf32>) -> tensor<8xf32>
    return %0 : tensor<8xf32>
  }
  func.func @f37(%arg0: tensor<3x4xf32>, %arg1: tensor<4x5xf32>) -> tensor<3x5xf32> {
    %0 = stablehlo.dot %arg0, %arg1 {sdy.sharding_rule = #sdy.op_sharding_rule<([i, k], [k, j])->([i, j]) {i=3, j=5, k=4} reduction={k}>} : (tensor<3x4xf32>, tensor<4x5xf32>) -> tensor<3x5xf32>
    return %0 : tensor<3x5xf32>
  }
  func.func @f38(%arg0: tensor<1x1x2xf32>, %arg1: tensor<f32>) -> tensor<2x2x5xf32> {
    %0 = stablehlo.pad %arg0, %arg1, low = [1, 0, 0], high = [0, 1, 2], interior = [0, 0, 1] {sdy.sharding_rule = #sdy.op_sharding_rule<([i, j, k], [])->([i, j, k]) {i=1, j=1, k=2} permutation={i, j, k}>} : (tensor<1x1x2xf32>, tensor<f32>) -> tensor<2x2x5xf32>
    return %0 : tensor<2x2x5xf32>
  }
  func.func @f39(%arg0: tensor<f32>) -> tensor<f32> {
    %0 = stablehlo.slice %arg0 [] {sdy.sharding_rule = #sdy.op_sharding_rule<([])->([])>} : (tensor<f32>) -> tensor<f32>
    return %0 : tensor<f32>
  }
  func.func @f40(%arg0: tensor<f32>) -> tensor<f32> {
    %0 = stablehlo.broadcast_in_dim %arg0, dims = [] {sdy.sharding_rule = #sdy.op_sharding_rule<([])->([])>} : (tensor<f32>) -> tensor<f32>
    return %0 : tensor<f32>
  }
  func.func @f41(%arg0: tensor<1x2x5xf32>, %arg1: tensor<1x2x5xf32>, %arg2: tensor<i32>, %arg3: tensor<i32>, %arg4: tensor<i32>) -> tensor<1x2x5xf32> {
    %0 = stablehlo.dynamic_update_slice %arg0, %arg1, %arg2, %arg3, %arg4 {sdy.sharding_rule = #sdy.op_sharding_rule<([i, j, k], [i, j, k], [], [], [])->([i, j, k]) {i=1, j=2, k=5}>} : (tensor<1x2x5xf32>, tensor<1x2x5xf32>, tensor<i32>, tensor<i32>, tensor<i32>) -> tensor<1x2x5xf32>
    return %0 : tensor<1x2x5xf32>
  }
  func.func @f42(%arg0: tensor<1xf32>) -> tensor<1xf32> {
    %0 = stablehlo.reverse %arg0, dims = [0] {sdy.sharding_rule = #sdy.op_sharding_rule<([i])->([i]) {i=1} permutation={i}>} : tensor<1xf32>
    return %0 : tensor<1xf32>
  }
  func.func @f43(%arg0: tensor<8xf32>, %arg1: tensor<1xf32>, %arg2: tensor<0xf32>) -> tensor<9xf32> {
    %0 = stablehlo.concatenate %arg0, %arg1, %arg2, dim = 0 {sdy.sharding_rule = #sdy.op_sharding_rule<([i], [i], [i])->([i]) {i=9} need_replication={i}>} : (tensor<8xf32>, tensor<1xf32>, tensor<0xf32>) -> tensor<9xf32>
    return %0 : tensor<9xf32>
  }
  func.func @f44(%arg0: tensor<5xf32>, %arg1: tensor<f32>) -> tensor<6xf32> {
    %0 = stablehlo.pad %arg0, %arg1, low = [-1], high = [2], interior = [0] {sdy.sharding_rule = #sdy.op_sharding_rule<([i], [])->([i]) {i=5} permutation={i}>} : (tensor<5xf32>, tensor<f32>) -> tensor<6xf32>
    return %0 : tensor<6xf32>
  }
  func.func @f45(%arg0: tensor<8x4xf32>, %arg1: tensor<8x4xf32>) -> tensor<11x4xf32> {
    %0 = stablehlo.slice %arg0 [0:3, 0:4] {sdy.sharding_rule = #sdy.op_sharding_rule<([i, j])->([i, j]) {i=8, j=4} permutation={i}>} : (tensor<8x4xf32>) -> tensor<3x4xf32>
    %1 = stablehlo.concatenate %0, %arg1, dim = 0 {sdy.sharding_rule = #sdy.op_sharding_rule<([i, j], [i, j])->([i, j]) {i=11, j=4} need_replication={i}>} : (tensor<3x4xf32>, tensor<8x4xf32>) -> tensor<11x4xf32>
    return %1 : tensor<11x4xf32>
  }
  func.func @f46(%arg0: tensor<4xf32>, %arg1: tensor<0x4xi32>, %arg2: tensor<4xf32>) -> tensor<4xf32> {
    %0 = "stablehlo.scatter"(%arg0, %arg1, %arg2) <{indices_are_sorted = false, scatter_dimension_numbers = #stablehlo.scatter<input_batching_dims = [0], scatter_indices_batching_dims = [1]>, unique_indices = false}> ({
    ^bb0(%arg3: tensor<f32>, %arg4: tensor<f32>):
      %1 = stablehlo.add %arg3, %arg4 {sdy.sharding_rule = #sdy.op_sharding_rule<([], [])->([])>} : tensor<f32>
      stablehlo.return %1 : tensor<f32>
    }) {sdy.sharding_rule = #sdy.op_sharding_rule<([i], [j, i], [i])->([i]) {i=4, j=0} need_replication={j}>} : (tensor<4xf32>, tensor<0x4xi32>, tensor<4xf32>) -> tensor<4xf32>
    return %0 : tensor<4xf32>
  }
  func.func @f47(%arg0: tensor<8x1xf32>, %arg1: tensor<8x1xf32>) -> tensor<16x1xf32> {
    %0 = stablehlo.concatenate %arg0, %arg1, dim = 0 {sdy.sharding_rule = #sdy.op_sharding_rule<([i, j], [i, j])->([i, j]) {i=16, j=1} need_replication={i}>} : (tensor<8x1xf32>, tensor<8x1xf32>) -> tensor<16x1xf32>
    return %0 : tensor<16x1xf32>
  }
  func.func @f48(%arg0: tensor<1xf32>) -> tensor<1xf32> {
    %0 = stablehlo.transpose %arg0, dims = [0] {sdy.sharding_rule = #sdy.op_sharding_rule<([i])->([i]) {i=1}>} : (tensor<1xf32>) -> tensor<1xf32>
    return %0 : tensor<1xf32>
  }
  func.func @f49(%arg0: tensor<1x1x1xf32>, %arg1: tensor<1x32x32xf32>) -> tensor<1x1x1x32x32xf32> {
    %0 = stablehlo.dot_general %arg0, %arg1, batching_dims = [1] x [0], contracting_dims = [] x [] {sdy.sharding_rule = #sdy.op_sharding_rule<([j, i, k], [i, l, m])->([i, j, k, l, m]) {i=1, j=1, k=1, l=32, m=32}>} : (tensor<1x1x1xf32>, tensor<1x32x32xf32>) -> tensor<1x1x1x32x32xf32>
    return %0 : tensor<1x1x1x32x32xf32>
  }
  func.func @f50(%arg0: tensor<8x5xf32>, %arg1: tensor<f32>) -> tensor<8x6xf32> {
    %0 = stablehlo.pad %arg0, %arg1, low = [0, -1], high = [0, 2], interior = [0, 0] {sdy.sharding_rule = #sdy.op_sharding_rule<([i, j], [])->([i, j]) {i=8, j=5} permutation={j}>} : (tensor<8x5xf32>, tensor<f32>) -> tensor<8x6xf32>
    return %0 : tensor<8x6xf32>
  }
  func.func @f51(%arg0: tensor<2x1x1xf32>, %arg1: tensor<f32>) -> tensor<6x2x1xf32> {
    %0 = stablehlo.pad %arg0, %arg1, low = [2, 0, 0], high = [2, 1, 0], interior = [0, 0, 1] {sdy.sharding_rule = #sdy.op_sharding_rule<([i, j, k], [])->([i, j, k]) {i=2, j=1, k=1} permutation={i, j}>} : (tensor<2x1x1xf32>, tensor<f32>) -> tensor<6x2x1xf32>
    return %0 : tensor<6x2x1xf32>
  }
  func.func @f52(%arg0: tensor<3x4xf32>, %arg1: tensor<4xf32>) -> tensor<3xf32> {
    %0 = stablehlo.dot %arg0, %arg1 {sdy.sharding_rule = #sdy.op_sharding_rule<([i, j], [j])->([i]) {i=3, j=4} reduction={j}>} : (tensor<3x4xf32>, tensor<4xf32>) -> tensor<3xf32>
    return %0 : tensor<3xf32>
  }
  func.func @f53(%arg0: tensor<3x4xf32>, %arg1: tensor<4x5xf32>) -> tensor<3x5xf32> {
    %0 = stablehlo.dot %arg0, %arg1 {sdy.sharding_rule = #sdy.op_sharding_rule<([i, k], [k, j])->([i, j]) {i=3, j=5, k=4} reduction={k}>} : (tensor<3x4xf32>, tensor<4x5xf32>) -> tensor<3x5xf32>
    return %0 : tensor<3x5xf32>
  }
  func.func @f54(%arg0: tensor<1x2xf32>, %arg1: tensor<f32>) -> tensor<1x4xf32> {
    %0 = stablehlo.pad %arg0, %arg1, low = [0, 2], high = [0, 0], interior = [0, 0] {sdy.sharding_rule = #sdy.op_sharding_rule<([i, j], [])->([i, j]) {i=1, j=2} permutation={j}>} : (tensor<1x2xf32>, tensor<f32>) -> tensor<1x4xf32>
    return %0 : tensor<1x4xf32>
  }
  func.func @f55(%arg0: tensor<2xf32>) -> tensor<2xf32> {
    %0 = stablehlo.transpose %arg0, dims = [0] {sdy.sharding_rule = #sdy.op_sharding_rule<([i])->([i]) {i=2}>} : (tensor<2xf32>) -> tensor<2xf32>
    return %0 : tensor<2xf32>
  }
  func.func @f56(%arg0: tensor<2x16x3xf32>) -> tensor<2x6x8x1xf32> {
    %0 = stablehlo.reshape %arg0 {sdy.sharding_rule = #sdy.op_sharding_rule<([i, jk, o])->([i, jl, m, n]) {i=2, j=2, k=8, l=3, m=8, n=1, o=3}>} : (tensor<2x16x3xf32>) -> tensor<2x6x8x1xf32>
    return %0 : tensor<2x6x8x1xf32>
  }
  func.func @f57(%arg0: tensor<1x96xf32>) -> tensor<4x1x24xf32> {
    %0 = stablehlo.reshape %arg0 {sdy.sharding_rule = #sdy.op_sharding_rule<([i, jl])->([j, k, l]) {i=1, j=4, k=1, l=24}>} : (tensor<1x96xf32>) -> tensor<4x1x24xf32>
    return %0 : tensor<4x1x24xf32>
  }
  func.func @f58(%arg0: tensor<1xf32>) -> tensor<2x2x2xf32> {
    %0 = stablehlo.broadcast_in_dim %arg0, dims = [0] {sdy.sharding_rule = #sdy.op_sharding_rule<([i])->([j, k, l]) {i=1, j=2, k=2, l=2}>} : (tensor<1xf32>) -> tensor<2x2x2xf32>
    return %0 : tensor<2x2x2xf32>
  }
  func.func @f59(%arg0: tensor<5x1x8xf32>, %arg1: tensor<f32>) -> tensor<9x3x17xf32> {
    %0 = stablehlo.pad %arg0, %arg1, low = [0, 2, 2], high = [0, 0, 0], interior = [1, 1, 1] {sdy.sharding_rule = #sdy.op_sharding_rule<([i, j, k], [])->([i, j, k]) {i=5, j=1, k=8} permutation={i, j, k}>} : (tensor<5x1x8xf32>, tensor<f32>) -> tensor<9x3x17xf32>
    return %0 : tensor<9x3x17xf32>
  }
  func.func @f60(%arg0: tensor<8x4xf32>, %arg1: tensor<8x4xf32>) -> tensor<6x4xf32> {
    %0 = stablehlo.slice %arg0 [0:3, 0:4] {sdy.sharding_rule = #sdy.op_sharding_rule<([i, j])->([i, j]) {i=8, j=4} permutation={i}>} : (tensor<8x4xf32>) -> tensor<3x4xf32>
    %1 = stablehlo.slice %arg1 [5:8, 0:4] {sdy.sharding_rule = #sdy.op_sharding_rule<([i, j])->([i, j]) {i=8, j=4} permutation={i}>} : (tensor<8x4xf32>) -> tensor<3x4xf32>
    %2 = stablehlo.concatenate %1, %0, dim = 0 {sdy.sharding_rule = #sdy.op_sharding_rule<([i, j], [i, j])->([i, j]) {i=6, j=4} permutation={i}>} : (tensor<3x4xf32>, tensor<3x4xf32>) -> tensor<6x4xf32>
    return %2 : tensor<6x4xf32>
  }
  func.func @f61(%arg0: tensor<1xf32>, %arg1: tensor<1x5xf32>) -> tensor<5xf32> {
    %0 = stablehlo.dot %arg0, %arg1 {sdy.sharding_rule = #sdy.op_sharding_rule<([j], [j, i])->([i]) {i=5, j=1} reduction={j}>} : (tensor<1xf32>, tensor<1x5xf32>) -> tensor<5xf32>
    return %0 : tensor<5xf32>
  }
  func.func @f62(%arg0: tensor<2x1x1xf32>) -> tensor<1x2x1xf32> {
    %0 = stablehlo.broadcast_in_dim %arg0, dims = [1, 0, 2] {sdy.sharding_rule = #sdy.op_sharding_rule<([j, i, k])->([i, j, k]) {i=1, j=2, k=1}>} : (tensor<2x1x1xf32>) -> tensor<1x2x1xf32>
    return %0 : tensor<1x2x1xf32>
  }
  func.func @f63(%arg0: tensor<5xf32>) -> tensor<1x5x1x1xf32> {
    %0 = stablehlo.reshape %arg0 {sdy.sharding_rule = #sdy.op_sharding_rule<([j])->([i, j, k, l]) {i=1, j=5, k=1, l=1}>} : (tensor<5xf32>) -> tensor<1x5x1x1xf32>
    return %0 : tensor<1x5x1x1xf32>
  }
  func.func @f64(%arg0: tensor<1x1xf32>) -> tensor<1x1xf32> {
    %0 = stablehlo.broadcast_in_dim %arg0, dims = [0, 1] {sdy.sharding_rule = #sdy.op_sharding_rule<([i, j])->([i, j]) {i=1, j=1}>} : (tensor<1x1xf32>) -> tensor<1x1xf32>
    return %0 : tensor<1x1xf32>
  }
  func.func @f65(%arg0: tensor<16x1x6xf32>) -> tensor<1x16x6xf32> {
    %0 = stablehlo.reshape %arg0 {sdy.sharding_rule = #sdy.op_sharding_rule<([j, k, l])->([i, j, l]) {i=1, j=16, k=1, l=6}>} : (tensor<16x1x6xf32>) -> tensor<1x16x6xf32>
    return %0 : tensor<1x16x6xf32>
  }
  func.func @f66(%arg0: tensor<1xf32>) -> tensor<0xf32> {
    %0 = stablehlo.slice %arg0 [1:1] {sdy.sharding_rule = #sdy.op_sharding_rule<([i])->([i]) {i=1} permutation={i}>} : (tensor<1xf32>) -> tensor<0xf32>
    return %0 : tensor<0xf32>
  }
  func.func @f67(%arg0: tensor<1x4xf32>) -> tensor<4x8x1xf32> {
    %0 = stablehlo.broadcast_in_dim %arg0, dims = [2, 0] {sdy.sharding_rule = #sdy.op_sharding_rule<([k, i])->([i, j, k]) {i=4, j=8, k=1}>} : (tensor<1x4xf32>) -> tensor<4x8x1xf32>
    return %0 : tensor<4x8x1xf32>
  }
  func.func @f68(%arg0: tensor<6xf32>, %arg1: tensor<1xi32>) -> tensor<1xf32> {
    %0 = "stablehlo.gather"(%arg0, %arg1) <{dimension_numbers = #stablehlo.gather<collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>, indices_are_sorted = false, slice_sizes = array<i64: 1>}> {sdy.sharding_rule = #sdy.op_sharding_rule<([j], [i])->([i]) {i=1, j=6} reduction={j}>} : (tensor<6xf32>, tensor<1xi32>) -> tensor<1xf32>
    return %0 : tensor<1xf32>
  }
  func.func @f69(%arg0: tensor<2xf32>, %arg1: tensor<2xf32>) -> tensor<4xf32> {
    %0 = stablehlo.concatenate %arg0, %arg1, dim = 0 {sdy.sharding_rule = #sdy.op_sharding_rule<([i], [i])->([i]) {i=4} need_replication={i}>} : (tensor<2xf32>, tensor<2xf32>) -> tensor<4xf32>
    return %0 : tensor<4xf32>
  }
  func.func @f70(%arg0: tensor<12x1xf32>) -> tensor<2x6xf32> {
    %0 = stablehlo.reshape %arg0 {sdy.sharding_rule = #sdy.op_sharding_rule<([ij, k])->([i, j]) {i=2, j=6, k=1}>} : (tensor<12x1xf32>) -> tensor<2x6xf32>
    return %0 : tensor<2x6xf32>
  }
  func.func @f71(%arg0: tensor<8x4xf32>, %arg1: tensor<8x4xf32>) -> tensor<11x4xf32> {
    %0 = stablehlo.slice %arg0 [0:3, 0:4] {sdy.sharding_rule = #sdy.op_sharding_rule<([i, j])->([i, j]) {i=8, j=4} permutation={i}>} : (tensor<8x4xf32>) -> tensor<3x4xf32>
    %1 = stablehlo.concatenate %0, %arg1, dim = 0 {sdy.sharding_rule = #sdy.op_sharding_rule<([i, j], [i, j])->([i, j]) {i=11, j=4} need_replication={i}>} : (tensor<3x4xf32>, tensor<8x4xf32>) -> tensor<11x4xf32>
    return %1 : tensor<11x4xf32>
  }
  func.func @f72(%arg0: tensor<2x1x12xf32>) -> tensor<24x1xf32> {
    %0 = stablehlo.reshape %arg0 {sdy.sharding_rule = #sdy.op_sharding_rule<([i, j, k])->([ik, l]) {i=2, j=1, k=12, l=1}>} : (tensor<2x1x12xf32>) -> tensor<24x1xf32>
    return %0 : tensor<24x1xf32>
  }
  func.func @f73(%arg0: tensor<1x2x8xf32>) -> tensor<8x1x2xf32> {
    %0 = stablehlo.transpose %arg0, dims = [2, 0, 1] {sdy.sharding_rule = #sdy.op_sharding_rule<([j, k, i])->([i, j, k]) {i=8, j=1, k=2}>} : (tensor<1x2x8xf32>) -> tensor<8x1x2xf32>
    return %0 : tensor<8x1x2xf32>
  }
  func.func @f74(%arg0: tensor<f32>) -> tensor<8xf32> {
    %0 = stablehlo.broadcast_in_dim %arg0, dims = [] {sdy.sharding_rule = #sdy.op_sharding_rule<([])->([i]) {i=8}>} : (tensor<f32>) -> tensor<8xf32>
    return %0 : tensor<8xf32>
  }
  func.func @f75(%arg0: tensor<1xf32>) -> tensor<1xf32> {
    %0 = stablehlo.reverse %arg0, dims = [] {sdy.sharding_rule = #sdy.op_sharding_rule<([i])->([i]) {i=1}>} : tensor<1xf32>
    return %0 : tensor<1xf32>
  }
  func.func @f76(%arg0: tensor<8x8xf32>) -> tensor<8x8xf32> {
    %0 = stablehlo.slice %arg0 [0:8, 0:8] {sdy.sharding_rule = #sdy.op_sharding_rule<([i, j])->([i, j]) {i=8, j=8}>} : (tensor<8x8xf32>) -> tensor<8x8xf32>
    return %0 : tensor<8x8xf32>
  }
  func.func @f77(%arg0: tensor<3x2x3xf32>) -> tensor<3x2x3xf32> {
    %0 = stablehlo.reverse %arg0, dims = [0, 2] {sdy.sharding_rule = #sdy.op_sharding_rule<([i, j, k])->([i, j, k]) {i=3, j=2, k=3} permutation={i, k}>} : tensor<3x2x3xf32>
    return %0 : tensor<3x2x3xf32>
  }
  func.func @f78(%arg0: tensor<8x5xf32>, %arg1: tensor<8x2xf32>, %arg2: tensor<i32>, %arg3: tensor<i32>) -> tensor<8x5xf32> {
    %0 = stablehlo.dynamic_update_slice %arg0, %arg1, %arg2, %arg3 {sdy.sharding_rule = #sdy.op_sharding_rule<([i, j], [i, k], [], [])->([i, j]) {i=8, j=5, k=2} need_replication={k}>} : (tensor<8x5xf32>, tensor<8x2xf32>, tensor<i32>, tensor<i32>) -> tensor<8x5xf32>
    return %0 : tensor<8x5xf32>
  }
  func.func @f79(%arg0: tensor<f32>) -> tensor<8xf32> {
    %0 = stablehlo.broadcast_in_dim %arg0, dims = [] {sdy.sharding_rule = #sdy.op_sharding_rule<([])->([i]) {i=8}>} : (tensor<f32>) -> tensor<8xf32>
    return %0 : tensor<8xf32>
  }
  func.func @f80(%arg0: tensor<2x5xf32>, %arg1: tensor<2x5xi32>, %arg2: tensor<f32>, %arg3: tensor<i32>) -> (tensor<2xf32>, tensor<2xi32>) {
    %0:2 = stablehlo.reduce(%arg0 init: %arg2), (%arg1 init: %arg3) across dimensions = [1] {sdy.sharding_rule = #sdy.op_sharding_rule<([i, j], [i, j], [], [])->([i], [i]) {i=2, j=5} reduction={j}>} : (tensor<2x5xf32>, tensor<2x5xi32>, tensor<f32>, tensor<i32>) -> (tensor<2xf32>, tensor<2xi32>)
     reducer(%arg4: tensor<f32>, %arg6: tensor<f32>) (%arg5: tensor<i32>, %arg7: tensor<i32>)  {
      %1 = stablehlo.add %arg4, %arg6 {sdy.sharding_rule = #sdy.op_sharding_rule<([], [])->([])>} : tensor<f32>
      %2 = stablehlo.maximum %arg5, %arg7 {sdy.sharding_rule = #sdy.op_sharding_rule<([], [])->([])>} : tensor<i32>
      stablehlo.return %1, %2 : tensor<f32>, tensor<i32>
    }
    return %0#0, %0#1 : tensor<2xf32>, tensor<2xi32>
  }
  func.func @f81(%arg0: tensor<2xf32>, %arg1: tensor<2xf32>, %arg2: tensor<i32>) -> tensor<2xf32> {
    %0 = stablehlo.dynamic_update_slice %arg0, %arg1, %arg2 {sdy.sharding_rule = #sdy.op_sharding_rule<([i], [i], [])->([i]) {i=2}>} : (tensor<2xf32>, tensor<2xf32>, tensor<i32>) -> tensor<2xf32>
    return %0 : tensor<2xf32>
  }
  func.func @f82(%arg0: tensor<2x8x1xf32>, %arg1: tensor<2x5x1xf32>, %arg2: tensor<i32>, %arg3: tensor<i32>, %arg4: tensor<i32>) -> tensor<2x8x1xf32> {
    %0 = stablehlo.dynamic_update_slice %arg0, %arg1, %arg2, %arg3, %arg4 {sdy.sharding_rule = #sdy.op_sharding_rule<([i, j, l], [i, k, l], [], [], [])->([i, j, l]) {i=2, j=8, k=5, l=1} need_replication={k}>} : (tensor<2x8x1xf32>, tensor<2x5x1xf32>, tensor<i32>, tensor<i32>, tensor<i32>) -> tensor<2x8x1xf32>
    return %0 : tensor<2x8x1xf32>
  }
  func.func @f83(%arg0: tensor<1x2x8x5xf32>, %arg1: tensor<f32>) -> tensor<f32> {
    %0 = stablehlo.reduce(%arg0 init: %arg1) applies stablehlo.add across dimensions = [0, 1, 2, 3] {sdy.sharding_rule = #sdy.op_sharding_rule<([i, j, k, l], [])->([]) {i=1, j=2, k=8, l=5} reduction={i, j, k, l}>} : (tensor<1x2x8x5xf32>, tensor<f32>) -> tensor<f32>
    return %0 : tensor<f32>
  }
  func.func @f84(%arg0: tensor<2x3x2xf32>) -> tensor<1x12xf32> {
    %0 = stablehlo.reshape %arg0 {sdy.sharding_rule = #sdy.op_sharding_rule<([j, k, l])->([i, jkl]) {i=1, j=2, k=3, l=2}>} : (tensor<2x3x2xf32>) -> tensor<1x12xf32>
    return %0 : tensor<1x12xf32>
  }
  func.func @f85(%arg0: tensor<4xf32>, %arg1: tensor<4xi32>, %arg2: tensor<4x0x2x2xi32>, %arg3: tensor<4x2x2xf32>, %arg4: tensor<4x2x2xi32>) -> (tensor<4xf32>, tensor<4xi32>) {
    %0:2 = "stablehlo.scatter"(%arg0, %arg1, %arg2, %arg3, %arg4) <{indices_are_sorted = false, scatter_dimension_numbers = #stablehlo.scatter<input_batching_dims = [0], scatter_indices_batching_dims = [0], index_vector_dim = 1>, unique_indices = false}> ({
    ^bb0(%arg5: tensor<f32>, %arg6: tensor<i32>, %arg7: tensor<f32>, %arg8: tensor<i32>):
      %1 = stablehlo.maximum %arg5, %arg7 {sdy.sharding_rule = #sdy.op_sharding_rule<([], [])->([])>} : tensor<f32>
      %2 = stablehlo.maximum %arg6, %arg8 {sdy.sharding_rule = #sdy.op_sharding_rule<([], [])->([])>} : tensor<i32>
      stablehlo.return %1, %2 : tensor<f32>, tensor<i32>
    }) {sdy.sharding_rule = #sdy.op_sharding_rule<([i], [i], [i, l, j, k], [i, j, k], [i, j, k])->([i], [i]) {i=4, j=2, k=2, l=0} reduction={j, k} need_replication={l}>} : (tensor<4xf32>, tensor<4xi32>, tensor<4x0x2x2xi32>, tensor<4x2x2xf32>, tensor<4x2x2xi32>) -> (tensor<4xf32>, tensor<4xi32>)
    return %0#0, %0#1 : tensor<4xf32>, tensor<4xi32>
  }
  func.func @f86(%arg0: tensor<8x5xf32>, %arg1: tensor<2x5xf32>, %arg2: tensor<i32>, %arg3: tensor<i32>) -> tensor<8x5xf32> {
    %0 = stablehlo.dynamic_update_slice %arg0, %arg1, %arg2, %arg3 {sdy.sharding_rule = #sdy.op_sharding_rule<([i, k], [j, k], [], [])->([i, k]) {i=8, j=2, k=5} need_replication={j}>} : (tensor<8x5xf32>, tensor<2x5xf32>, tensor<i32>, tensor<i32>) -> tensor<8x5xf32>
    return %0 : tensor<8x5xf32>
  }
  func.func @f87(%arg0: tensor<8x1xf32>) -> tensor<8x1xf32> {
    %0 = stablehlo.concatenate %arg0, dim = 0 {sdy.sharding_rule = #sdy.op_sharding_rule<([i, j])->([i, j]) {i=8, j=1} need_replication={i}>} : (tensor<8x1xf32>) -> tensor<8x1xf32>
    return %0 : tensor<8x1xf32>
  }
  func.func @f88(%arg0: tensor<2xf32>, %arg1: tensor<f32>) -> tensor<2xf32> {
    %0 = stablehlo.reduce(%arg0 init: %arg1) applies stablehlo.add across dimensions = [] {sdy.sharding_rule = #sdy.op_sharding_rule<([i], [])->([i]) {i=2}>} : (tensor<2xf32>, tensor<f32>) -> tensor<2xf32>
    return %0 : tensor<2xf32>
  }
  func.func @f89(%arg0: tensor<2x1x16x3x3x16xf32>, %arg1: tensor<1x3x1x2x3xf32>) -> tensor<2x1x16x16x1xf32> {
    %0 = stablehlo.dot_general %arg0, %arg1, batching_dims = [0, 1] x [3, 2], contracting_dims = [3, 4] x [4, 1] {sdy.sharding_rule = #sdy.op_sharding_rule<([i, j, k, n, o, l], [m, o, j, i, n])->([i, j, k, l, m]) {i=2, j=1, k=16, l=16, m=1, n=3, o=3} reduction={n, o}>} : (tensor<2x1x16x3x3x16xf32>, tensor<1x3x1x2x3xf32>) -> tensor<2x1x16x16x1xf32>
    return %0 : tensor<2x1x16x16x1xf32>
  }
  func.func @f90(%arg0: tensor<1x3x1xf32>) -> tensor<1x3x1xf32> {
    %0 = stablehlo.reverse %arg0, dims = [] {sdy.sharding_rule = #sdy.op_sharding_rule<([i, j, k])->([i, j, k]) {i=1, j=3, k=1}>} : tensor<1x3x1xf32>
    return %0 : tensor<1x3x1xf32>
  }
  func.func @f91(%arg0: tensor<1xf32>) -> tensor<1xf32> {
    %0 = stablehlo.slice %arg0 [0:1] {sdy.sharding_rule = #sdy.op_sharding_rule<([i])->([i]) {i=1}>} : (tensor<1xf32>) -> tensor<1xf32>
    return %0 : tensor<1xf32>
  }
  func.func @f92(%arg0: tensor<1x2x2x1xf32>, %arg1: tensor<2x2xi32>) -> tensor<1x2x2xf32> {
    %0 = "stablehlo.gather"(%arg0, %arg1) <{dimension_numbers = #stablehlo.gather<offset_dims = [0, 2], collapsed_slice_dims = [3], operand_batching_dims = [1], start_indices_batching_dims = [1], start_index_map = [0, 2]>, indices_are_sorted = false, slice_sizes = array<i64: 1, 1, 2, 1>}> {sdy.sharding_rule = #sdy.op_sharding_rule<([i, j, k, l], [m, j])->([i, j, k]) {i=1, j=2, k=2, l=1, m=2} need_replication={l, m}>} : (tensor<1x2x2x1xf32>, tensor<2x2xi32>) -> tensor<1x2x2xf32>
    return %0 : tensor<1x2x2xf32>
  }
  func.func @f93(%arg0: tensor<8x4xf32>, %arg1: tensor<8x4xf32>) -> tensor<6x4xf32> {
    %0 = stablehlo.slice %arg0 [0:3, 0:4] {sdy.sharding_rule = #sdy.op_sharding_rule<([i, j])->([i, j]) {i=8, j=4} permutation={i}>} : (tensor<8x4xf32>) -> tensor<3x4xf32>
    %1 = stablehlo.slice %arg1 [5:8, 0:4] {sdy.sharding_rule = #sdy.op_sharding_rule<([i, j])->([i, j]) {i=8, j=4} permutation={i}>} : (tensor<8x4xf32>) -> tensor<3x4xf32>
    %2 = stablehlo.concatenate %1, %0, dim = 0 {sdy.sharding_rule = #sdy.op_sharding_rule<([i, j], [i, j])->([i, j]) {i=6, j=4} permutation={i}>} : (tensor<3x4xf32>, tensor<3x4xf32>) -> tensor<6x4xf32>
    return %2 : tensor<6x4xf32>
  }
  func.func @f94(%arg0: tensor<2xf32>, %arg1: tensor<2x2x0xi32>) -> tensor<2x2xf32> {
    %0 = "stablehlo.gather"(%arg0, %arg1) <{dimension_numbers = #stablehlo.gather<operand_batching_dims = [0], start_indices_batching_dims = [0], index_vector_dim = 2>, indices_are_sorted = false, slice_sizes = array<i64: 1>}> {sdy.sharding_rule = #sdy.op_sharding_rule<([i], [i, j, k])->([i, j]) {i=2, j=2, k=0} need_replication={k}>} : (tensor<2xf32>, tensor<2x2x0xi32>) -> tensor<2x2xf32>
    return %0 : tensor<2x2xf32>
  }
  func.func @f95(%arg0: tensor<1xf32>, %arg1: tensor<1x5xf32>) -> tensor<5xf32> {
    %0 = stablehlo.dot %arg0, %arg1 {sdy.sharding_rule = #sdy.op_sharding_rule<([j], [j, i])->([i]) {i=5, j=1} reduction={j}>} : (tensor<1xf32>, tensor<1x5xf32>) -> tensor<5xf32>
    return %0 : tensor<5xf32>
  }
  func.func @f96(%arg0: tensor<1x1x5xf32>) -> tensor<1x1x5xf32> {
    %0 = stablehlo.slice %arg0 [0:1, 0:1, 0:5] {sdy.sharding_rule = #sdy.op_sharding_rule<([i, j, k])->([i, j, k]) {i=1, j=1, k=5}>} : (tensor<1x1x5xf32>) -> tensor<1x1x5xf32>
    return %0 : tensor<1x1x5xf32>
  }
  func.func @f97(%arg0: tensor<8x4xf32>, %arg1: tensor<8x4xf32>) -> tensor<6x4xf32> {
    %0 = stablehlo.slice %arg0 [0:3, 0:4] {sdy.sharding_rule = #sdy.op_sharding_rule<([i, j])->([i, j]) {i=8, j=4} permutation={i}>} : (tensor<8x4xf32>) -> tensor<3x4xf32>
    %1 = stablehlo.slice %arg1 [5:8, 0:4] {sdy.sharding_rule = #sdy.op_sharding_rule<([i, j])->([i, j]) {i=8, j=4} permutation={i}>} : (tensor<8x4xf32>) -> tensor<3x4xf32>
    %2 = stablehlo.concatenate %1, %0, dim = 0 {sdy.sharding_rule = #sdy.op_sharding_rule<([i, j], [i, j])->([i, j]) {i=6, j=4} permutation={i}>} : (tensor<3x4xf32>, tensor<3x4xf32>) -> tensor<6x4xf32>
    return %2 : tensor<6x4xf32>
  }
  func.func @f98(%arg0: tensor<1x1xf32>) -> tensor<0x1xf32> {
    %0 = stablehlo.slice %arg0 [1:1:2, 0:1] {sdy.sharding_rule = #sdy.op_sharding_rule<([i, j])->([i, j]) {i=1, j=1} permutation={i}>} : (tensor<1x1xf32>) -> tensor<0x1xf32>
    return %0 : tensor<0x1xf32>
  }
  func.func @f99(%arg0: tensor<0x8xf32>, %arg1: tensor<2x8xf32>, %arg2: tensor<8x8xf32>) -> tensor<10x8xf32> {
    %0 = stablehlo.concatenate %arg0, %arg1, %arg2, dim = 0 {sdy.sharding_rule = #sdy.op_sharding_rule<([i, j], [i, j], [i, j])->([i, j]) {i=10, j=8} need_replication={i}>} : (tensor<0x8xf32>, tensor<2x8xf32>, tensor<8x8xf32>) -> tensor<10x8xf32>
    return %0 : tensor<10x8xf32>
  }
  func.func @f100(%arg0: tensor<8x4xf32>, %arg1: tensor<8x4xf32>) -> tensor<6x4xf32> {
    %0 = stablehlo.slice %arg0 [0:3, 0:4] {sdy.sharding_rule = #sdy.op_sharding_rule<([i, j])->([i, j]) {i=8, j=4} permutation={i}>} : (tensor<8x4xf32>) -> tensor<3x4xf32>
    %1 = stablehlo.slice %arg1 [5:8, 0:4] {sdy.sharding_rule = #sdy.op_sharding_rule<([i, j])->([i, j]) {i=8, j=4} permutation={i}>} : (tensor<8x4xf32>) -> tensor<3x4xf32>
    %2 = stablehlo.concatenate %1, %0, dim = 0 {sdy.sharding_rule = #sdy.op_sharding_rule<([i, j], [i, j])->([i, j]) {i=6, j=4} permutation={i}>} : (tensor<3x4xf32>, tensor<3x4xf32>) -> tensor<6x4xf32>
    return %2 : tensor<6x4xf32>
  }
  func.func @f101(%arg0: tensor<1x2xf32>, %arg1: tensor<i32>, %arg2: tensor<i32>) -> tensor<1x2xf32> {
    %0 = stablehlo.dynamic_slice %arg0, %arg1, %arg2, sizes = [1, 2] {sdy.sharding_rule = #sdy.op_sharding_rule<([i, j], [], [])->([i, j]) {i=1, j=2}>} : (tensor<1x2xf32>, tensor<i32>, tensor<i32>) -> tensor<1x2xf32>
    return %0 : tensor<1x2xf32>
  }
  func.func @f102(%arg0: tensor<1x8xf32>) -> tensor<1x8xf32> {
    %0 = stablehlo.transpose %arg0, dims = [0, 1] {sdy.sharding_rule = #sdy.op_sharding_rule<([i, j])->([i, j]) {i=1, j=8}>} : (tensor<1x8xf32>) -> tensor<1x8xf32>
    return %0 : tensor<1x8xf32>
  }
  func.func @f103(%arg0: tensor<8x2x1x8xf32>) -> tensor<2x8x8x1xf32> {
    %0 = stablehlo.transpose %arg0, dims = [1, 3, 0, 2] {sdy.sharding_rule = #sdy.op_sharding_rule<([k, i, l, j])->([i, j, k, l]) {i=2, j=8, k=8, l=1}>} : (tensor<8x2x1x8xf32>) -> tensor<2x8x8x1xf32>
    return %0 : tensor<2x8x8x1xf32>
  }
  func.func @f104(%arg0: tensor<1x1x1xf32>) -> tensor<1x1xf32> {
    %0 = stablehlo.reshape %arg0 {sdy.sharding_rule = #sdy.op_sharding_rule<([i, j, k])->([l, m]) {i=1, j=1, k=1, l=1, m=1}>} : (tensor<1x1x1xf32>) -> tensor<1x1xf32>
    return %0 : tensor<1x1xf32>
  }
  func.func @f105(%arg0: tensor<2xf32>, %arg1: tensor<1xi32>) -> tensor<f32> {
    %0 = "stablehlo.gather"(%arg0, %arg1) <{dimension_numbers = #stablehlo.gather<collapsed_slice_dims = [0], start_index_map = [0]>, indices_are_sorted = false, slice_sizes = array<i64: 1>}> {sdy.sharding_rule = #sdy.op_sharding_rule<([i], [j])->([]) {i=2, j=1} reduction={i} need_replication={j}>} : (tensor<2xf32>, tensor<1xi32>) -> tensor<f32>
    return %0 : tensor<f32>
  }
  func.func @f106(%arg0: tensor<1x2x8xf32>) -> tensor<1x2x8xf32> {
    %0 = stablehlo.concatenate %arg0, dim = 0 {sdy.sharding_rule = #sdy.op_sharding_rule<([i, j, k])->([i, j, k]) {i=1, j=2, k=8} need_replication={i}>} : (tensor<1x2x8xf32>) -> tensor<1x2x8xf32>
    return %0 : tensor<1x2x8xf32>
  }
  func.func @f107(%arg0: tensor<8x1x2xf32>, %arg1: tensor<f32>) -> tensor<10x5x4xf32> {
    %0 = stablehlo.pad %arg0, %arg1, low = [0, 2, 2], high = [2, 2, 0], interior = [0, 0, 0] {sdy.sharding_rule = #sdy.op_sharding_rule<([i, j, k], [])->([i, j, k]) {i=8, j=1, k=2} permutation={i, j, k}>} : (tensor<8x1x2xf32>, tensor<f32>) -> tensor<10x5x4xf32>
    return %0 : tensor<10x5x4xf32>
  }
  func.func @f108(%arg0: tensor<1xf32>, %arg1: tensor<8xf32>) -> tensor<9xf32> {
    %0 = stablehlo.concatenate %arg0, %arg1, dim = 0 {sdy.sharding_rule = #sdy.op_sharding_rule<([i], [i])->([i]) {i=9} need_replication={i}>} : (tensor<1xf32>, tensor<8xf32>) -> tensor<9xf32>
    return %0 : tensor<9xf32>
  }
  func.func @f109(%arg0: tensor<5xf32>, %arg1: tensor<f32>) -> tensor<7xf32> {
    %0 = stablehlo.pad %arg0, %arg1, low = [0], high = [2], interior = [0] {sdy.sharding_rule = #sdy.op_sharding_rule<([i], [])->([i]) {i=5} permutation={i}>} : (tensor<5xf32>, tensor<f32>) -> tensor<7xf32>
    return %0 : tensor<7xf32>
  }
  func.func @f110(%arg0: tensor<8xf32>) -> tensor<8xf32> {
    %0 = stablehlo.concatenate %arg0, dim = 0 {sdy.sharding_rule = #sdy.op_sharding_rule<([i])->([i]) {i=8} need_replication={i}>} : (tensor<8xf32>) -> tensor<8xf32>
    return %0 : tensor<8xf32>
  }
  func.func @f111(%arg0: tensor<f32>) -> tensor<f32> {
    %0 = stablehlo.broadcast_in_dim %arg0, dims = [] {sdy.sharding_rule = #sdy.op_sharding_rule<([])->([])>} : (tensor<f32>) -> tensor<f32>
    return %0 : tensor<f32>
  }
  func.func @f112(%arg0: tensor<1x5x1x1xf32>) -> tensor<5x1xf32> {
    %0 = stablehlo.reshape %arg0 {sdy.sharding_rule = #sdy.op_sharding_rule<([i, j, k, l])->([j, m]) {i=1, j=5, k=1, l=1, m=1}>} : (tensor<1x5x1x1xf32>) -> tensor<5x1xf32>
    return %0 : tensor<5x1xf32>
  }
  func.func @f113(%arg0: tensor<2x1x3xf32>) -> tensor<1x2x3xf32> {
    %0 = stablehlo.transpose %arg0, dims = [1, 0, 2] {sdy.sharding_rule = #sdy.op_sharding_rule<([j, i, k])->([i, j, k]) {i=1, j=2, k=3}>} : (tensor<2x1x3xf32>) -> tensor<1x2x3xf32>
    return %0 : tensor<1x2x3xf32>
  }
  func.func @f114(%arg0: tensor<6x4x1xf32>) -> tensor<24x1xf32> {
    %0 = stablehlo.reshape %arg0 {sdy.sharding_rule = #sdy.op_sharding_rule<([i, j, k])->([ij, l]) {i=6, j=4, k=1, l=1}>} : (tensor<6x4x1xf32>) -> tensor<24x1xf32>
    return %0 : tensor<24x1xf32>
  }
  func.func @f115(%arg0: tensor<1x1xf32>, %arg1: tensor<1x1x2xi32>) -> tensor<1x1x1x2xf32> {
    %0 = "stablehlo.gather"(%arg0, %arg1) <{dimension_numbers = #stablehlo.gather<offset_dims = [1], operand_batching_dims = [0], start_indices_batching_dims = [0], start_index_map = [1], index_vector_dim = 3>, indices_are_sorted = false, slice_sizes = array<i64: 1, 1>}> {sdy.sharding_rule = #sdy.op_sharding_rule<([i, j], [i, k, l])->([i, j, k, l]) {i=1, j=1, k=1, l=2}>} : (tensor<1x1xf32>, tensor<1x1x2xi32>) -> tensor<1x1x1x2xf32>
    return %0 : tensor<1x1x1x2xf32>
  }
  func.func @f116(%arg0: tensor<2x5x1xf32>, %arg1: tensor<i32>, %arg2: tensor<i32>, %arg3: tensor<i32>) -> tensor<2x4x1xf32> {
    %0 = stablehlo.dynamic_slice %arg0, %arg1, %arg2, %arg3, sizes = [2, 4, 1] {sdy.sharding_rule = #sdy.op_sharding_rule<([i, j, k], [], [], [])->([i, j, k]) {i=2, j=5, k=1} need_replication={j} blocked_propagation={j}>} : (tensor<2x5x1xf32>, tensor<i32>, tensor<i32>, tensor<i32>) -> tensor<2x4x1xf32>
    return %0 : tensor<2x4x1xf32>
  }
  func.func @f117(%arg0: tensor<1x1x5xf32>) -> tensor<0x1x5xf32> {
    %0 = stablehlo.slice %arg0 [1:1:3, 0:1, 0:5] {sdy.sharding_rule = #sdy.op_sharding_rule<([i, j, k])->([i, j, k]) {i=1, j=1, k=5} permutation={i}>} : (tensor<1x1x5xf32>) -> tensor<0x1x5xf32>
    return %0 : tensor<0x1x5xf32>
  }
  func.func @f118(%arg0: tensor<1xf32>, %arg1: tensor<1x1x3xi32>, %arg2: tensor<1x1x3xf32>) -> tensor<1xf32> {
    %0 = "stablehlo.scatter"(%arg0, %arg1, %arg2) <{indices_are_sorted = false, scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [1], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>, unique_indices = false}> ({
    ^bb0(%arg3: tensor<f32>, %arg4: tensor<f32>):
      %1 = stablehlo.add %arg3, %arg4 {sdy.sharding_rule = #sdy.op_sharding_rule<([], [])->([])>} : tensor<f32>
      stablehlo.return %1 : tensor<f32>
    }) {sdy.sharding_rule = #sdy.op_sharding_rule<([j], [i, l, k], [i, j, k])->([j]) {i=1, j=1, k=3, l=1} reduction={i, k} need_replication={l}>} : (tensor<1xf32>, tensor<1x1x3xi32>, tensor<1x1x3xf32>) -> tensor<1xf32>
    return %0 : tensor<1xf32>
  }
  func.func @f119(%arg0: tensor<2x8x1xf32>, %arg1: tensor<2x2x1xf32>) -> tensor<2x8x1xf32> {
    %c = stablehlo.constant dense<1> : tensor<i32>
    %0 = stablehlo.dynamic_update_slice %arg0, %arg1, %c, %c, %c {sdy.sharding_rule = #sdy.op_sharding_rule<([i, j, l], [i, k, l], [], [], [])->([i, j, l]) {i=2, j=8, k=2, l=1}>} : (tensor<2x8x1xf32>, tensor<2x2x1xf32>, tensor<i32>, tensor<i32>, tensor<i32>) -> tensor<2x8x1xf32>
    return %0 : tensor<2x8x1xf32>
  }
  func.func @f120(%arg0: tensor<2x1xf32>, %arg1: tensor<0x1xf32>) -> tensor<2x1xf32> {
    %0 = stablehlo.concatenate %arg0, %arg1, dim = 0 {sdy.sharding_rule = #sdy.op_sharding_rule<([i, j], [i, j])->([i, j]) {i=2, j=1} need_replication={i}>} : (tensor<2x1xf32>, tensor<0x1xf32>) -> tensor<2x1xf32>
    return %0 : tensor<2x1xf32>
  }
  func.func @f121(%arg0: tensor<8x1xf32>, %arg1: tensor<2x32x1x8xf32>) -> tensor<1x2x32xf32> {
    %0 = stablehlo.dot_general %arg0, %arg1, batching_dims = [1] x [2], contracting_dims = [0] x [3] {sdy.sharding_rule = #sdy.op_sharding_rule<([l, i], [j, k, i, l])->([i, j, k]) {i=1, j=2, k=32, l=8} reduction={l}>} : (tensor<8x1xf32>, tensor<2x32x1x8xf32>) -> tensor<1x2x32xf32>
    return %0 : tensor<1x2x32xf32>
  }
  func.func @f122(%arg0: tensor<1xf32>, %arg1: tensor<i32>) -> tensor<1xf32> {
    %0 = stablehlo.dynamic_slice %arg0, %arg1, sizes = [1] {sdy.sharding_rule = #sdy.op_sharding_rule<([i], [])->([i]) {i=1}>} : (tensor<1xf32>, tensor<i32>) -> tensor<1xf32>
    return %0 : tensor<1xf32>
  }
  func.func @f123(%arg0: tensor<3x4xf32>, %arg1: tensor<4x5xf32>) -> tensor<3x5xf32> {
    %0 = stablehlo.dot %arg0, %arg1 {sdy.sharding_rule = #sdy.op_sharding_rule<([i, k], [k, j])->([i, j]) {i=3, j=5, k=4} reduction={k}>} : (tensor<3x4xf32>, tensor<4x5xf32>) -> tensor<3x5xf32>
    return %0 : tensor<3x5xf32>
  }
  func.func @f124(%arg0: tensor<120x1x1xf32>) -> tensor<1x120xf32> {
    %0 = stablehlo.reshape %arg0 {sdy.sharding_rule = #sdy.op_sharding_rule<([j, k, l])->([i, j]) {i=1, j=120, k=1, l=1}>} : (tensor<120x1x1xf32>) -> tensor<1x120xf32>
    return %0 : tensor<1x120xf32>
  }
  func.func @f125(%arg0: tensor<2x2x4xf32>, %arg1: tensor<3xi32>, %arg2: tensor<2x1x3x4xf32>) -> tensor<2x2x4xf32> {
    %0 = "stablehlo.scatter"(%arg0, %arg1, %arg2) <{indices_are_sorted = false, scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [0, 1, 3], scatter_dims_to_operand_dims = [1], index_vector_dim = 1>, unique_indices = false}> ({
    ^bb0(%arg3: tensor<f32>, %arg4: tensor<f32>):
      %1 = stablehlo.subtract %arg3, %arg4 {sdy.sharding_rule = #sdy.op_sharding_rule<([], [])->([])>} : tensor<f32>
      stablehlo.return %1 : tensor<f32>
    }) {sdy.sharding_rule = #sdy.op_sharding_rule<([i, j, m], [l], [i, k, l, m])->([i, j, m]) {i=2, j=2, k=1, l=3, m=4} need_replication={j, k, l}>} : (tensor<2x2x4xf32>, tensor<3xi32>, tensor<2x1x3x4xf32>) -> tensor<2x2x4xf32>
    return %0 : tensor<2x2x4xf32>
  }
  func.func @f126(%arg0: tensor<8x4xf32>, %arg1: tensor<8x4xf32>) -> tensor<6x4xf32> {
    %0 = stablehlo.slice %arg0 [0:3, 0:4] {sdy.sharding_rule = #sdy.op_sharding_rule<([i, j])->([i, j]) {i=8, j=4} permutation={i}>} : (tensor<8x4xf32>) -> tensor<3x4xf32>
    %1 = stablehlo.slice %arg1 [5:8, 0:4] {sdy.sharding_rule = #sdy.op_sharding_rule<([i, j])->([i, j]) {i=8, j=4} permutation={i}>} : (tensor<8x4xf32>) -> tensor<3x4xf32>
    %2 = stablehlo.concatenate %1, %0, dim = 0 {sdy.sharding_rule = #sdy.op_sharding_rule<([i, j], [i, j])->([i, j]) {i=6, j=4} permutation={i}>} : (tensor<3x4xf32>, tensor<3x4xf32>) -> tensor<6x4xf32>
    return %2 : tensor<6x4xf32>
  }
  func.func @f127(%arg0: tensor<3x8x2xf32>) -> tensor<8x3x2xf32> {
    %0 = stablehlo.transpose %arg0, dims = [1, 0, 2] {sdy.sharding_rule = #sdy.op_sharding_rule<([j, i, k])->([i, j, k]) {i=8, j=3, k=2}>} : (tensor<3x8x2xf32>) -> tensor<8x3x2xf32>
    return %0 : tensor<8x3x2xf32>
  }
  func.func @f128(%arg0: tensor<3x2x16xf32>, %arg1: tensor<1x3xf32>) -> tensor<2x16x1xf32> {
    %0 = stablehlo.dot_general %arg0, %arg1, contracting_dims = [0] x [1] {sdy.sharding_rule = #sdy.op_sharding_rule<([l, i, j], [k, l])->([i, j, k]) {i=2, j=16, k=1, l=3} reduction={l}>} : (tensor<3x2x16xf32>, tensor<1x3xf32>) -> tensor<2x16x1xf32>
    return %0 : tensor<2x16x1xf32>
  }
  func.func @f129(%arg0: tensor<5x8xf32>, %arg1: tensor<f32>) -> tensor<5x9xf32> {
    %0 = stablehlo.pad %arg0, %arg1, low = [0, 0], high = [0, 1], interior = [0, 0] {sdy.sharding_rule = #sdy.op_sharding_rule<([i, j], [])->([i, j]) {i=5, j=8} permutation={j}>} : (tensor<5x8xf32>, tensor<f32>) -> tensor<5x9xf32>
    return %0 : tensor<5x9xf32>
  }
  func.func @f130(%arg0: tensor<2x4x4xf32>, %arg1: tensor<2x2xi32>) -> tensor<2x1xf32> {
    %0 = "stablehlo.gather"(%arg0, %arg1) <{dimension_numbers = #stablehlo.gather<offset_dims = [1], collapsed_slice_dims = [1], operand_batching_dims = [0], start_indices_batching_dims = [0], start_index_map = [2, 1], index_vector_dim = 1>, indices_are_sorted = false, slice_sizes = array<i64: 1, 1, 1>}> {sdy.sharding_rule = #sdy.op_sharding_rule<([i, l, j], [i, m])->([i, k]) {i=2, j=4, k=1, l=4, m=2} reduction={j, l} need_replication={k, m}>} : (tensor<2x4x4xf32>, tensor<2x2xi32>) -> tensor<2x1xf32>
    return %0 : tensor<2x1xf32>
  }
  func.func @f131(%arg0: tensor<1x1xf32>, %arg1: tensor<f32>) -> tensor<2x1xf32> {
    %0 = stablehlo.pad %arg0, %arg1, low = [1, 0], high = [0, 0], interior = [0, 1] {sdy.sharding_rule = #sdy.op_sharding_rule<([i, j], [])->([i, j]) {i=1, j=1} permutation={i}>} : (tensor<1x1xf32>, tensor<f32>) -> tensor<2x1xf32>
    return %0 : tensor<2x1xf32>
  }
  func.func @f132(%arg0: tensor<2x6x1x4xf32>, %arg1: tensor<2x6x1x4xi32>, %arg2: tensor<3x1x3xi32>, %arg3: tensor<6x1x3x1xf32>, %arg4: tensor<6x1x3x1xi32>) -> (tensor<2x6x1x4xf32>, tensor<2x6x1x4xi32>) {
    %0:2 = "stablehlo.scatter"(%arg0, %arg1, %arg2, %arg3, %arg4) <{indices_are_sorted = false, scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [0, 3], inserted_window_dims = [0, 3], scatter_dims_to_operand_dims = [0, 1, 2]>, unique_indices = false}> ({
    ^bb0(%arg5: tensor<f32>, %arg6: tensor<i32>, %arg7: tensor<f32>, %arg8: tensor<i32>):
      %1 = stablehlo.subtract %arg5, %arg7 {sdy.sharding_rule = #sdy.op_sharding_rule<([], [])->([])>} : tensor<f32>
      %2 = stablehlo.subtract %arg6, %arg8 {sdy.sharding_rule = #sdy.op_sharding_rule<([], [])->([])>} : tensor<i32>
      stablehlo.return %1, %2 : tensor<f32>, tensor<i32>
    }) {sdy.sharding_rule = #sdy.op_sharding_rule<([m, i, l, n], [m, i, l, n], [o, j, k], [i, j, k, l], [i, j, k, l])->([m, i, l, n], [m, i, l, n]) {i=6, j=1, k=3, l=1, m=2, n=4, o=3} need_replication={j, k, o}>} : (tensor<2x6x1x4xf32>, tensor<2x6x1x4xi32>, tensor<3x1x3xi32>, tensor<6x1x3x1xf32>, tensor<6x1x3x1xi32>) -> (tensor<2x6x1x4xf32>, tensor<2x6x1x4xi32>)
    return %0#0, %0#1 : tensor<2x6x1x4xf32>, tensor<2x6x1x4xi32>
  }
  func.func @f133(%arg0: tensor<8x1xf32>) -> tensor<8x1xf32> {
    %0 = stablehlo.concatenate %arg0, dim = 1 {sdy.sharding_rule = #sdy.op_sharding_rule<([i, j])->([i, j]) {i=8, j=1} need_replication={j}>} : (tensor<8x1xf32>) -> tensor<8x1xf32>
    return %0 : tensor<8x1xf32>
  }
  func.func @f134(%arg0: tensor<2x4xf32>, %arg1: tensor<2x4xi32>, %arg2: tensor<4x1x3xi32>, %arg3: tensor<4x1x1x3xf32>, %arg4: tensor<4x1x1x3xi32>) -> (tensor<2x4xf32>, tensor<2x4xi32>) {
    %0:2 = "stablehlo.scatter"(%arg0, %arg1, %arg2, %arg3, %arg4) <{indices_are_sorted = false, scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [1], input_batching_dims = [1], scatter_indices_batching_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 3>, unique_indices = false}> ({
    ^bb0(%arg5: tensor<f32>, %arg6: tensor<i32>, %arg7: tensor<f32>, %arg8: tensor<i32>):
      %1 = stablehlo.multiply %arg5, %arg7 {sdy.sharding_rule = #sdy.op_sharding_rule<([], [])->([])>} : tensor<f32>
      %2 = stablehlo.multiply %arg6, %arg8 {sdy.sharding_rule = #sdy.op_sharding_rule<([], [])->([])>} : tensor<i32>
      stablehlo.return %1, %2 : tensor<f32>, tensor<i32>
    }) {sdy.sharding_rule = #sdy.op_sharding_rule<([j, i], [j, i], [i, l, m], [i, k, l, m], [i, k, l, m])->([j, i], [j, i]) {i=4, j=2, k=1, l=1, m=3} reduction={l, m} need_replication={j, k}>} : (tensor<2x4xf32>, tensor<2x4xi32>, tensor<4x1x3xi32>, tensor<4x1x1x3xf32>, tensor<4x1x1x3xi32>) -> (tensor<2x4xf32>, tensor<2x4xi32>)
    return %0#0, %0#1 : tensor<2x4xf32>, tensor<2x4xi32>
  }
  func.func @f135(%arg0: tensor<1x2x2xf32>, %arg1: tensor<f32>) -> tensor<3x3x4xf32> {
    %0 = stablehlo.pad %arg0, %arg1, low = [2, 0, 2], high = [0, 0, 0], interior = [0, 1, 0] {sdy.sharding_rule = #sdy.op_sharding_rule<([i, j, k], [])->([i, j, k]) {i=1, j=2, k=2} permutation={i, j, k}>} : (tensor<1x2x2xf32>, tensor<f32>) -> tensor<3x3x4xf32>
    return %0 : tensor<3x3x4xf32>
  }
  func.func @f136(%arg0: tensor<4xf32>, %arg1: tensor<4xf32>) -> tensor<f32> {
    %0 = stablehlo.dot %arg0, %arg1 {sdy.sharding_rule = #sdy.op_sharding_rule<([i], [i])->([]) {i=4} reduction={i}>} : (tensor<4xf32>, tensor<4xf32>) -> tensor<f32>
    return %0 : tensor<f32>
  }
  func.func @f137(%arg0: tensor<3x2x8xf32>, %arg1: tensor<3x8xf32>) -> tensor<2xf32> {
    %0 = stablehlo.dot_general %arg0, %arg1, contracting_dims = [0, 2] x [0, 1] {sdy.sharding_rule = #sdy.op_sharding_rule<([j, i, k], [j, k])->([i]) {i=2, j=3, k=8} reduction={j, k}>} : (tensor<3x2x8xf32>, tensor<3x8xf32>) -> tensor<2xf32>
    return %0 : tensor<2xf32>
  }
  func.func @f138(%arg0: tensor<8x4xf32>, %arg1: tensor<8x4xf32>) -> tensor<16x4xf32> {
    %0 = stablehlo.slice %arg0 [0:3, 0:4] {sdy.sharding_rule = #sdy.op_sharding_rule<([i, j])->([i, j]) {i=8, j=4} permutation={i}>} : (tensor<8x4xf32>) -> tensor<3x4xf32>
    %1 = stablehlo.concatenate %arg0, %arg0, dim = 0 {sdy.sharding_rule = #sdy.op_sharding_rule<([i, j], [i, j])->([i, j]) {i=16, j=4} need_replication={i}>} : (tensor<8x4xf32>, tensor<8x4xf32>) -> tensor<16x4xf32>
    return %1 : tensor<16x4xf32>
  }
  func.func @f139(%arg0: tensor<2x3x4x1x1xf32>, %arg1: tensor<4x1x32x3xf32>) -> tensor<4x2x1x32xf32> {
    %0 = stablehlo.dot_general %arg0, %arg1, batching_dims = [2] x [0], contracting_dims = [1, 3] x [3, 1] {sdy.sharding_rule = #sdy.op_sharding_rule<([j, m, i, n, k], [i, n, l, m])->([i, j, k, l]) {i=4, j=2, k=1, l=32, m=3, n=1} reduction={m, n}>} : (tensor<2x3x4x1x1xf32>, tensor<4x1x32x3xf32>) -> tensor<4x2x1x32xf32>
    return %0 : tensor<4x2x1x32xf32>
  }
  func.func @f140(%arg0: tensor<8x3xf32>) -> tensor<8x3xf32> {
    %0 = stablehlo.transpose %arg0, dims = [0, 1] {sdy.sharding_rule = #sdy.op_sharding_rule<([i, j])->([i, j]) {i=8, j=3}>} : (tensor<8x3xf32>) -> tensor<8x3xf32>
    return %0 : tensor<8x3xf32>
  }
  func.func @f141(%arg0: tensor<6x1x6x6xf32>, %arg1: tensor<6x1x3xi32>) -> tensor<6x6x1x1xf32> {
    %0 = "stablehlo.gather"(%arg0, %arg1) <{dimension_numbers = #stablehlo.gather<offset_dims = [1, 2], collapsed_slice_dims = [2], operand_batching_dims = [3], start_indices_batching_dims = [0], start_index_map = [0, 1, 2], index_vector_dim = 2>, indices_are_sorted = false, slice_sizes = array<i64: 6, 1, 1, 1>}> {sdy.sharding_rule = #sdy.op_sharding_rule<([j, k, m, i], [i, l, n])->([i, j, k, l]) {i=6, j=6, k=1, l=1, m=6, n=3} reduction={m} need_replication={n}>} : (tensor<6x1x6x6xf32>, tensor<6x1x3xi32>) -> tensor<6x6x1x1xf32>
    return %0 : tensor<6x6x1x1xf32>
  }
  func.func @f142(%arg0: tensor<4x1x2x2xf32>, %arg1: tensor<1x2x3x2xi32>) -> tensor<1x1x2x3x2xf32> {
    %0 = "stablehlo.gather"(%arg0, %arg1) <{dimension_numbers = #stablehlo.gather<offset_dims = [0, 2], collapsed_slice_dims = [0], operand_batching_dims = [3], start_indices_batching_dims = [3], start_index_map = [2, 1], index_vector_dim = 1>, indices_are_sorted = false, slice_sizes = array<i64: 1, 1, 2, 1>}> {sdy.sharding_rule = #sdy.op_sharding_rule<([n, i, k, m], [j, o, l, m])->([i, j, k, l, m]) {i=1, j=1, k=2, l=3, m=2, n=4, o=2} reduction={n} need_replication={o}>} : (tensor<4x1x2x2xf32>, tensor<1x2x3x2xi32>) -> tensor<1x1x2x3x2xf32>
    return %0 : tensor<1x1x2x3x2xf32>
  }
  func.func @f143(%arg0: tensor<2xf32>, %arg1: tensor<i32>) -> tensor<2xf32> {
    %0 = stablehlo.dynamic_slice %arg0, %arg1, sizes = [2] {sdy.sharding_rule = #sdy.op_sharding_rule<([i], [])->([i]) {i=2}>} : (tensor<2xf32>, tensor<i32>) -> tensor<2xf32>
    return %0 : tensor<2xf32>
  }
  func.func @f144(%arg0: tensor<f32>) -> tensor<f32> {
    %0 = stablehlo.slice %arg0 [] {sdy.sharding_rule = #sdy.op_sharding_rule<([])->([])>} : (tensor<f32>) -> tensor<f32>
    return %0 : tensor<f32>
  }
  func.func @f145(%arg0: tensor<1x2xf32>) -> tensor<1x2xf32> {
    %0 = stablehlo.reverse %arg0, dims = [1] {sdy.sharding_rule = #sdy.op_sharding_rule<([i, j])->([i, j]) {i=1, j=2} permutation={j}>} : tensor<1x2xf32>
    return %0 : tensor<1x2xf32>
  }
  func.func @f146(%arg0: tensor<6x2x1x6xf32>, %arg1: tensor<1x2x1xi32>, %arg2: tensor<6x1x1x1xf32>) -> tensor<6x2x1x6xf32> {
    %0 = "stablehlo.scatter"(%arg0, %arg1, %arg2) <{indices_are_sorted = false, scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [0, 3], inserted_window_dims = [2, 3], scatter_dims_to_operand_dims = [0, 2], index_vector_dim = 1>, unique_indices = false}> ({
    ^bb0(%arg3: tensor<f32>, %arg4: tensor<f32>):
      %1 = stablehlo.add %arg3, %arg4 {sdy.sharding_rule = #sdy.op_sharding_rule<([], [])->([])>} : tensor<f32>
      stablehlo.return %1 : tensor<f32>
    }) {sdy.sharding_rule = #sdy.op_sharding_rule<([i, l, n, o], [j, p, k], [i, j, k, m])->([i, l, n, o]) {i=6, j=1, k=1, l=2, m=1, n=1, o=6, p=2} reduction={j, k} need_replication={l, m, p}>} : (tensor<6x2x1x6xf32>, tensor<1x2x1xi32>, tensor<6x1x1x1xf32>) -> tensor<6x2x1x6xf32>
    return %0 : tensor<6x2x1x6xf32>
  }
  func.func @f147(%arg0: tensor<4xf32>, %arg1: tensor<4x5xf32>) -> tensor<5xf32> {
    %0 = stablehlo.dot %arg0, %arg1 {sdy.sharding_rule = #sdy.op_sharding_rule<([j], [j, i])->([i]) {i=5, j=4} reduction={j}>} : (tensor<4xf32>, tensor<4x5xf32>) -> tensor<5xf32>
    return %0 : tensor<5xf32>
  }
  func.func @f148(%arg0: tensor<1x2x2xf32>) -> tensor<2x2x2xf32> {
    %0 = stablehlo.broadcast_in_dim %arg0, dims = [1, 0, 2] {sdy.sharding_rule = #sdy.op_sharding_rule<([j, i, l])->([i, k, l]) {i=2, j=1, k=2, l=2}>} : (tensor<1x2x2xf32>) -> tensor<2x2x2xf32>
    return %0 : tensor<2x2x2xf32>
  }
  func.func @f149(%arg0: tensor<1x2x8xf32>) -> tensor<1x2x8xf32> {
    %0 = stablehlo.reverse %arg0, dims = [2, 1, 0] {sdy.sharding_rule = #sdy.op_sharding_rule<([i, j, k])->([i, j, k]) {i=1, j=2, k=8} permutation={i, j, k}>} : tensor<1x2x8xf32>
    return %0 : tensor<1x2x8xf32>
  }
  func.func @f150(%arg0: tensor<3x1x2xf32>) -> tensor<3x1x2xf32> {
    %0 = stablehlo.reverse %arg0, dims = [1] {sdy.sharding_rule = #sdy.op_sharding_rule<([i, j, k])->([i, j, k]) {i=3, j=1, k=2} permutation={j}>} : tensor<3x1x2xf32>
    return %0 : tensor<3x1x2xf32>
  }
  func.func @f151(%arg0: tensor<16x3x2x1xf32>, %arg1: tensor<3x1x1xf32>) -> tensor<16x2x1xf32> {
    %0 = stablehlo.dot_general %arg0, %arg1, contracting_dims = [1, 3] x [0, 2] {sdy.sharding_rule = #sdy.op_sharding_rule<([i, l, j, m], [l, k, m])->([i, j, k]) {i=16, j=2, k=1, l=3, m=1} reduction={l, m}>} : (tensor<16x3x2x1xf32>, tensor<3x1x1xf32>) -> tensor<16x2x1xf32>
    return %0 : tensor<16x2x1xf32>
  }
  func.func @f152(%arg0: tensor<21x5x2x1x1xf32>) -> tensor<5x7x6x1xf32> {
    %0 = stablehlo.reshape %arg0 {sdy.sharding_rule = #sdy.op_sharding_rule<([i, l, n, o, p])->([j, k, mn, q]) {i=21, j=5, k=7, l=5, m=3, n=2, o=1, p=1, q=1}>} : (tensor<21x5x2x1x1xf32>) -> tensor<5x7x6x1xf32>
    return %0 : tensor<5x7x6x1xf32>
  }
  func.func @f153(%arg0: tensor<1x2xf32>, %arg1: tensor<i32>, %arg2: tensor<i32>) -> tensor<1x2xf32> {
    %0 = stablehlo.dynamic_slice %arg0, %arg1, %arg2, sizes = [1, 2] {sdy.sharding_rule = #sdy.op_sharding_rule<([i, j], [], [])->([i, j]) {i=1, j=2}>} : (tensor<1x2xf32>, tensor<i32>, tensor<i32>) -> tensor<1x2xf32>
    return %0 : tensor<1x2xf32>
  }
  func.func @f154(%arg0: tensor<8x2x1x5xf32>, %arg1: tensor<f32>) -> tensor<8x2x1x5xf32> {
    %0 = stablehlo.reduce(%arg0 init: %arg1) applies stablehlo.add across dimensions = [] {sdy.sharding_rule = #sdy.op_sharding_rule<([i, j, k, l], [])->([i, j, k, l]) {i=8, j=2, k=1, l=5}>} : (tensor<8x2x1x5xf32>, tensor<f32>) -> tensor<8x2x1x5xf32>
    return %0 : tensor<8x2x1x5xf32>
  }
  func.func @f155(%arg0: tensor<8x4xf32>, %arg1: tensor<8x4xf32>) -> tensor<16x4xf32> {
    %0 = stablehlo.slice %arg0 [0:3, 0:4] {sdy.sharding_rule = #sdy.op_sharding_rule<([i, j])->([i, j]) {i=8, j=4} permutation={i}>} : (tensor<8x4xf32>) -> tensor<3x4xf32>
    %1 = stablehlo.concatenate %arg0, %arg0, dim = 0 {sdy.sharding_rule = #sdy.op_sharding_rule<([i, j], [i, j])->([i, j]) {i=16, j=4} need_replication={i}>} : (tensor<8x4xf32>, tensor<8x4xf32>) -> tensor<16x4xf32>
    return %1 : tensor<16x4xf32>
  }
  func.func @f156(%arg0: tensor<3x1xf32>) -> tensor<3x1xf32> {
    %0 = stablehlo.transpose %arg0, dims = [0, 1] {sdy.sharding_rule = #sdy.op_sharding_rule<([i, j])->([i, j]) {i=3, j=1}>} : (tensor<3x1xf32>) -> tensor<3x1xf32>
    return %0 : tensor<3x1xf32>
  }
  func.func @f157(%arg0: tensor<16x4x1x4xf32>, %arg1: tensor<4x4xf32>) -> tensor<4x4x16x1xf32> {
    %0 = stablehlo.dot_general %arg0, %arg1, batching_dims = [3, 1] x [1, 0], contracting_dims = [] x [] {sdy.sharding_rule = #sdy.op_sharding_rule<([k, j, l, i], [j, i])->([i, j, k, l]) {i=4, j=4, k=16, l=1}>} : (tensor<16x4x1x4xf32>, tensor<4x4xf32>) -> tensor<4x4x16x1xf32>
    return %0 : tensor<4x4x16x1xf32>
  }
  func.func @f158(%arg0: tensor<3x8x1xf32>) -> tensor<8x3x1xf32> {
    %0 = stablehlo.transpose %arg0, dims = [1, 0, 2] {sdy.sharding_rule = #sdy.op_sharding_rule<([j, i, k])->([i, j, k]) {i=8, j=3, k=1}>} : (tensor<3x8x1xf32>) -> tensor<8x3x1xf32>
    return %0 : tensor<8x3x1xf32>
  }
  func.func @f159(%arg0: tensor<6x4x6xf32>, %arg1: tensor<1xi32>, %arg2: tensor<1xf32>) -> tensor<6x4x6xf32> {
    %0 = "stablehlo.scatter"(%arg0, %arg1, %arg2) <{indices_are_sorted = false, scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [0], inserted_window_dims = [0, 2], scatter_dims_to_operand_dims = [1]>, unique_indices = false}> ({
    ^bb0(%arg3: tensor<f32>, %arg4: tensor<f32>):
      %1 = stablehlo.add %arg3, %arg4 {sdy.sharding_rule = #sdy.op_sharding_rule<([], [])->([])>} : tensor<f32>
      stablehlo.return %1 : tensor<f32>
    }) {sdy.sharding_rule = #sdy.op_sharding_rule<([k, i, l], [m], [j])->([k, i, l]) {i=4, j=1, k=6, l=6, m=1} need_replication={i, j, m}>} : (tensor<6x4x6xf32>, tensor<1xi32>, tensor<1xf32>) -> tensor<6x4x6xf32>
    return %0 : tensor<6x4x6xf32>
  }
  func.func @f160(%arg0: tensor<f32>) -> tensor<4x1x8xf32> {
    %0 = stablehlo.broadcast_in_dim %arg0, dims = [] {sdy.sharding_rule = #sdy.op_sharding_rule<([])->([i, j, k]) {i=4, j=1, k=8}>} : (tensor<f32>) -> tensor<4x1x8xf32>
    return %0 : tensor<4x1x8xf32>
  }
  func.func @f161(%arg0: tensor<5xf32>, %arg1: tensor<3xf32>, %arg2: tensor<i32>) -> tensor<5xf32> {
    %0 = stablehlo.dynamic_update_slice %arg0, %arg1, %arg2 {sdy.sharding_rule = #sdy.op_sharding_rule<([i], [j], [])->([i]) {i=5, j=3} need_replication={j}>} : (tensor<5xf32>, tensor<3xf32>, tensor<i32>) -> tensor<5xf32>
    return %0 : tensor<5xf32>
  }
  func.func @f162(%arg0: tensor<2x6x6xf32>, %arg1: tensor<1xi32>, %arg2: tensor<1x4xf32>) -> tensor<2x6x6xf32> {
    %0 = "stablehlo.scatter"(%arg0, %arg1, %arg2) <{indices_are_sorted = false, scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [0, 1], inserted_window_dims = [0], scatter_dims_to_operand_dims = [0]>, unique_indices = false}> ({
    ^bb0(%arg3: tensor<f32>, %arg4: tensor<f32>):
      stablehlo.return %arg4 : tensor<f32>
    }) {sdy.sharding_rule = #sdy.op_sharding_rule<([m, i, k], [n], [j, l])->([m, i, k]) {i=6, j=1, k=6, l=4, m=2, n=1} need_replication={i, j, k, l, n}>} : (tensor<2x6x6xf32>, tensor<1xi32>, tensor<1x4xf32>) -> tensor<2x6x6xf32>
    return %0 : tensor<2x6x6xf32>
  }
  func.func @f163(%arg0: tensor<0xf32>, %arg1: tensor<0xf32>, %arg2: tensor<0xf32>) -> tensor<0xf32> {
    %0 = stablehlo.concatenate %arg0, %arg1, %arg2, dim = 0 {sdy.sharding_rule = #sdy.op_sharding_rule<([i], [i], [i])->([i]) {i=0} need_replication={i}>} : (tensor<0xf32>, tensor<0xf32>, tensor<0xf32>) -> tensor<0xf32>
    return %0 : tensor<0xf32>
  }
  func.func @f164(%arg0: tensor<2x2x0xf32>) -> tensor<2x2x0xf32> {
    %0 = stablehlo.concatenate %arg0, dim = 2 {sdy.sharding_rule = #sdy.op_sharding_rule<([i, j, k])->([i, j, k]) {i=2, j=2, k=0} need_replication={k}>} : (tensor<2x2x0xf32>) -> tensor<2x2x0xf32>
    return %0 : tensor<2x2x0xf32>
  }
  func.func @f165(%arg0: tensor<5x2xf32>, %arg1: tensor<f32>) -> tensor<12x3xf32> {
    %0 = stablehlo.pad %arg0, %arg1, low = [1, -1], high = [2, 2], interior = [1, 0] {sdy.sharding_rule = #sdy.op_sharding_rule<([i, j], [])->([i, j]) {i=5, j=2} permutation={i, j}>} : (tensor<5x2xf32>, tensor<f32>) -> tensor<12x3xf32>
    return %0 : tensor<12x3xf32>
  }
  func.func @f166(%arg0: tensor<4xf32>, %arg1: tensor<4x0x2xi32>) -> tensor<4x2xf32> {
    %0 = "stablehlo.gather"(%arg0, %arg1) <{dimension_numbers = #stablehlo.gather<operand_batching_dims = [0], start_indices_batching_dims = [0], index_vector_dim = 1>, indices_are_sorted = false, slice_sizes = array<i64: 1>}> {sdy.sharding_rule = #sdy.op_sharding_rule<([i], [i, k, j])->([i, j]) {i=4, j=2, k=0} need_replication={k}>} : (tensor<4xf32>, tensor<4x0x2xi32>) -> tensor<4x2xf32>
    return %0 : tensor<4x2xf32>
  }
  func.func @f167(%arg0: tensor<6x6x6xf32>, %arg1: tensor<6x6x6xi32>, %arg2: tensor<1x1xi32>, %arg3: tensor<1x6x1xf32>, %arg4: tensor<1x6x1xi32>) -> (tensor<6x6x6xf32>, tensor<6x6x6xi32>) {
    %0:2 = "stablehlo.scatter"(%arg0, %arg1, %arg2, %arg3, %arg4) <{indices_are_sorted = false, scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [0, 1], inserted_window_dims = [2], scatter_dims_to_operand_dims = [2], index_vector_dim = 1>, unique_indices = false}> ({
    ^bb0(%arg5: tensor<f32>, %arg6: tensor<i32>, %arg7: tensor<f32>, %arg8: tensor<i32>):
      %1 = stablehlo.subtract %arg5, %arg7 {sdy.sharding_rule = #sdy.op_sharding_rule<([], [])->([])>} : tensor<f32>
      %2 = stablehlo.subtract %arg6, %arg8 {sdy.sharding_rule = #sdy.op_sharding_rule<([], [])->([])>} : tensor<i32>
      stablehlo.return %1, %2 : tensor<f32>, tensor<i32>
    }) {sdy.sharding_rule = #sdy.op_sharding_rule<([i, k, m], [i, k, m], [l, n], [j, k, l], [j, k, l])->([i, k, m], [i, k, m]) {i=6, j=1, k=6, l=1, m=6, n=1} need_replication={i, j, l, n}>} : (tensor<6x6x6xf32>, tensor<6x6x6xi32>, tensor<1x1xi32>, tensor<1x6x1xf32>, tensor<1x6x1xi32>) -> (tensor<6x6x6xf32>, tensor<6x6x6xi32>)
    return %0#0, %0#1 : tensor<6x6x6xf32>, tensor<6x6x6xi32>
  }
  func.func @f168(%arg0: tensor<8x8xf32>) -> tensor<8x8xf32> {
    %0 = stablehlo.reverse %arg0, dims = [] {sdy.sharding_rule = #sdy.op_sharding_rule<([i, j])->([i, j]) {i=8, j=8}>} : tensor<8x8xf32>
    return %0 : tensor<8x8xf32>
  }
  func.func @f169(%arg0: tensor<8x1xf32>, %arg1: tensor<1x1xf32>, %arg2: tensor<8x1xf32>) -> tensor<17x1xf32> {
    %0 = stablehlo.concatenate %arg0, %arg1, %arg2, dim = 0 {sdy.sharding_rule = #sdy.op_sharding_rule<([i, j], [i, j], [i, j])->([i, j]) {i=17, j=1} need_replication={i}>} : (tensor<8x1xf32>, tensor<1x1xf32>, tensor<8x1xf32>) -> tensor<17x1xf32>
    return %0 : tensor<17x1xf32>
  }
  func.func @f170(%arg0: tensor<2x3xf32>) {
    %0 = "stablehlo.cross-replica-sum"(%arg0) <{replica_groups = dense<0> : tensor<1x1xi64>}> {sdy.sharding_rule = #sdy.op_sharding_rule<([i, j])->([i, j]) {i=2, j=3}>} : (tensor<2x3xf32>) -> tensor<2x3xf32>
    return
  }
  func.func @f172(%arg0: tensor<2x4x6x4xf32>, %arg1: tensor<3x3x4x6xf32>) {
    %0 = stablehlo.convolution(%arg0, %arg1) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f], window = {stride = [1, 1], pad = [[1, 1], [1, 1]], lhs_dilate = [1, 1], rhs_dilate = [1, 1], reverse = [false, false]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64, precision_config = [#stablehlo<precision DEFAULT>, #stablehlo<precision HIGHEST>], sdy.sharding_rule = #sdy.op_sharding_rule<([i, j, k, l], [n, o, l, m])->([i, j, k, m]) {i=2, j=4, k=6, l=4, m=6, n=1, o=1} reduction={l} permutation={j, k}>} : (tensor<2x4x6x4xf32>, tensor<3x3x4x6xf32>) -> tensor<2x4x6x6xf32>
    return
  }
  func.func @f173(%arg0: tensor<5x2x6x3xi32>, %arg1: tensor<4x3x2x2xi32>) {
    %0 = stablehlo.convolution(%arg0, %arg1) dim_numbers = [0, f, b, 1]x[o, 0, 1, i]->[f, 1, b, 0], window = {stride = [2, 1], pad = [[-1, 3], [2, 0]], lhs_dilate = [2, 3], rhs_dilate = [1, 2], reverse = [true, false]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64, sdy.sharding_rule = #sdy.op_sharding_rule<([j, l, i, k], [m, n, o, l])->([m, k, i, j]) {i=6, j=5, k=3, l=2, m=4, n=1, o=1} reduction={l} permutation={j, k}>} : (tensor<5x2x6x3xi32>, tensor<4x3x2x2xi32>) -> tensor<4x7x6x5xi32>
    return
  }
  func.func @f174(%arg0: tensor<2x4x8xf32>, %arg1: tensor<2x2x8xf32>) {
    %0 = stablehlo.convolution(%arg0, %arg1) dim_numbers = [b, 0, f]x[0, i, o]->[b, 0, f], window = {} {batch_group_count = 1 : i64, feature_group_count = 4 : i64, sdy.sharding_rule = #sdy.op_sharding_rule<([i, j, kl], [n, l, km])->([i, j, km]) {i=2, j=3, k=4, l=2, m=2, n=1} reduction={l} permutation={j}>} : (tensor<2x4x8xf32>, tensor<2x2x8xf32>) -> tensor<2x3x8xf32>
    return
  }
  func.func @f175(%arg0: tensor<4x4x2xi8>, %arg1: tensor<2x2x4xi8>) {
    %0 = stablehlo.convolution(%arg0, %arg1) dim_numbers = [b, 0, f]x[0, i, o]->[b, 0, f], window = {stride = [2]} {batch_group_count = 2 : i64, feature_group_count = 1 : i64, sdy.sharding_rule = #sdy.op_sharding_rule<([ij, kl, m], [l, m, in])->([j, k, in]) {i=2, j=2, k=2, l=2, m=2, n=2} reduction={l, m} permutation={k}>} : (tensor<4x4x2xi8>, tensor<2x2x4xi8>) -> tensor<2x2x4xi32>
    return
  }
  func.func @f176(%arg0: tensor<4x2xf32>, %arg1: tensor<2x6xf32>) {
    %0 = stablehlo.convolution(%arg0, %arg1) dim_numbers = [b, f]x[i, o]->[b, f], window = {} {batch_group_count = 1 : i64, feature_group_count = 1 : i64, sdy.sharding_rule = #sdy.op_sharding_rule<([i, j], [j, k])->([i, k]) {i=4, j=2, k=6} reduction={j}>} : (tensor<4x2xf32>, tensor<2x6xf32>) -> tensor<4x6xf32>
    return
  }
  func.func @f177(%arg0: tensor<4x6xf32>) {
    %cst = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %0 = "stablehlo.reduce_window"(%arg0, %cst) <{padding = dense<[[0, 0], [1, 2]]> : tensor<2x2xi64>, window_dimensions = array<i64: 1, 3>, window_strides = array<i64: 1, 2>}> ({
    ^bb0(%arg1: tensor<f32>, %arg2: tensor<f32>):
      %1 = stablehlo.add %arg1, %arg2 {sdy.sharding_rule = #sdy.op_sharding_rule<([], [])->([])>} : tensor<f32>
      stablehlo.return %1 : tensor<f32>
    }) {sdy.sharding_rule = #sdy.op_sharding_rule<([i, j], [])->([i, j]) {i=4, j=4} permutation={j}>} : (tensor<4x6xf32>, tensor<f32>) -> tensor<4x4xf32>
    return
  }
  func.func @f178(%arg0: tensor<4x6xi32>) {
    %c = stablehlo.constant dense<2> : tensor<i32>
    %0 = "stablehlo.reduce_window"(%arg0, %c) <{base_dilations = array<i64: 2, 1>, padding = dense<[[1, 1], [-1, 0]]> : tensor<2x2xi64>, window_dilations = array<i64: 3, 1>, window_dimensions = array<i64: 2, 2>, window_strides = array<i64: 1, 2>}> ({
    ^bb0(%arg1: tensor<i32>, %arg2: tensor<i32>):
      %1 = stablehlo.multiply %arg1, %arg2 {sdy.sharding_rule = #sdy.op_sharding_rule<([], [])->([])>} : tensor<i32>
      stablehlo.return %1 : tensor<i32>
    }) {sdy.sharding_rule = #sdy.op_sharding_rule<([i, j], [])->([i, j]) {i=6, j=2} permutation={i, j}>} : (tensor<4x6xi32>, tensor<i32>) -> tensor<6x2xi32>
    return
  }
  func.func @f179(%arg0: tensor<4x2xi32>) {
    %c = stablehlo.constant dense<3> : tensor<i32>
    %0 = "stablehlo.reduce_window"(%arg0, %c) <{window_dimensions = array<i64: 1, 1>}> ({
    ^bb0(%arg1: tensor<i32>, %arg2: tensor<i32>):
      %1 = stablehlo.maximum %arg1, %arg2 {sdy.sharding_rule = #sdy.op_sharding_rule<([], [])->([])>} : tensor<i32>
      stablehlo.return %1 : tensor<i32>
    }) {sdy.sharding_rule = #sdy.op_sharding_rule<([i, j], [])->([i, j]) {i=4, j=2}>} : (tensor<4x2xi32>, tensor<i32>) -> tensor<4x2xi32>
    return
  }
  func.func @f180(%arg0: tensor<2x6xf32>, %arg1: tensor<2x6xi32>) {
    %cst = stablehlo.constant dense<-8.000000e+00> : tensor<f32>
    %c = stablehlo.constant dense<-1> : tensor<i32>
    %0:2 = "stablehlo.reduce_window"(%arg0, %arg1, %cst, %c) <{window_dimensions = array<i64: 1, 2>, window_strides = array<i64: 1, 2>}> ({
    ^bb0(%arg2: tensor<f32>, %arg3: tensor<i32>, %arg4: tensor<f32>, %arg5: tensor<i32>):
      %1 = stablehlo.compare GE, %arg2, %arg4 {sdy.sharding_rule = #sdy.op_sharding_rule<([], [])->([])>} : (tensor<f32>, tensor<f32>) -> tensor<i1>
      %2 = stablehlo.select %1, %arg2, %arg4 {sdy.sharding_rule = #sdy.op_sharding_rule<([], [], [])->([])>} : tensor<i1>, tensor<f32>
      %3 = stablehlo.select %1, %arg3, %arg5 {sdy.sharding_rule = #sdy.op_sharding_rule<([], [], [])->([])>} : tensor<i1>, tensor<i32>
      stablehlo.return %2, %3 : tensor<f32>, tensor<i32>
    }) {sdy.sharding_rule = #sdy.op_sharding_rule<([i, j], [i, j], [], [])->([i, j], [i, j]) {i=2, j=3} permutation={j}>} : (tensor<2x6xf32>, tensor<2x6xi32>, tensor<f32>, tensor<i32>) -> (tensor<2x3xf32>, tensor<2x3xi32>)
    return
  }
  func.func @f181(%arg0: tensor<4x6xf32>, %arg1: tensor<4x3xf32>, %arg2: tensor<f32>) {
    %0 = "stablehlo.select_and_scatter"(%arg0, %arg1, %arg2) <{window_dimensions = array<i64: 1, 2>, window_strides = array<i64: 1, 2>}> ({
    ^bb0(%arg3: tensor<f32>, %arg4: tensor<f32>):
      %1 = stablehlo.compare GE, %arg3, %arg4 {sdy.sharding_rule = #sdy.op_sharding_rule<([], [])->([])>} : (tensor<f32>, tensor<f32>) -> tensor<i1>
      stablehlo.return %1 : tensor<i1>
    }, {
    ^bb0(%arg3: tensor<f32>, %arg4: tensor<f32>):
      %1 = stablehlo.add %arg3, %arg4 {sdy.sharding_rule = #sdy.op_sharding_rule<([], [])->([])>} : tensor<f32>
      stablehlo.return %1 : tensor<f32>
    }) {sdy.sharding_rule = #sdy.op_sharding_rule<([i, k], [i, j], [])->([i, k]) {i=4, j=3, k=6} need_replication={j} permutation={k}>} : (tensor<4x6xf32>, tensor<4x3xf32>, tensor<f32>) -> tensor<4x6xf32>
    return
  }
  func.func @f182(%arg0: tensor<4x2xi64>, %arg1: tensor<2x2xi64>, %arg2: tensor<i64>) {
    %0 = "stablehlo.select_and_scatter"(%arg0, %arg1, %arg2) <{padding = dense<[[0, 1], [0, 0]]> : tensor<2x2xi64>, window_dimensions = array<i64: 3, 1>, window_strides = array<i64: 2, 1>}> ({
    ^bb0(%arg3: tensor<i64>, %arg4: tensor<i64>):
      %1 = stablehlo.compare LT, %arg3, %arg4 {sdy.sharding_rule = #sdy.op_sharding_rule<([], [])->([])>} : (tensor<i64>, tensor<i64>) -> tensor<i1>
      stablehlo.return %1 : tensor<i1>
    }, {
    ^bb0(%arg3: tensor<i64>, %arg4: tensor<i64>):
      %1 = stablehlo.maximum %arg3, %arg4 {sdy.sharding_rule = #sdy.op_sharding_rule<([], [])->([])>} : tensor<i64>
      stablehlo.return %1 : tensor<i64>
    }) {sdy.sharding_rule = #sdy.op_sharding_rule<([j, k], [i, k], [])->([j, k]) {i=2, j=4, k=2} need_replication={i} permutation={j}>} : (tensor<4x2xi64>, tensor<2x2xi64>, tensor<i64>) -> tensor<4x2xi64>
    return
  }
  func.func @f183(%arg0: tensor<4x6xf32>) {
    %0 = "stablehlo.sort"(%arg0) <{dimension = 1 : i64, is_stable = true}> ({
    ^bb0(%arg1: tensor<f32>, %arg2: tensor<f32>):
      %1 = stablehlo.compare LT, %arg1, %arg2, TOTALORDER {sdy.sharding_rule = #sdy.op_sharding_rule<([], [])->([])>} : (tensor<f32>, tensor<f32>) -> tensor<i1>
      stablehlo.return %1 : tensor<i1>
    }) {sdy.sharding_rule = #sdy.op_sharding_rule<([i, j])->([i, j]) {i=4, j=6} need_replication={j}>} : (tensor<4x6xf32>) -> tensor<4x6xf32>
    return
  }
  func.func @f185(%arg0: tensor<2x4x6xcomplex<f32>>) {
    %0 = stablehlo.fft %arg0, type = FFT, length = [4, 6] {sdy.sharding_rule = #sdy.op_sharding_rule<([i, j, k])->([i, j, k]) {i=2, j=4, k=6} need_replication={j, k}>} : (tensor<2x4x6xcomplex<f32>>) -> tensor<2x4x6xcomplex<f32>>
    return
  }
  func.func @f186(%arg0: tensor<2x5xcomplex<f64>>) {
    %0 = stablehlo.fft %arg0, type = IFFT, length = [5] {sdy.sharding_rule = #sdy.op_sharding_rule<([i, j])->([i, j]) {i=2, j=5} need_replication={j}>} : (tensor<2x5xcomplex<f64>>) -> tensor<2x5xcomplex<f64>>
    return
  }
  func.func @f187(%arg0: tensor<2x7xf32>) {
    %0 = stablehlo.fft %arg0, type = RFFT, length = [7] {sdy.sharding_rule = #sdy.op_sharding_rule<([i, j])->([i, j]) {i=2, j=7} need_replication={j} blocked_propagation={j}>} : (tensor<2x7xf32>) -> tensor<2x4xcomplex<f32>>
    return
  }
  func.func @f188(%arg0: tensor<2x4x4xcomplex<f32>>) {
    %0 = stablehlo.fft %arg0, type = IRFFT, length = [4, 6] {sdy.sharding_rule = #sdy.op_sharding_rule<([i, j, k])->([i, j, k]) {i=2, j=4, k=4} need_replication={j, k} blocked_propagation={k}>} : (tensor<2x4x4xcomplex<f32>>) -> tensor<2x4x6xf32>
    return
  }
  func.func @f189() {
    %cst = stablehlo.constant dense<[[[1.000000e+00, 2.000000e+00, 3.000000e+00], [2.000000e+00, 2.000000e+01, 2.600000e+01], [3.000000e+00, 2.600000e+01, 7.000000e+01]], [[4.000000e+00, 0.000000e+00, 0.000000e+00], [0.000000e+00, 9.000000e+00, 0.000000e+00], [0.000000e+00, 0.000000e+00, 1.000000e+00]]]> : tensor<2x3x3xf32>
    %0 = stablehlo.cholesky %cst, lower = true {sdy.sharding_rule = #sdy.op_sharding_rule<([i, j, k])->([i, j, k]) {i=2, j=3, k=3} need_replication={j, k}>} : tensor<2x3x3xf32>
    return
  }
  func.func @f190() {
    %cst = stablehlo.constant dense<[[(4.000000e+00,0.000000e+00), (0.000000e+00,2.000000e+00)], [(0.000000e+00,-2.000000e+00), (5.000000e+00,0.000000e+00)]]> : tensor<2x2xcomplex<f32>>
    %0 = stablehlo.cholesky %cst {sdy.sharding_rule = #sdy.op_sharding_rule<([i, j])->([i, j]) {i=2, j=2} need_replication={i, j}>} : tensor<2x2xcomplex<f32>>
    return
  }
  func.func @f191(%arg0: tensor<2x2x3xf32>) {
    %cst = stablehlo.constant dense<[[[2.000000e+00, 9.000000e+00], [4.000000e+00, 1.000000e+00]], [[1.000000e+00, 9.000000e+00], [3.000000e+00, 2.000000e+00]]]> : tensor<2x2x2xf32>
    %0 = "stablehlo.triangular_solve"(%cst, %arg0) <{left_side = true, lower = true, transpose_a = #stablehlo<transpose NO_TRANSPOSE>, unit_diagonal = false}> {sdy.sharding_rule = #sdy.op_sharding_rule<([i, j, l], [i, j, k])->([i, l, k]) {i=2, j=2, k=3, l=2} need_replication={j, k, l}>} : (tensor<2x2x2xf32>, tensor<2x2x3xf32>) -> tensor<2x2x3xf32>
    return
  }
  func.func @f192(%arg0: tensor<3x2xcomplex<f64>>) {
    %cst = stablehlo.constant dense<[[(9.000000e+00,0.000000e+00), (1.000000e+00,-2.000000e+00)], [(9.000000e+00,9.000000e+00), (9.000000e+00,0.000000e+00)]]> : tensor<2x2xcomplex<f64>>
    %0 = "stablehlo.triangular_solve"(%cst, %arg0) <{left_side = false, lower = false, transpose_a = #stablehlo<transpose ADJOINT>, unit_diagonal = true}> {sdy.sharding_rule = #sdy.op_sharding_rule<([j, k], [i, j])->([i, k]) {i=3, j=2, k=2} need_replication={i, j, k}>} : (tensor<2x2xcomplex<f64>>, tensor<3x2xcomplex<f64>>) -> tensor<3x2xcomplex<f64>>
    return
  }
  func.func @f193(%arg0: tensor<4x2x6xf32>, %arg1: tensor<6xf32>, %arg2: tensor<6xf32>, %arg3: tensor<6xf32>) {
    %cst = stablehlo.constant dense<[1.000000e+00, 4.000000e+00, 9.000000e+00, 2.500000e-01, 1.000000e+00, 1.600000e+01]> : tensor<6xf32>
    %0 = "stablehlo.batch_norm_inference"(%arg0, %arg1, %arg2, %arg3, %cst) <{epsilon = 0.000000e+00 : f32, feature_index = 2 : i64}> {sdy.sharding_rule = #sdy.op_sharding_rule<([i, j, k], [k], [k], [k], [k])->([i, j, k]) {i=4, j=2, k=6}>} : (tensor<4x2x6xf32>, tensor<6xf32>, tensor<6xf32>, tensor<6xf32>, tensor<6xf32>) -> tensor<4x2x6xf32>
    return
  }
  func.func @f194(%arg0: tensor<2xui64>) {
    %0:2 = stablehlo.rng_bit_generator %arg0, algorithm = THREE_FRY {sdy.sharding_rule = #sdy.op_sharding_rule<([i])->([i], [j, k]) {i=2, j=4, k=3} need_replication={i} blocked_propagation={i}>} : (tensor<2xui64>) -> (tensor<2xui64>, tensor<4x3xui64>)
    return
  }
  func.func @f195(%arg0: tensor<2xui64>) {
    %0:2 = stablehlo.rng_bit_generator %arg0, algorithm = THREE_FRY {sdy.sharding_rule = #sdy.op_sharding_rule<([i])->([i], [j, k]) {i=2, j=4, k=6} need_replication={i} blocked_propagation={i}>} : (tensor<2xui64>) -> (tensor<2xui64>, tensor<4x6xui32>)
    return
  }
  func.func @f196(%arg0: tensor<2xui64>) {
    %0:2 = stablehlo.rng_bit_generator %arg0, algorithm = THREE_FRY {sdy.sharding_rule = #sdy.op_sharding_rule<([i])->([i], [j, k]) {i=2, j=3, k=5} need_replication={i} blocked_propagation={i}>} : (tensor<2xui64>) -> (tensor<2xui64>, tensor<3x5xi8>)
    return
  }
  func.func @f197(%arg0: tensor<3xui64>) {
    %0:2 = stablehlo.rng_bit_generator %arg0, algorithm = PHILOX {sdy.sharding_rule = #sdy.op_sharding_rule<([i])->([i], [j, k]) {i=3, j=4, k=4} need_replication={i} blocked_propagation={i}>} : (tensor<3xui64>) -> (tensor<3xui64>, tensor<4x4xi32>)
    return
  }
  func.func @f198(%arg0: tensor<2xui64>) {
    %0:2 = stablehlo.rng_bit_generator %arg0, algorithm = DEFAULT {sdy.sharding_rule = #sdy.op_sharding_rule<([i])->([i], [j, k, l]) {i=2, j=4, k=2, l=3} need_replication={i} blocked_propagation={i}>} : (tensor<2xui64>) -> (tensor<2xui64>, tensor<4x2x3xui64>)
    return
  }
  func.func @f199(%arg0: tensor<8x64x64x16xf32>, %arg1: tensor<4x4x16x32xf32>) {
    %0 = stablehlo.convolution(%arg0, %arg1) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f], window = {stride = [4, 4]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64, sdy.sharding_rule = #sdy.op_sharding_rule<([i, jk, lm, n], [k, m, n, o])->([i, j, l, o]) {i=8, j=16, k=4, l=16, m=4, n=16, o=32} reduction={k, m, n} permutation={j, l}>} : (tensor<8x64x64x16xf32>, tensor<4x4x16x32xf32>) -> tensor<8x16x16x32xf32>
    return
  }
  func.func @f200(%arg0: tensor<8x224x224x192xf32>, %arg1: tensor<3x3x64x192xf32>) {
    %0 = stablehlo.convolution(%arg0, %arg1) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f], window = {stride = [1, 1], pad = [[1, 1], [1, 1]]} {batch_group_count = 1 : i64, feature_group_count = 3 : i64, sdy.sharding_rule = #sdy.op_sharding_rule<([i, j, k, lm], [o, p, m, ln])->([i, j, k, ln]) {i=8, j=224, k=224, l=3, m=64, n=64, o=1, p=1} reduction={m} permutation={j, k}>} : (tensor<8x224x224x192xf32>, tensor<3x3x64x192xf32>) -> tensor<8x224x224x192xf32>
    return
  }
  func.func @f201(%arg0: tensor<8x16x16x4xf32>, %arg1: tensor<15x9x4x32xf32>) {
    %0 = stablehlo.convolution(%arg0, %arg1) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f], window = {stride = [1, 1]} {batch_group_count = 4 : i64, feature_group_count = 1 : i64, sdy.sharding_rule = #sdy.op_sharding_rule<([ij, k, l, m], [k, l, m, in])->([j, o, p, in]) {i=4, j=2, k=15, l=9, m=4, n=8, o=1, p=1} reduction={k, l, m}>} : (tensor<8x16x16x4xf32>, tensor<15x9x4x32xf32>) -> tensor<2x2x8x32xf32>
    return
  }
  func.func @f202(%arg0: tensor<1x16xf32>) {
    %0 = "stablehlo.sort"(%arg0) <{dimension = 1 : i64, is_stable = true}> ({
    ^bb0(%arg1: tensor<f32>, %arg2: tensor<f32>):
      %1 = stablehlo.compare LT, %arg1, %arg2, TOTALORDER {sdy.sharding_rule = #sdy.op_sharding_rule<([], [])->([])>} : (tensor<f32>, tensor<f32>) -> tensor<i1>
      stablehlo.return %1 : tensor<i1>
    }) {sdy.sharding_rule = #sdy.op_sharding_rule<([i, j])->([i, j]) {i=1, j=16} need_replication={j} blocked_propagation={j}>} : (tensor<1x16xf32>) -> tensor<1x16xf32>
    return
  }
  func.func @f203(%arg0: tensor<8x4x4xf32>, %arg1: tensor<8x4x5xf32>, %arg2: tensor<8x5x4xf32>) {
    %0 = "stablehlo.triangular_solve"(%arg0, %arg1) <{left_side = true, lower = true, transpose_a = #stablehlo<transpose NO_TRANSPOSE>, unit_diagonal = false}> {sdy.sharding_rule = #sdy.op_sharding_rule<([i, j, l], [i, j, k])->([i, l, k]) {i=8, j=4, k=5, l=4} need_replication={j, k, l}>} : (tensor<8x4x4xf32>, tensor<8x4x5xf32>) -> tensor<8x4x5xf32>
    %1 = "stablehlo.triangular_solve"(%arg0, %arg1) <{left_side = true, lower = true, transpose_a = #stablehlo<transpose TRANSPOSE>, unit_diagonal = false}> {sdy.sharding_rule = #sdy.op_sharding_rule<([i, l, j], [i, j, k])->([i, l, k]) {i=8, j=4, k=5, l=4} need_replication={j, k, l}>} : (tensor<8x4x4xf32>, tensor<8x4x5xf32>) -> tensor<8x4x5xf32>
    %2 = "stablehlo.triangular_solve"(%arg0, %arg2) <{left_side = false, lower = true, transpose_a = #stablehlo<transpose NO_TRANSPOSE>, unit_diagonal = false}> {sdy.sharding_rule = #sdy.op_sharding_rule<([i, l, k], [i, j, k])->([i, j, l]) {i=8, j=5, k=4, l=4} need_replication={j, k, l}>} : (tensor<8x4x4xf32>, tensor<8x5x4xf32>) -> tensor<8x5x4xf32>
    %3 = "stablehlo.triangular_solve"(%arg0, %arg2) <{left_side = false, lower = true, transpose_a = #stablehlo<transpose ADJOINT>, unit_diagonal = false}> {sdy.sharding_rule = #sdy.op_sharding_rule<([i, k, l], [i, j, k])->([i, j, l]) {i=8, j=5, k=4, l=4} need_replication={j, k, l}>} : (tensor<8x4x4xf32>, tensor<8x5x4xf32>) -> tensor<8x5x4xf32>
    return
  }
}
