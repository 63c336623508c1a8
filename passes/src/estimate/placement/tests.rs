//! Placements calculated by hand: the lines of the groups of small meshes on small slices.

use super::super::target::{Slice, Target};
use super::*;
use crate::estimate::collective::gather_floor_seconds;

fn slice(text: &str) -> Slice {
    match Target::parse(text) {
        Ok(Target::Slice(slice)) => slice,
        other => panic!("{other:?}"),
    }
}

fn new(target: &str, axis_sizes: &[u64]) -> Placement {
    Placement::new(&slice(target), axis_sizes).unwrap()
}

fn row_major(target: &str, axis_sizes: &[u64]) -> Placement {
    Placement::row_major(&slice(target), axis_sizes).unwrap().unwrap()
}

/// Formats the levels of a group: `4` for a line of 4, `o4` for a ring, `/2` for a stride, `+2` for chiplets and `*2`
/// for a switch.
fn show(group: &Group) -> String {
    let line = |line: &Line| {
        let ring = if line.ring { "o" } else { "" };
        let stride = if line.stride > 1 { format!("/{}", line.stride) } else { String::new() };
        format!("{ring}{}{stride}", line.participants)
    };
    let chiplets = group.chiplets().map(|pair| format!("+{}", line(pair)));
    let lines: Vec<String> = group.lines().iter().map(line).collect();
    let switches: String = group.switches().map(|switch| format!("*{}", switch.participants)).collect();
    format!("{}{}{switches}", lines.join(" "), chiplets.unwrap_or_default())
}

fn part(axis: u32, pre: u32, size: u32) -> AxisPart {
    AxisPart { axis, pre, size }
}

fn check_group(placement: &Placement, parts: &[AxisPart], expected: &str) {
    assert_eq!(show(&placement.group(parts)), expected, "{parts:?}");
}

#[test]
fn whole_dimensions_are_preferred() {
    let placement = new("v5e:8x16", &[16, 8]);
    check_group(&placement, &[part(0, 1, 16)], "o16");
    check_group(&placement, &[part(1, 1, 8)], "8");
    check_group(&placement, &[part(0, 1, 16), part(1, 1, 8)], "8 o16");
    let placement = new("v5p:4x4x8", &[8, 16]);
    check_group(&placement, &[part(0, 1, 8)], "o8");
    check_group(&placement, &[part(1, 1, 16)], "o4 o4");
    // Sub-axes of the axis of 16: one dimension each.
    check_group(&placement, &[part(1, 1, 4)], "o4");
    check_group(&placement, &[part(1, 4, 4)], "o4");
    check_group(&placement, &[part(1, 2, 2), part(1, 8, 2)], "2 2");
    check_group(&placement, &[part(1, 2, 4)], "2 o2/2");
}

#[test]
fn axes_sharing_a_dimension() {
    let placement = row_major("v5e:4x16", &[4, 2, 4, 2]);
    check_group(&placement, &[part(0, 1, 4)], "4");
    // The minor axis has segments, the others are interleaved; only the most major axis reaches around the ring.
    check_group(&placement, &[part(3, 1, 2)], "2");
    check_group(&placement, &[part(2, 1, 4)], "4/2");
    check_group(&placement, &[part(1, 1, 2)], "o2/8");
    check_group(&placement, &[part(2, 1, 4), part(3, 1, 2)], "8");
    check_group(&placement, &[part(1, 1, 2), part(2, 1, 4), part(3, 1, 2)], "o16");
    check_group(&placement, &[part(1, 1, 2), part(2, 1, 4)], "o8/2");
    check_group(&placement, &[part(1, 1, 2), part(3, 1, 2)], "o4/4");
    check_group(&placement, &[part(2, 1, 2)], "2/4");
    check_group(&placement, &[part(2, 2, 2)], "2/2");
    check_group(&placement, &[], "");
    check_group(&placement, &[part(9, 1, 2)], "");
}

#[test]
fn an_axis_over_two_dimensions() {
    let placement = row_major("v5e:4x8", &[8, 4]);
    check_group(&placement, &[part(0, 1, 8)], "4 2/4");
    check_group(&placement, &[part(1, 1, 4)], "4");
    check_group(&placement, &[part(0, 4, 2)], "2/4");
    check_group(&placement, &[part(0, 1, 4)], "4");
    // Chips are numbered along the first dimension, as JAX does, whose order is the default one.
    assert_eq!(placement.device_order()[..10], [0, 4, 8, 12, 16, 20, 24, 28, 1, 5]);
    assert_eq!(new("v5e:4x8", &[8, 4]).device_order(), (0..32).collect::<Vec<u64>>());
}

#[test]
fn parts_that_are_divided_unevenly_are_taken_whole() {
    // 12 is placed as 2 (minor) by 6; its middle sub-axis of 3 splits the 6 evenly into 2 and 3; 4 of 12 splits evenly
    // at the 2.
    let placement = row_major("v5e:6x2", &[12]);
    check_group(&placement, &[part(0, 2, 3)], "3");
    check_group(&placement, &[part(0, 3, 4)], "2 2");
    // On 2 by 3 the major 2 of 6 is the first dimension; the minor 2 splits the 3, whose links two groups then share.
    let placement = row_major("v5e:2x3", &[6]);
    check_group(&placement, &[part(0, 1, 2)], "2");
    check_group(&placement, &[part(0, 3, 2)], "3/2");
    check_group(&placement, &[part(0, 1, 3)], "2/2 3/2");
}

#[test]
fn small_meshes_leave_chips_unused() {
    let placement = new("v5p:4x4x4", &[4, 4]);
    check_group(&placement, &[part(0, 1, 4), part(1, 1, 4)], "o4 o4");
    assert_eq!(placement.devices(), 16);
    let order = placement.device_order();
    assert_eq!((order.len(), order[1], order[4]), (16, 4, 1));
    assert_eq!(show(&new("v5p:8x4x4", &[8]).group(&[part(0, 1, 8)])), "o8");
    assert_eq!(show(&new("v5e:4x4", &[8]).group(&[part(0, 1, 8)])), "4 2");
    assert!(Placement::row_major(&slice("v5e:4x4"), &[8]).unwrap().is_none());
}

#[test]
fn meshes_that_do_not_fit() {
    let check = |target: &str, axis_sizes: &[u64], expected: &str| {
        let error = Placement::new(&slice(target), axis_sizes).unwrap_err();
        assert_eq!(error.to_string(), expected);
        assert!(Placement::row_major(&slice(target), axis_sizes).is_err());
    };
    check("v5e:4x4", &[4, 8], "v5e:4x4 with 16 devices is too small for the mesh 4x8");
    check("v5e:4x4", &[3], "v5e:4x4 with 16 devices can't be divided evenly for the mesh 3");
    check("v5e:4x4", &[0, 2], "v5e:4x4 with 16 devices can't be divided evenly for the mesh 0x2");
    check("v5e:4x4", &[u64::MAX, 2], "v5e:4x4 with 16 devices is too small for the mesh 18446744073709551615x2");
    check("v7x:2x2x1", &[16], "v7x:2x2x1 with 8 devices is too small for the mesh 16");
    assert_eq!(show(&new("v5e:4x4", &[]).group(&[])), "");
    assert_eq!(new("v5e:4x4", &vec![1; 100_000]).devices(), 1);
    assert!(Placement::row_major(&slice("v5e:2x3"), &[3, 2]).unwrap().is_none());
    assert_eq!(show(&new("v5e:2x3", &[3, 2]).group(&[part(0, 1, 3)])), "3");
}

#[test]
fn chiplets_are_the_minor_dimension() {
    let placement = row_major("v7x:4x4x4", &[16, 8]);
    check_group(&placement, &[part(1, 1, 8)], "o4+2");
    check_group(&placement, &[part(1, 4, 2)], "+2");
    check_group(&placement, &[part(0, 1, 16)], "o4 o4");
    let bandwidth = |placement: &Placement| placement.group(&[part(0, 1, 4)]).lines()[0].link_bandwidth;
    assert_eq!(bandwidth(&placement), 45e9);
    // In a mesh of as many devices as chips, each device has a chip and its links alone.
    assert_eq!(bandwidth(&row_major("v7x:4x4x4", &[16, 4])), 90e9);
}

#[test]
fn slices_are_the_major_dimension() {
    let placement = new("2xv5e:16x16", &[2, 16, 16]);
    check_group(&placement, &[part(0, 1, 2)], "*2");
    check_group(&placement, &[part(1, 1, 16)], "o16");
    check_group(&placement, &[part(0, 1, 2), part(2, 1, 16)], "o16*2");
    assert_eq!(placement.device_order(), (0..512).collect::<Vec<u64>>());
    // An axis over slices and a dimension of theirs: its major part is the slices.
    let placement = new("2xv5e:16x16", &[32, 16]);
    check_group(&placement, &[part(0, 1, 32)], "o16*2");
    check_group(&placement, &[part(0, 1, 2)], "*2");
    check_group(&placement, &[part(0, 2, 16)], "o16");
    assert_eq!(placement.coordinates(256), Some([1, 0, 0, 0, 0]));
    let network = *placement.group(&[part(0, 1, 2)]).switches().next().unwrap();
    assert_eq!((network.bandwidth, network.latency), (3.125e9, 10e-6));
    // A mesh of one slice's size leaves the other slice unused; chiplets share their chip's network bandwidth.
    check_group(&new("2xv5p:4x4x4", &[8, 8]), &[part(0, 1, 8), part(1, 1, 8)], "o4 o4 o4");
    let shared = new("2xv7x:4x4x4", &[2, 128]).group(&[part(0, 1, 2)]);
    assert_eq!(shared.switches().map(|s| s.bandwidth).collect::<Vec<_>>(), [6.25e9]);
    let error = Placement::new(&slice("2xv5e:4x4"), &[64]).unwrap_err();
    assert_eq!(error.to_string(), "2xv5e:4x4 with 32 devices is too small for the mesh 64");
}

#[test]
fn islands_are_behind_switches() {
    let placement = new("4xh100:8", &[4, 8]);
    check_group(&placement, &[part(0, 1, 4)], "*4");
    check_group(&placement, &[part(1, 1, 8)], "*8");
    check_group(&placement, &[part(1, 2, 2)], "*2");
    check_group(&placement, &[part(0, 1, 4), part(1, 1, 8)], "*8*4");
    let bandwidths = |group: Group| group.switches().map(|s| s.bandwidth).collect::<Vec<_>>();
    assert_eq!(bandwidths(placement.group(&[part(0, 1, 4), part(1, 1, 8)])), [450e9, 50e9]);
    // Devices that fill no box are priced as if the whole box took part.
    assert_eq!(show(&placement.group_of_devices(&[0, 9])), "*2*2");
    assert_eq!(bandwidths(placement.group_of_devices(&[0, 9])), [225e9, 25e9]);
    // The busier axis gets the island.
    let busy = Placement::best_for_bytes(&slice("4xh100:8"), &[4, 4, 2], &[1.0, 1e9, 1.0]).unwrap();
    check_group(&busy, &[part(1, 1, 4)], "*4");
    assert_eq!(bandwidths(busy.group(&[part(1, 1, 4)])), [450e9]);
}

#[test]
fn groups_of_device_lists() {
    let placement = row_major("v5e:4x16", &[4, 2, 4, 2]);
    let check = |devices: &[u64], expected: &str| {
        assert_eq!(show(&placement.group_of_devices(devices)), expected, "{devices:?}")
    };
    check(&[0, 16, 32, 48], "4");
    check(&[0, 2, 4, 6], "4/2");
    check(&[17, 25], "o2/8");
    check(&[0, 1, 8, 9], "o4/4");
    check(&[9, 0, 8, 1], "o4/4");
    check(&[0, 1, 2, 4, 5, 6], "6/2");
    check(&[0, 1, 5], "3/3");
    check(&[0, 2, 3], "3/2");
    check(&(0..16).collect::<Vec<_>>(), "o16");
    check(&(0..64).collect::<Vec<_>>(), "4 o16");
    check(&[5], "");
    check(&[], "");
    check(&[0, 1, u64::MAX], "2");
    // A diagonal is no box, so the links of its bounding box are shared.
    check(&[0, 17], "2/2 2/2");
}

#[test]
fn device_orders_are_permutations() {
    for (target, axis_sizes) in [
        ("v5p:4x8x8", &[2, 16, 8][..]),
        ("v5e:16x16", &[2, 2, 64]),
        ("v7x:4x4x8", &[32, 8]),
        ("v5p:2x3x5", &[30]),
        ("2xv7x:4x4x4", &[4, 64]),
        ("6xh100:8", &[4, 12]),
    ] {
        let placement = new(target, axis_sizes);
        let mut order = placement.device_order();
        order.sort_unstable();
        assert_eq!(order, (0..placement.devices()).collect::<Vec<u64>>(), "{target}");
    }
}

/// The orders that `jax.experimental.mesh_utils.create_device_mesh` returns, of devices that are numbered along x
/// first.
#[test]
fn devices_are_ordered_as_in_jax() {
    let check = |target: &str, axis_sizes: &[u64], expected: &[u64]| {
        assert_eq!(new(target, axis_sizes).device_order(), expected, "{target} {axis_sizes:?}")
    };
    for mesh in [&[8][..], &[2, 4], &[4, 2], &[2, 2, 2]] {
        check("v5e:2x4", mesh, &[0, 1, 2, 3, 7, 6, 5, 4]);
        check("v5p:2x2x2", mesh, &[0, 1, 3, 2, 6, 7, 5, 4]);
        check("v7x:2x2x1", mesh, &[0, 1, 2, 3, 6, 7, 4, 5]);
    }
    check("v5e:2x2", &[2, 2], &[0, 1, 3, 2]);
    check("v5e:4x4", &[1, 16], &[0, 1, 2, 3, 7, 6, 5, 9, 10, 11, 15, 14, 13, 12, 8, 4]);
    check("v5e:4x4", &[4, 4], &(0..16).collect::<Vec<_>>());
    // Dimensions are divided.
    check("v5e:4x4", &[2, 8], &[0, 4, 1, 5, 2, 6, 3, 7, 8, 12, 9, 13, 10, 14, 11, 15]);
    check("v6e:4x4", &[8, 2], &[0, 1, 4, 5, 8, 9, 12, 13, 2, 3, 6, 7, 10, 11, 14, 15]);
    // The last axis takes the first dimension, the other axis the others; then the other way around.
    let order = new("v5p:4x4x4", &[16, 4]).device_order();
    assert_eq!(order[..6], [0, 1, 2, 3, 16, 17]);
    let order = new("v5p:4x4x4", &[4, 16]).device_order();
    assert_eq!((&order[..6], order[16]), (&[0, 4, 8, 12, 1, 5][..], 16));
    // Inside of each slice.
    check("2xv5e:2x4", &[2, 8], &[0, 1, 2, 3, 7, 6, 5, 4, 8, 9, 10, 11, 15, 14, 13, 12]);
    check("2xv5e:2x4", &[16], &[0, 1, 2, 3, 7, 6, 5, 4, 8, 9, 10, 11, 15, 14, 13, 12]);
}

#[test]
fn groups_of_listed_devices() {
    let placement = new("v5e:2x4", &[2, 4]);
    check_group(&placement, &[part(0, 1, 2), part(1, 1, 4)], "2 4");
    check_group(&placement, &[part(1, 1, 4)], "2 2");
    check_group(&placement, &[part(1, 1, 2)], "2");
    check_group(&placement, &[part(1, 2, 2)], "2");
    check_group(&placement, &[], "");
    // Two of the four pairs meet on the links in the middle; the pair of (0, 0) and (1, 3) is 4 links apart.
    let pairs = placement.group(&[part(0, 1, 2)]);
    assert_eq!(show(&pairs), "2/2");
    let line = pairs.lines()[0];
    assert_eq!((line.gather_bandwidth(), line.latency()), (line.link_bandwidth, 4.0 * placement.dims[1].latency));
    // The last two of the 8 devices of each slice, and both slices.
    let slices = new("2xv5e:2x4", &[2, 8]);
    check_group(&slices, &[part(0, 1, 2), part(1, 4, 2)], "2*2");
    check_group(&slices, &[part(0, 1, 2)], "*2");
    check_group(&slices, &[part(1, 1, 2)], "2/2");
    // The ring of 4x4 chips: its devices next to each other are neighbors.
    let ring = new("v5e:4x4", &[16]);
    check_group(&ring, &[part(0, 1, 16)], "4 4");
    assert_eq!(ring.route(&(0..16).map(|d| (d, (d + 1) % 16)).collect::<Vec<_>>()).link_messages, 1);
}

/// The lines of a group must match the coordinates of its devices.
#[test]
fn groups_agree_with_coordinates() {
    for (target, axis_sizes) in [
        ("v5p:4x8x8", &[2, 16, 8][..]),
        ("v5e:16x16", &[2, 2, 64]),
        ("v5p:2x3x5", &[5, 6]),
        ("v7x:4x4x4", &[4, 32]),
        ("4xv5e:4x4", &[8, 8]),
        ("6xh100:8", &[16, 3]),
    ] {
        let placement = new(target, axis_sizes);
        for (axis, &size) in axis_sizes.iter().enumerate() {
            let minor: u64 = axis_sizes[axis + 1..].iter().product();
            let devices: Vec<u64> = (0..size).map(|at| at * minor).collect();
            let by_axis = placement.group(&[AxisPart::whole(axis as u32, size as u32)]);
            let by_devices = placement.group_of_devices(&devices);
            let participants = |group: &Group| group.lines().iter().map(|line| line.participants).collect::<Vec<_>>();
            assert_eq!(by_axis.size(), by_devices.size());
            assert_eq!(participants(&by_axis), participants(&by_devices), "{target} {axis}");
            assert_eq!(by_axis.chiplets().is_some(), by_devices.chiplets().is_some());
            assert!(by_axis.switches().eq(by_devices.switches()), "{target} {axis}");
        }
    }
}

#[test]
fn the_busy_axis_gets_the_links() {
    // The axis of 16 may get the ring of 16 or a 4x4 corner of lines; the busy axis gets the ring.
    let busy = |bytes: &[f64]| Placement::best_for_bytes(&slice("v5e:16x16"), &[16, 4, 4], bytes).unwrap();
    check_group(&busy(&[1e9, 1.0, 1.0]), &[part(0, 1, 16)], "o16");
    // Two busy axes of 4 on a ring of 16: one gets a contiguous segment.
    check_group(&busy(&[1.0, 1.0, 1e9]), &[part(2, 1, 4)], "2 2");
    let seconds = |placement: &Placement, bytes: &[f64]| -> f64 {
        [16u32, 4, 4]
            .iter()
            .zip(bytes)
            .enumerate()
            .map(|(axis, (&n, &b))| gather_floor_seconds(b, &placement.group(&[part(axis as u32, 1, n)])))
            .sum()
    };
    for bytes in [[1e9, 1e9, 1e9], [1e6, 5e9, 1e9], [5e9, 0.0, 7e8]] {
        assert!(seconds(&busy(&bytes), &bytes) <= seconds(&row_major("v5e:16x16", &[16, 4, 4]), &bytes));
        assert!(seconds(&busy(&bytes), &bytes) <= seconds(&new("v5e:16x16", &[16, 4, 4]), &bytes));
    }
}

#[test]
fn the_search_is_bounded() {
    let mut tried = 0;
    let placement = Placement::best(&slice("v5p:16x16x16"), &[2; 12], |_| {
        tried += 1;
        1.0
    });
    assert_eq!(placement.unwrap().devices(), 4096);
    assert_eq!(tried, 50_000);
}

#[test]
fn routes() {
    let ring = row_major("v5e:4x16", &[4, 16]);
    let shift = |by: u64| (0..64).map(|d| (d, d / 16 * 16 + (d + by) % 16)).collect::<Vec<_>>();
    let check = |placement: &Placement, pairs: &[(u64, u64)], messages, hops| {
        let route = placement.route(pairs);
        assert_eq!((route.link_messages, route.chiplet_messages, route.hops), (messages, 0, hops));
    };
    check(&ring, &shift(1), 1, 1);
    check(&ring, &shift(3), 3, 3);
    check(&ring, &shift(15), 1, 1);
    check(&ring, &shift(0), 0, 0);
    // The same shift by one along a line of 4: the last device sends back over all links.
    let line_shift: Vec<(u64, u64)> = (0..64).map(|d| (d, (d + 16) % 64)).collect();
    check(&ring, &line_shift, 1, 3);
    // A reversal of the line crosses its middle with half of the devices.
    check(&ring, &(0..64).map(|d| (d, (3 - d / 16) * 16 + d % 16)).collect::<Vec<_>>(), 2, 3);
    check(&ring, &[(0, 64), (64, 0)], 0, 0);
    // Both chiplets of a chip send over its links; within the chip over the path between them.
    let chiplets = row_major("v7x:4x4x4", &[64, 2]);
    let around = chiplets.route(&(0..128).map(|d| (d, d / 8 * 8 + (d + 2) % 8)).collect::<Vec<_>>());
    assert_eq!((around.link_messages, around.chiplet_messages, around.hops), (2, 0, 1));
    assert_eq!((around.link_bandwidth, around.chiplet_bandwidth), (90e9, 540e9));
    let within = chiplets.route(&(0..128).map(|d| (d, d ^ 1)).collect::<Vec<_>>());
    assert_eq!((within.link_messages, within.chiplet_messages, within.hops), (0, 1, 1));
    // To the same position of the other slice; messages inside use links as usual.
    let slices = row_major("2xv5e:4x4", &[2, 16]);
    let across = slices.route(&(0..32).map(|d| (d, (d + 16) % 32)).collect::<Vec<_>>());
    assert_eq!((across.link_messages, across.network_messages, across.hops), (0, 1, 0));
    assert_eq!((across.network_bandwidth, across.network_latency), (3.125e9, 10e-6));
    let all_to_one = slices.route(&(16..32).map(|d| (d, 0)).chain([(1, 2)]).collect::<Vec<_>>());
    assert_eq!((all_to_one.link_messages, all_to_one.network_messages, all_to_one.hops), (1, 16, 1));
    let island = row_major("2xh100:8", &[16]);
    let around = island.route(&(0..16).map(|d| (d, (d + 1) % 16)).collect::<Vec<_>>());
    assert_eq!((around.link_messages, around.network_messages, around.hops), (1, 1, 1));
    assert_eq!((around.link_bandwidth, around.hop_latency, around.network_bandwidth), (450e9, 0.6e-6, 50e9));
}
