//! The resources of a device that ops occupy: its arithmetic, its links to other devices, and the link to its host.

use dialect::memory::MemorySpace;

use super::collective::{Links, Route};
use super::result::Stream;

/// Arithmetic and memory traffic.
pub(super) const COMPUTE: usize = 0;
/// Collectives that use all links.
pub(super) const ALL_LINKS: usize = 1;
/// Collectives inside of slices.
pub(super) const INSIDE: usize = 2;
/// Collectives over the network between slices.
pub(super) const NETWORK: usize = 3;
/// Copies to the host.
pub(super) const TO_HOST: usize = 4;
/// Copies from the host.
pub(super) const FROM_HOST: usize = 5;
/// The first route of permutes.
const FIRST_ROUTE: usize = 6;

/// Returns the stream of a device that a resource belongs to.
pub(super) fn stream(resource: usize) -> Stream {
    match resource {
        COMPUTE => Stream::Compute,
        TO_HOST => Stream::Host(MemorySpace::Host),
        FROM_HOST => Stream::Host(MemorySpace::Device),
        _ => Stream::Communication,
    }
}

/// The routes of permutes.
#[derive(Default)]
pub(super) struct Routes {
    links: Vec<Links>,
    /// For each route, whether it has links inside of slices, and whether it goes over the network.
    levels: Vec<[bool; 2]>,
    /// For each route, which ones before it have a link of it.
    meet: Vec<Vec<bool>>,
}

impl Routes {
    /// Returns the resource of permutes over these links.
    pub(super) fn resource(&mut self, route: &Route, links: Links) -> usize {
        let known = self.links.iter().position(|l| *l == links);
        known.unwrap_or_else(|| {
            self.meet.push(self.links.iter().map(|l| l.meet(&links)).collect());
            self.levels.push([route.link_messages + route.chiplet_messages > 0, route.network_messages > 0]);
            self.links.push(links);
            self.links.len() - 1
        }) + FIRST_ROUTE
    }

    /// Returns whether ops on two resources exclude each other.
    pub(super) fn meet(&self, a: usize, b: usize) -> bool {
        let (low, high) = (a.min(b), a.max(b));
        match low {
            _ if low == high => true,
            COMPUTE => false,
            _ if [low, high].iter().any(|resource| (TO_HOST..FIRST_ROUTE).contains(resource)) => false,
            ALL_LINKS => true,
            INSIDE if high == NETWORK => false,
            INSIDE | NETWORK => self.levels[high - FIRST_ROUTE][low - INSIDE],
            _ => self.meet[high - FIRST_ROUTE][low - FIRST_ROUTE],
        }
    }
}
