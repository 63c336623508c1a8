//! The cause of each collective in a plan, and the change that would remove it, as data. Serialized, it is what `shardc
//! explain --json` prints.

mod causes;
mod changes;
mod groups;
mod prices;
mod removals;
mod report;
mod uneven;
mod value;

use std::time::Duration;

use dialect::ir::Program;
use dialect::ops::sdy;
use dialect::sharding::ShardingTable;
use passes::propagate::{self, OriginTable};
use passes::{CompileOptions, Stage, Step, Steps};
use serde::Serialize;

use crate::compiler::{Compiler, Watch};
use crate::diagnostic::{Diagnostic, Diagnostics, Outcome};
use crate::effects;
use crate::module::Module;

pub(crate) use causes::{Cause, causes};
pub(crate) use changes::partition_spec_with;
pub(crate) use prices::{mark, shares};
pub use uneven::UnevenDimension;
pub use value::{AxisOrigin, OpPlace, ValueExplanation};

use causes::Origins;
use changes::Trial;
use groups::groups;
use prices::{PlanPrice, Price};
use removals::{GroupRemoval, Limits, Planned};
use report::Report;

/// The options of an explanation.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct ExplainOptions {
    /// The options of the compilation.
    pub compile: CompileOptions,
    /// The maximum number of changed annotations to try. The default is 64, fewer for programs of more than 400 ops,
    /// and none for programs of more than 25,600 ops.
    pub tries: Option<usize>,
    /// The time after planning during which trials may start; `None` for no limit.
    pub budget: Option<Duration>,
}

/// The collectives of a plan.
#[derive(Clone, PartialEq, Debug, Serialize)]
#[non_exhaustive]
pub struct Explanation {
    /// The target's name.
    pub target: String,
    /// Modelled seconds of a step.
    pub step_s: f64,
    /// Each collective of the planned program, in order.
    pub collectives: Vec<ExplainedCollective>,
    /// The collectives in groups of equal ones, the most expensive group first. Equal layers have equal collectives.
    pub groups: Vec<CollectiveGroup>,
    /// Dimensions of arguments and results that the shards don't divide evenly, sorted by decreasing padding.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub uneven: Vec<UnevenDimension>,
    /// Whether the program has a mesh of more than one device.
    pub has_mesh: bool,
    /// Whether any value is sharded.
    pub is_sharded: bool,
    /// Whether no changed annotations were tried because the program has more than 25,600 ops.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub too_large_to_try: bool,
}

/// Equal collectives: the same kind, bytes and cause, from the same source line or the same line of another layer.
#[derive(Clone, PartialEq, Debug, Serialize)]
#[non_exhaustive]
pub struct CollectiveGroup {
    /// The number of collectives.
    pub count: usize,
    /// Seconds of all of them in a step.
    pub time_s: f64,
    /// The positions in the list of collectives.
    pub members: Vec<usize>,
    /// The change that removes all of them.
    pub removal: Option<Removal>,
    /// The text of that change for each annotation.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub changes: Vec<String>,
    /// The explanation of the first member in words, with source locations and the annotations it comes from.
    #[serde(skip)]
    pub remark: Diagnostic,
}

/// The largest number of ops for which changed annotations are tried by default. Each trial plans the whole program
/// again, which takes minutes at about twice as many ops.
pub(crate) const MOST_OPS_TRIED: usize = 25_600;

/// The threshold for reporting a change, as a fraction of the step time. A smaller change would print as 0 %.
pub(crate) const LEAST_CHANGE: f64 = 0.005;

/// One collective, explained.
#[derive(Clone, PartialEq, Debug, Serialize)]
#[non_exhaustive]
pub struct ExplainedCollective {
    /// The kind, such as `all_gather`.
    pub kind: String,
    /// The mesh axes that move.
    pub axes: Vec<String>,
    /// Bytes that each device contributes.
    pub operand_bytes: u64,
    /// Bytes that each device has afterwards.
    pub result_bytes: u64,
    /// The number of executions in a step.
    pub count: u64,
    /// Whether `count` is a guess, because the collective runs in a loop whose condition doesn't determine its
    /// iterations.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub guessed: bool,
    /// Seconds of all executions of all per-device collectives that it became.
    pub time_s: f64,
    /// The value that is resharded.
    pub value: String,
    /// The sharding of that value.
    pub from: Option<String>,
    /// The sharding that the value's reader needs.
    pub to: Option<String>,
    /// The op that needs it.
    pub user: Option<String>,
    /// The source location of that op.
    pub loc: Option<String>,
    /// Whether the user's program contains the collective.
    pub manual: bool,
    /// Whether JAX's differentiation created that collective, rather than the user.
    pub differentiated: bool,
    /// The change that removes it, with all others of its group, and results in the fastest step.
    pub removal: Option<Removal>,
}

/// A change that removes a collective.
#[derive(Clone, PartialEq, Debug, Serialize)]
#[non_exhaustive]
pub struct Removal {
    /// The change: `annotating %arg0 as <@mesh, [{}]>`.
    pub change: String,
    /// The number of changed annotations: one, or one for each of several collectives.
    pub annotations: usize,
    /// The sharding in JAX's syntax, `P('x', None)`; `None` if JAX can't express it.
    pub spec: Option<String>,
    /// Seconds by which a step gets faster; negative if it gets slower.
    pub saves_s: f64,
    /// Bytes by which the values of each device grow; negative if they shrink.
    pub adds_bytes: f64,
}

/// One collective while it is being explained.
struct Explained {
    cause: Cause,
    price: Price,
}

/// Returns the default limit on the changed annotations to try in a program of `ops` ops.
fn default_tries(ops: usize) -> usize {
    if ops > MOST_OPS_TRIED { 0 } else { (MOST_OPS_TRIED / ops.max(400)).max(2) }
}

/// Returns whether a mesh of the program has more than one device.
fn has_mesh(program: &Program) -> bool {
    sdy::meshes(program).any(|(_, _, mesh)| mesh.devices() > 1)
}

impl Compiler {
    /// Explains why each collective is needed and which change would remove it. A program that was already planned, and
    /// printed with its causes, is explained as it is: it has no annotations left to change.
    pub fn explain(&self, module: Module, options: &ExplainOptions) -> Outcome<Explanation> {
        let steps = match self.steps("compile", &options.compile) {
            Ok(steps) => steps,
            Err(faults) => return Outcome::new(module.source(), None, &faults),
        };
        let run = |module: Module, steps: &[Step]| self.run_steps(module, steps, &mut Watch::default());
        if causes::is_planned(module.program()) {
            let origins = Origins::default();
            return run(module, &[]).and_then(|planned| self.explain_plan(&planned, None, &origins, &steps, options));
        }
        run(module, &steps.before(Stage::Propagated)).and_then(|imported| {
            self.propagate(&imported, &steps).and_then(|(propagated, origins)| {
                let planned = run(propagated, &steps.from(Stage::Planned).until(Stage::Planned));
                planned.and_then(|p| self.explain_plan(&p, Some(imported.program()), &origins, &steps, options))
            })
        })
    }

    /// Propagates shardings to every value, and records where their axes come from.
    fn propagate(&self, imported: &Module, steps: &Steps) -> Outcome<(Module, Origins)> {
        let mut done = Outcome { value: Some((imported.clone(), Origins::default())), diagnostics: Default::default() };
        for step in steps.from(Stage::Propagated).before(Stage::Planned).iter() {
            done = done.and_then(|(mut module, origins)| {
                // A pass that replaces our propagation records no origins.
                if !std::ptr::eq(step.pass, &propagate::PASS) {
                    let ran = self.run_steps(module, std::slice::from_ref(step), &mut Watch::default());
                    return ran.map(|module| (module, origins));
                }
                let mut table = OriginTable::default();
                let (program, source) = module.parts();
                let report = passes::run_pass_with(program, step, |program, options, diagnostics| {
                    table = propagate::run_with_origins(program, options, diagnostics);
                });
                let diagnostics = Diagnostics::new(source, &report.diagnostics);
                let value = report.ok().then(|| {
                    let origins = Origins::new(module.program(), table);
                    (module, origins)
                });
                Outcome { value, diagnostics }
            });
        }
        done
    }

    /// Explains a planned program. `imported`, the program before propagation, has the annotations that can be changed.
    fn explain_plan(
        &self,
        planned: &Module,
        imported: Option<&Program>,
        origins: &Origins,
        steps: &Steps,
        options: &ExplainOptions,
    ) -> Outcome<Explanation> {
        let target = options.compile.target_name();
        let found = causes(planned.program());
        let callbacks = Diagnostics::new(planned.source(), &effects::placed(planned.program()));
        let partition = steps.after(Stage::Planned);
        let mut explanation = self.price_plan(planned, &found, &partition, target).map(|price| {
            let PlanPrice { causes: prices, machine, step_seconds: step, peak_bytes } = price;
            let explained: Vec<Explained> = found
                .into_iter()
                .zip(prices)
                .map(|(cause, price)| Explained { cause, price })
                // Leave out rows of neighbors that were already sent for an earlier op.
                .filter(|e| !e.cause.neighbors || e.price.count > 0)
                .collect();
            let groups = groups(planned.program(), &explained);
            let shardings = ShardingTable::of(planned.program());
            let (mut tried, mut too_large_to_try) = (false, false);
            let mut removals = vec![GroupRemoval::default(); groups.len()];
            if let Some(imported) = imported {
                let plan = steps.from(Stage::Propagated).until(Stage::Planned);
                let trial = Trial { imported, plan, partition, machine: &machine };
                let tries = options.tries.unwrap_or_else(|| default_tries(imported.op_count()));
                too_large_to_try = options.tries.is_none() && tries == 0;
                let limits = Limits { tries, budget: options.budget };
                let planned = Planned {
                    program: planned.program(),
                    shardings: &shardings,
                    origins,
                    step_seconds: step,
                    peak_bytes,
                };
                removals = removals::find(&trial, &planned, &explained, &groups, limits);
                tried = tries > 0;
            }
            let imported = imported.unwrap_or(planned.program());
            let report = Report { tried, imported, planned, origins, shardings: &shardings, step };
            let mut collectives: Vec<ExplainedCollective> = explained.iter().map(|e| report.collective(e)).collect();
            let grouped = groups.iter().zip(&removals);
            let groups: Vec<CollectiveGroup> = grouped.map(|(g, found)| report.group(&explained, g, found)).collect();
            for group in &groups {
                group.members.iter().for_each(|&i| collectives[i].removal.clone_from(&group.removal));
            }
            let (has_mesh, uneven) = (has_mesh(planned.program()), uneven::uneven(planned.program()));
            let is_sharded = shardings.iter().any(|s| !s.is_fully_replicated());
            let target = target.to_owned();
            Explanation { target, step_s: step, collectives, groups, uneven, has_mesh, is_sharded, too_large_to_try }
        });
        explanation.diagnostics.append(callbacks);
        explanation
    }
}
