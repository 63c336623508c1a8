//! The proposals of `search` run in JAX: the printed mesh and `PartitionSpec`s, for a mesh whose only axis was divided,
//! and the annotated program.

use std::path::{Path, PathBuf};

use serde_json::{Value, json};
use shardc::{
    Backend, CheckOptions, CompileOptions, Compiler, Interface, PrintOptions, Proposal, ProposedSharding,
    SearchOptions, Source, random_inputs,
};
use shardc_tests::oracle;

/// The same computation as `feed_forward` in `proposed.py`.
const PROGRAM: &str = "
func.func @main(%x: tensor<256x256xf32>, %up: tensor<256x1024xf32>, %down: tensor<1024x256xf32>) -> tensor<256x256xf32> {
  %0 = stablehlo.dot_general %x, %up, contracting_dims = [1] x [0] : (tensor<256x256xf32>, tensor<256x1024xf32>) -> tensor<256x1024xf32>
  %1 = stablehlo.tanh %0 : tensor<256x1024xf32>
  %2 = stablehlo.dot_general %1, %down, contracting_dims = [1] x [0] : (tensor<256x1024xf32>, tensor<1024x256xf32>) -> tensor<256x256xf32>
  return %2 : tensor<256x256xf32>
}
";

/// Memory limits under which it is best to divide the axis into two or three parts that shard different dimensions.
const MEMORY: [(u64, &[i64]); 3] = [(1 << 20, &[4, 2]), (5 << 18, &[4, 2]), (3 << 19, &[2, 2, 2])];

fn scratch(name: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("proposed");
    std::fs::create_dir_all(&folder).unwrap();
    folder.join(name)
}

/// The cases that JAX and XLA run for one proposal: see `proposed.py` and `xla.py`.
struct Cases {
    jax: Value,
    xla: Value,
}

fn specs(shardings: &[ProposedSharding]) -> Vec<String> {
    shardings.iter().map(|s| s.spec.clone().expect("JAX has words for it")).collect()
}

/// Searches, compares the annotated program in shards with the plain one, and writes the files that JAX needs.
fn proposed(memory: u64, sizes: &[i64]) -> Cases {
    let compiler = Compiler::standard();
    let module = compiler.parse(Source::new("program.mlir", PROGRAM)).into_result().unwrap();
    let compile =
        CompileOptions { target: Some("v5e:2x4".to_owned()), memory: Some(memory), ..CompileOptions::default() };
    let mesh = Some(vec![("x".to_owned(), 8)]);
    let options = SearchOptions { compile: compile.clone(), mesh, ..SearchOptions::default() };
    let (proposal, annotated): (Proposal, _) = compiler.search(module.clone(), &options).into_result().unwrap();
    let parts: Vec<i64> = proposal.axes.iter().map(|a| a.size).collect();
    assert_eq!(parts, sizes, "the axis is divided: {:?}", proposal.jax_mesh);

    let inputs = random_inputs(&Interface::of(&module).unwrap().arguments, 1, 1);
    let check = compiler.check(
        &annotated,
        &inputs,
        &compile,
        &CheckOptions { backend: Backend::Reference, ..Default::default() },
    );
    assert!(check.into_result().unwrap().equal(), "{parts:?}: the annotated program means something else");

    let name = |what: &str| scratch(&format!("{memory}.{what}"));
    let want = compiler.evaluate(&module, &inputs).into_result().unwrap();
    for (kind, prefix, values) in [("in.npz", "arg", &inputs[0]), ("out.npz", "out", &want[0])] {
        let named: Vec<_> = values.iter().enumerate().map(|(i, v)| (format!("{prefix}{i}"), v.clone())).collect();
        runtime::npz::write_file(&name(kind), &named).unwrap();
    }
    std::fs::write(name("mlir"), compiler.print(&annotated, PrintOptions::default())).unwrap();
    let shown = format!("{parts:?}");
    Cases {
        jax: json!({ "name": shown, "mesh": proposal.jax_mesh, "arguments": specs(&proposal.arguments),
            "results": specs(&proposal.results), "inputs": name("in.npz"), "expected": name("out.npz") }),
        xla: json!({ "name": shown, "program": name("mlir"), "inputs": name("in.npz"), "expected": name("out.npz") }),
    }
}

#[test]
#[cfg_attr(not(has = "oracles"), ignore = "run `make oracles`")]
fn jax_runs_what_search_proposes_for_a_divided_axis() {
    let cases: Vec<Cases> = MEMORY.iter().map(|&(memory, sizes)| proposed(memory, sizes)).collect();
    let python = oracle::made("oracles");
    let of = |script: &str, cases: Vec<Value>| {
        let count = cases.len();
        let (verdicts, said) = oracle::judge(&python, script, cases.into_iter());
        assert_eq!(verdicts.len(), count, "{script} stopped early:\n{said}");
        for verdict in verdicts {
            assert_eq!(verdict["error"], Value::Null, "{script}, {}", verdict["name"]);
        }
    };
    let (jax, xla) = cases.into_iter().map(|c| (c.jax, c.xla)).unzip();
    of("proposed.py", jax);
    of("xla.py", xla);
}
