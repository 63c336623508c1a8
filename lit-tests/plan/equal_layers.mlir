// RUN: shardc opt --import --propagate --plan --mlir-pass-statistics -o /dev/null %s
// RUN: shardc check %s
// Four equal layers have the same roles: the search asks the ops of one of them and counts each answer as often as there
// are layers. Every layer takes its own row of one stacked parameter.
sdy.mesh @mesh = <["data"=2, "model"=4]>
func.func @main(%x: tensor<16x32xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"data"}, {}]>}, %w: tensor<4x32x64xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {}, {"model"}]>}, %v: tensor<4x64x32xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"model"}, {}]>}) -> tensor<16x32xf32> {
  %l0_0 = stablehlo.slice %w [0:1, 0:32, 0:64] : (tensor<4x32x64xf32>) -> tensor<1x32x64xf32>
  %l0_1 = stablehlo.reshape %l0_0 : (tensor<1x32x64xf32>) -> tensor<32x64xf32>
  %l0_2 = stablehlo.slice %v [0:1, 0:64, 0:32] : (tensor<4x64x32xf32>) -> tensor<1x64x32xf32>
  %l0_3 = stablehlo.reshape %l0_2 : (tensor<1x64x32xf32>) -> tensor<64x32xf32>
  %l0_4 = stablehlo.tanh %x : tensor<16x32xf32>
  %l0_5 = stablehlo.dot_general %l0_4, %l0_1, contracting_dims = [1] x [0] : (tensor<16x32xf32>, tensor<32x64xf32>) -> tensor<16x64xf32>
  %l0_6 = stablehlo.logistic %l0_5 : tensor<16x64xf32>
  %l0_7 = stablehlo.dot_general %l0_6, %l0_3, contracting_dims = [1] x [0] : (tensor<16x64xf32>, tensor<64x32xf32>) -> tensor<16x32xf32>
  %l0_8 = stablehlo.add %x, %l0_7 : tensor<16x32xf32>
  %l1_0 = stablehlo.slice %w [1:2, 0:32, 0:64] : (tensor<4x32x64xf32>) -> tensor<1x32x64xf32>
  %l1_1 = stablehlo.reshape %l1_0 : (tensor<1x32x64xf32>) -> tensor<32x64xf32>
  %l1_2 = stablehlo.slice %v [1:2, 0:64, 0:32] : (tensor<4x64x32xf32>) -> tensor<1x64x32xf32>
  %l1_3 = stablehlo.reshape %l1_2 : (tensor<1x64x32xf32>) -> tensor<64x32xf32>
  %l1_4 = stablehlo.tanh %l0_8 : tensor<16x32xf32>
  %l1_5 = stablehlo.dot_general %l1_4, %l1_1, contracting_dims = [1] x [0] : (tensor<16x32xf32>, tensor<32x64xf32>) -> tensor<16x64xf32>
  %l1_6 = stablehlo.logistic %l1_5 : tensor<16x64xf32>
  %l1_7 = stablehlo.dot_general %l1_6, %l1_3, contracting_dims = [1] x [0] : (tensor<16x64xf32>, tensor<64x32xf32>) -> tensor<16x32xf32>
  %l1_8 = stablehlo.add %l0_8, %l1_7 : tensor<16x32xf32>
  %l2_0 = stablehlo.slice %w [2:3, 0:32, 0:64] : (tensor<4x32x64xf32>) -> tensor<1x32x64xf32>
  %l2_1 = stablehlo.reshape %l2_0 : (tensor<1x32x64xf32>) -> tensor<32x64xf32>
  %l2_2 = stablehlo.slice %v [2:3, 0:64, 0:32] : (tensor<4x64x32xf32>) -> tensor<1x64x32xf32>
  %l2_3 = stablehlo.reshape %l2_2 : (tensor<1x64x32xf32>) -> tensor<64x32xf32>
  %l2_4 = stablehlo.tanh %l1_8 : tensor<16x32xf32>
  %l2_5 = stablehlo.dot_general %l2_4, %l2_1, contracting_dims = [1] x [0] : (tensor<16x32xf32>, tensor<32x64xf32>) -> tensor<16x64xf32>
  %l2_6 = stablehlo.logistic %l2_5 : tensor<16x64xf32>
  %l2_7 = stablehlo.dot_general %l2_6, %l2_3, contracting_dims = [1] x [0] : (tensor<16x64xf32>, tensor<64x32xf32>) -> tensor<16x32xf32>
  %l2_8 = stablehlo.add %l1_8, %l2_7 : tensor<16x32xf32>
  %l3_0 = stablehlo.slice %w [3:4, 0:32, 0:64] : (tensor<4x32x64xf32>) -> tensor<1x32x64xf32>
  %l3_1 = stablehlo.reshape %l3_0 : (tensor<1x32x64xf32>) -> tensor<32x64xf32>
  %l3_2 = stablehlo.slice %v [3:4, 0:64, 0:32] : (tensor<4x64x32xf32>) -> tensor<1x64x32xf32>
  %l3_3 = stablehlo.reshape %l3_2 : (tensor<1x64x32xf32>) -> tensor<64x32xf32>
  %l3_4 = stablehlo.tanh %l2_8 : tensor<16x32xf32>
  %l3_5 = stablehlo.dot_general %l3_4, %l3_1, contracting_dims = [1] x [0] : (tensor<16x32xf32>, tensor<32x64xf32>) -> tensor<16x64xf32>
  %l3_6 = stablehlo.logistic %l3_5 : tensor<16x64xf32>
  %l3_7 = stablehlo.dot_general %l3_6, %l3_3, contracting_dims = [1] x [0] : (tensor<16x64xf32>, tensor<64x32xf32>) -> tensor<16x32xf32>
  %l3_8 = stablehlo.add %l2_8, %l3_7 : tensor<16x32xf32>
  return %l3_8 : tensor<16x32xf32>
}
