//! The published sharded matmuls and redistributions: seconds of every collective and FLOPs of every dot in every
//! recipe, the totals, and which recipe is the cheapest.
//!
//! The file's `programs` have no figures; they list collectives, which test plans, not the machine model.

use dialect::sharding::AxisPart;
use serde_json::Value;
use shardc_passes::estimate::{Chip, CollectiveKind, Machine, Matmul, Precision, Slice, Target};

fn array<'a>(value: &'a Value, key: &str) -> &'a [Value] {
    value[key].as_array().unwrap_or_else(|| panic!("{key} of {value}"))
}

fn text<'a>(value: &'a Value, key: &str) -> &'a str {
    value[key].as_str().unwrap_or_else(|| panic!("{key} of {value}"))
}

fn int(value: &Value, key: &str) -> u64 {
    value[key].as_u64().unwrap_or_else(|| panic!("{key} of {value}"))
}

/// A case's mesh and arrays.
struct Setting<'a> {
    axes: Vec<(&'a str, u64)>,
    /// Global sizes of the named dimensions.
    dims: Vec<(&'a str, u64)>,
    machine: Machine,
}

impl<'a> Setting<'a> {
    fn of(case: &'a Value) -> Setting<'a> {
        let axes: Vec<(&str, u64)> = case["mesh"]
            .as_object()
            .unwrap()
            .iter()
            .map(|(name, size)| (name.as_str(), size.as_u64().unwrap()))
            .collect();
        let shape: Vec<String> = array(case, "slice").iter().map(Value::to_string).collect();
        let Ok(Target::Slice(slice)) = Target::parse(&format!("{}:{}", text(case, "chip"), shape.join("x"))) else {
            panic!("{case}")
        };
        // The book's chips reach their nominal rates.
        let target = Target::Slice(Slice { chip: Chip { reached: None, ..*slice.chip }.interned(), ..slice });
        let sizes: Vec<u64> = axes.iter().map(|(_, size)| *size).collect();
        let mut dims = Vec::new();
        for key in ["lhs", "rhs", "src_array"] {
            if case[key].is_object() {
                let names = array(&case[key], "dims").iter().map(|name| name.as_str().unwrap());
                dims.extend(names.zip(array(&case[key], "shape").iter().map(|size| size.as_u64().unwrap())));
            }
        }
        Setting { axes, dims, machine: Machine::new(target, &sizes).unwrap() }
    }

    fn part(&self, name: &str) -> AxisPart {
        let axis = self.axes.iter().position(|(axis, _)| *axis == name).unwrap();
        AxisPart::whole(axis as u32, self.axes[axis].1 as u32)
    }

    /// Returns the dimensions of `A[I_XY,J]` with their local sizes.
    fn local_dims<'t>(&self, array: &'t str) -> Vec<(&'t str, u64)> {
        let inside = array.split('[').nth(1).unwrap().split(']').next().unwrap();
        let dim = |dim: &'t str| {
            let (name, axes) = dim.split_once('_').unwrap_or((dim, ""));
            let global = self.dims.iter().find(|(known, _)| *known == name).unwrap().1;
            let ways: u64 = axes.chars().map(|axis| u64::from(self.part(&axis.to_string()).size)).product();
            (name, global / ways)
        };
        inside.split(',').map(dim).collect()
    }

    fn matmul(&self, op: &Value) -> Matmul {
        let [lhs, rhs, result] = ["lhs", "rhs", "result"].map(|key| self.local_dims(text(op, key)));
        let size = |dims: &[(&str, u64)], keep: &dyn Fn(&str) -> bool| {
            dims.iter().filter(|(name, _)| keep(name)).map(|(_, size)| size).product()
        };
        let has = |dims: &[(&str, u64)], name: &str| dims.iter().any(|(known, _)| *known == name);
        Matmul {
            batch: size(&lhs, &|name| has(&rhs, name) && has(&result, name)),
            rows: size(&lhs, &|name| !has(&rhs, name)),
            contracting: size(&lhs, &|name| has(&rhs, name) && !has(&result, name)),
            columns: size(&rhs, &|name| !has(&lhs, name)),
        }
    }

    /// Returns the seconds of a collective. The file gives bytes of the assembled array; for an all-to-all, over the
    /// whole group.
    fn collective(&self, op: &Value) -> f64 {
        let parts: Vec<AxisPart> = array(op, "axes").iter().map(|axis| self.part(axis.as_str().unwrap())).collect();
        let group = self.machine.group(&parts);
        let (bytes, shard) = (int(op, "bytes"), int(op, "bytes") / group.size());
        let (kind, operand, result) = match text(op, "op") {
            "all_gather" => (CollectiveKind::AllGather, shard, bytes),
            "reduce_scatter" => (CollectiveKind::ReduceScatter, bytes, shard),
            "all_reduce" => (CollectiveKind::AllReduce, bytes, bytes),
            "all_to_all" => (CollectiveKind::AllToAll, shard, shard),
            "permute" => (CollectiveKind::CollectivePermute, bytes, bytes),
            other => panic!("{other}"),
        };
        self.machine.collective_seconds(kind, operand as f64, result as f64, &group)
    }
}

fn check(actual: f64, expected: &Value, tolerance: f64, what: &str) {
    let expected = expected.as_f64().unwrap_or_else(|| panic!("{what}: {expected}"));
    assert!((actual - expected).abs() <= tolerance * expected, "{what}: {actual}, published {expected}");
}

struct Seconds {
    comm: f64,
    math: f64,
}

/// Prices one recipe and checks its steps.
fn price(id: &str, setting: &Setting, recipe: &Value) -> Seconds {
    let mut seconds = Seconds { comm: 0.0, math: 0.0 };
    for op in array(recipe, "ops") {
        match text(op, "op") {
            "slice" => {}
            "dot" => {
                let matmul = setting.matmul(op);
                assert_eq!(matmul.flops(), u128::from(int(op, "local_flops")), "{id}");
                let flops = matmul.flops() as f64 / setting.machine.peak_flops(Precision::Bf16);
                // The published times don't pad; ours pad sizes that are no multiple of the tile.
                let padded = setting.machine.matmul_seconds(&matmul, Precision::Bf16, 0.0);
                let whole_tiles = matmul.rows.is_multiple_of(8)
                    && matmul.contracting.is_multiple_of(128)
                    && matmul.columns.is_multiple_of(128);
                if whole_tiles {
                    assert_eq!(padded, flops, "{id}")
                } else {
                    assert!(padded > flops, "{id}")
                }
                seconds.math += flops;
            }
            "permute" => {
                // Published as a lower bound; our time adds the hops.
                let actual = setting.collective(op);
                assert!(actual >= op["t_pred_min"].as_f64().unwrap(), "{id}");
                check(actual, &op["t_pred_min"], 0.05, id);
                seconds.comm += actual;
            }
            _ => {
                let actual = setting.collective(op);
                check(actual, &op["t_pred"], 1e-9, id);
                seconds.comm += actual;
            }
        }
    }
    seconds
}

/// Checks that the published index of the cheapest recipe, if there is one, is ours.
fn check_cheapest(case: &Value, key: &str, seconds: impl Iterator<Item = f64>) -> usize {
    let Some(expected) = case[key].as_u64() else { return 0 };
    let cheapest = seconds.enumerate().min_by(|(_, a), (_, b)| a.total_cmp(b)).unwrap().0;
    assert_eq!(cheapest as u64, expected, "{key} of {}", text(case, "id"));
    1
}

#[test]
fn published_matmuls_and_redistributions() {
    let document: Value = serde_json::from_str(include_str!("data/matmul_cases.json")).unwrap();
    let (mut recipes, mut choices) = (0, 0);
    for case in array(&document, "matmul").iter().chain(array(&document, "redistribution")) {
        let id = text(case, "id");
        let setting = Setting::of(case);
        let mut prices = Vec::new();
        for recipe in array(case, "recipes") {
            let seconds = price(id, &setting, recipe);
            let permutes = array(recipe, "ops").iter().any(|op| op["op"] == "permute");
            check(seconds.comm, &recipe["t_comm_pred"], if permutes { 0.05 } else { 1e-9 }, id);
            if case["kind"] == "matmul" {
                check(seconds.math, &recipe["t_math_pred"], 1e-9, id);
                check(seconds.comm.max(seconds.math), &recipe["t_overlap_pred"], 1e-9, id);
            }
            prices.push(seconds);
        }
        choices += check_cheapest(case, "cheapest_comm_recipe", prices.iter().map(|seconds| seconds.comm));
        choices += check_cheapest(
            case,
            "cheapest_overlap_recipe",
            prices.iter().map(|seconds| seconds.comm.max(seconds.math)),
        );
        recipes += prices.len();
    }
    assert_eq!((array(&document, "matmul").len(), array(&document, "redistribution").len()), (19, 14));
    assert_eq!((recipes, choices), (RECIPES, CHOICES));
    // The rest of the file has nothing to compare with.
    assert!(array(&document, "programs").iter().all(|program| program["recipes"].is_null()));
}

/// The number of priced recipes, and of comparisons between the recipes of one case.
const RECIPES: usize = 44;
const CHOICES: usize = 12;
