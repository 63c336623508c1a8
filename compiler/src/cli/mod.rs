//! The command line: subcommands, and the processing from arguments to an exit code.
//!
//! Exit codes: 0 ok, 1 diagnostics or a failed comparison, 2 usage, 101 a bug in shardc.

mod against;
mod arrays;
mod cache;
mod cells;
mod command;
mod expectation;
mod joined;
mod json;
mod knobs;
mod lines;
mod lsp;
mod names;
mod perfetto;
mod phrase;
mod picture;
mod profile;
mod progress;
mod ranks;
pub(crate) mod render;
pub(crate) mod session;
mod shards;
mod svg;
mod targets;

use std::ffi::OsString;
use std::io::{IsTerminal, Write};
use std::process::ExitCode;

use clap::error::{ContextKind, ContextValue};
use clap::{CommandFactory, FromArgMatches, Parser, Subcommand};

use dialect::codes;
use dialect::text::nearest;

use self::session::{Failure, Io, Outcome, Session};
use crate::{Compiler, try_on_deep_stack};

/// Success.
pub(crate) const OK: u8 = 0;
/// The program has errors, or a comparison failed.
pub(crate) const FAILED: u8 = 1;
/// The command line is invalid.
pub(crate) const USAGE: u8 = 2;
/// A bug in shardc.
pub(crate) const BUG: u8 = 101;

const EXAMPLES: &str = "\
Examples:
  # What does my program become on each device?
  shardc compile model.mlir

  # Why is there communication, and what would remove it?
  shardc explain model.mlir

  # How long would it take, and does it fit, on a slice of TPUs?
  shardc cost model.mlir --target v5e:4x4

  # Which shardings would be faster?
  shardc search model.mlir --target v5e:4x4

  # Which device holds which shard?
  shardc show model.mlir

  # Run it on simulated devices and compare with what JAX computed
  shardc run model.mlir --inputs inputs.npz --expect expected.npz

  # Does partitioning change its results?
  shardc check model.mlir

Programs are StableHLO with Shardy annotations, as JAX prints them:
  jax.jit(f, in_shardings=..., out_shardings=...).lower(...).as_text()
'-' reads standard input. 'shardc help codes' explains the codes of diagnostics, 'shardc help
targets' the values of --target. Exit codes: 0 success, 1 errors or a failed comparison, 2 wrong
usage, 101 a bug in shardc.";

#[derive(Parser)]
#[command(name = "shardc", version, about, long_about = None, after_long_help = EXAMPLES, max_term_width = 100)]
#[command(arg_required_else_help = true, infer_long_args = true)]
/// The sharding compiler you can read, run and trust on a laptop
struct Cli {
    #[command(subcommand)]
    command: Command,
    /// Show diagnostics with the lines of the text, or as 'file:line:column: error: …', one line each
    #[arg(long, global = true, value_enum, value_name = "FORM", default_value_t)]
    diagnostics: DiagnosticForm,
}

/// The form in which diagnostics are shown.
#[derive(clap::ValueEnum, Clone, Copy, PartialEq, Eq, Debug, Default)]
enum DiagnosticForm {
    /// With the lines of the text
    #[default]
    Full,
    /// One line each, as MLIR and compilers of C print them
    Lines,
}

#[derive(Subcommand)]
enum Command {
    Compile(command::compile::CompileArgs),
    Run(command::run::RunArgs),
    Check(command::check::CheckArgs),
    Explain(command::explain::ExplainArgs),
    Cost(command::cost::CostArgs),
    Diff(command::diff::DiffArgs),
    Report(command::report::ReportArgs),
    Search(command::search::SearchArgs),
    Show(command::show::ShowArgs),
    Opt(command::opt::OptArgs),
    Calibrate(command::calibrate::CalibrateArgs),
    Gather(command::gather::GatherArgs),
    Lsp(command::lsp::LspArgs),
}

impl Command {
    fn run(self, session: &mut Session<'_>) -> Outcome {
        match self {
            Command::Compile(args) => command::compile::run(&args, session),
            Command::Run(args) => command::run::run(&args, session),
            Command::Check(args) => command::check::run(&args, session),
            Command::Explain(args) => command::explain::run(&args, session),
            Command::Cost(args) => command::cost::run(&args, session),
            Command::Diff(args) => command::diff::run(&args, session),
            Command::Report(args) => command::report::run(&args, session),
            Command::Search(args) => command::search::run(&args, session),
            Command::Show(args) => command::show::run(&args, session),
            Command::Opt(args) => command::opt::run(&args, session),
            Command::Calibrate(args) => command::calibrate::run(&args, session),
            Command::Gather(args) => command::gather::run(&args, session),
            Command::Lsp(args) => command::lsp::run(&args, session),
        }
    }
}

/// Runs `shardc` with `args` (without the program's name) and returns the exit code.
pub fn run<A: Into<OsString>>(args: impl IntoIterator<Item = A>, io: Io<'_>) -> u8 {
    run_with(&Compiler::standard(), args, io)
}

/// Like [`run`], with a compiler that has more ops, passes, pipelines or targets.
pub fn run_with<A: Into<OsString>>(compiler: &Compiler, args: impl IntoIterator<Item = A>, io: Io<'_>) -> u8 {
    let mut args: Vec<OsString> =
        std::iter::once(OsString::from("shardc")).chain(args.into_iter().map(Into::into)).collect();
    // The streams may outlive the compiler; this shortens their lifetimes to that of the run.
    let Io { stdin, out, err, out_color, err_color } = io;
    let mut session = Session::new(compiler, Io { stdin, out, err, out_color, err_color });
    // Help topics that are not commands.
    if args.get(1).is_some_and(|a| a == "help") {
        let topic = args.get(2).and_then(|topic| topic.to_str());
        let outcome = match topic {
            Some("codes") => Some(codes(&args[3..], &mut session)),
            Some("targets") => Some(session.print(&targets::help(compiler.passes().targets()))),
            _ => None,
        };
        if let Some(outcome) = outcome {
            return session.finish(outcome);
        }
    }
    let is_opt = args.get(1).is_some_and(|a| a == "opt");
    if is_opt {
        command::opt::double_dashes(&mut args[2..]);
    }
    let flags = Cli::command().mut_subcommand("opt", |c| command::opt::add(c, compiler));
    if is_opt {
        command::opt::without_truth(&mut args, &flags);
    }
    let read = flags.try_get_matches_from(args).and_then(|m| Ok((Cli::from_arg_matches(&m)?, m)));
    let outcome = match read {
        Ok((mut cli, matches)) => {
            if cli.diagnostics == DiagnosticForm::Lines {
                session.say_lines();
            }
            let listed = match (&mut cli.command, matches.subcommand_matches("opt")) {
                (Command::Opt(args), Some(flags)) => {
                    command::opt::listed(flags, compiler).map(|listed| args.listed = listed)
                }
                _ => Ok(()),
            };
            listed.and_then(|()| cli.command.run(&mut session))
        }
        Err(e) => {
            if let Some(message) = program_as_command(&e) {
                return session.finish(Err(Failure::Usage(message)));
            }
            let color = if e.use_stderr() { session.io.err_color } else { session.io.out_color };
            let text = e.render();
            let text = if color { text.ansi().to_string() } else { text.to_string() };
            let written = if e.use_stderr() { session.say(&text) } else { session.print(&text) };
            return match written {
                Err(Failure::System(_)) if !e.use_stderr() => FAILED,
                Ok(()) if e.use_stderr() => USAGE,
                _ => OK,
            };
        }
    };
    session.finish(outcome)
}

/// Returns a hint for a user who named a program instead of a command.
fn program_as_command(e: &clap::Error) -> Option<String> {
    let Some(ContextValue::String(word)) = e.get(ContextKind::InvalidSubcommand) else { return None };
    let is_program = word == "-" || word.contains(['.', '/', '\\']) || std::path::Path::new(word).is_file();
    is_program.then(|| {
        format!("'{word}' is not a command: did you mean 'shardc compile {word}'? 'shardc help' lists commands")
    })
}

/// Runs `shardc help codes`: prints all diagnostic codes, or explanations of the named ones.
fn codes(names: &[OsString], session: &mut Session<'_>) -> Outcome {
    let mut wanted = Vec::with_capacity(names.len());
    for name in names {
        let name = name.to_string_lossy();
        wanted.push(codes::find(&name).ok_or_else(|| {
            let near = nearest(&name, codes::CODES.iter().map(|c| c.name()));
            let hint = near.map_or_else(String::new, |near| format!("; did you mean '{near}'?"));
            Failure::Usage(format!("no diagnostic has the code '{name}'{hint}"))
        })?);
    }
    let listed = if names.is_empty() { codes::CODES } else { &wanted };
    let width = listed.iter().map(|c| c.name().len()).max().unwrap_or_default();
    let text: String = listed.iter().map(|c| format!("{:<width$}  {}\n", c.name(), c.says())).collect();
    session.print(&text)
}

/// The program's `main`: [`run`] with the process's arguments and streams.
pub fn main() -> ExitCode {
    std::panic::set_hook(Box::new(|info| {
        let mut err = std::io::stderr().lock();
        let _ = writeln!(err, "shardc: internal error: {info}");
        let _ = writeln!(
            err,
            "this is a bug in shardc, not in your program; please report it with the command and its input"
        );
    }));
    if runtime::files::output_was_closed() {
        let _ = writeln!(std::io::stderr(), "shardc: can't write output: standard output is closed");
        return ExitCode::from(FAILED);
    }
    runtime::files::remove_drafts_on_signals();
    let work = || {
        let (out, err) = (std::io::stdout(), std::io::stderr());
        progress::watch(err.is_terminal());
        let (out_color, err_color) = (wants_color(out.is_terminal()), wants_color(err.is_terminal()));
        // Don't lock the error stream, because progress is written there too.
        let (mut stdin, mut out, mut err) = (std::io::stdin(), out.lock(), err);
        run(std::env::args_os().skip(1), Io { stdin: &mut stdin, out: &mut out, err: &mut err, out_color, err_color })
    };
    match std::panic::catch_unwind(|| try_on_deep_stack(work)) {
        Ok(Ok(code)) => ExitCode::from(code),
        Ok(Err(e)) => {
            let _ = writeln!(std::io::stderr(), "shardc: {e}");
            ExitCode::from(FAILED)
        }
        Err(_) => ExitCode::from(BUG),
    }
}

/// Returns whether to use colors: on terminals, unless `NO_COLOR` is set or the terminal is dumb.
fn wants_color(terminal: bool) -> bool {
    let set = |name: &str| std::env::var_os(name).is_some_and(|v| !v.is_empty());
    terminal && !set("NO_COLOR") && std::env::var_os("TERM").is_none_or(|t| t != "dumb")
}
