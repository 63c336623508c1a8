//! The processes that a launcher (mpirun, srun, Kubernetes' MPI operator) started to run one program together.

use std::sync::Arc;
use std::time::Duration;

use runtime::collective::World;
use serde::{Deserialize, Serialize};

use super::session::{Failure, Session};
use crate::{RankInputs, Ranks};

/// The default limit on the silence of another process, in seconds.
pub(crate) const PATIENCE: f64 = 10.0;

/// The launcher's information about this process.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Launched {
    pub(crate) rank: usize,
    pub(crate) ranks: usize,
    /// The launcher's name.
    pub(crate) by: &'static str,
}

/// The environment variables in which launchers pass a process's rank and the number of ranks. For Slurm they are those
/// of a job step, because the variables of a job are also set in its script, which runs once.
const VARIABLES: &[(&str, &str, &str)] = &[
    ("OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE", "Open MPI"),
    ("PMI_RANK", "PMI_SIZE", "PMI"),
    ("SLURM_PROCID", "SLURM_STEP_NUM_TASKS", "Slurm"),
];

/// Returns the launcher's information about this process, if there is a launcher; `variable` reads the environment.
pub(crate) fn launched(variable: impl Fn(&str) -> Option<String>) -> Option<Launched> {
    let number = |name: &str| variable(name)?.trim().parse::<usize>().ok();
    let said = |&(rank, ranks, by): &(&str, &str, &'static str)| {
        let (rank, ranks) = (number(rank)?, number(ranks)?);
        (rank < ranks).then_some(Launched { rank, ranks, by })
    };
    VARIABLES.iter().find_map(said)
}

/// The settings on which processes must agree before they run a program together.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub(crate) struct Identity {
    pub(crate) version: String,
    pub(crate) name: String,
    pub(crate) program: u64,
    pub(crate) options: String,
}

impl Identity {
    /// Describes the first difference to another process.
    fn difference(&self, other: &Identity) -> Option<String> {
        if self.version != other.version {
            return Some(format!("runs shardc {}, not {}", other.version, self.version));
        }
        if self.program != other.program {
            let (mine, theirs) = (self.program, other.program);
            return Some(format!(
                "runs another program: {} ({theirs:016x}), not {} ({mine:016x})",
                other.name, self.name
            ));
        }
        let (mine, theirs) = (&self.options, &other.options);
        (mine != theirs).then(|| format!("runs with other options: {theirs}, not {mine}"))
    }
}

/// The position of this process among those of its launch.
pub(crate) struct Here {
    world: Arc<dyn World>,
    pub(crate) rank: usize,
    pub(crate) ranks: usize,
}

#[cfg(not(feature = "mpi"))]
fn join(Launched { rank, ranks, by }: Launched, _: Duration) -> Result<Arc<dyn World>, Failure> {
    Err(Failure::Usage(format!(
        "{by} started this process as number {rank} of {ranks}, but this shardc was built without MPI; build it with: \
        cargo build --release -p shardc --features mpi"
    )))
}

#[cfg(feature = "mpi")]
fn join(Launched { rank, .. }: Launched, patience: Duration) -> Result<Arc<dyn World>, Failure> {
    let last_words = Box::new(move |why: &str| {
        // Write to standard error directly, because a thread that never ends may be using the session's stream.
        eprintln!("shardc: rank {rank}: {why}");
        shardc_mpi::exit_at_once(super::FAILED);
    });
    shardc_mpi::join(shardc_mpi::Behavior { patience, last_words }).map_err(Failure::System)
}

impl Here {
    /// Joins the other processes, if there are any. From then on the session reports as one rank, and only the first
    /// rank prints results.
    pub(crate) fn join(session: &mut Session<'_>, patience: Duration) -> Result<Option<Self>, Failure> {
        let Some(launched) = launched(|name| std::env::var(name).ok()).filter(|launched| launched.ranks > 1) else {
            return Ok(None);
        };
        let world = join(launched, patience)?;
        let (rank, ranks) = (world.rank(), world.ranks());
        if ranks != launched.ranks {
            let Launched { rank, ranks: expected, by } = launched;
            return Err(Failure::Usage(format!(
                "{by} started this process as number {rank} of {expected}, but MPI reports {ranks}: launcher and library \
                don't match (with Slurm: srun --mpi=pmix or --mpi=pmi2, whichever the library was built for)"
            )));
        }
        session.speak_as(rank, world.place(rank));
        Ok(Some(Self { world, rank, ranks }))
    }

    /// Fails on all ranks if their settings differ.
    pub(crate) fn agree(&self, mine: &Identity) -> Result<(), Failure> {
        let all = self.together(&serde_json::to_vec(mine).unwrap_or_default())?;
        let read = |bytes: &Vec<u8>| serde_json::from_slice::<Identity>(bytes).ok();
        let first = read(&all[0]);
        for (rank, theirs) in all.iter().enumerate() {
            let difference = match (&first, read(theirs)) {
                (Some(first), Some(theirs)) => first.difference(&theirs),
                _ => Some("is another version of shardc".to_owned()),
            };
            if let Some(difference) = difference {
                return Err(Failure::Usage(format!("{} {difference}, as rank 0 does", self.place(rank))));
            }
        }
        Ok(())
    }

    /// Gathers the bytes of every rank, once all have sent theirs.
    pub(crate) fn together(&self, mine: &[u8]) -> Result<Vec<Vec<u8>>, Failure> {
        self.world.everybody(mine).map_err(Failure::System)
    }

    /// Describes the location of a rank.
    pub(crate) fn place(&self, rank: usize) -> String {
        self.world.place(rank)
    }

    /// Returns the options for execution. With `gather`, the first rank gets all results; with `fast_reduce`, sums may
    /// be in any order.
    pub(crate) fn options(&self, gather: bool, inputs: RankInputs, fast_reduce: bool) -> Ranks {
        Ranks { wire: self.world.clone(), neighbors: self.world.neighbors(), gather, inputs, fast_reduce }
    }

    /// Waits for the other ranks and leaves MPI.
    pub(crate) fn finish(self) -> Result<(), Failure> {
        self.world.finish().map_err(Failure::System)
    }

    /// Reports the failure of this rank to the others.
    pub(crate) fn fail(&self, why: &str) {
        self.world.fail(why);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranks_are_read_from_the_variables_of_launchers() {
        let read = |set: &[(&str, &str)]| {
            launched(|name| set.iter().find(|v| v.0 == name).map(|v| v.1.to_owned()))
                .map(|Launched { rank, ranks, by }| (rank, ranks, by))
        };
        assert_eq!(read(&[("OMPI_COMM_WORLD_RANK", "2"), ("OMPI_COMM_WORLD_SIZE", "4")]), Some((2, 4, "Open MPI")));
        assert_eq!(read(&[("PMI_RANK", "0"), ("PMI_SIZE", "2")]), Some((0, 2, "PMI")));
        // A job step of Slurm, and the script of a job, which runs once.
        assert_eq!(read(&[("SLURM_PROCID", "1"), ("SLURM_STEP_NUM_TASKS", "8")]), Some((1, 8, "Slurm")));
        assert_eq!(read(&[("SLURM_PROCID", "0"), ("SLURM_NTASKS", "8")]), None);
        assert_eq!(read(&[("PMI_RANK", "2"), ("PMI_SIZE", "2")]), None);
        assert_eq!(read(&[]), None);
    }

    #[test]
    fn differences_between_ranks_are_named() {
        let one = Identity { version: "1".into(), name: "a.mlir".into(), program: 1, options: "{}".into() };
        assert_eq!(one.difference(&one.clone()), None);
        let two = Identity { program: 2, name: "b.mlir".into(), ..one.clone() };
        assert!(one.difference(&two).is_some_and(|d| d.contains("b.mlir") && d.contains("a.mlir")));
        assert!(
            one.difference(&Identity { version: "2".into(), ..one.clone() }).is_some_and(|d| d.contains("shardc 2"))
        );
        let other = Identity { options: "{x}".into(), ..one.clone() };
        assert!(one.difference(&other).is_some_and(|d| d.contains("{x}")));
    }
}
