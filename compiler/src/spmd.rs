//! Static checks of a per-device program, however it was made.

use dialect::ops::func;
use serde::Serialize;

use crate::compiler::Compiler;
use crate::diagnostic::Outcome;
use crate::execute::replicas_and_partitions;
use crate::module::Module;

/// What was found of a per-device program without running it.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
#[non_exhaustive]
pub struct SpmdCheck {
    /// How many collectives it has.
    pub collectives: usize,
    /// Number of devices that run it, as it declares.
    pub devices: usize,
}

impl Compiler {
    /// Checks that the members of each group of a per-device program meet the same collectives in the same order, that
    /// groups and pairs name each device once, and that channels fit. What may go wrong is an error too.
    pub fn check_spmd(&self, module: Module) -> Outcome<SpmdCheck> {
        self.run_passes(module, "import,check-spmd{strict=true}").map(|module| {
            let program = module.program();
            let main = func::function(program, "main").and_then(|main| func::block(program, main));
            let ops = main.map(|block| program.ops_under(block)).unwrap_or_default();
            let collectives =
                ops.into_iter().filter(|&op| program.op(op).def.groups(program.view(op)).is_some()).count();
            let (replicas, partitions) = replicas_and_partitions(program);
            SpmdCheck { collectives, devices: replicas * partitions }
        })
    }
}
