// RUN: shardc opt --passes mpmd-assign,mpmd-partition %s
// RUN: shardc check --interpret %s
// RUN: shardc run --interpret %s
// Meshes of other axes and sizes, over part of the devices in any order: what crosses is gathered before and sliced after,
// and a device of the smaller mesh sends to several of the larger.
#topology = #mpmd.topology<<"one": <["x"=2], device_ids=[5, 1]>>, <"two": <["y"=2, "z"=2], device_ids=[0, 6, 2, 3]>>>
func.func @main(%a: tensor<4x8xi32> {sdy.sharding = #sdy.sharding<@one, [{"x"}, {}]>}, %b: tensor<4x8xi32>) -> (tensor<4x8xi32> {sdy.sharding = #sdy.sharding<@two, [{"y"}, {"z"}]>}, tensor<4x8xi32>) attributes {topology = #topology} {
  %0 = mpmd.named_computation<"first"> (%a) (%x: tensor<4x8xi32>) {
    %2 = stablehlo.add %x, %x : tensor<4x8xi32>
    mpmd.return %2 : tensor<4x8xi32>
  } : (tensor<4x8xi32>) -> tensor<4x8xi32>
  %1 = mpmd.named_computation<"second"> (%0, %b) (%x: tensor<4x8xi32>, %y: tensor<4x8xi32>) {
    %2 = stablehlo.multiply %x, %y : tensor<4x8xi32>
    mpmd.return %2 : tensor<4x8xi32>
  } : (tensor<4x8xi32>, tensor<4x8xi32>) -> tensor<4x8xi32>
  %3 = mpmd.named_computation<"first"(1)> (%1, %a) (%x: tensor<4x8xi32>, %y: tensor<4x8xi32>) {
    %2 = stablehlo.subtract %x, %y : tensor<4x8xi32>
    mpmd.return %2 : tensor<4x8xi32>
  } : (tensor<4x8xi32>, tensor<4x8xi32>) -> tensor<4x8xi32>
  return %1, %3 : tensor<4x8xi32>, tensor<4x8xi32>
}
