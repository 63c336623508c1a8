// RUN: shardc cost %s
// RUN: shardc check --interpret %s
// Asked for: a batch written as microbatches and worked on one after the other without all_to_all and permute around the loop
// (openxla/xla#13306).
sdy.mesh @mesh = <["data"=4]>
func.func @main(%x: tensor<1024x64xi32> {sdy.sharding = #sdy.sharding<@mesh, [{"data"}, {}]>}, %w: tensor<64x8xi32>) -> tensor<8xi32> {
  %r = stablehlo.reshape %x : (tensor<1024x64xi32>) -> tensor<2x512x64xi32>
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %one = stablehlo.constant dense<1> : tensor<i32>
  %two = stablehlo.constant dense<2> : tensor<i32>
  %none = stablehlo.constant dense<0> : tensor<8xi32>
  %l:2 = stablehlo.while(%i = %zero, %s = %none) : tensor<i32>, tensor<8xi32>
   cond {
    %go = stablehlo.compare LT, %i, %two : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %go : tensor<i1>
  } do {
    %d = stablehlo.dynamic_slice %r, %i, %zero, %zero, sizes = [1, 512, 64] : (tensor<2x512x64xi32>, tensor<i32>, tensor<i32>, tensor<i32>) -> tensor<1x512x64xi32>
    %b = stablehlo.reshape %d : (tensor<1x512x64xi32>) -> tensor<512x64xi32>
    %y = stablehlo.dot_general %b, %w, contracting_dims = [1] x [0] : (tensor<512x64xi32>, tensor<64x8xi32>) -> tensor<512x8xi32>
    %p = stablehlo.reduce(%y init: %zero) applies stablehlo.add across dimensions = [0] : (tensor<512x8xi32>, tensor<i32>) -> tensor<8xi32>
    %q = stablehlo.add %s, %p : tensor<8xi32>
    %n = stablehlo.add %i, %one : tensor<i32>
    stablehlo.return %n, %q : tensor<i32>, tensor<8xi32>
  }
  return %l#1 : tensor<8xi32>
}
