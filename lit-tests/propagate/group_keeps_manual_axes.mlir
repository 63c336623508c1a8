// RUN: shardc opt --passes propagate %s
// What the group of its result gives to a manual computation leaves the manual axes where they are.
sdy.mesh @mesh = <["x"=2, "w"=2, "y"=2]>
func.func @main(%a: tensor<8x4xf32>, %b: tensor<8x4xf32>) -> (tensor<8x4xf32>, tensor<8x4xf32> {sdy.sharding=#sdy.sharding<@mesh,[{?},{"y",?}]>}) {
  %0 = sdy.manual_computation(%a) in_shardings=[<@mesh, [{"x", "w"}, {?}]>] out_shardings=[<@mesh, [{"x", ?}, {?}]>] manual_axes={"x"} (%c: tensor<4x4xf32>) {
    %1 = stablehlo.negate %c : tensor<4x4xf32>
    sdy.return %1 : tensor<4x4xf32>
  } : (tensor<8x4xf32>) -> tensor<8x4xf32>
  %2 = stablehlo.negate %b : tensor<8x4xf32>
  %3 = stablehlo.convert %2 : tensor<8x4xf32>
  sdy.sharding_group %0 group_id=1 : tensor<8x4xf32>
  sdy.sharding_group %2 group_id=1 : tensor<8x4xf32>
  return %0, %3 : tensor<8x4xf32>, tensor<8x4xf32>
}
