// RUN: shardc compile %s
// RUN: shardc check %s
// A strided slice of a sharded dimension without rows is computed in its shards.
sdy.mesh @mesh = <["a"=4]>

func.func @main(%x: tensor<0x4xui32> {sdy.sharding = #sdy.sharding<@mesh, [{"a"}, {}]>}) -> tensor<0x4xui32> {
  %0 = stablehlo.slice %x [0:0:3, 0:4] : (tensor<0x4xui32>) -> tensor<0x4xui32>
  return %0 : tensor<0x4xui32>
}
