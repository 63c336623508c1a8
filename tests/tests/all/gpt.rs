//! A training step of a GPT with attention, layer norms, a loss and its gradient, as printed by JAX
//! (`gpt/generate.py`). Programs of this size use most of the compiler at once, and each pass must accept the output of
//! the one before it.

use std::path::Path;

use shardc_tests::command::shardc;

fn file(name: &str) -> String {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("gpt").join(name).to_string_lossy().into_owned()
}

#[test]
fn every_pass_accepts_a_training_step() {
    for name in ["small.mlir", "large.mlir"] {
        for search in ["full", "greedy"] {
            for emit in ["stablehlo", "manual"] {
                let program = file(name);
                let args = ["compile", "--verify-each", "--plan", search, "--emit", emit, &program];
                let output = shardc(&args, "");
                let (out, err) = (output.text(), output.errors());
                assert_eq!((output.code, err.as_str()), (0, ""), "{name} {search} {emit}");
                assert!(out.contains("all_reduce") && out.contains("all_gather"), "{name} {search} {emit}\n{out}");
            }
        }
    }
}

#[test]
fn a_partitioned_training_step_gives_the_results_of_jax() {
    let (program, inputs, expected) = (file("small.mlir"), file("inputs.npz"), file("expected.npz"));
    for search in ["full", "greedy"] {
        let mut args = vec!["run", &program, "--inputs", &inputs, "--expect", &expected, "--plan", search];
        #[cfg(feature = "jit")]
        shardc(&args, "").succeeded();
        args.push("--interpret");
        let out = shardc(&args, "").succeeded().text();
        assert_eq!(out.matches("as expected").count(), 9, "{out}");
    }
}

#[test]
fn the_full_plan_of_a_training_step_takes_at_most_14_ms() {
    let program = file("large.mlir");
    let step = |search: &str| {
        let cost = shardc(&["cost", "--json", "--plan", search, &program], "").json();
        cost["step_s"].as_f64().expect("seconds")
    };
    let (full, greedy) = (step("full"), step("greedy"));
    assert!(full <= greedy, "{full} s, greedy {greedy} s");
    assert!(full <= 14e-3, "{full} s, 13.2 ms when this was written");
}
