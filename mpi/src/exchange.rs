//! Exchanges that threads request, and the MPI requests that carry them out: messages between two ranks, or a
//! collective of a group.

#![allow(unsafe_code, reason = "calls MPI")]

use std::ffi::c_int;
use std::sync::{Arc, Condvar, Mutex, PoisonError};

use mpi::ffi;

use super::beat::Pending;
use super::datatype::{Bytes, operation, typed};
use super::funnel::check;
use super::groups::Groups;
use runtime::collective::{Combination, Incoming, Outgoing, Part, Route};

/// The address of no data. A dangling pointer to bytes is 1, which Open MPI takes for `MPI_IN_PLACE`.
static NOTHING: u8 = 0;

/// The result of an exchange, and the condition variable by which its thread waits for it.
pub(super) type Done = Arc<(Mutex<Option<Result<(), String>>>, Condvar)>;

/// Parts of operands, each with its rank and its operand's address. The parts of a rank are next to each other.
type Parts = Vec<(usize, (*const u8, Part))>;

/// The work of an exchange.
enum Work {
    /// Sends and receives bytes.
    Parts { sends: Parts, receives: Parts },
    /// Combines elements.
    Combine { operation: ffi::MPI_Op, datatype: ffi::MPI_Datatype, from: *const u8, into: *mut u8, count: usize },
}

/// An exchange that a thread waits for.
pub(super) struct Exchange {
    route: Route,
    work: Work,
    pub(super) requests: Vec<ffi::MPI_Request>,
    /// The rank of each request; empty for a collective.
    ranks: Vec<u32>,
    /// For a collective: its number in its group, and the other ranks of the group.
    collective: Option<(u32, Vec<u32>)>,
    /// Counts, displacements and datatypes, which MPI reads until the exchange is done.
    numbers: [Vec<c_int>; 3],
    types: [Vec<ffi::MPI_Datatype>; 2],
    /// Datatypes to free when the exchange is done.
    made: Vec<ffi::MPI_Datatype>,
    done: Done,
}

// SAFETY: the pointers are to memory of the thread that waits for the exchange (`Process::wait_for`). It borrows the
// memory and doesn't touch it until the exchange is done; after an error the memory is leaked.
unsafe impl Send for Exchange {}

impl Exchange {
    fn new(route: Route, work: Work) -> Self {
        Self {
            route,
            work,
            requests: Vec::new(),
            ranks: Vec::new(),
            collective: None,
            numbers: Default::default(),
            types: Default::default(),
            made: Vec::new(),
            done: Arc::default(),
        }
    }

    /// Creates an exchange of parts of operands.
    pub(super) fn of_parts(route: Route, sends: &[Outgoing<'_>], into: &mut [u8], receives: &[Incoming]) -> Self {
        let fits = |of: usize, part: &Part| {
            let last = part.count.checked_sub(1).filter(|_| part.run > 0);
            let end = last.map_or(0, |last| part.first + last * part.stride + part.run);
            assert!(part.of <= of && end <= part.of, "a part is inside of its operand");
        };
        let base = into.as_mut_ptr();
        let send = |send: &Outgoing<'_>| {
            fits(send.operand.len(), &send.part);
            (send.to, (send.operand.as_ptr(), send.part))
        };
        let receive = |receive: &Incoming| {
            fits(into.len().saturating_sub(receive.start), &receive.part);
            (receive.from, (base.cast_const().wrapping_add(receive.start), receive.part))
        };
        let some = |entry: &(usize, (*const u8, Part))| entry.1.1.bytes() > 0;
        let (sends, receives) =
            (sends.iter().map(send).filter(some).collect(), receives.iter().map(receive).filter(some).collect());
        Self::new(route, Work::Parts { sends, receives })
    }

    /// Creates an exchange that combines elements. Returns `None` if MPI has no such operation, or if the result has
    /// the wrong size.
    pub(super) fn of_combination(route: Route, what: &Combination<'_>, into: &mut [u8]) -> Option<Self> {
        let (operation, datatype) = operation(what.op, what.element)?;
        let count = what.operand.len() / what.element.bytes().max(1);
        let work = Work::Combine { operation, datatype, from: what.operand.as_ptr(), into: into.as_mut_ptr(), count };
        let mut exchange = Self::new(route, work);
        if let Some(counts) = &what.counts {
            exchange.numbers[0] = counts.iter().map(|&count| c_int::try_from(count).ok()).collect::<Option<_>>()?;
        }
        let is_whole = what.counts.is_some() || into.len() == what.operand.len();
        (is_whole && c_int::try_from(count).is_ok()).then_some(exchange)
    }

    /// Returns the number of elements of the result for each rank of a group; `None` if each rank gets the whole
    /// result.
    fn counts(&self) -> Option<&[c_int]> {
        Some(&self.numbers[0][..]).filter(|counts| !counts.is_empty())
    }

    pub(super) fn done(&self) -> Done {
        Arc::clone(&self.done)
    }

    pub(super) fn end(&self, result: Result<(), String>) {
        *self.done.0.lock().unwrap_or_else(PoisonError::into_inner) = Some(result);
        self.done.1.notify_all();
    }

    /// Returns the ranks for which the exchange still waits.
    pub(super) fn pending(&self) -> Pending {
        let mut ranks = self.ranks.clone();
        ranks.sort_unstable();
        ranks.dedup();
        let number = self.collective.as_ref().map(|(number, others)| {
            ranks.clone_from(others);
            (self.route.group.unwrap_or(0) as u32, *number)
        });
        Pending { tag: self.route.tag, ranks, collective: number }
    }

    /// Starts the exchange's MPI requests.
    ///
    /// # Safety
    /// Must run on the thread that makes all calls of MPI. The memory must live until the exchange is done, or forever
    /// after an error.
    pub(super) unsafe fn post(&mut self, data: ffi::MPI_Comm, groups: &mut Groups, rank: usize) -> Result<(), String> {
        let Some(number) = self.route.group else {
            // SAFETY: `post_messages` has the contract of this function.
            return unsafe { self.post_messages(data) };
        };
        let group = groups.get(number).ok_or("an exchange in a group that this rank isn't in")?;
        let others = group.ranks.iter().filter(|&&r| r != rank).map(|&r| r as u32).collect();
        let (comm, ranks) = (group.comm, group.ranks.clone());
        self.collective = Some((groups.begin(number), others));
        // SAFETY: `post_collective` has the contract of this function.
        unsafe { self.post_collective(comm, &ranks) }
    }

    /// Starts one message to and one from each rank.
    ///
    /// # Safety
    ///
    /// The contract of [`Self::post`] must hold.
    unsafe fn post_messages(&mut self, comm: ffi::MPI_Comm) -> Result<(), String> {
        let Work::Parts { sends, receives } = &self.work else {
            return Err("ranks combine only in groups".to_owned());
        };
        for (all, is_send) in [(receives, false), (sends, true)] {
            for of_rank in all.chunk_by(|a, b| a.0 == b.0) {
                let rank = of_rank[0].0;
                let parts: Vec<(*const u8, Part)> = of_rank.iter().map(|entry| entry.1).collect();
                // SAFETY: this static is a constant of the library.
                let mut request = unsafe { ffi::RSMPI_REQUEST_NULL };
                // SAFETY: this is MPI's thread, and the memory of `parts` lives until the exchange is done, both by the
                // contract of `post`.
                let code = unsafe {
                    let (start, count, datatype) = match Bytes::of(&parts)? {
                        Bytes::Run { start, count } => (start, count, ffi::RSMPI_UINT8_T),
                        Bytes::Apart { base, datatype } => {
                            self.made.push(datatype);
                            (base, 1, datatype)
                        }
                    };
                    let (rank, tag) = (rank as c_int, self.route.tag as c_int);
                    if is_send {
                        ffi::MPI_Isend(start.cast(), count, datatype, rank, tag, comm, &mut request)
                    } else {
                        ffi::MPI_Irecv(start.cast_mut().cast(), count, datatype, rank, tag, comm, &mut request)
                    }
                };
                check(code, if is_send { "send" } else { "receive" })?;
                self.requests.push(request);
                self.ranks.push(rank as u32);
            }
        }
        Ok(())
    }

    /// Starts one collective of the group that has this communicator and these ranks.
    ///
    /// # Safety
    ///
    /// The contract of [`Self::post`] must hold.
    unsafe fn post_collective(&mut self, comm: ffi::MPI_Comm, ranks: &[usize]) -> Result<(), String> {
        // SAFETY: this static is a constant of the library.
        let mut request = unsafe { ffi::RSMPI_REQUEST_NULL };
        let code = match &self.work {
            &Work::Combine { operation, datatype, from, into, count } => {
                let (from, into) = (from.cast(), into.cast());
                // SAFETY: `of_combination` has taken `count` from the operand. Without `counts` it has checked that the
                // result is as large; with `counts`, `combine_across` passes memory for the whole result. Both buffers
                // live until the exchange is done, by the contract of `post`.
                unsafe {
                    match self.counts() {
                        None => {
                            ffi::MPI_Iallreduce(from, into, count as c_int, datatype, operation, comm, &mut request)
                        }
                        Some(counts) => {
                            let counts = counts.as_ptr();
                            ffi::MPI_Ireduce_scatter(from, into, counts, datatype, operation, comm, &mut request)
                        }
                    }
                }
            }
            Work::Parts { sends, receives } => {
                // Each rank has one datatype, with addresses relative to the first operand's.
                self.numbers = [vec![0; ranks.len()], vec![0; ranks.len()], vec![0; ranks.len()]];
                // SAFETY: this static is a constant of the library.
                self.types = [(); 2].map(|()| vec![unsafe { ffi::RSMPI_UINT8_T }; ranks.len()]);
                let mut bases = [std::ptr::null(); 2];
                for (side, all) in [sends, receives].into_iter().enumerate() {
                    bases[side] = all.first().map_or(&raw const NOTHING, |entry| entry.1.0);
                    for of_rank in all.chunk_by(|a, b| a.0 == b.0) {
                        let at = ranks.binary_search(&of_rank[0].0).map_err(|_| "a rank outside of the group")?;
                        let parts: Vec<(*const u8, Part)> = of_rank.iter().map(|entry| entry.1).collect();
                        // SAFETY: this is MPI's thread by the contract of `post`.
                        let datatype = unsafe { typed(&parts, bases[side]) }?;
                        self.made.push(datatype);
                        self.types[side][at] = datatype;
                        self.numbers[side][at] = 1;
                    }
                }
                let [sent, received, zeros] = self.numbers.each_ref().map(|numbers| numbers.as_ptr());
                let [sent_types, received_types] = self.types.each_ref().map(|types| types.as_ptr());
                let (from, into) = (bases[0].cast(), bases[1].cast_mut().cast());
                // SAFETY: each array was allocated above with `ranks.len()` elements, and lives in this exchange.
                unsafe {
                    ffi::MPI_Ialltoallw(
                        from,
                        sent,
                        zeros,
                        sent_types,
                        into,
                        received,
                        zeros,
                        received_types,
                        comm,
                        &mut request,
                    )
                }
            }
        };
        check(code, "run a collective")?;
        self.requests.push(request);
        self.ranks.push(0);
        Ok(())
    }

    /// Removes the requests with these indices, which are done. Returns whether none is left, and in that case frees
    /// the exchange's datatypes.
    ///
    /// # Safety
    /// Must run on the thread that makes all calls of MPI.
    pub(super) unsafe fn forget(&mut self, mut completed: Vec<usize>) -> bool {
        completed.sort_unstable();
        for i in completed.into_iter().rev() {
            self.requests.swap_remove(i);
            self.ranks.swap_remove(i);
        }
        if self.requests.is_empty() {
            for mut datatype in self.made.drain(..) {
                // SAFETY: this exchange has created the datatype, and all its requests are done, so nothing uses it
                // anymore.
                unsafe { ffi::MPI_Type_free(&mut datatype) };
            }
        }
        self.requests.is_empty()
    }
}
