// RUN: shardc check %s
// RUN: shardc compile %s
// A loop reads an element of a small array in every iteration: the array is gathered once, before the loop, and no iteration sends
// anything. On CPUs, a collective in a loop that also calls back may wait forever: the callback's argument waits for a thread of XLA's,
// and all of them wait for the collective.
sdy.mesh @mesh = <["x"=4]>
func.func @main(%a: tensor<8xi8> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}]>}) -> (tensor<8xi8> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}]>}, tensor<i32>) {
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %0:3 = stablehlo.while(%all = %a, %i = %zero, %sum = %zero) : tensor<8xi8>, tensor<i32>, tensor<i32>
  cond {
    %n = stablehlo.constant dense<8> : tensor<i32>
    %1 = stablehlo.compare LT, %i, %n, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %1 : tensor<i1>
  } do {
    %one = stablehlo.constant dense<1> : tensor<i32>
    %1 = stablehlo.dynamic_slice %all, %i, sizes = [1] : (tensor<8xi8>, tensor<i32>) -> tensor<1xi8>
    %2 = stablehlo.reshape %1 : (tensor<1xi8>) -> tensor<i8>
    %3 = stablehlo.convert %2 : (tensor<i8>) -> tensor<i32>
    %4 = stablehlo.add %sum, %3 : tensor<i32>
    %5 = stablehlo.add %i, %one : tensor<i32>
    stablehlo.return %all, %5, %4 : tensor<8xi8>, tensor<i32>, tensor<i32>
  }
  return %0#0, %0#2 : tensor<8xi8>, tensor<i32>
}
