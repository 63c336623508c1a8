//! The flags of `shardc opt` that aren't fields: one for each pass and pipeline, and those of mlir-opt that are refused
//! with a hint.

use std::collections::HashSet;
use std::ffi::OsString;

use clap::{Arg, ArgAction, ArgMatches, Command};

use super::Listed;
use crate::Compiler;
use crate::cli::session::Failure;

const EXAMPLES: &str = "\
Examples:
  shardc opt model.mlir                                  verify and print a program in canonical form
  shardc opt --propagate model.mlir                      the program after propagation
  shardc opt --import --propagate --plan model.mlir      with the collectives of the plan
  shardc opt --plan=target=v5e:4x2 < propagated.mlir     a pass with an option, from standard input
  shardc opt --pass-pipeline='builtin.module(import,propagate{origins=true})' model.mlir
  shardc opt --split-input-file --verify-diagnostics tests.mlir

Flags are those of mlir-opt; '-flag' means '--flag'. FileCheck and lit work with the output.";

/// Flags of mlir-opt and passes of MLIR and Shardy that don't exist here, with hints on alternatives.
const REFUSED: &[(&str, &str)] = &[
    ("emit-bytecode-version", "--emit-bytecode writes version 4 of the format, which MLIR reads since 2023"),
    ("emit-bytecode-producer", "--emit-bytecode writes 'shardc' and its version"),
    ("load-pass-plugin", "passes are added in Rust, with Compiler::with_passes and shardc::run_with"),
    ("load-dialect-plugin", "ops are added in Rust, with Compiler::with_ops and shardc::run_with"),
    ("irdl-file", "ops are added in Rust, with Compiler::with_ops and shardc::run_with"),
    ("list-passes", "shardc opt --help lists them"),
    ("version", "'shardc --version' prints it"),
    ("help-hidden", "--help shows all flags"),
    ("help-list", "--help shows all flags"),
    ("color", "diagnostics are colored on terminals"),
    ("view-op-graph", "'shardc report' draws a program for a browser"),
    ("mlir-print-assume-verified", "programs are verified before they are printed"),
    ("show-dialects", "stablehlo, chlo, sdy and func are registered; ops of other dialects are read in generic form"),
    ("no-implicit-module", "the parser adds a module around top-level ops; write 'module { … }' to state it"),
    ("run-reproducer", "pass the passes that the file names to --pass-pipeline"),
    ("mlir-pass-pipeline-crash-reproducer", "find the pass with --mlir-print-ir-before-all"),
    ("mlir-pass-pipeline-local-reproducer", "find the pass with --mlir-print-ir-before-all"),
    ("mlir-generate-reproducer", "print the input of a pass with --mlir-print-ir-before=PASS"),
    ("mlir-pass-statistics-display", "--mlir-pass-statistics shows the numbers of each pass in order"),
    ("mlir-timing-display", "--mlir-timing shows one line for each pass"),
    ("mlir-output-format", "--json writes data for programs"),
    ("mlir-pretty-debuginfo", "use --mlir-print-debuginfo, with --mlir-print-local-scope"),
    ("mlir-print-ir-after-change", "use --mlir-print-ir-after-all and compare"),
    (
        "mlir-print-ir-after-failure",
        "use --mlir-print-ir-after-all: the last program printed is the one before the failure",
    ),
    ("mlir-print-ir-tree-dir", "use --mlir-print-ir-after-all, which prints on the error stream"),
    ("mlir-print-op-on-diagnostic", "diagnostics show the line of the text"),
    ("mlir-print-stacktrace-on-diagnostic", "diagnostics have codes, which 'shardc help codes' explains"),
    ("mlir-diagnostic-verbosity-level", "use --diagnostics lines for one line each"),
    ("mlir-disable-diagnostic-notes", "use --diagnostics lines and leave out those with 'note:'"),
    ("mlir-elide-elementsattrs-if-larger", "constants are printed whole, so that the text can be read again"),
    ("mlir-elide-resource-strings-if-larger", "constants are printed whole, so that the text can be read again"),
    ("mlir-print-elementsattrs-with-hex-if-larger", "constants are printed as StableHLO prints them"),
    ("mlir-print-value-users", "'shardc lsp' shows the uses of a value in an editor"),
    ("mlir-print-unique-ssa-ids", "names are unique within a function"),
    ("mlir-print-skip-regions", "regions are always printed"),
    ("mlir-use-nameloc-as-prefix", "values are numbered"),
    ("verify-roundtrip", "run shardc opt on its own output and compare"),
    ("mlir-debug-counter", "debug counters are not supported"),
    ("log-actions-to", "logs of actions are not supported; --mlir-print-ir-after-all shows the effects of passes"),
    ("profile-actions-to", "--mlir-timing shows the seconds of each pass"),
    ("debug-only", "debug output is not supported; --mlir-print-ir-after-all shows the effects of passes"),
    ("canonicalize", "it is a pass of MLIR: run mlir-opt or stablehlo-opt on the output"),
    ("inline", "calls are inlined by --import"),
    ("sdy-basic-propagate", "use --propagate=propagation-strategy=basic; it also closes shardings"),
    ("sdy-aggressive-propagate", "use --propagate; it also closes shardings"),
    ("sdy-op-priority-propagate", "use --propagate; it also closes shardings"),
    ("sdy-user-priority-propagate", "use --propagate; it also closes shardings"),
    ("sdy-close-shardings", "--propagate closes them at its end"),
    ("sdy-populate-op-sharding-rules", "use --propagate=keep-sharding-rules=true"),
    ("sdy-insert-explicit-reshards", "use --plan, which writes collectives at once"),
    ("sdy-reshard-to-collectives", "use --plan, which writes collectives at once"),
    ("sdy-convert-global-to-local", "use --partition, after --plan"),
    ("sdy-export-pipeline", "use --plan, then --partition"),
];

/// Adds these flags to the command.
pub(crate) fn add(command: Command, compiler: &Compiler) -> Command {
    let ids = command.get_arguments().map(|arg| arg.get_id().to_string());
    let mut taken: HashSet<String> = longs(&command).into_iter().chain(ids).collect();
    let passes = compiler.passes();
    let names = passes.passes().iter().map(|p| p.name).chain(passes.pipelines().iter().map(|p| p.name));
    let names: Vec<&'static str> = names.filter(|name| taken.insert((*name).to_owned())).collect();
    let flag = |name: &'static str| {
        // Hide them, because the help lists the passes below the flags.
        Arg::new(name).long(name).num_args(0..=1).require_equals(true).default_missing_value("").hide(true)
    };
    let refused: Vec<_> = REFUSED.iter().filter(|(name, _)| taken.insert((*name).to_owned())).collect();
    let refused = refused.into_iter().map(|(name, _)| flag(name).action(ArgAction::Append));
    let passes: Vec<Arg> = names.into_iter().map(|name| flag(name).action(ArgAction::Append)).collect();
    command.args(passes).args(refused).after_long_help(help(compiler))
}

/// Returns the long names of a command's flags.
fn longs(command: &Command) -> Vec<String> {
    command.get_arguments().flat_map(names).collect()
}

/// Returns the long names of a flag.
fn names(arg: &Arg) -> Vec<String> {
    let mut names: Vec<String> = arg.get_long().into_iter().map(str::to_owned).collect();
    names.extend(arg.get_all_aliases().unwrap_or_default().into_iter().map(str::to_owned));
    names
}

/// Accepts LLVM's `--flag=true` and `--flag=0` for flags without a value: true values become `--flag`, false values are
/// dropped.
pub(crate) fn without_truth(args: &mut Vec<OsString>, command: &Command) {
    let opt = command.find_subcommand("opt");
    let plain =
        opt.iter().flat_map(|opt| opt.get_arguments()).filter(|arg| matches!(arg.get_action(), ArgAction::SetTrue));
    let plain: Vec<String> = plain.flat_map(names).collect();
    let end = args.iter().position(|arg| arg == "--").unwrap_or(args.len());
    let rest = args.split_off(end);
    args.retain_mut(|arg| {
        let Some((name, value)) = arg.to_str().and_then(|text| text.strip_prefix("--")?.split_once('=')) else {
            return true;
        };
        if !plain.iter().any(|flag| flag == name) {
            return true;
        }
        match value {
            "true" | "TRUE" | "True" | "1" => *arg = format!("--{name}").into(),
            "false" | "FALSE" | "False" | "0" => return false,
            _ => {}
        }
        true
    });
    args.extend(rest);
}

/// Accepts LLVM's `-flag` for `--flag`.
pub(crate) fn double_dashes(args: &mut [OsString]) {
    for arg in args.iter_mut() {
        let Some(text) = arg.to_str() else { continue };
        if text == "--" {
            return;
        }
        let name = text.strip_prefix('-').unwrap_or_default();
        let is_flag = name.len() > 1 && name.starts_with(|c: char| c.is_ascii_alphabetic());
        // `-oFILE` is the only short flag with a value.
        let short = name.starts_with('o') && !name.starts_with("output");
        if is_flag && !short {
            *arg = format!("--{name}").into();
        }
    }
}

/// Returns the passes that the flags list, in command-line order; refuses unsupported flags.
pub(crate) fn listed(matches: &ArgMatches, compiler: &Compiler) -> Result<Vec<Listed>, Failure> {
    let given = |name: &str| {
        let there = matches.try_contains_id(name).unwrap_or(false);
        there && matches.value_source(name) == Some(clap::parser::ValueSource::CommandLine)
    };
    if let Some((name, instead)) = REFUSED.iter().find(|(name, _)| compiler.passes().get(name).is_none() && given(name))
    {
        return Err(Failure::Usage(format!("--{name} is not supported: {instead}")));
    }
    let mut list: Vec<Listed> = Vec::new();
    let mut add = |id: &str, flag: &str, passes: &dyn Fn(&str) -> String| {
        let at = matches.indices_of(id).into_iter().flatten();
        let texts = matches.try_get_many::<String>(id).ok().flatten().into_iter().flatten();
        list.extend(at.zip(texts).map(|(at, text)| Listed { at, flag: flag.to_owned(), passes: passes(text) }));
    };
    for (id, flag) in [("passes", "--passes"), ("pass_pipeline", "--pass-pipeline")] {
        add(id, flag, &str::to_owned);
    }
    let passes = compiler.passes();
    let names = passes.passes().iter().map(|p| p.name).chain(passes.pipelines().iter().map(|p| p.name));
    for name in names.filter(|name| given(name)) {
        add(name, &format!("--{name}"), &|options| match options {
            "" => name.to_owned(),
            options => format!("{name}{{{options}}}"),
        });
    }
    list.sort();
    let mixed = list.iter().any(|l| l.flag == "--pass-pipeline") && list.len() > 1;
    if mixed {
        return Err(Failure::Usage(
            "--pass-pipeline is the whole list of passes: remove the other pass flags".to_owned(),
        ));
    }
    Ok(list)
}

/// Returns the part of `--help` after the flags: examples, and the passes and pipelines of the registry.
fn help(compiler: &Compiler) -> String {
    let mut text = format!("{EXAMPLES}\n\nPasses (each is a flag):\n");
    for pass in compiler.passes().passes() {
        text.push_str(&format!("  {:<12} {}\n", pass.name, pass.doc));
        for option in pass.options {
            text.push_str(&format!("    {}={} (default: {})\n", option.name, option.ty, option.default));
            text.push_str(&format!("        {}\n", option.doc));
        }
    }
    text.push_str("\nPipelines (each is a flag):\n");
    for pipeline in compiler.passes().pipelines() {
        text.push_str(&format!("  {:<12} {}\n               = {}\n", pipeline.name, pipeline.doc, pipeline.passes));
    }
    text.trim_end().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_dash_is_two() {
        let mut args: Vec<OsString> =
            ["-split-input-file", "-o", "x", "-ofile", "-", "--generic", "-a=-b", "--", "-x1"].map(Into::into).into();
        double_dashes(&mut args);
        let wanted = ["--split-input-file", "-o", "x", "-ofile", "-", "--generic", "--a=-b", "--", "-x1"];
        assert_eq!(args, wanted.map(OsString::from));
    }
}
