//! Rules of this repository that no compiler checks: which crate may use what, the maximum length of files, and that
//! each file has a header that states its purpose. Those about plain English and about documents are in other files.

mod documents;
mod english;

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use shardc_tests::tools::root;

const PACKAGES: [&str; 10] = [
    "dialect",
    "passes",
    "runtime",
    "mpi",
    "compiler",
    "tests",
    "lit-tests",
    "bindings/python",
    "bindings/c",
    "bindings/melior",
];

/// The files of these rules, which contain the words that they look for.
const RULES: &str = "tests/tests/all/tidy";
/// The maximum number of lines in a file; longer files must be split.
const MAX_LINES: usize = 800;

/// Returns every Rust file of the workspace, relative to its root, with its text.
fn sources() -> Vec<(String, String)> {
    let mut files = Vec::new();
    for package in PACKAGES {
        collect(&root().join(package), "rs", &mut files);
    }
    assert!(files.len() > 50, "found only {} files", files.len());
    read(files)
}

/// Returns files, relative to the root, with their texts, in the order of their paths.
fn read(mut files: Vec<PathBuf>) -> Vec<(String, String)> {
    files.sort();
    let relative = |p: &Path| p.strip_prefix(root()).expect("it is below the root").display().to_string();
    files.iter().map(|p| (relative(p), fs::read_to_string(p).expect("a file is text"))).collect()
}

fn collect(folder: &Path, extension: &str, files: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).expect("a folder can be read") {
        let path = entry.expect("a folder can be read").path();
        if path.is_dir() {
            collect(&path, extension, files);
        } else if path.extension().is_some_and(|e| e == extension) {
            files.push(path);
        }
    }
}

/// Returns the packages in a manifest, under any kind of dependencies.
fn dependencies(package: &str) -> BTreeSet<String> {
    let text = fs::read_to_string(root().join(package).join("Cargo.toml")).expect("a package has a manifest");
    let mut inside = false;
    let mut names = BTreeSet::new();
    for line in text.lines() {
        if let Some(section) = line.strip_prefix('[') {
            inside = section.contains("dependencies");
        } else if inside && let Some((name, _)) = line.split_once('=') {
            names.insert(name.trim().trim_end_matches(".workspace").to_owned());
        }
    }
    assert!(!names.is_empty(), "{package} names no dependencies; did its manifest change its form?");
    names
}

#[test]
fn dependencies_point_one_way() {
    let house = ["dialect", "passes", "runtime", "shardc-mpi", "shardc"];
    let allowed: [(&str, &[&str]); 9] = [
        ("dialect", &[]),
        ("passes", &["dialect"]),
        ("runtime", &["dialect"]),
        ("mpi", &["dialect", "runtime"]),
        ("compiler", &["dialect", "passes", "runtime", "shardc-mpi"]),
        ("tests", &["dialect", "passes", "runtime", "shardc-mpi", "shardc"]),
        ("lit-tests", &["shardc"]),
        ("bindings/python", &["shardc"]),
        ("bindings/melior", &["shardc"]),
    ];
    for (package, may) in allowed {
        for name in dependencies(package).iter().filter(|n| house.contains(&n.as_str())) {
            assert!(may.contains(&name.as_str()), "{package} may not depend on {name}");
        }
    }
}

/// The modules of the runtime that each of its modules may name, so that reading one needs no others. Tests may name
/// more.
const RUNTIME: [(&str, &[&str]); 17] = [
    ("across", &[]),
    ("allocator", &["limits"]),
    ("collective", &["across", "rates"]),
    ("execute", &["across", "collective", "jit", "kernels", "limits", "rates", "reference", "subnormals", "threads"]),
    ("files", &["limits"]),
    ("jit", &["files", "rates"]),
    ("kernels/gemm", &["across", "kernels/micro", "rates"]),
    ("kernels/micro", &[]),
    ("kernels/native", &["across", "jit", "kernels/gemm"]),
    ("kernels/window", &["across", "kernels/micro", "kernels/native", "subnormals"]),
    ("limits", &[]),
    ("npz", &["files"]),
    ("rates", &[]),
    ("reference", &["kernels"]),
    ("subnormals", &[]),
    ("threads", &["subnormals"]),
    ("kernels/mod", &[]),
];

#[test]
fn modules_of_the_runtime_depend_one_way() {
    let module = |path: &str, of_kernel: bool| {
        let mut names = path.split(|c: char| !(c.is_alphanumeric() || c == '_')).filter(|name| !name.is_empty());
        let first = names.next().unwrap_or_default();
        if of_kernel && first == "kernels" {
            format!("kernels/{}", names.next().unwrap_or_default())
        } else {
            first.to_owned()
        }
    };
    let mut faults = Vec::new();
    for (path, text) in sources() {
        let Some(file) = path.strip_prefix("runtime/src/").filter(|f| *f != "lib.rs" && !f.contains("tests")) else {
            continue;
        };
        let own = module(file, true);
        let Some((_, may)) = RUNTIME.iter().find(|(name, _)| *name == own) else {
            faults.push(format!("{path}: RUNTIME has no {own}"));
            continue;
        };
        let code = text.split("#[cfg(test)]\nmod tests {").next().unwrap_or_default();
        for line in code.lines().filter(|line| !line.trim_start().starts_with("//")) {
            for (at, prefix) in line.match_indices("crate::") {
                let named = module(&line[at + prefix.len()..], file.starts_with("kernels/"));
                if named != own && !may.contains(&named.as_str()) {
                    faults.push(format!("{path}: {own} may not name {named}"));
                }
            }
        }
    }
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}

/// The connection of processes moves bytes, and is independent of programs and how they run.
#[test]
fn processes_need_two_modules_of_the_runtime() {
    let mut count = 0;
    for (path, text) in sources().iter().filter(|f| f.0.starts_with("mpi/src/")) {
        for rest in text.split("runtime::").skip(1) {
            let named = ["collective::", "files::"].iter().any(|module| rest.starts_with(module));
            assert!(named, "{path} names {} of the runtime", rest.lines().next().unwrap_or_default());
            count += 1;
        }
    }
    assert!(count > 3, "{count} names of the runtime; did the package move?");
}

#[test]
fn each_outside_crate_has_one_home() {
    for (name, home) in [
        ("egg", "passes"),
        ("melior", "runtime"),
        ("gemm", "runtime"),
        ("memmap2", "runtime"),
        ("mpi", "mpi"),
        ("clap", "compiler"),
        ("lsp-types", "compiler"),
        ("codespan-reporting", "compiler"),
        ("pyo3", "bindings/python"),
    ] {
        for package in PACKAGES {
            // The binding that passes MLIR modules in memory needs it, too.
            let bound = (name, package) == ("melior", "bindings/melior");
            assert_eq!(dependencies(package).contains(name), package == home || bound, "{name} in {package}");
        }
    }
}

#[test]
fn codespan_is_known_to_one_file() {
    let users: Vec<String> = sources()
        .into_iter()
        .filter(|(p, t)| t.contains("codespan_reporting::") && !p.starts_with(RULES))
        .map(|f| f.0)
        .collect();
    assert_eq!(users, ["compiler/src/cli/render.rs"]);
}

/// The library doesn't print or end the process, and doesn't depend on the command line, which calls it.
#[test]
fn the_library_knows_no_command_line() {
    let words = [
        "clap",
        "codespan",
        "std::io",
        "stdout",
        "stderr",
        "println!",
        "process::",
        "ExitCode",
        "crate::cli",
        "super::cli",
    ];
    let mut seen = 0;
    for (path, text) in sources() {
        let client = path.starts_with("compiler/src/cli/") || path == "compiler/src/main.rs";
        if !path.starts_with("compiler/src/") || client {
            continue;
        }
        seen += 1;
        for (i, line) in text.lines().enumerate() {
            let code = line.split("//").next().unwrap_or_default();
            let found = words.iter().find(|w| code.contains(**w));
            assert!(found.is_none(), "{path}:{}: {}", i + 1, line.trim());
        }
    }
    assert!(seen > 10, "the library has {seen} files; did it move?");
}

/// The command line calls only the public interface of the library.
#[test]
fn the_command_line_is_a_client_of_the_public_interface() {
    let sources = sources();
    let library = &sources.iter().find(|(path, _)| path == "compiler/src/lib.rs").expect("the library").1;
    let mut public: BTreeSet<&str> = ["cli"].into();
    public.extend(library.lines().filter_map(|line| line.strip_prefix("pub mod ")?.strip_suffix(';')));
    for item in library.split("\npub use ").skip(1) {
        let item = item.split(';').next().unwrap_or_default();
        let names = item.split(['{', '}', ',']).map(|name| name.rsplit("::").next().unwrap_or_default().trim());
        public.extend(names.filter(|name| !name.is_empty()));
    }
    let mut seen = 0;
    for (path, text) in sources.iter().filter(|(path, _)| path.starts_with("compiler/src/cli/")) {
        for rest in text.split("crate::").skip(1) {
            let inside = rest.strip_prefix('{').map_or(rest, |list| list.split('}').next().unwrap_or_default());
            let names = inside.split(',').take(if rest.starts_with('{') { usize::MAX } else { 1 });
            for name in names.map(|n| n.split(|c: char| !c.is_alphanumeric() && c != '_').find(|n| !n.is_empty())) {
                let Some(name) = name else { continue };
                assert!(public.contains(name), "{path} uses {name} of the library, which isn't public");
                seen += 1;
            }
        }
    }
    assert!(seen > 40, "the command line uses {seen} items of the library; did it move?");
}

#[test]
fn unsafe_stays_in_the_runtime() {
    for (path, text) in sources() {
        if ["runtime/", "mpi/", "bindings/c/", RULES].iter().any(|home| path.starts_with(home)) {
            continue;
        }
        // A flag of mlir-opt has the word in its name.
        let text = text.replace("very-unsafe", "");
        let uses = text.lines().any(|l| l.split("//").next().is_some_and(|code| has_word(code, "unsafe")));
        assert!(!uses, "{path} uses unsafe");
    }
}

/// Reasons that can't be checked where they are written.
const UNCHECKABLE: [&str; 5] = ["as above", "as below", "caller promises", "same reason", "same requirements"];

/// A function's contract is in its documentation, or in that of the trait that it implements.
#[test]
fn unsafe_code_says_what_it_relies_on() {
    let mut faults = Vec::new();
    for (path, text) in sources().iter().filter(|f| !f.0.starts_with(RULES)) {
        let (mut docs, mut reason, mut of_trait) = (String::new(), String::new(), None);
        for (i, line) in text.lines().enumerate() {
            let (code, indent) = (line.trim_start(), line.len() - line.trim_start().len());
            if code.starts_with("//") {
                let begins = code.contains("SAFETY:");
                if begins || !reason.is_empty() {
                    reason += if begins { code } else { code.trim_start_matches('/') };
                }
                docs += code;
            } else if !code.starts_with("#[") {
                if let Some(phrase) = UNCHECKABLE.iter().find(|phrase| reason.contains(*phrase)) {
                    faults.push(format!("{path}:{i}: a reason says `{phrase}`"));
                }
                if (code.starts_with("impl") || code.starts_with("unsafe impl")) && code.contains(" for ") {
                    of_trait = Some(indent);
                } else if code == "}" && of_trait == Some(indent) {
                    of_trait = None;
                }
                let declares = code.split_once("unsafe ").is_some_and(|(before, after)| {
                    matches!(before.trim_end(), "" | "pub" | "pub(super)" | "pub(crate)")
                        && (after.starts_with("fn ") || after.starts_with("extern \"C\" fn "))
                });
                if declares && of_trait.is_none() && !docs.contains("# Safety") {
                    faults.push(format!("{path}:{}: no `# Safety`: {code}", i + 1));
                }
                docs.clear();
                reason.clear();
            }
        }
    }
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}

/// Op definitions are zero-sized, so two may share an address, depending on the build. Passes have a size.
#[test]
fn definitions_are_not_compared_by_address() {
    for (path, text) in sources().iter().filter(|f| !f.0.starts_with(RULES)) {
        let by_address = |l: &&str| has_word(l, "addr_eq") || l.contains("ptr::eq(") && !l.contains("::PASS)");
        let compares = text.lines().find(by_address);
        assert!(compares.is_none(), "{path}: {}", compares.unwrap_or_default().trim());
    }
}

fn has_word(line: &str, word: &str) -> bool {
    line.split(|c: char| !(c.is_alphanumeric() || c == '_')).any(|w| w == word)
}

#[test]
fn files_say_what_they_are_for() {
    for (path, text) in sources() {
        assert!(text.starts_with("//! "), "{path} doesn't open with a line of //!");
    }
}

#[test]
fn files_are_short() {
    for (path, text) in sources() {
        let lines = text.lines().count();
        assert!(lines <= MAX_LINES, "{path} has {lines} lines; at most {MAX_LINES}");
    }
}

#[test]
fn no_code_is_left_for_later() {
    let words = ["TODO", "FIXME", "XXX", "HACK"];
    for (path, text) in sources().iter().filter(|f| !f.0.starts_with(RULES)) {
        for (i, line) in text.lines().enumerate() {
            let found = words.iter().find(|w| has_word(line, w));
            assert!(found.is_none(), "{path}:{}: {}", i + 1, line.trim());
        }
    }
}

#[test]
fn passes_and_runtime_ask_for_roles_and_name_no_op() {
    let mut dialects: BTreeSet<&str> = dialect::ops::OPS.iter().filter_map(|op| op.name().split('.').next()).collect();
    dialects.insert("mhlo");
    for (path, text) in sources() {
        let tests = path.ends_with("tests.rs") || path.contains("/tests/");
        let inside = (path.starts_with("passes/src") || path.starts_with("runtime/src")) && !tests;
        if !inside {
            continue;
        }
        // Native code is written in MLIR's own dialects.
        let below: &[&str] = if path.starts_with("runtime/src") {
            &["func", "arith", "builtin", "linalg", "math", "tensor"]
        } else {
            &[]
        };
        let names: Vec<String> = dialects.iter().filter(|d| !below.contains(d)).map(|d| format!("\"{d}.")).collect();
        // Tests at the end of a file contain program text.
        let code = text.split("#[cfg(test)]").next().unwrap_or_default();
        for (i, line) in code.lines().enumerate() {
            // `"dialect.op"(` and `"dialect.op @name` are program texts with which rewrites are proved.
            let word = |c: char| c.is_ascii_alphanumeric() || "._".contains(c);
            let stands = |at: usize| match line[at + 1..].split_once('"') {
                Some((name, rest)) => name.chars().all(word) && !rest.starts_with('('),
                None => true,
            };
            let named = names.iter().any(|name| line.match_indices(name.as_str()).any(|(at, _)| stands(at)));
            assert!(!named, "{path}:{} names an op or attribute of a dialect: {}", i + 1, line.trim());
        }
    }
}

#[test]
fn every_op_has_its_own_name() {
    let mut names = BTreeSet::new();
    for op in dialect::ops::OPS {
        assert!(op.name().contains('.'), "'{}' has no dialect", op.name());
        assert!(names.insert(op.name()), "two ops are called '{}'", op.name());
    }
}

#[test]
fn every_pass_has_its_own_name_and_says_what_it_does() {
    let mut names = BTreeSet::new();
    for pass in passes::PASSES {
        assert!(names.insert(pass.name), "two passes are called '{}'", pass.name);
        assert!(!pass.doc.is_empty() && pass.doc.ends_with('.'), "'{}' has a bad doc", pass.name);
        for option in pass.options {
            let mut options = passes::options::Options::defaults(pass.options);
            assert_eq!(
                options.value(option),
                option.default,
                "'{}' of '{}' has another default",
                option.name,
                pass.name
            );
            let set = options.set(pass.options, option.name, option.default);
            assert_eq!(set, Ok(()), "the default of '{}' of '{}' doesn't fit", option.name, pass.name);
        }
        let folder = root().join("lit-tests").join(pass.name);
        let files = fs::read_dir(&folder).map_or(0, |entries| {
            entries.filter(|e| e.as_ref().is_ok_and(|e| e.path().extension().is_some_and(|e| e == "mlir"))).count()
        });
        assert!(files >= 3, "'{}' has {files} programs in {}", pass.name, folder.display());
    }
}

/// Every diagnostic code is listed by `shardc help codes`, and every listed code is used.
#[test]
fn codes_are_registered_and_used() {
    let sources = sources();
    let house = ["dialect/src/", "passes/src/", "runtime/src/", "compiler/src/"];
    let inside = |path: &str| house.iter().any(|h| path.starts_with(h)) && path != "dialect/src/codes.rs";
    let code: Vec<_> = sources.iter().filter(|f| inside(&f.0)).collect();
    for (path, text) in &code {
        assert!(!text.contains("Code::custom("), "{path} makes a code of its own: add it to dialect/src/codes.rs");
    }
    let registry = &sources.iter().find(|f| f.0 == "dialect/src/codes.rs").expect("the registry").1;
    let constants = registry.lines().filter_map(|l| l.trim().split_once(" = \"").map(|l| l.0));
    let constants: Vec<&str> = constants.filter(|c| c.chars().all(|c| c.is_ascii_uppercase() || c == '_')).collect();
    assert_eq!(constants.len(), dialect::codes::CODES.len(), "{constants:?}");
    for constant in constants {
        let used = code.iter().any(|f| f.1.lines().any(|l| has_word(l, constant)));
        assert!(used, "nobody finds {constant}: remove it from dialect/src/codes.rs");
    }
}
