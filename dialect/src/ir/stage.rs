//! The stages of a program on its way from its text to the program of each device.

use super::program::Program;

/// A stage of a program, in order. A pass that makes a program ready for the next passes moves it to a stage, and every
/// op records the stage in which it was created.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Default)]
pub enum Stage {
    /// The program as it was read.
    #[default]
    Parsed,
    /// The program is over one mesh: ops of several meshes are branches of one program, transfers are collectives.
    OneMesh,
    /// Calls are inlined, composite ops expanded, annotations from before Shardy converted.
    Imported,
    /// Every value has its sharding.
    Propagated,
    /// Every change of distribution is a collective.
    Planned,
    /// The program is what each device runs.
    Partitioned,
    /// The per-device program has the form that another compiler reads.
    Exported,
}

impl Program {
    /// Returns the latest stage that a pass moved the program to.
    pub fn stage(&self) -> Stage {
        self.stage
    }

    /// Moves the program to `stage`, unless it is further already.
    pub fn advance(&mut self, stage: Stage) {
        self.stage = self.stage.max(stage);
    }
}
