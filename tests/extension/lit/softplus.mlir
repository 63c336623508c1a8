// RUN: shardc opt --acme-fuse %s
// RUN: shardc opt --pass-pipeline='builtin.module(acme{search=greedy target=acme-box})' %s
// RUN: not shardc opt --acme-fuse=deep=true %s
// The logarithm of one plus an exponential becomes one op of ACME's, which is sharded like any elementwise op.
sdy.mesh @mesh = <["x"=4]>
func.func @main(%a: tensor<8x4xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}) -> tensor<8x4xf32> {
  %0 = stablehlo.exponential %a : tensor<8x4xf32>
  %1 = stablehlo.log_plus_one %0 : tensor<8x4xf32>
  return %1 : tensor<8x4xf32>
}
