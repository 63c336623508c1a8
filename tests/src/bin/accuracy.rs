//! Prints the worst error of every function in units in the last place, and its argument.
//!
//! `accuracy --python PYTHON --count 1000000`

use std::path::PathBuf;

use shardc_tests::accuracy::{FUNCTIONS, worst_in_double, worst_in_single};

fn main() {
    let arguments: Vec<String> = std::env::args().collect();
    let option = |name: &str| arguments.iter().position(|a| a == name).and_then(|at| arguments.get(at + 1));
    let count = option("--count").and_then(|n| n.parse().ok()).unwrap_or(1_000_000);
    let python = option("--python").map(PathBuf::from);
    let only = option("--only");
    println!("worst error in ULP, and where, over {count} arguments");
    for function in FUNCTIONS.iter().filter(|f| only.is_none_or(|only| f.op.ends_with(only))) {
        let mut found = vec![("f32", worst_in_single(function, count))];
        if let Some(python) = &python {
            found.push(("f64", worst_in_double(python, function, count)));
        }
        for (ty, worst) in found {
            let of = |(engine, error, at)| format!("{:<39}", format!("{engine:?} {error:.2} at {at:e}"));
            let columns: String = worst.into_iter().map(of).collect();
            println!("{:<36}{ty}  {}", function.op, columns.trim_end());
        }
    }
}
