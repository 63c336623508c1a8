//! The folder in which compiled kernels are cached between runs.

use std::path::PathBuf;

use super::session::{Outcome, Session};

/// Returns `$SHARDC_CACHE`, or else `shardc` in the system's cache folder; `None` if there is no home folder or
/// `$SHARDC_CACHE` is empty.
pub(crate) fn folder() -> Option<PathBuf> {
    let variable = |name: &str| std::env::var_os(name).map(PathBuf::from);
    if let Some(folder) = variable("SHARDC_CACHE") {
        return (!folder.as_os_str().is_empty()).then_some(folder);
    }
    let stated = variable("XDG_CACHE_HOME").filter(|path| path.is_absolute());
    let home = || variable("HOME").filter(|path| path.is_absolute()).map(|home| home.join(".cache"));
    Some(stated.or_else(home)?.join("shardc"))
}

/// Reports why the cache was refused, if it was.
pub(crate) fn say_refused(session: &mut Session<'_>, why: Option<&str>) -> Outcome {
    let how = "set $SHARDC_CACHE to use another folder, or --no-cache to use none";
    match why {
        Some(why) => session.say(&format!("shardc: compiling all kernels without the cache: {why} ({how})\n")),
        None => Ok(()),
    }
}
