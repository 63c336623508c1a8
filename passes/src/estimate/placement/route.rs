//! How the pairs of a permute load the links.
//!
//! Each message takes the shortest path, dimension by dimension, and the shorter direction around a ring (forward when
//! both are equal), as the chips' default routing does. A lone message could use more ports than that; see
//! `point_to_point_seconds`.

use super::super::collective::{Links, Route};
use super::{CHIPLETS, DIMS, Placement};

impl Placement {
    /// Counts the messages over every link when all `pairs` (source, target) of devices send at once. Pairs with a
    /// device outside the mesh are ignored.
    pub fn route(&self, pairs: &[(u64, u64)]) -> Route {
        self.load(pairs).0
    }

    /// The same, and which links that are.
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
            for dim in 0..DIMS {
                let size = self.dims[dim].size;
                let around = (end[dim] + size - at[dim]) % size;
                let forward = if self.dims[dim].wraps { around <= size - around } else { end[dim] > at[dim] };
                while at[dim] != end[dim] {
                    // Both dies of a chip send over the same links: count those at the first die.
                    let from = (0..DIMS).filter(|&d| dim == CHIPLETS || d != CHIPLETS);
                    let place: usize = from.map(|d| at[d] as usize * strides[d]).sum();
                    messages[(place * DIMS + dim) * 2 + usize::from(forward)] += 1;
                    at[dim] = if forward { (at[dim] + 1) % size } else { (at[dim] + size - 1) % size };
                    hops += 1;
                }
            }
            longest = longest.max(hops);
        }
        let busiest = |of_chiplets: bool| {
            let counters =
                messages.iter().enumerate().filter(|(index, _)| (index / 2 % DIMS == CHIPLETS) == of_chiplets);
            counters.map(|(_, &count)| count).max().unwrap_or(0)
        };
        let route = Route {
            link_messages: busiest(false),
            chiplet_messages: busiest(true),
            hops: longest,
            // Messages are counted per chip here, so they have the full bandwidth of the link.
            link_bandwidth: self.dims[0].link_bandwidth * self.dims[CHIPLETS].size as f64,
            chiplet_bandwidth: self.dims[CHIPLETS].link_bandwidth,
            hop_latency: self.hop_latency,
        };
        (route, Links::of(messages.iter().map(|&count| count > 0)))
    }
}
