//! A program that is prepared for a search, and the proposal built from the result.

use dialect::codes;
use dialect::diagnostic::{Diagnostic as Plain, Diagnostics as Plains, Span};
use dialect::ir::{Value, ValueSource};
use dialect::ops::func;
use dialect::sharding::{AxisRef, TensorSharding};
use passes::estimate::Target;

use super::SearchOptions;
use super::axis::{referred, whole_axes};
use super::candidate::{self, Candidate, MeshName, Pinned};
use super::compare;
use super::constrain::placeable;
use super::explore::{Explored, Meshes};
use super::proposal::{Alternative, Proposal, ProposedAxis, ProposedConstraint, ProposedSharding};
use super::survey::{self, AxisUse, Survey};
use super::trial;
use crate::diagnostic::one;
use crate::explain::partition_spec_with;
use crate::module::Module;
use crate::place::{place, value_name};

/// A program that is prepared for a search.
pub(super) struct Ready {
    /// The program into which the proposal is written.
    pub(super) written: Module,
    pub(super) imported: Module,
    pub(super) survey: Survey,
    pub(super) mesh: MeshName,
    pub(super) meshes: Meshes,
    pub(super) target: Target,
    /// The memory limit of a device, in bytes.
    pub(super) memory: f64,
}

impl Ready {
    /// Returns the best candidate as a proposal, and the program with the proposal written into it.
    pub(super) fn propose(
        self,
        (explored, complete): (Explored, bool),
        options: &SearchOptions,
    ) -> Result<(Proposal, Module), Plains> {
        let Some((best, measure)) = explored.ranked.first() else {
            let (message, note) = match complete {
                true => (
                    "none of the evaluated shardings can be compiled",
                    "compile the program without a sharding to see why",
                ),
                false => ("the time was over before any sharding was planned", "use a larger --budget"),
            };
            return Err(one(Plain::error(codes::NOTHING_TO_SEARCH, Span::default(), message).note(note)));
        };
        // The program as it was written lacks the values that import created by inlining calls.
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

    /// Returns a constraint in the form of the proposal.
    fn constraint(&self, values: &[Value], spec: Option<String>, sharding: String) -> Option<ProposedConstraint> {
        let program = self.imported.program();
        let &value = values.first()?;
        let loc = match program.value_source(value) {
            ValueSource::Result(op, _) => place(program, self.imported.source(), op),
            ValueSource::Arg(..) => None,
        };
        Some(ProposedConstraint { value: value_name(program, value), loc, count: values.len(), spec, sharding })
    }

    /// Describes the use of an axis in a sentence.
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
            Some(AxisUse::Data) => "shards the batch".to_owned(),
            Some(AxisUse::Sequence) => "shards positions of the sequence".to_owned(),
            Some(AxisUse::Expert) => "shards experts".to_owned(),
            Some(AxisUse::Model) => "shards parameters and the results computed from them".to_owned(),
            None => "is used as annotated".to_owned(),
        };
        match by_class[..] {
            [] if kind.is_some_and(AxisUse::is_of_data) => does.push_str(", inside: it shards no argument evenly"),
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
            role: kind.map(AxisUse::text),
            stores_parameters: stored > 0,
            does,
        }
    }
}

/// Returns the JAX code for the mesh of a candidate that uses parts of axes.
fn jax_mesh(candidate: &Candidate) -> Option<String> {
    candidate.axes.iter().any(|axis| axis.part.is_some()).then_some(())?;
    let sizes: Vec<String> = candidate.axes.iter().map(|axis| axis.size.to_string()).collect();
    let names: Vec<String> = candidate.axes.iter().map(|axis| format!("'{}'", axis.name)).collect();
    // JAX's default axis types don't let its compiler choose shardings inside the program.
    let types = format!("axis_types=(jax.sharding.AxisType.Auto,) * {}", names.len());
    Some(format!("jax.make_mesh(({}), ({}), {types})", sizes.join(", "), names.join(", ")))
}
