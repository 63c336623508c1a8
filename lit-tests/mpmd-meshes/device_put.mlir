// RUN: shardc opt --passes mpmd-meshes,mpmd-assign %s
// RUN: shardc check --interpret %s
// RUN: shardc compile %s
// Meshes of different devices in one program: what is stated to be on another mesh is moved there, be it one device.
module attributes {mhlo.num_partitions = 8 : i32} {
  sdy.mesh @left = <["x"=2, "y"=2]>
  sdy.mesh @right = <["z"=4], device_ids=[7, 4, 6, 5]>
  sdy.mesh @one = <[], device_ids=[2]>
  func.func @main(%a: tensor<8x4xi32> {sdy.sharding = #sdy.sharding<@left, [{"x"}, {"y"}]>}, %b: tensor<8x4xi32> {sdy.sharding = #sdy.sharding<@right, [{"z"}, {}]>})
      -> (tensor<8x4xi32> {sdy.sharding = #sdy.sharding<@right, [{}, {"z"}]>}, tensor<4xi32> {sdy.sharding = #sdy.sharding<@one, []>}, tensor<8x4xi32> {sdy.sharding = #sdy.sharding<@left, [{"y"}, {}]>}) {
    %0 = stablehlo.add %a, %a : tensor<8x4xi32>
    %1 = sdy.sharding_constraint %0 <@right, [{"z"}, {}]> : tensor<8x4xi32>
    %2 = stablehlo.multiply %1, %b : tensor<8x4xi32>
    %zero = stablehlo.constant dense<0> : tensor<i32>
    %3 = stablehlo.reduce(%2 init: %zero) applies stablehlo.add across dimensions = [0] : (tensor<8x4xi32>, tensor<i32>) -> tensor<4xi32>
    %4 = sdy.sharding_constraint %3 <@one, []> : tensor<4xi32>
    %5 = stablehlo.negate %4 : tensor<4xi32>
    return %2, %5, %b : tensor<8x4xi32>, tensor<4xi32>, tensor<8x4xi32>
  }
}
