//! The load of a permute's pairs on the links.
//!
//! Each message takes the shortest path, dimension by dimension, and the shorter direction around a ring (forward when
//! both are equal), as the chips' default routing does. A lone message could use more ports than that; see
//! `point_to_point_seconds`.

use super::super::collective::{Links, Route};
use super::{CHIPLETS, CHIPS, DIMS, Placement, SLICES};

impl Placement {
    /// Counts the messages over every link when all `pairs` (source, target) of devices send at once. Pairs with a
    /// device outside the mesh are ignored.
    pub fn route(&self, pairs: &[(u64, u64)]) -> Route {
        self.load(pairs).0
    }

    /// Counts like [`Self::route`], and returns the used links, too.
    pub fn load(&self, pairs: &[(u64, u64)]) -> (Route, Links) {
        let strides: [usize; DIMS] =
            std::array::from_fn(|dim| self.dims[dim + 1..].iter().map(|dim| dim.size as usize).product());
        let places = self.dims.iter().map(|dim| dim.size as usize).product::<usize>();
        // One counter for each position, dimension and direction: the link that leaves the position that way.
        let mut messages = vec![0u64; places * DIMS * 2];
        let mut longest = 0;
        for &(source, target) in pairs {
            let (Some(mut at), Some(end)) = (self.coordinates(source), self.coordinates(target)) else { continue };
            let mut hops = 0;
            // A message to another slice, or through the switch of an island, uses a port of its source and a port of
            // its target.
            let mut by_ports = |dim: usize| {
                let at_chip =
                    |place: [u64; DIMS]| -> usize { (0..CHIPLETS).map(|d| place[d] as usize * strides[d]).sum() };
                messages[(at_chip(at) * DIMS + dim) * 2] += 1;
                messages[(at_chip(end) * DIMS + dim) * 2 + 1] += 1;
            };
            if at[SLICES] != end[SLICES] {
                by_ports(SLICES);
                continue;
            }
            if let Some(dim) = CHIPS.filter(|&dim| self.dims[dim].switched).find(|&dim| at[dim] != end[dim]) {
                by_ports(dim);
                longest = longest.max(1);
                continue;
            }
            for dim in 0..DIMS {
                let size = self.dims[dim].size;
                let around = (end[dim] + size - at[dim]) % size;
                let forward = if self.dims[dim].wraps { around <= size - around } else { end[dim] > at[dim] };
                while at[dim] != end[dim] {
                    // Both dies of a chip share its links: their messages are counted at the first die.
                    let from = (0..DIMS).filter(|&d| dim == CHIPLETS || d != CHIPLETS);
                    let place: usize = from.map(|d| at[d] as usize * strides[d]).sum();
                    messages[(place * DIMS + dim) * 2 + usize::from(forward)] += 1;
                    at[dim] = if forward { (at[dim] + 1) % size } else { (at[dim] + size - 1) % size };
                    hops += 1;
                }
            }
            longest = longest.max(hops);
        }
        let mut busiest = [0; DIMS];
        for (index, &count) in messages.iter().enumerate() {
            let most = &mut busiest[index / 2 % DIMS];
            *most = count.max(*most);
        }
        // Messages are counted per chip here, so they have the full bandwidth of the link.
        let whole = |dim: usize| self.dims[dim].link_bandwidth * self.dims[CHIPLETS].size as f64;
        let route = Route {
            link_messages: CHIPS.map(|dim| busiest[dim]).max().unwrap_or(0),
            chiplet_messages: busiest[CHIPLETS],
            network_messages: busiest[SLICES],
            hops: longest,
            link_bandwidth: whole(CHIPS.start),
            chiplet_bandwidth: self.dims[CHIPLETS].link_bandwidth,
            network_bandwidth: whole(SLICES),
            hop_latency: self.dims[CHIPS.start].latency,
            network_latency: self.dims[SLICES].latency,
        };
        (route, Links::of(messages.iter().map(|&count| count > 0)))
    }
}
