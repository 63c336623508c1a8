// RUN: shardc opt --passes mpmd-partition %s
// RUN: shardc check --interpret %s
// A program that is written as fragments already. Two that are alike are one function; what a fragment says of its operands and
// results holds, and the transfer between sharded and replicated is a gather on the mesh that it leaves.
#topology = #mpmd.topology<<"a": <["x"=2]>>, <"b": <["y"=2]>>>
!a = !mpmd.mesh_tensor<"a", tensor<4x8xi32>>
!rows = !mpmd.mesh_tensor<"a", tensor<4x8xi32>, sharding=<@a, [{"x"}, {}]>>
!b = !mpmd.mesh_tensor<"b", tensor<4x8xi32>>
func.func @main(%x: !rows, %w: !a) -> (!b, !a) attributes {topology = #topology} {
  %0 = mpmd.fragment<mesh="a", origin=["f"]> (%x, %w) (%y: tensor<4x8xi32>, %v: tensor<4x8xi32>) {
    %4 = stablehlo.add %y, %v : tensor<4x8xi32>
    mpmd.return %4 : tensor<4x8xi32>
  } : (!rows, !a) -> !rows
  %1 = mpmd.fragment<mesh="a", origin=["f"]> (%0, %w) (%y: tensor<4x8xi32>, %v: tensor<4x8xi32>) {
    %4 = stablehlo.add %y, %v : tensor<4x8xi32>
    mpmd.return %4 : tensor<4x8xi32>
  } : (!rows, !a) -> !rows
  %2 = mpmd.transfer %1 : (!rows) -> !b
  %3 = mpmd.fragment<mesh="a", origin=[], out_shardings=[<@a, [{}, {"x"}]>]> (%1) (%y: tensor<4x8xi32>) {
    %4 = stablehlo.negate %y : tensor<4x8xi32>
    mpmd.return %4 : tensor<4x8xi32>
  } : (!rows) -> !a
  return %2, %3 : !b, !a
}
