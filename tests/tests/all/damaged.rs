//! No damaged file makes a command end with a bug, by a signal or after more than ten seconds: archives of arrays,
//! indices of shards, descriptions of targets and compiled kernels, each changed at random from fixed seeds.
//!
//! `RANDOM_PROGRAMS=5000` damages more files, `RANDOM_FROM=300` starts at another seed (`make fuzz-files`).

use std::path::{Path, PathBuf};

use dialect::ir::ElementType;
use dialect::scalar::Scalar;
use fastrand::Rng;
use shardc::Literal;
use shardc_tests::attempt::{attempt, try_all};
use shardc_tests::mutation::word;
use shardc_tests::tools::scratch;

/// The number of damaged files per run.
const COUNT: u64 = 240;

const PROGRAM: &str = "sdy.mesh @mesh = <[\"x\"=2]>
func.func @main(%a: tensor<8x4xf32> {sdy.sharding = #sdy.sharding<@mesh, [{\"x\"}, {}]>}) -> tensor<8x4xf32> {
  %0 = stablehlo.add %a, %a : tensor<8x4xf32>
  return %0 : tensor<8x4xf32>
}
";

const INDEX: &str = r#"{"schema": "shardc.shards/1", "arrays": [
 {"name": "out0", "element": "f32", "shape": [8, 4], "shards": [
  {"file": "a.npz", "array": "arg0", "start": [0, 0], "sizes": [4, 4]},
  {"file": "a.npz", "array": "arg0", "start": [4, 0], "sizes": [4, 4]}]},
 {"name": "out1", "element": "f32", "shape": [4, 4], "shards": [
  {"file": "a.npz", "array": "arg0", "start": [0, 0], "sizes": [4, 4], "combine": "add"},
  {"file": "a.npz", "array": "arg1", "start": [0, 0], "sizes": [4, 4], "combine": "add"}]}]}
"#;

/// Replacements for words of a text.
const WORDS: &str = "0|-1|1|1e400|-0.0|nan|9223372036854775807|18446744073709551616|4611686018427387904|1e-320|\"\"|\"../../evil\"|\
     \"/dev/zero\"|\"max\"|\"f64\"|\"i4\"|null|true|[]|{}|[[|\\u0000|\n";

/// Returns a text with some of its words replaced, removed, doubled or exchanged.
fn damaged_text(text: &str, rng: &mut Rng) -> Vec<u8> {
    let is_word = |c: char| c.is_alphanumeric() || matches!(c, '"' | '_' | '.' | '-' | '/');
    let mut words: Vec<String> = Vec::new();
    for c in text.chars() {
        match words.last_mut() {
            Some(word) if is_word(c) && word.ends_with(is_word) => word.push(c),
            _ => words.push(c.to_string()),
        }
    }
    for _ in 0..rng.usize(1..4) {
        let (at, other) = (rng.usize(..words.len()), rng.usize(..words.len()));
        match rng.u8(..6) {
            0 => words[at].clear(),
            1 => words[at] = words[at].repeat(rng.usize(2..200)),
            2 => words.swap(at, other),
            3 => words[at] = words[other].clone(),
            4 => words.truncate(at.max(1)),
            _ => words[at] = word(WORDS, rng).to_owned(),
        }
    }
    let mut bytes = words.concat().into_bytes();
    if rng.u8(..8) == 0 {
        bytes = damaged_bytes(&bytes, rng);
    }
    bytes
}

/// Returns the bytes with some replaced, removed, doubled, or overwritten by numbers that are too large.
fn damaged_bytes(bytes: &[u8], rng: &mut Rng) -> Vec<u8> {
    let mut bytes = bytes.to_vec();
    for _ in 0..rng.usize(1..5) {
        if bytes.is_empty() {
            break;
        }
        let (at, end) = (rng.usize(..bytes.len()), rng.usize(..=bytes.len()));
        match rng.u8(..7) {
            0 => bytes[at] = rng.u8(..),
            1 => bytes[at] ^= 1 << rng.u8(..8),
            2 => bytes.truncate(at),
            3 => drop(bytes.drain(at.min(end)..at.max(end).min(at.min(end) + 40))),
            4 => bytes.extend_from_within(at..end.max(at)),
            5 => bytes.splice(at..at, (0..rng.usize(1..40)).map(|i| i as u8)).for_each(drop),
            _ => {
                let large = [u64::MAX, 1 << 63, 1 << 40, u64::from(u32::MAX), 0][rng.usize(..5)].to_le_bytes();
                let width = [2, 4, 8][rng.usize(..3)].min(bytes.len() - at);
                bytes[at..at + width].copy_from_slice(&large[..width]);
            }
        }
    }
    bytes
}

/// Changes some words in the header of an array in an archive, without changing its length.
fn damaged_header(archive: &[u8], rng: &mut Rng) -> Vec<u8> {
    let mut bytes = archive.to_vec();
    let headers: Vec<usize> = (0..bytes.len()).filter(|&i| bytes[i..].starts_with(b"{'descr'")).collect();
    let Some(&start) = rng.choice(&headers) else { return bytes };
    let end = start + bytes[start..].iter().position(|&b| b == b'\n').unwrap_or(0);
    let text = String::from_utf8_lossy(&bytes[start..end]).into_owned();
    let mut header = damaged_text(text.trim_end(), rng);
    header.resize(end - start, b' ');
    bytes[start..end].copy_from_slice(&header);
    bytes
}

struct Files {
    folder: PathBuf,
    archive: Vec<u8>,
    targets: Vec<String>,
    /// The only kernel of a cache.
    #[cfg(feature = "jit")]
    kernel: (PathBuf, Vec<u8>),
}

fn floats(shape: &[i64]) -> Literal {
    let count = shape.iter().product::<i64>();
    Literal::from_scalars(ElementType::F32, shape, (0..count).map(|i| Scalar::Float(i as f64)))
}

impl Files {
    fn new() -> Self {
        let folder = scratch("damaged");
        let arrays: Vec<(String, Literal)> = vec![("arg0".into(), floats(&[8, 4])), ("arg1".into(), floats(&[4, 4]))];
        let archive = runtime::npz::write(&arrays).unwrap();
        std::fs::write(folder.join("a.npz"), &archive).unwrap();
        std::fs::write(folder.join("p.mlir"), PROGRAM).unwrap();
        let examples = Path::new(env!("CARGO_MANIFEST_DIR")).with_file_name("compiler").join("examples");
        let targets = ["cluster.toml", "torus.toml"].map(|name| std::fs::read_to_string(examples.join(name)).unwrap());
        Self {
            #[cfg(feature = "jit")]
            kernel: kernel(&folder.join("cache")),
            folder,
            archive,
            targets: targets.into(),
        }
    }

    fn at(&self, name: &str) -> String {
        self.folder.join(name).to_string_lossy().into_owned()
    }

    /// Returns the reason why the outcome for a damaged file is a bug, if it is one.
    fn fault(&self, seed: u64) -> Option<String> {
        let mut rng = Rng::with_seed(seed);
        let (file, program, out) = (self.at("file"), self.at("p.mlir"), self.at("out.npz"));
        let write = |bytes: Vec<u8>| std::fs::write(&file, bytes).unwrap();
        match seed % 4 {
            0 => {
                let header = rng.bool();
                write(if header {
                    damaged_header(&self.archive, &mut rng)
                } else {
                    damaged_bytes(&self.archive, &mut rng)
                });
                let flag = if rng.bool() { "--inputs" } else { "--expect" };
                command(&["run", "--interpret", &program, flag, &file, "--outputs", &out])
            }
            1 => {
                write(damaged_text(INDEX, &mut rng));
                command(&["gather", &file, "--outputs", &out])
            }
            2 => {
                write(damaged_text(rng.choice(&self.targets).expect("there are some"), &mut rng));
                command(&["cost", &program, "--target", &file])
            }
            _ => self.cached(&mut rng),
        }
    }

    #[cfg(not(feature = "jit"))]
    fn cached(&self, _: &mut Rng) -> Option<String> {
        None
    }

    #[cfg(feature = "jit")]
    fn cached(&self, rng: &mut Rng) -> Option<String> {
        let (path, whole) = &self.kernel;
        std::fs::write(path, damaged_bytes(whole, rng)).unwrap();
        let result = std::panic::catch_unwind(|| results(path.parent().expect("the cache")));
        let expected = Literal::from_fn(&floats(&[8, 4]).ty(), |i| Scalar::Float(2.0 * i as f64));
        (!result.is_ok_and(|result| result == expected)).then(|| "a damaged kernel changes what is computed".to_owned())
    }
}

/// Returns the program's results with the kernels of a cache.
#[cfg(feature = "jit")]
fn results(cache: &Path) -> Literal {
    use shardc_tests::sharded::done;
    let compiler = shardc::Compiler::standard();
    let module = done(compiler.parse(shardc::Source::new("p", PROGRAM))).expect("it is right");
    let options = shardc::CompileOptions::default();
    let module = done(compiler.compile(module, "compile", &options)).expect("it is right");
    let execute = shardc::ExecuteOptions { cache: Some(cache.to_owned()), ..shardc::ExecuteOptions::default() };
    let ran = done(compiler.execute(&module, &[vec![floats(&[8, 4])]], &execute)).expect("it runs");
    ran.results[0][0].clone()
}

/// Returns the program's kernel in a cache.
#[cfg(feature = "jit")]
fn kernel(cache: &Path) -> (PathBuf, Vec<u8>) {
    results(cache);
    let path = std::fs::read_dir(cache).expect("it was made").next().expect("a kernel").unwrap().path();
    let bytes = std::fs::read(&path).unwrap();
    (path, bytes)
}

fn command(args: &[&str]) -> Option<String> {
    attempt(args, b"").err()
}

#[test]
fn damaged_files_are_refused() {
    let files = Files::new();
    // All use the same files, so one thread.
    try_all("damaged", COUNT, 1, |seed| Some((files.fault(seed)?, std::fs::read(files.at("file")).unwrap())));
    // No file was written outside of the folder.
    let strays = [files.folder.with_file_name("evil.npy"), files.folder.parent().unwrap().with_file_name("evil.npy")];
    assert!(strays.iter().all(|path| !path.exists()));
}
