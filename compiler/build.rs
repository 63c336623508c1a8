//! Links the released program at fixed addresses on Linux, because the tables of MLIR and LLVM contain 170,000
//! addresses, which the loader would otherwise write at every start of the program.

use std::env;

fn main() {
    println!("cargo:rerun-if-changed=build.rs");
    let is = |name: &str, value: &str| env::var(name).as_deref() == Ok(value);
    if is("CARGO_CFG_TARGET_OS", "linux") && is("PROFILE", "release") && env::var_os("CARGO_FEATURE_JIT").is_some() {
        println!("cargo:rustc-link-arg-bin=shardc=-no-pie");
    }
}
