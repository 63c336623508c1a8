//! The transport for devices of several processes, each called a *rank*. Devices of one rank read each other's operands
//! in place. The first device of the rank exchanges with the other ranks the bytes that the rank's devices need.
//!
//! A collective whose group spans ranks has two meetings of the rank's own devices. In the first, the devices show
//! their operands. While all operands can be read, the first device sends the other ranks the parts that their devices
//! need, and receives the parts that its own rank needs. In the second meeting it shows the received bytes, and each
//! device reads its companions' operands and the received parts exactly as it would read them in one process: in the
//! order of the group. So results have the same bits for any number of ranks. Operands that may be combined in any
//! order are combined on the rank first, and then between ranks by the wire (`combine`).

mod combine;
mod groups;

use std::ops::Range;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use rustc_hash::FxHashMap;

use self::groups::Spanning;
use super::wire::{FIRST_TAG, Incoming, Outgoing, Route, State, Watched, Wire};
use super::{Needs, Part, Read, Reduction, Shared, Site, Transport, wait};

/// The maximum number of devices of a rank that a message describes.
const MAX_DESCRIBED: usize = 4;

/// Values by the number of a collective and of its group of devices.
type PerGroup<T> = FxHashMap<(usize, usize), T>;

/// State that is kept from run to run: received bytes, and the positions of devices in groups.
#[derive(Default)]
pub struct Scratch {
    /// The bytes that each device of the rank has received last.
    received: Vec<Mutex<Vec<u8>>>,
    /// The bytes that each device has combined last.
    combined: Vec<Mutex<Vec<u8>>>,
    spanning: Mutex<PerGroup<Option<Arc<Spanning>>>>,
    /// The wire's numbers for groups of ranks.
    routes: PerGroup<usize>,
    /// Bytes that this rank has sent to others.
    sent: AtomicU64,
}

impl Scratch {
    /// Creates the state of a rank with `devices` devices.
    pub fn new(devices: usize) -> Self {
        let buffers = || (0..devices).map(|_| Mutex::default()).collect();
        Self { received: buffers(), combined: buffers(), ..Self::default() }
    }

    /// Lets the wire prepare for the groups of these collectives. The flag next to each collective says whether all
    /// devices run it exactly once: only those collectives are sure to come in the same order on all ranks. All ranks
    /// must call this together.
    pub fn meet(&mut self, wire: &dyn Wire, sites: &[(Site, bool)]) -> Result<(), String> {
        let devices = self.received.len();
        let (groups, of) = groups::of_sites(sites, devices);
        // After this barrier all ranks have arrived, so no rank waits long for another one below.
        wire.barrier()?;
        let numbers = wire.meet(&groups)?;
        self.routes = of.into_iter().filter_map(|(place, group)| Some((place, numbers[group]?))).collect();
        Ok(())
    }

    /// Returns the number of bytes that this rank has sent to other ranks so far.
    pub fn sent(&self) -> u64 {
        self.sent.load(Ordering::Relaxed)
    }
}

/// Returns the size in bytes of a member's operand if some of the members `to` read a part of it, and 0 otherwise.
fn room(from: usize, to: &[usize], needs: &Needs<'_>) -> usize {
    let read = |&to: &usize| Some(needs(from, to)).filter(|part| *part != Part::nothing(part.of));
    to.iter().find_map(read).map_or(0, |part| part.of)
}

/// The devices of this rank, as the other ranks see them.
struct Here {
    held: Range<usize>,
    /// The numbers of all devices, for messages.
    ids: Vec<u32>,
    /// The names of the collectives.
    names: Vec<String>,
    /// The collectives at which devices waited when another rank failed.
    stuck: Mutex<Vec<(u32, usize)>>,
    shared: Shared,
    /// The current state of each device: [`RUNS`], [`LEFT`], or the number of a collective.
    at: Vec<AtomicU32>,
    version: AtomicU64,
    /// The first tag of each collective, and the end of the last collective's tags.
    tags: Vec<u32>,
}

const RUNS: u32 = u32::MAX;
const LEFT: u32 = u32::MAX - 1;

impl Here {
    fn set(&self, device: usize, state: u32) {
        self.at[device - self.held.start].store(state, Ordering::SeqCst);
        self.version.fetch_add(1, Ordering::SeqCst);
    }
}

impl Watched for Here {
    fn fail(&self, why: &str) {
        let waits = self.ids[self.held.clone()].iter().zip(self.state().1).filter_map(|(&id, state)| match state {
            State::Waits(site) => Some((id, site as usize)),
            _ => None,
        });
        self.stuck.lock().unwrap_or_else(PoisonError::into_inner).extend(waits);
        self.shared.fail(why.to_owned());
    }

    fn state(&self) -> (u64, Vec<State>) {
        let version = self.version.load(Ordering::SeqCst);
        let state = |at: &AtomicU32| match at.load(Ordering::SeqCst) {
            RUNS => State::Runs,
            LEFT => State::Left,
            site => State::Waits(site),
        };
        (version, self.at.iter().map(state).collect())
    }

    fn describe(&self, rank: usize, states: &[State]) -> String {
        let mut said: Vec<String> = Vec::new();
        let each = self.held.len();
        for (i, id) in self.ids.iter().skip(rank * each).take(each).enumerate() {
            let what = match states.get(i) {
                // All calls may have been shorter than the interval between two beats.
                None => "runs no call".to_owned(),
                Some(State::Runs) => "computes".to_owned(),
                Some(State::Left) => "has ended".to_owned(),
                Some(State::Waits(site)) => match self.names.get(*site as usize) {
                    Some(name) => format!("waits in {name}"),
                    None => "waits in an unknown collective".to_owned(),
                },
            };
            if said.len() == MAX_DESCRIBED {
                said.push("…".to_owned());
                break;
            }
            said.push(format!("device {id} {what}"));
        }
        said.join(", ")
    }
}

/// The transport for devices of which this process has a part.
pub struct Ranks<'s> {
    wire: &'s dyn Wire,
    scratch: &'s Scratch,
    sites: Vec<Site>,
    here: Arc<Here>,
    /// Whether operands may be summed in any order.
    fast: bool,
}

impl<'s> Ranks<'s> {
    /// Creates a transport for these collectives and devices. `ids` are the devices' numbers, in order; each rank has
    /// an equal share of them. `scratch` is shared by all runs of this rank.
    pub fn new(wire: &'s dyn Wire, ids: Vec<u32>, sites: &[Site], scratch: &'s Scratch) -> Result<Self, String> {
        let each = ids.len() / wire.ranks().max(1);
        let held = wire.rank() * each..(wire.rank() + 1) * each;
        let mut tags = vec![0u32];
        for site in sites {
            let next = u32::try_from(site.members.count()).ok().and_then(|n| tags.last()?.checked_add(n));
            tags.push(next.filter(|&tag| tag < FIRST_TAG).ok_or("the program has too many groups of collectives")?);
        }
        // Each collective has two meetings.
        let meetings: Vec<Site> = sites.iter().chain(sites).cloned().collect();
        let here = Arc::new(Here {
            shared: Shared::within(ids.clone(), &meetings, held.clone()),
            ids,
            names: sites.iter().map(|site| site.name.clone()).collect(),
            stuck: Mutex::default(),
            at: held.clone().map(|_| AtomicU32::new(RUNS)).collect(),
            held,
            version: AtomicU64::new(0),
            tags,
        });
        wire.watch(Some(here.clone()));
        Ok(Self { wire, scratch, sites: sites.to_vec(), here, fast: false })
    }

    /// Lets ranks sum operands in any order if `fast` is set.
    pub fn with_fast_sums(mut self, fast: bool) -> Self {
        self.fast = fast;
        self
    }

    /// Returns [`Shared::stuck`] of this rank's devices, or the collectives at which they waited when another rank
    /// failed.
    pub fn stuck(&self) -> Vec<(u32, usize)> {
        let stuck = self.here.stuck.lock().unwrap_or_else(PoisonError::into_inner).clone();
        if !stuck.is_empty() {
            return stuck;
        }
        self.here.shared.stuck().into_iter().map(|(device, site)| (device, site % self.sites.len())).collect()
    }

    /// Returns the positions of a group's devices on the ranks, if the group spans ranks.
    fn spanning(&self, site: usize, group: usize) -> Option<Arc<Spanning>> {
        let make = || Spanning::of(&self.sites[site].members.of_group(group), &self.here.held).map(Arc::new);
        let mut known = self.scratch.spanning.lock().unwrap_or_else(PoisonError::into_inner);
        known.entry((site, group)).or_insert_with(make).clone()
    }

    /// Returns the route by which ranks exchange the bytes that a group needs.
    fn route(&self, site: usize, group: usize) -> Route {
        Route { tag: self.here.tags[site] + group as u32, group: self.scratch.routes.get(&(site, group)).copied() }
    }

    /// Exchanges the parts of operands that this rank's devices and those of the other ranks need. Afterwards `buffer`
    /// has the operands of the others one after the other, with only the needed parts filled in.
    fn exchange(
        &self,
        route: Route,
        group: &Spanning,
        operands: &[&[u8]],
        needs: &Needs<'_>,
        buffer: &mut Vec<u8>,
    ) -> Result<(), String> {
        // The distinct parts of an operand that some members need.
        let parts = |from: usize, to: &[usize]| {
            let mut parts: Vec<Part> = Vec::with_capacity(1);
            for &to in to {
                let part = needs(from, to);
                if part.bytes() > 0 && !parts.contains(&part) {
                    parts.push(part);
                }
            }
            parts
        };
        let mut sends = Vec::new();
        for (rank, places) in &group.others {
            for (&from, &operand) in group.mine.iter().zip(operands) {
                sends.extend(parts(from, places).into_iter().map(|part| Outgoing { to: *rank, operand, part }));
            }
        }
        let (mut receives, mut end) = (Vec::new(), 0);
        for (rank, places) in &group.others {
            for &from in places {
                let incoming = |part| Incoming { from: *rank, start: end, part };
                receives.extend(parts(from, &group.mine).into_iter().map(incoming));
                end += room(from, &group.mine, needs);
            }
        }
        if buffer.len() < end {
            *buffer = vec![0; end];
        }
        self.scratch.sent.fetch_add(sends.iter().map(|s| s.part.bytes() as u64).sum(), Ordering::Relaxed);
        let done = wait(|| self.wire.exchange(route, &sends, buffer, &receives));
        if done.is_err() {
            // The buffer is leaked, because the wire may still write to it after an error.
            std::mem::forget(std::mem::take(buffer));
        }
        done
    }

    /// Runs a collective whose group spans ranks.
    fn share_across(
        &self,
        (device, site, group): (usize, usize, usize),
        spanning: &Spanning,
        mine: &[u8],
        needs: &Needs<'_>,
        read: &mut dyn FnMut(&[&[u8]]),
    ) -> Result<(), String> {
        let here = &self.here;
        let mut outcome = Ok(());
        here.set(device, site as u32);
        here.shared.each_reads(device, site, group, mine, &mut |operands| {
            let index = device - here.held.start;
            let mut received = self.scratch.received[index].lock().unwrap_or_else(PoisonError::into_inner);
            if spanning.leader == device {
                let route = self.route(site, group);
                if let Err(why) = self.exchange(route, spanning, operands, needs, &mut received) {
                    // The other devices of this rank wait for this device.
                    here.shared.fail(why.clone());
                    outcome = Err(why);
                    return;
                }
            }
            let shown = if spanning.leader == device { &received[..] } else { &[] };
            let meeting = self.sites.len() + site;
            outcome = here.shared.each_reads(device, meeting, group, shown, &mut |shown| {
                here.set(device, RUNS);
                let mut rest = shown[0];
                let mut all: Vec<&[u8]> = spanning.local.iter().map(|l| l.map_or(&[][..], |i| operands[i])).collect();
                for &from in spanning.others.iter().flat_map(|o| &o.1) {
                    (all[from], rest) = rest.split_at(room(from, &spanning.mine, needs));
                }
                read(&all);
            });
        })?;
        here.set(device, RUNS);
        outcome
    }
}

impl Transport for Ranks<'_> {
    fn share(
        &self,
        device: usize,
        site: usize,
        group: usize,
        mine: &[u8],
        needs: &Needs<'_>,
        read: &mut Read<'_>,
    ) -> Result<(), String> {
        if let Some(spanning) = self.spanning(site, group) {
            return self.share_across((device, site, group), &spanning, mine, needs, read);
        }
        self.here.set(device, site as u32);
        self.here.shared.share(device, site, group, mine, needs, &mut |all| {
            self.here.set(device, RUNS);
            read(all);
        })
    }

    fn combine(
        &self,
        device: usize,
        site: usize,
        group: usize,
        operand: &[u8],
        how: &Reduction<'_>,
        result: &mut [u8],
    ) -> Option<Result<(), String>> {
        let spanning =
            self.spanning(site, group).filter(|spanning| self.combines(site, group, spanning, operand, how))?;
        Some(self.combine_across((device, site, group), &spanning, operand, how, result))
    }

    fn leave(&self, device: usize, failure: Option<&str>) {
        self.here.set(device, LEFT);
        self.here.shared.leave(device, failure);
    }
}

impl Drop for Ranks<'_> {
    fn drop(&mut self) {
        self.wire.watch(None);
    }
}
