//! Tests that jaxlib's bytecode of test programs reads as the texts that jaxlib prints of them, and that damaged files
//! give diagnostics. `tests/oracles/bytecode.py` writes many more files, and documents how these were made.

use crate::diagnostic::Diagnostics;
use crate::ir::Program;
use crate::text::PrintOptions;

macro_rules! files {
    ($($name:literal)*) => {
        [$((
            $name,
            include_bytes!(concat!("tests/", $name, ".bc")) as &[u8],
            include_str!(concat!("tests/", $name, ".mlir")),
        )),*]
    };
}

/// A file and its text: the oldest and the newest format, the oldest portable artifact and the newest.
const FILES: [(&str, &[u8], &str); 7] = files!["affine_6" "ops_0" "ops_6" "ops_0_9" "ops_1_17" "manual_1_0" "forms_6"];

/// The output of JAX's `Exported.serialize()`, and the program in it.
const EXPORTED: &[u8] = include_bytes!("tests/exported.bin");
const EXPORTED_PROGRAM: &[u8] = include_bytes!("tests/exported.bc");

fn text_of(bytes: &[u8]) -> Result<String, Vec<String>> {
    let mut diagnostics = Diagnostics::default();
    match super::text_of(bytes, &mut diagnostics) {
        Some(text) => {
            assert!(diagnostics.is_empty(), "a text, and {diagnostics:?}");
            Ok(text)
        }
        None => {
            assert!(diagnostics.iter().all(|d| !d.notes.is_empty()), "no word of how to mend it: {diagnostics:?}");
            Err(diagnostics.iter().map(|d| d.message.clone()).collect())
        }
    }
}

/// Returns the canonical text of a program, with locations.
fn read(name: &str, text: &str) -> String {
    let mut diagnostics = Diagnostics::default();
    let program: Program = crate::parse(text, &mut diagnostics);
    crate::verify(&program, &mut diagnostics);
    assert!(!diagnostics.has_errors(), "{name}: {diagnostics:#?}\n{text}");
    crate::print_with(&program, PrintOptions { locations: true, ..PrintOptions::default() })
}

#[test]
fn bytecode_reads_as_its_text() {
    for (name, bytes, text) in FILES {
        assert!(super::is_bytecode(bytes));
        let ours = text_of(bytes).unwrap_or_else(|faults| panic!("{name}: {faults:?}"));
        assert_eq!(read(name, &ours), read(name, text), "{name}");
    }
}

#[test]
fn the_program_of_an_exported_function_is_found() {
    assert!(super::is_bytecode(EXPORTED));
    let text = text_of(EXPORTED).unwrap();
    assert_eq!(text, text_of(EXPORTED_PROGRAM).unwrap());
    assert!(read("exported", &text).contains("stablehlo.dot_general"));
    assert!(!super::is_bytecode(b"module {}") && !super::is_bytecode(b"") && !super::is_bytecode(&EXPORTED[..40]));
}

#[test]
fn damaged_files_give_diagnostics() {
    // Attributes at the limit of nesting take more stack in unoptimized code than a test has.
    std::thread::Builder::new().stack_size(16 << 20).spawn(damage_files).unwrap().join().unwrap();
}

fn damage_files() {
    let mut random = fastrand::Rng::with_seed(1);
    let (mut read, mut refused) = (0, 0);
    for (name, bytes, _) in FILES {
        for length in (0..bytes.len()).step_by(7) {
            if length >= 4 {
                assert!(text_of(&bytes[..length]).is_err(), "{name} cut off after {length} bytes is read");
            }
        }
        for _ in 0..400 {
            let mut damaged = bytes.to_vec();
            for _ in 0..random.usize(1..4) {
                let at = random.usize(4..damaged.len());
                match random.u8(0..4) {
                    0 => damaged[at] = random.u8(..),
                    1 => damaged[at] ^= 1 << random.u8(0..8),
                    2 => drop(damaged.remove(at)),
                    _ => damaged.insert(at, random.u8(..)),
                }
            }
            match text_of(&damaged) {
                // Reading and verifying the damaged program must end.
                Ok(text) => {
                    let mut diagnostics = Diagnostics::default();
                    crate::verify(&crate::parse(&text, &mut diagnostics), &mut diagnostics);
                    read += 1;
                }
                Err(faults) => {
                    assert!(faults.iter().all(|f| f.starts_with("byte ")), "{faults:?}");
                    refused += 1;
                }
            }
        }
    }
    assert!(read > 100 && refused > 500, "{read} read, {refused} refused: the damage is too small or too large");
}

/// Returns a file without ops, with these sections after the strings "a" and "builtin".
fn file(sections: &[(u8, &[u8])]) -> Vec<u8> {
    let mut file = b"ML\xefR\x01\0".to_vec();
    // Lengths are in reverse order; a number below 128 is encoded as twice itself plus one.
    let strings: &[u8] = b"\x05\x11\x05a\0builtin\0";
    for (id, data) in [(0, strings)].iter().chain(sections) {
        file.extend([*id, data.len() as u8 * 2 + 1]);
        file.extend(*data);
    }
    file
}

#[test]
fn what_cannot_be_read_is_named() {
    let fault = |bytes: &[u8]| text_of(bytes).unwrap_err().join("; ");
    assert_eq!(fault(b"ML\xefR\x0f\0"), "byte 4: the file has version 7 of the format; versions up to 6 are supported");
    assert_eq!(fault(b"ML\xefR\x01abc"), "byte 5: a string doesn't end with a zero byte");
    assert_eq!(fault(b"ML\xefR\x01\0"), "byte 6: the section of strings is missing");
    assert_eq!(fault(b"ML\xefR\x01\0\x13\x01"), "byte 6: expected a section number below 9, found 19");
    assert_eq!(fault(b"ML\xefR\x01\0\0\xff\0"), "byte 8: expected 127 bytes, 1 are left");
    // One dialect, the string 1, with one op, the string 0; then attributes and the program.
    let rest = |attribute: &'static [u8], offsets: &'static [u8], program: &'static [u8]| {
        file(&[(1, b"\x03\x03\x01\x03\x01"), (2, attribute), (3, offsets), (4, program)])
    };
    assert_eq!(text_of(&rest(b"", b"\x01\x01", b"\x01")), Ok(String::new()));
    let fault = |bytes: Vec<u8>| fault(&bytes);
    assert_eq!(fault(rest(b"\x01", b"\x03\x01\x01\x03\x0b", b"\x01")), "byte 30: expected 2 bytes, 1 are left");
    assert_eq!(
        fault(rest(b"", b"\xff\x01", b"\x01")),
        "byte 32: 127 attributes don't fit in the 1 bytes that are left"
    );
    // An op whose attributes and location are a list that contains itself.
    let said = fault(rest(b"\x01\x03\x01", b"\x03\x01\x01\x03\x0f", b"\x05\x01\x01\x01\x01"));
    assert!(said.contains("nested deeper than 128 levels"), "{said}");
    assert!(said.contains("a location has the unknown kind 0"), "{said}");
}
