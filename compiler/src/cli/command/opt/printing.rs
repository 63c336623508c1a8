//! The intermediate output of `shardc opt`: programs between passes, and the list of passes.

use dialect::ir::Program;
use dialect::text::{PrintOptions, nearest};
use passes::Step;

use crate::Compiler;
use crate::cli::session::Failure;

/// The passes around which the program is printed.
pub(super) struct Dump<'a> {
    /// The names of passes to print after, or `all`.
    pub(super) after: Vec<&'a str>,
    /// The names of passes to print before, or `all`.
    pub(super) before: Vec<&'a str>,
    /// The print options.
    pub(super) print: PrintOptions,
}

impl Dump<'_> {
    /// Refuses unknown pass names, for which nothing would be printed.
    pub(super) fn check(&self, compiler: &Compiler) -> Result<(), Failure> {
        let known = || compiler.passes().passes().iter().map(|p| p.name);
        for name in self.after.iter().chain(&self.before) {
            if *name != "all" && !known().any(|k| k == *name) {
                let hint = nearest(name, known()).map_or(String::new(), |near| format!("; did you mean '{near}'?"));
                return Err(Failure::Usage(format!(
                    "the pipeline has no pass '{name}' to print the program before or after{hint}"
                )));
            }
        }
        Ok(())
    }

    /// Appends the program to `shown` if it is to be printed before `step`.
    pub(super) fn before(&self, program: &Program, step: &Step, shown: &mut String) {
        self.show("Before", &self.before, program, step, shown);
    }

    /// Appends the program to `shown` if it is to be printed after `step`.
    pub(super) fn after(&self, program: &Program, step: &Step, shown: &mut String) {
        self.show("After", &self.after, program, step, shown);
    }

    fn show(&self, when: &str, wanted: &[&str], program: &Program, step: &Step, shown: &mut String) {
        let name = step.pass.name;
        if wanted.iter().any(|w| *w == "all" || *w == name) {
            let text = dialect::print_with(program, self.print);
            shown.push_str(&format!("// -----// IR Dump {when} {name} //----- //\n{text}\n"));
        }
    }
}

/// Returns the passes in the syntax of `--pass-pipeline`, with the options that aren't at their defaults.
pub(super) fn pipeline(steps: &[Step]) -> String {
    let pass = |step: &Step| {
        let changed = step.pass.options.iter().filter(|o| step.options.value(o) != o.default);
        let changed: Vec<String> = changed.map(|o| format!("{}={}", o.name, step.options.value(o))).collect();
        match changed.is_empty() {
            true => step.pass.name.to_owned(),
            false => format!("{}{{{}}}", step.pass.name, changed.join(" ")),
        }
    };
    let passes: Vec<String> = steps.iter().map(pass).collect();
    format!("Pass Manager with {} passes:\nbuiltin.module({})\n\n", steps.len(), passes.join(","))
}
