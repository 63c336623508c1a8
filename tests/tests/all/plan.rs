//! Planning and partitioning preserve a program's meaning: propagated JAX programs, planned and partitioned, give the
//! same results on all devices together as the original. The collectives of each plan are counted.

use std::collections::BTreeMap;

use dialect::diagnostic::Diagnostics;
use dialect::ir::{Program, TensorType};
use dialect::literal::Literal;
use dialect::ops::func;
use dialect::scalar::Scalar;
use dialect::sharding::Layout;
use passes::plan::{PlanOptions, Search, plan};
use runtime::reference::{evaluate, evaluate_global};

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

fn parsed(text: &str) -> Program {
    let mut diagnostics = Diagnostics::default();
    let program = dialect::parse(text, &mut diagnostics);
    assert!(!diagnostics.has_errors(), "{:?}", diagnostics.iter().next());
    program
}

fn planned(text: &str, search: Search) -> Program {
    let mut program = parsed(text);
    let mut diagnostics = Diagnostics::default();
    let report = plan(&mut program, &PlanOptions { search, ..PlanOptions::default() }, &mut diagnostics);
    dialect::verify(&program, &mut diagnostics);
    assert!(!diagnostics.has_errors(), "{:?}", diagnostics.iter().next());
    assert!(report.seconds <= report.greedy_seconds);
    program
}

/// Returns small numbers; for floats, multiples of a quarter.
fn inputs(types: &[TensorType]) -> Vec<Literal> {
    let mut random = fastrand::Rng::with_seed(12345);
    let mut next = || random.i128(0..5);
    let mut value = |ty: &TensorType| {
        let scalar = if ty.element.is_float() { Scalar::Float((next() - 2) as f64 / 4.0) } else { Scalar::Int(next()) };
        scalar.round(ty.element)
    };
    types.iter().map(|ty| Literal::from_fn(ty, |_| value(ty))).collect()
}

/// Returns the largest difference between the results of the partitioned and the original program, relative to their
/// magnitude.
fn difference(text: &str, search: Search) -> f64 {
    let whole = parsed(text);
    let mut program = planned(text, search);
    let main = func::function(&program, "main").expect("main");
    let block = func::block(&program, main).expect("a body");
    let mesh = program.top_level("sdy.mesh").find_map(|m| program.view(m).attr("mesh")?.as_mesh().cloned());
    let mesh = mesh.expect("a mesh");
    let arguments = program.block_args(block).to_vec();
    let returned = program.op(program.terminator(block).expect("a return")).operands.to_vec();
    let types = |values: &[dialect::ir::Value]| -> Vec<TensorType> {
        values.iter().map(|&v| program.tensor_type(v).expect("a tensor").clone()).collect()
    };
    let (argument_types, result_types) = (types(&arguments), types(&returned));
    let place = |(i, ty): (usize, &TensorType)| Layout::new(ty, func::arg_sharding(&program, main, i), &mesh);
    let ins: Vec<Layout> = argument_types.iter().enumerate().map(place).collect();
    let place = |(i, ty): (usize, &TensorType)| Layout::new(ty, func::result_sharding(&program, main, i), &mesh);
    let outs: Vec<Layout> = result_types.iter().enumerate().map(place).collect();
    let mut diagnostics = Diagnostics::default();
    passes::partition::partition(&mut program, &mut diagnostics);
    assert!(!diagnostics.has_errors(), "{:?}", diagnostics.iter().next());

    let inputs = inputs(&argument_types);
    let devices = mesh.devices() as usize;
    let lanes: Vec<Vec<Option<Literal>>> =
        inputs.iter().zip(&ins).map(|(l, at)| (0..devices).map(|d| Some(at.shard(l, d))).collect()).collect();
    let got = evaluate(&program, "main", 1, devices, &lanes).expect("the partitioned program runs");
    let want = evaluate_global(&whole, &inputs).expect("the whole program runs");
    let mut worst = 0.0f64;
    for ((pieces, at), want) in got.into_iter().zip(&outs).zip(&want) {
        let pieces: Vec<Literal> = pieces.into_iter().map(|p| p.expect("every device ran")).collect();
        let got = at.assemble(&pieces);
        assert_eq!(got.shape, want.shape);
        for i in 0..want.len() {
            let (a, b) = (got.get(i).as_f64(), want.get(i).as_f64());
            let error = if a == b || a.is_nan() && b.is_nan() { 0.0 } else { (a - b).abs() / (1.0 + b.abs()) };
            worst = worst.max(if error.is_nan() { f64::INFINITY } else { error });
        }
    }
    worst
}

#[test]
fn a_planned_program_means_what_it_meant() {
    for (name, text, _) in PROGRAMS {
        for search in [Search::Greedy, Search::Full] {
            let worst = difference(text, search);
            assert!(worst < 1e-4, "{name}: {worst}");
        }
    }
}

#[test]
fn plans_communicate_as_expected() {
    for (name, text, expected) in PROGRAMS.iter().filter(|p| !p.2.is_empty()) {
        let program = planned(text, Search::Full);
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
