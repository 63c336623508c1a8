//! Strings of attributes and locations are bytes, which pass unchanged through text, generic text and bytecode, and
//! through every form to which a program is compiled.

use std::collections::HashSet;
use std::fs;
use std::path::Path;

use shardc_tests::command::shardc;
use shardc_tests::sharded::number;

/// The number of random programs; `BYTES=1000` tries more.
const COUNT: u64 = 40;

/// Commands that preserve every string of a program.
const KEEPING: [&[&str]; 4] = [
    &["opt", "--mlir-print-debuginfo"],
    &["opt", "--mlir-print-debuginfo", "--mlir-print-op-generic"],
    &["opt", "--mlir-print-debuginfo", "--mlir-print-local-scope"],
    &["opt", "--mlir-print-debuginfo", "--emit-bytecode"],
];

/// Commands that preserve the strings of ops.
const COMPILING: [&[&str]; 5] = [
    &["compile"],
    &["compile", "--emit", "sdy"],
    &["compile", "--emit", "manual"],
    &["compile", "--emit", "manual", "--emit-bytecode"],
    &["opt", "--import", "--propagate", "--unify-meshes", "--plan"],
];

/// Returns the output of a command for a program on its standard input.
fn output(command: &[&str], program: &[u8]) -> Vec<u8> {
    let output = shardc(&[command, &["-"]].concat(), program);
    assert_eq!(output.code, 0, "{command:?}: {}\n{}", output.errors(), String::from_utf8_lossy(program));
    output.out
}

/// Returns the bytes of all strings in a text, by MLIR's rules; bytecode is converted to text first.
fn strings(program: &[u8]) -> HashSet<Vec<u8>> {
    let text = match shardc::is_bytecode(program) {
        true => output(&["opt", "--mlir-print-debuginfo"], program),
        false => program.to_vec(),
    };
    let (mut strings, mut bytes) = (HashSet::new(), text.into_iter().peekable());
    while let Some(byte) = bytes.next() {
        if byte != b'"' {
            continue;
        }
        let mut string = Vec::new();
        loop {
            match bytes.next().expect("strings end") {
                b'"' => break,
                b'\\' => {
                    let first = bytes.next().expect("strings end");
                    let digit = |b: u8| (b as char).to_digit(16).map(|d| d as u8);
                    string.push(match (first, digit(first), bytes.peek().copied().and_then(digit)) {
                        (_, Some(high), Some(low)) => {
                            bytes.next();
                            high << 4 | low
                        }
                        (b'n', ..) => b'\n',
                        (b't', ..) => b'\t',
                        _ => first,
                    });
                }
                byte => string.push(byte),
            }
        }
        strings.insert(string);
    }
    strings
}

/// Returns random bytes that are text in part.
fn random_string(random: &mut fastrand::Rng) -> Vec<u8> {
    let mut string = Vec::new();
    for _ in 0..random.usize(..12) {
        match random.u8(..4) {
            0 => string.push(random.u8(..)),
            1 => string.push(random.u8(0x80..)),
            2 => string.push(*random.choice(b"\"\\\0\n\tnt0A7ex%@{}").expect("a byte")),
            _ => string.extend(random.char('\u{80}'..).to_string().bytes()),
        }
    }
    // Make it distinct from other strings of the program.
    string.extend(format!("~{}", random.u32(..)).bytes());
    string
}

/// Writes a string with escapes, or unchanged where possible.
fn spelled(string: &[u8], random: &mut fastrand::Rng) -> Vec<u8> {
    let mut out = vec![b'"'];
    for &byte in string {
        match byte {
            b'"' | b'\\' if random.bool() => out.extend([b'\\', byte]),
            b'\n' if random.bool() => out.extend(b"\\n"),
            b'"' | b'\\' | b'\n' | b'\r' | 0x0b | 0x0c => out.extend(format!("\\{byte:02x}").bytes()),
            _ if random.u8(..3) == 0 => out.extend(format!("\\{byte:02X}").bytes()),
            _ => out.push(byte),
        }
    }
    out.push(b'"');
    out
}

/// A program with a string in place of each `?`. Strings of ops come first.
const PROGRAM: &str = r#"module @m attributes {a.list = [?, {b = ?}], a.opaque = #foo<bar [?] ->>, mhlo.frontend_attributes = {k = ?}} {
  sdy.mesh @mesh = <["x"=2]>
  func.func @main(%a: tensor<4xf32> {a.b = ?, sdy.sharding = #sdy.sharding<@mesh, [{"x"}]>} loc(?)) -> (tensor<4xf32> {jax.result_info = ?}) {
    %0 = stablehlo.custom_call @foo(%a) {a.map = {k = [?]}, backend_config = ?, mhlo.frontend_attributes = {k = ?}} : (tensor<4xf32>) -> tensor<4xf32> loc(?(?:1:2))
    %1 = stablehlo.custom_call @bar(%0) {api_version = 4 : i32, backend_config = {module = ?}, a.opaque = #foo.bar<a = ?>} : (tensor<4xf32>) -> tensor<4xf32> loc(fused<?>[?])
    return %1 : tensor<4xf32>
  }
}
"#;

/// The indices of the program's strings that are attributes of ops.
const OF_OPS: [usize; 5] = [7, 8, 9, 12, 13];

#[test]
fn strings_of_random_bytes_survive_every_form() {
    for seed in 0..number("BYTES", COUNT) {
        let mut random = fastrand::Rng::with_seed(seed);
        let (mut text, mut written) = (Vec::new(), Vec::new());
        for (i, piece) in PROGRAM.split('?').enumerate() {
            if i > 0 {
                let string = random_string(&mut random);
                text.extend(spelled(&string, &mut random));
                written.push(string);
            }
            text.extend(piece.bytes());
        }
        for command in KEEPING {
            let found = strings(&output(command, &text));
            for (i, string) in written.iter().enumerate() {
                let shown = string.escape_ascii();
                assert!(found.contains(string), "{seed}: {command:?} loses string {i}, \"{shown}\"");
            }
        }
        let bytecode = output(KEEPING[3], &text);
        assert_eq!(output(KEEPING[0], &bytecode), output(KEEPING[0], &output(KEEPING[1], &text)), "{seed}");
        for command in COMPILING {
            let found = strings(&output(command, if seed % 2 == 0 { &text } else { &bytecode }));
            for i in OF_OPS {
                let shown = written[i].escape_ascii();
                assert!(found.contains(&written[i]), "{seed}: {command:?} loses string {i}, \"{shown}\"");
            }
        }
    }
}

/// Calls of kernels in the forms of two versions of JAX, generated by `tests/oracles/pallas.py`.
#[test]
fn kernels_in_jax_programs_stay_unchanged() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("pallas");
    let mut compared = 0;
    for entry in fs::read_dir(folder).expect("a folder").flatten() {
        let program = fs::read(entry.path()).expect("a program");
        // Without the strings of locations, which aren't compiled.
        let before = strings(&output(&["opt"], &program));
        let kept = |string: &&Vec<u8>| string.iter().any(|b| *b >= 0x80) || string.len() > 200;
        let kernels: Vec<&Vec<u8>> = before.iter().filter(kept).collect();
        assert!(!kernels.is_empty(), "{:?} has no kernel", entry.path());
        for command in KEEPING.iter().chain(&COMPILING) {
            let after = strings(&output(command, &program));
            let lost = kernels.iter().any(|kernel| !after.contains(*kernel));
            assert!(!lost, "{:?}: {command:?} loses a kernel", entry.path());
            compared += kernels.len();
        }
        // Both forms of a program have the same strings; a file of bytecode contains them unchanged.
        let other = entry.path().with_extension(if shardc::is_bytecode(&program) { "mlir" } else { "bc" });
        let other = fs::read(other).expect("the other form");
        if !shardc::is_bytecode(&program) {
            for kernel in kernels {
                assert!(other.windows(kernel.len()).any(|part| part == &kernel[..]), "{:?}", entry.path());
            }
        }
    }
    assert!(compared >= 100, "only {compared} kernels were compared");
}
