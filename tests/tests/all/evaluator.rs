//! The reference evaluator compared with JAX: programs printed by JAX, run unpartitioned on full tensors, give the
//! results that JAX computed on eight devices.

use std::path::Path;

use dialect::ir::{ElementType, TensorType};
use dialect::scalar::ScalarOp;
use runtime::npz;
use shardc::{Compiler, Interface, Literal, Source, Tolerance};
use shardc_tests::corpus::{self, Sample};
use shardc_tests::sharded::done;

#[test]
fn unpartitioned_programs_give_the_results_of_jax() {
    let fault = |sample: Sample| Some(format!("{}: {}", sample.name, run(&sample).err()?));
    let faults: Vec<String> = corpus::samples().into_iter().filter_map(fault).collect();
    assert!(faults.is_empty(), "{} programs:\n{}", faults.len(), faults.join("\n"));
}

fn run(sample: &Sample) -> Result<(), String> {
    let compiler = Compiler::standard();
    let module = done(compiler.parse(Source::new(&sample.name, &sample.text)))?;
    let interface = Interface::of(&module).ok_or("no tensors go in and out")?;
    let read = |name, prefix, types| arrays(&corpus::file(&sample.name, name), prefix, types);
    let inputs = vec![read("inputs.npz", "arg", &interface.arguments)?];
    let expected = vec![read("expected.npz", "out", &interface.results)?];
    let results = done(compiler.evaluate(&module, &inputs))?;
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
