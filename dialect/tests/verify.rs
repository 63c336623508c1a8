//! Tests every rule of the verifier: its errors for a program that violates it, and their positions.

use shardc_dialect::diagnostic::{Diagnostics, Severity};

/// Returns the verifier's diagnostics for a module: (severity, the source it points at, message).
fn found(text: &str) -> Vec<(Severity, String, String)> {
    let mut diagnostics = Diagnostics::default();
    let program = shardc_dialect::parse(text, &mut diagnostics);
    assert!(diagnostics.is_empty(), "doesn't parse: {diagnostics:#?}");
    shardc_dialect::verify(&program, &mut diagnostics);
    diagnostics
        .iter()
        .map(|d| {
            let span = d.labels[0].0;
            let at = text.get(span.start as usize..span.end as usize).unwrap_or_default();
            (d.severity, at.to_owned(), d.message.clone())
        })
        .collect()
}

/// Checks that `text` gives exactly these errors: (source pointed at, message).
fn check(text: &str, expected: &[(&str, &str)]) {
    let found = found(text);
    let errors: Vec<(&str, &str)> = found.iter().map(|f| (f.1.as_str(), f.2.as_str())).collect();
    assert_eq!(errors, expected, "\n{text}");
}

/// Checks a function over `%a: tensor<8x8xf32>` on meshes @m (a=2, b=4) and @n (c=8), @one, @none in the same way.
fn check_body(body: &str, expected: &[(&str, &str)]) {
    check(&module(body), expected);
}

fn module(body: &str) -> String {
    format!(
        "sdy.mesh @m = <[\"a\"=2, \"b\"=4]>\nsdy.mesh @n = <[\"c\"=8]>\nsdy.mesh @one = <[], device_ids=[0]>\nsdy.mesh @none = <[]>\nfunc.func @main(%a: tensor<8x8xf32>) {{\n{body}\nreturn\n}}"
    )
}

/// Checks a constraint of `%a` with this sharding.
fn check_sharding(sharding: &str, expected: &[(&str, &str)]) {
    check_body(&format!("%0 = sdy.sharding_constraint %a {sharding} : tensor<8x8xf32>"), expected);
}

#[test]
fn a_right_program_passes() {
    check(
        r#"module attributes {mhlo.num_partitions = 8 : i32} {
  sdy.mesh @m = <["a"=2, "b"=4]>
  sdy.mesh @turned = <["a"=2, "b"=4], device_ids=[7, 6, 5, 4, 3, 2, 1, 0]>
  sdy.mesh @one = <[], device_ids=[3]>
  func.func @main(%x: tensor<8x8xf32> {sdy.sharding = #sdy.sharding<@m, [{"a"}, {"b":(1)2, ?}p1], replicated={"b":(2)2}>}, %t: !stablehlo.token {sdy.sharding = #sdy.sharding<@m, []>}) -> (tensor<8x8xf32> {sdy.sharding = #sdy.sharding<@m, [{"b", "a"}, {}]>}) {
    %0 = stablehlo.add %x, %x {sdy.sharding = #sdy.sharding_per_value<[<@m, [{"a"}, {}], unreduced={"b"}>]>} : tensor<8x8xf32>
    %1 = sdy.all_reduce {"b"} %0 out_sharding=<@m, [{"a"}, {}]> : tensor<8x8xf32>
    %2 = sdy.manual_computation(%1) in_shardings=[<@m, [{"a", "b"}, {?}]>] out_shardings=[<@m, [{}, {}], replicated={"a"}>] manual_axes={"a"} (%y: tensor<4x8xf32>) {
      %4 = sdy.manual_computation(%y) in_shardings=[<@m, [{"b"}, {}]>] out_shardings=[<@m, [{"b"}, {}]>] manual_axes={"b"} (%z: tensor<1x8xf32>) {
        sdy.return %z : tensor<1x8xf32>
      } : (tensor<4x8xf32>) -> tensor<4x8xf32>
      sdy.return %4 : tensor<4x8xf32>
    } : (tensor<8x8xf32>) -> tensor<4x8xf32>
    %3 = call @g(%0) : (tensor<8x8xf32>) -> tensor<8x8xf32>
    return %3 : tensor<8x8xf32>
  }
  func.func private @g(tensor<8x8xf32>) -> tensor<8x8xf32>
}
"#,
        &[],
    );
}

#[test]
fn types() {
    check_body(
        "%0 = \"stablehlo.collective_broadcast\"(%a) <{replica_groups = dense<0> : tensor<1x1xi64>}> : (tensor<8x8xf32>) -> tensor<8x4xf32>",
        &[(
            "\"stablehlo.collective_broadcast\"",
            "expected the result of 'stablehlo.collective_broadcast' to be tensor<8x8xf32>, found tensor<8x4xf32>",
        )],
    );
    check_body(
        "%0 = \"stablehlo.all_gather\"(%a) <{all_gather_dim = 2 : i64, replica_groups = dense<[[0, 0]]> : tensor<1x2xi64>}> : (tensor<8x8xf32>) -> tensor<8x8xf32>",
        &[
            ("\"stablehlo.all_gather\"", "'stablehlo.all_gather': device id 0 is in the groups twice (C2)"),
            ("%a", "'stablehlo.all_gather': all_gather_dim is 2, but the operand has rank 2 (C1)"),
        ],
    );
}

#[test]
fn collective_types() {
    let gather = |groups: &str, rest: &str| {
        format!(
            "%0 = \"stablehlo.all_gather\"(%a) <{{all_gather_dim = 1 : i64, replica_groups = {groups}, {rest}}}> : (tensor<8x8xf32>) -> tensor<8x16xf32>"
        )
    };
    let channel = "channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, use_global_device_ids";
    let name = "\"stablehlo.all_gather\"";
    check_body(
        &gather("dense<[[0, 1]]> : tensor<1x2xi64>", channel),
        &[(name, "'stablehlo.all_gather': the groups name 2 of 8 devices (C3)")],
    );
    check_body(
        &gather("dense<[[0, 9]]> : tensor<1x2xi64>", channel),
        &[(name, "'stablehlo.all_gather': the groups name device id 9, but there are 8 devices (C4)")],
    );
    check_body(
        &gather("dense<0> : tensor<1x1xi64>", "use_global_device_ids").replace("8x16", "8x8"),
        &[
            (name, "'stablehlo.all_gather': the groups name 1 of 8 devices (C3)"),
            (name, "'stablehlo.all_gather': use_global_device_ids needs a channel (C5)"),
        ],
    );
    check_body(
        "%0 = \"stablehlo.collective_permute\"(%a) <{source_target_pairs = dense<[[0, 0], [0, 8]]> : tensor<2x2xi64>, channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>}> : (tensor<8x8xf32>) -> tensor<8x8xf32>",
        &[
            ("\"stablehlo.collective_permute\"", "'stablehlo.collective_permute': device 0 sends twice (C2)"),
            (
                "\"stablehlo.collective_permute\"",
                "'stablehlo.collective_permute': the groups name device id 8, but there are 8 devices (C4)",
            ),
        ],
    );
}

#[test]
fn values_of_isolated_regions() {
    check_body(
        "sdy.manual_computation() in_shardings=[] out_shardings=[] manual_axes={} () { %0 = stablehlo.abs %a : tensor<8x8xf32> sdy.return } : () -> ()",
        &[("%a", "the region reads a value that is defined outside of it")],
    );
}

#[test]
fn regions() {
    check_body(
        "%p = stablehlo.constant dense<true> : tensor<i1> \"stablehlo.if\"(%p) ({ sdy.return }, { stablehlo.return stablehlo.return }) : (tensor<i1>) -> ()",
        &[
            ("\"stablehlo.if\"", "region 0 of 'stablehlo.if' must end with 'stablehlo.return', found 'sdy.return'"),
            ("stablehlo.return", "'stablehlo.return' must be the last op of its region"),
        ],
    );
    check(
        "func.func @main() -> tensor<f32> { %0 = stablehlo.constant dense<1> : tensor<i32> return %0 : tensor<i32> }",
        &[("return", "expected @main to return (tensor<f32>), found (tensor<i32>)")],
    );
    check(
        "func.func @main() { sdy.mesh @m = <[\"x\"=2]> }",
        &[
            ("func.func", "the region of 'func.func' must end with 'func.return', found 'sdy.mesh'"),
            ("sdy.mesh", "'sdy.mesh' is inside another op"),
        ],
    );
}

#[test]
fn symbols() {
    check(
        "func.func @f(%a: tensor<f32>) -> tensor<f32> { %0 = call @h(%a) : (tensor<f32>) -> tensor<i32> call @gg() : () -> () return %a : tensor<f32> }
         func.func @f() { return }
         func.func @g() { call @k() : () -> () return }
         func.func @k() { call @g() : () -> () return }
         func.func @h(%a: tensor<i32>) -> tensor<i32> { return %a : tensor<i32> }",
        &[
            ("func.func", "@f is defined twice"),
            ("call", "@h takes (tensor<i32>), but the call declares (tensor<f32>)"),
            ("call", "function @gg is undefined"),
            ("call", "recursive functions are not supported: @g calls @k calls @g"),
        ],
    );
}

#[test]
fn meshes() {
    let mesh = |text: &str, expected: &[(&str, &str)]| check(&format!("sdy.mesh @m = {text}"), expected);
    mesh("<[\"x\"=0]>", &[("\"x\"", "axis \"x\" has size 0, expected at least 1")]);
    mesh("<[\"x\"=2, \"x\"=2]>", &[("\"x\"", "the mesh has axis \"x\" twice")]);
    mesh("<[\"x\"=65537]>", &[("\"x\"", "the mesh has 65537 devices; at most 65536 are supported")]);
    mesh("<[\"x\"=3], device_ids=[0, 1]>", &[("device_ids", "the mesh has 3 devices, but 2 device ids")]);
    mesh("<[\"x\"=3], device_ids=[0, 1, 3]>", &[("device_ids", "expected the device ids 0 to 2 once each")]);
    mesh(
        "<[], device_ids=[-1]>",
        &[("device_ids", "a mesh without axes names one device, found device_ids of 1 entries")],
    );
    check(
        "module attributes {mhlo.num_partitions = 2147483647 : i32} {}",
        &[("module", "the module runs on 2147483647 devices; at most 65536 are supported")],
    );
    let two = found("sdy.mesh @m = <[\"x\"=2]>\nsdy.mesh @n = <[\"x\"=4]>\nsdy.mesh @one = <[], device_ids=[0]>");
    assert_eq!(two.len(), 1);
    assert_eq!((two[0].0, two[0].2.as_str()), (Severity::Warning, "this mesh has 4 devices, but another mesh has 2"));
}

#[test]
fn axes_of_shardings() {
    check_sharding("<@k, [{}, {}]>", &[("@k", "mesh @k is undefined")]);
    check_sharding("<@m, [{\"x\"}, {}]>", &[("\"x\"", "the mesh has no axis \"x\"")]);
    check_sharding("<@m, [{\"a\"}, {\"a\"}]>", &[("\"a\"", "axis \"a\" is used twice")]);
    check_sharding("<@m, [{\"a\"}, {}], replicated={\"a\"}>", &[("\"a\"", "axis \"a\" is used twice")]);
    check_sharding("<@m, [{\"b\"}, {\"b\":(1)2}]>", &[("\"b\"", "axes \"b\":(1)2 and \"b\" overlap")]);
    check_sharding("<@m, [{\"b\":(1)2}, {\"b\":(1)2}]>", &[("\"b\"", "axis \"b\":(1)2 is used twice")]);
    check_sharding("<@n, [{\"c\":(1)4}, {\"c\":(2)4}]>", &[("\"c\"", "axes \"c\":(1)4 and \"c\":(2)4 overlap")]);
    check_sharding(
        "<@m, [{\"b\":(1)2, \"b\":(2)2}, {}]>",
        &[("\"b\"", "\"b\":(1)2 and \"b\":(2)2 are adjacent parts of one axis")],
    );
    check_sharding("<@m, [{\"b\":(1)4}, {}]>", &[("\"b\"", "part \"b\":(1)4 is the whole axis")]);
    check_sharding("<@m, [{\"b\":(2)3}, {}]>", &[("\"b\"", "part \"b\":(2)3 doesn't fit axis \"b\" of size 4")]);
    check_sharding(
        "<@m, [{}, {}], replicated={\"b\", \"a\"}>",
        &[("replicated", "replicated axes are not in the order of the mesh")],
    );
    check_sharding(
        "<@m, [{}, {}], unreduced={\"b\":(2)2, \"b\":(1)2}>",
        &[("unreduced", "unreduced axes are not in the order of the mesh")],
    );
    // The second of two mistakes in one file is found, too.
    check_sharding(
        "<@m, [{\"x\"}, {\"y\"}]>",
        &[("\"x\"", "the mesh has no axis \"x\""), ("\"y\"", "the mesh has no axis \"y\"")],
    );
    check_sharding("<mesh<[\"x\"=2, \"x\"=4]>, [{}, {}]>", &[("\"x\"", "the mesh has axis \"x\" twice")]);
}

#[test]
fn shardings_and_types() {
    let name = "sdy.sharding_constraint";
    check_sharding("<@m, [{}]>", &[("[", "the sharding has 1 dimensions, tensor<8x8xf32> has 2")]);
    check_sharding("<@one, [{}, {}]>", &[(name, "a value on a single device can't be sharded")]);
    check_sharding("<@m, [{}p1, {}]>", &[(name, "dimension 0 is closed and empty, but has a priority")]);
    check(
        "sdy.mesh @m = <[\"a\"=2]>\nfunc.func @main(%t: !stablehlo.token {sdy.sharding = #sdy.sharding<@m, [{}]>}, %s: tensor<f32> {sdy.sharding = 3 : i64}) { return }",
        &[
            ("func.func", "!stablehlo.token has no dimensions, so it can't be sharded"),
            ("func.func", "sdy.sharding of argument 1 is not a sharding"),
        ],
    );
    check_body(
        "%0 = stablehlo.abs %a {sdy.sharding = #sdy.sharding_per_value<[<@m, [{}, {}]>, <@m, [{}, {}]>]>} : tensor<8x8xf32>",
        &[("stablehlo.abs", "expected 1 shardings, one for each of the results, found 2")],
    );
    check_body(
        "%0 = stablehlo.abs %a {sdy.sharding = #sdy.sharding<@m, [{}, {}]>} : tensor<8x8xf32>",
        &[("stablehlo.abs", "expected sdy.sharding of an op to list one sharding for each result")],
    );
    check_body(
        "%0 = sdy.propagation_barrier %a allowed_direction=BOTH : tensor<8x8xf32>",
        &[("BOTH", "this barrier allows both directions and has no effect")],
    );
}

#[test]
fn the_right_one_of_several_shardings_is_pointed_at() {
    let text = "sdy.mesh @m = <[\"a\"=2, \"b\"=4]>\nfunc.func @main(%x: tensor<8xf32> {sdy.sharding = #sdy.sharding<@m, [{\"a\"}]>}, %y: tensor<8xf32> {sdy.sharding = #sdy.sharding<@m, [{\"q\"}]>}) -> (tensor<8xf32>, tensor<8xf32> {sdy.sharding = #sdy.sharding<@m, [{\"r\"}]>}) { return %x, %y : tensor<8xf32>, tensor<8xf32> }";
    let mut diagnostics = Diagnostics::default();
    let program = shardc_dialect::parse(text, &mut diagnostics);
    shardc_dialect::verify(&program, &mut diagnostics);
    let spans: Vec<usize> = diagnostics.iter().map(|d| d.labels[0].0.start as usize).collect();
    assert_eq!(spans, [text.find("\"q\"").unwrap(), text.find("\"r\"").unwrap()]);
}

#[test]
fn manual_computations() {
    let manual = |ins: &str, outs: &str, axes: &str, local: &str, result: &str| {
        format!(
            "%0 = sdy.manual_computation(%a) in_shardings=[{ins}] out_shardings=[{outs}] manual_axes={axes} (%x: {local}) {{ sdy.return %x : {local} }} : (tensor<8x8xf32>) -> {result}"
        )
    };
    let name = "sdy.manual_computation";
    let (piece, whole) = ("tensor<4x8xf32>", "tensor<8x8xf32>");
    let a = "<@m, [{\"a\"}, {}]>";
    check_body(&manual(a, a, "{\"a\"}", piece, whole), &[]);
    check_body(
        &manual(a, a, "{\"a\"}", whole, "tensor<16x8xf32>"),
        &[(
            "%a",
            "'sdy.manual_computation': the body takes tensor<8x8xf32>, but a shard of the operand is tensor<4x8xf32>",
        )],
    );
    check_body(
        &manual(a, a, "{\"a\"}", piece, piece),
        &[(name, "expected the result of 'sdy.manual_computation' to be tensor<8x8xf32>, found tensor<4x8xf32>")],
    );
    check_body(
        &manual(&format!("{a}, {a}"), a, "{\"a\"}", piece, whole),
        &[(name, "'sdy.manual_computation': 1 operands, but 2 in_shardings")],
    );
    check_body(
        &manual("<@m, [{\"b\", \"a\"}, {}]>", a, "{\"a\"}", piece, whole),
        &[("\"a\"", "operand 0: manual axis \"a\" follows a free axis in dimension 0")],
    );
    check_body(&manual(a, a, "{\"a\", \"c\"}", piece, whole), &[("\"c\"", "the mesh has no axis \"c\"")]);
    check_body(&manual(a, a, "{\"a\", \"a\"}", piece, whole), &[("\"a\"", "manual axis \"a\" is listed twice")]);
    check_body(
        &manual(a, "<@n, [{}, {}]>", "{\"a\"}", piece, piece),
        &[(name, "in and out shardings are on different meshes")],
    );
    check(
        "sdy.mesh @m = <[\"a\"=3]>\nfunc.func @main(%a: tensor<8xf32>) { %0 = sdy.manual_computation(%a) in_shardings=[<@m, [{\"a\"}]>] out_shardings=[<@m, [{}]>] manual_axes={\"a\"} (%x: tensor<3xf32>) { sdy.return %x : tensor<3xf32> } : (tensor<8xf32>) -> tensor<3xf32> return }",
        &[("\"a\"", "operand 0: dimension 0 of size 8 is not divisible by the 3 shards of its manual axes")],
    );
    let inside = |op: &str| {
        format!(
            "%0 = sdy.manual_computation(%a) in_shardings=[{a}] out_shardings=[{a}] manual_axes={{\"a\"}} (%x: {piece}) {{ {op} sdy.return %x : {piece} }} : ({whole}) -> {whole}"
        )
    };
    check_body(
        &inside(&format!("%1 = sdy.sharding_constraint %x <@m, [{{\"b\"}}, {{\"a\"}}]> : {piece}")),
        &[("\"a\"", "axis \"a\" is manual here")],
    );
    check_body(
        &inside(
            "sdy.manual_computation() in_shardings=[] out_shardings=[] manual_axes={\"a\"} () { sdy.return } : () -> ()",
        ),
        &[("\"a\"", "axis \"a\" is already manual")],
    );
    check_body(
        &format!(
            "sdy.sharding_group %a group_id=0 : {whole} {}",
            inside(&format!("sdy.sharding_group %x group_id=0 : {piece}"))
        ),
        &[("sdy.sharding_group", "sharding group 0 has members inside and outside of a manual computation")],
    );
}

#[test]
fn shardy_collectives() {
    let from = |sharding: &str, op: &str| {
        format!("%0 = sdy.sharding_constraint %a {sharding} : tensor<8x8xf32> %1 = {op} : tensor<8x8xf32>")
    };
    let ab = "<@m, [{\"a\", \"b\"}, {}]>";
    let gather = |axes: &str, out: &str| from(ab, &format!("sdy.all_gather {axes} %0 out_sharding={out}"));
    check_body(&gather("[{\"b\"}, {}]", "<@m, [{\"a\"}, {}]>"), &[]);
    check_body(&gather("[{\"b\":(2)2}, {}]", "<@m, [{\"a\", \"b\":(1)2}, {}]>"), &[]);
    let name = "sdy.all_gather";
    check_body(
        &gather("[{\"a\"}, {}]", "<@m, [{\"b\"}, {}]>"),
        &[(name, "'sdy.all_gather': an axis that it removes from dimension 0 is not the minor axis there")],
    );
    check_body(
        &gather("[{\"b\"}, {}]", "<@m, [{}, {}]>"),
        &[(name, "'sdy.all_gather': expected out_sharding to have {\"a\"} on dimension 0, found {}")],
    );
    check_body(
        &gather("[{\"b\"}]", "<@m, [{\"a\"}, {}]>"),
        &[(name, "'sdy.all_gather': 1 lists of axes for 2 dimensions")],
    );
    check_body(&gather("[{\"q\"}, {}]", "<@m, [{\"a\"}, {}]>"), &[("\"q\"", "the mesh has no axis \"q\"")]);
    check_body(
        &gather("[{\"b\"}, {}]", "<@n, [{}, {}]>").replace("{\"b\"}, {}] %0", "{}, {}] %0"),
        &[(name, "the operand's sharding is on another mesh than out_sharding")],
    );
    check_body(
        "%0 = sdy.all_gather [{\"b\"}, {}] %a out_sharding=<@m, [{}, {}]> : tensor<8x8xf32>",
        &[("%a", "the operand of 'sdy.all_gather' has no sharding")],
    );
    check_body(
        "%0 = sdy.all_slice [{}, {\"b\"}] %a out_sharding=<@m, [{}, {\"a\"}]> : tensor<8x8xf32>",
        &[("sdy.all_slice", "'sdy.all_slice': expected out_sharding to have {\"b\"} on dimension 1, found {\"a\"}")],
    );
    let moves = |params: &str, out: &str| from(ab, &format!("sdy.all_to_all {params} %0 out_sharding={out}"));
    check_body(&moves("[{\"b\"}: 0->1]", "<@m, [{\"a\"}, {\"b\"}]>"), &[]);
    check_body(&moves("[]", ab), &[("sdy.all_to_all", "'sdy.all_to_all': it moves no axes")]);
    check_body(
        &moves("[{\"b\"}: 0->2]", ab),
        &[("sdy.all_to_all", "'sdy.all_to_all': the operand has no dimension 2")],
    );
    check_body(
        &moves("[{\"b\"}: 0->0]", ab),
        &[("sdy.all_to_all", "'sdy.all_to_all': dimension 0 both loses and gains axes")],
    );
    check_body(
        &from("<@m, [{\"a\"}, {}]>", "sdy.collective_permute %0 out_sharding=<@m, [{\"b\"}, {}]>"),
        &[("sdy.collective_permute", "'sdy.collective_permute': dimension 0 has 2 shards before and 4 after")],
    );
    check_body(
        &from("<@m, [{\"a\"}, {}]>", "shardc.permute_parts %0 out_sharding=<@m, [{\"b\"}, {}]>"),
        &[(
            "shardc.permute_parts",
            "'shardc.permute_parts': its shards can't be split into equal parts that make up those of out_sharding",
        )],
    );
    check_body(
        &from("<@m, [{\"a\"}, {}]>", "sdy.all_reduce {\"a\"} %0 out_sharding=<@m, [{\"a\"}, {}]>"),
        &[("sdy.all_reduce", "'sdy.all_reduce': a reduction axis shards the operand or is replicated in it")],
    );
    check_body(
        &from(
            "<@m, [{}, {}], unreduced={\"a\"}>",
            "sdy.replicated_to_unreduced {\"b\"} %0 out_sharding=<@m, [{}, {}], unreduced={\"b\"}>",
        ),
        &[(
            "sdy.replicated_to_unreduced",
            "'sdy.replicated_to_unreduced': expected out_sharding to have {\"a\", \"b\"} unreduced, found {\"b\"}",
        )],
    );
    check_body(
        &from(ab, "sdy.sharded_to_unreduced [{\"b\"}, {}] %0 out_sharding=<@m, [{\"a\"}, {}], unreduced={\"b\"}>"),
        &[],
    );
}

#[test]
fn sharding_rules() {
    let rule = |text: &str, expected: &[&str]| {
        let body = format!(
            "%0 = stablehlo.custom_call @f(%a) {{sdy.sharding_rule = #sdy.op_sharding_rule<{text}>}} : (tensor<8x8xf32>) -> tensor<8x8xf32>"
        );
        let expected: Vec<(&str, &str)> = expected.iter().map(|&m| ("sdy.sharding_rule", m)).collect();
        check_body(&body, &expected);
    };
    rule("([i, j])->([i, j]) {i=8, j=8}, custom", &[]);
    rule("([i, j],[i])->([i, j]) {i=8, j=8}", &["the sharding rule maps 2 operands, but the op has 1"]);
    rule("([i])->([i, j]) {i=8, j=8}", &["operand 0 has 2 dimensions, but the sharding rule maps 1"]);
    rule("([i, i])->([i, j]) {i=8, j=8}", &["operand 0 has the same factor in two places"]);
    rule("([i, j])->([i, j]) {i=8, j=8} reduction={j}", &["result 0 is mapped to a reduction factor"]);
    rule("([i, j])->([i, j]) {i=8, j=8, k=2}", &["factor 2 of the sharding rule is in no mapping"]);
}

#[test]
fn sharding_rules_map_known_sizes() {
    check(
        "func.func @main(%a: tensor<?x8xf32>) {
%0 = stablehlo.custom_call @f(%a) {sdy.sharding_rule = #sdy.op_sharding_rule<([i, j])->([i, j]) {i=8, j=8}>} : (tensor<?x8xf32>) -> tensor<?x8xf32>
return
}",
        &[
            ("sdy.sharding_rule", "operand 0 has dimensions of unknown size, so a sharding rule can't map it"),
            ("sdy.sharding_rule", "result 0 has dimensions of unknown size, so a sharding rule can't map it"),
        ],
    );
}

#[test]
fn groups_stay_in_their_computation_though_nothing_is_manual() {
    let inside = "%0 = sdy.manual_computation(%a) in_shardings=[<@m, [{?}, {?}]>] out_shardings=[<@m, [{?}, {?}]>] manual_axes={} (%x: tensor<8x8xf32>) {
sdy.sharding_group %x group_id=0 : tensor<8x8xf32>
sdy.return %x : tensor<8x8xf32>
} : (tensor<8x8xf32>) -> tensor<8x8xf32>";
    check_body(
        &format!("sdy.sharding_group %a group_id=0 : tensor<8x8xf32>\n{inside}"),
        &[("sdy.sharding_group", "sharding group 0 has members inside and outside of a manual computation")],
    );
}

#[test]
fn propagation_edges() {
    let add = |edges: &str, sharding: &str| {
        format!("%0 = stablehlo.add %a, %a {{sdy.propagation_edges = {edges}{sharding}}} : tensor<8x8xf32>")
    };
    let one = |edges: &str, message: &str| {
        let sharding = ", sdy.sharding = #sdy.sharding_per_value<[<@m, [{\"a\"}, {}]>]>";
        let text = add(&format!("#sdy.propagation_edges<[{edges}]>"), sharding);
        let expected = [("sdy.propagation_edges", message)];
        check_body(&text, if message.is_empty() { &[] } else { &expected });
    };
    one("{step-2 = [{\"a\" = operand-1 -> [operand-0, result-0]}]}", "");
    one("{step-2 = []}, {step-2 = []}", "the propagation edges have step 2 twice");
    one("{step--1 = []}", "the propagation edges have the negative step -1");
    one(
        "{step-1 = [{\"a\" = operand-0 -> [operand-0]}]}",
        "step 1 of the propagation edges goes from a value to itself",
    );
    one(
        "{step-1 = [{\"a\" = operand-0 -> [operand-1, operand-1]}]}",
        "step 1 of the propagation edges reaches a value twice",
    );
    one(
        "{step-1 = [{\"a\" = operand-0 -> [operand-2]}]}",
        "expected a number of the operands below 2 in the propagation edges, found 2",
    );
    one("{step-1 = [{\"z\" = operand-0 -> [result-0]}]}", "the propagation edges name axis \"z\", which no mesh has");
    check_body(
        &add("#sdy.propagation_edges<[{step-1 = []}]>", ""),
        &[("sdy.propagation_edges", "the op has propagation edges, but none of its values has a sharding")],
    );
    check_body(
        &add("64", ""),
        &[("sdy.propagation_edges", "sdy.propagation_edges is not a list of propagation edges")],
    );
    check_body(
        &add("#sdy.propagation_edges<[]>", ", sdy.result_propagation_edges = [1]"),
        &[("sdy.result_propagation_edges", "sdy.result_propagation_edges is not a list of propagation edges")],
    );
}

#[test]
fn parallel_programs() {
    let run = |attrs: &str, results: &str, messages: &[&str]| {
        let text = format!(
            "func.func @f(%x: tensor<2xf32>) -> tensor<2xf32> {{\nreturn %x : tensor<2xf32>\n}}\nfunc.func @main(%a: tensor<2xf32>) {{\n{results}\"interpreter.run_parallel\"(%a) {{{attrs}}} : (tensor<2xf32>) -> {}\nreturn\n}}",
            if results.is_empty() { "()" } else { "tensor<2xf32>" }
        );
        let expected: Vec<_> = messages.iter().map(|&m| ("\"interpreter.run_parallel\"", m)).collect();
        check(&text, &expected);
    };
    run("programs = [[@f]]", "%r = ", &[]);
    run("programs = [[@f]]", "", &["expected 1 results, as many as the programs have together, found 0"]);
    run(
        "programs = [[@f, @f]]",
        "%r = ",
        &[
            "expected 2 operands, as many as the programs have together, found 1",
            "expected 2 results, as many as the programs have together, found 1",
        ],
    );
    run("programs = [[@g]]", "%r = ", &["function @g is undefined"]);
    run(
        "programs = [[@f], []]",
        "%r = ",
        &["'interpreter.run_parallel': expected programs as rows of functions, as many in each"],
    );
    run(
        "programs = [[@f]], infeed = []",
        "%r = ",
        &["expected infeed to name at least one function; omit it if there is none"],
    );
}

/// Checks that a function of one op over arguments of these types gives exactly these errors about the op or its
/// operands.
fn check_op(types: &[&str], op: &str, expected: &[&str]) {
    let args: Vec<String> = types.iter().enumerate().map(|(i, t)| format!("%a{i}: {t}")).collect();
    let text = format!("func.func @main({}) {{\n{op}\nreturn\n}}", args.join(", "));
    let messages: Vec<String> = found(&text).into_iter().map(|f| f.2).collect();
    assert_eq!(messages, expected, "\n{text}");
}

#[test]
fn quantized_types() {
    let add = |lhs: &str, rhs: &str, result: &str, expected: &[&str]| {
        let [lhs, rhs, result] = [lhs, rhs, result].map(|e| format!("tensor<2x3x{e}>"));
        let op = format!("%r = stablehlo.add %a0, %a1 : ({lhs}, {rhs}) -> {result}");
        check_op(&[&lhs, &rhs], &op, expected);
    };
    let (plain, axis0, axis1) = (
        "!quant.uniform<i8:f32, 0.5>",
        "!quant.uniform<i8:f32:0, {0.5, 0.25}>",
        "!quant.uniform<i8:f32:1, {0.5, 0.25, 1.0}>",
    );
    add(plain, plain, plain, &[]);
    add(axis0, plain, axis0, &[]);
    let say = |m: &str| format!("'stablehlo.add': {m}");
    add(plain, plain, "!quant.uniform<i4:f32, 0.5>", &[&say("operands and result store different types (C3)")]);
    add(plain, plain, "!quant.uniform<i8:f16, 0.5>", &[&say("operands and result express different types (C4)")]);
    add(
        axis0,
        plain,
        plain,
        &[&say("an operand has a scale for each index of a dimension, but the result has one for all (C5)")],
    );
    add(axis0, plain, axis1, &[&say("an operand's scales are along another dimension than the result's (C6)")]);
    let wide = "!quant.uniform<i8:f32, 0.5:200>";
    let one = say("zero point 200 is not among the stored values -128 to 127 (C8)");
    let result = say("result 0: zero point 200 is not among the stored values -128 to 127 (C8)");
    add(wide, wide, wide, &[&one, &one, &result]);
    check_op(
        &["tensor<2x3x!quant.uniform<i8:f32:1, {0.5, 0.25}>>"],
        "%r = stablehlo.uniform_dequantize %a0 : (tensor<2x3x!quant.uniform<i8:f32:1, {0.5, 0.25}>>) -> tensor<2x3xf32>",
        &["'stablehlo.uniform_dequantize': expected one scale for each index, found 2 for dimension 1 of size 3 (C13)"],
    );
    check_op(
        &["tensor<2x!quant.uniform<i8:f32:0, {0.5, 0.25}>>"],
        "%r = stablehlo.negate %a0 : tensor<2x!quant.uniform<i8:f32:0, {0.5, 0.25}>>",
        &["'stablehlo.negate': expected one scale for all elements, found one for each index of a dimension"],
    );
    check_op(
        &["tensor<2x3x!quant.uniform<i8:f32, 0.5>>"],
        "%r = stablehlo.transpose %a0, dims = [1, 0] : (tensor<2x3x!quant.uniform<i8:f32, 0.5>>) -> tensor<3x2x!quant.uniform<i8:f32, 0.25>>",
        &["'stablehlo.transpose': operand and result have different scales or zero points (C1)"],
    );
    check_op(
        &["tensor<2x!quant.uniform<i8:f32, 0.5>>", "tensor<2x!quant.uniform<i8:f32, 0.5:3>>"],
        "%r = stablehlo.dot_general %a0, %a1, contracting_dims = [0] x [0] : (tensor<2x!quant.uniform<i8:f32, 0.5>>, tensor<2x!quant.uniform<i8:f32, 0.5:3>>) -> tensor<!quant.uniform<i8:f32, 0.5>>",
        &["'stablehlo.dot_general': the right operand's zero points must be 0 (C15)"],
    );
    check_op(
        &["tensor<2xf32>"],
        "%r = stablehlo.uniform_quantize %a0 : (tensor<2xf32>) -> tensor<2x!quant.uniform<i8:f64, 0.5>>",
        &["'stablehlo.uniform_quantize': the result expresses another type than the operand has (C2)"],
    );
}

#[test]
fn custom_calls() {
    let call = |attrs: &str, expected: &[&str]| {
        let op =
            format!("%r = stablehlo.custom_call @f(%a0) {{{attrs}}} : (tensor<2x3xf32>) -> tuple<tensor<2x3xf32>>");
        let expected: Vec<String> = expected.iter().map(|m| format!("'stablehlo.custom_call': {m}")).collect();
        check_op(&["tensor<2x3xf32>"], &op, &expected.iter().map(String::as_str).collect::<Vec<_>>());
    };
    let layouts = |operand: &str| {
        format!(
            "operand_layouts = [dense<{operand}> : tensor<2xindex>], result_layouts = [dense<[0, 1]> : tensor<2xindex>]"
        )
    };
    call(&layouts("[1, 0]"), &[]);
    call(
        &layouts("[1, 2]"),
        &["expected the layout of operand 0 to order the 2 dimensions of tensor<2x3xf32>, found [1, 2]"],
    );
    call("operand_layouts = []", &["expected both operand_layouts and result_layouts, or neither"]);
    call("operand_layouts = [], result_layouts = []", &["expected 1 operand_layouts, one for each value, found 0"]);
    let alias = |fields: &str| format!("output_operand_aliases = [#stablehlo.output_operand_alias<{fields}>]");
    call(&alias("output_tuple_indices = [0], operand_index = 0, operand_tuple_indices = []"), &[]);
    call(&alias("output_tuple_indices = [0], operand_index = 1"), &["expected operand_index in 0..1, found 1"]);
    call(
        &alias("output_tuple_indices = [1], operand_index = 0"),
        &["output_tuple_indices don't name a part of the result"],
    );
    call(
        &alias("operand_index = 0"),
        &["a result of tuple<tensor<2x3xf32>> can't share the memory of tensor<2x3xf32>"],
    );
    call(
        "api_version = 4 : i32, backend_config = \"a\"",
        &["expected backend_config to be a dictionary, because api_version is 4"],
    );
    call("backend_config = {}", &["expected backend_config to be a string, because api_version isn't 4"]);
}

#[test]
fn accuracy_of_elementary_functions() {
    let mode = |m: &str| {
        format!(
            "%r = stablehlo.exponential %a0 {{result_accuracy = #stablehlo.result_accuracy<ulps = 2, mode = #stablehlo.result_accuracy_mode<{m}>>}} : tensor<2xf32>"
        )
    };
    check_op(&["tensor<2xf32>"], &mode("TOLERANCE"), &[]);
    let message = "'stablehlo.exponential': result_accuracy states tolerances with mode #stablehlo.result_accuracy_mode<HIGHEST>, which takes none";
    check_op(&["tensor<2xf32>"], &mode("HIGHEST"), &[message]);
}

#[test]
fn unreduced_axes() {
    let from = |sharding: &str, op: &str| {
        format!("%0 = sdy.sharding_constraint %a {sharding} : tensor<8x8xf32> %1 = {op} : tensor<8x8xf32>")
    };
    let (whole, sum) = ("<@m, [{}, {}]>", "<@m, [{}, {}], unreduced={\"a\", \"b\"}>");
    let max = "<@m, [{}, {}], unreduced=max{\"b\"}>";
    check_body(&from(sum, &format!("sdy.reshard %0 {whole}")), &[]);
    check_body(&from(max, &format!("sdy.reshard %0 {whole}")), &[]);
    check_body(&from(whole, &format!("sdy.reshard %0 {sum}")), &[]);
    check_body(
        &from(whole, &format!("sdy.reshard %0 {max}")),
        &[("sdy.reshard", "'sdy.reshard' can produce parts that add up, but not parts that combine by max")],
    );
    check_body(
        &from(sum, &format!("sdy.reshard %0 {max}")),
        &[("sdy.reshard", "'sdy.reshard' can't turn parts that combine by sum into parts that combine by max")],
    );
    check_body(
        &from(max, &format!("sdy.all_reduce {{\"b\"}} %0 out_sharding={whole}")),
        &[("sdy.all_reduce", "'sdy.all_reduce' combines by sum, but the operand is unreduced by max")],
    );
    check_body(&from(max, &format!("sdy.all_reduce max {{\"b\"}} %0 out_sharding={whole}")), &[]);
    check_body(
        &from(
            "<@m, [{}, {}], unreduced={\"b\":(1)2}>",
            "sdy.all_reduce {} %0 out_sharding=<@m, [{}, {}], unreduced={\"b\"}>",
        ),
        &[("sdy.all_reduce", "'sdy.all_reduce' can't make a value unreduced")],
    );
    check_body(
        "%0 = sdy.sharding_constraint %a <@m, [{}, {}]> : tensor<8x8xf32> %1 = sdy.replicated_to_unreduced {\"b\"} %0 out_sharding=<@m, [{}, {}], unreduced=max{\"b\"}> : tensor<8x8xf32>",
        &[(
            "sdy.replicated_to_unreduced",
            "'sdy.replicated_to_unreduced': its parts combine by sum, but out_sharding is unreduced by max",
        )],
    );
}

#[test]
fn data_flow_edges() {
    check_body("%0 = sdy.data_flow_edge %a : tensor<8x8xf32>", &[]);
    check_body(
        "%0 = sdy.data_flow_edge %a : tensor<8x8xf32> %1 = stablehlo.abs %a : tensor<8x8xf32>",
        &[("%a", "the operand of 'sdy.data_flow_edge' has other users")],
    );
    check_body(
        "%0 = sdy.sharding_constraint %a <@m, [{}, {}]> : tensor<8x8xf32> %1 = sdy.data_flow_edge %0 : tensor<8x8xf32>",
        &[("%0", "the operand of 'sdy.data_flow_edge' is produced by an op of Shardy without regions")],
    );
    check_body(
        "%0 = stablehlo.abs %a : tensor<8x8xf32> %1 = sdy.func_data_flow_edge %0 : tensor<8x8xf32>",
        &[(
            "%0",
            "the operand of 'sdy.func_data_flow_edge' is neither an argument of a function nor a result of a call",
        )],
    );
    check(
        "func.func @main(%a: tensor<?xf32>) { %0 = sdy.data_flow_edge %a : tensor<?xf32> return }",
        &[("sdy.data_flow_edge", "'sdy.data_flow_edge' needs a tensor of static shape")],
    );
}
