// RUN: shardc cost --target v5e:2x2 %s
// RUN: shardc cost --json %s
// RUN: shardc cost --target cost/kernels.toml %s
// Attention is priced by its products (half of 4 * 2 * 2048 * 2048 * 128 for each head and example), a kernel with an
// author's estimate or an attribute by what these state; what remains is named with its share of the bytes, until the
// target's file has a row for it.
sdy.mesh @mesh = <["x"=4]>
func.func @main(%q: tensor<4x8x2048x128xbf16> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}, {}, {}]>}, %a: tensor<1024x1024xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}) -> (tensor<4x8x2048x128xbf16>, tensor<1024x1024xf32>) {
  %0:2 = sdy.manual_computation(%q, %a) in_shardings=[<@mesh, [{"x"}, {}, {}, {}]>, <@mesh, [{"x"}, {}]>] out_shardings=[<@mesh, [{"x"}, {}, {}, {}]>, <@mesh, [{"x"}, {}]>] manual_axes={"x"} (%p: tensor<1x8x2048x128xbf16>, %b: tensor<256x1024xf32>) {
    %1 = stablehlo.custom_call @tpu_custom_call(%p, %p, %p) {kernel_name = "_flash_attention_kernel"} : (tensor<1x8x2048x128xbf16>, tensor<1x8x2048x128xbf16>, tensor<1x8x2048x128xbf16>) -> tensor<1x8x2048x128xbf16>
    %2 = stablehlo.custom_call @tpu_custom_call(%b) {kernel_name = "estimated", backend_config = "{\22custom_call_config\22: {\22body\22: \22\22, \22cost_estimate\22: {\22flops\22: 1000000000, \22transcendentals\22: 0, \22bytes_accessed\22: 1048576}}}"} : (tensor<256x1024xf32>) -> tensor<256x1024xf32>
    %3 = stablehlo.custom_call @stated_library(%2) {shardc.flops = 2.0e9 : f64} : (tensor<256x1024xf32>) -> tensor<256x1024xf32>
    %4 = stablehlo.custom_call @tpu_custom_call(%3) {kernel_name = "acme_scan"} : (tensor<256x1024xf32>) -> tensor<256x1024xf32>
    %5 = stablehlo.custom_call @tpu_custom_call(%4) {kernel_name = "acme_scan"} : (tensor<256x1024xf32>) -> tensor<256x1024xf32>
    %6 = stablehlo.custom_call @acme_sort(%5) : (tensor<256x1024xf32>) -> tensor<256x1024xf32>
    sdy.return %1, %6 : tensor<1x8x2048x128xbf16>, tensor<256x1024xf32>
  } : (tensor<4x8x2048x128xbf16>, tensor<1024x1024xf32>) -> (tensor<4x8x2048x128xbf16>, tensor<1024x1024xf32>)
  return %0#0, %0#1 : tensor<4x8x2048x128xbf16>, tensor<1024x1024xf32>
}
