//! The reference evaluator against JAX: programs printed by JAX, run unpartitioned on full tensors, give what JAX
//! computed on eight devices.

use std::path::{Path, PathBuf};

use dialect::diagnostic::Diagnostics;
use dialect::ir::{ElementType, Program, TensorType, Ty};
use dialect::literal::Literal;
use dialect::ops::func;
use dialect::scalar::{Scalar, ScalarOp};
use runtime::npz;

/// Programs with an op that is not supported yet: sort, reduce_window, top_k.
const LATER: &[&str] = &[
    "tpu_p2_moe_all_to_all",
    "tpu_p2_moe_jit",
    "tpu_p2_moe_local",
    "tpu_p2_moe_ragged_dot",
    "tpu_p2_moe_topk",
    "tpu_p2_moe_while_all_to_all",
];

#[test]
fn programs_give_what_jax_computed() {
    let mut failures = Vec::new();
    let mut count = 0;
    for folder in folders() {
        let name = folder.file_name().unwrap_or_default().to_string_lossy().into_owned();
        if LATER.contains(&name.as_str()) {
            continue;
        }
        count += 1;
        if let Err(message) = run(&folder) {
            failures.push(format!("{name}: {message}"));
        }
    }
    assert!(count >= 46, "only {count} programs");
    assert!(failures.is_empty(), "{} of {count} programs:\n{}", failures.len(), failures.join("\n"));
}

/// The folders of the corpus, sorted.
fn folders() -> Vec<PathBuf> {
    let corpus = Path::new(env!("CARGO_MANIFEST_DIR")).join("corpus");
    let entries = std::fs::read_dir(&corpus).expect("the corpus");
    let mut folders: Vec<PathBuf> = entries.map(|e| e.expect("an entry").path()).filter(|p| p.is_dir()).collect();
    folders.sort();
    folders
}

fn run(folder: &Path) -> Result<(), String> {
    let text = std::fs::read_to_string(folder.join("program.mlir")).map_err(|e| e.to_string())?;
    let mut diagnostics = Diagnostics::default();
    let program = dialect::parse(&text, &mut diagnostics);
    dialect::verify(&program, &mut diagnostics);
    if let Some(first) = diagnostics.iter().next() {
        return Err(first.message.clone());
    }
    let main = func::function(&program, "main").ok_or("no @main")?;
    let signature = func::signature(&program, main);
    let inputs = arrays(&folder.join("inputs.npz"), "arg", &tensors(&program, signature.inputs))?;
    let expected = arrays(&folder.join("expected.npz"), "out", &tensors(&program, signature.results))?;
    let results = runtime::reference::evaluate_global(&program, &inputs).map_err(|e| e.to_string())?;
    if results.len() != expected.len() {
        return Err(format!("{} results, expected {}", results.len(), expected.len()));
    }
    for (i, (found, expected)) in results.iter().zip(&expected).enumerate() {
        compare(found, expected).map_err(|message| format!("result {i}: {message}"))?;
    }
    Ok(())
}

fn tensors(program: &Program, types: &[Ty]) -> Vec<TensorType> {
    types.iter().map(|&ty| program.type_data(ty).tensor().expect("a tensor").clone()).collect()
}

/// The arrays `prefix0`, `prefix1`, … of a file, converted to the program's types.
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

/// Integers must be equal. Floats must be within a relative and absolute tolerance of their type, and within four units
/// in the last place of the largest element: where large terms cancel, JAX's own sum has that error.
fn compare(found: &Literal, expected: &Literal) -> Result<(), String> {
    if found.ty() != expected.ty() {
        return Err(format!("{:?}, expected {:?}", found.ty(), expected.ty()));
    }
    let (tolerance, epsilon) = match found.element {
        ElementType::BF16 => (2e-2, f64::powi(2.0, -8)),
        ElementType::F32 => (1e-5, f64::from(f32::EPSILON)),
        _ => (0.0, 0.0),
    };
    let largest = (0..expected.len()).map(|i| expected.get(i).as_f64().abs()).fold(0.0, f64::max);
    for i in 0..found.len() {
        let (a, b) = (found.get(i), expected.get(i));
        let near = match (a, b) {
            (Scalar::Float(a), Scalar::Float(b)) => {
                a == b || (a - b).abs() <= tolerance + tolerance * b.abs() + 4.0 * epsilon * largest
            }
            _ => a == b,
        };
        if !near {
            return Err(format!("element {i} is {a:?}, expected {b:?}; the largest is {largest:?}"));
        }
    }
    Ok(())
}
