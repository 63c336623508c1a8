//! `shardc lsp`: a language server, for editors.

use crate::cli::knobs::Knobs;
use crate::cli::lsp;
use crate::cli::session::{Failure, Outcome, Session};

/// Serve an editor over standard input and output (the language server protocol)
#[derive(clap::Args)]
pub(crate) struct LspArgs {
    #[command(flatten)]
    knobs: Knobs,
    /// Use standard input and output, which is always the case; editors pass this flag
    #[arg(long)]
    stdio: bool,
}

/// Runs the command.
pub(crate) fn run(args: &LspArgs, session: &mut Session<'_>) -> Outcome {
    let options = args.knobs.options(session)?;
    let compiler = session.compiler.clone();
    match lsp::serve(&compiler, options, session.io.stdin, session.io.out) {
        Ok(true) => Ok(()),
        Ok(false) => Err(Failure::System("the editor ended the connection without 'shutdown'".to_owned())),
        Err(e) => Err(Failure::System(format!("can't communicate with the editor: {e}"))),
    }
}
