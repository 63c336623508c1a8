//! Sets `has = "NAME"` for each of `NEEDS` that is there, so that tests whose oracle is missing are ignored by name:
//! `#[cfg_attr(not(has = "oracles"), ignore = "run `make oracles`")]`.
//!
//! The Makefile touches this file when it creates one of them. Watching files that may be missing instead would make
//! cargo build the tests again every time.

#[path = "src/needs.rs"]
pub mod needs;

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rerun-if-changed=src/needs.rs");
    let out = std::env::var("OUT_DIR").expect("cargo sets OUT_DIR for build scripts");
    for (name, _) in needs::NEEDS {
        println!("cargo::rustc-check-cfg=cfg(has, values(\"{name}\"))");
        if needs::find(needs::target(&out), name).is_ok() {
            println!("cargo::rustc-cfg=has=\"{name}\"");
        }
    }
}
