// RUN: shardc opt --passes mpmd-assign{assign=stage0@m0,stage1@m1} %s
// RUN: shardc opt --passes mpmd-assign,mpmd-partition %s
// RUN: shardc compile %s
// RUN: shardc check --interpret %s
// RUN: shardc cost %s
// Two stages on two meshes: fragments, what is sent between them, and the one program that all devices run. What is outside of
// the stages is where its operand was made.
module {
  func.func @main(%x: tensor<8x16xf32>, %w0: tensor<16x32xf32> {sdy.sharding = #sdy.sharding<@m0, [{}, {"x"}]>}, %w1: tensor<32x16xf32> {sdy.sharding = #sdy.sharding<@m1, [{"x"}, {}]>}) -> tensor<8x16xf32>
      attributes {topology = #mpmd.topology<<"m0": <["x"=2]>>, <"m1": <["x"=2]>>>} {
    %0 = mpmd.named_computation<"stage0"> (%x, %w0) (%a: tensor<8x16xf32>, %w: tensor<16x32xf32>) {
      %1 = stablehlo.dot_general %a, %w, contracting_dims = [1] x [0] : (tensor<8x16xf32>, tensor<16x32xf32>) -> tensor<8x32xf32>
      %2 = stablehlo.tanh %1 : tensor<8x32xf32>
      mpmd.return %2 : tensor<8x32xf32>
    } : (tensor<8x16xf32>, tensor<16x32xf32>) -> tensor<8x32xf32>
    %3 = mpmd.named_computation<"stage1"> (%0, %w1) (%a: tensor<8x32xf32>, %w: tensor<32x16xf32>) {
      %1 = stablehlo.dot_general %a, %w, contracting_dims = [1] x [0] : (tensor<8x32xf32>, tensor<32x16xf32>) -> tensor<8x16xf32>
      mpmd.return %1 : tensor<8x16xf32>
    } : (tensor<8x32xf32>, tensor<32x16xf32>) -> tensor<8x16xf32>
    %4 = stablehlo.add %3, %x : tensor<8x16xf32>
    return %4 : tensor<8x16xf32>
  }
}
