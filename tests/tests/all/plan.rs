//! Planning and partitioning preserve a program's meaning: propagated JAX programs, planned and partitioned, give the
//! same results on all devices together as the original. The collectives of each plan are counted.

use std::collections::BTreeMap;

use dialect::diagnostic::Diagnostics;
use dialect::ir::Program;
use passes::plan::{PlanOptions, plan};
use shardc_tests::command::shardc;
use shardc_tests::sharded::parsed;

/// Ops and their numbers.
type Counts = &'static [(&'static str, usize)];

/// Programs after `propagate`, and the number of collectives in their plans.
const PROGRAMS: &[(&str, &str, Counts)] = &[
    ("spmd_reshard", include_str!("../../plan/spmd_reshard.mlir"), &[("sdy.all_gather", 1), ("sdy.all_slice", 1)]),
    (
        "mlp_block",
        include_str!("../../plan/tpu_p3_mlp_block_auto.mlir"),
        &[("sdy.all_gather", 1), ("sdy.reduce_scatter", 1)],
    ),
    ("reduce_scatter", include_str!("../../plan/tpu_p3_reduce_scatter_auto.mlir"), &[("sdy.reduce_scatter", 1)]),
    ("two_matmuls", include_str!("../../plan/tpu_two_matmuls_constraint.mlir"), &[("sdy.all_reduce", 1)]),
    ("other_mesh", include_str!("../../plan/intro_contract_other_mesh.mlir"), &[]),
    (
        "several_dimensions",
        include_str!("../../plan/several_dimensions.mlir"),
        &[("sdy.all_gather", 4), ("sdy.all_slice", 5)],
    ),
    ("train_2d", include_str!("../../plan/train_2d.mlir"), &[]),
    ("train_fsdp", include_str!("../../plan/train_fsdp.mlir"), &[]),
];

fn planned(text: &str) -> Program {
    let mut program = parsed(text);
    let mut diagnostics = Diagnostics::default();
    let report = plan(&mut program, &PlanOptions::default(), &mut diagnostics);
    dialect::verify(&program, &mut diagnostics);
    assert!(!diagnostics.has_errors(), "{:?}", diagnostics.iter().next());
    assert!(report.seconds <= report.greedy_seconds);
    program
}

#[test]
fn planned_programs_keep_their_results() {
    for (name, text, _) in PROGRAMS {
        for search in ["greedy", "full"] {
            let (code, said) = shardc(&["check", "--interpret", "--plan", search, "-"], text).code_and_text();
            assert_eq!(code, 0, "{name}, {search}: {said}");
        }
    }
}

#[test]
fn plans_communicate_as_expected() {
    for (name, text, expected) in PROGRAMS.iter().filter(|p| !p.2.is_empty()) {
        let program = planned(text);
        let mut found: BTreeMap<&str, usize> = BTreeMap::new();
        for (_, block) in program.functions() {
            program.walk(block, &mut |op| {
                let view = program.view(op);
                if view.def().reshard(view).is_some() {
                    *found.entry(program.op_name(op)).or_default() += 1;
                    assert!(view.attr("shardc.cause").is_some(), "{name}: a collective without a cause");
                }
            });
        }
        assert_eq!(found.into_iter().collect::<Vec<_>>(), *expected, "{name}");
    }
}

/// Returns two layers of a network whose batch is the second to last of `rank` dimensions; all others have size 1.
fn layers(rank: usize) -> String {
    let (ones, open) = ("1x".repeat(rank - 2), "{}, ".repeat(rank - 2));
    let batch = format!("tensor<{ones}16384x512xf32>");
    let dims = (0..rank - 1).map(|d| d.to_string()).collect::<Vec<_>>().join(", ");
    let weight = "tensor<512x512xf32> {sdy.sharding = #sdy.sharding<@mesh, [{\"x\"}, {}]>}";
    let last = rank - 1;
    format!(
        "sdy.mesh @mesh = <[\"x\"=8]>
        func.func @main(%w: {weight}, %v: {weight},
            %batch: {batch} {{sdy.sharding = #sdy.sharding<@mesh, [{open}{{}}, {{\"x\"}}]>}}) -> ({weight}) {{
          %0 = stablehlo.dot_general %batch, %w, contracting_dims = [{last}] x [0] : ({batch}, tensor<512x512xf32>) -> {batch}
          %1 = stablehlo.tanh %0 : {batch}
          %2 = stablehlo.dot_general %1, %v, contracting_dims = [{last}] x [0] : ({batch}, tensor<512x512xf32>) -> {batch}
          %3 = stablehlo.tanh %2 : {batch}
          %4 = stablehlo.dot_general %1, %3, contracting_dims = [{dims}] x [{dims}] : ({batch}, {batch}) -> tensor<512x512xf32>
          %5 = stablehlo.add %v, %4 : tensor<512x512xf32>
          return %5 : tensor<512x512xf32>
        }}"
    )
}

#[test]
fn rules_of_any_number_of_factors_are_planned_alike() {
    let planned = |rank: usize| {
        let mut program = parsed(&layers(rank));
        let steps = passes::Registry::standard().parse("import,propagate,unify-meshes").expect("there are such passes");
        assert!(passes::run_passes(&mut program, &steps, &mut |_, _| {}).ok());
        let mut diagnostics = Diagnostics::default();
        let report = plan(&mut program, &PlanOptions::default(), &mut diagnostics);
        assert!(!diagnostics.has_errors(), "{:?}", diagnostics.iter().next());
        let text = dialect::print(&program);
        let count = |op: &str| text.matches(op).count();
        (report.seconds, ["sdy.all_to_all", "sdy.all_gather", "sdy.reduce_scatter"].map(count))
    };
    let flat = planned(2);
    assert_eq!(flat.1, [1, 2, 1], "the batch is cut, weights are gathered");
    // Factor 68 is the batch, in rules of 70 and 71 factors.
    assert_eq!(planned(70), flat);
}
