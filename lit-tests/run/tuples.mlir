// RUN: shardc run --interpret %s
// RUN: shardc check --interpret %s
// RUN: shardc opt --passes import %s
// Elements of tuples are the values that the tuples were built from: also of tuples of tuples, in loops and through calls.
sdy.mesh @mesh = <["x"=2]>
func.func @main(%a: tensor<4xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}]>}, %b: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
  %t = stablehlo.tuple %a, %b : tuple<tensor<4xf32>, tensor<4xf32>>
  %u = stablehlo.tuple %t, %b : tuple<tuple<tensor<4xf32>, tensor<4xf32>>, tensor<4xf32>>
  %v = stablehlo.get_tuple_element %u[0] : (tuple<tuple<tensor<4xf32>, tensor<4xf32>>, tensor<4xf32>>) -> tuple<tensor<4xf32>, tensor<4xf32>>
  %x = stablehlo.get_tuple_element %v[0] : (tuple<tensor<4xf32>, tensor<4xf32>>) -> tensor<4xf32>
  %swapped = call @swap(%v) : (tuple<tensor<4xf32>, tensor<4xf32>>) -> tuple<tensor<4xf32>, tensor<4xf32>>
  %y = stablehlo.get_tuple_element %swapped[0] : (tuple<tensor<4xf32>, tensor<4xf32>>) -> tensor<4xf32>
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %one = stablehlo.constant dense<1> : tensor<i32>
  %three = stablehlo.constant dense<3> : tensor<i32>
  %loop:2 = stablehlo.while(%i = %zero, %s = %x) : tensor<i32>, tensor<4xf32>
  cond {
    %less = stablehlo.compare LT, %i, %three : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %less : tensor<i1>
  } do {
    %pair = stablehlo.tuple %i, %s : tuple<tensor<i32>, tensor<4xf32>>
    %j = stablehlo.get_tuple_element %pair[0] : (tuple<tensor<i32>, tensor<4xf32>>) -> tensor<i32>
    %r = stablehlo.get_tuple_element %pair[1] : (tuple<tensor<i32>, tensor<4xf32>>) -> tensor<4xf32>
    %next = stablehlo.add %j, %one : tensor<i32>
    %sum = stablehlo.add %r, %y : tensor<4xf32>
    stablehlo.return %next, %sum : tensor<i32>, tensor<4xf32>
  }
  return %loop#1, %y : tensor<4xf32>, tensor<4xf32>
}
func.func private @swap(%t: tuple<tensor<4xf32>, tensor<4xf32>>) -> tuple<tensor<4xf32>, tensor<4xf32>> {
  %0 = stablehlo.get_tuple_element %t[0] : (tuple<tensor<4xf32>, tensor<4xf32>>) -> tensor<4xf32>
  %1 = stablehlo.get_tuple_element %t[1] : (tuple<tensor<4xf32>, tensor<4xf32>>) -> tensor<4xf32>
  %2 = stablehlo.tuple %1, %0 : tuple<tensor<4xf32>, tensor<4xf32>>
  return %2 : tuple<tensor<4xf32>, tensor<4xf32>>
}
