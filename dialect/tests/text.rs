//! Generic text survives a round trip byte for byte.

use dialect::diagnostic::Diagnostics;

fn round_trip(text: &str) {
    let mut diagnostics = Diagnostics::default();
    let program = dialect::parse(text, &mut diagnostics);
    assert!(!diagnostics.has_errors(), "{diagnostics:?}");
    let printed = dialect::print(&program);
    let again = dialect::parse(&printed, &mut diagnostics);
    assert!(!diagnostics.has_errors(), "{printed}\n{diagnostics:?}");
    assert_eq!(printed, dialect::print(&again));
}

#[test]
fn generic_ops_and_attributes() {
    round_trip(
        r##"
"x.a"() {a = 1 : i32, b = dense<[[1, 2], [3, 4]]> : tensor<2x2xi64>, c = #sdy.sharding<@m, [{"x"}, {"y":(1)2, ?}p1], replicated={"z"}, unreduced=max{"w"}>,
  d = #stablehlo.gather<offset_dims = [2], index_vector_dim = 2>, e = #stablehlo<comparison_direction LT>, f, g = array<i64: 1, -2>,
  h = dense<0xFF800000> : tensor<f32>, i = dense<(1.0, -2.0)> : tensor<3xcomplex<f32>>, j = "a\22b", k = @s::@t, l = 1.5 : f64, m = #other.thing<a [b]>,
  n = #stablehlo.conv<[b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f]>, o = dense<"0x0100000002000000"> : tensor<2xi32>, p = tensor<?x2xf32, #stablehlo.bounds<4, ?>>,
  q = #sdy.op_sharding_rule<([i, k],[k, j])->([i, j]) {i=8, j=16, k=8} reduction={k}>} : () -> ()
%a:2 = "x.b"() ({
^bb0(%z: tensor<f32>):
  %y = "x.c"(%z) : (tensor<f32>) -> tensor<f32>
  "x.d"(%y) : (tensor<f32>) -> ()
}) : () -> (tensor<f32>, tensor<4x4xbf16>)
"x.e"(%a#1, %a#0) : (tensor<4x4xbf16>, tensor<f32>) -> () loc(callsite("f"("a.py":1:2 to :3) at #l))
#l = loc("g")
"##,
    );
}

#[test]
fn several_mistakes_are_several_errors() {
    let mut diagnostics = Diagnostics::default();
    let text = "\"x.a\"(%u) : (tensor<f32>) -> ()\n%v = \"x.b\"() : () -> tensor<4yf32>\n\"x.c\"(%v) : (tensor<f32>) -> ()\nnope.op\n";
    dialect::parse(text, &mut diagnostics);
    let messages: Vec<_> = diagnostics.iter().map(|d| d.message.as_str()).collect();
    assert_eq!(
        messages,
        ["%u is not defined here", "expected 'x' after the dimension's size, then the element type", "'nope.op' is no known op"]
    );
}
