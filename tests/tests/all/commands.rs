//! No program makes a command end with a bug: damaged programs of the corpus, the lit tests and the ops' examples go
//! through whole commands, as a user would run them. Commands may refuse them with exit code 1 and a message, and take
//! neither more than ten seconds nor more than 2 GiB.
//!
//! `COMMANDS=20000` runs more mutations, `COMMANDS_FROM=500` starts at another seed (`make fuzz-commands`). The text of
//! a failure is left in `target/tmp/commands/`.

use std::path::Path;

use shardc_tests::attempt::attempt;
use shardc_tests::mutation::{Original, corpus, mutated};
use shardc_tests::sharded::number;

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

/// Returns the reason why the outcome of a command is a bug, if it is one.
fn fault(command: &[&str], program: &[u8]) -> Option<String> {
    attempt(command, program).err()
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
    let (from, count) = (number("COMMANDS_FROM", 0), number("COMMANDS", COUNT));
    let hook = std::panic::take_hook();
    std::panic::set_hook(Box::new(|_| {}));
    let work = |first: u64| {
        let (mut faults, mut tried) = (Vec::new(), 0);
        // Every second program is undamaged; it must not end with a bug either.
        for seed in (from + first..from + count).step_by(2) {
            let text = if first == 0 {
                corpus[seed as usize / 2 % corpus.len()].text.clone()
            } else {
                mutated(&victims, &corpus, seed)
            };
            if !is_small(&text) {
                continue;
            }
            tried += 1;
            for why in COMMANDS.iter().filter_map(|command| fault(command, text.as_bytes())) {
                let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("commands");
                std::fs::create_dir_all(&folder).unwrap();
                let path = folder.join(format!("{seed}.mlir"));
                std::fs::write(&path, &text).unwrap();
                faults.push(format!("{}: {why}", path.display()));
            }
        }
        (faults, tried)
    };
    let ran: Vec<(Vec<String>, u64)> = std::thread::scope(|scope| {
        let start = |first| {
            let thread = std::thread::Builder::new().stack_size(shardc::STACK_BYTES);
            thread.spawn_scoped(scope, move || work(first)).expect("a thread")
        };
        [0, 1].map(start).map(|thread| thread.join().expect("it doesn't panic")).into()
    });
    std::panic::set_hook(hook);
    let faults: Vec<&String> = ran.iter().flat_map(|r| &r.0).collect();
    let tried: u64 = ran.iter().map(|r| r.1).sum();
    assert!(faults.is_empty(), "{} faults: {:#?}", faults.len(), faults.iter().take(20).collect::<Vec<_>>());
    assert!(tried * 5 > count, "only {tried} of {count} programs are small and valid");
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

/// Damaged bytecode files give messages in all commands; `COMMANDS_FILES=2000` tries more.
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
    let work = move || {
        let mut faults = Vec::new();
        for seed in 0..number("COMMANDS_FILES", FILES) {
            let mut random = fastrand::Rng::with_seed(seed);
            let file = damaged(random.choice(&files).expect("a file"), &mut random);
            let text = dialect::bytecode::text_of(&file, &mut dialect::diagnostic::Diagnostics::default());
            // A file that can't be parsed is the same for all commands, and a program that became large takes long.
            let commands = match text {
                Some(text) if is_small(&text) => &COMMANDS[..],
                _ => &COMMANDS[..1],
            };
            faults.extend(
                commands.iter().filter_map(|command| fault(command, &file)).map(|why| format!("{seed}: {why}")),
            );
        }
        faults
    };
    let thread = std::thread::Builder::new().stack_size(shardc::STACK_BYTES).spawn(work).expect("a thread");
    let faults = thread.join().expect("it doesn't panic");
    assert!(faults.is_empty(), "{} faults: {:#?}", faults.len(), faults.iter().take(20).collect::<Vec<_>>());
}
