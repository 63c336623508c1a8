//! Collectives calculated by hand: the flat model to the last digit, and the load of links on small rings, lines and
//! boxes.

use super::CollectiveKind::{AllGather, AllReduce, AllToAll, CollectiveBroadcast, CollectivePermute, ReduceScatter};
use super::*;

const H: f64 = 1e-3;

/// Returns a line of `participants` with links of 1 byte/s.
fn line(participants: u64, ring: bool, stride: u64) -> Line {
    Line { participants, ring, stride, link_bandwidth: 1.0, hop_latency: H }
}

fn load(kind: CollectiveKind, operand: u64, result: u64, devices: u64) -> CollectiveLoad {
    CollectiveLoad::new(kind, operand as f64, result as f64, devices)
}

fn seconds(kind: CollectiveKind, operand: u64, result: u64, lines: &[Line]) -> f64 {
    torus_seconds(&load(kind, operand, result, 0), &Group::of_lines(lines))
}

fn check(actual: f64, expected: f64) {
    assert!((actual - expected).abs() <= 1e-12 * expected.abs(), "{actual} is not {expected}");
}

#[test]
fn flat_is_the_public_judge() {
    // (kind, operand bytes, result bytes, group, seconds): alpha = 1e-6, beta = 1/90e9, computed in Python.
    let cases = [
        (AllGather, 583, 1166, 2, 1.0064777777777778e-06),
        (AllGather, 262, 786, 3, 1.0058222222222222e-06),
        (AllGather, 508, 4064, 8, 1.0395111111111112e-06),
        (AllGather, 7922961, 55460727, 7, 0.0005291974),
        (AllGather, 14515336855, 3715926234880, 256, 41.12678875583333),
        (ReduceScatter, 194, 97, 2, 1.0010777777777778e-06),
        (ReduceScatter, 1426776, 475592, 3, 1.1568711111111112e-05),
        (ReduceScatter, 58085016, 7260627, 8, 0.0005657154333333334),
        (ReduceScatter, 113112089258, 16158869894, 7, 1.0772589929333332),
        (ReduceScatter, 182528, 713, 256, 3.020166666666667e-06),
        (AllReduce, 4468286, 4468286, 2, 5.064762222222222e-05),
        (AllReduce, 3443818038, 3443818038, 3, 0.05102052648888889),
        (AllReduce, 4059906723, 4059906723, 8, 0.078943630725),
        (AllReduce, 513215, 513215, 7, 1.077552380952381e-05),
        (AllReduce, 27, 27, 256, 1.00059765625e-06),
        (AllToAll, 2325348895, 2325348895, 2, 0.01291960497222222),
        (AllToAll, 11517288, 11517288, 3, 8.631324444444443e-05),
        (AllToAll, 993, 993, 8, 1.0096541666666666e-06),
        (AllToAll, 12177786, 12177786, 7, 0.00011697891428571428),
        (AllToAll, 541, 541, 256, 1.0059876302083333e-06),
        (CollectivePermute, 783, 783, 2, 1.0087e-06),
        (CollectivePermute, 15756608, 15756608, 2, 0.00017607342222222223),
        (CollectivePermute, 9275445, 9275445, 2, 0.0001040605),
        (CollectivePermute, 354, 354, 2, 1.0039333333333332e-06),
        (CollectivePermute, 694, 694, 2, 1.007711111111111e-06),
        (CollectiveBroadcast, 780, 780, 2, 1.0086666666666666e-06),
        (CollectiveBroadcast, 15976011, 15976011, 3, 0.00017851123333333333),
        (CollectiveBroadcast, 15544202, 15544202, 8, 0.00017371335555555555),
        (CollectiveBroadcast, 427, 427, 7, 1.0047444444444445e-06),
        (CollectiveBroadcast, 12550704309, 12550704309, 256, 0.1394532701),
    ];
    for (kind, operand, result, group, expected) in cases {
        let load = load(kind, operand, result, group);
        assert_eq!(Flat::default().collective_seconds(&load), expected, "{kind:?} over {group}");
    }
    assert_eq!(Flat::default().collective_seconds(&load(AllReduce, 8, 8, 1)), 0.0);
    assert_eq!(Flat::default().collective_seconds(&load(AllGather, 8, 8, 0)), 0.0);
    assert_eq!(load(AllGather, 8, 64, 8).moved_bytes(), 56.0);
    assert_eq!(load(AllReduce, 64, 64, 8).moved_bytes(), 112.0);
}

#[test]
fn gathers() {
    check(seconds(AllGather, 16, 64, &[line(4, true, 1)]), 32.0);
    check(seconds(AllGather, 16, 64, &[line(4, false, 1)]), 48.0);
    check(seconds(AllGather, 16, 80, &[line(5, true, 1)]), 32.0);
    check(seconds(ReduceScatter, 64, 16, &[line(4, false, 1)]), 48.0);
    check(seconds(AllReduce, 64, 64, &[line(4, false, 1)]), 96.0);
    // Two rings: twice the bandwidth. A strided ring shares its links with the groups in between.
    check(seconds(AllGather, 4, 64, &[line(4, true, 1), line(4, true, 1)]), 16.0);
    check(seconds(AllGather, 16, 64, &[line(4, true, 2)]), 64.0);
    // A ring of 4 and a line of 3 have bandwidths 2 and 1.5.
    check(seconds(AllGather, 4, 56, &[line(4, true, 1), line(3, false, 1)]), 16.0);
    // Latency decides: 2 hops on the ring, 2 on the line.
    check(seconds(AllGather, 0, 0, &[line(4, true, 1), line(3, false, 1)]), 4.0 * H);
    check(seconds(AllReduce, 0, 0, &[line(16, false, 2)]), 60.0 * H);
    check(seconds(AllGather, 64, 64, &[]), 0.0);
}

#[test]
fn the_floor_of_a_gather() {
    let floor = |lines: &[Line]| gather_floor_seconds(64.0, &Group::of_lines(lines));
    // On one line the floor is the gather itself; a ring could save the last half step.
    check(floor(&[line(4, false, 1)]), seconds(AllGather, 16, 64, &[line(4, false, 1)]));
    check(floor(&[line(4, true, 1)]), 24.0);
    check(floor(&[line(4, true, 2)]), 48.0);
    // Three of four shards enter the corner chip over two links; at the sum of bandwidths they would take 16 s.
    check(floor(&[line(2, false, 1), line(2, false, 1)]), 24.0);
    check(gather_floor_seconds(0.0, &Group::of_lines(&[line(4, false, 1)])), 3.0 * H);
}

#[test]
fn exchanges() {
    // A quarter of the array crosses the middle each way.
    check(seconds(AllToAll, 16, 16, &[line(4, false, 1)]), 16.0);
    check(seconds(AllToAll, 16, 16, &[line(4, true, 1)]), 8.0);
    check(seconds(AllToAll, 16, 16, &[line(2, false, 1)]), 8.0);
    // On a ring of 3 each device sends a third to either side.
    check(seconds(AllToAll, 18, 18, &[line(3, true, 1)]), 6.0);
    // On a line of 3 the end devices send both their thirds over the same link.
    check(seconds(AllToAll, 18, 18, &[line(3, false, 1)]), 12.0);
    // The longer dimension decides; it has as many cuts as the shorter one is long.
    check(seconds(AllToAll, 16, 16, &[line(4, true, 1), line(8, true, 1)]), 16.0);
    check(seconds(AllToAll, 0, 0, &[line(4, true, 1), line(8, true, 1)]), 6.0 * H);
    // Two devices, every second chip of a ring of 4: half of everything passes each link.
    check(seconds(AllToAll, 16, 16, &[line(2, true, 2)]), 8.0);
}

#[test]
fn shifts() {
    let shift = |distance, line| shift_seconds(10.0, distance, &Group::of_lines(&[line]));
    check(shift(1, line(8, true, 1)), 10.0 + H);
    check(shift(3, line(8, true, 1)), 30.0 + 3.0 * H);
    check(shift(7, line(8, true, 1)), 10.0 + H);
    check(shift(1, line(8, false, 1)), 10.0 + 7.0 * H);
    check(shift(3, line(8, false, 2)), 60.0 + 10.0 * H);
    check(shift(8, line(8, false, 1)), 0.0);
    // On a box the order of the dimensions is not known: one link and the longest path are assumed.
    check(shift_seconds(10.0, 1, &Group::of_lines(&[line(4, true, 1), line(4, true, 1)])), 10.0 + 4.0 * H);
}

#[test]
fn permutes_and_broadcasts() {
    check(seconds(CollectivePermute, 10, 10, &[line(2, false, 1)]), 10.0 + H);
    // Any permutation of a line of 16 may send half of everything to the other half.
    check(seconds(CollectivePermute, 10, 10, &[line(16, false, 1)]), 40.0 + 15.0 * H);
    check(seconds(CollectiveBroadcast, 10, 10, &[line(4, false, 1)]), 10.0 + 3.0 * H);
    check(seconds(CollectiveBroadcast, 10, 10, &[line(4, true, 1), line(4, true, 1)]), 5.0 + 4.0 * H);
    let route = Route {
        link_messages: 3,
        chiplet_messages: 1,
        network_messages: 0,
        hops: 5,
        link_bandwidth: 1.0,
        chiplet_bandwidth: 0.25,
        network_bandwidth: 0.125,
        hop_latency: H,
        network_latency: 2.0,
    };
    check(route_seconds(10.0, &route), 40.0 + 5.0 * H);
    check(route_seconds(10.0, &Route { chiplet_messages: 0, chiplet_bandwidth: 0.0, ..route }), 30.0 + 5.0 * H);
    check(route_seconds(10.0, &Route { network_messages: 2, ..route }), 2.0 + 160.0);
    check(point_to_point_seconds(10.0, 2, 3, 1.0, H), 5.0 + 3.0 * H);
}

#[test]
fn chiplets_talk_after_chips() {
    let pair = Line { link_bandwidth: 4.0, ..line(2, false, 1) };
    let mut group = Group::of_size(8);
    group.push(line(4, true, 1));
    group.set_chiplets(pair);
    // Half of the 64 bytes between the chips at 2 bytes/s, then all of them within the chips at 8.
    check(torus_seconds(&load(AllGather, 8, 64, 2), &group), 16.0 + 8.0);
    check(gather_floor_seconds(64.0, &group), 12.0 + 8.0);
    // Each die's half of the array over the ring; a chip's 32 bytes, a quarter of them each way, between its dies.
    check(torus_seconds(&load(AllToAll, 16, 16, 2), &group), 8.0 + 2.0);
    let mut alone = Group::of_size(2);
    alone.set_chiplets(pair);
    check(torus_seconds(&load(AllGather, 8, 16, 2), &alone), 2.0);
    check(shift_seconds(8.0, 1, &alone), 2.0 + H);
}

/// Returns slices that send 1 byte/s per device to each other.
fn network(participants: u64) -> Switch {
    Switch { participants, bandwidth: 1.0, latency: H }
}

#[test]
fn slices_reduce_inside_first() {
    let group = Group::of_lines(&[Line { link_bandwidth: 8.0, ..line(4, true, 1) }]).across(network(2));
    assert_eq!(group.size(), 8);
    // 64 bytes in the slice at 16 bytes/s; its part for each of four devices, 16, of which half comes from the other
    // slice.
    check(torus_seconds(&load(AllGather, 8, 64, 8), &group), 4.0 + (H + 8.0));
    check(torus_seconds(&load(AllReduce, 64, 64, 8), &group), 2.0 * (4.0 + H + 8.0));
    check(gather_floor_seconds(64.0, &group), 3.0 + H + 8.0);
    // Half of a device's 16 bytes go to the other slice; then all 16 bytes of each go to their destinations, a quarter
    // of the ring's 64 over each of its two cuts.
    check(torus_seconds(&load(AllToAll, 16, 16, 8), &group), (H + 8.0) + 64.0 / 4.0 / 16.0);
    check(torus_seconds(&load(CollectivePermute, 16, 16, 2), &group), 16.0 + H);
    check(shift_seconds(16.0, 1, &group), 16.0 + H);
    check(torus_seconds(&load(CollectiveBroadcast, 16, 16, 8), &group), 16.0 + H + (16.0 / 8.0 + 2.0 * H));
    // The same devices are faster in one slice, and slower in slices of two.
    let one = Group::of_lines(&[Line { link_bandwidth: 8.0, ..line(8, true, 1) }]);
    let narrow = Group::of_lines(&[Line { link_bandwidth: 8.0, ..line(2, false, 1) }]).across(network(4));
    let reduce = |group: &Group| torus_seconds(&load(AllReduce, 64, 64, 8), group);
    assert!(reduce(&one) < reduce(&group) && reduce(&group) < reduce(&narrow));
    // One slice needs no network.
    assert_eq!(group.across(network(1)), group);
}

#[test]
fn islands_send_on_in_pieces() {
    let island = Switch { participants: 8, bandwidth: 8.0, latency: H };
    let alone = Group::of_switch(island);
    check(torus_seconds(&load(AllGather, 8, 64, 8), &alone), H + 7.0);
    check(torus_seconds(&load(AllToAll, 8, 8, 8), &alone), H + 7.0 / 8.0);
    check(shift_seconds(8.0, 1, &alone), H + 1.0);
    // All 64 bytes within the island, and at the same time half of a device's 8 from the other island.
    let two = alone.across(network(2));
    check(torus_seconds(&load(AllGather, 4, 64, 16), &two), H + 7.0);
    // A slow network decides.
    let four = alone.across(Switch { bandwidth: 0.1, ..network(4) });
    check(torus_seconds(&load(AllReduce, 64, 64, 32), &four), 2.0 * (H + 60.0));
}
