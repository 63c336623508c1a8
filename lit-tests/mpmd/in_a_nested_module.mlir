// RUN: not shardc opt --passes propagate %s
// RUN: not shardc compile %s
// Fragments are seen wherever they are.
sdy.mesh @mesh = <["x"=2]>
!a = !mpmd.mesh_tensor<"a", tensor<4x8xi32>, sharding=<@a, [{"x"}, {}]>>
module {
  func.func @main(%x: !a) -> !a attributes {topology = #mpmd.topology<<"a": <["x"=2]>>>} {
    %0 = mpmd.fragment<mesh="a", origin=[], in_shardings=[<@a, [{"x"}, {}]>]> (%x) (%y: tensor<4x8xi32>) {
      %1 = stablehlo.negate %y : tensor<4x8xi32>
      mpmd.return %1 : tensor<4x8xi32>
    } : (!a) -> !a
    return %0 : !a
  }
}
