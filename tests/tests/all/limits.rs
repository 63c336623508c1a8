//! Programs at the limits: 128 levels of regions pass through every command, and 129 are refused with the place. Long
//! chains of calls, long locations, and ops with many operands take time and text in proportion to their size.

use std::fmt::Write;

use shardc_tests::command::shardc;

/// Returns the exit code and all output of a command, for a program given as text.
fn run(command: &[&str], text: &str) -> (u8, String) {
    shardc::on_deep_stack(|| shardc(command, text).code_and_text())
}

fn prints(command: &[&str], text: &str) -> String {
    let (code, said) = run(command, text);
    let start: String = said.chars().take(600).collect();
    assert_eq!(code, 0, "{command:?}: {start}");
    said
}

/// Returns a program of `levels` levels, each opened by `open` and closed by `close` around the op in the middle. `%v0`
/// inside and `%r0` outside are the values that go in and come out.
fn nest(levels: usize, open: impl Fn(usize, &str) -> String, close: impl Fn(usize, &str) -> String) -> String {
    let mut text = "sdy.mesh @mesh = <[\"x\"=2]>\n\
        func.func public @main(%a: tensor<4xf32>, %p: tensor<i1>, %k: tensor<i32>) -> tensor<4xf32> {\n"
        .to_owned();
    for level in 0..levels {
        let around = if level == 0 { "%a".to_owned() } else { format!("%v{}", level - 1) };
        text += &open(level, &around);
    }
    let mut value = "%inner".to_owned();
    writeln!(text, "{value} = stablehlo.sine %v{} : tensor<4xf32>", levels - 1).unwrap();
    for level in (0..levels).rev() {
        text += &close(level, &value);
        value = format!("%r{level}");
    }
    text + &format!("return {value} : tensor<4xf32>\n}}\n")
}

/// A name, and a function that returns a program with this number of levels.
type Nested = (&'static str, fn(usize) -> String);

const NESTED: [Nested; 4] = [
    ("if", |levels| branches(levels, "if", "%p", "i1")),
    ("case", |levels| branches(levels, "case", "%k", "i32")),
    ("while", |levels| {
        nest(
            levels,
            |i, around| {
                format!(
                    "%q{i} = stablehlo.constant dense<false> : tensor<i1>\n\
                     %r{i}:2 = stablehlo.while(%c{i} = %p, %v{i} = {around}) : tensor<i1>, tensor<4xf32>\n\
                     cond {{ stablehlo.return %c{i} : tensor<i1> }} do {{\n"
                )
            },
            |i, inner| {
                let inner = if inner == "%inner" { inner.to_owned() } else { format!("{inner}#1") };
                format!("stablehlo.return %q{i}, {inner} : tensor<i1>, tensor<4xf32>\n}}\n")
            },
        )
        .replace("return %r0 : tensor<4xf32>\n}\n", "return %r0#1 : tensor<4xf32>\n}\n")
    }),
    ("manual_computation", |levels| {
        nest(
            levels,
            |i, around| {
                format!(
                    "%r{i} = sdy.manual_computation({around}) in_shardings=[<@mesh, [{{}}]>] \
                     out_shardings=[<@mesh, [{{}}]>] manual_axes={{}} (%v{i}: tensor<4xf32>) {{\n"
                )
            },
            |_, inner| format!("sdy.return {inner} : tensor<4xf32>\n}} : (tensor<4xf32>) -> tensor<4xf32>\n"),
        )
    }),
];

fn branches(levels: usize, op: &str, chosen_by: &str, ty: &str) -> String {
    nest(
        levels,
        |i, around| {
            format!("%r{i} = \"stablehlo.{op}\"({chosen_by}) ({{\n%v{i} = stablehlo.cosine {around} : tensor<4xf32>\n")
        },
        |_, inner| {
            format!(
                "stablehlo.return {inner} : tensor<4xf32>\n}}, {{\nstablehlo.return %a : tensor<4xf32>\n}}) : \
                 (tensor<{ty}>) -> tensor<4xf32>\n"
            )
        },
    )
}

#[test]
fn regions_nest_in_128_levels_in_every_command() {
    let commands: [&[&str]; 13] = [
        &["compile", "-"],
        &["compile", "--emit", "sdy", "-"],
        &["compile", "--emit", "manual", "-"],
        &["compile", "--emit", "linalg", "-"],
        &["compile", "--plan", "greedy", "-"],
        &["opt", "-"],
        &["check", "--interpret", "-"],
        &["explain", "--tries", "1", "-"],
        &["cost", "-"],
        &["show", "--all", "-"],
        &["run", "--interpret", "-"],
        &["report", "--tries", "1", "-"],
        &["diff", "-"],
    ];
    for (name, program) in NESTED {
        let (deepest, too_deep) = (program(128), program(129));
        for command in commands {
            let (code, said) = run(command, &deepest);
            let said: String = said.chars().take(600).collect();
            let unsupported = command.contains(&"linalg") && said.contains("[no-");
            assert!(code == 0 || unsupported, "{name}: {command:?}: {said}");
        }
        let (code, said) = run(&["compile", "-"], &too_deep);
        assert_eq!(code, 1, "{name}");
        assert!(said.contains("[nesting-depth]: nested deeper than 128 levels") && said.contains("<stdin>:"), "{said}");
    }
}

#[test]
fn attributes_types_and_locations_nest_in_128_levels() {
    let program = |attribute: &str, loc: &str| {
        format!(
            "func.func @main(%a: tensor<4xf32>) -> tensor<4xf32> {{\n\
             %0 = stablehlo.sine %a {{foo = {attribute}}} : tensor<4xf32> loc({loc})\nreturn %0 : tensor<4xf32>\n}}\n"
        )
    };
    let around = |open: &str, inner: &str, close: &str, n: usize| open.repeat(n) + inner + &close.repeat(n);
    for levels in [127, 128] {
        let texts = [
            program(&around("[", "1", "]", levels), "unknown"),
            program(&around("{b = ", "1", "}", levels), "unknown"),
            // The attribute around the type counts as a level, too.
            program(&around("tuple<", "i32", ">", levels - 1), "unknown"),
            program("1", &around("fused[", "unknown", "]", levels)),
            program("1", &around("\"a\"(", "unknown", ")", levels)),
        ];
        for text in texts {
            let (code, said) = run(&["opt", "-"], &text);
            assert_eq!(code, u8::from(levels > 127), "{levels} levels: {said}");
            assert!(code == 0 || said.contains("nested deeper than 128 levels"), "{said}");
        }
    }
}

#[test]
fn call_sites_nest_as_deep_as_programs_call() {
    let text = |loc: &str| {
        format!(
            "func.func @main(%a: tensor<4xf32>) -> tensor<4xf32> {{\n\
             %0 = stablehlo.sine %a : tensor<4xf32> loc({loc})\nreturn %0 : tensor<4xf32>\n}}\n"
        )
    };
    let n = 5000;
    let left = "callsite(".repeat(n) + "\"a.py\":1:1" + &" at \"b.py\":2:2)".repeat(n);
    let right = "callsite(\"b.py\":2:2 at ".repeat(n) + "\"a.py\":1:1" + &")".repeat(n);
    for loc in [left, right] {
        let once = prints(&["opt", "--mlir-print-debuginfo", "-"], &text(&loc));
        assert_eq!(once.matches("callsite(").count(), n);
        assert_eq!(prints(&["opt", "--mlir-print-debuginfo", "-"], &once), once);
    }
}

/// Returns functions that each call the one before, and also run `ops`.
fn chain(functions: usize, ops: &str) -> String {
    let signature = "(%a: tensor<4xf32>) -> tensor<4xf32>";
    let mut text = format!("func.func private @f0{signature} {{\n%1 = stablehlo.sine %a : tensor<4xf32>\n");
    for i in 1..functions {
        writeln!(text, "return %1 : tensor<4xf32>\n}}\nfunc.func private @f{i}{signature} {{").unwrap();
        writeln!(text, "%0 = call @f{}(%a) : (tensor<4xf32>) -> tensor<4xf32>\n{ops}", i - 1).unwrap();
    }
    let last = functions - 1;
    text + &format!(
        "return %1 : tensor<4xf32>\n}}\nfunc.func public @main{signature} {{\n\
         %0 = call @f{last}(%a) : (tensor<4xf32>) -> tensor<4xf32>\nreturn %0 : tensor<4xf32>\n}}\n"
    )
}

#[test]
fn chains_of_calls_are_inlined_without_additional_ops() {
    let text = chain(5000, "%1 = stablehlo.optimization_barrier %0 : tensor<4xf32>");
    let made = prints(&["opt", "--passes", "import", "-"], &text);
    assert_eq!(made.matches("stablehlo.optimization_barrier").count(), 4999);
    assert_eq!((made.matches("stablehlo.sine").count(), made.matches("func.func").count()), (1, 1));
}

/// Returns functions that each call the one before twice.
fn exploding(functions: usize) -> String {
    let mut text = chain(functions, "%1 = call @before(%0) : (tensor<4xf32>) -> tensor<4xf32>");
    for i in 0..functions - 1 {
        text = text.replacen("@before", &format!("@f{i}"), 1);
    }
    text
}

#[test]
fn calls_that_would_be_inlined_too_often_are_refused_with_their_function() {
    let text = exploding(25);
    let (code, said) = run(&["compile", "-"], &text);
    assert_eq!(code, 1);
    let message =
        "inlining would create 16777216 ops, more than the limit of 8000000: @f0 has 1 and is inlined 16777216 times";
    assert!(said.contains(message) && said.contains("<stdin>:1:"), "{said}");
    // Functions that @main doesn't call don't count.
    let unread = text.replace("public @main", "private @other")
        + "func.func public @main(%a: tensor<4xf32>) -> tensor<4xf32> {\nreturn %a : tensor<4xf32>\n}\n";
    assert!(!prints(&["opt", "--passes", "import", "-"], &unread).contains("sine"));
}

#[test]
fn calls_in_regions_nest_no_deeper_than_regions() {
    let text = |functions| {
        let mut text = chain(functions, "%1 = stablehlo.cosine %0 : tensor<4xf32>");
        for i in 1..functions {
            let call = format!("%0 = call @f{}(%a) : (tensor<4xf32>) -> tensor<4xf32>\n%1", i - 1);
            let branch = format!(
                "%p = stablehlo.constant dense<true> : tensor<i1>\n%0 = \"stablehlo.if\"(%p) ({{\n\
                 %c = func.call @f{}(%a) : (tensor<4xf32>) -> tensor<4xf32>\nstablehlo.return %c : tensor<4xf32>\n}}, {{\n\
                 stablehlo.return %a : tensor<4xf32>\n}}) : (tensor<i1>) -> tensor<4xf32>\n%1",
                i - 1
            );
            text = text.replace(&call, &branch);
        }
        text
    };
    assert_eq!(prints(&["opt", "--passes", "import", "-"], &text(129)).matches("stablehlo.if").count(), 128);
    let (code, said) = run(&["opt", "--passes", "import", "-"], &text(130));
    assert_eq!(code, 1);
    assert!(said.contains("inlining this call nests regions deeper than 128 levels"), "{said}");
}

/// Returns one concatenation of `operands` copies of an array, or of slices of it.
#[cfg(feature = "jit")]
fn concatenation(operands: usize, sliced: bool) -> String {
    let mut text = "sdy.mesh @mesh = <[\"x\"=4]>\nfunc.func public @main(%a: tensor<8x4xf32> {sdy.sharding = \
        #sdy.sharding<@mesh, [{\"x\"}, {}]>}) -> "
        .to_owned();
    let (ty, rows) = if sliced { ("tensor<1x4xf32>", operands) } else { ("tensor<8x4xf32>", 8 * operands) };
    writeln!(text, "tensor<{rows}x4xf32> {{").unwrap();
    for i in 0..operands {
        let line = match sliced {
            true => format!("stablehlo.slice %a [{0}:{1}, 0:4] : (tensor<8x4xf32>) -> {ty}", i * 3 % 8, i * 3 % 8 + 1),
            false => format!("stablehlo.optimization_barrier %a : {ty}"),
        };
        writeln!(text, "%s{i} = {line}").unwrap();
    }
    let list = |f: &dyn Fn(usize) -> String| (0..operands).map(f).collect::<Vec<_>>().join(", ");
    let (names, types) = (list(&|i| format!("%s{i}")), list(&|_| ty.to_owned()));
    writeln!(text, "%r = stablehlo.concatenate {names}, dim = 0 : ({types}) -> tensor<{rows}x4xf32>").unwrap();
    text + &format!("return %r : tensor<{rows}x4xf32>\n}}\n")
}

#[cfg(feature = "jit")]
#[test]
fn kernels_of_concatenations_grow_in_proportion_to_their_operands() {
    for sliced in [false, true] {
        prints(&["check", "-"], &concatenation(60, sliced));
        let kernels = |n| prints(&["compile", "--emit", "kernels", "-"], &concatenation(n, sliced)).len();
        let (few, many) = (kernels(40), kernels(160));
        assert!(many < 5 * few, "{few} bytes of kernels for 40 operands, {many} for 160");
    }
}
