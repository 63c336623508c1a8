// RUN: shardc opt --passes planned %s
// RUN: shardc check %s
// A region over all other axes inside one that is manual along an axis of one device: that axis stays the outer one's.
module {
  sdy.mesh @mesh = <["x"=2, "y"=1, "z"=4]>
  func.func @main(%a: tensor<8x4xi32>) -> tensor<8x4xi32> {
    %0 = sdy.manual_computation(%a) in_shardings=[<@mesh, [{"y"}, {}]>] out_shardings=[<@mesh, [{"y"}, {}]>] manual_axes={"y"} (%b: tensor<8x4xi32>) {
      %1 = sdy.manual_computation(%b) in_shardings=[<@mesh, [{"x"}, {"z"}]>] out_shardings=[<@mesh, [{"x"}, {"z"}]>] manual_axes={"x", "z"} (%c: tensor<4x1xi32>) {
        %2 = stablehlo.add %c, %c : tensor<4x1xi32>
        sdy.return %2 : tensor<4x1xi32>
      } : (tensor<8x4xi32>) -> tensor<8x4xi32>
      sdy.return %1 : tensor<8x4xi32>
    } : (tensor<8x4xi32>) -> tensor<8x4xi32>
    return %0 : tensor<8x4xi32>
  }
}
