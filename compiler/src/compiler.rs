//! The compiler as a value: its registries, and its operations on programs.

use std::time::{Duration, Instant};

use dialect::codes;
use dialect::diagnostic::{Diagnostic as Plain, Diagnostics as Plains, Span};
use dialect::ir::Program;
use dialect::op::OpDef;
use dialect::text::PrintOptions;
use passes::estimate::{Chip, Target, TargetError};
#[cfg(feature = "unstable")]
use passes::estimate::{CostModel, Custom};
#[cfg(feature = "unstable")]
use passes::plan::Rewrite;
use passes::{CompileOptions, Pass, Pipeline, Statistic, Step, Steps, Verify};

use crate::diagnostic::{Outcome, one};
use crate::module::Module;
use crate::source::Source;

/// The registered ops, passes, pipelines and targets. All methods are functions from data to data: they print nothing
/// and report faults of a program in the [`Outcome`].
///
/// Deeply nested programs need deep recursion: to compile untrusted programs, call the compiler [on a deep
/// stack](crate::on_deep_stack).
#[derive(Clone)]
pub struct Compiler {
    ops: dialect::op::Registry,
    passes: passes::Registry,
}

/// The reason why a rewrite or a cost model is refused.
#[cfg(feature = "unstable")]
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Refused(pub(crate) String);

#[cfg(feature = "unstable")]
impl std::fmt::Display for Refused {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}

#[cfg(feature = "unstable")]
impl std::error::Error for Refused {}

/// The time that each step of a compilation took.
#[derive(Clone, PartialEq, Debug, Default)]
#[non_exhaustive]
pub struct Times {
    /// Time to read the text.
    pub parse: Duration,
    /// Time of each pass, in order.
    pub passes: Vec<(&'static str, Duration)>,
    /// The statistics of each pass.
    pub statistics: Vec<(&'static str, Vec<Statistic>)>,
    /// Time to verify, before the first pass and wherever else it was requested.
    pub verify: Duration,
}

/// A callback with the program after a pass.
type AfterPass<'a> = dyn FnMut(&Program, &Step) + 'a;

/// An observer of a pipeline's run.
#[derive(Default)]
pub struct Watch<'a> {
    /// A callback that gets the program after each pass.
    pub after: Option<&'a mut AfterPass<'a>>,
    /// Whether to verify the program after each pass, instead of only before the first. Debug builds always do.
    pub verify_each: bool,
    /// The times so far.
    pub times: Times,
}

impl Compiler {
    /// Returns a compiler with all ops, passes, pipelines and targets of shardc.
    pub fn standard() -> Self {
        Self { ops: dialect::op::Registry::standard(), passes: passes::Registry::standard() }
    }

    /// Adds ops, which replace ops of the same name.
    pub fn with_ops(mut self, ops: &[&'static dyn OpDef]) -> Self {
        self.ops = self.ops.with_ops(ops);
        self
    }

    /// Adds passes, which replace passes of the same name.
    pub fn with_passes(mut self, passes: &[&'static Pass]) -> Self {
        self.passes = self.passes.with_passes(passes);
        self
    }

    /// Adds a pipeline, which replaces one of the same name, also where other pipelines use it. Replacing `planned` or
    /// `compile` changes what compiling does.
    pub fn with_pipeline(mut self, pipeline: Pipeline) -> Self {
        self.passes = self.passes.with_pipelines(&[pipeline]);
        self
    }

    /// Adds a target under a custom name.
    pub fn with_target(mut self, name: impl Into<String>, target: Target) -> Self {
        self.passes = self.passes.with_target(name, target);
        self
    }

    /// Adds chips; their slices become targets such as `name:4x4`.
    pub fn with_chips(mut self, chips: &[&'static Chip]) -> Self {
        self.passes = self.passes.with_chips(chips);
        self
    }

    /// Adds rewrites for the plan search after proving each: the prover applies it to some small programs on random
    /// distributions and evaluates the results on simulated devices.
    ///
    /// # Errors
    /// The first rewrite that creates something untrue, or that finds nothing in those programs; none is added then.
    #[cfg(feature = "unstable")]
    pub fn with_rewrites(mut self, rewrites: &[&'static Rewrite]) -> Result<Self, Refused> {
        for rewrite in rewrites {
            rewrite.prove().map_err(Refused)?;
        }
        self.passes = self.passes.with_rewrites(rewrites);
        Ok(self)
    }

    /// Adds a cost model as a target under its own name, after checking the properties that plans rely on (see
    /// [`prove`](passes::estimate::custom::prove)).
    ///
    /// # Errors
    /// A property that the model violates: seconds that are negative, not a number or fewer for more bytes; rates of 0.
    #[cfg(feature = "unstable")]
    pub fn with_cost_model(self, model: &'static dyn CostModel) -> Result<Self, Refused> {
        passes::estimate::custom::prove(model).map_err(|fault| Refused(format!("{}: {fault}", model.name())))?;
        Ok(self.with_target(model.name(), Target::Custom(Custom(model))))
    }

    /// Returns the registered ops.
    pub fn ops(&self) -> &dialect::op::Registry {
        &self.ops
    }

    /// Returns the registered passes, pipelines and targets.
    pub fn passes(&self) -> &passes::Registry {
        &self.passes
    }

    /// Returns the target of this name: an added one, `flat`, `cpu`, or a slice such as `v5e:4x4`.
    ///
    /// # Errors
    /// If the target is undefined; the error lists the defined ones.
    pub fn target(&self, name: &str) -> Result<Target, TargetError> {
        self.passes.targets().parse(name)
    }

    /// Reads and verifies a program.
    pub fn parse(&self, source: Source) -> Outcome<Module> {
        self.parse_unverified(source, &mut Watch::default())
            .and_then(|module| self.run_steps(module, &[], &mut Watch::default()))
    }

    /// Reads a program without verifying it. The verifier runs before the first pass.
    pub fn parse_unverified(&self, source: Source, watch: &mut Watch<'_>) -> Outcome<Module> {
        let (start, mut found) = (Instant::now(), Plains::default());
        let mut program = dialect::parse_with(&source.text, &self.ops, &mut found);
        program.set_text_file(&source.name, source.first_line);
        watch.times.parse += start.elapsed();
        let diagnostics = crate::diagnostic::Diagnostics::new(&source, &found);
        let value = (!found.has_errors()).then(|| Module::new(program, source));
        Outcome { value, diagnostics }
    }

    /// Runs passes and pipelines given by name: `import,propagate`, `compile{search=greedy}`.
    pub fn run_passes(&self, module: Module, passes: &str) -> Outcome<Module> {
        match self.passes.parse(passes) {
            Ok(steps) => self.run_steps(module, &steps, &mut Watch::default()),
            Err(faults) => Outcome::new(&Source::new("passes", passes), None, &faults),
        }
    }

    /// Runs the passes that [`passes::Registry::parse`] or [`Compiler::steps`] returned.
    pub fn run_steps(&self, mut module: Module, steps: &[Step], watch: &mut Watch<'_>) -> Outcome<Module> {
        let verified = module.verified;
        let (program, source) = module.parts();
        let mut nobody = |_: &Program, _: &Step| {};
        let after = watch.after.as_deref_mut().unwrap_or(&mut nobody);
        let mut verify = Verify::default();
        verify.first &= !verified;
        verify.each |= watch.verify_each;
        let report = passes::run_passes_verifying(program, steps, verify, after);
        watch.times.verify += report.verify_time;
        watch.times.passes.extend(report.timings);
        watch.times.statistics.extend(report.statistics);
        let diagnostics = crate::diagnostic::Diagnostics::new(source, &report.diagnostics);
        module.verified = verify.each || steps.is_empty();
        Outcome { value: (!diagnostics.has_errors()).then_some(module), diagnostics }
    }

    /// Returns the passes of a pipeline, with the options of a compilation.
    ///
    /// # Errors
    /// If the pipeline or the target is undefined.
    pub fn steps(&self, pipeline: &str, options: &CompileOptions) -> Result<Steps, Plains> {
        let target = options.target_name();
        self.target(target).map_err(|e| one(Plain::error(codes::UNKNOWN_TARGET, Span::default(), e.to_string())))?;
        self.passes.pipeline(pipeline, options)
    }

    /// Runs a program through a pipeline: `sharded`, `planned`, `compile`, `compile-manual`, or an added one.
    pub fn compile(&self, module: Module, pipeline: &str, options: &CompileOptions) -> Outcome<Module> {
        match self.steps(pipeline, options) {
            Ok(steps) => self.run_steps(module, &steps, &mut Watch::default()),
            Err(faults) => Outcome::new(module.source(), None, &faults),
        }
    }

    /// Returns the program as text, which [`Compiler::parse`] can read.
    pub fn print(&self, module: &Module, options: PrintOptions) -> String {
        dialect::print_with(module.program(), options)
    }

    /// Returns the program as MLIR bytecode, which MLIR, jaxlib and [`Source::of_bytecode`] can read.
    pub fn bytecode(&self, module: &Module, options: PrintOptions) -> Vec<u8> {
        dialect::bytecode::bytecode_of(module.program(), options)
    }
}

impl Default for Compiler {
    fn default() -> Self {
        Self::standard()
    }
}
