//! No program makes a command end with a bug: damaged programs of the corpus, the lit tests and the ops' examples go
//! through whole commands, as a user would run them. Commands may refuse them with exit code 1 and a message, and take
//! neither more than ten seconds nor more than 2 GiB.
//!
//! `RANDOM_PROGRAMS=20000` runs more, `RANDOM_FROM=500` starts at another seed (`make fuzz-commands`).

use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};

use shardc_tests::attempt::{attempt, try_all};
use shardc_tests::mutation::{Original, corpus, mutated};

/// The number of mutations per run, each through every command.
const COUNT: u64 = 200;

/// The commands, which read programs from standard input.
const COMMANDS: [&[&str]; 16] = [
    &["compile", "-"],
    &["compile", "--emit", "manual", "--plan", "greedy", "-"],
    &["check", "--interpret", "-"],
    &["explain", "--tries", "2", "-"],
    &["cost", "--target", "v5e:4x4", "-"],
    &["show", "--all", "-"],
    &["run", "--interpret", "-"],
    &["search", "--devices", "4", "--free", "--budget", "200ms", "-"],
    &["diff", "-"],
    &["report", "--tries", "1", "-"],
    &["compile", "--trip-count", "3", "--json", "-"],
    &["explain", "--tries", "1", "--top", "1", "--json", "-"],
    &["opt", "--passes", "import,propagate", "--generic", "-"],
    &["opt", "--split-input-file", "--verify-diagnostics", "-"],
    &["show", "--html", "--all", "--after", "none", "-"],
    &["cost", "--trace", "/dev/null", "--json", "-"],
];

/// The size limit of programs in bytes, because commands on larger ones take long.
const LARGEST: usize = 12_000;

/// Returns the commands that end with a bug for a program, and why.
fn faults(commands: &[&[&str]], program: &[u8]) -> Option<(String, Vec<u8>)> {
    let faults: Vec<String> = commands.iter().filter_map(|command| attempt(command, program).err()).collect();
    (!faults.is_empty()).then(|| (faults.join("; "), program.to_vec()))
}

/// Returns whether a program is valid and small enough to run quickly.
pub(crate) fn is_small(text: &str) -> bool {
    let mut diagnostics = dialect::diagnostic::Diagnostics::default();
    let program = dialect::parse(text, &mut diagnostics);
    let small = |op| {
        let elements = |ty: &dialect::ir::TensorType| ty.elements().is_some_and(|n| n <= 20_000);
        program.results(op).all(|v| program.tensor_type(v).is_none_or(elements))
    };
    let ops = program.ops_under(program.body());
    let blocks = program.blocks_under(program.body());
    let devices = dialect::ops::func::num_partitions(&program) * dialect::ops::func::num_replicas(&program);
    let arguments = blocks
        .iter()
        .flat_map(|&b| program.block_args(b))
        .all(|&v| program.tensor_type(v).is_none_or(|ty| ty.elements().is_some_and(|n| n <= 20_000)));
    let loops = ops.iter().any(|&op| program.op_name(op) == "stablehlo.while");
    !diagnostics.has_errors() && ops.len() < 200 && arguments && ops.into_iter().all(small) && devices <= 16 && !loops
}

#[test]
fn no_command_ends_with_a_bug() {
    let corpus: Vec<Original> = corpus().into_iter().filter(|o| o.text.len() <= LARGEST).collect();
    let victims: Vec<&Original> = corpus.iter().collect();
    let tried = AtomicU64::new(0);
    let count = try_all("commands", COUNT, 2, |seed| {
        // Every second program is undamaged; it must not end with a bug either.
        let text = match seed % 2 {
            0 => corpus[seed as usize / 2 % corpus.len()].text.clone(),
            _ => mutated(&victims, &corpus, seed),
        };
        let is_tried = is_small(&text);
        tried.fetch_add(u64::from(is_tried), Ordering::Relaxed);
        if is_tried { faults(&COMMANDS, text.as_bytes()) } else { None }
    });
    let tried = tried.into_inner();
    assert!(tried * 5 > count || count == 1, "only {tried} of {count} programs are small and valid");
}

/// The number of damaged bytecode files per run.
const FILES: u64 = 60;

/// Damages a bytecode file in one to four places after its magic number.
fn damaged(file: &[u8], random: &mut fastrand::Rng) -> Vec<u8> {
    let mut file = file.to_vec();
    for _ in 0..random.usize(1..=4) {
        let at = random.usize(4..file.len());
        match random.u8(..5) {
            0 => file[at] = random.u8(..),
            1 => file[at] ^= 1 << random.u8(..8),
            2 => drop(file.remove(at)),
            3 => file.insert(at, random.u8(..)),
            _ => {
                let from = random.usize(4..file.len());
                let copied = file[from..file.len().min(from + 4)].to_vec();
                file.splice(at..at, copied);
            }
        }
    }
    file
}

/// Damaged bytecode files give messages in all commands.
#[test]
fn no_damaged_bytecode_ends_with_a_bug() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("pallas");
    let files = std::fs::read_dir(folder)
        .expect("a folder")
        .flatten()
        .map(|entry| std::fs::read(entry.path()).expect("a file"));
    let mut files: Vec<Vec<u8>> = files.filter(|file| shardc::is_bytecode(file)).collect();
    for original in corpus().iter().filter(|o| is_small(&o.text)) {
        let program = dialect::parse(&original.text, &mut dialect::diagnostic::Diagnostics::default());
        files.push(dialect::bytecode::bytecode_of(&program, dialect::text::PrintOptions::default()));
    }
    try_all("commands", FILES, 1, |seed| {
        let mut random = fastrand::Rng::with_seed(seed);
        let file = damaged(random.choice(&files).expect("a file"), &mut random);
        let text = dialect::bytecode::text_of(&file, &mut dialect::diagnostic::Diagnostics::default());
        // A file that can't be parsed is the same for all commands, and a program that became large takes long.
        let all = text.is_some_and(|text| is_small(&text));
        faults(if all { &COMMANDS } else { &COMMANDS[..1] }, &file)
    });
}
