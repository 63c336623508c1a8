//! For tests: compiles programs of one device and compares their results with the reference evaluator's.

use dialect::diagnostic::Diagnostics;
use dialect::ir::{ElementType, TensorType};
use dialect::literal::Literal;
use dialect::scalar::Scalar;

use super::Executable;
use crate::reference::evaluate_global;

/// Returns a tensor of these floats.
pub(super) fn floats(shape: &[i64], mut value: impl FnMut() -> f64) -> Literal {
    Literal::from_fn(&TensorType::new(shape, ElementType::F32), |_| Scalar::Float(value()))
}

/// Compiles a program with one result and runs it twice. Each element may differ from the reference by at most
/// `tolerance`, relative to the reference where that is larger than 1.
pub(super) fn compared(text: &str, inputs: &[Literal], tolerance: f64) -> Executable {
    let mut diagnostics = Diagnostics::default();
    let program = dialect::parse(text, &mut diagnostics);
    dialect::verify(&program, &mut diagnostics);
    assert!(!diagnostics.has_errors(), "{text}\n{diagnostics:?}");
    let want = evaluate_global(&program, inputs).expect("evaluates");
    let executable = Executable::compile_small(program).expect("compiles");
    let session = executable.session().expect("memory");
    session.set_inputs(inputs).expect("inputs fit");
    assert!(executable.keeps_arguments());
    for _ in 0..2 {
        session.run().expect("runs");
        let got = session.results();
        for i in 0..want[0].len() {
            let (g, w) = (got[0].get(i).as_f64(), want[0].get(i).as_f64());
            assert!((g - w).abs() <= tolerance * w.abs().max(1.0), "element {i}: {g}, not {w}\n{text}");
        }
    }
    drop(session);
    executable
}
