//! Tests that redistribution sequences end at their target, move the data correctly, and cost as much as the best known
//! ones.

use dialect::ir::{ElementType, Program, TensorType};
use dialect::op::CollectiveKind;
use dialect::sharding::axis::{merged, set_difference};
use dialect::sharding::{Axes, AxisPart, Distribution, Mesh, MeshAxes, MeshRef, ReductionKind, Reshard};

use super::atoms::{agree, agreed_parts};
use super::greedy::greedy;
use super::simulate::Pieces;
use super::step::cost_of;
use super::{Resharder, plain};
use crate::estimate::{Flat, Machine, Target};
use crate::plan::model::cost::CollectiveCost;
use crate::plan::model::machine_cost::MachineCost;

pub(crate) fn mesh_axes(sizes: &[i64]) -> MeshAxes {
    let mut p = Program::new();
    let axes = sizes.iter().zip(["x", "y", "z", "w"]).map(|(&n, name)| (p.name(name), n)).collect();
    MeshAxes::new(MeshRef::Symbol(p.name("mesh")), Mesh { axes, device_ids: None })
}

/// Parses a distribution: `x`, `y`, …, or `x:1:2` for part of an axis; dimensions separated by `|`, unreduced axes
/// after `;`.
pub(crate) fn dist(mesh_axes: &MeshAxes, text: &str) -> Distribution {
    let (dims, unreduced) = text.split_once(';').unwrap_or((text, ""));
    let parts = |text: &str| -> Axes {
        merged(text.split_whitespace().map(|word| {
            let mut fields = word.split(':');
            let axis = "xyzw".find(fields.next().unwrap()).unwrap();
            let whole = mesh_axes.whole(axis);
            match (fields.next(), fields.next()) {
                (Some(pre), Some(size)) => AxisPart { pre: pre.parse().unwrap(), size: size.parse().unwrap(), ..whole },
                _ => whole,
            }
        }))
    };
    Distribution::of_dims(dims.split('|').map(parts)).with_unreduced(&parts(unreduced), ReductionKind::Sum)
}

fn f32s(shape: &[i64]) -> TensorType {
    TensorType::new(shape, ElementType::F32)
}

fn microseconds(sizes: &[i64], shape: &[i64], from: &str, to: &str) -> (f64, Vec<Reshard<AxisPart>>) {
    let (g, cost) = (mesh_axes(sizes), Flat::default());
    let sequence = Resharder::new(&g, &cost).sequence(&f32s(shape), &dist(&g, from), &dist(&g, to));
    (sequence.seconds * 1e6, sequence.steps.iter().map(|s| s.kind.clone()).collect())
}

#[test]
fn slices_before_it_gathers() {
    let (us, steps) = microseconds(&[4, 2], &[16, 16], "x|", "|y");
    assert!(matches!(steps[..], [Reshard::AllSlice(_), Reshard::AllGather(_)]), "{steps:?}");
    assert_eq!((us * 1e3).round(), 1004.0);
}

#[test]
fn large_reshards_cost_what_they_must() {
    let shape = [8192, 8192, 4];
    for (sizes, from, to, best, count) in [
        (&[4, 2], "y||x", "|x y|", 1305.9, 1),
        (&[2, 4], "x||", "|x|", 2983.6, 1),
        (&[2, 4], "x y||", "|x y|", 1305.9, 1),
        (&[2, 4], "x|y|", "y|x|", 1493.3, 1),
        (&[2, 8], "x|y|", "y|x|", 749.7, 1),
        // Thirds of halves have no parts in common with halves of thirds.
        (&[2, 3], "x|y|", "y|x|", 4642.5, 3),
    ] {
        let (us, steps) = microseconds(sizes, &shape, from, to);
        assert!((us - best).abs() < 0.1 && steps.len() == count, "{from} -> {to}: {us} {steps:?}");
    }
}

#[test]
fn sums_are_scattered_not_reduced_and_sliced() {
    let (us, steps) = microseconds(&[2, 4], &[64, 256], "x|;y", "x|y");
    assert!(matches!(steps[..], [Reshard::ReduceScatter(..)]), "{steps:?}");
    assert!((us - (1.0 + 32.0 * 256.0 * 4.0 * 0.75 / 90e3)).abs() < 1e-9, "{us}");
    let (_, steps) = microseconds(&[2, 4], &[64, 256], "|;x y", "y x:1:2|");
    assert!(matches!(steps[..], [Reshard::ReduceScatter(..)]), "{steps:?}");
}

#[test]
fn axes_of_equal_size_change_place_by_a_permute() {
    let (_, steps) = microseconds(&[2, 2], &[64, 256], "x|", "y|");
    assert_eq!(steps, [Reshard::CollectivePermute]);
    let (_, steps) = microseconds(&[2, 2], &[64, 256], "x y|", "y x|");
    assert_eq!(steps, [Reshard::CollectivePermute]);
    let (_, steps) = microseconds(&[2, 2], &[64, 256], "x|y", "y|x");
    assert_eq!(steps, [Reshard::CollectivePermute]);
}

#[test]
fn shardys_order_slices_permutes_exchanges_and_gathers() {
    let steps = |sizes: &[i64], shape: &[i64], from: &str, to: &str| {
        let g = mesh_axes(sizes);
        let steps = greedy(&f32s(shape), &dist(&g, from), &dist(&g, to))?;
        Some(steps.iter().map(|s| number(&s.kind)).collect::<Vec<_>>())
    };
    let (gather, slice, exchange, permute, reduce, scatter) = (0, 1, 2, 3, 4, 5);
    assert_eq!(steps(&[4, 2], &[16, 16], "x|", "|y"), Some(vec![slice, gather]));
    assert_eq!(steps(&[2, 2], &[16, 16], "x y|", "y x|"), Some(vec![permute]));
    assert_eq!(steps(&[2, 4], &[64, 64], "x|", "y|"), Some(vec![slice, permute]));
    assert_eq!(steps(&[2, 2, 2, 2], &[4, 8, 32], "w|x|", "||x y z w"), Some(vec![slice, exchange, exchange]));
    // Neither of four and six divides the other: a second permute moves the axes that stay before those that are
    // gathered.
    assert_eq!(steps(&[4, 6, 5], &[480, 1920], "y|x", "z x|"), Some(vec![slice, permute, exchange, permute, gather]));
    assert_eq!(steps(&[2, 4], &[64, 64], "|;x y", "y|x"), Some(vec![scatter]));
    assert_eq!(steps(&[2, 4], &[64, 64], "|;x y", "y|"), Some(vec![reduce, slice]));
    // Halves of an axis and thirds of it have no common parts.
    assert_eq!(steps(&[6, 2], &[64, 64], "x:1:2|", "|x:1:3"), None);
}

#[test]
fn no_sequence_is_dearer_than_shardys_order() {
    for (sizes, shape, from, to) in [
        (&[4, 6, 5][..], &[480, 1920, 1][..], "y|x|", "z x||"),
        (&[3, 4, 2], &[1536, 1536, 384], "x|y|z", "y z|x|"),
        (&[4, 6, 5], &[480, 240, 7680], "y x|z|", "z||"),
        (&[8, 8], &[1024, 256, 4096], "y:2:4||", "y:1:2|y:2:4 x|"),
        (&[2, 2, 4, 2], &[512, 512, 1], "|x|", "z|y w x|"),
    ] {
        let g = mesh_axes(sizes);
        let (from, to) = (dist(&g, from), dist(&g, to));
        let steps = greedy(&f32s(shape), &from, &to).expect("steps that exist");
        let (bound, _) = cost_of(&steps, &from, &f32s(shape), &Flat::default());
        let seconds = Resharder::new(&g, &Flat::default()).sequence(&f32s(shape), &from, &to).seconds;
        assert!(seconds <= bound * (1.0 + 1e-9), "{from:?} -> {to:?}: {seconds} instead of {bound}");
    }
}

struct Random(fastrand::Rng);

impl Random {
    fn below(&mut self, n: usize) -> usize {
        self.0.usize(..n)
    }

    fn distribution(&mut self, mesh_axes: &MeshAxes, rank: usize) -> Distribution {
        let mut d = Distribution::replicated(rank);
        let mut parts = Vec::new();
        for whole in mesh_axes.nontrivial() {
            let divisors: Vec<u32> = (2..whole.size).filter(|&c| whole.size.is_multiple_of(c)).collect();
            if !divisors.is_empty() && self.below(3) == 0 {
                let size = divisors[self.below(divisors.len())];
                parts.push(AxisPart { size, ..whole });
                parts.push(AxisPart { axis: whole.axis, pre: size, size: whole.size / size });
            } else {
                parts.push(whole);
            }
        }
        let mut unreduced = Axes::new();
        while !parts.is_empty() {
            let part = parts.remove(self.below(parts.len()));
            match self.below(rank + 2) {
                dim if dim < rank => d.dims[dim].push(part),
                dim if dim == rank => unreduced.push(part),
                _ => {}
            }
        }
        let kind = [ReductionKind::Sum, ReductionKind::Max, ReductionKind::Min][self.below(5).saturating_sub(2)];
        Distribution::of_dims(d.dims).with_unreduced(&unreduced, kind)
    }
}

#[test]
fn random_pairs_end_in_the_target_with_the_data_right() {
    let mut random = Random(fastrand::Rng::with_seed(7));
    let value = |i: &[i64]| i.iter().fold(5, |v, &x| v * 31 + x) % 101;
    // Costs of small tensors, for which every collective takes about the same time, and of large ones, for which only
    // bytes count.
    let costs = [Flat::default(), Flat { latency: 0.0, bandwidth: 1.0, ..Flat::default() }];
    let mut cheaper = 0;
    let (mut compared, mut cheaper_than_greedy) = (0, 0);
    // By kind, the number of steps that moved shards of which some have padding.
    let mut uneven = [0; 8];
    for (sizes, shapes, rounds) in [
        (&[2, 3][..], &[[6, 12], [5, 6]][..], 100),
        (&[4, 2], &[[8, 16], [10, 8]], 100),
        (&[2, 2, 2], &[[8, 8], [6, 16]], 100),
        (&[4, 6, 5], &[[12, 10], [20, 7]], 15),
        // Sizes that nothing divides, and dimensions with fewer elements than devices.
        (&[2, 3], &[[7, 11], [13, 5]], 200),
        (&[4, 2], &[[7, 9], [3, 11]], 200),
        (&[2, 2, 2], &[[5, 7], [1, 13]], 200),
    ] {
        let g = mesh_axes(sizes);
        for round in 0..2 * rounds {
            let (shape, cost) = (&shapes[round % 2], &costs[round / rounds]);
            let resharder = Resharder::new(&g, cost);
            let ty = f32s(shape);
            let (from, to) = (random.distribution(&g, 2), random.distribution(&g, 2));
            let sequence = resharder.sequence(&ty, &from, &to);
            let same_kind = from.kind == to.kind || from.unreduced.is_empty() || to.unreduced.is_empty();
            let shardys = greedy(&ty, &from, &to).filter(|_| same_kind);
            for steps in [Some(&sequence.steps), shardys.as_ref()].into_iter().flatten() {
                let mut pieces = Pieces::shard(&g, shape, &from, &value);
                pieces.check(&g, &value).expect("the simulation's start");
                for step in steps {
                    if !pieces.at.is_even(shape) || !step.to.is_even(shape) {
                        uneven[number(&step.kind)] += 1;
                    }
                    pieces = pieces.step(&g, step).unwrap_or_else(|e| panic!("{from:?} -> {to:?}: {e}"));
                }
                assert_eq!(pieces.at, to);
                pieces.check(&g, &value).unwrap_or_else(|e| panic!("{from:?} -> {to:?}: {e}"));
            }
            assert_eq!((sequence.seconds, sequence.bytes), cost_of(&sequence.steps, &from, &ty, cost));
            if let Some(steps) = &shardys {
                let (bound, _) = cost_of(steps, &from, &ty, cost);
                assert!(sequence.seconds <= bound * (1.0 + 1e-9), "{from:?} -> {to:?}: dearer than {steps:?}");
                compared += 1;
                cheaper_than_greedy += usize::from(sequence.seconds < bound * (1.0 - 1e-9));
            }
            if same_kind && agree(&from, &to) {
                let (bound, _) = cost_of(&plain(&ty, &from, &to), &from, &ty, cost);
                assert!(sequence.seconds <= bound + 1e-15, "{from:?} -> {to:?}");
                cheaper += usize::from(sequence.seconds < bound - 1e-9);
            }
        }
    }
    assert!(cheaper > 50, "the search found only {cheaper} better sequences");
    assert!(compared > 500, "Shardy's order got only {compared} values where they are to be");
    assert!(cheaper_than_greedy > 50, "only {cheaper_than_greedy} sequences are better than Shardy's order");
    assert!(uneven.iter().all(|&n| n > 10), "steps on dimensions that don't divide, by kind: {uneven:?}");
}

/// Returns the index of a step's kind among those that sequences may have.
fn number(kind: &Reshard<AxisPart>) -> usize {
    match kind {
        Reshard::AllGather(_) => 0,
        Reshard::AllSlice(_) => 1,
        Reshard::AllToAll(_) => 2,
        Reshard::CollectivePermute => 3,
        Reshard::AllReduce(..) => 4,
        Reshard::ReduceScatter(..) => 5,
        Reshard::ReplicatedToUnreduced(..) | Reshard::ShardedToUnreduced(..) => 6,
        Reshard::PermuteParts => 7,
        Reshard::Identity => panic!("a sequence has no step that does nothing"),
    }
}

#[test]
fn a_floor_holds_for_every_collective() {
    let cost = Flat::default();
    assert_eq!(cost.floor(0.0), 0.0);
    assert!((cost.floor(90e9) - 1.000001).abs() < 1e-12);
}

/// Prices without lower bounds.
struct Unbounded<'a>(&'a dyn CollectiveCost);

impl CollectiveCost for Unbounded<'_> {
    fn seconds(&self, kind: CollectiveKind, operand_bytes: f64, result_bytes: f64, axes: &[AxisPart]) -> f64 {
        self.0.seconds(kind, operand_bytes, result_bytes, axes)
    }

    fn floor(&self, _: f64) -> f64 {
        0.0
    }
}

#[test]
fn what_the_floor_leaves_out_is_not_cheaper() {
    let mut random = Random(fastrand::Rng::with_seed(11));
    let (flat, slow) = (Flat::default(), Flat { latency: 0.0, bandwidth: 1.0, ..Flat::default() });
    let (mut moves, mut searched, mut tight) = (0, 0, 0);
    // By kind: with reductions, with padding, and even ones.
    let mut bounds = [0; 3];
    for (sizes, shapes, targets) in [
        (&[2, 3][..], [[6, 12], [5, 6]], ["v5e:2x3", "v5p:1x2x3"]),
        (&[4, 2], [[8, 16], [3, 11]], ["v5e:4x2", "h100:8"]),
        (&[2, 2, 2], [[8, 8], [6, 16]], ["v4:2x2x2", "2xv5e:2x2"]),
        (&[2, 2, 4], [[512, 4096], [4, 2]], ["v5p:4x4x1", "2xh100:8"]),
        (&[8, 2], [[8192, 4096], [96, 64]], ["v5e:4x4", "v2:4x4"]),
    ] {
        let g = mesh_axes(sizes);
        let sizes: Vec<u64> = sizes.iter().map(|&size| size as u64).collect();
        let machines = targets.map(|target| Machine::new(Target::parse(target).unwrap(), &sizes).unwrap());
        let slices = [MachineCost::new(&machines[0]), MachineCost::new(&machines[1])];
        let costs: [&dyn CollectiveCost; 4] = [&flat, &slow, &slices[0], &slices[1]];
        for round in 0..400 {
            let (ty, cost) = (f32s(&shapes[round % 2]), costs[round / 100]);
            let (from, to) = (random.distribution(&g, 2), random.distribution(&g, 2));
            // No floor always holds where partial results are filled up with zeros.
            if !set_difference(&to.unreduced, &from.unreduced).is_empty() {
                continue;
            }
            let found = Resharder::new(&g, cost).sequence(&ty, &from, &to).seconds;
            let (least, exact) = Resharder::new(&g, cost).at_least(&ty, &from, &to);
            assert!(least <= found * (1.0 + 1e-9), "{from:?} -> {to:?}: {found}, at least {least}");
            assert!(!exact || least >= found * (1.0 - 1e-9), "{from:?} -> {to:?}: {found} isn't {least}");
            let resharder = Resharder::new(&g, cost);
            let bound = resharder.least_seconds(&ty, &from, &to);
            assert!(bound <= found * (1.0 + 1e-9), "{from:?} -> {to:?}: {found}, at least {bound} by any steps");
            // The search has the same bound. Atoms may be smaller than the parts of axes that agree, so a device that
            // is last along an atom may hold a part of its target shard with padding where one that is last along the
            // whole part holds none.
            let atoms = agreed_parts(&from, &to).and_then(|parts| resharder.atoms(&ty, &from, &to, parts));
            if let Some(problem) = atoms.as_ref().map(|atoms| atoms.problem(&ty, &from, &to, cost)) {
                let (least, is_reduced) = (problem.least(&problem.from), from.unreduced != to.unreduced);
                let equal = if is_reduced || problem.divides { bound == least } else { bound >= least };
                assert!(equal, "{from:?} -> {to:?}: {bound} for distributions, {least} for atoms");
                let kind = if is_reduced { 0 } else { 1 + usize::from(problem.divides) };
                bounds[kind] += usize::from(bound > 0.0);
            }
            searched += usize::from(!exact);
            tight += usize::from(!exact && least > found / 4.0);
            let all = Resharder::new(&g, &Unbounded(cost)).sequence(&ty, &from, &to).seconds;
            assert!(found <= all * (1.0 + 1e-9), "{from:?} -> {to:?}: {found} instead of {all}");
            moves += usize::from(found > 0.0);
        }
    }
    assert!(moves > 300, "only {moves} pairs move anything");
    assert!(searched > 100 && tight * 3 > searched, "{tight} of {searched} lower bounds are above a quarter");
    assert!(bounds.iter().all(|&n| n > 50), "lower bounds with reductions, with padding and even ones: {bounds:?}");
}
