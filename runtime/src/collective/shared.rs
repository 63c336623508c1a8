//! Devices as threads of one process: each reads the others' operands in place.
//!
//! A group synchronizes twice at a collective: when all operands are available, and when all members have read them.
//! Threads block and never spin. Nobody waits forever: the run ends with an error if a device ends or fails, or if all
//! devices wait.
//!
//! **Invariant:** an operand is seen only by members of a complete group, and its owner waits until all of them have
//! read it. A failure elsewhere ends the first wait and withdraws the operand, but never ends the second: readers don't
//! block.

#![allow(unsafe_code, reason = "devices read each other's buffers in place")]

use std::ops::Range;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Condvar, Mutex, MutexGuard, OnceLock, PoisonError};

use super::{Needs, Site, Transport, wait};

#[derive(Default)]
struct Meeting {
    /// Address and length of each member's operand; `None` until it is available.
    operands: Vec<Option<(usize, usize)>>,
    arrived: usize,
    read: usize,
    /// How often the group has synchronized.
    round: u64,
}

struct Group {
    members: Vec<usize>,
    meeting: Mutex<Meeting>,
    changed: Condvar,
}

/// A collective; a group is created when the first of its devices arrives.
struct Place {
    site: Site,
    /// The devices that meet here.
    held: Range<usize>,
    groups: Box<[OnceLock<Group>]>,
}

impl Place {
    fn group(&self, group: usize) -> &Group {
        self.groups[group].get_or_init(|| {
            let mut members = self.site.members.of_group(group);
            members.retain(|member| self.held.contains(member));
            let meeting = Mutex::new(Meeting { operands: vec![None; members.len()], ..Meeting::default() });
            Group { members, meeting, changed: Condvar::new() }
        })
    }
}

#[derive(Default)]
struct Devices {
    /// The device numbers used in messages.
    ids: Vec<u32>,
    waiting: usize,
    left: Vec<bool>,
    /// The collective at which each device waits for operands.
    at: Vec<Option<usize>>,
    failure: Option<String>,
    /// What `at` was when devices were found to wait forever.
    stuck: Vec<(u32, usize)>,
}

impl Devices {
    /// Remembers where devices wait: forever, as was found.
    fn keep_waits(&mut self) {
        let waits = self.ids.iter().zip(&self.at).filter_map(|(&id, at)| Some((id, (*at)?)));
        self.stuck = waits.collect();
    }
}

/// The transport through shared memory.
pub struct Shared {
    sites: Vec<Place>,
    devices: Mutex<Devices>,
    failed: AtomicBool,
}

fn lock<T>(m: &Mutex<T>) -> MutexGuard<'_, T> {
    m.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Shared {
    /// A transport for `devices` devices and these collectives.
    pub fn new(devices: usize, sites: &[Site]) -> Self {
        Self::on((0..devices as u32).collect(), sites)
    }

    /// A transport for these collectives and devices with these numbers, which messages use.
    pub fn on(ids: Vec<u32>, sites: &[Site]) -> Self {
        let all = 0..ids.len();
        Self::within(ids, sites, all)
    }

    /// The same where only the devices `held` meet: of each group, those among them.
    pub(super) fn within(ids: Vec<u32>, sites: &[Site], held: Range<usize>) -> Self {
        let place = |site: &Site| Place {
            site: site.clone(),
            held: held.clone(),
            groups: (0..site.members.count()).map(|_| OnceLock::new()).collect(),
        };
        Self {
            sites: sites.iter().map(place).collect(),
            devices: Mutex::new(Devices {
                left: (0..ids.len()).map(|device| !held.contains(&device)).collect(),
                at: vec![None; ids.len()],
                ids,
                ..Devices::default()
            }),
            failed: AtomicBool::new(false),
        }
    }

    /// The numbers of devices that were found to wait forever, each with the collective at which it does.
    pub fn stuck(&self) -> Vec<(u32, usize)> {
        lock(&self.devices).stuck.clone()
    }

    fn failure(&self) -> String {
        lock(&self.devices).failure.clone().unwrap_or_else(|| "another device failed".to_owned())
    }

    /// Ends all waits. The caller must hold no lock.
    pub(super) fn fail(&self, message: String) {
        lock(&self.devices).failure.get_or_insert(message);
        self.failed.store(true, Ordering::SeqCst);
        for group in self.sites.iter().flat_map(|s| &s.groups).filter_map(OnceLock::get) {
            // Taking the lock ensures that any thread that checked `failed` before it was set is waiting by now.
            drop(lock(&group.meeting));
            group.changed.notify_all();
        }
    }

    /// Waits until all operands are available; counts the waiting devices, so that the last one detects a deadlock. On
    /// an error, the operand at `position` is withdrawn before anyone can see it.
    fn wait_for_operands<'g>(
        &self,
        site: usize,
        group: &'g Group,
        position: usize,
        mut meeting: MutexGuard<'g, Meeting>,
    ) -> Result<MutexGuard<'g, Meeting>, String> {
        let stuck = {
            let mut devices = lock(&self.devices);
            devices.waiting += 1;
            devices.at[group.members[position]] = Some(site);
            let gone = devices.left.iter().filter(|l| **l).count();
            let absent =
                group.members.iter().enumerate().find(|(i, m)| devices.left[**m] && meeting.operands[*i].is_none());
            let stuck = match absent {
                Some((_, &m)) => Some(format!(
                    "device {} ended before it took part in {}",
                    devices.ids[m], self.sites[site].site.name
                )),
                None if devices.waiting + gone == devices.left.len() => {
                    Some(format!("all devices wait for each other, one of them at {}", self.sites[site].site.name))
                }
                None => None,
            };
            if stuck.is_some() && devices.failure.is_none() {
                devices.keep_waits();
            }
            stuck
        };
        loop {
            if meeting.arrived == group.members.len() {
                return Ok(meeting);
            }
            if stuck.is_some() || self.failed.load(Ordering::SeqCst) {
                meeting.operands[position] = None;
                meeting.arrived -= 1;
                drop(meeting);
                if let Some(message) = stuck {
                    self.fail(message);
                }
                return Err(self.failure());
            }
            meeting = wait(|| group.changed.wait(meeting)).unwrap_or_else(PoisonError::into_inner);
        }
    }

    /// Counts this member as having read, and waits until all have.
    fn wait_for_readers(&self, group: &Group, round: u64) {
        let mut meeting = lock(&group.meeting);
        meeting.read += 1;
        let n = group.members.len();
        if meeting.read == n {
            *meeting = Meeting { operands: vec![None; n], round: round + 1, ..Meeting::default() };
            self.end_waits(group);
            drop(meeting);
            group.changed.notify_all();
            return;
        }
        lock(&self.devices).waiting += 1;
        while meeting.round == round {
            meeting = wait(|| group.changed.wait(meeting)).unwrap_or_else(PoisonError::into_inner);
        }
    }

    /// Counts the other members as no longer waiting. They are to be woken when the caller holds no lock that they need:
    /// each of many devices would only begin to wait for that.
    fn end_waits(&self, group: &Group) {
        let mut devices = lock(&self.devices);
        devices.waiting -= group.members.len() - 1;
        for &member in &group.members {
            devices.at[member] = None;
        }
    }
}

impl Transport for Shared {
    fn share(
        &self,
        device: usize,
        site: usize,
        group: usize,
        mine: &[u8],
        _: &Needs<'_>,
        read: &mut dyn FnMut(&[&[u8]]),
    ) -> Result<(), String> {
        let at = site;
        let group = self.sites[site].group(group);
        let position =
            group.members.iter().position(|&m| m == device).ok_or("a device shares in a group it isn't in")?;
        let mut meeting = lock(&group.meeting);
        if self.failed.load(Ordering::SeqCst) {
            drop(meeting);
            return Err(self.failure());
        }
        let round = meeting.round;
        meeting.operands[position] = Some((mine.as_ptr() as usize, mine.len()));
        meeting.arrived += 1;
        let is_last = meeting.arrived == group.members.len();
        if is_last {
            self.end_waits(group);
        } else {
            meeting = self.wait_for_operands(at, group, position, meeting)?;
        }
        let operands: Vec<(usize, usize)> = meeting.operands.iter().flatten().copied().collect();
        drop(meeting);
        if is_last && group.members.len() > 1 {
            group.changed.notify_all();
        }
        // SAFETY: each address and length is that of a slice whose owner stays in this function, even if it panics,
        // until every member has counted itself as a reader below, so it is alive and nobody writes it.
        let slices: Vec<&[u8]> =
            operands.iter().map(|&(p, n)| unsafe { std::slice::from_raw_parts(p as *const u8, n) }).collect();
        let outcome = catch_unwind(AssertUnwindSafe(|| read(&slices)));
        self.wait_for_readers(group, round);
        outcome.map_err(|panic| resume_unwind(panic))
    }

    fn leave(&self, device: usize, failure: Option<&str>) {
        let message = {
            let mut devices = lock(&self.devices);
            devices.left[device] = true;
            let device = devices.ids[device];
            let gone = devices.left.iter().filter(|l| **l).count();
            let message = match failure {
                Some(f) => Some(format!("device {device} failed: {f}")),
                None if devices.waiting > 0 && devices.waiting + gone >= devices.left.len() => {
                    if devices.failure.is_none() {
                        devices.keep_waits();
                    }
                    Some(format!("device {device} ended while the others wait for it"))
                }
                None => None,
            };
            // Whoever sees from now on that it has left sees why.
            if let (None, Some(message)) = (&devices.failure, &message) {
                devices.failure = Some(message.clone());
            }
            message
        };
        if let Some(message) = message {
            self.fail(message);
        }
    }
}
