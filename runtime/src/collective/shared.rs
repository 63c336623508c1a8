//! The transport for devices that are threads of one process: each device reads the others' operands in place.
//!
//! A group synchronizes twice at a collective: when all operands are available, and when all members have read them. If
//! the operands are small, or if other groups use the cores meanwhile, the last member reads for all, and the others
//! wait only once, because waking a thread costs as much as copying some ten thousand bytes. Threads block and never
//! spin. No thread waits forever: the run ends with an error if a device ends or fails, or if all devices wait.
//!
//! **Invariant:** an operand is seen only by members of a complete group, and its owner waits until all of them have
//! read it. A failure elsewhere ends the first wait and withdraws the operand, but never once a member reads it:
//! readers don't block.

#![allow(unsafe_code, reason = "devices read each other's buffers in place")]

use std::any::Any;
use std::ops::Range;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Condvar, Mutex, MutexGuard, OnceLock, PoisonError};

use super::{Needs, Read, Site, Transport, wait};

/// The threshold in bytes below which one thread that reads for all is faster than several threads that have to be
/// woken.
const LITTLE: usize = 1 << 18;

/// A member of a group that has arrived.
struct Arrival {
    /// Address and length of its operand.
    operand: (usize, usize),
    /// The closure that reads all operands, if another member may call it.
    read: Option<*mut Read<'static>>,
}

// SAFETY: the closure behind the pointer is `Send` (see [`Read`]), and its owner stays in `share` until the round in
// which it is called has ended.
unsafe impl Send for Arrival {}

#[derive(Default)]
struct Meeting {
    /// The members that have arrived.
    arrivals: Vec<Option<Arrival>>,
    arrived: usize,
    read: usize,
    /// Whether the last member reads for all.
    is_served: bool,
    /// How often the group has synchronized.
    round: u64,
    /// Panics of members' closures that another member called; each is still to be passed on to its owner.
    panics: Vec<(usize, Box<dyn Any + Send>)>,
}

impl Meeting {
    /// Resets the state for the next round.
    fn end(&mut self) {
        self.arrivals.clear();
        (self.arrived, self.read, self.is_served) = (0, 0, false);
        self.round += 1;
    }

    /// Returns the operands of all members.
    fn operands(&self) -> Vec<(usize, usize)> {
        self.arrivals.iter().flatten().map(|arrival| arrival.operand).collect()
    }
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
            Group { members, meeting: Mutex::default(), changed: Condvar::new() }
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
    /// The content of `at` when a deadlock was found.
    stuck: Vec<(u32, usize)>,
}

impl Devices {
    /// Records the collectives at which devices wait, when they turn out to wait forever.
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
    /// The number of threads that run at once: if there are at least as many groups, one member of each group reads for
    /// all.
    cores: usize,
    /// One member also reads for all if they read at most this number of bytes together.
    little: usize,
}

fn lock<T>(m: &Mutex<T>) -> MutexGuard<'_, T> {
    m.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Shared {
    /// Creates a transport for `devices` devices and these collectives.
    pub fn new(devices: usize, sites: &[Site]) -> Self {
        Self::on((0..devices as u32).collect(), sites)
    }

    /// Creates a transport for these collectives and for devices with these numbers, which messages use.
    pub fn on(ids: Vec<u32>, sites: &[Site]) -> Self {
        let all = 0..ids.len();
        Self::within(ids, sites, all)
    }

    /// Like [`Self::on`], but only the devices `held` meet: in each group, only its members among them.
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
            cores: crate::rates::cores(),
            little: LITTLE,
        }
    }

    /// Makes the last member of a group read for all, or every member read for itself.
    #[cfg(test)]
    pub(super) fn served(self, is_served: bool) -> Self {
        Self { cores: usize::MAX, little: if is_served { usize::MAX } else { 0 }, ..self }
    }

    /// Returns the devices that were found to wait forever, each with the collective at which it waits.
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
            // A thread checks `failed` under this lock. Taking the lock ensures that any thread that saw `failed` unset
            // waits by now.
            drop(lock(&group.meeting));
            group.changed.notify_all();
        }
    }

    /// Waits until all operands are available, or have been read. Counts the waiting devices, so that the last one
    /// detects a deadlock. On an error, withdraws the operand at `position` before another member can see it.
    fn wait_for_operands<'g>(
        &self,
        site: usize,
        group: &'g Group,
        position: usize,
        mut meeting: MutexGuard<'g, Meeting>,
    ) -> Result<MutexGuard<'g, Meeting>, String> {
        let round = meeting.round;
        let stuck = {
            let mut devices = lock(&self.devices);
            devices.waiting += 1;
            devices.at[group.members[position]] = Some(site);
            let gone = devices.left.iter().filter(|l| **l).count();
            let absent =
                group.members.iter().enumerate().find(|(i, m)| devices.left[**m] && meeting.arrivals[*i].is_none());
            let stuck = match absent {
                Some((_, &m)) => Some(format!(
                    "device {} ended before it took part in {}",
                    devices.ids[m], self.sites[site].site.name
                )),
                None if devices.waiting + gone == devices.left.len() => {
                    Some(format!("all devices wait for each other, one of them in {}", self.sites[site].site.name))
                }
                None => None,
            };
            if stuck.is_some() && devices.failure.is_none() {
                devices.keep_waits();
            }
            stuck
        };
        loop {
            if meeting.round != round || (meeting.arrived == group.members.len() && !meeting.is_served) {
                return Ok(meeting);
            }
            if !meeting.is_served && (stuck.is_some() || self.failed.load(Ordering::SeqCst)) {
                meeting.arrivals[position] = None;
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
        if meeting.read == group.members.len() {
            meeting.end();
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

    /// Counts the other members as no longer waiting. The caller must wake them after it has released every lock that
    /// they need, because otherwise each woken device would only begin to wait for the lock.
    fn end_waits(&self, group: &Group) {
        let mut devices = lock(&self.devices);
        devices.waiting -= group.members.len() - 1;
        for &member in &group.members {
            devices.at[member] = None;
        }
    }

    /// Does the same as [`Transport::share`] for a `read` that may wait for other devices.
    pub(super) fn each_reads(
        &self,
        device: usize,
        site: usize,
        group: usize,
        mine: &[u8],
        read: &mut dyn FnMut(&[&[u8]]),
    ) -> Result<(), String> {
        let met = self.meet((device, site, group), mine, None)?;
        self.read_here(met, read);
        Ok(())
    }

    /// Waits for the other members. The last member reads for all if each of them passed its closure.
    fn meet(
        &self,
        (device, site, group): (usize, usize, usize),
        mine: &[u8],
        read: Option<*mut Read<'static>>,
    ) -> Result<Met<'_>, String> {
        let at = site;
        let group = self.sites[site].group(group);
        let count = group.members.len();
        let position = group
            .members
            .iter()
            .position(|&m| m == device)
            .ok_or("a device takes part in a group that it isn't a member of")?;
        let mut meeting = lock(&group.meeting);
        if self.failed.load(Ordering::SeqCst) {
            drop(meeting);
            return Err(self.failure());
        }
        let round = meeting.round;
        if meeting.arrivals.is_empty() {
            meeting.arrivals.resize_with(count, || None);
        }
        meeting.arrivals[position] = Some(Arrival { operand: (mine.as_ptr() as usize, mine.len()), read });
        meeting.arrived += 1;
        if meeting.arrived < count {
            meeting = self.wait_for_operands(at, group, position, meeting)?;
            if meeting.round == round {
                return Ok(Met::All { group, round, operands: meeting.operands() });
            }
            let panic = meeting.panics.iter().position(|(whose, _)| *whose == position);
            let panic = panic.map(|i| meeting.panics.swap_remove(i).1);
            drop(meeting);
            return panic.map_or(Ok(Met::Served), |panic| resume_unwind(panic));
        }
        self.end_waits(group);
        let operands = meeting.operands();
        let groups = self.sites[at].held.len() / count;
        let bytes = operands.iter().fold(0, |sum: usize, operand| sum.saturating_add(operand.1));
        let readers: Option<Vec<_>> = meeting.arrivals.iter().flatten().map(|arrival| arrival.read).collect();
        let readers = readers.filter(|_| groups >= self.cores || bytes.saturating_mul(count) <= self.little);
        meeting.is_served = readers.is_some();
        drop(meeting);
        let Some(readers) = readers else {
            if count > 1 {
                group.changed.notify_all();
            }
            return Ok(Met::All { group, round, operands });
        };
        // SAFETY: the other members wait in `share` until `meeting.end()` below has ended the round.
        let slices = unsafe { slices(&operands) };
        // SAFETY: each closure's owner stays in `share` until `meeting.end()` below has ended the round. This thread's
        // own closure isn't used by its owner meanwhile, because its owner is this function's caller.
        let call = |read: *mut Read<'static>| catch_unwind(AssertUnwindSafe(|| unsafe { (*read)(&slices) }));
        let outcomes = readers.into_iter().map(call).enumerate();
        let mut panics: Vec<_> = outcomes.filter_map(|(place, outcome)| Some((place, outcome.err()?))).collect();
        let own = panics.iter().position(|(whose, _)| *whose == position).map(|i| panics.swap_remove(i).1);
        let mut meeting = lock(&group.meeting);
        meeting.panics.append(&mut panics);
        meeting.end();
        drop(meeting);
        group.changed.notify_all();
        own.map_or(Ok(Met::Served), |panic| resume_unwind(panic))
    }

    /// Reads the operands of a complete group, and waits until all have.
    fn read_here(&self, met: Met<'_>, read: &mut dyn FnMut(&[&[u8]])) {
        let Met::All { group, round, operands } = met else { return };
        // SAFETY: every member stays in `share`, even if it panics, until all have come to `wait_for_readers`, as this
        // one does below.
        let slices = unsafe { slices(&operands) };
        let outcome = catch_unwind(AssertUnwindSafe(|| read(&slices)));
        self.wait_for_readers(group, round);
        if let Err(panic) = outcome {
            resume_unwind(panic);
        }
    }
}

/// The state of a member after its group has met.
enum Met<'g> {
    /// The operands of all members, which this member must read now.
    All { group: &'g Group, round: u64, operands: Vec<(usize, usize)> },
    /// The last member has already read for this one.
    Served,
}

/// Returns operands, given by addresses and lengths, as slices.
///
/// # Safety
///
/// While the slices are in use, the owners of the operands must be in [`Shared::share`], which borrows them.
unsafe fn slices(operands: &[(usize, usize)]) -> Vec<&[u8]> {
    // SAFETY: `share` borrowed each operand as a slice with this address and length, and by this function's contract
    // still does. The shared borrow rules out writes.
    operands.iter().map(|&(p, n)| unsafe { std::slice::from_raw_parts(p as *const u8, n) }).collect()
}

impl Transport for Shared {
    fn share(
        &self,
        device: usize,
        site: usize,
        group: usize,
        mine: &[u8],
        _: &Needs<'_>,
        read: &mut Read<'_>,
    ) -> Result<(), String> {
        // SAFETY: only the lifetime changes. The closure is used only until the round has ended, and `meet` and
        // `read_here` return after that.
        let read = unsafe { std::mem::transmute::<*mut Read<'_>, *mut Read<'static>>(read) };
        let met = self.meet((device, site, group), mine, Some(read))?;
        // SAFETY: `read_here` calls it only for `Met::All`, when each member reads for itself and no other member uses
        // the closure.
        self.read_here(met, unsafe { &mut *read });
        Ok(())
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
                    Some(format!("device {device} ended while other devices wait for it"))
                }
                None => None,
            };
            // Stored before the lock is released, so that a thread that sees `left` also sees the reason.
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
