// RUN: shardc run --interpret %s
// RUN: shardc check --interpret %s
// Two replicas of four partitions, each replica with inputs of its own. Sizes don't divide, and devices stand backwards.
module attributes {mhlo.num_replicas = 2 : i32, mhlo.num_partitions = 4 : i32} {
  sdy.mesh @mesh = <["x"=2, "y"=2], device_ids=[3, 2, 1, 0]>

  func.func @main(%a: tensor<7x4xi32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {"y"}]>}) -> (tensor<7x4xi32>, tensor<7x8xi32>, tensor<i32>) {
    // Between replicas.
    %other = "stablehlo.collective_permute"(%a) <{source_target_pairs = dense<[[0, 1], [1, 0]]> : tensor<2x2xi64>}> : (tensor<7x4xi32>) -> tensor<7x4xi32>
    %both = "stablehlo.all_gather"(%a) <{all_gather_dim = 1 : i64, replica_groups = dense<[[1, 0]]> : tensor<1x2xi64>}> : (tensor<7x4xi32>) -> tensor<7x8xi32>
    // Over all partitions of one replica, and who it is.
    %zero = stablehlo.constant dense<0> : tensor<i32>
    %sum = stablehlo.reduce(%other init: %zero) applies stablehlo.add across dimensions = [0, 1] : (tensor<7x4xi32>, tensor<i32>) -> tensor<i32>
    %id = stablehlo.replica_id : tensor<ui32>
    %who = stablehlo.convert %id : (tensor<ui32>) -> tensor<i32>
    %thousand = stablehlo.constant dense<1000> : tensor<i32>
    %who_times = stablehlo.multiply %who, %thousand : tensor<i32>
    %told = stablehlo.add %sum, %who_times : tensor<i32>
    // Over replicas and partitions.
    %all = sdy.manual_computation(%a) in_shardings=[<@mesh, [{}, {"x"}]>] out_shardings=[<@mesh, [{}, {"x"}]>] manual_axes={"x"} (%b: tensor<7x2xi32>) {
      %r = "stablehlo.all_reduce"(%b) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, replica_groups = dense<[[0, 2, 4, 6], [1, 3, 5, 7]]> : tensor<2x4xi64>, use_global_device_ids}> ({
      ^bb0(%p: tensor<i32>, %q: tensor<i32>):
        %s = stablehlo.add %p, %q : tensor<i32>
        stablehlo.return %s : tensor<i32>
      }) : (tensor<7x2xi32>) -> tensor<7x2xi32>
      sdy.return %r : tensor<7x2xi32>
    } : (tensor<7x4xi32>) -> tensor<7x4xi32>
    return %all, %both, %told : tensor<7x4xi32>, tensor<7x8xi32>, tensor<i32>
  }
}
