//! MLIR parses our output to the same module that we parsed, in every form and with its locations: jaxlib prints both
//! alike. It also parses our compiled programs.

use dialect::diagnostic::Diagnostics;
use dialect::ir::{Loc, LocData, Program};
use dialect::text::PrintOptions;
use serde_json::{Value, json};
use shardc::{CompileOptions, Compiler, Module, Source};
use shardc_tests::sharded::{parsed, value};
use shardc_tests::{corpus, oracle};

/// Texts in forms that JAX rarely or never prints.
const FORMS: &str = r##"
module @forms attributes {mhlo.num_partitions = 2 : i32} {
  sdy.mesh @mesh = <["x"=2, "y"=1], device_ids=[1, 0]>
  func.func private @declared(tensor<?x2xf32, #stablehlo.bounds<4, ?>>) -> !stablehlo.future<tensor<2xf32>>
  func.func public @main(%arg0: tensor<2xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x", ?}p1]>} loc("a")) -> (tensor<2xf32> {jax.result_info = "r\22"}) {
    %c = stablehlo.constant dense<[0x7FC00000, -0.0]> : tensor<2xf32> loc(callsite("f"("a.py":1:2 to 3:4) at unknown))
    %cst = stablehlo.constant dense<[(1.0, 0x7F800000), (1.0e-9, 123456789.0)]> : tensor<2xcomplex<f32>>
    %e = stablehlo.exponential %c {attr, result_accuracy = #stablehlo.result_accuracy<atol = 1.0e-5, ulps = 2, mode = #stablehlo.result_accuracy_mode<TOLERANCE>>} : tensor<2xf32>
    %small = stablehlo.constant dense<[1.0, -2.0]> : tensor<2xf8E4M3FN>
    %tiny = stablehlo.constant dense<[1, -2]> : tensor<2xi4>
    %none = stablehlo.constant dense<2> : tensor<0x3xi32>
    %0:2 = "other.op"(%c, %arg0) ({
    ^bb0(%x: tensor<f32>):
      "other.end"(%x) : (tensor<f32>) -> ()
    }, {
    }) {a = array<i64: 1, 2>, b = [@s::@t, unit], c = affine_map<(d0) -> (d0 + 1)>, d = 1.5 : bf16, e} : (tensor<2xf32>, tensor<2xf32>) -> (tensor<2xf32>, i32) loc(fused<"m">["u", "v":1:2])
    return %0 : tensor<2xf32>
  }
}
"##;

#[test]
#[cfg_attr(not(has = "oracles"), ignore = "run `make oracles`")]
fn mlir_reads_what_we_print() {
    judge(|name, text| vec![case(name, text)]);
}

#[test]
#[cfg_attr(not(has = "oracles"), ignore = "run `make oracles`")]
fn mlir_reads_what_we_compile_with_its_locations() {
    let compiler = Compiler::standard();
    judge(|name, text| {
        let mut program = parsed(text);
        locate(&mut program);
        let module = Module::new(program, Source::new(name, text));
        let compile = |pipeline: &str| {
            let done = value(name, compiler.compile(module.clone(), pipeline, &CompileOptions::default()));
            let print = |generic| {
                let options = PrintOptions { locations: true, generic, ..PrintOptions::default() };
                compiler.print(&done, options)
            };
            let bytecode = hex(&compiler.bytecode(&done, PrintOptions { locations: true, ..PrintOptions::default() }));
            json!({
                "name": format!("{name} through {pipeline}"),
                "original": print(true),
                // Compare without locations, because the short form loses the locations of abbreviated bodies.
                "prints": {"short": print(false), "bytecode with locations": bytecode},
            })
        };
        if name == "forms" {
            vec![]
        } else {
            ["sharded", "compile", "compile-manual", "compile-gspmd"].map(compile).to_vec()
        }
    });
}

/// Gives every op a location in JAX's form, which shares a caller's location with other ops.
fn locate(program: &mut Program) {
    let (inner, outer) = (program.attr_str("inner.py"), program.attr_str("outer.py"));
    for (i, op) in program.ops_under(program.body()).into_iter().enumerate() {
        let file = |file, line| LocData::File { file, start: (line, 1), end: None };
        let (at, called) = (file(inner, i as u32 + 1), file(outer, i as u32 / 4 + 1));
        let (at, called) = (program.intern_loc(at), program.intern_loc(called));
        let function = program.attr_str("f");
        let at = program.intern_loc(LocData::Name(function, at));
        let stack = program.intern_loc(LocData::CallSite(at, called));
        let path = program.attr_str(&format!("jit(f)/{i}"));
        let named: Loc = program.intern_loc(LocData::Name(path, stack));
        program.op_mut(op).loc = named;
    }
}

/// Returns the programs of the corpus and the one of rare forms, by name.
fn texts() -> Vec<(String, String)> {
    let corpus = corpus::samples().into_iter().map(|sample| (sample.name, sample.text));
    corpus.chain([("forms".to_owned(), FORMS.to_owned())]).collect()
}

#[test]
#[cfg_attr(not(has = "oracles"), ignore = "run `make oracles`")]
fn bytecode_that_mlir_writes_reads_as_its_text() {
    let python = oracle::made("oracles");
    let texts = texts();
    let cases = texts.iter().map(|(name, text)| json!({"name": name, "text": text})).collect();
    let verdicts = oracle::verdicts(&python, "bytecode.py", cases);
    let (mut read, mut wrong) = (0, Vec::new());
    for verdict in &verdicts {
        for file in verdict["files"].as_array().expect("a list") {
            let name = format!("{} of version {}", verdict["name"], file["version"]);
            let hex = file["bytes"].as_str().expect("hex digits");
            let bytes: Vec<u8> =
                (0..hex.len() / 2).map(|i| u8::from_str_radix(&hex[2 * i..2 * i + 2], 16).unwrap()).collect();
            let mut diagnostics = Diagnostics::default();
            match dialect::bytecode::text_of(&bytes, &mut diagnostics) {
                Some(text) if printed(&text) == printed(file["text"].as_str().expect("a text")) => read += 1,
                Some(text) => wrong.push(format!("{name} reads as another program:\n{text}")),
                None => wrong.push(format!("{name}: {diagnostics:?}")),
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    // The unknown ops among the rare forms have no portable form.
    assert!(read >= 4 * (texts.len() - 1), "only {read} files were written: {verdicts:?}");
}

#[test]
fn bytecode_that_we_write_reads_as_the_program() {
    let compiler = Compiler::standard();
    for (name, text) in texts() {
        let module = value(&name, compiler.parse(Source::new(&name, text)));
        let compiled = match name.as_str() {
            "forms" => None,
            _ => compiler.compile(module.clone(), "compile-manual", &CompileOptions::default()).value,
        };
        for program in [Some(&module), compiled.as_ref()].into_iter().flatten().map(Module::program) {
            for locations in [false, true] {
                let mut diagnostics = Diagnostics::default();
                let again = dialect::bytecode::text_of(&bytecode_of(program, locations), &mut diagnostics);
                let again = again.unwrap_or_else(|| panic!("{name}: {diagnostics:?}"));
                let print = |program| dialect::print_with(program, PrintOptions { locations, ..ALL });
                let read = dialect::parse(&again, &mut diagnostics);
                assert!(diagnostics.is_empty(), "{name}: {diagnostics:?}\n{again}");
                assert_eq!(print(&read), print(program), "{name}");
            }
        }
    }
}

/// Options that print everything in a program.
const ALL: PrintOptions =
    PrintOptions { locations: true, generic: false, causes: true, group_axes: true, local_scope: false };

fn bytecode_of(program: &Program, locations: bool) -> Vec<u8> {
    dialect::bytecode::bytecode_of(program, PrintOptions { locations, ..ALL })
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Returns a text parsed and printed again, with locations.
fn printed(text: &str) -> String {
    dialect::print_with(&parsed(text), PrintOptions { locations: true, ..PrintOptions::default() })
}

/// Checks with jaxlib the outputs that `cases` returns for every program of the corpus, given its name and text.
fn judge(cases: impl Fn(&str, &str) -> Vec<Value>) {
    let python = oracle::made("oracles");
    let texts = texts();
    let cases: Vec<Value> = texts.iter().flat_map(|(name, text)| cases(name, text)).collect();
    assert!(cases.len() >= texts.len(), "only {} cases", cases.len());
    oracle::accepts(&python, "reread.py", cases);
}

/// Returns a program's text and our output for it.
fn case(name: &str, text: &str) -> Value {
    let program = parsed(text);
    let print = |locations, generic| dialect::print_with(&program, PrintOptions { locations, generic, ..ALL });
    let bytecode = |locations| hex(&bytecode_of(&program, locations));
    let mut prints = json!({"short": print(false, false), "generic": print(false, true), "bytecode": bytecode(false)});
    // For ops without a location, MLIR uses their line in the text.
    if text.lines().filter(|l| l.contains(" = ")).all(|l| l.contains("loc(")) {
        prints["short with locations"] = print(true, false).into();
        prints["generic with locations"] = print(true, true).into();
        prints["bytecode with locations"] = bytecode(true).into();
    }
    json!({"name": name, "original": text, "prints": prints})
}
