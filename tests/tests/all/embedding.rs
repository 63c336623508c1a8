//! Embedders: a program in C with the C library, and the stock mlir-opt with its plugin, on JAX's programs.

use std::fs;
use std::path::Path;
use std::process::{Command, Output};

use shardc::{Compiler, PrintOptions, Source};
use shardc_tests::corpus::{Sample, sample, samples};
use shardc_tests::oracle;
use shardc_tests::sharded::value;
use shardc_tests::tools::{mlir_opt, ok, root, said, scratch};

#[test]
#[cfg_attr(not(has = "capi"), ignore = "run `make capi`")]
fn a_program_in_c_compiles_programs() {
    let library = oracle::made("capi");
    let (include, source) = (library.with_file_name("../include"), root().join("bindings/c/tests/embed.c"));
    let program = scratch("embed").join("embed");
    // The header is valid in C and in C++.
    for (compiler, language) in [("cc", "c"), ("c++", "c++")] {
        let mut build = Command::new(compiler);
        build.args(["-Wall", "-Wextra", "-Werror", "-x", language]).arg(&source).args(["-x", "none"]).arg(&library);
        build.arg(format!("-I{}", include.display())).args(["-lpthread", "-ldl", "-lm", "-o"]).arg(&program);
        ok(&mut build);
        ok(&mut Command::new(&program));
    }
}

/// Runs mlir-opt with our plugin and these arguments on a file.
fn with_plugin(plugin: &Path, arguments: &[&str], file: &Path) -> Output {
    let load = format!("--load-pass-plugin={}", plugin.display());
    let all = ["--allow-unregistered-dialect", "--mlir-print-op-generic", &load];
    mlir_opt().args(all).args(arguments).arg(file).output().expect("mlir-opt is installed by `make setup`")
}

/// Returns the generic form of a program after these passes, with its locations.
fn generic(compiler: &Compiler, name: &str, text: &str, passes: Option<&str>) -> String {
    let mut module = value(name, compiler.parse(Source::new(name, text)));
    if let Some(passes) = passes {
        module = value(name, compiler.run_passes(module, passes));
    }
    compiler.print(&module, PrintOptions { generic: true, locations: true, ..PrintOptions::default() })
}

#[test]
#[cfg_attr(not(has = "plugin"), ignore = "run `make plugin`")]
fn mlir_opt_with_the_plugin_compiles_jax_programs_as_we_do() {
    let plugin = oracle::made("plugin");
    let compiler = Compiler::standard();
    let folder = scratch("mlir-opt");
    let (mut seen, mut faults) = (0, Vec::new());
    for Sample { name, text } in samples() {
        let [given, wanted] = ["given", "wanted"].map(|what| folder.join(format!("{name}.{what}.mlir")));
        fs::write(&given, generic(&compiler, &name, &text, None)).expect("the target folder can be written");
        fs::write(&wanted, generic(&compiler, &name, &text, Some("compile")))
            .expect("the target folder can be written");
        let pipeline = "--pass-pipeline=builtin.module(shardc{passes=compile})";
        // MLIR doesn't find functions from inside an op of an unknown dialect, such as sdy.manual_computation.
        let calls = fs::read_to_string(&given).is_ok_and(|text| text.contains("\"func.call\""));
        let unverified = if calls { &["--mlir-very-unsafe-disable-verifier-on-parsing"][..] } else { &[] };
        for debug in [&[][..], &["--mlir-print-debuginfo"][..]] {
            let got = with_plugin(&plugin, &[&[pipeline][..], debug, unverified].concat(), &given);
            let want = with_plugin(&plugin, debug, &wanted);
            if !got.status.success() || !want.status.success() || got.stdout != want.stdout {
                let fault = format!("{name} {debug:?}: {}{}", String::from_utf8_lossy(&got.stderr), said(&want));
                faults.push(fault.chars().take(400).collect::<String>());
            }
        }
        seen += 1;
    }
    assert!(faults.is_empty(), "{} of {seen} programs:\n{}", faults.len(), faults.join("\n"));
    assert!(seen > 40, "only {seen} programs");
}

#[test]
#[cfg_attr(not(has = "plugin"), ignore = "run `make plugin`")]
fn the_plugins_errors_name_the_op_the_pass_or_the_option() {
    let plugin = oracle::made("plugin");
    let file = scratch("mlir-opt-faults").join("fault.mlir");
    let text = "module {\n  func.func @main(%a: tensor<8xf32>) -> tensor<8xf32> {\n    \
                %0 = \"stablehlo.negate\"(%a) : (tensor<8xf32>) -> tensor<8xi32>\n    return %a : tensor<8xf32>\n  }\n}\n";
    fs::write(&file, text).expect("the target folder can be written");
    let got = with_plugin(&plugin, &["--pass-pipeline=builtin.module(shardc)"], &file);
    assert!(!got.status.success());
    let message = format!("{}:3:10: error:", file.display());
    assert!(said(&got).contains(&message), "no `{message}` in\n{}", said(&got));
    for (pipeline, want) in [
        ("builtin.module(shardc{passes=plam})", "unknown pass 'plam'"),
        ("builtin.module(shardc-plan{options=deep=7})", "option 'deep'"),
    ] {
        let got = with_plugin(&plugin, &[&format!("--pass-pipeline={pipeline}")], &file);
        assert!(!got.status.success() && said(&got).contains(want), "{pipeline}: {}", said(&got));
    }
    let help = said(&ok(mlir_opt().arg(format!("--load-pass-plugin={}", plugin.display())).arg("--help")));
    assert!(help.contains("--shardc-propagate"), "mlir-opt doesn't list our passes");
}

/// Returns a melior context for programs in the generic form.
#[cfg(feature = "jit")]
fn melior_context() -> shardc_mlir::melior::Context {
    use shardc_mlir::melior;
    let registry = melior::dialect::DialectRegistry::new();
    melior::utility::register_all_dialects(&registry);
    let context = melior::Context::new();
    context.append_dialect_registry(&registry);
    context.load_all_available_dialects();
    context.set_allow_unregistered_dialects(true);
    context
}

#[cfg(feature = "jit")]
#[test]
fn a_melior_module_is_compiled_as_by_the_command_line() {
    use shardc_mlir::melior::ir::Module;
    use shardc_mlir::melior::ir::operation::{OperationLike, OperationPrintingFlags};
    use shardc_mlir::melior::pass::PassManager;

    let (context, compiler) = (melior_context(), Compiler::standard());
    let flags = || OperationPrintingFlags::new().print_generic_operation_form().enable_debug_info(true, false);
    let printed = |module: &Module<'_>| module.as_operation().to_string_with_flags(flags()).expect("a text");
    let (mut seen, mut faults) = (0, Vec::new());
    for Sample { name, text } in samples() {
        let given = generic(&compiler, &name, &text, None);
        // MLIR doesn't find functions from inside an op of an unknown dialect, such as sdy.manual_computation.
        let given =
            if given.contains("\"func.call\"") { generic(&compiler, &name, &given, Some("import")) } else { given };
        let wanted = generic(&compiler, &name, &given, Some("compile"));
        let read = |text: &str| Module::parse(&context, text).unwrap_or_else(|| panic!("{name}: MLIR can't read it"));
        let (mut module, wanted) = (read(&given), printed(&read(&wanted)));
        if seen % 2 == 0 {
            if let Err(fault) = shardc_mlir::run(&context, &mut module, "compile") {
                faults.push(format!("{name}: {fault}"));
            }
        } else {
            let manager = PassManager::new(&context);
            shardc_mlir::add_pass(&manager, &context, "sharded,one-device,cse{elementwise=false},plan", |fault| {
                eprintln!("{fault}")
            });
            shardc_mlir::add_pass(&manager, &context, "partition,collective-matmul,schedule", |_| {});
            if manager.run(&mut module).is_err() {
                faults.push(format!("{name}: a pass failed"));
            }
        }
        if printed(&module) != wanted {
            faults.push(format!("{name}: another program"));
        }
        seen += 1;
    }
    assert!(faults.is_empty(), "{} of {seen} programs:\n{}", faults.len(), faults.join("\n"));
    assert!(seen > 40, "only {seen} programs");
}

#[cfg(feature = "jit")]
#[test]
fn a_melior_module_is_unchanged_after_an_error() {
    use shardc_mlir::melior::ir::Module;
    use shardc_mlir::melior::ir::operation::OperationLike;
    use shardc_mlir::melior::pass::PassManager;
    use std::sync::{Arc, Mutex};

    let context = melior_context();
    let text = "module @named attributes {acme.a = 1 : i32} { func.func @main(%a: tensor<8xf32>) -> tensor<8xf32> { \
                %0 = \"acme.twice\"(%a) {acme.b} : (tensor<8xf32>) -> tensor<8xf32> loc(\"mine\") return %0 : tensor<8xf32> } }";
    let mut module = Module::parse(&context, text).expect("a module");
    let before = module.as_operation().to_string();
    let fault = shardc_mlir::run(&context, &mut module, "plam").expect_err("no such pass").to_string();
    assert!(fault.contains("unknown pass 'plam'"), "{fault}");
    assert_eq!(module.as_operation().to_string(), before);
    let said = Arc::new(Mutex::new(String::new()));
    let (manager, messages) = (PassManager::new(&context), said.clone());
    shardc_mlir::add_pass(&manager, &context, "plam", move |fault| *messages.lock().unwrap() = fault.to_string());
    assert!(manager.run(&mut module).is_err());
    assert!(said.lock().unwrap().contains("unknown pass 'plam'"));
    // Unknown parts are kept: the op, its attribute and location, the module's name and attributes.
    shardc_mlir::run(&context, &mut module, "compile").expect("a program");
    let after = module.as_operation().to_string();
    for kept in ["@named", "acme.a = 1 : i32", "\"acme.twice\"", "acme.b"] {
        assert!(after.contains(kept), "no {kept} in {after}");
    }
    let located = module.as_operation().to_string_with_flags(
        shardc_mlir::melior::ir::operation::OperationPrintingFlags::new().enable_debug_info(true, false),
    );
    assert!(located.expect("a text").contains("loc(\"mine\""));
}

#[test]
#[cfg_attr(not(has = "setup"), ignore = "run `make setup`")]
fn ops_without_locations_get_those_that_mlir_opt_gives_them() {
    let compiler = Compiler::standard();
    // Returns every location of a text in order, as `file":line:column`.
    let places = |text: &str| -> Vec<String> {
        text.split(" loc(\"").skip(1).map(|rest| rest.split(')').next().unwrap_or_default().to_owned()).collect()
    };
    for program in ["tpu_p3_mlp_block_auto", "train_2d"] {
        let module = value(program, compiler.parse(Source::new(program, sample(program).text)));
        let plain = compiler.print(&module, PrintOptions { generic: true, ..PrintOptions::default() });
        let file = scratch("locations").join(format!("{program}.mlir"));
        fs::write(&file, &plain).expect("the target folder can be written");
        let flags = ["--allow-unregistered-dialect", "--mlir-very-unsafe-disable-verifier-on-parsing"];
        let shown = ["--mlir-print-op-generic", "--mlir-print-debuginfo", "--mlir-print-local-scope"];
        let theirs = ok(mlir_opt().args(flags).args(shown).arg(&file));
        let again = value(program, compiler.parse(Source::new(file.display().to_string(), plain)));
        let print = PrintOptions { generic: true, locations: true, local_scope: true, ..PrintOptions::default() };
        let (ours, theirs) = (places(&compiler.print(&again, print)), places(&said(&theirs)));
        assert!(ours.len() > 20, "{program} has {} locations", ours.len());
        assert_eq!(ours, theirs, "{program}");
    }
}
