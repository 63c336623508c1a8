#loc3 = loc("-":3:26)
#loc4 = loc("-":3:45)
#loc8 = loc("-":6:10)
#map = affine_map<(d0) -> (d0 + 1)>
module @forms {
  sdy.mesh @mesh = <["x"=2]> loc(#loc1)
  func.func public @main(%arg0: tensor<2xf32> loc("-":3:26), %arg1: tensor<4x4xf32> loc("-":3:45)) -> tensor<2xf32> {
    %0 = "other.rule"(%arg1) {sdy.sharding_rule = #sdy.op_sharding_rule<([i, jk])->([i, j]) {i=4, j=2, k=2} reduction={k}, custom>} : (tensor<4x4xf32>) -> tensor<4x2xf32> loc(#loc5)
    %1:2 = "other.op"(%arg0, %arg0) <{known = 1 : i8}> ({
    ^bb0(%arg2: tensor<f32> loc("-":6:10)):
      "other.go"(%arg2)[^bb1] : (tensor<f32>) -> () loc(#loc9)
    ^bb1:  // pred: ^bb0
      "other.end"(%arg2) : (tensor<f32>) -> () loc(#loc10)
    }, {
    }) {a = array<i64: 1, 2>, b = [@s::@t, unit], c = #map, d = 1.500000e+00 : bf16, e, g = #other.thing} : (tensor<2xf32>, tensor<2xf32>) -> (tensor<2xf32>, i32) loc(#loc14)
    %cst = stablehlo.constant dense_resource<weights> : tensor<2xf32> loc(#loc11)
    %2 = stablehlo.add %1#0, %cst : tensor<2xf32> loc(#loc12)
    return %2 : tensor<2xf32> loc(#loc13)
  } loc(#loc2)
} loc(#loc)
#loc = loc("-":1:1)
#loc1 = loc("-":2:3)
#loc2 = loc("-":3:3)
#loc5 = loc("-":4:10)
#loc6 = loc("u")
#loc7 = loc("v":1:2)
#loc9 = loc("-":7:7)
#loc10 = loc("-":9:7)
#loc11 = loc("-":12:10)
#loc12 = loc("-":13:10)
#loc13 = loc("-":14:5)
#loc14 = loc(fused<"m">[#loc6, #loc7])

{-#
  dialect_resources: {
    builtin: {
      weights: "0x040000000000803F00000040"
    }
  }
#-}
