// RUN: shardc opt --passes import,propagate,merge-shifts %s
// A slice of a pad is one shift of the padded tensor.
sdy.mesh @mesh = <["x"=4]>
func.func @main(%a: tensor<128x1024xi32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}) -> (tensor<128x1024xi32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}) {
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %0 = stablehlo.pad %a, %zero, low = [1, 0], high = [1, 0], interior = [0, 0] : (tensor<128x1024xi32>, tensor<i32>) -> tensor<130x1024xi32>
  %1 = stablehlo.slice %0 [0:128, 0:1024] : (tensor<130x1024xi32>) -> tensor<128x1024xi32>
  %2 = stablehlo.slice %0 [2:130, 0:1024] : (tensor<130x1024xi32>) -> tensor<128x1024xi32>
  %3 = stablehlo.add %1, %2 : tensor<128x1024xi32>
  return %3 : tensor<128x1024xi32>
}
