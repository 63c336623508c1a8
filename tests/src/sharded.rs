//! Code shared by tests of random programs in shards.

use std::fmt::Display;
use std::path::Path;

use dialect::ir::Program;
use fastrand::Rng;
use passes::estimate::{Flat, Target};
use shardc::{
    Backend, Compiler, Diagnostics, ExecuteOptions, HAS_NATIVE, Interface, Literal, Module, Outcome, Source,
    random_inputs,
};

/// The values of a program's arguments or results, for each replica.
pub type Values = Vec<Vec<Literal>>;

/// The backends of this build.
pub const BACKENDS: &[Backend] =
    if HAS_NATIVE { &[Backend::Reference, Backend::Native] } else { &[Backend::Reference] };

/// The flags of `run` and `check` that choose each of the backends.
pub const BACKEND_FLAGS: &[&[&str]] = if HAS_NATIVE { &[&["--interpret"], &[]] } else { &[&["--interpret"]] };

/// Returns the number in an environment variable, which chooses seeds or the number of programs.
pub fn number(name: &str, default: u64) -> u64 {
    std::env::var(name).ok().and_then(|text| text.parse().ok()).unwrap_or(default)
}

/// `tensor<4x8xi32>`
pub fn ty(shape: &[i64], element: &str) -> String {
    format!("tensor<{}{element}>", shape.iter().map(|n| format!("{n}x")).collect::<String>())
}

/// Places each axis on one of `rank` dimensions or on none, as text.
pub fn sharding(random: &mut Rng, axes: &[&str], rank: usize) -> String {
    let mut dims = vec![Vec::new(); rank];
    for axis in axes {
        if let Some(dim) = dims.get_mut(random.usize(0..rank + 1)) {
            dim.push(format!("\"{axis}\""));
        }
    }
    let dims: Vec<String> = dims.iter().map(|d| format!("{{{}}}", d.join(", "))).collect();
    format!("{{sdy.sharding = #sdy.sharding<@mesh, [{}]>}}", dims.join(", "))
}

/// Returns a compiler with a target `slow` on which only bytes have a cost, as for large tensors.
pub fn compiler() -> Compiler {
    let slow = Flat { latency: 0.0, bandwidth: 1.0, ..Flat::default() };
    Compiler::standard().with_target("slow", Target::Flat(slow))
}

/// Joins the messages of the diagnostics.
pub fn messages(diagnostics: Diagnostics) -> String {
    diagnostics.list.iter().map(|d| d.message.clone()).collect::<Vec<_>>().join("; ")
}

/// Returns the value of a step on the program `name`.
///
/// # Panics
/// If there is none; with the messages of the diagnostics.
#[track_caller]
pub fn value<T>(name: impl Display, outcome: Outcome<T>) -> T {
    done(outcome).unwrap_or_else(|why| panic!("{name}: {why}"))
}

/// Returns the value of a step.
///
/// # Errors
/// The messages of the diagnostics, if there is no value.
pub fn done<T>(outcome: Outcome<T>) -> Result<T, String> {
    outcome.value.ok_or_else(|| messages(outcome.diagnostics))
}

/// Returns the program in a text, verified.
///
/// # Panics
/// If it has errors.
#[track_caller]
pub fn parsed(text: &str) -> Program {
    let mut diagnostics = dialect::diagnostic::Diagnostics::default();
    let program = dialect::parse(text, &mut diagnostics);
    dialect::verify(&program, &mut diagnostics);
    assert!(!diagnostics.has_errors(), "{:?}\n{text}", diagnostics.iter().next());
    program
}

/// Returns the program in a text, and random inputs for it.
///
/// # Panics
/// If the text is no program over tensors.
#[track_caller]
pub fn module_and_inputs(compiler: &Compiler, name: &str, text: impl Into<String>, seed: u64) -> (Module, Values) {
    let module = value(name, compiler.parse(Source::new(name, text)));
    let interface = Interface::of(&module).unwrap_or_else(|| panic!("{name} doesn't take and return tensors"));
    let inputs = random_inputs(&interface.arguments, seed, interface.replicas);
    (module, inputs)
}

/// Returns the results of a per-device program, assembled from all devices.
///
/// # Panics
/// If it can't run.
#[track_caller]
pub fn results(name: impl Display, compiler: &Compiler, device: &Module, inputs: &Values, backend: Backend) -> Values {
    value(name, compiler.execute(device, inputs, &ExecuteOptions { backend, ..ExecuteOptions::default() })).results
}

/// Writes an array for each value, named by `prefix` and its position, to an NPZ file.
///
/// # Panics
/// If the file can't be written.
pub fn write_arrays(path: &Path, prefix: &str, values: &[Literal]) {
    let named: Vec<_> = values.iter().enumerate().map(|(i, v)| (format!("{prefix}{i}"), v.clone())).collect();
    runtime::npz::write_file(path, &named).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
}
