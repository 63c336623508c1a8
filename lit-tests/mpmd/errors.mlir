// RUN: not shardc opt %s
// What is wrong with a program over several meshes is said where it stands.
#topology = #mpmd.topology<<"m1": <["x"=2]>>, <"m2": <["x"=4]>>>
!m1 = !mpmd.mesh_tensor<"m1", tensor<4x6xf32>>
!m2 = !mpmd.mesh_tensor<"m2", tensor<4x6xf32>>
func.func @main(%a: !m1, %b: !m2, %t: tensor<4x6xf32>) attributes {topology = #topology} {
  %0 = mpmd.fragment<mesh="m1", origin=[]> (%b) (%x: tensor<4x6xf32>) {
    mpmd.return %x : tensor<4x6xf32>
  } : (!m2) -> !m1
  %1 = mpmd.transfer %a : (!m1) -> !mpmd.mesh_tensor<"m2", tensor<6x4xf32>>
  %2 = mpmd.transfer %a : (!m1) -> !mpmd.mesh_tensor<"m3", tensor<4x6xf32>>
  %3 = mpmd.transfer %a : (!m1) -> !mpmd.mesh_tensor<"m2", tensor<4x6xf32>, sharding=<@m2, [{}, {"x"}]>>
  %4 = mpmd.transfer %a : (!m1) -> !mpmd.mesh_tensor<"m2", tensor<4x6xf32>, sharding=<@m2, [{"y"}, {}]>>
  %5 = mpmd.transfer %a : (!m1) -> !mpmd.mesh_tensor<"m2", tensor<4x6xf32>, sharding=<@m2, [{"x"}]>>
  %6 = mpmd.transfer %a : (!m1) -> !mpmd.mesh_tensor<"m2", tensor<4x6xf32>, memory_kind="disk">
  %7 = mpmd.assign %t : (tensor<4x6xf32>) -> !mpmd.mesh_tensor<"m1", tensor<4x6xf32>, sharding=<@m1, [{"x"}, {}]>>
  %8 = mpmd.reduce<none> %t, %t : (tensor<4x6xf32>, tensor<4x6xf32>) -> tensor<4x6xf32>
  %9 = mpmd.reduce<sum> %t : (tensor<4x6xf32>) -> tensor<4x6xf32>
  %10 = mpmd.fragment<mesh="m1", origin=[], stage=1> (%a) (%x: tensor<4x6xf32>) {
    mpmd.return %x : tensor<4x6xf32>
  } : (!m1) -> !m1
  %11 = mpmd.fragment<mesh="m1", origin=["f"]> (%a) (%x: tensor<6x4xf32>) {
    mpmd.return %x : tensor<6x4xf32>
  } : (!m1) -> !m1
  %12 = mpmd.for (%t) {iterations = 5 : ui32, unroll_factor = 2 : ui32} (%x: tensor<4x6xf32>, %i: tensor<ui32>) {
    mpmd.return %x : tensor<4x6xf32>
  } : tensor<4x6xf32>
  %13 = mpmd.fragment_call<mesh="m2", origin=[]> @half(%b) : (!m2) -> !m2
  %14 = mpmd.call @half(%t) {call_counter = 1} : (tensor<4x6xf32>) -> tensor<4x6xf32>
  return
}
func.func private @half(%a: tensor<2x6xf32>) -> tensor<2x6xf32> {
  return %a : tensor<2x6xf32>
}
func.func private @shared(%a: tensor<f32>) attributes {topology = #mpmd.topology<<"m1": <["x"=2]>>, <"m1": <["x"=2], device_ids=[1, 2]>>, <"m3": <["x"=2], device_ids=[1]>>>} {
  return
}
