//! The advice of `explain` is right: the change that it names, applied to the text, removes the collective and saves
//! the stated seconds.

use std::ops::Range;
use std::path::Path;

use serde_json::Value;
use shardc_tests::command::shardc;
use shardc_tests::corpus::sample;

/// Returns the output of a command.
fn output(args: &[&str], text: &str) -> String {
    shardc(args, text).succeeded().text()
}

fn explained(text: &str, tries: &str) -> Value {
    shardc(&["explain", "--json", "--tries", tries, "-"], text).json()
}

/// Returns the ranges of the entries of a list whose opening parenthesis is at `open`.
fn entries(text: &str, open: usize) -> Vec<Range<usize>> {
    let (mut depth, mut quoted, mut start) = (0, false, open + 1);
    let mut list = Vec::new();
    for (i, c) in text[open..].char_indices().map(|(i, c)| (open + i, c)) {
        match c {
            '"' => quoted = !quoted,
            _ if quoted => {}
            '(' | '[' | '{' | '<' => depth += 1,
            ',' if depth == 1 => {
                list.push(start..i);
                start = i + 1;
            }
            ')' | ']' | '}' | '>' => {
                depth -= 1;
                if depth == 0 {
                    list.push(start..i);
                    return list;
                }
            }
            _ => {}
        }
    }
    panic!("an open list");
}

/// Returns the text with this sharding on the argument or result at `entry`.
fn annotated(text: &str, entry: Range<usize>, sharding: &str) -> String {
    const KEY: &str = "sdy.sharding = #sdy.sharding";
    let old = &text[entry.clone()];
    let new = if let Some(at) = old.find(KEY) {
        let open = at + KEY.len();
        let inside = entries(old, open);
        let end = inside.last().expect("a sharding is not empty").end + 1;
        format!("{}{sharding}{}", &old[..open], &old[end..])
    } else if let Some(dict) = old.find(" {") {
        format!("{} {{{KEY}{sharding}, {}", &old[..dict], &old[dict + 2..])
    } else {
        format!("{old} {{{KEY}{sharding}}}")
    };
    format!("{}{new}{}", &text[..entry.start], &text[entry.end..])
}

/// Returns the program with the suggested change of `explain` applied.
fn changed(text: &str, change: &str) -> String {
    let main = text.find("@main(").expect("a function @main") + "@main".len();
    let arguments = entries(text, main);
    let open = main + text[main..].find(" -> (").expect("several results, or one with attributes") + " -> ".len();
    if let Some(rest) = change.strip_prefix("annotating result ") {
        let (number, sharding) = rest.split_once(" as ").expect("annotating result N as S");
        let number: usize = number.parse().expect("a number");
        return annotated(text, entries(text, open)[number].clone(), sharding);
    }
    let rest = change.strip_prefix("annotating ").unwrap_or_else(|| panic!("another kind of change: {change}"));
    let (name, sharding) = rest.split_once(" as ").expect("annotating %arg as S");
    let name = name.split(' ').next().expect("a name");
    let entry = arguments.into_iter().find(|e| text[e.clone()].trim_start().starts_with(&format!("{name}:")));
    annotated(text, entry.expect("the argument it names"), sharding)
}

fn same(a: &Value, b: &Value) -> bool {
    ["kind", "value", "user", "loc"].iter().all(|key| a[*key] == b[*key])
}

/// Returns whether a document shows a line as it is printed, except for parts that `…` replaces.
fn is_shortened(printed: &str, shown: &str) -> bool {
    let mut parts = shown.split('…');
    let Some(mut rest) = parts.next().and_then(|first| printed.strip_prefix(first)) else { return false };
    for part in parts {
        let Some(at) = rest.find(part) else { return false };
        rest = &rest[at + part.len()..];
    }
    rest.is_empty() || shown.ends_with('…')
}

/// Checks that the lines shown follow each other in the output, except where a line of `…` marks an omission.
fn assert_shown(printed: &str, shown: &str) {
    let mut rest = printed.lines().map(str::trim).filter(|line| !line.is_empty());
    let mut skips = true;
    for line in shown.lines().map(str::trim).filter(|line| !line.is_empty()) {
        if line == "…" {
            skips = true;
            continue;
        }
        let is_shown = |printed: &str| is_shortened(printed, line);
        let found = if skips { rest.any(is_shown) } else { rest.next().is_some_and(is_shown) };
        assert!(found, "{line}\nisn't what is printed:\n{printed}");
        skips = false;
    }
}

/// A document has a program, and blocks that begin with a command on it (`// shardc …` or `$ shardc …`).
#[test]
fn commands_in_the_documents_print_what_is_shown_there() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    for (document, count) in [("README.md", 2), ("ARCHITECTURE.md", 5)] {
        let text = std::fs::read_to_string(root.join(document)).expect("the document is there");
        let (mut program, mut seen) = (None, 0);
        // Every second part is a block of code, which begins with its language.
        for block in text.split("```").skip(1).step_by(2) {
            let (language, code) = block.split_once('\n').expect("a block has lines");
            let (first, shown) = code.split_once('\n').expect("a line ends");
            let Some(command) = first.strip_prefix("// shardc ").or_else(|| first.strip_prefix("$ shardc ")) else {
                if language == "mlir" {
                    program = Some(code);
                }
                continue;
            };
            seen += 1;
            if command.contains("linalg") && !shardc::HAS_NATIVE {
                continue;
            }
            let args: Vec<&str> = command.split(' ').map(|arg| if arg == "dot.mlir" { "-" } else { arg }).collect();
            assert_shown(&output(&args, program.expect("the program comes first")), shown);
        }
        assert_eq!(seen, count, "{document}");
    }
}

#[test]
fn the_change_that_is_named_removes_the_collective() {
    let programs = [
        "intro_contract",
        "intro_contract_other_mesh",
        "spmd_reshard",
        "tpu_matmul_allgather_auto",
        "tpu_p2_moe_jit",
        "tpu_p3_allreduce_auto",
        "tpu_p3_mlp_block_auto",
        "tpu_p3_reduce_scatter_auto",
        "train_2d",
        "train_fsdp",
        "train_tensor_parallel",
    ];
    let mut applied = 0;
    for name in programs {
        let text = sample(name).text;
        let before = explained(&text, "64");
        let mut seen: Vec<&str> = Vec::new();
        let collectives = before["collectives"].as_array().expect("a list");
        for group in before["groups"].as_array().expect("a list") {
            let Some(change) = group["removal"]["change"].as_str() else { continue };
            let saved = group["removal"]["saves_s"].as_f64().expect("seconds");
            if seen.contains(&change) {
                continue;
            }
            seen.push(change);
            let changes = group["changes"].as_array().expect("a list");
            let each = changes.iter().map(|change| change.as_str().expect("a change"));
            let after = explained(&each.fold(text.clone(), |text, change| changed(&text, change)), "0");
            for member in group["members"].as_array().expect("a list") {
                let collective = &collectives[member.as_u64().expect("a position") as usize];
                let left = after["collectives"].as_array().expect("a list").iter().any(|c| same(c, collective));
                assert!(!left, "{name}: {change} doesn't remove {collective}");
            }
            let (old, new) = (before["step_s"].as_f64().expect("seconds"), after["step_s"].as_f64().expect("seconds"));
            assert!((old - new - saved).abs() <= 1e-9 * old, "{name}: {change} saves {} s, not {saved} s", old - new);
            applied += 1;
        }
    }
    assert!(applied >= 15, "only {applied} changes were tried");
}

/// A printed plan contains the causes of its collectives, so it can be explained without the original model.
#[test]
fn a_printed_plan_is_explained_as_its_model() {
    let programs = ["spmd_reshard", "tpu_p2_moe_jit", "tpu_p3_mlp_block_auto", "train_2d", "train_fsdp"];
    for name in programs {
        let text = sample(name).text;
        let plan = output(&["compile", "--emit", "sdy", "--causes", "-"], &text);
        let (of_model, of_plan) = (explained(&text, "0"), explained(&plan, "0"));
        assert_eq!(of_model["step_s"], of_plan["step_s"], "{name}");
        let list = |v: &Value| v["collectives"].as_array().expect("a list").clone();
        let (of_model, of_plan) = (list(&of_model), list(&of_plan));
        assert!(!of_model.is_empty() && of_model.len() == of_plan.len(), "{name}");
        for (model, plan) in of_model.iter().zip(&of_plan) {
            for key in
                ["kind", "axes", "operand_bytes", "result_bytes", "count", "time_s", "from", "to", "user", "manual"]
            {
                assert_eq!(model[key], plan[key], "{name}: {key} of {model}");
            }
            assert!(plan["removal"].is_null() && plan["loc"].is_string(), "{name}: {plan}");
        }
    }
}

#[test]
fn shardings_are_inserted_at_the_named_argument_or_result() {
    let text = r#"func.func @main(%a: tensor<4xf32>, %b: tensor<2x2xf32> {sdy.sharding = #sdy.sharding<@m, [{"x"}, {}]>, tf.a = 1}) -> (tensor<4xf32> {jax.r = "(a"}) {"#;
    let expected = r#"func.func @main(%a: tensor<4xf32> {sdy.sharding = #sdy.sharding<@m, [{}]>}, %b: tensor<2x2xf32> {sdy.sharding = #sdy.sharding<@m, [{}, {}]>, tf.a = 1}) -> (tensor<4xf32> {sdy.sharding = #sdy.sharding<@m, [{"y"}]>, jax.r = "(a"}) {"#;
    let a = changed(text, "annotating %a as <@m, [{}]>");
    let b = changed(&a, r#"annotating %b ("w") as <@m, [{}, {}]>"#);
    assert_eq!(changed(&b, r#"annotating result 0 as <@m, [{"y"}]>"#), expected);
}
