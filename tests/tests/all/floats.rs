//! Narrow floating-point types: every sum, difference, product and quotient of the one-byte types, and conversions to
//! them, are rounded as in ml_dtypes.

use dialect::diagnostic::Diagnostics;
use shardc_tests::oracle;

#[test]
#[cfg_attr(not(has = "oracles"), ignore = "run `make oracles`")]
fn narrow_floats_round_once() {
    let python = oracle::made("oracles");
    let (programs, said) = oracle::judge(&python, "floats.py", std::iter::empty());
    // Twelve types, six operations and a conversion.
    assert_eq!(programs.len(), 12 * 7, "the script stopped early:\n{said}");
    let mut wrong = Vec::new();
    for case in &programs {
        let (name, text) = (case["name"].as_str().unwrap_or("?"), case["program"].as_str().unwrap_or_default());
        let mut diagnostics = Diagnostics::default();
        let program = dialect::parse(text, &mut diagnostics);
        dialect::verify(&program, &mut diagnostics);
        assert!(diagnostics.is_empty(), "{name}: {diagnostics:?}");
        if let Err(e) = runtime::reference::evaluate_global(&program, &[]) {
            wrong.push(format!("{name}: {e}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
