//! Our propagation agrees with Shardy's on random programs; `cargo run -p shardc-tests --bin propagation` compares
//! more.

use shardc_tests::{oracle, propagation};

/// The minimum number of different ops compared, including Shardy's ops and functions.
const KINDS: usize = 100;

#[test]
#[cfg_attr(not(has = "oracles"), ignore = "run `make oracles`")]
fn random_programs_are_propagated_as_shardy_does() {
    let python = oracle::made("oracles");
    let all = propagation::random(&python, 0..300);
    let differ: Vec<String> = all.different.iter().map(|d| format!("seed {}: {}", d.name, d.what)).collect();
    assert!(
        differ.is_empty(),
        "{} of {} programs as Shardy has them; not:\n{}",
        all.equal,
        all.compared(),
        differ.join("\n")
    );
    assert!(all.compared() > 250, "Shardy refuses {}: {:?}", all.refused.len(), all.refused.first());
    assert!(all.ops.len() >= KINDS, "only {} kinds of ops", all.ops.len());
}
