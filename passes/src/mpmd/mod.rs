//! Programs over several meshes: the batch is cut into microbatches (`mpmd-microbatch`), `@main` is split into
//! fragments, each on one mesh (`mpmd-assign`), the passes for one mesh partition each fragment on its mesh
//! (`mpmd-partition`), and all become one program for the devices of all meshes (`mpmd-spmd`). A program without a
//! topology isn't changed.

mod assign;
mod balance;
mod flat;
mod fragments;
mod meshes;
mod microbatch;
mod outline;
mod partition;
mod schedule;
mod scopes;
mod spmd;

pub use schedule::{Pipeline, PipelineMesh};

use dialect::codes;
use dialect::diagnostic::{Diagnostic, Diagnostics};
use dialect::ir::{Program, Stage};
use dialect::ops::mpmd;

use crate::compile_options::{self, Field, MEMORY};
use crate::options::OptionDef;
use crate::pass::{Effect, Pass};

const TARGET: OptionDef =
    OptionDef { doc: "The machine of each mesh: flat, or a slice of TPUs like v5e:4x2.", ..compile_options::TARGET };

/// Returns whether no value is on a mesh of a topology any more, as passes for one mesh require; otherwise reports
/// which passes to run.
pub(crate) fn is_on_one_mesh(program: &Program, diagnostics: &mut Diagnostics) -> bool {
    if !program.knows_mesh_tensors() {
        return true;
    }
    // Values in nested modules count, too.
    let found = program.values_under(program.body()).into_iter().find(|&v| mpmd::mesh_of(program, v).is_some());
    if let Some(value) = found {
        let span = program.value_span(value);
        let d = Diagnostic::error(codes::MESH_ASSIGNMENT, span, "a tensor is assigned to one of several meshes");
        diagnostics.push(d.note("run mpmd-assign, mpmd-partition and mpmd-spmd first, as the command compile does"));
    }
    found.is_none()
}

const NAMES: OptionDef = OptionDef::field(
    "assign",
    Field::Assign,
    "",
    "The mesh of each named computation, as a list of name@mesh; by default they are balanced by cost.",
);

const ORDER: OptionDef = OptionDef::field(
    "schedule",
    Field::Schedule,
    "auto",
    "The order of microbatches; auto chooses the fastest that fits memory.",
);

/// The pass that finds meshes of different devices.
pub(crate) static MESHES: Pass = Pass {
    name: "mpmd-meshes",
    doc: "Adds a topology of the meshes to a program whose shardings are over meshes of different devices.",
    effect: Effect::Rewrite,
    options: &[],
    run: |program, _, diagnostics| meshes::meshes(program, diagnostics),
};

/// The pass that turns ops under JAX's name scopes into named computations.
pub(crate) static SCOPES: Pass = Pass {
    name: "mpmd-scopes",
    doc: "Groups ops into named computations by the JAX scopes in their locations.",
    effect: Effect::Rewrite,
    options: &[
        OptionDef::field(
            "scopes",
            Field::Stages,
            "",
            "The names of the scopes, as a list, in addition to those of the option assign; layer* matches all that \
            begin with layer.",
        ),
        NAMES,
    ],
    run: scopes::scopes,
};

/// The pass that cuts the batch into microbatches.
pub(crate) static MICROBATCH: Pass = Pass {
    name: "mpmd-microbatch",
    doc: "Splits the batch of a program with a topology into microbatches, and adds or concatenates their results.",
    effect: Effect::Rewrite,
    options: &[
        OptionDef::field(
            "microbatches",
            Field::Microbatches,
            "1",
            "The number of microbatches; auto chooses the number and schedule that the model finds fastest within \
            memory.",
        ),
        OptionDef::text(
            "batch",
            "The number of the argument whose first dimension is the batch; by default the one that most ops depend \
            on.",
        ),
        NAMES,
        ORDER,
        TARGET,
        OptionDef { doc: "The maximum memory of a device; no limit by default.", ..MEMORY },
    ],
    run: microbatch::microbatch,
};

/// The pass that splits `@main` into fragments.
pub(crate) static ASSIGN: Pass = Pass {
    name: "mpmd-assign",
    doc: "Splits a program with a topology into fragments, each on one mesh, and transfers between them.",
    effect: Effect::Rewrite,
    options: &[NAMES, TARGET],
    run: assign::assign,
};

/// The pass that partitions fragments.
pub(crate) static PARTITION: Pass = Pass {
    name: "mpmd-partition",
    doc: "Makes each fragment a function that the devices of its mesh run, and gives every value a sharding.",
    effect: Effect::Rewrite,
    options: &[TARGET, MEMORY],
    run: partition::partition,
};

/// The pass that orders fragments.
pub(crate) static SCHEDULE: Pass = Pass {
    name: "mpmd-schedule",
    doc: "Orders the fragments of microbatches, and records when each runs and how much memory each mesh needs.",
    effect: Effect::Rewrite,
    options: &[ORDER, TARGET, OptionDef { doc: "The maximum memory of a device; no limit by default.", ..MEMORY }],
    run: schedule::schedule,
};

/// The pass that merges all fragments into one program.
pub(crate) static SPMD: Pass = Pass {
    name: "mpmd-spmd",
    doc: "Merges fragments and transfers into one program for the devices of all meshes.",
    effect: Effect::Reach(Stage::OneMesh),
    options: &[],
    run: |program, _, diagnostics| spmd::spmd(program, diagnostics),
};
