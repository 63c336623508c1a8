//! Code shared by tests of random programs in shards.

use fastrand::Rng;
use passes::estimate::{Flat, Target};
use shardc::{Compiler, Diagnostics, Outcome};

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

/// Returns the value of a step.
///
/// # Errors
/// The messages of the diagnostics, if there is no value.
pub fn done<T>(outcome: Outcome<T>) -> Result<T, String> {
    outcome.value.ok_or_else(|| messages(outcome.diagnostics))
}
