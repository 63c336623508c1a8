//! Results of a run in several processes: each writes the shards that it has, `out.0.npz`, `out.1.npz`, and the first an index,
//! `out.index.json`, that says where everything belongs.

use std::path::{Path, PathBuf};

use dialect::ir::{ElementType, Shape, TensorType};
use dialect::literal::Literal;
use dialect::sharding::ReductionKind;
use runtime::npz;
use serde::{Deserialize, Serialize};

use super::arrays::array_name;
use super::ranks::Here;
use super::session::Failure;
use crate::{Interface, ResultShard};

/// The format of an index, for who reads it later.
const SCHEMA: &str = "shardc.shards/1";

/// What `out.index.json` holds.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
struct Index {
    schema: String,
    arrays: Vec<IndexedArray>,
}

/// A global array.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
struct IndexedArray {
    name: String,
    element: String,
    shape: Vec<i64>,
    shards: Vec<IndexedShard>,
}

/// A part of it.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
struct IndexedShard {
    /// The file beside the index, and the array in it.
    file: String,
    array: String,
    start: Vec<i64>,
    sizes: Vec<i64>,
    /// How shards of one place are combined: `add`, `max` or `min`; replaced if it doesn't say.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    combine: Option<String>,
}

/// `out.npz` of rank 2 is `out.2.npz`.
fn of_rank(path: &Path, rank: usize) -> PathBuf {
    path.with_extension(format!("{rank}.npz"))
}

/// `in.{rank}.npz` of rank 2 is `in.2.npz`; `None` if the path doesn't ask for it.
pub(crate) fn own(path: &Path, rank: usize) -> Option<PathBuf> {
    let text = path.to_str()?;
    text.contains("{rank}").then(|| PathBuf::from(text.replace("{rank}", &rank.to_string())))
}

fn file_name(path: &Path) -> String {
    path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default()
}

/// Writes this rank's shards, and on the first rank the index. Files have their names when all ranks have written theirs.
pub(crate) fn write(path: &Path, here: &Here, interface: &Interface, shards: &[ResultShard]) -> Result<(), Failure> {
    let file = of_rank(path, here.rank);
    let mut draft = file.clone().into_os_string();
    draft.push(".partial");
    let draft = PathBuf::from(draft);
    let name =
        |shard: &ResultShard| format!("{}.device{}", array_name("out", shard.result, shard.replica), shard.device);
    let arrays: Vec<(String, Literal)> = shards.iter().map(|shard| (name(shard), shard.literal.clone())).collect();
    npz::write_file(&draft, &arrays).map_err(Failure::System)?;
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
    // Nobody goes on before everybody has written.
    let all = here.together(&serde_json::to_vec(&mine).unwrap_or_default())?;
    std::fs::rename(&draft, &file)
        .map_err(|e| Failure::System(format!("can't give {} its name: {e}", draft.display())))?;
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

/// The global arrays of an index.
pub(crate) fn read(path: &Path) -> Result<Vec<(String, Literal)>, Failure> {
    let fault = |message: String| Failure::Usage(format!("{}: {message}", path.display()));
    let text = std::fs::read(path).map_err(|e| fault(format!("can't be read: {e}")))?;
    let index: Index = serde_json::from_slice(&text).map_err(|e| fault(format!("is no index of shards: {e}")))?;
    if index.schema != SCHEMA {
        return Err(fault(format!("is of the form '{}', expected {SCHEMA}", index.schema)));
    }
    let mut files: Vec<(String, npz::Arrays)> = Vec::new();
    for shard in index.arrays.iter().flat_map(|array| &array.shards) {
        if !files.iter().any(|file| file.0 == shard.file) {
            let arrays = npz::read_file(&path.with_file_name(file_name(Path::new(&shard.file))));
            files.push((shard.file.clone(), arrays.map_err(Failure::Usage)?));
        }
    }
    let join = |array: &IndexedArray| join(array, &files).map_err(|e| fault(format!("{}: {e}", array.name)));
    index.arrays.iter().map(|array| Ok((array.name.clone(), join(array)?))).collect()
}

/// One array from its shards.
fn join(array: &IndexedArray, files: &[(String, npz::Arrays)]) -> Result<Literal, String> {
    let element = ElementType::from_text(&array.element).ok_or_else(|| format!("'{}' is no type", array.element))?;
    let whole = TensorType::new(&array.shape, element);
    let mut pieces: Vec<(Shape, Literal)> = Vec::new();
    for shard in &array.shards {
        let arrays = files.iter().find(|file| file.0 == shard.file).map(|file| &file.1);
        let found = arrays.and_then(|arrays| arrays.iter().find(|a| a.0 == shard.array));
        let found = found.ok_or_else(|| format!("{} has no '{}'", shard.file, shard.array))?;
        let piece = npz::conform(&found.1, element).filter(|piece| piece.shape[..] == shard.sizes[..]);
        let piece = piece.ok_or_else(|| format!("'{}' of {} isn't what the index says", shard.array, shard.file))?;
        let ends = shard.start.iter().zip(&shard.sizes).map(|(start, size)| start.checked_add(*size));
        let inside = |(end, (size, start)): (Option<i64>, (&i64, &i64))| *start >= 0 && end.is_some_and(|e| e <= *size);
        if shard.start.len() != array.shape.len() || !ends.zip(array.shape.iter().zip(&shard.start)).all(inside) {
            return Err(format!("'{}' of {} is outside of it", shard.array, shard.file));
        }
        let start = Shape::from_slice(&shard.start);
        let kind = match shard.combine.as_deref() {
            None => None,
            Some("add") => Some(ReductionKind::Sum),
            Some("max") => Some(ReductionKind::Max),
            Some("min") => Some(ReductionKind::Min),
            Some(other) => return Err(format!("shards can't be combined by '{other}'")),
        };
        match (kind, pieces.iter_mut().find(|p| p.0 == start)) {
            (Some(kind), Some(other)) => {
                let op = dialect::sharding::reduction_op(kind);
                let values = (0..piece.len()).map(|i| op.apply(element, element, &[other.1.get(i), piece.get(i)]));
                other.1 = Literal::from_scalars(element, &shard.sizes, values);
            }
            _ => pieces.push((start, piece)),
        }
    }
    // They don't overlap where they come from a run, so what is missing shows in their number.
    let (has, wants) = (pieces.iter().map(|p| p.1.len()).sum::<usize>(), whole.elements().unwrap_or(0));
    if has != wants {
        return Err(format!("its shards have {has} of {wants} elements"));
    }
    Ok(Literal::assemble(element, &array.shape, pieces.iter().map(|(start, piece)| (start.clone(), piece))))
}

#[cfg(test)]
mod tests {
    use super::*;
    use dialect::scalar::Scalar;

    fn ints(values: &[i128]) -> Literal {
        Literal::from_scalars(ElementType::I32, &[values.len() as i64], values.iter().map(|&v| Scalar::Int(v)))
    }

    fn shard(array: &str, start: i64, size: i64, combine: Option<&str>) -> IndexedShard {
        let combine = combine.map(str::to_owned);
        IndexedShard { file: "a".into(), array: array.into(), start: vec![start], sizes: vec![size], combine }
    }

    #[test]
    fn shards_make_the_array_again() {
        let files = [("a".to_owned(), vec![("x".to_owned(), ints(&[1, 2])), ("y".to_owned(), ints(&[3, 4]))])];
        let array = |shards: Vec<IndexedShard>, size: i64| {
            join(&IndexedArray { name: "o".into(), element: "i32".into(), shape: vec![size], shards }, &files)
        };
        assert_eq!(array(vec![shard("y", 2, 2, None), shard("x", 0, 2, None)], 4), Ok(ints(&[1, 2, 3, 4])));
        let partial = |op| array(vec![shard("x", 0, 2, Some(op)), shard("y", 0, 2, Some(op))], 2);
        assert_eq!((partial("add"), partial("min")), (Ok(ints(&[4, 6])), Ok(ints(&[1, 2]))));
        for (shards, size, says) in [
            (vec![shard("x", 0, 2, None)], 4, "2 of 4 elements"),
            (vec![shard("x", 3, 2, None)], 4, "outside"),
            (vec![shard("x", 0, 3, None)], 4, "isn't what the index says"),
            (vec![shard("z", 0, 2, None)], 2, "has no 'z'"),
        ] {
            let error = array(shards, size).expect_err(says);
            assert!(error.contains(says), "{error}");
        }
    }

    #[test]
    fn every_rank_has_a_file_of_its_own() {
        assert_eq!(of_rank(Path::new("a/out.npz"), 2), Path::new("a/out.2.npz"));
        assert_eq!(own(Path::new("in.{rank}.npz"), 3), Some(PathBuf::from("in.3.npz")));
        assert_eq!(own(Path::new("in.npz"), 3), None);
    }
}
