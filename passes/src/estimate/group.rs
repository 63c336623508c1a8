//! The placement of the devices of one collective: a group is a product of levels. Inside a slice these are lines, one
//! per physical dimension that the group extends over, or a switch; another switch connects slices.
//!
//! All groups of a collective run at once and look alike, so the formulas of `collective` need only one group's lines
//! and the number of groups that share each link. A group is small and `Copy`: computed once per set of axes, it prices
//! any number of collectives.

use super::reached::Reached;

/// The devices of a group along one physical dimension.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Line {
    /// The number of devices, at least 2.
    pub participants: u64,
    /// Whether the last device is linked to the first.
    pub ring: bool,
    /// Links between neighbors in the group. The groups in between use the same links, so each gets 1/`stride` of them.
    pub stride: u64,
    /// One-way bandwidth of the part of a link that one device may use, bytes/s.
    pub link_bandwidth: f64,
    /// Seconds per link crossed.
    pub hop_latency: f64,
}

impl Line {
    /// Returns the steps until every participant's data has reached every other: a ring passes data in both directions
    /// at once; on a line it has to travel from end to end.
    pub fn steps(&self) -> u64 {
        if self.ring { self.participants / 2 } else { self.participants.saturating_sub(1) }
    }

    /// Returns the seconds of latency of all steps.
    pub fn latency(&self) -> f64 {
        self.hop_latency * (self.steps() * self.stride) as f64
    }

    /// Returns the bytes/s of an all-gather at each participant, counting the full gathered array.
    pub fn gather_bandwidth(&self) -> f64 {
        self.link_bandwidth * self.participants as f64 / (self.steps() * self.stride) as f64
    }

    /// Returns the bytes/s at which data can enter the worst-placed participant along this line: over one link at the
    /// end of a line, over two in a ring.
    pub fn entry_bandwidth(&self) -> f64 {
        self.link_bandwidth * if self.ring { 2.0 } else { 1.0 } / self.stride as f64
    }

    /// Returns the gathered size in bytes below which latency decides rather than bandwidth.
    pub fn latency_bound_bytes(&self) -> f64 {
        self.participants as f64 * self.link_bandwidth * self.hop_latency
    }
}

/// Devices, or groups of them, that all reach each other at the same rate.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Switch {
    /// The number of participants, at least 2.
    pub participants: u64,
    /// The bytes/s that one device may send, and at the same time receive.
    pub bandwidth: f64,
    /// Seconds until the first byte arrives.
    pub latency: f64,
}

/// One level of a group.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Level<'a> {
    /// Neighbors are linked, along one dimension or several.
    Links(&'a [Line]),
    /// Every participant reaches every other.
    Switch(&'a Switch),
}

impl Level<'_> {
    /// Returns the number of devices that it connects, or of groups of devices of the levels inside.
    pub(super) fn participants(&self) -> f64 {
        match self {
            Level::Links(lines) => lines.iter().map(|line| line.participants as f64).product(),
            Level::Switch(switch) => switch.participants as f64,
        }
    }
}

/// The devices that take part in one collective together.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Group {
    size: u64,
    lines: [Line; 3],
    line_count: usize,
    chiplets: Option<Line>,
    island: Option<Switch>,
    network: Option<Switch>,
    reached: Option<&'static Reached>,
}

const NO_LINE: Line = Line { participants: 1, ring: false, stride: 1, link_bandwidth: 1.0, hop_latency: 0.0 };

impl Group {
    /// Creates a group of which only the size is known, as the flat model needs.
    pub fn of_size(size: u64) -> Group {
        Group { size, lines: [NO_LINE; 3], line_count: 0, chiplets: None, island: None, network: None, reached: None }
    }

    /// Creates the product of up to three lines; ignores lines of one participant, and lines beyond the third.
    pub fn of_lines(lines: &[Line]) -> Group {
        let size = lines.iter().fold(1, |size: u64, line| size.saturating_mul(line.participants));
        let mut group = Group::of_size(size);
        lines.iter().for_each(|&line| group.push(line));
        group
    }

    /// Returns the number of devices in the group.
    pub fn size(&self) -> u64 {
        self.size
    }

    /// Returns the lines between chips, one per torus dimension the group extends over.
    pub fn lines(&self) -> &[Line] {
        &self.lines[..self.line_count]
    }

    /// Returns the pair of chiplets on each chip, when both are in the group.
    pub fn chiplets(&self) -> Option<&Line> {
        self.chiplets.as_ref()
    }

    /// Returns the switch between the devices of one island.
    pub fn island(&self) -> Option<&Switch> {
        self.island.as_ref()
    }

    /// Returns the network between islands or slices.
    pub fn network(&self) -> Option<&Switch> {
        self.network.as_ref()
    }

    /// Returns what the chips reach of their nominal rates; `None` if nothing is known.
    pub fn reached(&self) -> Option<&'static Reached> {
        self.reached
    }

    /// Returns the switch between devices of one island, and the network between islands or slices.
    pub fn switches(&self) -> impl Iterator<Item = &Switch> {
        self.island.iter().chain(&self.network)
    }

    /// Returns the levels of the group, the innermost first.
    pub(super) fn levels(&self) -> impl Iterator<Item = Level<'_>> {
        let links = [self.chiplets.as_slice(), self.lines()].into_iter();
        links.filter(|lines| !lines.is_empty()).map(Level::Links).chain(self.switches().map(Level::Switch))
    }

    /// Returns whether it uses links or a switch inside of slices or islands.
    pub(super) fn is_inside(&self) -> bool {
        !self.lines().is_empty() || self.chiplets.is_some() || self.island.is_some()
    }

    /// Returns whether it uses the network between slices or islands.
    pub(super) fn is_across(&self) -> bool {
        self.network.is_some()
    }

    /// Extends the group over several slices or islands that `network` connects; does nothing for a single one.
    pub fn across(mut self, network: Switch) -> Group {
        if network.participants > 1 {
            self.size = self.size.saturating_mul(network.participants);
            self.network = Some(network);
        }
        self
    }

    /// Creates a group of devices behind one switch.
    pub fn of_switch(island: Switch) -> Group {
        Group { island: (island.participants > 1).then_some(island), ..Group::of_size(island.participants) }
    }

    /// Adds a line, unless it has a single device.
    pub(super) fn push(&mut self, line: Line) {
        if line.participants > 1 && self.line_count < self.lines.len() {
            self.lines[self.line_count] = line;
            self.line_count += 1;
        }
    }

    /// Records what the chips reach of their nominal rates.
    pub(super) fn set_reached(&mut self, reached: Option<&'static Reached>) {
        self.reached = reached;
    }

    /// Records that both chiplets of each chip are in the group.
    pub(super) fn set_chiplets(&mut self, line: Line) {
        self.chiplets = (line.participants > 1).then_some(line);
    }

    /// Sets the participants behind the switch of an island, and those behind the network.
    pub(super) fn set_switches(&mut self, island: Option<Switch>, network: Option<Switch>) {
        let several = |switch: &Switch| switch.participants > 1;
        (self.island, self.network) = (island.filter(several), network.filter(several));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_of_two_is_a_ring_of_two() {
        let line = Line { participants: 2, ring: false, stride: 1, link_bandwidth: 10.0, hop_latency: 1.0 };
        let ring = Line { ring: true, ..line };
        assert_eq!((line.steps(), line.gather_bandwidth(), line.latency()), (1, 20.0, 1.0));
        assert_eq!((ring.steps(), ring.gather_bandwidth(), ring.latency()), (1, 20.0, 1.0));
    }

    #[test]
    fn strided_participants_share_links_and_are_further_apart() {
        let ring = Line { participants: 4, ring: true, stride: 2, link_bandwidth: 10.0, hop_latency: 1.0 };
        assert_eq!((ring.steps(), ring.gather_bandwidth(), ring.latency()), (2, 10.0, 4.0));
    }

    #[test]
    fn single_participants_are_no_lines() {
        let one = Line { participants: 1, ..NO_LINE };
        let two = Line { participants: 2, ..NO_LINE };
        let group = Group::of_lines(&[one, two, one]);
        assert_eq!((group.size(), group.lines().len()), (2, 1));
    }
}
