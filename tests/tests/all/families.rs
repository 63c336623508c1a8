//! Random programs of every family have the results in shards that they have unpartitioned.
//!
//! `RANDOM_FROM` and `RANDOM_PROGRAMS` choose the seeds; `make random COUNT=…` runs many in an optimized build.

use std::collections::BTreeSet;

use shardc_tests::families::{run, seeds};
use shardc_tests::minimize::minimized;
use shardc_tests::programs::{self, FAMILIES, Family, described, program};

fn family(name: &str) -> &'static Family {
    FAMILIES.iter().find(|family| family.name == name).expect("there is such a family")
}

/// A test for each family.
macro_rules! families {
    ($($name:ident)*) => {
        const TESTED: &[&str] = &[$(stringify!($name)),*];

        $(#[test]
        fn $name() {
            let family = family(stringify!($name));
            println!("{}", run(family, seeds(family)).unwrap_or_else(|fault| panic!("{fault}")));
        })*
    };
}

families! {
    every_op windows indexed ordered long_sorts scans joins carried systems products sums reshards
}

#[test]
fn every_family_has_a_test() {
    assert_eq!(FAMILIES.each_ref().map(|family| family.name), TESTED);
}

#[test]
fn a_wrong_result_is_reported_with_its_seed_and_a_small_program() {
    let wrong = Family { equal: |_, _, got| got.shape.is_empty(), ..family("sums").clone() };
    let report = run(&wrong, 0..1).expect_err("no result of the first program has rank 0");
    for part in [
        "1 of 1 programs of 'sums' are wrong",
        "seed 0: results: compile{search=greedy hierarchical=never target=",
        "RANDOM_FROM=0 RANDOM_PROGRAMS=1 cargo test -p shardc-tests --test all families::sums",
    ] {
        assert!(report.contains(part), "{part} isn't in {report}");
    }
    let small = report.split("fault:\n").nth(1).expect("a program");
    assert!(small.lines().count() < 8, "{small}");
}

#[test]
fn a_program_is_minimized_to_what_its_fault_needs() {
    // As if every sort of more than two elements were wrong.
    let fails = |text: &str| {
        let mut diagnostics = dialect::diagnostic::Diagnostics::default();
        let program = dialect::parse(text, &mut diagnostics);
        dialect::verify(&program, &mut diagnostics);
        let sorts = |line: &str| line.contains("stablehlo.sort") && line.contains("(%");
        !diagnostics.has_errors() && text.lines().any(sorts)
    };
    // Ops that pass values into manual computations can't be removed alone.
    let is_long = |text: &str| text.lines().count() > 25 && !text.contains("manual_computation");
    let text = (0..).map(program).find(|text| fails(text) && is_long(text)).expect("some program sorts");
    let small = minimized(&text, fails);
    assert!(fails(&small), "{small}");
    let ops = small.lines().filter(|line| line.contains(" = ")).count();
    assert!(small.len() < text.len() / 2 && ops <= 4, "from\n{text}\nto\n{small}");
}

/// Ops that must occur in at least three of the first 300 programs.
const OPS: [&str; 34] = [
    "stablehlo.select ",
    "stablehlo.clamp",
    "stablehlo.convert",
    "stablehlo.iota",
    "stablehlo.broadcast_in_dim",
    "stablehlo.transpose",
    "stablehlo.reshape",
    "stablehlo.reduce(",
    "stablehlo.dot_general",
    "stablehlo.rng_bit_generator",
    "stablehlo.bitcast_convert",
    "stablehlo.slice",
    "stablehlo.pad",
    "stablehlo.reverse",
    "stablehlo.concatenate",
    "\"stablehlo.reduce_window\"",
    "stablehlo.convolution",
    "\"stablehlo.select_and_scatter\"",
    "\"stablehlo.sort\"",
    "chlo.top_k",
    "\"stablehlo.fft\"",
    "\"stablehlo.gather\"",
    "batching_dims = [",
    "\"stablehlo.scatter\"",
    "stablehlo.dynamic_slice",
    "stablehlo.dynamic_update_slice",
    "stablehlo.while",
    "\"stablehlo.case\"",
    "sdy.manual_computation",
    "\"stablehlo.all_reduce\"",
    "\"stablehlo.all_gather\"",
    "\"stablehlo.reduce_scatter\"",
    "\"stablehlo.all_to_all\"",
    "\"stablehlo.collective_permute\"",
];

#[test]
fn every_row_of_the_description_is_in_the_programs() {
    let (steps, parts) = described();
    let (mut steps, mut parts): (BTreeSet<&str>, Vec<String>) = (steps.into_iter().collect(), parts);
    for seed in 0..4000 {
        let text = program(seed);
        let written = programs::steps(seed);
        steps.retain(|step| !written.contains(step));
        parts.retain(|part| !text.contains(part));
        if steps.is_empty() && parts.is_empty() {
            return;
        }
    }
    panic!("4000 programs lack the steps {steps:?}, ops and element types {parts:?}");
}

#[test]
fn every_op_is_in_the_programs() {
    let programs: Vec<String> = (0..300).map(program).collect();
    let having = |family: &&str| programs.iter().filter(|text| text.contains(family)).count();
    let rare: Vec<(&str, usize)> = OPS.iter().map(|f| (*f, having(f))).filter(|f| f.1 < 3).collect();
    assert!(rare.is_empty(), "in few of 300 programs: {rare:?}");
    let parts = programs.iter().filter(|text| text.contains("\":(1)")).count();
    assert!(parts >= 30, "parts of axes are in {parts} of 300 programs");
}
