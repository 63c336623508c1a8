//! Shardings and a mesh that make a step fast: what `shardc search` proposes, as data.
//!
//! Arguments are looked at by the classes of their dimensions (`survey`); a candidate says what each axis of a mesh does with
//! them (`candidate`); many are compiled and priced by the same passes and the same model as `compile` and `cost` (`trial`),
//! in a fixed order (`explore`), the best of them also with shardings of results and of values inside where it loses time
//! (`sites`, `constrain`); the best one is set beside what everybody knows (`compare`).

mod axis;
mod candidate;
mod compare;
mod constrain;
mod explore;
mod sites;
mod survey;
mod trial;

use std::collections::HashMap;
use std::time::{Duration, Instant};

use dialect::codes;
use dialect::diagnostic::{Diagnostic as Plain, Diagnostics as Plains, Span};
use dialect::ir::{Op, Program, Value, ValueSource};
use dialect::op::Annotation;
use dialect::ops::{func, sdy};
use dialect::sharding::{AxisRef, MeshRef, ShardingTable, TensorSharding};
use passes::estimate::{Machine, Target};
use passes::plan::Search;
use serde::Serialize;

use crate::compiler::{CompileOptions, Compiler, Watch};
use crate::diagnostic::{Outcome, one};
use crate::explain::partition_spec_with;
use crate::module::Module;
use crate::place::{place, value_name};

use axis::{referred, whole_axes};
use candidate::{Candidate, MeshName, Pinned};
use constrain::placeable;
use explore::{Explored, Meshes, explore};
use survey::{Kind, Survey};
use trial::Trial;

pub use trial::SearchProgress;

/// How to search for shardings.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct SearchOptions {
    /// How to compile; what is searched for fits into its memory, or else into the target's.
    pub compile: CompileOptions,
    /// The axes of the mesh, with their sizes; by default any with as many devices as there are.
    pub mesh: Option<Vec<(String, i64)>>,
    /// How many devices there are; by default, all of the target's.
    pub devices: Option<i64>,
    /// Whether the program's own annotations may be changed.
    pub free: bool,
    /// How long to look for.
    pub budget: Option<Duration>,
    /// Where the search says how far it is, for others to read meanwhile.
    pub progress: SearchProgress,
}

/// What a search proposes.
#[derive(Clone, PartialEq, Debug, Serialize)]
#[non_exhaustive]
pub struct Proposal {
    /// The target's name.
    pub target: String,
    /// Number of devices in the mesh.
    pub devices: i64,
    /// How many shardings were priced.
    pub tried: u64,
    /// Whether all were that the search would look at; otherwise its time was over before.
    pub complete: bool,
    /// Bytes that a device may hold.
    pub memory_bytes: f64,
    /// Whether a step fits into that.
    pub fits: bool,
    /// The axes of the program's mesh, major first, with their sizes.
    pub mesh: Vec<(String, i64)>,
    /// The axes that are used, major first: those of the mesh, or parts of them.
    pub axes: Vec<ProposedAxis>,
    /// Where axes are used in parts, how JAX makes a mesh that has the parts as axes: all specs are over it.
    pub jax_mesh: Option<String>,
    /// Every argument.
    pub arguments: Vec<ProposedSharding>,
    /// Every result that is sharded as the user says, like an argument, which it replaces in the next step, or so that
    /// a share of the step is saved.
    pub results: Vec<ProposedSharding>,
    /// Values inside the program on which a constraint saves a share of the step.
    pub constraints: Vec<ProposedConstraint>,
    /// What was planned in full, the best first: the proposal itself is the first of them.
    pub ranking: Vec<Alternative>,
    /// Why it is better than what everybody knows.
    pub reasons: Vec<String>,
}

/// What an axis of a proposed mesh does.
#[derive(Clone, PartialEq, Debug, Serialize)]
#[non_exhaustive]
pub struct ProposedAxis {
    /// Its name.
    pub name: String,
    /// Its size.
    pub size: i64,
    /// As Shardy writes it, `"x":(1)2`, if it is a part of an axis of the mesh.
    pub part: Option<String>,
    /// `data`, `sequence`, `expert`, `model`; `None` if it shards what the user says, or nothing.
    pub role: Option<&'static str>,
    /// Whether parameters that it would leave replicated are stored in shards along it.
    pub stores_parameters: bool,
    /// What it does, in a sentence.
    pub does: String,
}

/// How an argument or a result is sharded.
#[derive(Clone, PartialEq, Debug, Serialize)]
#[non_exhaustive]
pub struct ProposedSharding {
    /// Its name.
    pub name: String,
    /// As JAX writes it, `P('data', None)`, where it can be written so.
    pub spec: Option<String>,
    /// As Shardy writes it.
    pub sharding: String,
    /// Whether the program said so before.
    pub given: bool,
}

/// A constraint on a value inside the program: `jax.lax.with_sharding_constraint`, `sdy.sharding_constraint`.
#[derive(Clone, PartialEq, Debug, Serialize)]
#[non_exhaustive]
pub struct ProposedConstraint {
    /// The value.
    pub value: String,
    /// The line that makes it, if that is known.
    pub loc: Option<String>,
    /// The values that have the constraint: several if there are equal layers.
    pub count: usize,
    /// As JAX writes it, where it can be written so.
    pub spec: Option<String>,
    /// As Shardy writes it.
    pub sharding: String,
}

/// One sharding of the program that was planned in full.
#[derive(Clone, PartialEq, Debug, Serialize)]
#[non_exhaustive]
pub struct Alternative {
    /// What everybody calls it, if anybody does: `FSDP`.
    pub name: Option<&'static str>,
    /// Its mesh: `data=2+ model=4`, with `+` behind an axis along which parameters are stored, and what axes of other names
    /// do: `x=4:data`.
    pub mesh: String,
    /// Modelled seconds of a step.
    pub step_s: f64,
    /// Seconds of these in which nothing is computed.
    pub exposed_s: f64,
    /// Peak memory of a device, in bytes.
    pub peak_bytes: u64,
    /// Whether that fits.
    pub fits: bool,
}

/// The passes that only report: a search doesn't run them for every candidate.
const REPORTING: [&str; 2] = ["replicate", "check-spmd"];

impl Compiler {
    /// Searches for shardings of a program's arguments and results, and for a mesh, that make its step fast on the target;
    /// returns them beside the program that they are written into. The user's annotations stay unless `options.free`.
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

    /// What is to be searched: errors if there is nothing, or nowhere to put it.
    fn prepare(&self, mut written: Module, mut imported: Module, options: &SearchOptions) -> Result<Ready, Plains> {
        let target = self
            .target(options.compile.target_name())
            .map_err(|e| one(Plain::error(codes::UNKNOWN_TARGET, Span::default(), e.to_string())))?;
        let fault = |message: String, note: &str| {
            one(Plain::error(codes::NOTHING_TO_SEARCH, Span::default(), message).note(note))
        };
        let main = func::function(imported.program(), "main");
        if func::num_replicas(imported.program()) > 1 {
            let message = "the program has several replicas, each with arguments of its own".to_owned();
            return Err(fault(message, "write one program over all devices (mhlo.num_replicas = 1)"));
        }
        let stated = stated_mesh(imported.program());
        let (mesh, meshes) = match stated {
            Some(MeshRef::Inline(_)) => {
                let message = "the program's annotations are over a mesh without a name".to_owned();
                return Err(fault(message, "declare it (sdy.mesh @mesh = …), or let --free drop the annotations"));
            }
            Some(MeshRef::Symbol(_)) if options.mesh.is_some() || options.devices.is_some() => {
                let message = "the program's annotations are over a mesh of its own".to_owned();
                return Err(fault(message, "they and the mesh stay as they are; --free drops them"));
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
                        let message = "nobody says how many devices there are".to_owned();
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
            return Err(one(d.note("name the function to search main")));
        };
        if survey.arguments.iter().all(|argument| argument.fixed) {
            let message = "every argument is annotated: there is nothing to decide".to_owned();
            return Err(fault(message, "--free drops the annotations, and looks at any mesh"));
        }
        if survey.roles.is_empty() {
            let message = "no product of the program has dimensions of its arguments to shard".to_owned();
            return Err(fault(message, "search decides about products of matrices and convolutions"));
        }
        // What only import could read is written into what it made.
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
            let mut steps = self.steps("compile", &options)?;
            let imported = steps.iter().position(|step| step.pass.name == "import").map_or(0, |at| at + 1);
            steps.drain(..imported);
            steps.retain(|step| !REPORTING.contains(&step.pass.name));
            Ok(steps)
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

/// A program that is ready to be searched.
struct Ready {
    /// What the answer is written into.
    written: Module,
    imported: Module,
    survey: Survey,
    mesh: MeshName,
    meshes: Meshes,
    target: Target,
    /// Bytes that a device may hold.
    memory: f64,
}

impl Ready {
    fn propose(
        self,
        (explored, complete): (Explored, bool),
        options: &SearchOptions,
    ) -> Result<(Proposal, Module), Plains> {
        let Some((best, measure)) = explored.ranked.first() else {
            let (message, note) = match complete {
                true => {
                    ("no sharding that was looked at can be compiled", "compile the program without one to see why")
                }
                false => ("the time was over before any sharding was planned", "give it a larger --budget"),
            };
            return Err(one(Plain::error(codes::NOTHING_TO_SEARCH, Span::default(), message).note(note)));
        };
        // Values that importing made, of functions that are called, are not in the program as it was written.
        let known = placeable(self.written.program());
        let all_known = best.pins.iter().all(|pin| match &pin.at {
            Pinned::Result(_) => true,
            Pinned::Values(values) => values.iter().all(|value| known.contains_key(value)),
        });
        let written = if all_known { &self.written } else { &self.imported };
        let mut program = written.program().clone();
        best.annotate(&self.survey, &mut program, &self.mesh, false);
        let pinned: Vec<TensorSharding> =
            best.pins.iter().map(|pin| best.sharding(&mut program, &self.mesh, &pin.placed)).collect();
        let main = func::function(&program, "main");
        let names = |axis: AxisRef| {
            let parts = referred(&program, &best.axes, axis)?;
            Some(parts.into_iter().map(|a| best.axes[a].name.clone()).collect())
        };
        let spec = |sharding: &TensorSharding| partition_spec_with(sharding, &names);
        let sharding = |tensor: &survey::Tensor, sharding: Option<&TensorSharding>| {
            sharding.map(|s| ProposedSharding {
                name: tensor.name.clone(),
                spec: spec(s),
                sharding: program.sharding_text(s),
                given: tensor.fixed,
            })
        };
        let all = |tensors: &[survey::Tensor], result: bool| -> Vec<ProposedSharding> {
            let of = |i: usize| match result {
                true => func::result_sharding(&program, main?, i),
                false => func::arg_sharding(&program, main?, i),
            };
            tensors.iter().enumerate().filter_map(|(i, tensor)| sharding(tensor, of(i))).collect()
        };
        let constraint = |(pin, s): (&candidate::Pin, &TensorSharding)| match &pin.at {
            Pinned::Result(_) => None,
            Pinned::Values(values) => self.constraint(values, spec(s), program.sharding_text(s)),
        };
        let constraints = best.pins.iter().zip(&pinned).filter_map(constraint).collect();
        let alternative = |(candidate, measure): &(Candidate, trial::Measure)| Alternative {
            name: explored.recipes.iter().find(|recipe| recipe.candidate == *candidate).map(|recipe| recipe.name),
            mesh: candidate.text(&self.survey),
            step_s: measure.step,
            exposed_s: measure.exposed,
            peak_bytes: measure.peak as u64,
            fits: measure.peak <= self.memory,
        };
        let proposal = Proposal {
            target: options.compile.target_name().to_owned(),
            devices: best.devices(),
            tried: options.progress.tried(),
            complete,
            memory_bytes: self.memory,
            fits: measure.peak <= self.memory,
            mesh: whole_axes(&best.axes),
            axes: (0..best.axes.len()).map(|a| self.axis(best, a)).collect(),
            jax_mesh: jax_mesh(best),
            arguments: all(&self.survey.arguments, false),
            results: all(&self.survey.results, true),
            constraints,
            ranking: explored.ranked.iter().map(alternative).collect(),
            reasons: compare::reasons(&explored, &self.survey, self.memory),
        };
        let module = written.with_program(program);
        Ok((proposal, module))
    }

    /// A constraint as it is told.
    fn constraint(&self, values: &[Value], spec: Option<String>, sharding: String) -> Option<ProposedConstraint> {
        let program = self.imported.program();
        let &value = values.first()?;
        let loc = match program.value_source(value) {
            ValueSource::Result(op, _) => place(program, self.imported.source(), op),
            ValueSource::Arg(..) => None,
        };
        Some(ProposedConstraint { value: value_name(program, value), loc, count: values.len(), spec, sharding })
    }

    /// What an axis does, in a sentence.
    fn axis(&self, candidate: &Candidate, a: usize) -> ProposedAxis {
        let axis = &candidate.axes[a];
        let kind = axis.role.map(|role| self.survey.roles[role].kind);
        let (mut by_class, mut stored) = (Vec::new(), 0);
        for (i, argument) in self.survey.arguments.iter().enumerate().filter(|argument| !argument.1.fixed) {
            let has = |placed: &candidate::Placed| placed.iter().flatten().any(|&other| other == a);
            if !has(&candidate.argument(&self.survey, i)) {
                continue;
            }
            match has(&candidate.by_class(&self.survey, &argument.classes, &argument.shape)) {
                true => by_class.push(argument.name.as_str()),
                false => stored += 1,
            }
        }
        let mut does = match kind {
            Some(Kind::Data) => "shards the batch".to_owned(),
            Some(Kind::Sequence) => "shards positions of the sequence".to_owned(),
            Some(Kind::Expert) => "shards experts".to_owned(),
            Some(Kind::Model) => "shards parameters and what is computed with them".to_owned(),
            None => "is as the program says".to_owned(),
        };
        match by_class[..] {
            [] if kind.is_some_and(Kind::is_of_data) => does.push_str(", inside: no argument has it in equal shards"),
            [] => {}
            [one] => does.push_str(&format!(": {one}")),
            [first, second] => does.push_str(&format!(": {first}, {second}")),
            [first, second, ..] => does.push_str(&format!(": {first}, {second} and {} more", by_class.len() - 2)),
        }
        if stored > 0 {
            let s = if stored == 1 { "" } else { "s" };
            does.push_str(&format!("; {stored} parameter{s} stored in shards along it, gathered where needed"));
        }
        let part = axis.part.as_ref().map(|part| format!("\"{}\":({}){}", part.of, part.pre, axis.size));
        ProposedAxis {
            name: axis.name.clone(),
            size: axis.size,
            part,
            role: kind.map(Kind::text),
            stores_parameters: stored > 0,
            does,
        }
    }
}

/// How JAX makes the mesh of a candidate that uses parts of axes.
fn jax_mesh(candidate: &Candidate) -> Option<String> {
    candidate.axes.iter().any(|axis| axis.part.is_some()).then_some(())?;
    let sizes: Vec<String> = candidate.axes.iter().map(|axis| axis.size.to_string()).collect();
    let names: Vec<String> = candidate.axes.iter().map(|axis| format!("'{}'", axis.name)).collect();
    Some(format!("jax.make_mesh(({}), ({}))", sizes.join(", "), names.join(", ")))
}

/// The mesh of the shardings that a program states.
fn stated_mesh(program: &Program) -> Option<MeshRef> {
    let of_values = ShardingTable::of(program).iter().next().map(|sharding| sharding.mesh.clone());
    of_values.or_else(|| {
        let main = func::function(program, "main")?;
        let results = func::signature(program, main).results.len();
        (0..results).find_map(|i| func::result_sharding(program, main, i)).map(|sharding| sharding.mesh.clone())
    })
}

/// How many devices a target has, or else a program says it runs on.
fn devices_of(target: Target, program: &Program) -> Option<i64> {
    match target {
        Target::Slice(slice) => i64::try_from(slice.chips() * slice.chip.chiplets).ok(),
        _ => func::declared_devices(program).map(|(_, partitions)| partitions).filter(|&devices| devices > 1),
    }
}

/// Removes all that states shardings, but of manual computations, whose bodies depend on them.
fn free(program: &mut Program) {
    for function in func::functions(program).collect::<Vec<_>>() {
        let signature = func::signature(program, function);
        let (arguments, results) = (signature.inputs.len(), signature.results.len());
        for name in [func::SHARDING, dialect::ops::mhlo::SHARDING] {
            func::set_arg_attrs(program, function, name, &(0..arguments).map(|i| (i, None)).collect::<Vec<_>>());
            func::set_result_attrs(program, function, name, &(0..results).map(|i| (i, None)).collect::<Vec<_>>());
        }
    }
    let mut instead: HashMap<Value, Value> = HashMap::new();
    let mut removed: Vec<Op> = Vec::new();
    for op in program.ops_under(program.body()) {
        let view = program.view(op);
        let is_note = matches!(
            view.def().annotation(view),
            Some(Annotation::Constraint | Annotation::Reshard | Annotation::Barrier(_) | Annotation::Group(_))
        );
        if is_note && let Some(&operand) = view.operands().first() {
            let operand = instead.get(&operand).copied().unwrap_or(operand);
            view.results().for_each(|result| {
                instead.insert(result, operand);
            });
            removed.push(op);
        } else if sdy::ManualComputation::of(view).is_none() {
            program.remove_attr(op, func::SHARDING);
        }
    }
    program.rename(&instead.into_iter().collect());
    remove(program, &removed);
    if ShardingTable::of(program).iter().next().is_none() {
        remove_meshes(program);
    }
}

/// Removes the meshes that no sharding is over any more.
fn remove_meshes(program: &mut Program) {
    let meshes: Vec<Op> = sdy::meshes(program).map(|mesh| mesh.0).collect();
    remove(program, &meshes);
}

fn remove(program: &mut Program, ops: &[Op]) {
    let gone: std::collections::HashSet<Op> = ops.iter().copied().collect();
    for block in program.blocks_under(program.body()) {
        if program.block_ops(block).iter().any(|op| gone.contains(op)) {
            let left = program.block_ops(block).iter().copied().filter(|op| !gone.contains(op)).collect();
            program.set_block_ops(block, left);
        }
    }
}
