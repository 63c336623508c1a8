//! The proposals of `search` run in JAX: the printed mesh and `PartitionSpec`s, for a mesh whose only axis was divided,
//! and the annotated program.

use std::path::Path;

use serde_json::{Value, json};
use shardc::{
    Backend, CheckOptions, CompileOptions, Compiler, PrintOptions, Proposal, ProposedSharding, SearchOptions,
};
use shardc_tests::oracle;
use shardc_tests::sharded::{module_and_inputs, write_arrays};
use shardc_tests::tools::scratch;

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
const MEMORY: [(u64, &[i64]); 3] = [(1 << 20, &[4, 2]), (5 << 18, &[2, 4]), (7 << 18, &[2, 2, 2])];

/// The cases that JAX and XLA run for one proposal: see `proposed.py` and `xla.py`.
struct Cases {
    jax: Value,
    xla: Value,
}

fn specs(shardings: &[ProposedSharding]) -> Vec<String> {
    shardings.iter().map(|s| s.spec.clone().expect("JAX has words for it")).collect()
}

/// Searches, compares the annotated program in shards with the plain one, and writes the files that JAX needs.
fn proposed(folder: &Path, memory: u64, sizes: &[i64]) -> Cases {
    let compiler = Compiler::standard();
    let (module, inputs) = module_and_inputs(&compiler, "program.mlir", PROGRAM, 1);
    let compile =
        CompileOptions { target: Some("v5e:2x4".to_owned()), memory: Some(memory), ..CompileOptions::default() };
    let mesh = Some(vec![("x".to_owned(), 8)]);
    let options = SearchOptions { compile: compile.clone(), mesh, ..SearchOptions::default() };
    let (proposal, annotated): (Proposal, _) = compiler.search(module.clone(), &options).into_result().unwrap();
    let parts: Vec<i64> = proposal.axes.iter().map(|a| a.size).collect();
    assert_eq!(parts, sizes, "the axis is divided: {:?}", proposal.jax_mesh);

    let check = compiler.check(
        &annotated,
        &inputs,
        &compile,
        &CheckOptions { backend: Backend::Reference, ..Default::default() },
    );
    assert!(check.into_result().unwrap().equal(), "{parts:?}: the annotated program means something else");

    let name = |what: &str| folder.join(format!("{memory}.{what}"));
    let want = compiler.evaluate(&module, &inputs).into_result().unwrap();
    for (kind, prefix, values) in [("in.npz", "arg", &inputs[0]), ("out.npz", "out", &want[0])] {
        write_arrays(&name(kind), prefix, values);
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
    let folder = scratch("proposed");
    let cases = MEMORY.iter().map(|&(memory, sizes)| proposed(&folder, memory, sizes));
    let python = oracle::made("oracles");
    let (jax, xla) = cases.map(|c| (c.jax, c.xla)).unzip();
    oracle::accepts(&python, "proposed.py", jax);
    oracle::accepts(&python, "xla.py", xla);
}
