//! Randomly damaged programs, from fixed seeds.

use std::fs;
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::path::{Path, PathBuf};

/// A program that can be damaged.
pub struct Original {
    /// The program.
    pub text: String,
    /// The text's hash, used to choose programs.
    key: u64,
}

impl Original {
    fn new(text: String) -> Self {
        let mut hasher = DefaultHasher::new();
        text.hash(&mut hasher);
        Self { key: hasher.finish(), text }
    }
}

/// Returns the programs to mutate: the corpus, the lit tests and the ops' examples.
pub fn corpus() -> Vec<Original> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut files = Vec::new();
    for folder in [root.join("corpus"), root.with_file_name("lit-tests")] {
        collect(&folder, &mut files);
    }
    files.sort();
    assert!(files.len() >= 50, "found only {} programs", files.len());
    let mut texts: Vec<String> = files.iter().map(|f| fs::read_to_string(f).unwrap()).collect();
    texts.extend(dialect::ops::OPS.iter().flat_map(|def| def.examples()).map(|text| example(text)));
    texts.into_iter().map(Original::new).collect()
}

/// Returns a program with an op's example, whose first argument is sharded if its rank is known.
fn example(text: &str) -> String {
    let (args, ops) = text[1..].split_once(')').unwrap();
    let (first, rest) = args.split_once(", %").map_or((args, String::new()), |(a, b)| (a, format!(", %{b}")));
    let rank =
        first.split_once("tensor<").map_or(0, |(_, ty)| ty.split('x').filter(|d| d.parse::<i64>().is_ok()).count());
    let dims = vec!["{}"; rank.saturating_sub(1)].join(", ");
    let sharding = match rank {
        0 => String::new(),
        1 => " {sdy.sharding = #sdy.sharding<@mesh, [{\"x\"}]>}".to_owned(),
        _ => format!(" {{sdy.sharding = #sdy.sharding<@mesh, [{{\"x\"}}, {dims}]>}}"),
    };
    format!(
        "sdy.mesh @mesh = <[\"x\"=2]>\nfunc.func @main({first}{sharding}{rest}) {{\n  {}\n  return\n}}\n",
        ops.trim()
    )
}

fn collect(folder: &Path, files: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            collect(&path, files);
        } else if path.extension().is_some_and(|e| e == "mlir") {
            files.push(path);
        }
    }
}

/// Returns one of the words that `|` separates.
pub fn word<'a>(words: &'a str, random: &mut fastrand::Rng) -> &'a str {
    let words: Vec<&str> = words.split('|').collect();
    words[random.usize(..words.len())]
}

struct Random(fastrand::Rng);

impl Random {
    /// Returns a random number below `n`; 0 if `n` is 0.
    fn below(&mut self, n: usize) -> usize {
        if n == 0 { 0 } else { self.0.usize(..n) }
    }

    /// Chooses one of these programs: the one whose key, mixed with a random number, has the highest hash. Thus an
    /// additional program is chosen in its fraction of the cases, and all other choices stay the same.
    fn original<'a>(&mut self, from: impl Iterator<Item = &'a Original>) -> &'a str {
        let number = self.0.u64(..);
        // The finalizer of MurmurHash3, by A. Appleby.
        let mix = |mut h: u64| {
            h = (h ^ h >> 33).wrapping_mul(0xff51_afd7_ed55_8ccd);
            h = (h ^ h >> 33).wrapping_mul(0xc4ce_b9fe_1a85_ec53);
            h ^ h >> 33
        };
        &from.max_by_key(|o| mix(o.key ^ number)).expect("there are programs").text
    }
}

/// Tokens that parsers rarely expect.
const WORDS: &str = "0|-1|1|9223372036854775807|-9223372036854775808|99999999999999999999999|1e999|nan|65537|?|(|)|[|]|{|}|<|>|,|:|\
     ->|=|#|@|%|\"|//|^bb0|tensor<|tensor<2x?xf32>|tensor<0x4xf32>|tensor<f32>|tensor<4294967296x4294967296xf32>|\
     loc(|dense<|dense<1.0>|dense<\"0x00\">|%arg0|%0|@mesh|\"x\"|\"x\":(1)2|\"x\":(0)0|{?}|{\"x\"}p1|\
     unreduced={\"x\"}|true|unit|i1|\0|é|\u{2028}|\t|\r\n";

/// Returns one of the victims with one to four mutations, which may insert lines from the whole corpus.
pub fn mutated(victims: &[&Original], corpus: &[Original], seed: u64) -> String {
    let mut random = Random(fastrand::Rng::with_seed(seed));
    let mut text = random.original(victims.iter().copied()).as_bytes().to_vec();
    for _ in 0..=random.below(4) {
        mutate(&mut text, corpus, &mut random);
    }
    String::from_utf8_lossy(&text).into_owned()
}

fn mutate(text: &mut Vec<u8>, corpus: &[Original], random: &mut Random) {
    let at = random.below(text.len());
    match random.below(12) {
        0 if !text.is_empty() => text[at] ^= 1 << random.below(8),
        1 if !text.is_empty() => text[at] = random.0.u8(..),
        2 => text.truncate(at),
        3 | 4 => {
            let token = token(text, at);
            text.drain(token);
        }
        5 => {
            let token = token(text, at);
            let copy = text[token.clone()].to_vec();
            text.splice(token.end..token.end, copy);
        }
        6 | 7 => {
            let word = word(WORDS, &mut random.0);
            let token = token(text, at);
            text.splice(token, word.bytes());
        }
        8 => {
            let (a, b) = (token(text, at), token(text, random.below(text.len())));
            let (a, b) = if a.start <= b.start { (a, b) } else { (b, a) };
            if a.end <= b.start {
                let (first, second) = (text[a.clone()].to_vec(), text[b.clone()].to_vec());
                text.splice(b, first);
                text.splice(a, second);
            }
        }
        9 => {
            let line = line(text, at);
            text.drain(line);
        }
        10 => {
            let source = line(text, at);
            let copy = text[source].to_vec();
            let place = line(text, random.below(text.len())).start;
            text.splice(place..place, copy);
        }
        _ => {
            let other = random.original(corpus.iter()).as_bytes();
            let copy = other[line(other, random.below(other.len()))].to_vec();
            let place = line(text, at).start;
            text.splice(place..place, copy);
        }
    }
}

/// Returns the token around byte `at`: a word, a number, or one other character.
fn token(text: &[u8], at: usize) -> std::ops::Range<usize> {
    let part = |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'.' | b'%' | b'@' | b'-' | b'+');
    if at >= text.len() || !part(text[at]) {
        return at.min(text.len())..(at + 1).min(text.len());
    }
    let start = text[..at].iter().rposition(|&b| !part(b)).map_or(0, |i| i + 1);
    let end = text[at..].iter().position(|&b| !part(b)).map_or(text.len(), |i| at + i);
    start..end
}

fn line(text: &[u8], at: usize) -> std::ops::Range<usize> {
    let at = at.min(text.len());
    let start = text[..at].iter().rposition(|&b| b == b'\n').map_or(0, |i| i + 1);
    let end = text[at..].iter().position(|&b| b == b'\n').map_or(text.len(), |i| at + i + 1);
    start..end
}
