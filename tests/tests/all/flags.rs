//! No value of a flag makes a command end with a bug: every flag of every command, as `shardc help` lists them, with
//! values that are right, wrong, huge, empty or missing, from fixed seeds.
//!
//! `RANDOM_PROGRAMS=5000` tries more command lines, `RANDOM_FROM=300` starts at another seed (`make fuzz-flags`).

use std::path::PathBuf;

use fastrand::Rng;
use shardc_tests::attempt::{attempt, try_all};
use shardc_tests::mutation::{Original, corpus, mutated, word};
use shardc_tests::tools::scratch;

use crate::commands::is_small;

/// Command lines per run.
const COUNT: u64 = 300;

const COMMANDS: [&str; 14] = [
    "compile",
    "run",
    "check",
    "explain",
    "cost",
    "diff",
    "report",
    "search",
    "show",
    "opt",
    "calibrate",
    "gather",
    "lsp",
    "help",
];

/// Values of flags, of which most fit few of them.
const WORDS: &str = "0|1|2|3|-1|8|4096|0.5|1e-3|1e400|-0.0|nan|inf|65537|9223372036854775807|18446744073709551616|| |é|😀|true|false|\
     all|auto|none|main|%0|%a|arg0|out0|v5e:2x4|v5e:0x4|v5e:99999999x99999999|v5e:|:|h100:8|2xv5e:2x2|\
     99999999999xv5e:2x2|cpu|v5p:2x2x2|flat|8GiB|1e30GiB|-1GiB|1|GiB|200ms|1s|0s|-1s|1e-9s|x|x=2|x=2,y=2|x=0|x=-2|\
     x=2,x=2|x=99999999999999|x=4294967296,y=4294967296|=|,|,,,|a@b|@|a@|a@b,a@b|import|import,propagate|compile|\
     plan{search=greedy}|plan{search=}|plan{|nothing|builtin.module()|builtin.module(func.func(import))|\
     builtin.module(|)|0,1|1,0|0,0|7,7|0;1|0-1|layer*|*|full|greedy|gpipe|1f1b|interleaved|program|sdy|stablehlo|\
     manual|linalg|lists|axes|replicate|memory|only|last|codes|targets|--|-|--help|\u{1}|// -----";

/// Flags with values that ask for long work, which is no bug.
const LONG: [&str; 4] = ["--repeat", "--rank-timeout", "--budget", "--seconds"];

struct Flag {
    name: String,
    /// What its value is, as the help writes it: `BYTES`; without one it takes no value.
    value: Option<String>,
}

/// The flags of a command, as its help lists them.
fn flags(command: &str) -> Vec<Flag> {
    let help = attempt(&["help", command], b"").expect("there is help");
    let text = String::from_utf8(help.out).expect("a text");
    let lines = text.lines().filter_map(|line| line.trim_start().strip_prefix("-o, ").or(Some(line.trim_start())));
    let named = lines.filter(|line| line.starts_with("--"));
    let flag = |line: &str| {
        let end = line.find([' ', '=', '[']).unwrap_or(line.len());
        let value = line.split_once('<').and_then(|(_, rest)| rest.split_once('>')).map(|(value, _)| value.to_owned());
        Flag { name: line[..end].to_owned(), value }
    };
    named.map(flag).collect()
}

/// What the command lines of this test read and write.
struct Files {
    folder: PathBuf,
    programs: Vec<String>,
    corpus: Vec<Original>,
}

impl Files {
    fn new() -> Self {
        let folder = scratch("flags");
        std::fs::create_dir(folder.join("folder")).unwrap();
        std::fs::write(folder.join("empty"), "").unwrap();
        let corpus = corpus();
        let small = corpus.iter().filter(|o| o.text.len() < 4000 && is_small(&o.text));
        let programs: Vec<String> = small.map(|o| o.text.clone()).collect();
        std::fs::write(folder.join("p.mlir"), &programs[0]).unwrap();
        Self { folder, programs, corpus }
    }

    fn path(&self, random: &mut Rng) -> String {
        let long = "n".repeat(300);
        let names = ["p.mlir", "out.npz", "out", "empty", "folder", "missing/out", "", "p.mlir/x", &long, "out.toml"];
        let name = *random.choice(&names).expect("there are some");
        self.folder.join(name).to_string_lossy().into_owned()
    }

    fn value(&self, flag: &Flag, kind: &str, random: &mut Rng) -> String {
        let is_path = ["NPZ", "JSON", "OUT", "HTML", "INDEX"].contains(&kind);
        if is_path || kind.contains("FILE") && random.bool() {
            return self.path(random);
        }
        if LONG.contains(&&*flag.name) {
            return word("0|1|-1|200ms|0s||x|nan", random).to_owned();
        }
        match random.u8(..30) {
            0 => "9".repeat(random.usize(1..400)),
            1 => "(".repeat(random.usize(1..20_000)),
            2 => format!("x={}", "1,x=".repeat(random.usize(1..2000))),
            _ => word(WORDS, random).to_owned(),
        }
    }

    /// A command line, and its standard input.
    fn line(&self, seed: u64, flags: &[(&str, Vec<Flag>)]) -> (Vec<String>, String) {
        let mut random = Rng::with_seed(seed);
        let (command, flags) = random.choice(flags).expect("there are some");
        let victims: Vec<&Original> = self.corpus.iter().filter(|o| o.text.len() < 4000).collect();
        let text = match random.u8(..4) {
            0 => Some(mutated(&victims, &self.corpus, seed)).filter(|text| is_small(text)),
            _ => None,
        };
        let text = text.unwrap_or_else(|| random.choice(&self.programs).expect("there are some").clone());
        let mut line = vec![(*command).to_owned()];
        for _ in 0..random.usize(1..4) {
            let Some(flag) = random.choice(flags) else { continue };
            match &flag.value {
                Some(kind) => {
                    let value = self.value(flag, kind, &mut random);
                    match random.bool() {
                        true => line.push(format!("{}={value}", flag.name)),
                        false => line.extend([flag.name.clone(), value]),
                    }
                }
                None => line.push(flag.name.clone()),
            }
        }
        let slow = ["search", "explain", "report", "check"].contains(command);
        if slow && !line.iter().any(|word| word.starts_with("--budget")) {
            line.extend(["--budget".to_owned(), "300ms".to_owned()]);
        }
        match *command {
            "lsp" => {}
            "help" => line.truncate(2),
            "gather" => line.push(self.path(&mut random)),
            // Without a file, it would measure for minutes.
            "calibrate" => line.push(format!("--from={}", self.path(&mut random))),
            _ if random.u8(..20) == 0 => line.push(self.path(&mut random)),
            _ => line.push("-".to_owned()),
        }
        (line, text)
    }
}

#[test]
fn no_flag_ends_with_a_bug() {
    let files = Files::new();
    let flags: Vec<(&str, Vec<Flag>)> = COMMANDS.iter().map(|&command| (command, flags(command))).collect();
    assert!(flags.iter().map(|f| f.1.len()).sum::<usize>() > 150);
    try_all("flags", COUNT, 1, |seed| {
        let (line, text) = files.line(seed, &flags);
        let line: Vec<&str> = line.iter().map(String::as_str).collect();
        // A conversation with no editor is what the language server reads.
        let input = if line[0] == "lsp" { "" } else { &*text };
        Some((attempt(&line, input.as_bytes()).err()?, text.into_bytes()))
    });
}
