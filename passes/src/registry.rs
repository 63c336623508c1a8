//! The registry of passes by name, and the parser of `--passes a,b{option=value other=value}`.
//!
//! The syntax is MLIR's: names separated by commas, options in braces separated by spaces. A pipeline's name expands to
//! its passes. Passes may be nested in the op that they run on, `builtin.module(a,func.func(b))`; our passes always run
//! on modules, even inside `func.func`.

use std::fmt;
use std::sync::{Arc, LazyLock};

use dialect::codes;
use dialect::diagnostic::{Diagnostic, Diagnostics, Span};
use dialect::op::OpDef;
use dialect::ops::func;
use dialect::text::nearest;

use crate::compile_options::CompileOptions;
use crate::estimate::{Chip, Target, Targets};
use crate::pass::{Pass, Step, Steps};
use crate::plan::Rewrite;
use crate::{PASSES, PIPELINES};

/// A list of passes under one name.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Pipeline {
    /// Its name in `--passes`.
    pub name: &'static str,
    /// One sentence for `--help`.
    pub doc: &'static str,
    /// The passes in order, in the syntax of `--passes`.
    pub passes: &'static str,
}

/// The known passes, pipelines, targets and rewrites: the standard ones, and those that an embedder adds. Every step
/// carries the registry that made it, so that a pass which runs other passes uses the embedder's. Copies share their
/// contents.
#[derive(Clone)]
pub struct Registry(Arc<Known>);

#[derive(Clone)]
struct Known {
    passes: Vec<&'static Pass>,
    pipelines: Vec<Pipeline>,
    targets: Targets,
    rewrites: Vec<&'static Rewrite>,
}

static STANDARD: LazyLock<Registry> = LazyLock::new(|| {
    let (passes, pipelines) = (PASSES.to_vec(), PIPELINES.to_vec());
    Registry(Arc::new(Known { passes, pipelines, targets: Targets::default(), rewrites: Vec::new() }))
});

impl Registry {
    /// Returns everything in [`PASSES`] and [`PIPELINES`], and the standard targets.
    pub fn standard() -> Self {
        STANDARD.clone()
    }

    fn known(&mut self) -> &mut Known {
        Arc::make_mut(&mut self.0)
    }

    /// Adds passes; a pass replaces an earlier one of the same name.
    pub fn with_passes(mut self, passes: &[&'static Pass]) -> Self {
        for &pass in passes {
            let known = &mut self.known().passes;
            match known.iter_mut().find(|p| p.name == pass.name) {
                Some(old) => *old = pass,
                None => known.push(pass),
            }
        }
        self
    }

    /// Adds pipelines; a pipeline replaces an earlier one of the same name, also inside other pipelines.
    pub fn with_pipelines(mut self, pipelines: &[Pipeline]) -> Self {
        for &pipeline in pipelines {
            let known = &mut self.known().pipelines;
            match known.iter_mut().find(|p| p.name == pipeline.name) {
                Some(old) => *old = pipeline,
                None => known.push(pipeline),
            }
        }
        self
    }

    /// Adds one target under a name that `--target` and the options of passes accept.
    pub fn with_target(mut self, name: impl Into<String>, target: Target) -> Self {
        let known = self.known();
        known.targets = std::mem::take(&mut known.targets).with_target(name, target);
        self
    }

    /// Adds chips, whose slices are targets.
    pub fn with_chips(mut self, chips: &[&'static Chip]) -> Self {
        let known = self.known();
        known.targets = std::mem::take(&mut known.targets).with_chips(chips);
        self
    }

    /// Adds rewrites used in the search for plans.
    pub fn with_rewrites(mut self, rewrites: &[&'static Rewrite]) -> Self {
        self.known().rewrites.extend_from_slice(rewrites);
        self
    }

    /// Returns the named targets.
    pub fn targets(&self) -> &Targets {
        &self.0.targets
    }

    /// Returns the rewrites used in the search for plans in addition to the built-in ones.
    pub fn rewrites(&self) -> &[&'static Rewrite] {
        &self.0.rewrites
    }

    /// Returns a step of the pass with its default options.
    pub fn step(&self, pass: &'static Pass) -> Step {
        let step = Step::new(pass);
        Step { options: step.options.within(self.clone()), ..step }
    }

    /// Returns the pass called `name`.
    pub fn get(&self, name: &str) -> Option<&'static Pass> {
        self.0.passes.iter().copied().find(|p| p.name == name)
    }

    /// Returns all passes in the order in which they usually run.
    pub fn passes(&self) -> &[&'static Pass] {
        &self.0.passes
    }

    /// Returns all pipelines.
    pub fn pipelines(&self) -> &[Pipeline] {
        &self.0.pipelines
    }

    /// Parses `text` to steps. Diagnostics have spans in `text`.
    pub fn parse(&self, text: &str) -> Result<Steps, Diagnostics> {
        self.parse_inside(text, &[]).map(Steps)
    }

    /// Parses `text` to steps, with the options of a compilation. What a pipeline's own text states counts where
    /// `options` leave a choice.
    pub fn pipeline(&self, text: &str, options: &CompileOptions) -> Result<Steps, Diagnostics> {
        let mut steps = self.parse(text)?;
        steps.0.iter_mut().for_each(|step| step.options.compile = options.over(&step.options.compile));
        Ok(steps)
    }

    /// Parses the text of a pipeline nested inside the pipelines `outer`.
    fn parse_inside(&self, text: &str, outer: &[&str]) -> Result<Vec<Step>, Diagnostics> {
        let (steps, diagnostics) = (Vec::new(), Diagnostics::default());
        let mut reader = Reader { registry: self, text, outer, at: 0, steps, diagnostics };
        reader.list(0);
        if reader.diagnostics.has_errors() { Err(reader.diagnostics) } else { Ok(reader.steps) }
    }
}

impl fmt::Debug for Registry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.passes().iter().map(|pass| pass.name)).finish()
    }
}

impl Default for Registry {
    fn default() -> Self {
        Self::standard()
    }
}

/// Returns the ops in which a list of passes may be nested.
fn anchors() -> [&'static str; 3] {
    [func::MODULE_NAME, func::FUNC.name(), "any"]
}

/// The limit on the nesting of lists.
const MAX_ANCHORS: usize = 16;

struct Reader<'a> {
    registry: &'a Registry,
    text: &'a str,
    outer: &'a [&'a str],
    at: usize,
    steps: Vec<Step>,
    diagnostics: Diagnostics,
}

impl<'a> Reader<'a> {
    /// Parses a list up to the end, or to the `)` of the enclosing op.
    fn list(&mut self, depth: usize) {
        self.spaces();
        while self.at < self.text.len() && !(depth > 0 && self.text[self.at..].starts_with(')')) {
            let first = self.steps.len();
            let (name, span) = self.word(",{()");
            if self.text[self.at..].starts_with('(') {
                if !self.anchored(name, span, depth) {
                    return;
                }
            } else if name.is_empty() {
                self.error(codes::PASS_LIST, span, "expected the name of a pass".to_owned());
            } else {
                self.named(name, span);
            }
            if self.eat('{') {
                self.options(first, name);
            }
            self.spaces();
            if depth > 0 && self.text[self.at..].starts_with(')') {
                return;
            }
            if self.at < self.text.len() && !self.eat(',') {
                let span = Span::new(self.at, self.text.len());
                self.error(codes::PASS_LIST, span, "expected ',' between passes".to_owned());
                return;
            }
            self.spaces();
        }
    }

    /// Parses a list nested in an op, `builtin.module(…)`; returns whether parsing can continue after it.
    fn anchored(&mut self, name: &str, span: Span, depth: usize) -> bool {
        if !anchors().contains(&name) {
            let message = format!("passes run on {}, not on '{name}'", anchors().join(" or "));
            self.error(codes::PASS_LIST, span, message);
            return false;
        }
        if depth == MAX_ANCHORS {
            self.error(codes::PASS_LIST, span, format!("nested deeper than {MAX_ANCHORS} levels"));
            return false;
        }
        self.at += 1;
        self.list(depth + 1);
        let closed = self.eat(')');
        if !closed && !self.diagnostics.has_errors() {
            let end = Span::new(self.at, self.at);
            self.error(codes::PASS_LIST, end, format!("the passes of '{name}' have no closing ')'"));
        }
        closed
    }

    /// Adds the pass or pipeline called `name`.
    fn named(&mut self, name: &'a str, span: Span) {
        if let Some(pass) = self.registry.get(name) {
            self.steps.push(self.registry.step(pass));
        } else if let Some(pipeline) = self.registry.pipelines().iter().find(|p| p.name == name) {
            self.pipeline(pipeline, span);
        } else {
            let pipelines = self.registry.pipelines().iter().map(|p| p.name);
            let known = || self.registry.passes().iter().map(|p| p.name).chain(pipelines.clone());
            let mut d = Diagnostic::error(codes::UNKNOWN_PASS, span, format!("unknown pass '{name}'"));
            d = match nearest(name, known()) {
                Some(near) => d.note(format!("did you mean '{near}'?")),
                None => d.note(format!("the passes are {}", known().collect::<Vec<_>>().join(", "))),
            };
            self.diagnostics.push(d);
        }
    }

    /// Adds the passes of a pipeline; errors in its text are reported at its name.
    fn pipeline(&mut self, pipeline: &Pipeline, span: Span) {
        let name = pipeline.name;
        if self.outer.contains(&name) {
            self.error(codes::PASS_LIST, span, format!("pipeline '{name}' contains itself"));
            return;
        }
        let inside: Vec<&str> = self.outer.iter().copied().chain([name]).collect();
        match self.registry.parse_inside(pipeline.passes, &inside) {
            Ok(steps) => self.steps.extend(steps),
            Err(faults) => {
                for fault in faults.iter() {
                    self.error(codes::PASS_LIST, span, format!("pipeline '{name}': {}", fault.message));
                }
            }
        }
    }

    /// Parses `option=value other=value}` for the steps from `first` on.
    fn options(&mut self, first: usize, pass: &str) {
        loop {
            self.spaces();
            if self.eat('}') {
                return;
            }
            if self.at >= self.text.len() {
                let span = Span::new(self.at, self.at);
                self.error(codes::PASS_LIST, span, format!("the options of '{pass}' have no closing '}}'"));
                return;
            }
            let start = self.at;
            let (name, span) = self.word("=}");
            let value = if self.eat('=') { self.word("}").0 } else { "true" };
            if name.is_empty() {
                self.error(codes::PASS_LIST, span, "expected option=value".to_owned());
                self.at = self.text.len();
                return;
            }
            if self.steps.len() == first {
                // The pass is unknown, which has been reported.
                continue;
            }
            // An option of a pipeline applies to those of its passes that have it.
            let several = self.steps.len() - first > 1;
            let has = |s: &Step| s.pass.options.iter().any(|o| o.name == name);
            let one_has = self.steps[first..].iter().any(has);
            let mut faults = Vec::new();
            for step in &mut self.steps[first..] {
                if several && one_has && !has(step) {
                    continue;
                }
                if let Err(fault) = step.options.set(step.pass.options, name, value) {
                    faults.push(format!("pass '{}': {fault}", step.pass.name));
                }
            }
            if let Some(fault) = faults.into_iter().next() {
                self.error(codes::PASS_OPTION, Span::new(start, self.at), fault);
            }
        }
    }

    fn error(&mut self, code: codes::Code, span: Span, message: String) {
        self.diagnostics.push(Diagnostic::error(code, span, message));
    }

    /// Reads characters up to white space or one of `ends`.
    fn word(&mut self, ends: &str) -> (&'a str, Span) {
        let start = self.at;
        let rest = &self.text[start..];
        let len = rest.find(|c: char| c.is_whitespace() || ends.contains(c)).unwrap_or(rest.len());
        self.at += len;
        (&rest[..len], Span::new(start, self.at))
    }

    fn spaces(&mut self) {
        let rest = &self.text[self.at..];
        self.at += rest.len() - rest.trim_start().len();
    }

    fn eat(&mut self, c: char) -> bool {
        let hit = self.text[self.at..].starts_with(c);
        self.at += if hit { c.len_utf8() } else { 0 };
        hit
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::options::{OptionDef, Options};
    use crate::pass::Effect;

    static OPTIONS: &[OptionDef] = &[OptionDef::flag("deep", false, "")];
    static FIRST: Pass = Pass { name: "first", doc: "", effect: Effect::Rewrite, options: OPTIONS, run: |_, _, _| {} };
    static SECOND: Pass = Pass { name: "second", doc: "", effect: Effect::Rewrite, options: &[], run: |_, _, _| {} };

    /// Creates a registry of only these passes.
    fn only(passes: &[&'static Pass]) -> Registry {
        let mut registry = Registry::standard();
        (registry.known().passes, registry.known().pipelines) = (passes.to_vec(), Vec::new());
        registry
    }

    fn parse(text: &str) -> Result<Vec<String>, Vec<(Span, String)>> {
        let both = Pipeline { name: "both", doc: "", passes: "first,second" };
        let deep = Pipeline { name: "deep", doc: "", passes: "both{deep=true},both" };
        let wrong = Pipeline { name: "wrong", doc: "", passes: "first,thrid" };
        let endless = Pipeline { name: "endless", doc: "", passes: "first,endless" };
        let registry = only(&[&FIRST, &SECOND]).with_pipelines(&[both, deep, wrong, endless]);
        let show = |s: &Step| match s.options == Options::defaults(s.pass.options) {
            true => s.pass.name.to_owned(),
            false => format!("{}{{deep={}}}", s.pass.name, s.options.text("deep")),
        };
        match registry.parse(text) {
            Ok(steps) => Ok(steps.iter().map(show).collect()),
            Err(d) => Err(d.iter().map(|d| (d.labels[0].0, d.message.clone())).collect()),
        }
    }

    #[test]
    fn names_and_options_are_read() {
        assert_eq!(parse("first,second"), Ok(vec!["first".into(), "second".into()]));
        assert_eq!(parse(" first{deep=true} , second "), Ok(vec!["first{deep=true}".into(), "second".into()]));
        assert_eq!(parse("first{deep}"), Ok(vec!["first{deep=true}".into()]));
        assert_eq!(parse(""), Ok(vec![]));
    }

    #[test]
    fn passes_stand_in_the_op_they_run_on() {
        let both = Ok(vec!["first{deep=true}".to_owned(), "second".to_owned(), "first".to_owned()]);
        assert_eq!(parse("builtin.module(first{deep=true},func.func(second), first)"), both);
        assert_eq!(parse("builtin.module( func.func( first{deep} , second ) ),any(first)"), both);
        assert_eq!(parse("builtin.module()"), Ok(vec![]));
        let fault = |at: usize, end: usize, message: &str| Err(vec![(Span::new(at, end), message.to_owned())]);
        assert_eq!(
            parse("tensor.pad(first)"),
            fault(0, 10, "passes run on builtin.module or func.func or any, not on 'tensor.pad'")
        );
        assert_eq!(parse("any(first"), fault(9, 9, "the passes of 'any' have no closing ')'"));
        assert_eq!(parse("first)"), fault(5, 6, "expected ',' between passes"));
        let deep = "any(".repeat(100_000);
        assert_eq!(parse(&deep).map_err(|e| e[0].1.clone()), Err("nested deeper than 16 levels".to_owned()));
    }

    #[test]
    fn pipelines_stand_for_their_passes() {
        let steps = |list: &[&str]| Ok(list.iter().map(|&s| s.to_owned()).collect());
        assert_eq!(parse("both"), steps(&["first", "second"]));
        // An option applies to the passes that have it.
        assert_eq!(parse("both{deep=true},second"), steps(&["first{deep=true}", "second", "second"]));
        assert_eq!(parse("deep"), steps(&["first{deep=true}", "second", "first", "second"]));
        let fault = |message: &str| {
            Err(vec![(Span::new(7, 7 + message.split('\'').nth(1).unwrap().len()), message.to_owned())])
        };
        assert_eq!(parse("second,wrong"), fault("pipeline 'wrong': unknown pass 'thrid'"));
        assert_eq!(parse("second,endless"), fault("pipeline 'endless': pipeline 'endless' contains itself"));
    }

    #[test]
    fn every_standard_pipeline_can_be_read() {
        let registry = Registry::standard();
        for pipeline in registry.pipelines() {
            let steps = registry.parse(pipeline.name).map_err(|d| format!("{:?}", d.iter().next()));
            assert!(steps.is_ok_and(|s| s.len() > 1), "{}", pipeline.name);
        }
        let names =
            |text: &str| registry.parse(text).unwrap().iter().map(|s| s.pass.name).collect::<Vec<_>>().join(",");
        assert_eq!(
            names("compile"),
            "mpmd-meshes,mpmd-scopes,mpmd-microbatch,mpmd-assign,mpmd-partition,mpmd-schedule,mpmd-spmd,import,propagate,unify-meshes,one-device,cse,plan,replicate,partition,rematerialize,collective-matmul,schedule,decompose-hierarchical,check-memory,check-spmd"
        );
    }

    #[test]
    fn targets_of_the_registry_reach_the_passes() {
        let registry = Registry::standard().with_target("mine", Target::default());
        let steps = registry.parse("plan{target=mine}").unwrap();
        assert_eq!(
            steps[0].options.registry().targets().parse(steps[0].options.compile.target_name()),
            Ok(Target::default())
        );
    }

    #[test]
    fn faults_point_at_their_place() {
        let fault = |at: usize, end: usize, message: &str| Err(vec![(Span::new(at, end), message.to_owned())]);
        assert_eq!(parse("first,secnd"), fault(6, 11, "unknown pass 'secnd'"));
        assert_eq!(parse("first{deep=7}"), fault(6, 12, "pass 'first': option 'deep' expects true|false, not '7'"));
        assert_eq!(parse("second{deep=true}"), fault(7, 16, "pass 'second': no option 'deep'; it takes none"));
        assert_eq!(parse("first{deep=true"), fault(15, 15, "the options of 'first' have no closing '}'"));
        assert_eq!(parse("first second"), fault(6, 12, "expected ',' between passes"));
        assert_eq!(parse(",first"), fault(0, 0, "expected the name of a pass"));
    }

    #[test]
    fn a_later_pass_replaces_one_of_its_name() {
        static OTHER: Pass = Pass { doc: "other", ..FIRST };
        let registry = only(&[&FIRST]).with_passes(&[&OTHER, &SECOND]);
        assert_eq!(registry.get("first").map(|p| p.doc), Some("other"));
        assert_eq!(registry.passes().len(), 2);
    }
}
