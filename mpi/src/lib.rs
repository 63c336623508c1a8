//! The processes that an MPI launcher has started, as ranks. Moves bytes between them, and detects ranks that are gone.
//!
//! One thread makes all calls of MPI (`MPI_THREAD_FUNNELED`, which every MPI has), none of which blocks: devices hand
//! their exchanges to it and sleep until they are done. The same thread sends the state of this rank to the other ranks
//! four times a second. So every rank detects a rank that has ended, has stopped answering, or waits for something that
//! will never come; MPI itself would let the others wait forever.

#![cfg(feature = "mpi")]

mod beat;
mod datatype;
mod exchange;
mod funnel;
mod groups;
mod peers;
mod requests;
mod signals;

use std::sync::mpsc::{RecvTimeoutError, channel};
use std::sync::{Arc, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use dialect::ir::ElementType;
use dialect::scalar::ScalarOp;

use runtime::collective::{Combination, Incoming, Outgoing, Route, Watched, Wire, World};

use self::exchange::Exchange;
use self::funnel::Funnel;
use self::requests::Shared;
use self::signals::asked_to_end;
pub use self::signals::exit_at_once;

/// The factor by which MPI's start may take longer than the patience for a silent rank, because it waits for all
/// processes, which the launcher starts one after the other.
const START: u32 = 3;

/// This process among those of its launch.
struct Process {
    rank: usize,
    ranks: usize,
    patience: Duration,
    shared: Arc<Shared>,
    thread: JoinHandle<()>,
}

/// The settings of a [`World`].
pub struct Behavior {
    /// The time after which a silent rank counts as gone.
    pub patience: Duration,
    /// Called when this rank has to end and doesn't end by itself within a moment. It must report the reason it is
    /// given, and end the process.
    pub last_words: Box<dyn Fn(&str) + Send>,
}

/// Joins the other processes of the launch. Each process can do so once.
///
/// # Errors
/// If MPI can't be started, or its thread can't be started.
pub fn join(behavior: Behavior) -> Result<Arc<dyn World>, String> {
    let shared = Arc::new(Shared::default());
    let (tell, told) = channel();
    let patience = behavior.patience;
    let theirs = Arc::clone(&shared);
    let work = move || match Funnel::start(theirs, behavior) {
        Ok(funnel) => {
            let _ = tell.send(Ok((funnel.rank(), funnel.ranks())));
            funnel.run();
        }
        Err(error) => {
            let _ = tell.send(Err(error));
        }
    };
    let thread = std::thread::Builder::new().name("mpi".to_owned()).spawn(work);
    let thread = thread.map_err(|e| format!("the thread for MPI can't be started: {e}"))?;
    let (rank, ranks) = told.recv_timeout(patience * START).map_err(|error| match error {
        RecvTimeoutError::Disconnected => "MPI could not be started".to_owned(),
        RecvTimeoutError::Timeout => {
            let seconds = (patience * START).as_secs_f64();
            format!("MPI has not started within {seconds} s: a process is stopped or can't be reached")
        }
    })??;
    Ok(Arc::new(Process { rank, ranks, patience, shared, thread }))
}

impl Process {
    fn wait_for(&self, exchange: Exchange) -> Result<(), String> {
        let done = exchange.done();
        self.shared.lock().exchanges.push(exchange);
        self.shared.wake();
        let mut result = done.0.lock().unwrap_or_else(PoisonError::into_inner);
        loop {
            if let Some(result) = result.take() {
                return result;
            }
            result = done.1.wait(result).unwrap_or_else(PoisonError::into_inner);
        }
    }
}

impl World for Process {
    fn neighbors(&self) -> usize {
        self.shared.lock().neighbors.max(1)
    }

    fn place(&self, rank: usize) -> String {
        self.shared.lock().places.get(rank).cloned().unwrap_or_else(|| format!("rank {rank}"))
    }

    fn fail(&self, why: &str) {
        let mut queue = self.shared.lock();
        queue.failed.get_or_insert_with(|| why.to_owned());
        drop(queue);
        self.shared.wake();
        let start = Instant::now();
        while !self.shared.lock().told && start.elapsed() < Duration::from_millis(500) {
            std::thread::sleep(Duration::from_millis(5));
        }
    }

    fn finish(self: Arc<Self>) -> Result<(), String> {
        // If another owner still uses MPI, the process ends without leaving it.
        let process = Arc::into_inner(self).ok_or("MPI is still in use")?;
        process.barrier()?;
        process.shared.lock().over = true;
        process.shared.wake();
        let _ = process.thread.join();
        Ok(())
    }
}

impl Wire for Process {
    fn rank(&self) -> usize {
        self.rank
    }

    fn ranks(&self) -> usize {
        self.ranks
    }

    fn exchange(
        &self,
        route: Route,
        sends: &[Outgoing<'_>],
        into: &mut [u8],
        receives: &[Incoming],
    ) -> Result<(), String> {
        self.wait_for(Exchange::of_parts(route, sends, into, receives))
    }

    fn meet(&self, groups: &[Vec<usize>]) -> Result<Vec<Option<usize>>, String> {
        let start = Instant::now();
        let mut asked = self.shared.lock();
        asked.groups = Some(groups.to_vec());
        self.shared.wake();
        // Creating communicators blocks MPI's thread, which receives no messages meanwhile. So this loop watches the
        // time.
        loop {
            if let Some(numbers) = asked.numbers.take() {
                return Ok(numbers?.into_iter().map(Some).collect());
            }
            if let Some(why) = asked.ended.clone() {
                return Err(why);
            }
            if let Some(name) = asked_to_end() {
                let place = asked.places.get(self.rank).cloned().unwrap_or_default();
                return Err(format!("{place} was asked to end by {name}"));
            }
            if start.elapsed() > self.patience {
                let seconds = self.patience.as_secs_f64();
                return Err(format!("the other ranks have not created communicators within {seconds} s"));
            }
            asked = self.shared.wait(asked, Duration::from_millis(50));
        }
    }

    fn can_combine(&self, op: ScalarOp, element: ElementType) -> bool {
        datatype::operation(op, element).is_some()
    }

    fn combine(&self, route: Route, what: &Combination<'_>, into: &mut [u8]) -> Result<(), String> {
        let exchange = Exchange::of_combination(route, what, into);
        self.wait_for(exchange.ok_or("MPI doesn't reduce values of this type")?)
    }

    fn watch(&self, devices: Option<Arc<dyn Watched>>) {
        let mut queue = self.shared.lock();
        if let (Some(devices), Some(why)) = (&devices, &queue.ended) {
            devices.fail(why);
        }
        if let Some(devices) = &devices {
            queue.named = Some(devices.clone());
        }
        queue.watched = devices;
    }
}
