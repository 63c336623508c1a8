//! The reference evaluator compared with JAX: programs printed by JAX, run unpartitioned on full tensors, give the
//! results that JAX computed on eight devices.

use std::path::{Path, PathBuf};

use dialect::ir::{ElementType, TensorType};
use dialect::scalar::ScalarOp;
use runtime::npz;
use shardc::{Compiler, Interface, Literal, Source, Tolerance};

#[test]
fn programs_give_what_jax_computed() {
    let mut failures = Vec::new();
    let mut count = 0;
    for folder in folders() {
        let name = folder.file_name().unwrap_or_default().to_string_lossy().into_owned();
        count += 1;
        if let Err(message) = run(&folder) {
            failures.push(format!("{name}: {message}"));
        }
    }
    assert!(count >= 67, "only {count} programs");
    assert!(failures.is_empty(), "{} of {count} programs:\n{}", failures.len(), failures.join("\n"));
}

/// Returns the folders of the corpus, sorted.
fn folders() -> Vec<PathBuf> {
    let corpus = Path::new(env!("CARGO_MANIFEST_DIR")).join("corpus");
    let entries = std::fs::read_dir(&corpus).expect("the corpus");
    let mut folders: Vec<PathBuf> = entries.map(|e| e.expect("an entry").path()).filter(|p| p.is_dir()).collect();
    folders.sort();
    folders
}

fn run(folder: &Path) -> Result<(), String> {
    let compiler = Compiler::standard();
    let path = folder.join("program.mlir");
    let text = std::fs::read_to_string(&path).map_err(|e| e.to_string())?;
    let source = Source::new(path.to_string_lossy(), text);
    let module = compiler.parse(source).into_result().map_err(|e| e.to_string())?;
    let interface = Interface::of(&module).ok_or("no tensors go in and out")?;
    let inputs = vec![arrays(&folder.join("inputs.npz"), "arg", &interface.arguments)?];
    let expected = vec![arrays(&folder.join("expected.npz"), "out", &interface.results)?];
    let results = compiler.evaluate(&module, &inputs).into_result().map_err(|e| e.to_string())?;
    let found = compiler.compare_results(&module, &inputs, &results, &expected, Tolerance::default());
    if found.len() != expected[0].len() {
        return Err(format!("{} results, expected {}", found.len(), expected[0].len()));
    }
    match found.iter().find(|r| !r.equal) {
        Some(wrong) => Err(format!("result {}: {}", wrong.index, wrong.comparison.text("equal"))),
        None => Ok(()),
    }
}

/// Returns the arrays `prefix0`, `prefix1`, … of a file, converted to the program's types.
fn arrays(path: &Path, prefix: &str, types: &[TensorType]) -> Result<Vec<Literal>, String> {
    let arrays = npz::read_file(path)?;
    let get = |(i, ty): (usize, &TensorType)| {
        let name = format!("{prefix}{i}");
        let (_, array) = arrays.iter().find(|a| a.0 == name).ok_or_else(|| format!("no array {name}"))?;
        if array.shape != ty.shape {
            return Err(format!("{name} has shape {:?}, the program says {:?}", array.shape, ty.shape));
        }
        Ok(converted(array, ty.element))
    };
    types.iter().enumerate().map(get).collect()
}

/// Converts NumPy's 64-bit integers to 32 bits, as JAX does.
fn converted(array: &Literal, element: ElementType) -> Literal {
    if array.element == element {
        return array.clone();
    }
    let convert = |i: usize| ScalarOp::Convert.apply(array.element, element, &[array.get(i)]);
    Literal::from_scalars(element, &array.shape, (0..array.len()).map(convert))
}
