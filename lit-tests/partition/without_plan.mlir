// RUN: shardc opt --passes partition --split-input-file --verify-diagnostics %s
// Local types fit in each of these, but a device's result would not be its shard of the global result.

// A sum over a sharded dimension whose result nobody reduces.
sdy.mesh @mesh = <["x"=4]>
func.func @main(
    %a: tensor<32xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}]>},
    %b: tensor<32x4xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}) -> tensor<4xf32> {
  // expected-error@+1 {{'stablehlo.dot_general' reduces values of several devices, but the result is replicated}}
  %0 = stablehlo.dot_general %a, %b, contracting_dims = [0] x [0] : (tensor<32xf32>, tensor<32x4xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}
// -----
// Shards of the same size of different rows.
sdy.mesh @mesh = <["x"=2, "y"=2]>
func.func @main(
    %a: tensor<4xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}]>},
    %b: tensor<4xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"y"}]>})
    -> (tensor<4xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}]>}) {
  // expected-error@+1 {{'stablehlo.add' can't compute with operand 0 sharded <@mesh, [{"x"}]> and operand 1 sharded <@mesh, [{"y"}]>}}
  %0 = stablehlo.add %a, %b {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"x"}]>]>} : tensor<4xf32>
  return %0 : tensor<4xf32>
}
// -----
// A constraint between them.
sdy.mesh @mesh = <["x"=2, "y"=2]>
func.func @main(%a: tensor<4xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}]>})
    -> (tensor<4xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"y"}]>}) {
  // expected-error@+1 {{the program still has a constraint}}
  %0 = sdy.sharding_constraint %a <@mesh, [{"y"}]> : tensor<4xf32>
  return %0 : tensor<4xf32>
}
// -----
// What is returned is sharded, but @main doesn't say so.
sdy.mesh @mesh = <["x"=2]>
func.func @main(%a: tensor<4xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}]>}) -> tensor<4xf32> {
  // expected-error@+1 {{operand 0 of 'func.return' is sharded <@mesh, [{"x"}]>, but the value it returns as result 0 of @main is replicated}}
  return %a : tensor<4xf32>
}
// -----
// A square whose rows and columns trade places each time around the loop.
sdy.mesh @mesh = <["x"=2, "y"=2]>
func.func @main(%a: tensor<4x4xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {"y"}]>}, %n: tensor<i32>)
    -> (tensor<4x4xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {"y"}]>}) {
  %0:2 = stablehlo.while(%b = %a, %i = %n) : tensor<4x4xf32>, tensor<i32> attributes {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"x"}, {"y"}]>, <@mesh, []>]>}
  cond {
    %1 = stablehlo.compare LT, %i, %n : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %1 : tensor<i1>
  } do {
    %2 = stablehlo.transpose %b, dims = [1, 0] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"y"}, {"x"}]>]>} : (tensor<4x4xf32>) -> tensor<4x4xf32>
    // expected-error@+1 {{operand 0 of 'stablehlo.return' is sharded <@mesh, [{"y"}, {"x"}]>, but the value it returns as result 0 of 'stablehlo.while' is sharded <@mesh, [{"x"}, {"y"}]>}}
    stablehlo.return %2, %i : tensor<4x4xf32>, tensor<i32>
  }
  return %0#0 : tensor<4x4xf32>
}
// -----
// What is added to partial sums would count on every device.
sdy.mesh @mesh = <["x"=2]>
func.func @main(%a: tensor<4xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}], unreduced={"x"}>}, %b: tensor<4xf32>)
    -> (tensor<4xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}], unreduced={"x"}>}) {
  // expected-error@+1 {{'stablehlo.add' can't be computed from partial results: operand 0 is sharded <@mesh, [{}], unreduced={"x"}>}}
  %0 = stablehlo.add %a, %b {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}], unreduced={"x"}>]>} : tensor<4xf32>
  return %0 : tensor<4xf32>
}
// -----
// Partitioned already, its shards would be taken for the whole.
sdy.mesh @mesh = <["x"=2]>
// expected-error@+1 {{the program has a mesh, but @main states global types}}
func.func @main(%a: tensor<2xf32> {shardc.global_type = tensor<4xf32>}) -> tensor<2xf32> {
  return %a : tensor<2xf32>
}
