// RUN: shardc opt --passes sharded,custom-partitioning %s
// RUN: not shardc opt --passes sharded,one-device,cse,partition %s
// Without a rule nothing is propagated through the op: its results are replicated. The pass partition refuses it by itself, too.
sdy.mesh @mesh = <["a"=2]>
func.func @main(%x: tensor<8xf32>) -> (tensor<8xf32>, tensor<f32>) {
  %0:2 = stablehlo.custom_call @CustomSPMDPartitioning(%x) {api_version = 2 : i32, backend_config = "7"} : (tensor<8xf32>) -> (tensor<8xf32>, tensor<f32>)
  return %0#0, %0#1 : tensor<8xf32>, tensor<f32>
}
