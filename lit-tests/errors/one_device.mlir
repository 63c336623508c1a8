// RUN: not shardc opt --passes plan %s
// What @main takes and gives is on all devices, and an op runs on one or on all.
sdy.mesh @first = <[], device_ids=[0]>
sdy.mesh @second = <[], device_ids=[1]>
func.func @main(%a: tensor<8xf32> {sdy.sharding = #sdy.sharding<@first, []>}) -> (tensor<8xf32> {sdy.sharding = #sdy.sharding<@second, []>}, tensor<8xf32>) {
  %0:2 = stablehlo.custom_call @two(%a) {sdy.sharding = #sdy.sharding_per_value<[<@first, []>, <@second, []>]>} : (tensor<8xf32>) -> (tensor<8xf32>, tensor<8xf32>)
  return %0#0, %0#1 : tensor<8xf32>, tensor<8xf32>
}
