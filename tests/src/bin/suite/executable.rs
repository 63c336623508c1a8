//! Shardy's executable tests. The first part has functions to partition; the `@main` of the second part runs them
//! device by device and compares their results.
//!
//! Each function becomes `@main` for our compiler. Arguments and results without a sharding are replicated, as the
//! local types in the second part require. `sequential_` functions stay as they are; if the first part lacks one that
//! the second part calls, the unpartitioned `parallel_` function is used.

use std::collections::BTreeSet;

use dialect::ir::{AttrData, Program};
use dialect::ops::func;
use dialect::sharding::{MeshRef, TensorSharding};
use dialect::signature;
use shardc::{CompileOptions, Compiler, Module, PrintOptions, Source};

use crate::report::Outcome;
use crate::text::load;

/// Returns one outcome for each function of the first part, and one for the run.
pub(crate) fn file(text: &str) -> Vec<Outcome> {
    let parts: Vec<&str> = text.split("//--- ").map(|p| p.split_once('\n').map_or("", |(_, rest)| rest)).collect();
    let [_, global, run] = parts[..] else { return vec![Outcome::Skipped] };
    if !run.contains("check.expect") {
        return vec![Outcome::Skipped];
    }
    let commands = text.split("//--- ").next().unwrap_or("");
    let mut outcomes = Vec::new();
    let mut linked = String::new();
    let names: Vec<&str> = names(global).collect();
    for &name in &names {
        let functions = match name.starts_with("sequential_") {
            true => Ok(vec![function(global, name).to_owned()]),
            false => per_device(global, name).map(|local| {
                let mut functions: Vec<String> = called(name, commands, run)
                    .iter()
                    .map(|called| local.replace("@main(", &format!("@{called}(")))
                    .collect();
                for before in ["parallel_", "transformed_"] {
                    let Some(rest) = name.strip_prefix(before) else { continue };
                    for plain in [format!("sequential_{rest}"), format!("original_{rest}")] {
                        if run.contains(&format!("@{plain}(")) && !names.contains(&&*plain) {
                            functions.push(
                                function(global, name).replace(before, plain.split_inclusive('_').next().unwrap_or("")),
                            );
                        }
                    }
                }
                functions
            }),
        };
        outcomes.push(match functions {
            Ok(functions) => {
                linked.extend(functions);
                Outcome::Passed
            }
            Err(failed) => failed,
        });
    }
    let meshes: String =
        global.lines().filter(|l| l.trim_start().starts_with("sdy.mesh ")).map(|l| format!("{l}\n")).collect();
    let whole = format!("{meshes}{linked}{run}");
    outcomes.extend(crate::evaluate::file(&whole));
    outcomes
}

/// Returns the names of the functions in `text`.
fn names(text: &str) -> impl Iterator<Item = &str> {
    text.lines().filter_map(|l| l.trim_start().strip_prefix("func.func ")?.split_once('@')?.1.split('(').next())
}

/// Returns the text of one function, which ends at the first closing brace with the same indentation as its beginning.
fn function<'a>(text: &'a str, name: &str) -> &'a str {
    let Some(at) = text.find(&format!("@{name}(")) else { return "" };
    let start = text[..at].rfind('\n').map_or(0, |i| i + 1);
    let indent = text[start..].len() - text[start..].trim_start().len();
    let end = format!("\n{}}}\n", &text[start..start + indent]);
    text[start..].find(&end).map_or(&text[start..], |length| &text[start..start + length + end.len()])
}

/// Returns the names under which the second part runs a function: its own, or those to which a command of the test
/// renames it.
fn called<'a>(name: &'a str, commands: &'a str, run: &str) -> BTreeSet<&'a str> {
    let renamed = commands.split("sed 's/").skip(1).filter_map(|sed| {
        let (from, rest) = sed.split_once('/')?;
        (from == name).then_some(rest.split('/').next()?)
    });
    let called: BTreeSet<&str> = renamed.filter(|to| run.contains(&format!("@{to}"))).collect();
    if called.is_empty() { [name].into() } else { called }
}

/// Returns the function that each device runs, as the text of a function `@main`.
fn per_device(text: &str, name: &str) -> Result<String, Outcome> {
    // Keep only the functions that it calls and its own meshes, because other meshes may be over other devices.
    let own = function(text, name);
    let word = |c: char| c.is_alphanumeric() || c == '_' || c == '@';
    let words: BTreeSet<&str> = own.split(|c| !word(c)).collect();
    let mesh = |line: &&str| {
        let mesh = line.trim_start().strip_prefix("sdy.mesh ").and_then(|l| l.split_whitespace().next());
        mesh.is_some_and(|mesh| words.contains(mesh))
    };
    let mut needed: String = text.lines().filter(mesh).map(|l| format!("{l}\n")).collect();
    needed.push_str(own);
    needed.extend(names(text).filter(|n| *n != name && words.contains(&*format!("@{n}"))).map(|n| function(text, n)));
    let text = needed.replace("func.func @", "func.func private @");
    let text = text.replace(&format!("private @{name}("), &format!("@{name}(")).replace(&format!("@{name}("), "@main(");
    let mut program = load(&text)?;
    close(&mut program);
    let compiler = Compiler::standard();
    let module = Module::new(program, Source::new(name, &*text));
    let done = compiler.compile(module, "compile", &CompileOptions::default());
    let mut done = done.into_result().map_err(|d| {
        let first = d.list.first().map_or_else(String::new, |d| d.message.clone());
        Outcome::failed(format!("compile: {first}"), name)
    })?;
    let program = done.program_mut();
    let Some(main) = func::function(program, "main") else { return Err(Outcome::failed("no @main", name)) };
    let types = func::signature(program, main);
    let (inputs, results) = (types.inputs.len(), types.results.len());
    for attr in [signature::GLOBAL_TYPE, signature::SHARDING] {
        (0..inputs).for_each(|i| func::remove_arg_attr(program, main, i, attr));
        (0..results).for_each(|i| func::remove_result_attr(program, main, i, attr));
    }
    let printed = compiler.print(&done, PrintOptions::default());
    Ok(function(&printed, "main").to_owned())
}

/// Replicates arguments and results without a sharding.
fn close(program: &mut Program) {
    let Some(main) = func::function(program, "main") else { return };
    let types = func::signature(program, main);
    let (inputs, results) = (types.inputs.to_vec(), types.results.to_vec());
    let stated = (0..inputs.len()).filter_map(|i| func::arg_sharding(program, main, i));
    let stated = stated.chain((0..results.len()).filter_map(|i| func::result_sharding(program, main, i)));
    let Some(mesh) = stated.map(|s| s.mesh.clone()).next() else { return };
    let replicated = |program: &mut Program, ty, mesh: &MeshRef| {
        let rank = program.type_data(ty).tensor().map_or(0, |t| t.rank());
        program.intern_attr(AttrData::Sharding(TensorSharding::replicated(mesh.clone(), rank)))
    };
    for (i, &ty) in inputs.iter().enumerate() {
        if func::arg_sharding(program, main, i).is_none() {
            let attr = replicated(program, ty, &mesh);
            func::set_arg_attr(program, main, i, func::SHARDING, attr);
        }
    }
    for (i, &ty) in results.iter().enumerate() {
        if func::result_sharding(program, main, i).is_none() {
            let attr = replicated(program, ty, &mesh);
            func::set_result_attr(program, main, i, func::SHARDING, attr);
        }
    }
}
