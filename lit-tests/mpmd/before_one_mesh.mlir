// RUN: not shardc opt --passes import %s
// RUN: not shardc opt --passes propagate %s
// RUN: not shardc opt --passes partition %s
// RUN: not shardc show --all %s
// Passes for one mesh refuse fragments instead of inlining them.
#topology = #mpmd.topology<<"a": <["x"=2]>>, <"b": <["y"=2]>>>
!a = !mpmd.mesh_tensor<"a", tensor<4x8xi32>>
!b = !mpmd.mesh_tensor<"b", tensor<4x8xi32>>
func.func @main(%x: !a) -> !b attributes {topology = #topology} {
  %0 = mpmd.fragment<mesh="a", origin=[]> (%x) (%y: tensor<4x8xi32>) {
    %2 = stablehlo.negate %y : tensor<4x8xi32>
    mpmd.return %2 : tensor<4x8xi32>
  } : (!a) -> !a
  %1 = mpmd.transfer %0 : (!a) -> !b
  return %1 : !b
}
