//! The search for shardings and a mesh that make a step fast: what `shardc search` proposes, as data.
//!
//! `survey` groups the dimensions of arguments into classes. A candidate (`candidate`) states what each axis of a mesh
//! does with these classes. `trial` compiles and prices many candidates, with the same passes and the same model as
//! `compile` and `cost`, and `explore` visits them in a fixed order. For the best candidates, `sites` and `constrain`
//! also add shardings of results and of values inside the program, where the step loses time. `compare` compares the
//! best candidate with well-known recipes.

mod axis;
mod candidate;
mod compare;
mod constrain;
mod explore;
mod free;
mod proposal;
mod ready;
mod sites;
mod survey;
mod trial;

use std::collections::HashMap;
use std::time::{Duration, Instant};

use dialect::codes;
use dialect::diagnostic::{Diagnostic as Plain, Diagnostics as Plains, Span};
use dialect::ir::Program;
use dialect::ops::{func, sdy};
use dialect::sharding::{MeshRef, ShardingTable};
use passes::estimate::{Machine, Target};
use passes::plan::Search;
use passes::{CompileOptions, Stage};

use crate::compiler::{Compiler, Watch};
use crate::diagnostic::{Outcome, one};
use crate::module::Module;

use candidate::MeshName;
use explore::{Explored, Meshes, explore};
use free::{free, remove_meshes};
use ready::Ready;
use survey::Survey;
use trial::Trial;

pub use proposal::{Alternative, Proposal, ProposedAxis, ProposedConstraint, ProposedSharding};
pub use trial::SearchProgress;

/// The options of a search.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct SearchOptions {
    /// The options of the compilation. Proposals fit into its memory limit, or else into the target's memory.
    pub compile: CompileOptions,
    /// The axes of the mesh, with their sizes; `None` allows any mesh with all devices.
    pub mesh: Option<Vec<(String, i64)>>,
    /// The number of devices; `None` uses all devices of the target.
    pub devices: Option<i64>,
    /// Whether the program's own annotations may be changed.
    pub free: bool,
    /// The time limit of the search.
    pub budget: Option<Duration>,
    /// The progress of the search, which other threads can read while it runs.
    pub progress: SearchProgress,
}

impl Compiler {
    /// Searches for a mesh and for shardings of a program's arguments and results that make its step fast on the
    /// target. Returns the proposal, and the program with the proposal written into it. The user's annotations stay
    /// unless `options.free` is set.
    pub fn search(&self, module: Module, options: &SearchOptions) -> Outcome<(Proposal, Module)> {
        let now = Instant::now();
        let deadlines = options.budget.map(|budget| (now + budget, now + budget / 2));
        let mut written = module;
        if options.free {
            free(written.program_mut());
        }
        let steps = match self.passes().parse("import") {
            Ok(steps) => steps,
            Err(faults) => return Outcome::new(written.source(), None, &faults),
        };
        self.run_steps(written.clone(), &steps, &mut Watch::default()).and_then(|imported| {
            let source = imported.source().clone();
            let proposal = self.prepare(written, imported, options).and_then(|ready| {
                let found = self.run(&ready, options, deadlines)?;
                ready.propose(found, options)
            });
            Outcome::of(&source, proposal)
        })
    }

    /// Prepares the search. Returns errors if there is nothing to search for, or no mesh to search over.
    fn prepare(&self, mut written: Module, mut imported: Module, options: &SearchOptions) -> Result<Ready, Plains> {
        let target = self
            .target(options.compile.target_name())
            .map_err(|e| one(Plain::error(codes::UNKNOWN_TARGET, Span::default(), e.to_string())))?;
        let fault = |message: String, note: &str| {
            one(Plain::error(codes::NOTHING_TO_SEARCH, Span::default(), message).note(note))
        };
        let main = func::function(imported.program(), "main");
        if func::num_replicas(imported.program()) > 1 {
            let message = "the program has several replicas, each with different arguments".to_owned();
            return Err(fault(message, "write one program over all devices (mhlo.num_replicas = 1)"));
        }
        let stated = stated_mesh(imported.program());
        let (mesh, meshes) = match stated {
            Some(MeshRef::Inline(_)) => {
                let message = "the program's annotations are over a mesh without a name".to_owned();
                return Err(fault(message, "declare it (sdy.mesh @mesh = …), or let --free drop the annotations"));
            }
            Some(MeshRef::Symbol(_)) if options.mesh.is_some() || options.devices.is_some() => {
                let message = "the program is annotated, so its mesh can't be chosen".to_owned();
                return Err(fault(message, "the annotations and their mesh are kept; --free drops them"));
            }
            Some(MeshRef::Symbol(name)) => {
                let program = imported.program();
                let name = program.name_text(name).to_owned();
                let axes = sdy::mesh_named(program, &name).map(|mesh| &mesh.axes[..]).unwrap_or_default();
                let axes = axes.iter().map(|&(axis, size)| (program.name_text(axis).to_owned(), size)).collect();
                (MeshName { name, exists: true }, Meshes::Given(axes))
            }
            None => {
                let meshes = match (&options.mesh, options.devices.or_else(|| devices_of(target, imported.program()))) {
                    (Some(axes), _) => Meshes::Given(axes.clone()),
                    (None, Some(devices)) => Meshes::Devices(devices),
                    (None, None) => {
                        let message = "the number of devices is unknown".to_owned();
                        return Err(fault(
                            message,
                            "name a slice (--target v5e:2x4), --devices 8 or a --mesh data=2,model=4",
                        ));
                    }
                };
                remove_meshes(written.program_mut());
                remove_meshes(imported.program_mut());
                let taken = |name: &String| {
                    let top = imported.program().block_ops(imported.program().body());
                    top.iter().any(|&op| func::symbol(imported.program(), op) == Some(name))
                };
                let numbered = (0..).map(|i| format!("mesh_{i}"));
                let name = std::iter::once("mesh".to_owned()).chain(numbered).find(|name| !taken(name));
                (MeshName { name: name.unwrap_or_default(), exists: false }, meshes)
            }
        };
        let sizes: Vec<u64> = match &meshes {
            Meshes::Devices(devices) => vec![devices.unsigned_abs()],
            Meshes::Given(axes) => axes.iter().map(|axis| axis.1.unsigned_abs()).collect(),
        };
        let machine = Machine::new(target, &sizes)
            .map_err(|e| one(Plain::error(codes::TARGET_SIZE, Span::default(), e.to_string())))?;
        let Some(survey) = main.and_then(|_| Survey::of(imported.program())) else {
            let d = Plain::error(codes::NO_MAIN, Span::default(), "the module has no function @main");
            return Err(one(d.note("the function that is searched must be called main")));
        };
        if survey.arguments.iter().all(|argument| argument.fixed) {
            let message = "every argument is annotated, so no sharding is left to decide".to_owned();
            return Err(fault(message, "--free drops the annotations, and considers any mesh"));
        }
        if survey.roles.is_empty() {
            let message = "no product of the program has dimensions of its arguments to shard".to_owned();
            return Err(fault(message, "search shards products of matrices and convolutions"));
        }
        // If only import could read the program's mesh, the proposal is written into the imported program.
        let declared = |program: &Program| sdy::mesh_named(program, &mesh.name).is_some();
        if mesh.exists && !declared(written.program()) {
            written = imported.clone();
        }
        let memory = options.compile.memory.map_or(machine.memory_bytes() as f64, |bytes| bytes as f64);
        Ok(Ready { written, imported, survey, mesh, meshes, target, memory })
    }

    fn run(
        &self,
        ready: &Ready,
        options: &SearchOptions,
        deadlines: Option<(Instant, Instant)>,
    ) -> Result<(Explored, bool), Plains> {
        let steps = |search: Search| {
            let options = CompileOptions { search, ..options.compile.clone() };
            Ok(self.steps("compile", &options)?.after(Stage::Imported).silent())
        };
        let mut trial = Trial {
            survey: &ready.survey,
            program: ready.imported.program(),
            mesh: &ready.mesh,
            target: ready.target,
            greedy: steps(Search::Greedy)?,
            full: steps(options.compile.search)?,
            progress: options.progress.clone(),
            deadlines,
            cut: false,
            known: HashMap::new(),
        };
        let explored = explore(&mut trial, &ready.meshes, ready.memory);
        Ok((explored, !trial.cut))
    }
}

/// Returns the mesh of the shardings that a program states.
fn stated_mesh(program: &Program) -> Option<MeshRef> {
    let of_values = ShardingTable::of(program).iter().next().map(|sharding| sharding.mesh.clone());
    of_values.or_else(|| {
        let main = func::function(program, "main")?;
        let results = func::signature(program, main).results.len();
        (0..results).find_map(|i| func::result_sharding(program, main, i)).map(|sharding| sharding.mesh.clone())
    })
}

/// Returns the number of devices of a target, or else the number that the program declares.
fn devices_of(target: Target, program: &Program) -> Option<i64> {
    match target {
        Target::Slice(slice) => i64::try_from(slice.chips() * slice.chip.chiplets).ok(),
        _ => func::declared_devices(program).map(|(_, partitions)| partitions).filter(|&devices| devices > 1),
    }
}
