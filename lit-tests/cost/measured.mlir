// RUN: shardc cost --target ../compiler/examples/measured.toml %s
// A machine with measured figures: a sum of 1 MiB among four devices takes 8 us and 1.5 MiB at 40 GB/s, the product its
// FLOPs at the rate of bf16, and every op and the step their start-ups.
module attributes {mhlo.num_partitions = 4 : i32, mhlo.num_replicas = 1 : i32, shardc.meshes = {mesh = "<[\22x\22=4]>"}} {
  func.func @main(%a: tensor<512x1024xbf16> {shardc.global_type = tensor<512x4096xbf16>, shardc.sharding = "<@mesh, [{}, {\22x\22}]>"}, %b: tensor<1024x1024xbf16> {shardc.global_type = tensor<4096x1024xbf16>, shardc.sharding = "<@mesh, [{\22x\22}, {}]>"}) -> (tensor<512x1024xbf16> {shardc.global_type = tensor<512x1024xbf16>}) {
    %0 = stablehlo.dot_general %a, %b, contracting_dims = [1] x [0] : (tensor<512x1024xbf16>, tensor<1024x1024xbf16>) -> tensor<512x1024xbf16>
    %1 = "stablehlo.all_reduce"(%0) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, replica_groups = dense<[[0, 1, 2, 3]]> : tensor<1x4xi64>, use_global_device_ids}> ({
    ^bb0(%x: tensor<bf16>, %y: tensor<bf16>):
      %s = stablehlo.add %x, %y : tensor<bf16>
      stablehlo.return %s : tensor<bf16>
    }) : (tensor<512x1024xbf16>) -> tensor<512x1024xbf16>
    return %1 : tensor<512x1024xbf16>
  }
}
