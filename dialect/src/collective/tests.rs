//! Checks groups along axes against lists made from coordinates: random meshes, parts of axes, device orders, replicas.

use fastrand::Rng;

use super::*;
use crate::ir::{Name, Program};
use crate::sharding::{AxisPart, Mesh, Pairs};

/// Returns a mesh whose axes are products of prime factors, and those factors as parts of axes.
fn mesh(random: &mut Rng, program: &mut Program) -> (Mesh, Vec<AxisPart>) {
    let mut axes: Vec<(Name, i64)> = Vec::new();
    let mut parts = Vec::new();
    for (axis, name) in ["x", "y", "z"].iter().enumerate().take(1 + random.usize(..3)) {
        let name = program.name(name);
        let factors: Vec<i64> = (0..random.usize(..3)).map(|_| [2, 2, 3][random.usize(..3)]).collect();
        axes.push((name, factors.iter().product()));
        let mut pre = 1;
        for size in factors {
            parts.push(AxisPart { axis: axis as u32, pre, size: size as u32 });
            pre *= size as u32;
        }
    }
    let devices: i64 = axes.iter().map(|a| a.1).product();
    let mut ids: Vec<i64> = (0..devices).collect();
    random.shuffle(&mut ids);
    let device_ids = random.bool().then_some(ids);
    let mesh = Mesh { axes: axes.into_iter().collect(), device_ids };
    (mesh, parts)
}

/// Returns the coordinates of a device along parts of axes.
fn coordinates(mesh: &Mesh, device: i64, parts: &[AxisPart]) -> Vec<i64> {
    let at = (0..mesh.devices()).find(|&at| mesh.device_at(at as usize) == device).expect("a device of the mesh");
    let along = |part: &AxisPart| {
        let axis = part.axis as usize;
        let minor: i64 = mesh.axes[axis + 1..].iter().map(|a| a.1).product();
        let (pre, size) = (i64::from(part.pre), i64::from(part.size));
        at / minor % mesh.axes[axis].1 / (mesh.axes[axis].1 / (pre * size)) % size
    };
    parts.iter().map(along).collect()
}

/// Returns the groups along `axes`, from the coordinates of every device, in the order of the groups' first positions.
fn listed(mesh: &Mesh, axes: &[AxisPart], others: &[AxisPart], replicas: i64) -> Vec<Vec<i64>> {
    /// A device after its coordinates along `axes`.
    type Member = (Vec<i64>, i64);
    let mut groups: Vec<(Vec<i64>, Vec<Member>)> = Vec::new();
    for at in 0..mesh.devices() {
        let device = mesh.device_at(at as usize);
        let (inside, outside) = (coordinates(mesh, device, axes), coordinates(mesh, device, others));
        match groups.iter_mut().find(|g| g.0 == outside) {
            Some(group) => group.1.push((inside, device)),
            None => groups.push((outside, vec![(inside, device)])),
        }
    }
    let in_order = |mut members: Vec<Member>| {
        members.sort();
        members.into_iter().map(|m| m.1).collect::<Vec<_>>()
    };
    let groups: Vec<Vec<i64>> = groups.into_iter().map(|g| in_order(g.1)).collect();
    let of_replica = |r: i64| groups.iter().map(move |g| g.iter().map(|d| r * mesh.devices() + d).collect());
    (0..replicas).flat_map(of_replica).collect()
}

#[test]
fn groups_by_axes_are_those_of_coordinates() {
    let mut random = Rng::with_seed(1);
    let mut program = Program::new();
    for _ in 0..150 {
        let (mesh, parts) = mesh(&mut random, &mut program);
        let mut parts = parts;
        random.shuffle(&mut parts);
        let others = parts.split_off(random.usize(..=parts.len()));
        let replicas = 1 + random.usize(..3) as i64;
        let attr = MeshAttr::new(&mut program, &mesh).along(&mut program, &parts, replicas);
        let rows = rows(&program, attr).expect("the mesh and its axes are there");
        let groups = Groups::new(rows, IdMode::Flattened, replicas, mesh.devices());
        let expected = listed(&mesh, &parts, &others, replicas);
        assert_eq!(groups.lists(), expected, "{mesh:?} {parts:?}");
        assert_eq!((groups.count(), groups.size()), (expected.len(), expected[0].len()));
        for (g, group) in expected.iter().enumerate() {
            for (i, &device) in group.iter().enumerate() {
                assert_eq!(groups.place(device), Some((g, i)), "{mesh:?} {parts:?}");
            }
        }
        assert_eq!(groups.place(replicas * mesh.devices()), None);
        // The printed lists give the same groups when they are parsed.
        let literal = as_lists(&program, attr).expect("groups by axes");
        assert_eq!(literal, literal_of(&expected));
        let explicit = Groups::of_lists(&expected);
        assert_eq!(explicit.lists(), expected);
        assert!((0..replicas * mesh.devices()).all(|d| explicit.place(d) == groups.place(d)));
        assert_eq!(is_compact(&program, attr), replicas == 1);
    }
}

#[test]
fn permutations_by_axes_bring_shards_to_their_places() {
    let mut random = Rng::with_seed(2);
    let mut program = Program::new();
    for _ in 0..150 {
        let (mesh, parts) = mesh(&mut random, &mut program);
        let (mut from, mut to) = (parts.clone(), parts);
        random.shuffle(&mut from);
        random.shuffle(&mut to);
        let keep = random.usize(..=from.len());
        from.truncate(keep);
        to.truncate(keep);
        let size = |axes: &[AxisPart]| axes.iter().map(|a| i64::from(a.size)).product::<i64>();
        let mesh_attr = MeshAttr::new(&mut program, &mesh);
        // Some targets are shifted along some of the axes.
        let along = to[random.usize(..=to.len())..].to_vec();
        let by = if along.is_empty() { 0 } else { random.i64(-3..4) };
        let attr = match by {
            0 => mesh_attr.permutation(&mut program, &from, &to),
            _ => mesh_attr.shifted_permutation(&mut program, (&from, &to), &along, by),
        };
        if size(&from) != size(&to) {
            assert!(rows(&program, attr).is_none());
            continue;
        }
        let rows = rows(&program, attr).expect("as many shards before as after");
        let replicas = 1 + random.usize(..2) as i64;
        let groups = Groups::new(rows, IdMode::CrossPartition, replicas, mesh.devices());
        let pairs: Vec<(i64, i64)> = groups.pairs().collect();
        let devices = replicas * mesh.devices();
        let mut targets: Vec<i64> = pairs.iter().map(|p| p.1).collect();
        targets.sort_unstable();
        assert_eq!(targets, (0..devices).collect::<Vec<_>>());
        // The number of the device's shard, over all axes, major first.
        let shard = |device: i64, axes: &[AxisPart]| {
            let digits = coordinates(&mesh, device % mesh.devices(), axes);
            digits.iter().zip(axes).fold(0, |n, (digit, axis)| n * i64::from(axis.size) + digit)
        };
        for (source, target) in pairs {
            assert_eq!(source / mesh.devices(), target / mesh.devices());
            let (wanted, n) = (shard(source, &from), size(&along));
            let shifted = wanted - wanted % n + (wanted + by).rem_euclid(n);
            assert_eq!(shifted, shard(target, &to), "{mesh:?} {from:?} {to:?} {along:?} {by}");
            assert_eq!((groups.source(target), groups.target(source)), (Some(source), Some(target)));
        }
        let listed: Vec<Vec<i64>> = groups.lists();
        let explicit = Groups::of_lists(&listed);
        assert!((0..devices).all(|d| explicit.source(d) == groups.source(d) && explicit.target(d) == groups.target(d)));
    }
}

#[test]
fn pairs_of_places_are_the_same_in_every_group() {
    let mut random = Rng::with_seed(5);
    let mut program = Program::new();
    for _ in 0..150 {
        let (mesh, parts) = mesh(&mut random, &mut program);
        let members = crate::sharding::groups(&mesh, &parts);
        let size = members[0].len() as i64;
        let distance = random.i64(0..size);
        let shift = Pairs::of((0..size - distance).map(|s| (s + distance, s)));
        let around = Pairs::of((0..distance).map(|s| (s, s + size - distance)));
        let pairs = if random.bool() { shift.union(&around).expect("no place twice") } else { shift };
        let attr = MeshAttr::new(&mut program, &mesh).pairs(&mut program, &parts, &pairs);
        let rows = rows(&program, attr).expect("pairs within the group");
        let replicas = random.i64(1..3);
        let groups = Groups::new(rows, IdMode::CrossPartition, replicas, mesh.devices());
        let expected: Vec<Vec<i64>> = members
            .iter()
            .flat_map(|g| pairs.iter().map(|(s, t)| vec![g[s as usize], g[t as usize]]).collect::<Vec<_>>())
            .collect();
        assert_eq!(as_lists(&program, attr), Some(literal_of(&expected)));
        let explicit = Groups::new(Rows::of_lists(&expected), IdMode::CrossPartition, replicas, mesh.devices());
        assert_eq!(groups.lists(), explicit.lists());
        for device in 0..replicas * mesh.devices() {
            assert_eq!(groups.source(device), explicit.source(device));
            assert_eq!(groups.target(device), explicit.target(device));
        }
    }
}

#[test]
fn axes_that_overlap_or_are_not_there_give_no_groups() {
    let mut program = Program::new();
    let x = program.name("x");
    let mesh = Mesh { axes: [(x, 6)].into_iter().collect(), device_ids: None };
    let part = |pre, size| AxisPart { axis: 0, pre, size };
    for axes in [[part(1, 2), part(1, 3)], [part(1, 6), part(2, 3)], [part(1, 2), part(1, 4)]] {
        let attr = MeshAttr::new(&mut program, &mesh).along(&mut program, &axes, 1);
        assert!(rows(&program, attr).is_none(), "{axes:?}");
    }
    let group_mesh = GroupMesh::new(vec![("x".into(), 6)], None).expect("a mesh");
    assert_eq!([group_mesh.axis("y", None), group_mesh.axis("x", Some((1, 4)))], [None, None]);
    assert_eq!(group_mesh.axis("x", Some((2, 3))), Some(part(2, 3)));
    let attr = MeshAttr::new(&mut program, &mesh).along(&mut program, &[part(2, 3), part(1, 2)], 1);
    assert!(rows(&program, attr).is_some());
}
