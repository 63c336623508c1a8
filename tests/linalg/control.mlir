func.func @main(%a: tensor<4xf32>, %p: tensor<i1>) -> (tensor<4xf32>, tensor<4xf32>) {
  %z = stablehlo.constant dense<0> : tensor<i32>
  %n = stablehlo.constant dense<3> : tensor<i32>
  %o = stablehlo.constant dense<1> : tensor<i32>
  %0:2 = stablehlo.while(%k = %z, %x = %a) : tensor<i32>, tensor<4xf32>
   cond {
    %c = stablehlo.compare LT, %k, %n : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %c : tensor<i1>
  } do {
    %j = stablehlo.add %k, %o : tensor<i32>
    %y = stablehlo.multiply %x, %x : tensor<4xf32>
    stablehlo.return %j, %y : tensor<i32>, tensor<4xf32>
  }
  %1 = "stablehlo.if"(%p) ({ %y = stablehlo.negate %a : tensor<4xf32> stablehlo.return %y : tensor<4xf32> }, { stablehlo.return %0#1 : tensor<4xf32> }) : (tensor<i1>) -> tensor<4xf32>
  return %0#1, %1 : tensor<4xf32>, tensor<4xf32> }
