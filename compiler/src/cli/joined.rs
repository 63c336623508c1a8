//! Merging the shards of an index. The files aren't trusted, because anyone with access to them may have changed them.
//! Therefore names must be plain names, and the shards of an array must cover each element once.

use std::collections::{HashMap, HashSet};
use std::path::Path;

use dialect::ir::{ElementType, Shape, TensorType};
use dialect::literal::Literal;
use dialect::sharding::ReductionKind;
use runtime::files::is_plain_name;
use runtime::limits::available_memory;
use runtime::npz;

use super::session::Failure;
use super::shards::{Index, IndexedArray, IndexedShard, SCHEMA};

/// The files of an index by name, each with its arrays by name.
type Files = HashMap<String, HashMap<String, Literal>>;

/// Reads the global arrays of an index.
pub(crate) fn read(path: &Path) -> Result<Vec<(String, Literal)>, Failure> {
    let fault = |message: String| Failure::Usage(format!("{}: {message}", path.display()));
    let text = super::session::read_file(path).map_err(|e| fault(format!("can't be read: {e}")))?;
    let index: Index = serde_json::from_slice(&text).map_err(|e| fault(format!("is not an index of shards: {e}")))?;
    if index.schema != SCHEMA {
        return Err(fault(format!("has the schema '{}', expected {SCHEMA}", index.schema)));
    }
    check_names(&index).map_err(fault)?;
    for array in &index.arrays {
        check_places(array).map_err(|e| fault(format!("{}: {e}", array.name)))?;
    }
    check_size(&index).map_err(fault)?;
    let mut files = Files::new();
    for shard in index.arrays.iter().flat_map(|array| &array.shards) {
        if !files.contains_key(&shard.file) {
            let file = path.with_file_name(&shard.file);
            if !std::fs::metadata(&file).is_ok_and(|about| about.is_file()) {
                return Err(fault(format!(
                    "{}, which the index names, is not a file in the folder of the index",
                    shard.file
                )));
            }
            let arrays = npz::read_file(&file).map_err(Failure::Usage)?;
            files.insert(shard.file.clone(), arrays.into_iter().collect());
        }
    }
    let join = |array: &IndexedArray| join(array, &files).map_err(|e| fault(format!("{}: {e}", array.name)));
    index.arrays.iter().map(|array| Ok((array.name.clone(), join(array)?))).collect()
}

/// Checks names, because they are used in archives and folders: they must not point outside of them.
fn check_names(index: &Index) -> Result<(), String> {
    let mut names = HashSet::new();
    for array in &index.arrays {
        if !is_plain_name(&array.name) {
            return Err(format!("{:?} is not a valid name of an array: it may lead out of a folder", array.name));
        }
        if !names.insert(&array.name) {
            return Err(format!("two arrays are called '{}'", array.name));
        }
        if let Some(shard) = array.shards.iter().find(|shard| !is_plain_name(&shard.file)) {
            return Err(format!("{:?} is not a file in the folder of the index", shard.file));
        }
    }
    Ok(())
}

fn type_of(array: &IndexedArray) -> Result<TensorType, String> {
    let element = ElementType::from_text(&array.element).ok_or_else(|| format!("'{}' is not a type", array.element))?;
    let bytes = array.shape.iter().try_fold(element.bytes() as i64, |bytes, &size| bytes.checked_mul(size));
    if array.shape.iter().any(|&size| size < 0) || bytes.is_none() {
        return Err(format!("an array can't have the shape {:?}", array.shape));
    }
    Ok(TensorType::new(&array.shape, element))
}

/// Checks that the shards are inside the array and have enough elements to cover it.
fn check_places(array: &IndexedArray) -> Result<(), String> {
    let whole = type_of(array)?;
    for shard in &array.shards {
        let ranks = shard.start.len() == array.shape.len() && shard.sizes.len() == array.shape.len();
        let mut dims = shard.start.iter().zip(&shard.sizes).zip(&array.shape);
        let inside = |((&start, &size), &of): ((&i64, &i64), &i64)| {
            start >= 0 && size >= 0 && start.checked_add(size).is_some_and(|end| end <= of)
        };
        if !ranks || !dims.all(inside) {
            return Err(format!("'{}' of {} is outside of it", shard.array, shard.file));
        }
    }
    let has: u128 = places(array)?.iter().map(|shard| volume(&shard.sizes)).sum();
    let elements = whole.elements().unwrap_or(0) as u128;
    if has < elements {
        return Err(format!("its shards have {has} of {elements} elements"));
    }
    Ok(())
}

fn volume(sizes: &[i64]) -> u128 {
    sizes.iter().map(|&size| size as u128).product()
}

/// Returns the first shard at each place. Further shards there must be partial results to combine with it.
fn places(array: &IndexedArray) -> Result<Vec<&IndexedShard>, String> {
    let mut first: HashMap<&[i64], &IndexedShard> = HashMap::new();
    let mut places = Vec::new();
    for shard in array.shards.iter().filter(|shard| volume(&shard.sizes) > 0) {
        let Some(other) = first.insert(&shard.start, shard) else {
            places.push(shard);
            continue;
        };
        if kind(shard)?.is_none() || shard.combine != other.combine || shard.sizes != other.sizes {
            return Err(overlap(shard, other));
        }
    }
    Ok(places)
}

fn overlap(one: &IndexedShard, other: &IndexedShard) -> String {
    format!("'{}' of {} overlaps '{}' of {}", one.array, one.file, other.array, other.file)
}

fn kind(shard: &IndexedShard) -> Result<Option<ReductionKind>, String> {
    match shard.combine.as_deref() {
        None => Ok(None),
        Some("add") => Ok(Some(ReductionKind::Sum)),
        Some("max") => Ok(Some(ReductionKind::Max)),
        Some("min") => Ok(Some(ReductionKind::Min)),
        Some(other) => Err(format!("the shards can't be combined with '{other}'")),
    }
}

/// Checks that the arrays fit into memory, before any is allocated.
fn check_size(index: &Index) -> Result<(), String> {
    let bytes = |array: &IndexedArray| type_of(array).ok().and_then(|ty| ty.bytes()).unwrap_or(usize::MAX) as u64;
    let wanted = index.arrays.iter().map(bytes).fold(0, u64::saturating_add);
    match available_memory() {
        Some(there) if there.bytes < wanted => {
            let [wanted, bytes] = [wanted, there.bytes].map(|bytes| crate::units::bytes(bytes as f64));
            Err(format!("its arrays take {wanted}, but {bytes} of memory are available{there}"))
        }
        _ => Ok(()),
    }
}

/// Assembles one array from its shards.
fn join(array: &IndexedArray, files: &Files) -> Result<Literal, String> {
    let whole = type_of(array)?;
    check_cover(array, &whole)?;
    let element = whole.element;
    let mut pieces: Vec<(Shape, Literal)> = Vec::new();
    let mut places: HashMap<&[i64], usize> = HashMap::new();
    for shard in &array.shards {
        let found = files.get(&shard.file).and_then(|arrays| arrays.get(&shard.array));
        let found = found.ok_or_else(|| format!("{} has no '{}'", shard.file, shard.array))?;
        let piece = npz::conform(found, element).filter(|piece| piece.shape[..] == shard.sizes[..]);
        let piece = piece.ok_or_else(|| format!("'{}' of {} differs from the index", shard.array, shard.file))?;
        if piece.is_empty() {
            continue;
        }
        match (kind(shard)?, places.get(&shard.start[..])) {
            (Some(kind), Some(&at)) => {
                let (op, other) = (dialect::sharding::reduction_op(kind), &mut pieces[at].1);
                let values = (0..piece.len()).map(|i| op.apply(element, element, &[other.get(i), piece.get(i)]));
                *other = Literal::from_scalars(element, &shard.sizes, values);
            }
            _ => {
                places.insert(&shard.start, pieces.len());
                pieces.push((Shape::from_slice(&shard.start), piece));
            }
        }
    }
    Ok(Literal::assemble(element, &array.shape, pieces.iter().map(|(start, piece)| (start.clone(), piece))))
}

/// Checks that the shards cover every element once, by marking each element.
fn check_cover(array: &IndexedArray, whole: &TensorType) -> Result<(), String> {
    let elements = whole.elements().unwrap_or(0);
    let mut marked = vec![0u64; elements.div_ceil(64)];
    let places = places(array)?;
    for shard in &places {
        for row in rows(&shard.start, &shard.sizes, &array.shape) {
            for at in row {
                let (word, bit) = (&mut marked[at / 64], 1 << (at % 64));
                if *word & bit != 0 {
                    let other = places.iter().find(|other| other.start != shard.start && meet(other, shard));
                    return Err(other.map_or_else(String::new, |other| overlap(shard, other)));
                }
                *word |= bit;
            }
        }
    }
    let has: usize = marked.iter().map(|word| word.count_ones() as usize).sum();
    if has == elements { Ok(()) } else { Err(format!("its shards have {has} of {elements} elements")) }
}

fn meet(one: &IndexedShard, other: &IndexedShard) -> bool {
    let dims = one.start.iter().zip(&one.sizes).zip(other.start.iter().zip(&other.sizes));
    dims.into_iter().all(|((a, n), (b, m))| a < &(b + m) && b < &(a + n))
}

/// Returns the row-major positions of a shard in a shape, row by row.
fn rows<'a>(start: &'a [i64], sizes: &'a [i64], shape: &'a [i64]) -> impl Iterator<Item = std::ops::Range<usize>> + 'a {
    let length = sizes.last().map_or(1, |&size| size as usize);
    let outer = &sizes[..sizes.len().saturating_sub(1)];
    let count: usize = outer.iter().map(|&size| size as usize).product();
    (0..count).map(move |mut row| {
        let mut index: Vec<i64> = start.to_vec();
        for (dim, &size) in outer.iter().enumerate().rev() {
            index[dim] += (row % size as usize) as i64;
            row /= size as usize;
        }
        let first = shape.iter().zip(&index).fold(0, |at, (&size, &i)| at * size as usize + i as usize);
        first..first + length
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use dialect::scalar::Scalar;

    fn ints(values: &[i128]) -> Literal {
        Literal::from_scalars(ElementType::I32, &[values.len() as i64], values.iter().map(|&v| Scalar::Int(v)))
    }

    fn shard(array: &str, start: &[i64], sizes: &[i64], combine: Option<&str>) -> IndexedShard {
        let (combine, file) = (combine.map(str::to_owned), "a".to_owned());
        IndexedShard { file, array: array.into(), start: start.to_vec(), sizes: sizes.to_vec(), combine }
    }

    fn joined(shards: Vec<IndexedShard>, shape: &[i64]) -> Result<Literal, String> {
        let arrays = [("x".to_owned(), ints(&[1, 2])), ("y".to_owned(), ints(&[3, 4])), ("e".to_owned(), ints(&[]))];
        let files = [("a".to_owned(), arrays.into_iter().collect())].into_iter().collect();
        let array = IndexedArray { name: "o".into(), element: "i32".into(), shape: shape.to_vec(), shards };
        check_places(&array).and_then(|()| join(&array, &files))
    }

    #[test]
    fn shards_make_the_array_again() {
        let at = |array: &str, start: i64| shard(array, &[start], &[2], None);
        assert_eq!(joined(vec![at("y", 2), at("x", 0)], &[4]), Ok(ints(&[1, 2, 3, 4])));
        let empty = shard("e", &[1], &[0], None);
        assert_eq!(joined(vec![at("y", 2), empty, at("x", 0)], &[4]), Ok(ints(&[1, 2, 3, 4])));
        let partial = |op| joined(["x", "y"].map(|a| shard(a, &[0], &[2], Some(op))).into(), &[2]);
        assert_eq!((partial("add"), partial("min")), (Ok(ints(&[4, 6])), Ok(ints(&[1, 2]))));
    }

    #[test]
    fn shards_that_do_not_cover_the_array_are_refused() {
        let at = |array: &str, start: i64| shard(array, &[start], &[2], None);
        for (shards, size, says) in [
            (vec![at("x", 0)], 4, "2 of 4 elements"),
            (vec![], 4, "0 of 4 elements"),
            (vec![at("x", 3)], 4, "outside"),
            (vec![at("x", -1)], 4, "outside"),
            (vec![at("x", i64::MAX)], 4, "outside"),
            (vec![shard("x", &[0], &[-2], None)], 4, "outside"),
            (vec![shard("x", &[0, 0], &[2, 1], None)], 4, "outside"),
            (vec![shard("x", &[0], &[3], None), at("y", 2)], 4, "overlaps"),
            (vec![shard("x", &[0], &[4], None)], 4, "differs from the index"),
            (vec![at("z", 0)], 2, "has no 'z'"),
            // The right number of elements, but with holes.
            (vec![at("x", 0), at("y", 1), at("x", 2)], 6, "overlaps"),
            (vec![at("x", 2), at("y", 2)], 4, "overlaps"),
            (vec![shard("x", &[0], &[2], Some("add")), shard("y", &[0], &[1], Some("add"))], 2, "overlaps"),
            (vec![shard("x", &[0], &[2], Some("add")), shard("y", &[0], &[2], Some("max"))], 2, "overlaps"),
            (vec![shard("x", &[0], &[2], Some("or")), shard("y", &[0], &[2], Some("or"))], 2, "combined with 'or'"),
        ] {
            let error = joined(shards, &[size]).expect_err(says);
            assert!(error.contains(says), "{error}: expected {says}");
        }
        for shape in [&[-1][..], &[i64::MAX, i64::MAX], &[1 << 62, 2]] {
            assert!(joined(vec![], shape).is_err_and(|e| e.contains("an array can't have the shape")), "{shape:?}");
        }
    }

    #[test]
    fn rows_of_a_shard_are_at_its_offsets() {
        let found: Vec<_> = rows(&[1, 0, 2], &[1, 2, 2], &[3, 2, 5]).collect();
        assert_eq!(found, [12..14, 17..19]);
        assert_eq!(rows(&[], &[], &[]).collect::<Vec<_>>(), [0..1]);
    }
}
