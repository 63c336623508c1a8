//! Structured ops: MLIR's own tools and IREE read, lower and run our output, with the reference evaluator's values.

use std::fs;
use std::path::Path;
use std::process::Command;

use shardc::{Compiler, PrintOptions, Source};
use shardc_tests::corpus::{Sample, sample, samples};
use shardc_tests::oracle;
use shardc_tests::sharded::{module_and_inputs, value};
use shardc_tests::tools::{LLVM, mlir_opt, ok, root, said, scratch};

/// The passes that lower a program over tensors to LLVM.
const TO_LLVM: &str = "--pass-pipeline=builtin.module(one-shot-bufferize{bufferize-function-boundaries=1 \
    function-boundary-type-conversion=identity-layout-map allow-return-allocs-from-loops=1},expand-realloc,\
    buffer-deallocation-pipeline,convert-bufferization-to-memref,convert-linalg-to-loops,convert-scf-to-cf,expand-strided-metadata,lower-affine,convert-math-to-llvm,\
    convert-math-to-libm,convert-arith-to-llvm,finalize-memref-to-llvm,convert-func-to-llvm,convert-cf-to-llvm,\
    reconcile-unrealized-casts)";

/// Returns the programs for one device with f32 results, by name.
fn one_device() -> impl Iterator<Item = Sample> {
    let program = |name: &str| {
        let file = root().join("tests/linalg").join(name).with_extension("mlir");
        Sample { name: name.to_owned(), text: fs::read_to_string(file).expect("a program") }
    };
    ["structured", "unsigned", "product", "windows", "control", "types"].into_iter().map(program)
}

/// Returns an array as nested lists of its elements' bits.
fn nested(literal: &shardc::Literal, dim: usize, at: &mut usize) -> String {
    if dim == literal.shape.len() {
        *at += 1;
        let bytes = literal.element_bytes(*at - 1);
        let hex: String = bytes.iter().rev().map(|b| format!("{b:02X}")).collect();
        return match literal.element.text() {
            Some("i1") => (bytes[0] != 0).to_string(),
            _ => format!("0x{hex}"),
        };
    }
    let rows: Vec<String> = (0..literal.shape[dim]).map(|_| nested(literal, dim + 1, at)).collect();
    format!("[{}]", rows.join(", "))
}

#[test]
#[cfg_attr(not(has = "setup"), ignore = "run `make setup`")]
fn mlir_opt_lowers_linalg_to_llvm_with_the_evaluators_values() {
    let (llvm, folder, compiler) = (Path::new(LLVM), scratch("linalg"), Compiler::standard());
    // Also pass structured ops unchanged, so that mlir-opt defines their meaning.
    let unchanged = one_device().filter(|sample| sample.text.contains("linalg.")).map(|sample| (sample, true));
    for (Sample { name, text }, unchanged) in one_device().map(|sample| (sample, false)).chain(unchanged) {
        let (module, inputs) = module_and_inputs(&compiler, &name, text, 7);
        let device = value(&name, compiler.run_passes(module.clone(), "compile"));
        let made = match unchanged {
            true => compiler.print(&module, PrintOptions::default()),
            false => value(&name, compiler.linalg(&device)),
        };
        let wanted = value(&name, compiler.evaluate(&module, &inputs));
        // A function that calls the program on these inputs and prints its results.
        let tensor = |t: &dialect::ir::TensorType| {
            let dims: String = t.shape.iter().map(|d| format!("{d}x")).collect();
            format!("tensor<{dims}{}>", t.element.text().expect("a plain type").replace("ui", "i"))
        };
        let (mut body, mut names, mut types) = (String::new(), Vec::new(), Vec::new());
        for (i, input) in inputs[0].iter().enumerate() {
            let ty = tensor(&input.ty());
            let elements = if input.is_empty() { String::new() } else { nested(input, 0, &mut 0) };
            body += &format!("%in{i} = arith.constant dense<{elements}> : {ty}\n");
            names.push(format!("%in{i}"));
            types.push(ty);
        }
        let results: Vec<String> = wanted[0].iter().map(|result| tensor(&result.ty())).collect();
        body += &format!(
            "%out:{} = func.call @main({}) : ({}) -> ({})\n",
            results.len(),
            names.join(", "),
            types.join(", "),
            results.join(", ")
        );
        for (i, ty) in results.iter().enumerate() {
            body += &format!("%any{i} = tensor.cast %out#{i} : {ty} to tensor<*xf32>\n");
            body += &format!("func.call @printMemrefF32(%any{i}) : (tensor<*xf32>) -> ()\n");
        }
        let end = made.trim_end().rfind('}').expect("a module");
        let driven = format!(
            "{}func.func private @printMemrefF32(tensor<*xf32>)\nfunc.func @driver() {{\n{body}return\n}}\n}}\n",
            &made[..end]
        );
        let [given, lowered] = ["mlir", "llvm.mlir"].map(|ext| folder.join(format!("{name}.{ext}")));
        fs::write(&given, driven).expect("the target folder can be written");
        ok(mlir_opt().arg(TO_LLVM).arg(&given).arg("-o").arg(&lowered));
        let library = |name: &str| llvm.join("lib").join(name).display().to_string();
        let libraries = [library("libmlir_runner_utils.so"), library("libmlir_c_runner_utils.so")].join(",");
        let mut runner = Command::new(llvm.join("bin/mlir-runner"));
        runner.args(["-e", "driver", "--entry-point-result=void", &format!("--shared-libs={libraries}")]);
        let printed = said(&ok(runner.arg(&lowered)));
        let arrays: Vec<Vec<f64>> = printed
            .split("data =")
            .skip(1)
            .map(|text| text.split("Unranked").next().unwrap_or_default())
            .map(|text| text.split(['[', ']', ',', ' ', '\n']).filter_map(|word| word.parse().ok()).collect())
            .collect();
        near(&name, &arrays, &wanted[0], &printed);
    }
}

/// Checks that the printed numbers, with six digits each, match the expected ones.
fn near(name: &str, arrays: &[Vec<f64>], wanted: &[shardc::Literal], printed: &str) {
    assert_eq!(arrays.len(), wanted.len(), "{name}: {printed}");
    for (i, (got, want)) in arrays.iter().zip(wanted).enumerate() {
        assert_eq!(got.len(), want.len(), "{name}: result {i}: {printed}");
        for (j, got) in got.iter().enumerate() {
            let dialect::scalar::Scalar::Float(want) = want.get(j) else { panic!("{name}: no float") };
            let near = (got - want).abs() <= 2e-5 * want.abs() || got.is_nan() && want.is_nan() || *got == want;
            assert!(near, "{name}: result {i}, element {j}: {got} instead of {want}");
        }
    }
}

#[test]
#[cfg_attr(not(has = "iree"), ignore = "run `make iree`")]
fn iree_runs_programs_with_the_evaluators_values() {
    let (iree_compile, compiler, folder) = (oracle::made("iree"), Compiler::standard(), scratch("iree"));
    let compile = |name: &str, text: String| {
        let [given, made] = ["mlir", "vmfb"].map(|ext| folder.join(format!("{name}.{ext}")));
        fs::write(&given, text).expect("the target folder can be written");
        let backend = ["--iree-hal-target-device=local", "--iree-hal-local-target-device-backends=llvm-cpu"];
        let mut compile = Command::new(&iree_compile);
        compile.args(backend).args(["--iree-input-type=stablehlo", "--iree-llvmcpu-target-cpu=generic", "-o"]);
        ok(compile.args([&made, &given]));
        made
    };
    // IREE parses StableHLO in addition to its own version of linalg, but not all types.
    let supported = |sample: &Sample| sample.name != "types" && !sample.text.contains("linalg.");
    for Sample { name, text } in one_device().filter(supported) {
        let (module, inputs) = module_and_inputs(&compiler, &name, text, 7);
        let device = value(&name, compiler.run_passes(module.clone(), "compile"));
        let made = compile(&name, compiler.print(&device, PrintOptions::default()));
        let wanted = value(&name, compiler.evaluate(&module, &inputs));
        let input = |literal: &shardc::Literal| {
            let dims: String = literal.shape.iter().map(|d| format!("{d}x")).collect();
            let number = |i| match literal.get(i) {
                dialect::scalar::Scalar::Float(v) => v.to_string(),
                other => other.as_i64().expect("a number").to_string(),
            };
            let numbers: Vec<String> = (0..literal.len()).map(number).collect();
            // IREE reads bits as bytes.
            let element = match literal.element.text().expect("a plain type") {
                "i1" => "i8",
                other => other,
            };
            format!("--input={dims}{element}={}", numbers.join(" "))
        };
        let mut run = Command::new(iree_compile.with_file_name("iree-run-module"));
        run.args(["--device=local-sync", "--function=main", &format!("--module={}", made.display())]);
        let printed = said(&ok(run.args(inputs[0].iter().map(input))));
        let arrays: Vec<Vec<f64>> = printed
            .lines()
            .filter_map(|line| line.split_once("f32="))
            .map(|(_, numbers)| numbers.split(['[', ']', ' ']).filter_map(|word| word.parse().ok()).collect())
            .collect();
        near(&name, &arrays, &wanted[0], &printed);
    }
    // Use collectives with one operand each, because IREE parses no others.
    let name = "train_2d";
    let module = value(name, compiler.parse(Source::new(name, sample(name).text)));
    let device = value(name, compiler.run_passes(module, "compile{several-operands=false}"));
    compile(name, compiler.print(&device, PrintOptions::default()));
}

#[test]
#[cfg_attr(not(has = "setup"), ignore = "run `make setup`")]
fn structured_ops_are_parsed_and_printed_as_by_mlir_opt() {
    let (compiler, folder) = (Compiler::standard(), scratch("structured"));
    // Returns mlir-opt's output for a file.
    let theirs = |bytes: &[u8], flag: &str| {
        let file = folder.join("program.mlir");
        fs::write(&file, bytes).expect("the target folder can be written");
        ok(mlir_opt().arg(flag).arg(&file)).stdout
    };
    let (pretty, generic) = ("--mlir-print-op-generic=false", "--mlir-print-op-generic");
    let text = fs::read(root().join("lit-tests/parse/linalg.mlir")).expect("the lit-test");
    let wanted = theirs(&text, pretty);
    // Parse the same program in four forms: mlir-opt's generic text, its text, its bytecode, and our text.
    for program in [theirs(&wanted, generic), wanted.clone(), theirs(&wanted, "--emit-bytecode"), text] {
        let source = match shardc::is_bytecode(&program) {
            true => value("linalg", Source::of_bytecode("linalg", &program)),
            false => Source::new("linalg", String::from_utf8(program).expect("a text")),
        };
        let module = value("linalg", compiler.parse(source));
        for generic in [false, true] {
            let options = PrintOptions { generic, ..PrintOptions::default() };
            let said = |bytes: &[u8]| String::from_utf8(theirs(bytes, pretty)).expect("a text");
            assert_eq!(said(compiler.print(&module, options).as_bytes()), said(&wanted));
            assert_eq!(said(&compiler.bytecode(&module, options)), said(&wanted));
        }
    }
}

#[test]
#[cfg_attr(not(has = "setup"), ignore = "run `make setup`")]
fn mlir_opt_lowers_the_linalg_form_of_jax_programs() {
    let (compiler, folder) = (Compiler::standard(), scratch("linalg-corpus"));
    let (mut written, mut refused, mut files) = (0, Vec::new(), Vec::new());
    let sharded = fs::read_to_string(root().join("lit-tests/partition/linalg.mlir")).expect("the lit-test");
    for Sample { name, text } in samples().into_iter().chain([Sample { name: "linalg".to_owned(), text: sharded }]) {
        let module = value(&name, compiler.parse(Source::new(&name, text)));
        let device = value(&name, compiler.run_passes(module, "compile"));
        match compiler.linalg(&device).into_result() {
            Ok(text) => {
                files.push(text);
                written += 1;
            }
            Err(fault) => {
                let fault = fault.to_string();
                assert!(
                    fault.contains("has no form in linalg") || fault.contains("upstream MLIR lacks"),
                    "{name}: {fault}"
                );
                refused.push(name);
            }
        }
    }
    assert!(refused.iter().any(|name| name == "kind_argsort"), "a sort is no loop nest");
    let sum =
        "attributes {shardc.op = \"stablehlo.all_reduce\", shardc.reduction = \"sum\", shardc.groups = dense<[[0, 1";
    assert!(files.iter().any(|text| text.contains(sum)), "no program sums over devices");
    // Put all modules into one file, so that mlir-opt starts once.
    let all = folder.join("corpus.mlir");
    fs::write(&all, files.join("\n// -----\n")).expect("the target folder can be written");
    ok(mlir_opt().args([TO_LLVM, "--split-input-file", "-o", "/dev/null"]).arg(&all));
    assert!(written >= 50, "only {written}; refused: {refused:?}");
}
