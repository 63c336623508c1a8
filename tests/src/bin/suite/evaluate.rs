//! Evaluation: the reference evaluator runs `@main` or the only function, whose `check` ops verify the results.

use dialect::ops::func;

use crate::programs;
use crate::report::Outcome;
use crate::text::load;

/// Returns one outcome for each program with a function that takes no arguments.
pub(crate) fn file(text: &str) -> Vec<Outcome> {
    programs(text).into_iter().map(|(_, piece)| one(piece).unwrap_or_else(|failed| failed)).collect()
}

fn one(text: &str) -> Result<Outcome, Outcome> {
    let program = load(text)?;
    let functions = program.functions();
    let name = match &functions[..] {
        [] => return Ok(Outcome::Skipped),
        [(only, _)] => func::symbol(&program, *only).unwrap_or("main"),
        _ => "main",
    };
    let Some(function) = func::function(&program, name) else { return Err(Outcome::failed("no @main", "")) };
    if !func::signature(&program, function).inputs.is_empty() {
        return Ok(Outcome::Skipped);
    }
    match runtime::reference::evaluate(&program, name, 1, 1, &[]) {
        Ok(_) => Ok(Outcome::Passed),
        Err(e) => {
            let op = e.op.as_deref().unwrap_or("?");
            let line = text[..(e.span.start as usize).min(text.len())].matches('\n').count() + 1;
            // The values that a check reports differ from case to case.
            let (reason, rest) = match op.contains("check") || e.message.contains(" elements differ") {
                true => ("the value differs", e.message.as_str()),
                false => (e.message.as_str(), ""),
            };
            let rest: String = rest.chars().take(160).collect();
            Err(Outcome::failed(format!("run: {op}: {reason}"), format!("line {line} {rest}")))
        }
    }
}
