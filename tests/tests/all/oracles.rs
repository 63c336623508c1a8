//! No test passes because its oracle is missing: such tests are ignored, and `make test` has all oracles.

use std::path::Path;

use shardc_tests::needs::{NEEDS, find, target};

/// What the build script found.
const HAS: [(&str, bool); NEEDS.len()] = [
    ("setup", cfg!(has = "setup")),
    ("python3", cfg!(has = "python3")),
    ("oracles", cfg!(has = "oracles")),
    ("python", cfg!(has = "python")),
    ("capi", cfg!(has = "capi")),
    ("plugin", cfg!(has = "plugin")),
    ("mpi", cfg!(has = "mpi")),
    ("iree", cfg!(has = "iree")),
    ("chromium", cfg!(has = "chromium")),
];

#[test]
fn installed_oracles_are_used_and_make_test_has_all() {
    let must = std::env::var_os("SHARDC_ORACLES").is_some();
    for ((name, has), (same, _)) in HAS.into_iter().zip(NEEDS) {
        assert_eq!(name, same);
        let found = find(target(env!("OUT_DIR")), name);
        assert_eq!(
            has,
            found.is_ok(),
            "touch tests/build.rs: the tests were built before a change of {name}, {found:?}"
        );
        // `make test` installs neither IREE nor a browser.
        assert!(
            has || !must || ["iree", "chromium"].contains(&name),
            "{} is missing: run `make {name}`",
            found.unwrap_err().display()
        );
    }
    assert_eq!(find(Path::new("/missing"), "oracles"), Err("/missing/oracles/bin/python".into()));
}
