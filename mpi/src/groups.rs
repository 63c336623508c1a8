//! Groups of ranks that have a communicator.

#![allow(unsafe_code, reason = "calls MPI")]

use std::collections::HashMap;
use std::ffi::c_int;

use mpi::ffi;

use super::funnel::check;

/// A group of ranks.
pub(super) struct Group {
    /// The ranks in ascending order.
    pub(super) ranks: Vec<usize>,
    pub(super) comm: ffi::MPI_Comm,
}

/// All groups of ranks that were numbered so far. Each has the same number on all ranks.
#[derive(Default)]
pub(super) struct Groups {
    /// The groups by number; `None` if this rank isn't in the group.
    list: Vec<Option<Group>>,
    /// The number of collectives that this rank has begun in each group.
    begun: Vec<u32>,
    /// The numbers of all groups that have the same ranks.
    of_ranks: HashMap<Vec<usize>, Vec<usize>>,
}

impl Groups {
    /// Returns a group that this rank is in.
    pub(super) fn get(&self, number: usize) -> Option<&Group> {
        self.list.get(number)?.as_ref()
    }

    /// Counts a collective that begins, and returns its number; the first is 1.
    pub(super) fn begin(&mut self, number: usize) -> u32 {
        self.begun[number] = self.begun[number].wrapping_add(1);
        self.begun[number]
    }

    /// Returns the number of collectives that this rank has begun in each group.
    pub(super) fn begun(&self) -> Vec<u32> {
        self.begun.clone()
    }

    /// Numbers these groups, and creates communicators for new ones. All ranks must call it with the same groups; they
    /// wait for each other.
    ///
    /// # Safety
    /// Must run on the thread that makes all calls of MPI.
    pub(super) unsafe fn meet(
        &mut self,
        wanted: &[Vec<usize>],
        rank: usize,
        data: ffi::MPI_Comm,
    ) -> Result<Vec<usize>, String> {
        let mut used: HashMap<&[usize], usize> = HashMap::new();
        let mut numbers = Vec::with_capacity(wanted.len());
        for ranks in wanted {
            let nth = used.entry(ranks).or_insert(0);
            let known = self.of_ranks.entry(ranks.clone()).or_default();
            *nth += 1;
            if known.len() < *nth {
                let number = self.list.len();
                known.push(number);
                let mine = ranks.contains(&rank);
                // SAFETY: this is MPI's thread by this function's contract.
                let comm = mine.then(|| unsafe { communicator(ranks, data, number) }).transpose()?;
                self.list.push(comm.map(|comm| Group { ranks: ranks.clone(), comm }));
                self.begun.push(0);
            }
            numbers.push(known[*nth - 1]);
        }
        Ok(numbers)
    }
}

/// Creates a communicator of these ranks. All of them must call this, and must create communicators in the same order.
///
/// # Safety
/// Must run on the thread that makes all calls of MPI.
unsafe fn communicator(ranks: &[usize], data: ffi::MPI_Comm, number: usize) -> Result<ffi::MPI_Comm, String> {
    let list: Vec<c_int> = ranks.iter().map(|&rank| rank as c_int).collect();
    // SAFETY: this is MPI's thread by this function's contract; every pointer is to a local variable.
    unsafe {
        let (mut all, mut some, mut comm) = (ffi::RSMPI_GROUP_NULL, ffi::RSMPI_GROUP_NULL, ffi::RSMPI_COMM_NULL);
        check(ffi::MPI_Comm_group(data, &mut all), "create a group")?;
        check(ffi::MPI_Group_incl(all, list.len() as c_int, list.as_ptr(), &mut some), "create a group")?;
        check(ffi::MPI_Comm_create_group(data, some, number as c_int, &mut comm), "create a communicator")?;
        check(ffi::MPI_Comm_set_errhandler(comm, ffi::RSMPI_ERRORS_RETURN), "return errors")?;
        ffi::MPI_Group_free(&mut some);
        ffi::MPI_Group_free(&mut all);
        Ok(comm)
    }
}
