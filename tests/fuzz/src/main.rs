//! Coverage-guided fuzzing with libFuzzer: no text and no bytecode may make the parser, the verifier or the printer
//! panic or hang, and the printed form of a valid program must parse to the same program. `make fuzz` starts from the
//! corpus, the lit tests and files of bytecode.

#![no_main]

use dialect::diagnostic::Diagnostics;
use dialect::text::PrintOptions;

/// Prints everything that a program contains.
const FULL: PrintOptions =
    PrintOptions { locations: true, generic: false, causes: true, group_axes: true, local_scope: false };

libfuzzer_sys::fuzz_target!(|data: &[u8]| {
    let mut diagnostics = Diagnostics::default();
    let text = match dialect::bytecode::is_bytecode(data) {
        true => dialect::bytecode::text_of(data, &mut diagnostics),
        false => std::str::from_utf8(data).ok().map(str::to_owned),
    };
    let Some(text) = text else { return };
    let program = dialect::parse(&text, &mut diagnostics);
    // A program that could only be parsed in part is verified and printed too, but its output needn't parse.
    let whole = !diagnostics.has_errors();
    dialect::verify(&program, &mut diagnostics);
    let printed = dialect::print_with(&program, FULL);
    if !whole || diagnostics.has_errors() {
        return;
    }
    for form in [FULL, PrintOptions { generic: true, ..FULL }] {
        let text = dialect::print_with(&program, form);
        let mut diagnostics = Diagnostics::default();
        let again = dialect::parse(&text, &mut diagnostics);
        dialect::verify(&again, &mut diagnostics);
        assert!(!diagnostics.has_errors(), "the print isn't valid: {diagnostics:#?}\n{text}");
        assert_eq!(dialect::print_with(&again, FULL), printed, "the print reads as another program:\n{text}");
    }
});
