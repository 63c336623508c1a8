//! Static checks of a per-device program from any source.

use serde::Serialize;

use crate::compiler::Compiler;
use crate::diagnostic::Outcome;
use crate::execute::replicas_and_partitions;
use crate::module::Module;
use crate::module::main_block;

/// The result of the static checks of a per-device program.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
#[non_exhaustive]
pub struct SpmdCheck {
    /// The number of collectives.
    pub collectives: usize,
    /// The number of devices that the program declares.
    pub devices: usize,
}

impl Compiler {
    /// Checks that the members of each group of a per-device program execute the same collectives in the same order,
    /// that groups and pairs name each device once, and that channels match. A possible fault is an error too.
    pub fn check_spmd(&self, module: Module) -> Outcome<SpmdCheck> {
        self.run_passes(module, "import,check-spmd{strict=true}").map(|module| {
            let program = module.program();
            let main = main_block(program);
            let ops = main.map(|block| program.ops_under(block)).unwrap_or_default();
            let collectives =
                ops.into_iter().filter(|&op| program.op(op).def.groups(program.view(op)).is_some()).count();
            let (replicas, partitions) = replicas_and_partitions(program);
            SpmdCheck { collectives, devices: replicas * partitions }
        })
    }
}
