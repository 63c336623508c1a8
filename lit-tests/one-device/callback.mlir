// RUN: shardc compile %s
// A callback in a loop, annotated as before Shardy: device 0 calls it, once an iteration.
module attributes {mhlo.num_partitions = 4 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main(%a: tensor<8x4xf32> {mhlo.sharding = "{devices=[4,1]<=[4]}"}) -> (tensor<8x4xf32> {mhlo.sharding = "{devices=[4,1]<=[4]}"}) {
    %zero = stablehlo.constant dense<0> : tensor<i32>
    %r:2 = stablehlo.while(%i = %zero, %x = %a) : tensor<i32>, tensor<8x4xf32>
     cond {
      %three = stablehlo.constant dense<3> : tensor<i32>
      %go = stablehlo.compare LT, %i, %three : (tensor<i32>, tensor<i32>) -> tensor<i1>
      stablehlo.return %go : tensor<i1>
    } do {
      %one = stablehlo.constant dense<1> : tensor<i32>
      %n = stablehlo.add %i, %one : tensor<i32>
      %y = stablehlo.sine %x : tensor<8x4xf32>
      stablehlo.custom_call @print_from_python(%n) {has_side_effect = true, mhlo.sharding = "{maximal device=0}"} : (tensor<i32>) -> ()
      %z = stablehlo.custom_call @next_from_python(%y) {has_side_effect = true, mhlo.sharding = "{maximal device=0}"} : (tensor<8x4xf32>) -> tensor<8x4xf32>
      stablehlo.return %n, %z : tensor<i32>, tensor<8x4xf32>
    }
    return %r#1 : tensor<8x4xf32>
  }
}
