//! The published cost cases: every case that the machine model can answer is evaluated from the case's own inputs.
//!
//! Each value must meet the published figure within its stated tolerance, and the figure recomputed by the formula
//! within 1e-6. `NOT_COVERED` lists cases about things that the model lacks, with the reason, so that nothing is
//! skipped silently.

mod arithmetic;
mod network;
mod storage;

use serde_json::Value;
use shardc_passes::estimate::collective::{CollectiveKind, gather_seconds, torus_seconds};
use shardc_passes::estimate::{Chip, CollectiveLoad, Group, Line, Matmul, Slice, Target, Work};

use storage::{shape, sharding};

/// Families, or single cases as `family/id`, that don't use the machine model.
const NOT_COVERED: &[(&str, &str)] = &[
    ("alpha/at-fsdp-bound", "compares two given numbers"),
    ("alpha/tr-llama3-chips", "divides given numbers"),
    ("alpha/tr-pod-tokens", "multiplies given numbers"),
    ("a2a/shard-q10-a2a-uni", "one-directional rings: the model always uses both directions"),
    ("challenge/tpu-q6-total", "the largest of four given numbers"),
    ("pipeline", "a link that is busy with one transfer at a time: transfers between meshes never wait"),
    ("qps", "divides given numbers"),
    ("train-time/at-slow", "scales a given number of days"),
    ("vpu/tpu-vpu-rate", "the vector unit's lanes are not modeled"),
];

/// The number of cases in the file, and of those that are evaluated.
const CASES: usize = 128;
const COVERED: usize = 119;

struct Case<'a>(&'a Value);

impl Case<'_> {
    fn text(&self, key: &str) -> &str {
        self.0[key].as_str().unwrap_or_else(|| panic!("{key} of {}", self.0))
    }

    fn input(&self, key: &str) -> &Value {
        &self.0["inputs"][key]
    }

    fn has(&self, key: &str) -> bool {
        !self.input(key).is_null()
    }

    fn num(&self, key: &str) -> f64 {
        self.input(key).as_f64().unwrap_or_else(|| panic!("{key} of {}", self.0))
    }

    fn int(&self, key: &str) -> u64 {
        self.input(key).as_u64().unwrap_or_else(|| panic!("{key} of {}", self.0))
    }

    fn text_input(&self, key: &str) -> &str {
        self.input(key).as_str().unwrap_or_else(|| panic!("{key} of {}", self.0))
    }

    fn ints(&self, key: &str) -> Vec<u64> {
        self.input(key).as_array().unwrap().iter().map(|size| size.as_u64().unwrap()).collect()
    }

    /// Returns the bytes per element of the input that names a type.
    fn element_bytes(&self, key: &str) -> f64 {
        match self.input(key).as_str() {
            Some("int8") => 1.0,
            Some("bf16") => 2.0,
            other => panic!("{other:?}"),
        }
    }

    fn not_covered(&self) -> Option<&'static str> {
        let single = format!("{}/{}", self.text("group"), self.text("id"));
        NOT_COVERED.iter().map(|(name, _)| *name).find(|name| *name == single || *name == self.text("group"))
    }
}

/// Returns a ring without latency, long enough for the book's formulas, which ignore its length.
fn ring(bidirectional_bandwidth: f64) -> Line {
    Line { participants: 16, ring: true, stride: 1, link_bandwidth: bidirectional_bandwidth / 2.0, hop_latency: 0.0 }
}

fn rings(count: u64, bidirectional_bandwidth: f64) -> Group {
    Group::of_lines(&vec![ring(bidirectional_bandwidth); count as usize])
}

fn reduce_seconds(bytes: f64, group: &Group) -> f64 {
    torus_seconds(&CollectiveLoad::new(CollectiveKind::AllReduce, bytes, bytes, group.size()), group)
}

fn matmul(rows: u64, contracting: u64, columns: u64) -> Matmul {
    Matmul { batch: 1, rows, contracting, columns }
}

fn math_seconds(flops: f64, peak: f64) -> f64 {
    Work { flops, bytes: 0.0 }.seconds(peak, 1.0).total()
}

fn load_seconds(bytes: f64, bandwidth: f64) -> f64 {
    Work { flops: 0.0, bytes }.seconds(1.0, bandwidth).total()
}

/// Returns a slice whose chips reach their nominal rates, as the book assumes.
fn slice(chip: &str, dims: &[u64]) -> Slice {
    let dims: Vec<String> = dims.iter().map(u64::to_string).collect();
    match Target::parse(&format!("{chip}:{}", dims.join("x"))) {
        Ok(Target::Slice(slice)) => Slice { chip: Chip { reached: None, ..*slice.chip }.interned(), ..slice },
        other => panic!("{other:?}"),
    }
}

/// Returns the point where `falls` changes from false to true.
fn threshold(falls: impl Fn(f64) -> bool) -> f64 {
    let (mut low, mut high) = (1.0, 1e12);
    assert!(!falls(low) && falls(high));
    for _ in 0..200 {
        let middle = (low + high) / 2.0;
        if falls(middle) { high = middle } else { low = middle }
    }
    high
}

fn number(case: &Case) -> f64 {
    let answers = [storage::answer, network::answer, arithmetic::answer];
    answers.iter().find_map(|answer| answer(case)).unwrap_or_else(|| panic!("no rule for {}", case.text("group")))
}

/// Checks the published figure within its tolerance, and the recomputed one within 1e-6; returns `None` when both hold.
fn disagreement(case: &Case, value: f64) -> Option<String> {
    let within = |expected: f64, tolerance: f64| (value - expected).abs() <= tolerance * expected.abs();
    let expected = case.0["expected"].as_f64().unwrap();
    let exact = case.0["exact"].as_f64().unwrap_or(expected);
    let published = within(expected, case.0["rel_tol"].as_f64().unwrap());
    (!published || !within(exact, 1e-6))
        .then(|| format!("{}: {value}, published {expected}, exact {exact}", case.text("id")))
}

#[test]
fn published_cost_cases() {
    let document: Value = serde_json::from_str(include_str!("../data/cost_cases.json")).unwrap();
    let cases: Vec<Case> = document["cases"].as_array().unwrap().iter().map(Case).collect();
    let mut covered = 0;
    let mut wrong = Vec::new();
    for case in cases.iter().filter(|case| case.not_covered().is_none()) {
        covered += 1;
        match case.text("quantity") {
            "wrap" => {
                let slice = slice(case.text_input("chip"), &case.ints("slice"));
                let wraps = slice.wraps()[..slice.shape().len()].to_vec();
                assert_eq!(Value::from(wraps), case.0["expected"], "{}", case.text("id"));
            }
            "local_shape" => {
                let local = sharding(case).0.local_shape(&shape(case));
                assert_eq!(Value::from(local.to_vec()), case.0["expected"], "{}", case.text("id"));
            }
            "latency_bound" => {
                let line = Line {
                    participants: case.int("shards"),
                    link_bandwidth: case.num("link"),
                    hop_latency: case.num("hop"),
                    ..ring(1.0)
                };
                let is_latency_bound = gather_seconds(case.num("bytes"), &Group::of_lines(&[line])) == line.latency();
                assert_eq!(Value::from(is_latency_bound), case.0["expected"], "{}", case.text("id"));
            }
            _ => wrong.extend(disagreement(case, number(case))),
        }
    }
    assert!(wrong.is_empty(), "{} of {covered} wrong:\n{}", wrong.len(), wrong.join("\n"));
    assert_eq!((cases.len(), covered), (CASES, COVERED));
    for (name, reason) in NOT_COVERED {
        assert!(cases.iter().any(|case| case.not_covered() == Some(name)), "{name} ({reason}) is no family or case");
    }
}
