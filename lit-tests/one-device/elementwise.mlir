// RUN: shardc opt --passes one-device %s
// RUN: shardc check --interpret %s
// RUN: shardc run --interpret %s
// An op on one device alone runs on it alone, with that device's number; the others get its result.
sdy.mesh @mesh = <["x"=4]>
sdy.mesh @second = <[], device_ids=[1]>
sdy.mesh @third = <[], device_ids=[2]>
func.func @main(%a: tensor<4xi32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}]>}) -> (tensor<4xi32> {sdy.sharding = #sdy.sharding<@mesh, [{}]>}, tensor<4xi32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}]>}) {
  %id = stablehlo.partition_id : tensor<ui32>
  %here = stablehlo.convert %id : (tensor<ui32>) -> tensor<i32>
  %all = stablehlo.broadcast_in_dim %here, dims = [] : (tensor<i32>) -> tensor<4xi32>
  %hundred = stablehlo.constant dense<100> : tensor<4xi32>
  %scaled = stablehlo.multiply %all, %hundred : tensor<4xi32>
  %0 = stablehlo.add %a, %scaled {sdy.sharding = #sdy.sharding_per_value<[#sdy.sharding<@third, []>]>} : tensor<4xi32>
  %1 = stablehlo.add %0, %all {sdy.sharding = #sdy.sharding_per_value<[#sdy.sharding<@second, []>]>} : tensor<4xi32>
  %2 = stablehlo.subtract %1, %a : tensor<4xi32>
  return %1, %2 : tensor<4xi32>, tensor<4xi32>
}
