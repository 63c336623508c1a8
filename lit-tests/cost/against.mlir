// RUN: shardc cost --target v5e:2x2 --against cost/against.json %s
// RUN: shardc cost --target v5e:2x2 --against cost/against.json.gz --against-steps 1 --json %s
// RUN: not shardc cost --against cost/kernels.toml %s
// RUN: not shardc cost --against cost/no_such_trace.json %s
// RUN: not shardc cost --against-steps 2 %s
// Two steps on two devices of a TPU: the product is found by its source line, the sum by its name, and the copy is in the
// profile only.
sdy.mesh @mesh = <["x"=4]>
func.func @main(%a: tensor<1024x16384xbf16> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"x"}]>}, %b: tensor<16384x8192xbf16> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}) -> (tensor<1024x8192xbf16> {sdy.sharding = #sdy.sharding<@mesh, [{}, {}]>}) {
  %s = sdy.manual_computation(%a, %b) in_shardings=[<@mesh, [{}, {"x"}]>, <@mesh, [{"x"}, {}]>] out_shardings=[<@mesh, [{}, {}]>] manual_axes={"x"} (%l: tensor<1024x4096xbf16>, %r: tensor<4096x8192xbf16>) {
    %0 = stablehlo.dot_general %l, %r, contracting_dims = [1] x [0] : (tensor<1024x4096xbf16>, tensor<4096x8192xbf16>) -> tensor<1024x8192xbf16>
    %1 = "stablehlo.all_reduce"(%0) <{replica_groups = dense<[[0, 1, 2, 3]]> : tensor<1x4xi64>, channel_handle = #stablehlo.channel_handle<handle = 1, type = 0>, use_global_device_ids}> ({
    ^bb0(%p: tensor<bf16>, %q: tensor<bf16>):
      %t = stablehlo.add %p, %q : tensor<bf16>
      stablehlo.return %t : tensor<bf16>
    }) : (tensor<1024x8192xbf16>) -> tensor<1024x8192xbf16>
    sdy.return %1 : tensor<1024x8192xbf16>
  } : (tensor<1024x16384xbf16>, tensor<16384x8192xbf16>) -> tensor<1024x8192xbf16>
  return %s : tensor<1024x8192xbf16>
}
