//! Others call us: a program in C through the C library, and the stock mlir-opt through its plugin, on JAX's programs.
//!
//! Without what `make plugin` makes, and without `SHARDC_ORACLES=1`, they are skipped.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use shardc::{Compiler, PrintOptions, Source};
use shardc_tests::oracle;
use shardc_tests::sharded::done;

const MLIR_OPT: &str = "/usr/lib/llvm-22/bin/mlir-opt";

fn target() -> PathBuf {
    Path::new(env!("CARGO_TARGET_TMPDIR")).parent().expect("it is below the target folder").to_owned()
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("the package stands in the workspace").to_owned()
}

fn said(output: &Output) -> String {
    String::from_utf8_lossy(&[&output.stdout[..], &output.stderr[..]].concat()).into_owned()
}

#[test]
fn a_program_in_c_compiles_programs() {
    let Some(library) = oracle::made(&target(), "capi/lib/libshardc.a", "capi") else { return };
    let (include, source) = (target().join("capi/include"), root().join("bindings/c/tests/embed.c"));
    let program = Path::new(env!("CARGO_TARGET_TMPDIR")).join("embed");
    // The header is one of C and of C++.
    for (compiler, language) in [("cc", "c"), ("c++", "c++")] {
        let built = Command::new(compiler)
            .args(["-Wall", "-Wextra", "-Werror", "-x", language])
            .arg(&source)
            .args(["-x", "none"])
            .arg(&library)
            .arg(format!("-I{}", include.display()))
            .args(["-lpthread", "-ldl", "-lm", "-o"])
            .arg(&program)
            .output()
            .expect("there is a C compiler");
        assert!(built.status.success(), "{}", said(&built));
        let ran = Command::new(&program).output().expect("it was built");
        assert!(ran.status.success(), "{}", said(&ran));
    }
}

/// mlir-opt with these arguments on a file.
fn mlir_opt(plugin: &Path, arguments: &[&str], file: &Path) -> Output {
    let load = format!("--load-pass-plugin={}", plugin.display());
    let all = ["--allow-unregistered-dialect", "--mlir-print-op-generic", &load];
    Command::new(MLIR_OPT).args(all).args(arguments).arg(file).output().expect("mlir-opt is installed by `make setup`")
}

/// The generic form of a program after these passes, with its locations.
fn generic(compiler: &Compiler, name: &str, text: &str, passes: Option<&str>) -> String {
    let module = done(compiler.parse(Source::new(name, text))).unwrap_or_else(|fault| panic!("{name}: {fault}"));
    let module = match passes {
        Some(passes) => done(compiler.run_passes(module, passes)).unwrap_or_else(|fault| panic!("{name}: {fault}")),
        None => module,
    };
    compiler.print(&module, PrintOptions { generic: true, locations: true, ..PrintOptions::default() })
}

/// JAX's programs, with their names.
fn corpus() -> Vec<(String, String)> {
    let mut paths: Vec<PathBuf> = fs::read_dir(root().join("tests/corpus"))
        .expect("the corpus can be read")
        .map(|entry| entry.expect("the corpus can be read").path().join("program.mlir"))
        .filter(|path| path.exists())
        .collect();
    paths.sort();
    let named = |path: &PathBuf| {
        let folder = path.parent().and_then(Path::file_name).expect("it has a folder");
        (folder.to_string_lossy().into_owned(), fs::read_to_string(path).expect("a program is text"))
    };
    paths.iter().map(named).collect()
}

#[test]
fn the_stock_mlir_opt_makes_of_jax_programs_what_we_do() {
    let Some(plugin) = oracle::made(&target(), "plugin/libShardcPlugin.so", "plugin") else { return };
    let compiler = Compiler::standard();
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("mlir-opt");
    fs::create_dir_all(&folder).expect("the target folder can be written");
    let (mut seen, mut faults) = (0, Vec::new());
    for (name, text) in corpus() {
        let [given, wanted] = ["given", "wanted"].map(|what| folder.join(format!("{name}.{what}.mlir")));
        fs::write(&given, generic(&compiler, &name, &text, None)).expect("the target folder can be written");
        fs::write(&wanted, generic(&compiler, &name, &text, Some("compile")))
            .expect("the target folder can be written");
        let pipeline = "--pass-pipeline=builtin.module(shardc{passes=compile})";
        // MLIR finds no function from inside an op whose dialect it doesn't know, as it is for sdy.manual_computation.
        let calls = fs::read_to_string(&given).is_ok_and(|text| text.contains("\"func.call\""));
        let unverified = if calls { &["--mlir-very-unsafe-disable-verifier-on-parsing"][..] } else { &[] };
        for debug in [&[][..], &["--mlir-print-debuginfo"][..]] {
            let got = mlir_opt(&plugin, &[&[pipeline][..], debug, unverified].concat(), &given);
            let want = mlir_opt(&plugin, debug, &wanted);
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
fn mlir_opt_shows_whose_fault_it_is() {
    let Some(plugin) = oracle::made(&target(), "plugin/libShardcPlugin.so", "plugin") else { return };
    let file = Path::new(env!("CARGO_TARGET_TMPDIR")).join("fault.mlir");
    let text = "module {\n  func.func @main(%a: tensor<8xf32>) -> tensor<8xf32> {\n    \
                %0 = \"stablehlo.negate\"(%a) : (tensor<8xf32>) -> tensor<8xi32>\n    return %a : tensor<8xf32>\n  }\n}\n";
    fs::write(&file, text).expect("the target folder can be written");
    let got = mlir_opt(&plugin, &["--pass-pipeline=builtin.module(shardc)"], &file);
    assert!(!got.status.success());
    let message = format!("{}:3:10: error:", file.display());
    assert!(said(&got).contains(&message), "no `{message}` in\n{}", said(&got));
    for (pipeline, want) in [
        ("builtin.module(shardc{passes=plam})", "there is no pass 'plam'"),
        ("builtin.module(shardc-plan{options=deep=7})", "option 'deep'"),
    ] {
        let got = mlir_opt(&plugin, &[&format!("--pass-pipeline={pipeline}")], &file);
        assert!(!got.status.success() && said(&got).contains(want), "{pipeline}: {}", said(&got));
    }
    let help = Command::new(MLIR_OPT).arg(format!("--load-pass-plugin={}", plugin.display())).arg("--help").output();
    let help = said(&help.expect("mlir-opt starts"));
    assert!(help.contains("--shardc-propagate"), "mlir-opt doesn't list our passes");
}

/// Reads a program of melior's, in the generic form.
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
fn a_melior_module_becomes_what_the_command_line_prints() {
    use shardc_mlir::melior::ir::Module;
    use shardc_mlir::melior::ir::operation::{OperationLike, OperationPrintingFlags};
    use shardc_mlir::melior::pass::PassManager;

    let (context, compiler) = (melior_context(), Compiler::standard());
    let flags = || OperationPrintingFlags::new().print_generic_operation_form().enable_debug_info(true, false);
    let printed = |module: &Module<'_>| module.as_operation().to_string_with_flags(flags()).expect("a text");
    let (mut seen, mut faults) = (0, Vec::new());
    for (name, text) in corpus() {
        let given = generic(&compiler, &name, &text, None);
        // MLIR finds no function from inside an op whose dialect it doesn't know, as it is for sdy.manual_computation.
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
            manager.add_pass(shardc_mlir::pass(&context, "sharded,one-device,plan", |fault| eprintln!("{fault}")));
            manager.add_pass(shardc_mlir::pass(&context, "partition,collective-matmul,schedule", |_| {}));
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
fn a_melior_module_stays_as_it_was_where_there_are_faults() {
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
    assert!(fault.contains("there is no pass 'plam'"), "{fault}");
    assert_eq!(module.as_operation().to_string(), before);
    let said = Arc::new(Mutex::new(String::new()));
    let (manager, told) = (PassManager::new(&context), said.clone());
    manager.add_pass(shardc_mlir::pass(&context, "plam", move |fault| *told.lock().unwrap() = fault.to_string()));
    assert!(manager.run(&mut module).is_err());
    assert!(said.lock().unwrap().contains("there is no pass 'plam'"));
    // What isn't known here is kept: the op, its attribute and location, the module's name and attributes.
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
fn what_has_no_location_is_where_mlir_opt_says() {
    if !Path::new(MLIR_OPT).exists() {
        assert!(std::env::var_os("SHARDC_ORACLES").is_none(), "{MLIR_OPT} is missing: run `make setup`");
        eprintln!("skipped: run `make setup` for {MLIR_OPT}");
        return;
    }
    let compiler = Compiler::standard();
    // Every location of a text in order, as `file":line:column`.
    let places = |text: &str| -> Vec<String> {
        text.split(" loc(\"").skip(1).map(|rest| rest.split(')').next().unwrap_or_default().to_owned()).collect()
    };
    for program in ["tpu_p3_mlp_block_auto", "train_2d"] {
        let text =
            fs::read_to_string(root().join("tests/corpus").join(program).join("program.mlir")).expect("it is there");
        let module = done(compiler.parse(Source::new(program, text))).expect("a program");
        let plain = compiler.print(&module, PrintOptions { generic: true, ..PrintOptions::default() });
        let file = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("{program}.plain.mlir"));
        fs::write(&file, &plain).expect("the target folder can be written");
        let flags = ["--allow-unregistered-dialect", "--mlir-very-unsafe-disable-verifier-on-parsing"];
        let shown = ["--mlir-print-op-generic", "--mlir-print-debuginfo", "--mlir-print-local-scope"];
        let theirs = Command::new(MLIR_OPT).args(flags).args(shown).arg(&file).output().expect("mlir-opt starts");
        assert!(theirs.status.success(), "{}", said(&theirs));
        let again = done(compiler.parse(Source::new(file.display().to_string(), plain))).expect("a program");
        let print = PrintOptions { generic: true, locations: true, local_scope: true, ..PrintOptions::default() };
        let (ours, theirs) = (places(&compiler.print(&again, print)), places(&said(&theirs)));
        assert!(ours.len() > 20, "{program} has {} locations", ours.len());
        assert_eq!(ours, theirs, "{program}");
    }
}
