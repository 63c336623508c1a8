//! Embedders: a program in C with the C library, and the stock mlir-opt with its plugin, on JAX's programs.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use shardc::{Compiler, PrintOptions, Source};
use shardc_tests::oracle;
use shardc_tests::sharded::done;

const MLIR_OPT: &str = "/usr/lib/llvm-22/bin/mlir-opt";

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("the package stands in the workspace").to_owned()
}

fn said(output: &Output) -> String {
    String::from_utf8_lossy(&[&output.stdout[..], &output.stderr[..]].concat()).into_owned()
}

#[test]
#[cfg_attr(not(has = "capi"), ignore = "run `make capi`")]
fn a_program_in_c_compiles_programs() {
    let library = oracle::made("capi");
    let (include, source) = (library.with_file_name("../include"), root().join("bindings/c/tests/embed.c"));
    let program = Path::new(env!("CARGO_TARGET_TMPDIR")).join("embed");
    // The header is valid in C and in C++.
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

/// Runs mlir-opt with these arguments on a file.
fn mlir_opt(plugin: &Path, arguments: &[&str], file: &Path) -> Output {
    let load = format!("--load-pass-plugin={}", plugin.display());
    let all = ["--allow-unregistered-dialect", "--mlir-print-op-generic", &load];
    Command::new(MLIR_OPT).args(all).args(arguments).arg(file).output().expect("mlir-opt is installed by `make setup`")
}

/// Returns the generic form of a program after these passes, with its locations.
fn generic(compiler: &Compiler, name: &str, text: &str, passes: Option<&str>) -> String {
    let module = done(compiler.parse(Source::new(name, text))).unwrap_or_else(|fault| panic!("{name}: {fault}"));
    let module = match passes {
        Some(passes) => done(compiler.run_passes(module, passes)).unwrap_or_else(|fault| panic!("{name}: {fault}")),
        None => module,
    };
    compiler.print(&module, PrintOptions { generic: true, locations: true, ..PrintOptions::default() })
}

/// Returns JAX's programs, with their names.
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
#[cfg_attr(not(has = "plugin"), ignore = "run `make plugin`")]
fn the_stock_mlir_opt_makes_of_jax_programs_what_we_do() {
    let plugin = oracle::made("plugin");
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
        // MLIR doesn't find functions from inside an op of an unknown dialect, such as sdy.manual_computation.
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
#[cfg_attr(not(has = "plugin"), ignore = "run `make plugin`")]
fn mlir_opt_shows_whose_fault_it_is() {
    let plugin = oracle::made("plugin");
    let file = Path::new(env!("CARGO_TARGET_TMPDIR")).join("fault.mlir");
    let text = "module {\n  func.func @main(%a: tensor<8xf32>) -> tensor<8xf32> {\n    \
                %0 = \"stablehlo.negate\"(%a) : (tensor<8xf32>) -> tensor<8xi32>\n    return %a : tensor<8xf32>\n  }\n}\n";
    fs::write(&file, text).expect("the target folder can be written");
    let got = mlir_opt(&plugin, &["--pass-pipeline=builtin.module(shardc)"], &file);
    assert!(!got.status.success());
    let message = format!("{}:3:10: error:", file.display());
    assert!(said(&got).contains(&message), "no `{message}` in\n{}", said(&got));
    for (pipeline, want) in [
        ("builtin.module(shardc{passes=plam})", "unknown pass 'plam'"),
        ("builtin.module(shardc-plan{options=deep=7})", "option 'deep'"),
    ] {
        let got = mlir_opt(&plugin, &[&format!("--pass-pipeline={pipeline}")], &file);
        assert!(!got.status.success() && said(&got).contains(want), "{pipeline}: {}", said(&got));
    }
    let help = Command::new(MLIR_OPT).arg(format!("--load-pass-plugin={}", plugin.display())).arg("--help").output();
    let help = said(&help.expect("mlir-opt starts"));
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
    assert!(fault.contains("unknown pass 'plam'"), "{fault}");
    assert_eq!(module.as_operation().to_string(), before);
    let said = Arc::new(Mutex::new(String::new()));
    let (manager, told) = (PassManager::new(&context), said.clone());
    shardc_mlir::add_pass(&manager, &context, "plam", move |fault| *told.lock().unwrap() = fault.to_string());
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
fn what_has_no_location_is_where_mlir_opt_says() {
    let compiler = Compiler::standard();
    // Returns every location of a text in order, as `file":line:column`.
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

/// The passes that lower a program over tensors to LLVM.
#[cfg(feature = "jit")]
const TO_LLVM: &str = "--pass-pipeline=builtin.module(one-shot-bufferize{bufferize-function-boundaries=1 \
    function-boundary-type-conversion=identity-layout-map allow-return-allocs-from-loops=1},expand-realloc,\
    buffer-deallocation-pipeline,convert-bufferization-to-memref,convert-linalg-to-loops,convert-scf-to-cf,expand-strided-metadata,lower-affine,convert-math-to-llvm,\
    convert-math-to-libm,convert-arith-to-llvm,finalize-memref-to-llvm,convert-func-to-llvm,convert-cf-to-llvm,\
    reconcile-unrealized-casts)";

/// Programs for one device with f32 results.
#[cfg(feature = "jit")]
const ONE_DEVICE: &[(&str, &str)] = &[
    (
        "structured",
        "func.func @main(%a: tensor<5x7xf32>, %b: tensor<7x3xf32>, %c: tensor<5x3xf32>) -> (tensor<5x3xf32>, tensor<3xf32>) {
           %zero = arith.constant 0.25 : f32
           %0 = linalg.matmul ins(%a, %b : tensor<5x7xf32>, tensor<7x3xf32>) outs(%c : tensor<5x3xf32>) -> tensor<5x3xf32>
           %e = tensor.empty() : tensor<5x3xf32>
           %1 = linalg.map ins(%0 : tensor<5x3xf32>) outs(%e : tensor<5x3xf32>) (%x: f32, %o: f32) {
             %m = arith.maximumf %x, %zero : f32
             linalg.yield %m : f32
           }
           %s = tensor.empty() : tensor<3xf32>
           %z = linalg.fill ins(%zero : f32) outs(%s : tensor<3xf32>) -> tensor<3xf32>
           %2 = linalg.reduce { arith.addf } ins(%1 : tensor<5x3xf32>) outs(%z : tensor<3xf32>) dimensions = [0]
           return %1, %2 : tensor<5x3xf32>, tensor<3xf32> }",
    ),
    (
        // Unsigned integers, comparisons with NaN (square roots of negative numbers), positions of loops, single bits.
        "unsigned",
        "#id = affine_map<(d0, d1) -> (d0, d1)>
         func.func @main(%a: tensor<4x6xi32>, %b: tensor<4x6xi32>, %f: tensor<4x6xf32>) -> (tensor<4x6xf32>, tensor<4x6xf32>, tensor<4x6xf32>) {
           %e = tensor.empty() : tensor<4x6xf32>
           %0 = linalg.generic {indexing_maps = [#id, #id, #id], iterator_types = [\"parallel\", \"parallel\"]} ins(%a, %b : tensor<4x6xi32>, tensor<4x6xi32>) outs(%e : tensor<4x6xf32>) {
           ^bb0(%x: i32, %y: i32, %o: f32):
             %c9 = arith.constant 9 : i32
             %c7 = arith.constant 7 : i32
             %m = arith.subi %x, %c9 : i32
             %d = arith.divui %m, %c7 : i32
             %r = arith.remui %m, %c7 : i32
             %mx = arith.maxui %d, %y : i32
             %mn = arith.minui %mx, %m : i32
             %t = arith.trunci %m : i32 to i8
             %w = arith.extui %t : i8 to i32
             %s0 = arith.addi %r, %w : i32
             %s1 = arith.addi %s0, %mn : i32
             %s = arith.uitofp %s1 : i32 to f32
             linalg.yield %s : f32
           } -> tensor<4x6xf32>
           %1 = linalg.generic {indexing_maps = [#id, #id, #id], iterator_types = [\"parallel\", \"parallel\"]} ins(%f, %0 : tensor<4x6xf32>, tensor<4x6xf32>) outs(%e : tensor<4x6xf32>) {
           ^bb0(%x: f32, %y: f32, %o: f32):
             %q = math.sqrt %x : f32
             %i = linalg.index 0 : index
             %j = linalg.index 1 : index
             %k = arith.muli %i, %j : index
             %n = arith.index_cast %k : index to i64
             %p = arith.sitofp %n : i64 to f32
             %h = arith.constant 0.125 : f32
             %u = arith.mulf %p, %h : f32
             %c1 = arith.cmpf ugt, %q, %u : f32
             %c2 = arith.cmpf ole, %q, %u : f32
             %c3 = arith.cmpf one, %q, %u : f32
             %c4 = arith.cmpf ueq, %q, %q : f32
             %c5 = arith.cmpf ord, %q, %u : f32
             %c6 = arith.cmpf uno, %q, %u : f32
             %c7 = arith.cmpf une, %q, %q : f32
             %x1 = arith.addi %c1, %c3 : i1
             %x2 = arith.maxsi %c2, %c4 : i1
             %x3 = arith.cmpi slt, %c5, %c6 : i1
             %x4 = arith.minui %c6, %c7 : i1
             %n1 = arith.extui %x1 : i1 to i32
             %n2 = arith.extui %x2 : i1 to i32
             %n3 = arith.extui %x3 : i1 to i32
             %n4 = arith.extui %x4 : i1 to i32
             %two = arith.constant 2 : i32
             %m1 = arith.muli %n1, %two : i32
             %m2 = arith.addi %m1, %n2 : i32
             %m3 = arith.muli %m2, %two : i32
             %m4 = arith.addi %m3, %n3 : i32
             %m5 = arith.muli %m4, %two : i32
             %m6 = arith.addi %m5, %n4 : i32
             %z = arith.sitofp %m6 : i32 to f32
             %zz = arith.addf %z, %u : f32
             linalg.yield %zz : f32
           } -> tensor<4x6xf32>
           %ei = tensor.empty() : tensor<4x6xi32>
           %g = linalg.elementwise kind=#linalg.elementwise_kind<max_unsigned> ins(%a, %b : tensor<4x6xi32>, tensor<4x6xi32>) outs(%ei : tensor<4x6xi32>) -> tensor<4x6xi32>
           %h = linalg.map ins(%g, %a : tensor<4x6xi32>, tensor<4x6xi32>) outs(%e : tensor<4x6xf32>) (%x: i32, %y: i32, %o: f32) {
             %l = arith.cmpi ult, %y, %x : i32
             %b1 = arith.trunci %x : i32 to i1
             %both = arith.andi %l, %b1 : i1
             %r = arith.uitofp %both : i1 to f32
             linalg.yield %r : f32
           }
           %q = linalg.square ins(%h : tensor<4x6xf32>) outs(%e : tensor<4x6xf32>) -> tensor<4x6xf32>
           return %0, %1, %q : tensor<4x6xf32>, tensor<4x6xf32>, tensor<4x6xf32> }",
    ),
    (
        "product",
        "func.func @main(%a: tensor<5x7xf32>, %b: tensor<7x3xf32>) -> (tensor<5x3xf32>, tensor<5xf32>) {
           %0 = stablehlo.dot_general %a, %b, contracting_dims = [1] x [0] : (tensor<5x7xf32>, tensor<7x3xf32>) -> tensor<5x3xf32>
           %1 = stablehlo.tanh %0 : tensor<5x3xf32>
           %c = stablehlo.constant dense<0xFF800000> : tensor<f32>
           %2 = stablehlo.reduce(%1 init: %c) applies stablehlo.maximum across dimensions = [1] : (tensor<5x3xf32>, tensor<f32>) -> tensor<5xf32>
           return %1, %2 : tensor<5x3xf32>, tensor<5xf32> }",
    ),
    (
        "windows",
        "func.func @main(%a: tensor<6x4xf32>, %i: tensor<i32>) -> (tensor<8x7xf32>, tensor<2x4xf32>, tensor<4x6xf32>, tensor<6x4xf32>) {
           %c = stablehlo.constant dense<1.5> : tensor<f32>
           %z = stablehlo.constant dense<0> : tensor<i32>
           %0 = stablehlo.pad %a, %c, low = [1, 0], high = [1, 0], interior = [0, 1] : (tensor<6x4xf32>, tensor<f32>) -> tensor<8x7xf32>
           %1 = stablehlo.dynamic_slice %a, %i, %z, sizes = [2, 4] : (tensor<6x4xf32>, tensor<i32>, tensor<i32>) -> tensor<2x4xf32>
           %2 = stablehlo.transpose %a, dims = [1, 0] : (tensor<6x4xf32>) -> tensor<4x6xf32>
           %3 = stablehlo.dynamic_update_slice %a, %1, %i, %z : (tensor<6x4xf32>, tensor<2x4xf32>, tensor<i32>, tensor<i32>) -> tensor<6x4xf32>
           return %0, %1, %2, %3 : tensor<8x7xf32>, tensor<2x4xf32>, tensor<4x6xf32>, tensor<6x4xf32> }",
    ),
    (
        "control",
        "func.func @main(%a: tensor<4xf32>, %p: tensor<i1>) -> (tensor<4xf32>, tensor<4xf32>) {
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
           %1 = \"stablehlo.if\"(%p) ({ %y = stablehlo.negate %a : tensor<4xf32> stablehlo.return %y : tensor<4xf32> }, { stablehlo.return %0#1 : tensor<4xf32> }) : (tensor<i1>) -> tensor<4xf32>
           return %0#1, %1 : tensor<4xf32>, tensor<4xf32> }",
    ),
    (
        "types",
        "func.func @main(%a: tensor<3x5xbf16>, %u: tensor<6xui8>, %e: tensor<0x3xf32>) -> (tensor<3xf32>, tensor<6xf32>, tensor<6xf32>, tensor<3xf32>) {
           %c = stablehlo.constant dense<0.0> : tensor<bf16>
           %f = stablehlo.constant dense<0.0> : tensor<f32>
           %0 = stablehlo.reduce(%a init: %c) applies stablehlo.add across dimensions = [1] : (tensor<3x5xbf16>, tensor<bf16>) -> tensor<3xbf16>
           %1 = stablehlo.convert %0 : (tensor<3xbf16>) -> tensor<3xf32>
           %k = stablehlo.constant dense<[0, 1, 2, 250, 3, 7]> : tensor<6xui8>
           %2 = stablehlo.divide %u, %k : tensor<6xui8>
           %3 = stablehlo.convert %2 : (tensor<6xui8>) -> tensor<6xf32>
           %4 = stablehlo.compare LT, %u, %k : (tensor<6xui8>, tensor<6xui8>) -> tensor<6xi1>
           %5 = stablehlo.convert %4 : (tensor<6xi1>) -> tensor<6xf32>
           %6 = stablehlo.reduce(%e init: %f) applies stablehlo.add across dimensions = [0] : (tensor<0x3xf32>, tensor<f32>) -> tensor<3xf32>
           return %1, %3, %5, %6 : tensor<3xf32>, tensor<6xf32>, tensor<6xf32>, tensor<3xf32> }",
    ),
];

/// Returns an array as nested lists of its elements' bits.
#[cfg(feature = "jit")]
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

#[cfg(feature = "jit")]
#[test]
#[cfg_attr(not(has = "setup"), ignore = "run `make setup`")]
fn linalg_goes_down_to_llvm_by_mlir_opt_and_gives_the_evaluators_values() {
    use shardc::{Interface, random_inputs};
    let (llvm, folder) = (Path::new("/usr/lib/llvm-22"), Path::new(env!("CARGO_TARGET_TMPDIR")).join("linalg"));
    fs::create_dir_all(&folder).expect("the target folder can be written");
    let compiler = Compiler::standard();
    // Also pass structured ops unchanged, so that mlir-opt defines their meaning.
    let as_they_are = ONE_DEVICE.iter().filter(|row| row.1.contains("linalg.")).map(|row| (row, true));
    for ((name, text), as_it_is) in ONE_DEVICE.iter().map(|row| (row, false)).chain(as_they_are) {
        let module = done(compiler.parse(Source::new(*name, *text))).unwrap_or_else(|fault| panic!("{name}: {fault}"));
        let device = done(compiler.run_passes(module.clone(), "compile")).unwrap_or_else(|f| panic!("{name}: {f}"));
        let made = match as_it_is {
            true => compiler.print(&module, PrintOptions::default()),
            false => done(compiler.linalg(&device)).unwrap_or_else(|fault| panic!("{name}: {fault}")),
        };
        let interface = Interface::of(&module).expect("tensors");
        let inputs = random_inputs(&interface.arguments, 7, 1);
        let wanted = done(compiler.evaluate(&module, &inputs)).unwrap_or_else(|fault| panic!("{name}: {fault}"));
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
        let results: Vec<String> = interface.results.iter().map(tensor).collect();
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
        let opt = Command::new(MLIR_OPT).arg(TO_LLVM).arg(&given).arg("-o").arg(&lowered).output().expect("mlir-opt");
        assert!(opt.status.success(), "{name}: {}", said(&opt));
        let library = |name: &str| llvm.join("lib").join(name).display().to_string();
        let libraries = [library("libmlir_runner_utils.so"), library("libmlir_c_runner_utils.so")].join(",");
        let ran = Command::new(llvm.join("bin/mlir-runner"))
            .args(["-e", "driver", "--entry-point-result=void", &format!("--shared-libs={libraries}")])
            .arg(&lowered)
            .output()
            .expect("mlir-runner");
        assert!(ran.status.success(), "{name}: {}", said(&ran));
        let printed = String::from_utf8_lossy(&ran.stdout).into_owned();
        let arrays: Vec<Vec<f64>> = printed
            .split("data =")
            .skip(1)
            .map(|text| text.split("Unranked").next().unwrap_or_default())
            .map(|text| text.split(['[', ']', ',', ' ', '\n']).filter_map(|word| word.parse().ok()).collect())
            .collect();
        near(name, &arrays, &wanted[0], &printed);
    }
}

/// Checks that the printed numbers, with six digits each, match the expected ones.
#[cfg(feature = "jit")]
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

#[cfg(feature = "jit")]
#[test]
#[cfg_attr(not(has = "iree"), ignore = "run `make iree`")]
fn iree_compiles_programs_and_gives_the_evaluators_values() {
    use shardc::{Interface, random_inputs};
    let iree_compile = oracle::made("iree");
    let (compiler, folder) = (Compiler::standard(), Path::new(env!("CARGO_TARGET_TMPDIR")).join("iree"));
    fs::create_dir_all(&folder).expect("the target folder can be written");
    let compile = |name: &str, text: String| {
        let [given, made] = ["mlir", "vmfb"].map(|ext| folder.join(format!("{name}.{ext}")));
        fs::write(&given, text).expect("the target folder can be written");
        let backend = ["--iree-hal-target-device=local", "--iree-hal-local-target-device-backends=llvm-cpu"];
        let run = Command::new(&iree_compile)
            .args(backend)
            .args(["--iree-input-type=stablehlo", "--iree-llvmcpu-target-cpu=generic", "-o"])
            .args([&made, &given])
            .output()
            .expect("iree-compile");
        assert!(run.status.success(), "{name}: {}", said(&run).chars().take(2000).collect::<String>());
        made
    };
    // IREE parses StableHLO in addition to its own version of linalg, but not all types.
    for (name, text) in ONE_DEVICE.iter().filter(|(name, text)| *name != "types" && !text.contains("linalg.")) {
        let module = done(compiler.parse(Source::new(*name, *text))).unwrap_or_else(|fault| panic!("{name}: {fault}"));
        let device = done(compiler.run_passes(module.clone(), "compile")).unwrap_or_else(|f| panic!("{name}: {f}"));
        let made = compile(name, compiler.print(&device, PrintOptions::default()));
        let inputs = random_inputs(&Interface::of(&module).expect("tensors").arguments, 7, 1);
        let wanted = done(compiler.evaluate(&module, &inputs)).unwrap_or_else(|fault| panic!("{name}: {fault}"));
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
        let ran = Command::new(iree_compile.with_file_name("iree-run-module"))
            .args(["--device=local-sync", "--function=main", &format!("--module={}", made.display())])
            .args(inputs[0].iter().map(input))
            .output()
            .expect("iree-run-module");
        assert!(ran.status.success(), "{name}: {}", said(&ran));
        let printed = said(&ran);
        let arrays: Vec<Vec<f64>> = printed
            .lines()
            .filter_map(|line| line.split_once("f32="))
            .map(|(_, numbers)| numbers.split(['[', ']', ' ']).filter_map(|word| word.parse().ok()).collect())
            .collect();
        near(name, &arrays, &wanted[0], &printed);
    }
    // Use collectives with one operand each, because IREE parses no others.
    let (name, text) = corpus().into_iter().find(|program| program.0 == "train_2d").expect("a training step");
    let module = done(compiler.parse(Source::new(&*name, text))).unwrap_or_else(|fault| panic!("{name}: {fault}"));
    let device = compiler.run_passes(module, "compile{several-operands=false}");
    compile(&name, compiler.print(&done(device).unwrap_or_else(|f| panic!("{name}: {f}")), PrintOptions::default()));
}

#[test]
#[cfg_attr(not(has = "setup"), ignore = "run `make setup`")]
fn structured_ops_are_read_and_printed_as_mlir_opt_has_them() {
    let (compiler, folder) = (Compiler::standard(), Path::new(env!("CARGO_TARGET_TMPDIR")).join("structured"));
    fs::create_dir_all(&folder).expect("the target folder can be written");
    // Returns mlir-opt's output for a file.
    let theirs = |bytes: &[u8], flag: &str| {
        let file = folder.join("program.mlir");
        fs::write(&file, bytes).expect("the target folder can be written");
        let read = Command::new(MLIR_OPT).arg(flag).arg(&file).output().expect("mlir-opt starts");
        assert!(read.status.success(), "{}\n{}", said(&read), String::from_utf8_lossy(bytes));
        read.stdout
    };
    let (pretty, generic) = ("--mlir-print-op-generic=false", "--mlir-print-op-generic");
    let text = fs::read(root().join("lit-tests/parse/linalg.mlir")).expect("the lit-test");
    let wanted = theirs(&text, pretty);
    // Parse the same program in four forms: mlir-opt's generic text, its text, its bytecode, and our text.
    for program in [theirs(&wanted, generic), wanted.clone(), theirs(&wanted, "--emit-bytecode"), text] {
        let source = match shardc::is_bytecode(&program) {
            true => done(Source::of_bytecode("linalg", &program)).unwrap_or_else(|fault| panic!("{fault}")),
            false => Source::new("linalg", String::from_utf8(program).expect("a text")),
        };
        let module = done(compiler.parse(source)).unwrap_or_else(|fault| panic!("{fault}"));
        for generic in [false, true] {
            let options = PrintOptions { generic, ..PrintOptions::default() };
            let said = |bytes: &[u8]| String::from_utf8(theirs(bytes, pretty)).expect("a text");
            assert_eq!(said(compiler.print(&module, options).as_bytes()), said(&wanted));
            assert_eq!(said(&compiler.bytecode(&module, options)), said(&wanted));
        }
    }
}

#[cfg(feature = "jit")]
#[test]
#[cfg_attr(not(has = "setup"), ignore = "run `make setup`")]
fn mlir_opt_reads_what_linalg_makes_of_jax_programs() {
    let (compiler, folder) = (Compiler::standard(), Path::new(env!("CARGO_TARGET_TMPDIR")).join("linalg"));
    fs::create_dir_all(&folder).expect("the target folder can be written");
    let (mut written, mut refused, mut files) = (0, Vec::new(), Vec::new());
    let sharded = fs::read_to_string(root().join("lit-tests/partition/linalg.mlir")).expect("the lit-test");
    for (name, text) in corpus().into_iter().chain([("linalg".to_owned(), sharded)]) {
        let module = done(compiler.parse(Source::new(&*name, text))).unwrap_or_else(|fault| panic!("{name}: {fault}"));
        let device = done(compiler.run_passes(module, "compile")).unwrap_or_else(|fault| panic!("{name}: {fault}"));
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
    let read = Command::new(MLIR_OPT).args([TO_LLVM, "--split-input-file", "-o", "/dev/null"]).arg(&all).output();
    let read = read.expect("mlir-opt");
    assert!(read.status.success(), "{}", said(&read).chars().take(2000).collect::<String>());
    assert!(written >= 50, "only {written}; refused: {refused:?}");
}
