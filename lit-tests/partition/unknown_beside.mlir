// RUN: shardc compile %s
// A module inside the module, a function with branches and an op of another dialect stay beside @main as they are.
module {
  module @kernels {
    func.func @kernel(%a: tensor<4xf32>) -> tensor<4xf32> {
      return %a : tensor<4xf32>
    }
  }
  "mine.global"() {sym_name = "state"} : () -> ()
  sdy.mesh @mesh = <["x"=2]>
  func.func @main(%a: tensor<8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}]>}) -> tensor<8xf32> {
    %0 = stablehlo.negate %a : tensor<8xf32>
    return %0 : tensor<8xf32>
  }
  func.func @branches(%c: i1) {
    %n = arith.constant 3 : i32
    cf.cond_br %c, ^bb1, ^bb2(%n : i32)
  ^bb1:
    cf.br ^bb2(%n : i32)
  ^bb2(%m: i32):
    return
  }
}
