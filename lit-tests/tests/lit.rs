//! Runs the lit tests of this package. `cargo test -p shardc-lit --test lit -- propagate/dot` runs one file;
//! `INSTA_UPDATE=always` writes new snapshots.

fn main() -> std::process::ExitCode {
    shardc_lit::Suite::new(env!("CARGO_MANIFEST_DIR")).run()
}
