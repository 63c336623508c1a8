//! Tests that generic text survives a round trip byte for byte.

use shardc_dialect::diagnostic::Diagnostics;

fn round_trip(text: &str) {
    let mut diagnostics = Diagnostics::default();
    let program = shardc_dialect::parse(text, &mut diagnostics);
    assert!(!diagnostics.has_errors(), "{diagnostics:?}");
    let printed = shardc_dialect::print(&program);
    let again = shardc_dialect::parse(&printed, &mut diagnostics);
    assert!(!diagnostics.has_errors(), "{printed}\n{diagnostics:?}");
    assert_eq!(printed, shardc_dialect::print(&again));
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

/// Returns the printed module, without its braces.
fn printed(text: &str) -> String {
    let mut diagnostics = Diagnostics::default();
    let program = shardc_dialect::parse(text, &mut diagnostics);
    assert!(!diagnostics.has_errors(), "{diagnostics:?}");
    let printed = shardc_dialect::print(&program);
    let lines = printed.lines().map(str::trim).filter(|l| !matches!(*l, "module {" | "}"));
    lines.collect::<Vec<_>>().join("\n")
}

#[test]
fn one_type_has_one_spelling() {
    let text = "\"x.a\"() {t = tensor<2x!quant.uniform<ui8<0:255>:f32,  34.0:16>>, u = tensor<?x3xf32, #stablehlo.type_extensions<bounds = [4,?]>>,
      v = !stablehlo.future<tensor<2xf32> ,tensor<i32>>, w = tensor<4x!q>} : () -> ()\n";
    let text = format!("!q = !quant.uniform<i8:f32:0, {{1.0,2.0:3}}>\n{text}");
    assert_eq!(
        printed(&text),
        "\"x.a\"() {t = tensor<2x!quant.uniform<u8:f32, 3.400000e+01:16>>, u = tensor<?x3xf32, #stablehlo.bounds<4, ?>>, \
         v = !stablehlo.future<tensor<2xf32>, tensor<i32>>, w = tensor<4x!quant.uniform<i8:f32:0, {1.000000e+00, 2.000000e+00:3}>>} : () -> ()"
    );
}

#[test]
fn what_nobody_knows_is_kept() {
    // Aliases are expanded and comments dropped, because neither is stored.
    let text = "#csr = #sparse.encoding<{ // by rows
        map = (d0) -> (d0 : dense)}>
      \"x.a\"() {a = #x.y<#csr>, b = dense<\"hello\"> : tensor<!x.string>, c = dense<[1, 2]> : vector<2xi7>, d = loc(\"f\":1:2)} : () -> ()";
    assert_eq!(
        printed(text),
        "\"x.a\"() {a = #x.y<#sparse.encoding<{ map = (d0) -> (d0 : dense)}>>, b = dense<\"hello\"> : tensor<!x.string>, \
         c = dense<[1, 2]> : vector<2xi7>, d = loc(\"f\":1:2)} : () -> ()"
    );
}

#[test]
fn shardings_and_meshes_by_alias() {
    let text = "#s = #sdy.sharding<@m, [{\"x\"}]>
      sdy.mesh @m = #sdy.mesh<[\"x\"=2, \"y\"=1], device_ids=[0, 1]>
      func.func @f(%a: tensor<2xf32> {sdy.sharding = #s}) -> tensor<2xf32> {
        %0 = \"x.a\"(%a) {sdy.sharding = #sdy.sharding_per_value<[#s]>, sdy.propagation_edges = #sdy.propagation_edges<[{step-2=[{\"x\" = operand-0->[result-0]}]}]>} \
         : (tensor<2xf32>) -> tensor<2xf32>
        return %0 : tensor<2xf32>
      }";
    assert_eq!(
        printed(text),
        "sdy.mesh @m = <[\"x\"=2, \"y\"=1]>
func.func @f(%arg0: tensor<2xf32> {sdy.sharding = #sdy.sharding<@m, [{\"x\"}]>}) -> tensor<2xf32> {
%0 = \"x.a\"(%arg0) {sdy.propagation_edges = #sdy.propagation_edges<[{step-2 = [{\"x\" = operand-0 -> [result-0]}]}]>, \
         sdy.sharding = #sdy.sharding_per_value<[<@m, [{\"x\"}]>]>} : (tensor<2xf32>) -> tensor<2xf32>
return %0 : tensor<2xf32>"
    );
}

#[test]
fn attributes_are_read_as_strictly_as_shardy_reads_them() {
    let rule = |r: &str| format!("\"x.a\"() {{r = #sdy.op_sharding_rule<{r}>}} : () -> ()");
    let sharding = |s: &str| format!("\"x.a\"() {{s = #sdy.sharding<@m, {s}>}} : () -> ()");
    for (text, message) in [
        (rule("([j, i])->([i]) {j=2, i=2}"), "expected factor i, found j"),
        (rule("([a])->([i]) {i=2}"), "expected a factor, found 'a'"),
        (rule("([z_0])->([i]) {i=2}"), "expected a factor, found 'z_0'"),
        (rule("()->([i]) {i=2}"), "expected '[', found ')'"),
        (
            rule("([i, j])->([i, j]) {i=2, j=2} need_replication={j, i}"),
            "the factors of need_replication must be listed in order, each once",
        ),
        (
            rule("([i])->([i]) {i=2} reduction={i} permutation={i}"),
            "factor i can't be in permutation and in another list",
        ),
        (
            rule("([i])->([i]) {i=2} permutation={i} reduction={i}"),
            "expected '>', or one of reduction, need_replication, permutation and blocked_propagation, in this order, found 'reduction'",
        ),
        (sharding("[{\"x\"}p01]"), "expected a priority like p1, found 'p01'"),
        (
            sharding("[], replicated={\"x\"}, replicated={\"y\"}"),
            "expected replicated={…} or unreduced={…}, each once, found 'replicated'",
        ),
        ("\"x.a\"() {d = #stablehlo<precision HIGHER>} : () -> ()".to_owned(), "'HIGHER' is not a valid precision"),
        ("\"x.a\"() {d = #stablehlo.dot<foo = [1]>} : () -> ()".to_owned(), "#stablehlo.dot has no field 'foo'"),
        (
            "\"x.a\"() {t = tensor<?x2xf32, #stablehlo.bounds<4>>} : () -> ()".to_owned(),
            "the type has 1 bounds for 2 dimensions",
        ),
        (
            "\"x.a\"() {t = tensor<2xf32, #stablehlo.bounds<4>>} : () -> ()".to_owned(),
            "dimension 0 has both a size and a bound",
        ),
    ] {
        let mut diagnostics = Diagnostics::default();
        shardc_dialect::parse(&text, &mut diagnostics);
        let messages: Vec<_> = diagnostics.iter().map(|d| d.message.as_str()).collect();
        assert_eq!(messages, [message], "{text}");
    }
}

#[test]
fn locations_are_one_however_aliases_lead_to_them() {
    let text = "\"x.a\"() : () -> () loc(#a)\n\"x.b\"() : () -> () loc(#b)\n\"x.c\"() : () -> () loc(#circle)
#a = loc(\"f\"(#c))\n#b = loc(\"f\"(#d))\n#c = loc(\"g\":1:2)\n#d = loc(#c)\n#circle = loc(\"h\"(#circle))";
    let mut diagnostics = Diagnostics::default();
    let program = shardc_dialect::parse(text, &mut diagnostics);
    let printed = shardc_dialect::print_with(
        &program,
        shardc_dialect::text::PrintOptions { locations: true, ..Default::default() },
    );
    assert_eq!(
        printed,
        "module {\n  \"x.a\"() : () -> () loc(#loc1)\n  \"x.b\"() : () -> () loc(#loc1)\n  \"x.c\"() : () -> () loc(#loc2)\n} loc(#loc3)\n\
         #loc4 = loc(\"g\":1:2)\n#loc1 = loc(\"f\"(#loc4))\n#loc2 = loc(\"h\")\n#loc3 = loc(\"-\":0:0)\n"
    );
}

#[test]
fn what_is_broken_is_read_once() {
    // Nested functions that are never closed, among unmatched braces.
    for pairless in ["// }]}}}\n", "\"a.b\"() {c = \"}\" } }\n"] {
        let text = format!("{pairless}func.func @f() {{\nfunc.func @g() {{\n").repeat(12);
        let mut diagnostics = Diagnostics::default();
        shardc_dialect::parse(&text, &mut diagnostics);
        assert!(diagnostics.iter().count() <= 36, "{} errors about {pairless:?}", diagnostics.iter().count());
    }
}

#[test]
fn several_mistakes_are_several_errors() {
    let mut diagnostics = Diagnostics::default();
    let text = "\"x.a\"(%u) : (tensor<f32>) -> ()\n%v = \"x.b\"() : () -> tensor<4yf32>\n\"x.c\"(%v) : (tensor<f32>) -> ()\nnope.op\n";
    shardc_dialect::parse(text, &mut diagnostics);
    let messages: Vec<_> = diagnostics.iter().map(|d| d.message.as_str()).collect();
    assert_eq!(
        messages,
        [
            "%u is not defined here",
            "expected 'x' after the dimension's size, then the element type",
            "'nope.op' is not a known op"
        ]
    );
}
