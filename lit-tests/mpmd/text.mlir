// RUN: shardc opt %s
// Every op of the dialect: its text is read and printed.
!whole = tensor<4x8xf32>
!m1 = !mpmd.mesh_tensor<"m1", tensor<4x8xf32>, sharding=<@m1, [{"x"}, {}]>>
!m2 = !mpmd.mesh_tensor<"m2", tensor<4x8xf32>>
!host = !mpmd.mesh_tensor<"m2", tensor<4x8xf32>, memory_kind="pinned_host">
#topology = #mpmd.topology<<"m1": <["x"=2]>>, <"m2": <["y"=3], device_ids=[6, 4, 2]>>>
module attributes {kept = #mpmd.user_origin<"f"(1)>, use_set = #mpmd.meshes_with_origins<"m3"["a", "b"]>} {
  func.func @main(%a: !m1) -> (!m2, !host) attributes {"topology" = #topology} {
    %0:2 = mpmd.fragment<mesh="m1", origin=["f", "g"(1)], stage=2, in_shardings=[<@m1, [{"x"}, {?}]>], out_shardings=[<@m1, [{"x"}, {}]>, <@m1, [{}, {}]>]> (%a) {call_counter = 3 : ui32} (%b: !whole) {
      %1 = stablehlo.negate %b : !whole
      mpmd.return %1, %b : !whole, !whole
    } : (!m1) -> (!m1, !mpmd.mesh_tensor<"m1", tensor<4x8xf32>>)
    %2 = mpmd.transfer {note = "late"} %0#0 : (!m1) -> !m2
    %3 = mpmd.fragment_call<mesh="m2", origin=[]> @double(%2) : (!m2) -> !m2
    %4 = mpmd.transfer %3 : (!m2) -> !host
    %5 = mpmd.fragment<mesh="m2", origin=[]> () () {
      %c = stablehlo.constant dense<0.000000e+00> : !whole
      mpmd.return %c : !whole
    } : () -> !m2
    return %3, %4 : !m2, !host
  }
  func.func private @double(%a: !whole) -> !whole attributes {mesh_shape = #sdy.mesh<["y"=3]>} {
    %0 = stablehlo.add %a, %a : !whole
    return %0 : !whole
  }
  func.func private @before(%a: !whole) -> !whole attributes {topology = #topology} {
    %0 = mpmd.named_tensor %a name="n" : !whole
    %1 = mpmd.named_computation<"f"(1)> (%0) (%b: !whole) {
      mpmd.return %b : !whole
    } : (!whole) -> !whole
    %2 = mpmd.broadcast %1 : !whole
    %3 = mpmd.reduce<max> %2, %a : (!whole, !whole) -> !whole
    %4 = mpmd.reduce<none> %3 : (!whole) -> !whole
    %5 = mpmd.for (%4) {iterations = 4 : ui32, unroll_factor = 2 : ui32} (%b: !whole, %i: tensor<ui32>) {
      %7 = mpmd.call @double(%b) {call_counter = 0 : ui32} : (!whole) -> !whole
      mpmd.return %7 : !whole
    } : !whole
    %6 = mpmd.assign {origin = "f"} %5 : (!whole) -> !m2
    %7 = mpmd.unassign %6 : (!m2) -> !whole
    return %7 : !whole
  }
}
