//! Commands that are run as a user would run them, in this process.

use serde_json::Value;
use shardc::{Compiler, Io};

/// What a command did.
pub struct Output {
    /// Its exit code.
    pub code: u8,
    /// What it wrote to standard output.
    pub out: Vec<u8>,
    /// What it wrote to standard error.
    pub err: Vec<u8>,
}

/// Runs a command, with `input` as standard input.
pub fn shardc(args: &[&str], input: impl AsRef<[u8]>) -> Output {
    shardc_with(&Compiler::standard(), args, input)
}

/// Like [`shardc()`], with a compiler that has more passes, for example.
pub fn shardc_with(compiler: &Compiler, args: &[&str], input: impl AsRef<[u8]>) -> Output {
    let (mut out, mut err) = (Vec::new(), Vec::new());
    let io = Io { stdin: &mut input.as_ref(), out: &mut out, err: &mut err, out_color: false, err_color: false };
    let code = shardc::run_with(compiler, args.iter().copied(), io);
    Output { code, out, err }
}

impl Output {
    /// Returns the standard output as text.
    pub fn text(&self) -> String {
        String::from_utf8_lossy(&self.out).into_owned()
    }

    /// Returns the standard error as text.
    pub fn errors(&self) -> String {
        String::from_utf8_lossy(&self.err).into_owned()
    }

    /// Returns the exit code, and the text of standard output and standard error.
    pub fn code_and_text(&self) -> (u8, String) {
        (self.code, self.text() + &self.errors())
    }

    /// Checks that the command succeeded.
    ///
    /// # Panics
    /// If it failed.
    #[track_caller]
    pub fn succeeded(self) -> Self {
        let (code, said) = self.code_and_text();
        assert_eq!(code, 0, "{}", said.chars().take(2000).collect::<String>());
        self
    }

    /// Returns the JSON document in the last line of standard output.
    ///
    /// # Panics
    /// If the command failed, or wrote no JSON.
    #[track_caller]
    pub fn json(self) -> Value {
        let text = self.succeeded().text();
        let line = text.lines().last().unwrap_or_default();
        serde_json::from_str(line).unwrap_or_else(|error| panic!("{error} in {line}"))
    }
}
