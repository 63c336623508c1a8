//! Results of a run in several processes: each writes its shards, `out.0.npz`, `out.1.npz`, and the first writes an
//! index, `out.index.json`, with the position of every shard.

use std::path::{Path, PathBuf};

use dialect::literal::Literal;
use dialect::sharding::ReductionKind;
use runtime::npz;
use serde::{Deserialize, Serialize};

use super::arrays::array_name;
use super::ranks::Here;
use super::session::Failure;
use crate::{Interface, ResultShard};

/// The format version of an index.
pub(super) const SCHEMA: &str = "shardc.shards/1";

/// The contents of `out.index.json`.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub(super) struct Index {
    pub(super) schema: String,
    pub(super) arrays: Vec<IndexedArray>,
}

/// A global array.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub(super) struct IndexedArray {
    pub(super) name: String,
    pub(super) element: String,
    pub(super) shape: Vec<i64>,
    pub(super) shards: Vec<IndexedShard>,
}

/// A shard of an array.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub(super) struct IndexedShard {
    /// The file next to the index, and the array in it.
    pub(super) file: String,
    pub(super) array: String,
    pub(super) start: Vec<i64>,
    pub(super) sizes: Vec<i64>,
    /// How shards of one place are combined: `add`, `max` or `min`; `None` replaces.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) combine: Option<String>,
}

/// `out.npz` of rank 2 is `out.2.npz`.
fn of_rank(path: &Path, rank: usize) -> PathBuf {
    path.with_extension(format!("{rank}.npz"))
}

/// Replaces `{rank}`: `in.{rank}.npz` of rank 2 is `in.2.npz`. Returns `None` if the path has no `{rank}`.
pub(crate) fn own(path: &Path, rank: usize) -> Option<PathBuf> {
    let text = path.to_str()?;
    text.contains("{rank}").then(|| PathBuf::from(text.replace("{rank}", &rank.to_string())))
}

fn file_name(path: &Path) -> String {
    path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default()
}

/// Writes this rank's shards, and on the first rank the index. The files get their names only after all ranks have
/// written.
pub(crate) fn write(path: &Path, here: &Here, interface: &Interface, shards: &[ResultShard]) -> Result<(), Failure> {
    let file = of_rank(path, here.rank);
    let name =
        |shard: &ResultShard| format!("{}.device{}", array_name("out", shard.result, shard.replica), shard.device);
    let arrays: Vec<(String, Literal)> = shards.iter().map(|shard| (name(shard), shard.literal.clone())).collect();
    let prepared = npz::prepare_file(&file, &arrays).map_err(Failure::System)?;
    let entry = |shard: &ResultShard| {
        let combine = shard.combine.map(|kind| match kind {
            ReductionKind::Sum => "add".to_owned(),
            ReductionKind::Max => "max".to_owned(),
            ReductionKind::Min => "min".to_owned(),
        });
        let (start, sizes) = (shard.start.clone(), shard.literal.shape.to_vec());
        let indexed = IndexedShard { file: file_name(&file), array: name(shard), start, sizes, combine };
        (shard.replica, shard.result, indexed)
    };
    let mine: Vec<(usize, usize, IndexedShard)> = shards.iter().map(entry).collect();
    // A barrier: no rank continues before all have written.
    let all = here.together(&serde_json::to_vec(&mine).unwrap_or_default())?;
    prepared.finish().map_err(|e| Failure::System(format!("can't write {}: {e}", file.display())))?;
    here.together(&[])?;
    if here.rank > 0 {
        return Ok(());
    }
    let mut arrays = Vec::new();
    let entries: Vec<(usize, usize, IndexedShard)> =
        all.iter().flat_map(|bytes| serde_json::from_slice::<Vec<_>>(bytes).unwrap_or_default()).collect();
    for replica in 0..interface.replicas {
        for (i, ty) in interface.results.iter().enumerate() {
            let mine = entries.iter().filter(|e| (e.0, e.1) == (replica, i)).map(|e| e.2.clone());
            arrays.push(IndexedArray {
                name: array_name("out", i, replica),
                element: ty.element.text().unwrap_or_default().to_owned(),
                shape: ty.shape.to_vec(),
                shards: mine.collect(),
            });
        }
    }
    let index = Index { schema: SCHEMA.to_owned(), arrays };
    let path = path.with_extension("index.json");
    let text = serde_json::to_string_pretty(&index).unwrap_or_default() + "\n";
    let write = |file: &mut std::fs::File| std::io::Write::write_all(file, text.as_bytes());
    runtime::files::replace(&path, write).map_err(|e| Failure::System(format!("can't write {}: {e}", path.display())))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_rank_has_a_file_of_its_own() {
        assert_eq!(of_rank(Path::new("a/out.npz"), 2), Path::new("a/out.2.npz"));
        assert_eq!(own(Path::new("in.{rank}.npz"), 3), Some(PathBuf::from("in.3.npz")));
        assert_eq!(own(Path::new("in.npz"), 3), None);
    }
}
