//! The seconds of a collective, from the bytes each device holds before and after, and the placement of its group.
//!
//! Flat model: start-up plus the bytes a ring moves per device. On a slice: the hop-quantized torus rule. Along one
//! line an all-gather of `V` bytes takes `steps * max(hop, V / (participants * link))`; along several at once the
//! latencies add and the bandwidths add, as if the array were split and each part went around the dimensions in a
//! different order (jax-ml/scaling-book, sharding.md:305-345). For boxes of lines the sum is optimistic, by up to a
//! half: see [`gather_floor_seconds`]. Additions inside reductions are free.
//!
//! Over several levels (chiplets of a chip, chips of a slice, slices of a network) a collective is one stage per level:
//! an all-reduce reduces and scatters inside the slices, reduces the rest over the network (each chip has a part of its
//! slice's data), and gathers inside again. The libraries that run collectives decompose them like this themselves, and
//! programs may, too (`decompose-hierarchical`). On links the stages follow one another; behind switches alone, where
//! the libraries forward data in pieces, they overlap.

pub use dialect::op::CollectiveKind;

use super::group::{Group, Level, Line, Switch};
use super::target::Flat;

/// The demand of one collective on any network.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CollectiveLoad {
    /// Its kind.
    pub kind: CollectiveKind,
    /// Bytes a device holds before.
    pub operand: f64,
    /// Bytes a device holds after.
    pub result: f64,
    /// The number of devices of a group; ignored for a permute.
    pub devices: u64,
}

impl CollectiveLoad {
    /// Creates a load; `operand` and `result` are bytes per device, before and after.
    pub fn new(kind: CollectiveKind, operand: f64, result: f64, devices: u64) -> Self {
        Self { kind, operand, result, devices }
    }

    /// Returns the bytes of the array that goes around the group: for a gather or a reduction the full array, for an
    /// exchange or a send each device's own operand.
    pub fn bytes(&self) -> f64 {
        match self.kind {
            CollectiveKind::AllGather => self.result,
            CollectiveKind::ReduceScatter
            | CollectiveKind::AllReduce
            | CollectiveKind::AllToAll
            | CollectiveKind::CollectivePermute
            | CollectiveKind::CollectiveBroadcast
            | CollectiveKind::CollectiveReduce
            // The number of rows for each device is known at run time; this assumes all rows.
            | CollectiveKind::RaggedAllToAll => self.operand,
        }
    }

    /// Returns how often the array goes around: an all_reduce is a reduce-scatter, then a gather.
    pub fn rounds(&self) -> f64 {
        if self.kind == CollectiveKind::AllReduce { 2.0 } else { 1.0 }
    }

    /// Bytes that each device moves on a ring.
    pub fn moved_bytes(&self) -> f64 {
        let bytes = self.rounds() * self.bytes();
        match self.kind {
            CollectiveKind::CollectivePermute
            | CollectiveKind::CollectiveBroadcast
            | CollectiveKind::CollectiveReduce => bytes,
            _ if self.devices == 0 => bytes,
            _ => bytes * ((self.devices - 1) as f64 / self.devices as f64),
        }
    }
}

impl Flat {
    /// Returns the seconds of a collective without topology. A group of one device takes no time, but a permute is
    /// always priced, since its pairs are unknown.
    pub fn collective_seconds(&self, load: &CollectiveLoad) -> f64 {
        if load.devices <= 1 && load.kind != CollectiveKind::CollectivePermute {
            return 0.0;
        }
        // The reciprocal is taken first, so that sums agree to the last digit with calculations that use seconds per
        // byte.
        self.latency + load.moved_bytes() * (1.0 / self.bandwidth)
    }
}

/// Returns the seconds of a collective on slices or islands at their nominal rates.
///
/// A permute is priced without knowing its pairs; see [`any_permute_seconds`].
pub fn torus_seconds(load: &CollectiveLoad, group: &Group) -> f64 {
    let bytes = load.bytes();
    match load.kind {
        CollectiveKind::AllGather | CollectiveKind::ReduceScatter | CollectiveKind::AllReduce => {
            load.rounds() * gather_seconds(bytes, group)
        }
        CollectiveKind::AllToAll | CollectiveKind::RaggedAllToAll => {
            exchange_seconds(bytes * group.size() as f64, group)
        }
        CollectiveKind::CollectivePermute => any_permute_seconds(bytes, group),
        // A reduction to one device is a reversed broadcast.
        CollectiveKind::CollectiveBroadcast | CollectiveKind::CollectiveReduce => broadcast_seconds(bytes, group),
    }
}

/// Returns the seconds to gather an array of `bytes` (or, in reverse, to reduce and scatter it).
///
/// The outermost level gathers first: each device of a level inside gathers its part of the array.
pub fn gather_seconds(bytes: f64, group: &Group) -> f64 {
    through_levels(group, |level, inside| match level {
        Level::Links(lines) => {
            let bandwidth: f64 = lines.iter().map(Line::gather_bandwidth).sum();
            latency(lines).max(bytes / inside / bandwidth)
        }
        Level::Switch(switch) => gather_by_switch(bytes / inside, switch),
    })
}

/// Returns the seconds in which every participant sends its part to every other.
pub(super) fn gather_by_switch(bytes: f64, switch: &Switch) -> f64 {
    switch.latency + bytes * (1.0 - 1.0 / switch.participants as f64) / switch.bandwidth
}

/// Returns the seconds of stages on all levels of a group; `seconds` takes the number of devices of the levels inside.
pub(super) fn through_levels(group: &Group, seconds: impl Fn(Level<'_>, f64) -> f64) -> f64 {
    let at_once = group.lines().is_empty() && group.chiplets().is_none();
    let (mut all, mut inside) = (0.0, 1.0);
    for level in group.levels() {
        let stage = seconds(level, inside);
        all = if at_once { stage.max(all) } else { all + stage };
        inside *= level.participants();
    }
    all
}

/// Returns a lower bound on the seconds of any gather of `bytes`: the missing bytes must enter the chip in the corner
/// of the group over its links.
///
/// Unlike [`gather_seconds`] it compares lines and boxes fairly, as needed to choose a placement.
pub fn gather_floor_seconds(bytes: f64, group: &Group) -> f64 {
    through_levels(group, |level, inside| match level {
        Level::Links(lines) => latency(lines).max(gather_over_links(bytes / inside, lines)),
        Level::Switch(switch) => gather_by_switch(bytes / inside, switch),
    })
}

/// Returns the seconds in which the missing bytes enter the chip in the corner of a box of lines over its links.
pub(super) fn gather_over_links(bytes: f64, lines: &[Line]) -> f64 {
    let participants: f64 = lines.iter().map(|line| line.participants as f64).product();
    let bandwidth: f64 = lines.iter().map(Line::entry_bandwidth).sum();
    bytes * (1.0 - 1.0 / participants) / bandwidth
}

/// Returns the seconds of an all-to-all of an array of `group_bytes` over the whole group.
///
/// Over several levels, devices first exchange with those in the same position of other slices, then inside. A quarter
/// of the array crosses the middle of each dimension each way; a ring has two links there, a line one. The slowest
/// dimension decides. Exact for odd sizes, too: `floor(n^2/4)` of the `n^2` pairs cross it.
pub fn exchange_seconds(group_bytes: f64, group: &Group) -> f64 {
    let devices: f64 = group.levels().map(|level| level.participants()).product();
    through_levels(group, |level, _| {
        // The bytes that the participants of one group of this level exchange; the devices of other levels form
        // separate groups.
        let participants = level.participants();
        let bytes = group_bytes / (devices / participants);
        match level {
            Level::Links(lines) => latency(lines).max(exchange_on_lines(bytes, lines)),
            Level::Switch(switch) => gather_by_switch(bytes / participants, switch),
        }
    })
}

/// Returns the bandwidth part of an all-to-all.
fn exchange_on_lines(group_bytes: f64, lines: &[Line]) -> f64 {
    let devices: f64 = lines.iter().map(|line| line.participants as f64).product();
    let seconds = lines.iter().map(|line| {
        let size = line.participants as f64;
        let cut = (size * size / 4.0).floor() / (size * size);
        let links_cut = if line.ring { 2.0 } else { 1.0 };
        // Only `size` of all the devices are on one line; the other lines have separate cuts.
        group_bytes * cut * (size / devices) * line.stride as f64 / (links_cut * line.link_bandwidth)
    });
    seconds.fold(0.0, f64::max)
}

/// Returns the seconds of a permute within the group, for unknown pairs: at least one operand over one link, and at
/// least the time of an all-to-all of all operands across the middle, plus the latency through the group.
/// [`route_seconds`] prices exact pairs.
pub fn any_permute_seconds(bytes: f64, group: &Group) -> f64 {
    let all = || group.lines().iter().chain(group.chiplets());
    let devices: f64 = group.lines().iter().map(|line| line.participants as f64).product();
    let one_link = all().map(|line| bytes * line.stride as f64 / line.link_bandwidth).fold(0.0, f64::max);
    let way: f64 = all().map(Line::latency).sum();
    // A message goes through one switch, the outermost on its way.
    let switched = group.switches().map(|switch| switch.latency + bytes / switch.bandwidth).fold(0.0, f64::max);
    switched.max(way + one_link.max(exchange_on_lines(bytes * devices, group.lines())))
}

/// Returns the seconds for every device of the group to send `bytes` to the device `distance` further on, cyclically,
/// as in halo exchanges and windowed matmuls. On a line the wrapped messages travel back on the links' other direction.
/// Over several lines the pairs depend on the order of the dimensions, so the general bound is used.
pub fn shift_seconds(bytes: f64, distance: u64, group: &Group) -> f64 {
    if group.switches().next().is_some() {
        return any_permute_seconds(bytes, group);
    }
    let line = match (group.lines(), group.chiplets()) {
        ([line], None) => line,
        ([], Some(pair)) => pair,
        _ => return any_permute_seconds(bytes, group),
    };
    let forward = distance % line.participants;
    let back = line.participants - forward;
    if forward == 0 {
        return 0.0;
    }
    let near = forward.min(back);
    let hops = if line.ring { near } else { forward.max(back) };
    (near * line.stride) as f64 * (bytes / line.link_bandwidth) + line.hop_latency * (hops * line.stride) as f64
}

/// Returns the seconds for one device's `bytes` to reach its whole group, pipelined through the links of every
/// dimension.
pub fn broadcast_seconds(bytes: f64, group: &Group) -> f64 {
    through_levels(group, |level, _| match level {
        Level::Links(lines) => {
            let bandwidth: f64 = lines.iter().map(|line| line.link_bandwidth / line.stride as f64).sum();
            bytes / bandwidth + latency(lines)
        }
        Level::Switch(switch) => bytes / switch.bandwidth + switch.latency,
    })
}

/// The directed links that the messages of a permute use.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Links(Vec<u64>);

impl Links {
    /// Creates the set of links for which `used` is true, in order.
    pub fn of(used: impl Iterator<Item = bool>) -> Self {
        let mut words = Vec::new();
        for (i, used) in used.enumerate() {
            if i % 64 == 0 {
                words.push(0);
            }
            words[i / 64] |= u64::from(used) << (i % 64);
        }
        Self(words)
    }

    /// Returns whether both use a common link, so that one waits for the other.
    pub fn meet(&self, other: &Self) -> bool {
        self.0.iter().zip(&other.0).any(|(a, b)| a & b != 0)
    }
}

/// The load of a permute's pairs on the links of a slice; see `Placement::route`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Route {
    /// Most messages over one link between chips, in one direction.
    pub link_messages: u64,
    /// Most messages between the chiplets of one chip, in one direction.
    pub chiplet_messages: u64,
    /// Most messages that one chip sends to other slices, or receives from them.
    pub network_messages: u64,
    /// Links on the longest path.
    pub hops: u64,
    /// One-way bandwidth of a link, bytes/s.
    pub link_bandwidth: f64,
    /// One-way bandwidth between chiplets, bytes/s; unused without chiplets.
    pub chiplet_bandwidth: f64,
    /// Bytes/s that one chip may send to other slices; unused with a single slice.
    pub network_bandwidth: f64,
    /// Seconds per link crossed.
    pub hop_latency: f64,
    /// Seconds until the first byte arrives in another slice.
    pub network_latency: f64,
}

/// Returns the seconds of a permute whose pairs are known: the busiest link, plus the longest path.
pub fn route_seconds(bytes: f64, route: &Route) -> f64 {
    let share = |messages: u64, bandwidth: f64| if messages == 0 { 0.0 } else { messages as f64 * (bytes / bandwidth) };
    let busiest =
        share(route.link_messages, route.link_bandwidth).max(share(route.chiplet_messages, route.chiplet_bandwidth));
    let inside = busiest + route.hop_latency * route.hops as f64;
    // Messages to other slices overlap those inside.
    let network = if route.network_messages == 0 { 0.0 } else { route.network_latency };
    inside.max(network + share(route.network_messages, route.network_bandwidth))
}

/// Returns the seconds from one chip to another `hops` links away, with the bytes split over `ports` links of each chip
/// (tpus.md:254-261: here latency adds).
pub fn point_to_point_seconds(bytes: f64, ports: u64, hops: u64, link_bandwidth: f64, hop_latency: f64) -> f64 {
    bytes / (ports.max(1) as f64 * link_bandwidth) + hop_latency * hops as f64
}

fn latency(lines: &[Line]) -> f64 {
    lines.iter().map(Line::latency).sum()
}

#[cfg(test)]
mod tests;
