//! Tests of the algebra of mesh axes against explicit devices: each device's coordinates along axes decide whether axes
//! overlap, what a difference is, and whether a translation is equivalent.

use std::collections::BTreeSet;

use fastrand::Rng;

use super::axis::{
    Prefix, after_prefix, common_prefix, difference, merged, prefix, set_difference, set_of, size_of, sort_and_merge,
    strip_suffix,
};
use super::{
    Axes, AxesPerDim, AxisPart, DimSharding, Distribution, Mesh, MeshAxes, MeshRef, Move, ReductionKind, Reshard,
    ReshardFault, TensorSharding,
};
use crate::ir::Program;

pub(super) fn mesh_axes(p: &mut Program, sizes: &[i64]) -> MeshAxes {
    let axes = sizes.iter().zip(["x", "y", "z", "w"]).map(|(&n, name)| (p.name(name), n)).collect();
    MeshAxes::new(MeshRef::Symbol(p.name("mesh")), Mesh { axes, device_ids: None })
}

/// Returns the coordinate of the device at `position` along one part, computed from coordinates along whole axes.
fn coordinate(mesh: &Mesh, position: i64, part: AxisPart) -> i64 {
    let axis = part.axis as usize;
    let minor: i64 = mesh.axes[axis + 1..].iter().map(|a| a.1).product();
    let (size, pre, n) = (mesh.axes[axis].1, i64::from(part.pre), i64::from(part.size));
    let along_axis = position / minor % size;
    along_axis / (size / pre / n) % n
}

/// Returns the coordinate along a list of axes, the first one major.
pub(super) fn along(mesh: &Mesh, position: i64, axes: &[AxisPart]) -> i64 {
    axes.iter().fold(0, |n, &a| n * i64::from(a.size) + coordinate(mesh, position, a))
}

/// Returns all the parts of an axis.
fn parts(axis: u32, size: u32) -> Vec<AxisPart> {
    let divides = |n: u32| (1..=n).filter(move |d| n.is_multiple_of(*d));
    divides(size).flat_map(|pre| divides(size / pre).map(move |size| AxisPart { axis, pre, size })).collect()
}

/// Returns whether a device's coordinate along `a` is independent of that along `b`.
fn independent(size: u32, a: AxisPart, b: AxisPart) -> bool {
    let mut p = Program::new();
    let mesh = mesh_axes(&mut p, &[i64::from(size)]).data;
    let mut count = vec![0; (a.size * b.size) as usize];
    (0..mesh.devices()).for_each(|d| count[along(&mesh, d, &[a, b]) as usize] += 1);
    count.iter().all(|&c| c == count[0])
}

/// Returns whether the coordinate along `a` determines that along `b`.
fn tells(mesh: &Mesh, a: &[AxisPart], b: &[AxisPart]) -> bool {
    let mut seen = vec![None; size_of(a) as usize];
    (0..mesh.devices()).all(|d| {
        let (key, value) = (along(mesh, d, a) as usize, along(mesh, d, b));
        *seen[key].get_or_insert(value) == value
    })
}

#[test]
fn two_parts_of_one_axis() {
    for size in 2..=24 {
        let mut p = Program::new();
        let mesh = mesh_axes(&mut p, &[i64::from(size)]).data;
        let all: Vec<AxisPart> = parts(0, size).into_iter().filter(|a| a.size > 1).collect();
        for &a in &all {
            for &b in &all {
                assert!(a.conflicts_with(b) || independent(size, a, b), "{a:?} {b:?} of {size}");
                assert_eq!(a.conflicts_with(b), a.overlaps(b) || !a.can_coexist(b), "{a:?} {b:?} of {size}");
                assert_eq!((a.overlaps(b), a.can_coexist(b)), (b.overlaps(a), b.can_coexist(a)));
                if !a.can_coexist(b) {
                    assert_eq!((a.prefix_without(b), a.suffix_without(b)), (None, None));
                    continue;
                }
                assert_eq!(a.overlaps(b), !independent(size, a, b), "{a:?} {b:?} of {size}");
                assert_eq!(a.contains(b), tells(&mesh, &[a], &[b]), "{a:?} {b:?} of {size}");
                // The largest independent major part of all parts, then the same for minor parts.
                let free = |c: &&AxisPart| a.contains(**c) && c.can_coexist(b) && independent(size, **c, b);
                let majors = all.iter().filter(free).filter(|c| c.pre == a.pre);
                assert_eq!(a.prefix_without(b), majors.max_by_key(|c| c.size).copied(), "{a:?} {b:?} of {size}");
                let minors = all.iter().filter(free).filter(|c| c.end() == a.end());
                let past = minors.filter(|c| c.pre >= b.end()).max_by_key(|c| c.size).copied();
                assert_eq!(a.suffix_without(b), if a.overlaps(b) { past } else { Some(a) });
            }
        }
    }
}

/// Returns a mesh, and its axes divided into parts that can coexist, in any order.
fn random_parts(random: &mut Rng, p: &mut Program) -> (MeshAxes, Vec<AxisPart>) {
    let sizes: Vec<i64> = (0..random.usize(1..4)).map(|_| [1, 2, 3, 4, 6, 8, 12][random.usize(..7)]).collect();
    let mesh = mesh_axes(p, &sizes);
    let mut all = Vec::new();
    for axis in mesh.nontrivial() {
        let (mut pre, mut left) = (1, axis.size);
        while left > 1 {
            let divisors: Vec<u32> = (2..=left).filter(|d| left.is_multiple_of(*d)).collect();
            let size = divisors[random.usize(..divisors.len())];
            all.push(AxisPart { pre, size, ..axis });
            (pre, left) = (pre * size, left / size);
        }
    }
    for i in (1..all.len()).rev() {
        all.swap(i, random.usize(..=i));
    }
    (mesh, all)
}

/// Returns the devices whose coordinates along all axes but `axes` equal those of device 0.
fn group(mesh: &Mesh, parts: &[AxisPart], axes: &[AxisPart]) -> Vec<i64> {
    let others: Vec<AxisPart> = parts.iter().copied().filter(|p| !axes.iter().any(|a| a.contains(*p))).collect();
    (0..mesh.devices()).filter(|&d| along(mesh, d, &others) == 0).collect()
}

#[test]
fn lists_and_sets_of_parts() {
    let mut random = Rng::with_seed(1);
    for _ in 0..2_000 {
        let mut p = Program::new();
        let (mesh, all) = random_parts(&mut random, &mut p);
        let cut = random.usize(..=all.len());
        let (list, rest) = all.split_at(cut);
        let short = merged(list.iter().copied());
        // Merging changes no device's coordinates.
        for d in 0..mesh.data.devices() {
            assert_eq!(along(&mesh.data, d, list), along(&mesh.data, d, &short));
        }
        assert_eq!(merged(short.iter().copied()), short);
        assert_eq!(size_of(&short), size_of(list));
        // Two sets are equal when they vary over the same devices.
        let set = set_of(list.iter().copied());
        assert_eq!(group(&mesh.data, &all, &set), group(&mesh.data, &all, list));
        let mut sorted = short.clone();
        sort_and_merge(&mut sorted);
        assert_eq!(sorted, set);
        // Differences: the remaining axes vary over the devices of one group that the other doesn't reach.
        let taken: Vec<AxisPart> = all.iter().copied().filter(|_| random.bool()).collect();
        let expect: Vec<AxisPart> = list.iter().copied().filter(|p| !taken.contains(p)).collect();
        let taken = merged(taken);
        assert_eq!(merged(difference(&short, &taken)), merged(expect.iter().copied()));
        assert_eq!(set_difference(&short, &taken), set_of(expect));
        // Prefixes and suffixes, split at any place.
        let (head, tail) = list.split_at(random.usize(..=list.len()));
        let (head, tail) = (merged(head.iter().copied()), merged(tail.iter().copied()));
        assert_eq!(common_prefix(&short, &head), head);
        assert_eq!(after_prefix(&short, &head), tail);
        assert_eq!(prefix(&head, &short), if tail.is_empty() { Prefix::Equal } else { Prefix::Strict });
        let mut left = short.clone();
        assert_eq!(strip_suffix(&mut left, &tail), Some(()));
        assert_eq!(left, head);
        let mut fine: Axes = list.iter().copied().collect();
        assert_eq!(strip_suffix(&mut fine, &tail), Some(()));
        assert_eq!(merged(fine), head);
        if let Some(&other) = rest.first() {
            assert_eq!(strip_suffix(&mut short.clone(), &[other]), None);
        }
    }
}

/// Every ordered list of parts of a mesh with these sizes in all.
fn lists(mesh: &MeshAxes, size: i64, out: &mut Vec<Axes>, so_far: &Axes) {
    if size == 1 {
        return out.push(so_far.clone());
    }
    for axis in mesh.nontrivial() {
        for part in parts(axis.axis, axis.size).into_iter().filter(|p| p.size > 1 && size % i64::from(p.size) == 0) {
            if !so_far.iter().any(|a| a.conflicts_with(part)) {
                let mut next = so_far.clone();
                next.push(part);
                lists(mesh, size / i64::from(part.size), out, &next);
            }
        }
    }
}

#[test]
fn axes_in_words_of_another_mesh() {
    let meshes: [&[i64]; 12] = [
        &[12],
        &[2, 6],
        &[6, 2],
        &[3, 4],
        &[4, 3],
        &[2, 3, 2],
        &[8],
        &[2, 4],
        &[4, 2],
        &[2, 2, 2],
        &[1, 8],
        &[2, 1, 4],
    ];
    for from in meshes {
        for to in meshes {
            let mut p = Program::new();
            let (from, to) = (mesh_axes(&mut p, from), mesh_axes(&mut p, to));
            for part in from.nontrivial().flat_map(|a| parts(a.axis, a.size)).filter(|a| a.size > 1) {
                let found = to.data.translate(&[part], &from.data);
                if from.devices() != to.devices() {
                    assert_eq!(found, None);
                    continue;
                }
                // It is the one merged list with the same coordinates on every device, where there is one.
                let mut all = Vec::new();
                lists(&to, part.size.into(), &mut all, &Axes::new());
                let same = |list: &Axes| {
                    (0..from.data.devices()).all(|d| along(&to.data, d, list) == along(&from.data, d, &[part]))
                };
                let expect = all.into_iter().filter(same).map(merged).next();
                assert_eq!(found, expect, "{part:?} of {:?} in {:?}", from.data, to.data);
            }
        }
    }
    let mut p = Program::new();
    let (one, other) = (mesh_axes(&mut p, &[4, 2]), mesh_axes(&mut p, &[2, 4]));
    let turned = Mesh { device_ids: Some(vec![0, 2, 4, 6, 1, 3, 5, 7]), ..other.data };
    assert_eq!(turned.translate(&[one.whole(0)], &one.data), None);
}

#[test]
fn shardings_and_distributions_say_the_same() {
    let mut random = Rng::with_seed(2);
    for _ in 0..500 {
        let mut p = Program::new();
        let (mesh, all) = random_parts(&mut random, &mut p);
        let mut dims = vec![Vec::new(); 3];
        all.iter().for_each(|&part| dims[random.usize(..3)].push(part));
        let unreduced = dims.pop().unwrap();
        let at = Distribution::of_dims(dims.iter().map(|d| d.iter().copied().collect()))
            .with_unreduced(&unreduced, ReductionKind::Max);
        let text = mesh.sharding(&at);
        assert_eq!(mesh.distribution(&text, &mesh.data).as_ref(), Some(&at));
        // Unmerged, unsorted and with axes of size 1 the sharding is still the same.
        let fine = |list: &[AxisPart]| {
            let mut axes = mesh.axis_refs(list);
            let trivial = (0..mesh.len()).filter(|&a| mesh.whole(a).size == 1);
            axes.extend(trivial.map(|a| mesh.axis_ref(mesh.whole(a))));
            axes
        };
        let dims = dims.iter().map(|d| DimSharding::closed(&fine(d))).collect();
        let unmerged = TensorSharding { dims, unreduced: fine(&unreduced), ..text };
        assert_eq!(mesh.distribution(&unmerged, &mesh.data).as_ref(), Some(&at));
        let shape = [24, 5];
        let local = at.local_shape(&shape);
        for (d, &n) in shape.iter().enumerate() {
            assert_eq!(local[d], (n as u64).div_ceil(at.shards(d) as u64) as i64);
        }
        assert_eq!(at.is_even(&shape), (0..2).all(|d| shape[d] % at.shards(d) == 0));
    }
}

/// Returns what each device holds: elements of a matrix, and the number of the partial sum of them.
fn held(mesh: &Mesh, at: &Distribution) -> Vec<(BTreeSet<(i64, i64)>, i64)> {
    let n = mesh.devices();
    let range = |device: i64, d: usize| {
        let size = n / at.shards(d);
        let start = along(mesh, device, &at.dims[d]) * size;
        start..start + size
    };
    let tile = |device: i64| range(device, 0).flat_map(|i| range(device, 1).map(move |j| (i, j))).collect();
    (0..n).map(|device| (tile(device), along(mesh, device, &at.unreduced))).collect()
}

#[test]
fn applying_a_reshard_moves_what_devices_hold() {
    let mut random = Rng::with_seed(3);
    let mut applied = 0;
    while applied < 400 {
        let mut p = Program::new();
        let (mesh, all) = random_parts(&mut random, &mut p);
        if mesh.devices() > 24 {
            continue;
        }
        // Four piles of axes: two dimensions, unreduced ones, unused ones.
        let mut piles = vec![Vec::new(); 4];
        all.iter().for_each(|&part| piles[random.usize(..4)].push(part));
        let from = Distribution::of_dims(piles[..2].iter().map(|d| d.iter().copied().collect()))
            .with_unreduced(&piles[2], ReductionKind::Sum);
        let end = |random: &mut Rng, pile: &[AxisPart]| merged(pile[random.usize(..=pile.len())..].iter().copied());
        let sum = ReductionKind::Sum;
        let none = || -> AxesPerDim { [Axes::new(), Axes::new()].into_iter().collect() };
        let ends: AxesPerDim = (0..2).map(|d| end(&mut random, &piles[d])).collect();
        let free = end(&mut random, &piles[3]);
        let pending = end(&mut random, &piles[2]);
        let to = random.usize(..2);
        let mut brought = none();
        brought[to] = free.clone();
        let mut scattered = none();
        scattered[to] = pending.clone();
        let moves = vec![Move { axes: ends[1 - to].clone(), from: 1 - to, to }];
        let reshard = match random.usize(..7) {
            0 => Reshard::AllGather(ends),
            1 => Reshard::AllSlice(brought),
            2 => Reshard::AllToAll(moves),
            3 => Reshard::AllReduce(set_of(pending), sum),
            4 => Reshard::ReduceScatter(scattered, sum),
            5 if !free.is_empty() => Reshard::ReplicatedToUnreduced(set_of(free), sum),
            _ => Reshard::ShardedToUnreduced(ends, sum),
        };
        let made = reshard.apply(&from).unwrap_or_else(|fault| panic!("{fault:?}: {reshard:?} of {from:?}"));
        let axes = reshard.axes();
        let (before, after) = (held(&mesh.data, &from), held(&mesh.data, &made));
        let others: Vec<AxisPart> = all.iter().copied().filter(|p| !axes.iter().any(|a| a.contains(*p))).collect();
        for d in 0..mesh.data.devices() {
            let same = |e: &i64| along(&mesh.data, *e, &others) == along(&mesh.data, d, &others);
            let group: Vec<usize> = (0..mesh.data.devices()).filter(same).map(|e| e as usize).collect();
            let union = |held: &[(BTreeSet<(i64, i64)>, i64)]| -> BTreeSet<(i64, i64)> {
                group.iter().flat_map(|&e| held[e].0.iter().copied()).collect()
            };
            let (was, is) = (&before[d as usize], &after[d as usize]);
            let parts =
                |held: &[(BTreeSet<(i64, i64)>, i64)]| group.iter().map(|&e| held[e].1).collect::<BTreeSet<_>>();
            // The group holds the same elements before and after, and each device holds the right number of them.
            assert_eq!(union(&before), union(&after), "{reshard:?} of {from:?}");
            let n = group.len();
            match reshard {
                Reshard::AllGather(_) => assert_eq!((is.0.len(), is.1), (was.0.len() * n, was.1)),
                Reshard::AllSlice(_) => assert_eq!((is.0.len() * n, is.1), (was.0.len(), was.1)),
                Reshard::AllToAll(_) => assert_eq!((is.0.len(), is.1), (was.0.len(), was.1)),
                Reshard::AllReduce(..) => {
                    assert_eq!((&is.0, parts(&before).len(), parts(&after).len()), (&was.0, n, 1));
                }
                Reshard::ReduceScatter(..) => {
                    assert_eq!((is.0.len() * n, parts(&before).len(), parts(&after).len()), (was.0.len(), n, 1));
                }
                Reshard::ReplicatedToUnreduced(..) => {
                    assert_eq!((&is.0, parts(&before).len(), parts(&after).len()), (&was.0, 1, n));
                }
                _ => assert_eq!((is.0.len(), parts(&after).len()), (was.0.len() * n, n)),
            }
        }
        applied += 1;
        // Axes already in use can't be added; axes that aren't at the minor end can't be removed.
        if let (Some(&used), Some(&free)) = (piles[..3].iter().flatten().next(), piles[3].first()) {
            let mut axes = none();
            axes[to] = Axes::from_slice(&[used]);
            assert_eq!(Reshard::AllSlice(axes.clone()).apply(&from), Err(ReshardFault::InUse(to)));
            assert!(Reshard::ReplicatedToUnreduced(axes[to].clone(), sum).apply(&from).is_err());
            axes[to] = Axes::from_slice(&[free]);
            assert_eq!(Reshard::AllGather(axes).apply(&from), Err(ReshardFault::NotMinor(to)));
        }
    }
}
