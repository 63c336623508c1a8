//! The thread that makes all calls of MPI.

#![allow(unsafe_code, reason = "calls MPI")]

use std::ffi::c_int;
use std::sync::Arc;
use std::time::{Duration, Instant};

use mpi::ffi;

use super::Behavior;
use super::beat::{Beat, STILL, is_forever};
use super::exchange::Exchange;
use super::groups::Groups;
use super::peers::{CARD, Peer, card};
use super::requests::Shared;
use super::signals::{self, asked_to_end};

/// The interval between two beats of a rank.
const BEAT: Duration = Duration::from_millis(250);
/// The time that this process has to end by itself after a failure, and after a signal. Launchers kill a process one
/// second after the signal.
const GRACE: [Duration; 2] = [Duration::from_secs(2), Duration::from_millis(300)];
/// The time during which the last message of an ended rank may still be on its way.
const ON_ITS_WAY: Duration = Duration::from_millis(60);
/// The number of times that the thread polls MPI without sleeping in between.
const EAGER: u32 = 200;

/// Tags of the messages about ranks' states, which have a communicator of their own.
const TAG_BEAT: c_int = 1;
const TAG_FAILED: c_int = 2;

/// A message that is being sent to a rank.
struct Letter {
    to: usize,
    request: ffi::MPI_Request,
    _bytes: Vec<u8>,
}

/// The state of the thread.
pub(super) struct Funnel {
    shared: Arc<Shared>,
    behavior: Behavior,
    data: ffi::MPI_Comm,
    control: ffi::MPI_Comm,
    groups: Groups,
    rank: usize,
    peers: Vec<Peer>,
    active: Vec<Exchange>,
    letters: Vec<Letter>,
    /// The reason why no exchange works anymore, and the time at which the process has to end.
    ended: Option<(String, Instant)>,
    /// The time of the last event on any rank.
    moved: Instant,
    /// The number of completed exchanges.
    version: u64,
}

pub(super) fn check(code: c_int, what: &str) -> Result<(), String> {
    if code == 0 { Ok(()) } else { Err(format!("MPI can't {what}: error {code}")) }
}

impl Funnel {
    /// Starts MPI on this thread, and exchanges cards with the other ranks.
    pub(super) fn start(shared: Arc<Shared>, behavior: Behavior) -> Result<Self, String> {
        let (mut provided, mut rank, mut ranks) = (0, 0, 0);
        let (mut data, mut control);
        let mut cards;
        // SAFETY: MPI is started once, by this thread, which makes all its calls; every pointer is to a local variable.
        unsafe {
            (data, control) = (ffi::RSMPI_COMM_NULL, ffi::RSMPI_COMM_NULL);
            let none = std::ptr::null_mut();
            check(ffi::MPI_Init_thread(none, none.cast(), ffi::RSMPI_THREAD_FUNNELED, &mut provided), "start")?;
            if provided < ffi::RSMPI_THREAD_FUNNELED {
                return Err("this MPI doesn't support programs with threads".to_owned());
            }
            let world = ffi::RSMPI_COMM_WORLD;
            check(ffi::MPI_Comm_rank(world, &mut rank), "return the rank")?;
            check(ffi::MPI_Comm_size(world, &mut ranks), "return the number of ranks")?;
            check(ffi::MPI_Comm_dup(world, &mut data), "create a communicator")?;
            check(ffi::MPI_Comm_dup(world, &mut control), "create a communicator")?;
            for comm in [data, control] {
                check(ffi::MPI_Comm_set_errhandler(comm, ffi::RSMPI_ERRORS_RETURN), "return errors")?;
            }
            cards = vec![0u8; CARD * ranks as usize];
            let (mine, byte) = (card(), ffi::RSMPI_UINT8_T);
            let (from, to) = (mine.as_ptr().cast(), cards.as_mut_ptr().cast());
            check(
                ffi::MPI_Allgather(from, CARD as c_int, byte, to, CARD as c_int, byte, control),
                "reach the other ranks",
            )?;
        }
        signals::handle();
        let peers: Vec<Peer> = cards.chunks_exact(CARD).map(Peer::new).collect();
        let place =
            |(rank, peer): (usize, &Peer)| format!("rank {rank} (host {}, process {})", peer.host, peer.process);
        let mut asked = shared.lock();
        asked.places = peers.iter().enumerate().map(place).collect();
        asked.neighbors = peers.iter().filter(|peer| peer.is_here()).count();
        drop(asked);
        Ok(Self {
            shared,
            behavior,
            data,
            control,
            groups: Groups::default(),
            rank: rank as usize,
            peers,
            active: Vec::new(),
            letters: Vec::new(),
            ended: None,
            moved: Instant::now(),
            version: 0,
        })
    }

    pub(super) fn rank(&self) -> usize {
        self.rank
    }

    pub(super) fn ranks(&self) -> usize {
        self.peers.len()
    }

    /// Returns all ranks but this one.
    fn others(&self) -> impl Iterator<Item = usize> + use<> {
        let rank = self.rank;
        (0..self.peers.len()).filter(move |&other| other != rank)
    }

    /// Runs the thread's loop until `over` is set.
    pub(super) fn run(mut self) {
        let (mut beat, mut idle, mut looked) = (Instant::now(), 0u32, Instant::now());
        loop {
            let (new, groups, failed, over) = {
                let mut asked = self.shared.lock();
                (std::mem::take(&mut asked.exchanges), asked.groups.take(), asked.failed.take(), asked.over)
            };
            if self.ended.is_some() {
                self.keep_out(new, failed.is_some());
                continue;
            }
            if over {
                // SAFETY: all ranks are here, because `World::finish` sets `over` after a barrier. This thread has
                // started MPI.
                unsafe { ffi::MPI_Finalize() };
                return;
            }
            if let Some(groups) = groups {
                // This call waits for other ranks. The requesting thread checks for failures meanwhile.
                // SAFETY: this thread makes all calls of MPI.
                let numbers = unsafe { self.groups.meet(&groups, self.rank, self.data) };
                self.shared.lock().numbers = Some(numbers);
                self.shared.wake();
            }
            let mut busy = !new.is_empty();
            new.into_iter().for_each(|exchange| self.begin(exchange));
            busy |= self.progress();
            if let Some(why) = failed {
                self.end(&format!("{} failed: {why}", self.place(self.rank)), GRACE[0]);
            }
            if self.ended.is_some() {
                continue;
            }
            let now = Instant::now();
            // A launcher that ends its processes doesn't wait long.
            if now - beat >= BEAT || asked_to_end().is_some() {
                if now - looked > 4 * BEAT {
                    // This process itself was suspended, so messages that the other ranks sent meanwhile are still
                    // unread.
                    self.peers.iter_mut().for_each(|peer| peer.heard = now);
                    self.moved = now;
                }
                beat = now;
                self.listen();
                self.look();
                if self.ended.is_some() {
                    continue;
                }
                self.speak();
            } else if idle % 16 == 0 {
                self.listen();
            }
            looked = now;
            idle = if busy { 0 } else { idle.saturating_add(1) };
            if idle < EAGER && !self.active.is_empty() {
                std::thread::yield_now();
                continue;
            }
            // Sleeps shortly while an exchange is active. A new exchange ends the sleep.
            let nap = if self.active.is_empty() { 10_000 } else { (u64::from(idle) / 4).clamp(50, 500) };
            let asked = self.shared.lock();
            if asked.exchanges.is_empty() && asked.groups.is_none() && asked.failed.is_none() && !asked.over {
                drop(self.shared.wait(asked, Duration::from_micros(nap)));
            }
        }
    }

    /// Does the remaining work after a failure, without calling MPI: threads that waited for an exchange have gone on
    /// and may have freed memory that MPI would still send.
    fn keep_out(&mut self, exchanges: Vec<Exchange>, has_failed: bool) {
        let Some((why, end)) = &mut self.ended else { return };
        if asked_to_end().is_some() {
            *end = (*end).min(Instant::now() + GRACE[1]);
        }
        exchanges.iter().for_each(|exchange| exchange.end(Err(why.clone())));
        if Instant::now() >= *end {
            (self.behavior.last_words)(why);
        }
        let mut asked = self.shared.lock();
        // The other ranks have been informed of the first failure.
        asked.told |= has_failed;
        if asked.exchanges.is_empty() && asked.failed.is_none() {
            drop(self.shared.wait(asked, BEAT / 10));
        }
    }

    /// Starts an exchange.
    fn begin(&mut self, mut exchange: Exchange) {
        if let Some((why, _)) = &self.ended {
            return exchange.end(Err(why.clone()));
        }
        // SAFETY: this thread makes all calls of MPI. The thread that waits for the exchange keeps its memory.
        let result = unsafe { exchange.post(self.data, &mut self.groups, self.rank) };
        self.active.push(exchange);
        if let Err(why) = result {
            self.end(&why, GRACE[0]);
        }
    }

    /// Lets MPI work, and completes the exchanges that are done. Returns whether there was progress.
    fn progress(&mut self) -> bool {
        let (mut any, mut fault) = (false, None);
        let mut completed: Vec<c_int> = Vec::new();
        self.active.retain_mut(|exchange| {
            let mut count = 0;
            completed.resize(exchange.requests.len(), 0);
            // SAFETY: the requests were made by this thread, and `completed` was resized to their number.
            let code = unsafe {
                ffi::MPI_Testsome(
                    exchange.requests.len() as c_int,
                    exchange.requests.as_mut_ptr(),
                    &mut count,
                    completed.as_mut_ptr(),
                    ffi::RSMPI_STATUSES_IGNORE,
                )
            };
            if let Err(why) = check(code, "exchange bytes") {
                fault = Some(why);
                return true;
            }
            // The count is undefined if there are no requests at all.
            let count = usize::try_from(count).unwrap_or(0).min(exchange.requests.len());
            any |= count > 0;
            let done: Vec<usize> = completed[..count].iter().map(|&i| i as usize).collect();
            // SAFETY: this thread makes all calls of MPI.
            if unsafe { exchange.forget(done) } {
                exchange.end(Ok(()));
                any = true;
                return false;
            }
            true
        });
        if any {
            self.version += 1;
        }
        if let Some(why) = fault {
            self.end(&why, GRACE[0]);
        }
        any
    }

    /// Reads the messages of the other ranks.
    fn listen(&mut self) {
        loop {
            let mut flag = 0;
            // SAFETY: `status` is read only if `MPI_Iprobe` has found a message and written it.
            let (from, tag, bytes) = unsafe {
                let mut status: ffi::MPI_Status = std::mem::zeroed();
                let (any, every) = (ffi::RSMPI_ANY_SOURCE, ffi::RSMPI_ANY_TAG);
                let code = ffi::MPI_Iprobe(any, every, self.control, &mut flag, &mut status);
                if code != 0 || flag == 0 {
                    return;
                }
                let mut count = 0;
                ffi::MPI_Get_count(&status, ffi::RSMPI_UINT8_T, &mut count);
                let (from, tag) = (status.MPI_SOURCE, status.MPI_TAG);
                let mut bytes = vec![0u8; count.max(0) as usize];
                let place = bytes.as_mut_ptr().cast();
                // The message has already arrived, so this doesn't wait.
                let nothing = ffi::RSMPI_STATUS_IGNORE;
                let code = ffi::MPI_Recv(place, count, ffi::RSMPI_UINT8_T, from, tag, self.control, nothing);
                if code != 0 {
                    return;
                }
                (from as usize, tag, bytes)
            };
            let Some(peer) = self.peers.get_mut(from) else { continue };
            peer.heard = Instant::now();
            if tag == TAG_FAILED {
                return self.end(&String::from_utf8_lossy(&bytes), GRACE[0]);
            } else if let Some(beat) = Beat::decode(&bytes)
                && peer.says(beat)
            {
                self.moved = peer.heard;
            }
        }
    }

    /// Sends the state of this rank to the other ranks.
    fn speak(&mut self) {
        let watched = self.shared.lock().watched.clone();
        let state = watched.as_ref().map(|watched| watched.state());
        let beat = Beat {
            version: self.version + state.as_ref().map_or(0, |state| state.0),
            devices: state.map(|state| state.1),
            pending: self.active.iter().map(Exchange::pending).collect(),
            begun: self.groups.begun(),
        };
        let bytes = beat.encode();
        if self.peers[self.rank].says(beat) {
            self.moved = Instant::now();
        }
        for to in self.others() {
            // A rank that doesn't receive gets no further messages.
            if !self.letters.iter().any(|letter| letter.to == to) {
                self.send(to, TAG_BEAT, bytes.clone());
            }
        }
    }

    fn send(&mut self, to: usize, tag: c_int, bytes: Vec<u8>) {
        // SAFETY: the letter owns the bytes, and `post` drops it only when MPI reports them sent, or an error.
        unsafe {
            let mut request = ffi::RSMPI_REQUEST_NULL;
            let (place, count) = (bytes.as_ptr().cast(), bytes.len() as c_int);
            let code = ffi::MPI_Isend(place, count, ffi::RSMPI_UINT8_T, to as c_int, tag, self.control, &mut request);
            if code == 0 {
                self.letters.push(Letter { to, request, _bytes: bytes });
            }
        }
        self.post();
    }

    /// Drops letters that are sent.
    fn post(&mut self) {
        self.letters.retain_mut(|letter| {
            let mut flag = 0;
            // SAFETY: the request was made by this thread.
            let code = unsafe { ffi::MPI_Test(&mut letter.request, &mut flag, ffi::RSMPI_STATUS_IGNORE) };
            code == 0 && flag == 0
        });
    }

    /// Informs the other ranks of a failure, and gives MPI at most the time `most` to send the messages.
    fn tell_failure(&mut self, why: &str, most: Duration) {
        for to in self.others() {
            self.send(to, TAG_FAILED, why.as_bytes().to_vec());
        }
        let start = Instant::now();
        while !self.letters.is_empty() && start.elapsed() < most {
            self.post();
            std::thread::yield_now();
        }
        self.shared.lock().told = true;
    }

    /// Checks that every rank is alive, and that not all of them wait forever.
    fn look(&mut self) {
        self.post();
        let others = || self.others();
        let gone: Vec<usize> = others().filter(|&rank| self.peers[rank].has_ended()).collect();
        let asked = asked_to_end();
        if !gone.is_empty() {
            return self.lost(gone);
        }
        if let Some(name) = asked {
            return self.end(&format!("{} was asked to end by {name}", self.place(self.rank)), GRACE[1]);
        }
        let silent = others().find(|&rank| self.peers[rank].heard.elapsed() > self.behavior.patience);
        if let Some(rank) = silent {
            let (place, scene) = (self.place(rank), self.scene(rank));
            let seconds = self.behavior.patience.as_secs_f64();
            return self.end(&format!("{place} has not answered for {seconds} s{scene}"), GRACE[0]);
        }
        let recent = others().all(|rank| self.peers[rank].heard.elapsed() < STILL);
        if recent && self.moved.elapsed() > STILL {
            let beats: Vec<Beat> = self.peers.iter().map(|peer| peer.beat.clone()).collect();
            if is_forever(&beats) {
                let scenes: Vec<String> = (0..self.peers.len()).map(|rank| self.scene(rank)).collect();
                let scenes = scenes.concat().trim_start_matches("; ").to_owned();
                self.end(&format!("all devices wait for each other: {scenes}"), GRACE[0]);
            }
        }
    }

    /// Ends because these ranks are gone. A rank that ended because of another one has sent the other's name, so this
    /// first waits for such a message. Without one, the error names all gone ranks, beginning with the one that fell
    /// silent first.
    fn lost(&mut self, mut gone: Vec<usize>) {
        let start = Instant::now();
        while self.ended.is_none() && start.elapsed() < ON_ITS_WAY {
            self.listen();
            std::thread::sleep(Duration::from_millis(1));
        }
        gone.sort_by_key(|&rank| self.peers[rank].heard);
        let each = |&rank: &usize| format!("{} has ended{}", self.place(rank), self.scene(rank));
        let why: Vec<String> = gone.iter().map(each).collect();
        self.end(&why.join("; "), GRACE[1]);
    }

    fn place(&self, rank: usize) -> String {
        self.shared.lock().places.get(rank).cloned().unwrap_or_else(|| format!("rank {rank}"))
    }

    /// Describes the last known states of the devices of a rank.
    fn scene(&self, rank: usize) -> String {
        let states = &self.peers[rank].devices;
        let named = self.shared.lock().named.clone();
        let text = named.map(|named| named.describe(rank, states)).unwrap_or_default();
        if text.is_empty() { text } else { format!("; on rank {rank} {text}") }
    }

    /// Ends all waits for this reason. The process ends after `grace` at the latest. The other ranks are informed
    /// first, while the memory that MPI may still send exists.
    fn end(&mut self, why: &str, grace: Duration) {
        if self.ended.is_some() {
            return;
        }
        self.tell_failure(why, grace / 8);
        self.ended = Some((why.to_owned(), Instant::now() + grace));
        let watched = {
            let mut asked = self.shared.lock();
            asked.ended = Some(why.to_owned());
            asked.watched.clone()
        };
        if let Some(watched) = watched {
            watched.fail(why);
        }
        for exchange in &self.active {
            exchange.end(Err(why.to_owned()));
        }
        self.active.clear();
    }
}
