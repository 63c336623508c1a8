//! Archives of the arrays that a program takes and returns. Each replica has its own arrays.

use std::path::Path;

use dialect::ir::{Program, TensorType, TypeData};
use dialect::literal::Literal;
use dialect::scalar::Scalar;
use runtime::npz;

use super::names::{self, Names};
use super::session::{Failure, Session};

/// Returns the name of array `i` of a replica: `arg0` for the first replica, `arg0.replica1` for the next.
pub(crate) fn array_name(prefix: &str, i: usize, replica: usize) -> String {
    if replica == 0 { format!("{prefix}{i}") } else { format!("{prefix}{i}.replica{replica}") }
}

/// Reads the tensors of `types` from an archive for each replica: the replica's own arrays, or else those of the first
/// replica. The arrays are called `prefix0`, `prefix1`, …; if no array has such a name, a note states which arrays were
/// used.
pub(crate) fn read(
    session: &mut Session<'_>,
    program: &Program,
    path: &Path,
    prefix: &str,
    types: &[TensorType],
    replicas: usize,
) -> Result<Vec<Vec<Literal>>, Failure> {
    let arrays = npz::read_file(path).map_err(Failure::Usage)?;
    read_arrays(session, program, (path, arrays, prefix), |_| types.to_vec(), replicas)
}

/// Like [`read`], but maps the archive into memory, because only parts are needed. The types may differ between
/// replicas.
pub(crate) fn map(
    session: &mut Session<'_>,
    program: &Program,
    path: &Path,
    types: impl Fn(usize) -> Vec<TensorType>,
    replicas: usize,
) -> Result<Vec<Vec<Literal>>, Failure> {
    let arrays = npz::map_file(path).map_err(Failure::Usage)?;
    read_arrays(session, program, (path, arrays, "arg"), types, replicas)
}

fn read_arrays(
    session: &mut Session<'_>,
    program: &Program,
    (path, arrays, prefix): (&Path, npz::Arrays, &str),
    types_of: impl Fn(usize) -> Vec<TensorType>,
    replicas: usize,
) -> Result<Vec<Vec<Literal>>, Failure> {
    let types = types_of(0);
    let of_results = prefix == "out";
    let found = names::find(program, &arrays, prefix, &types);
    let Names { names, note } = found.map_err(|e| Failure::Usage(format!("{}: {e}", path.display())))?;
    if let Some(note) = note {
        session.say(&format!("note: {}: {note}\n", path.display()))?;
    }
    let mut all: Vec<Vec<Literal>> = Vec::with_capacity(replicas);
    let mut faults = Vec::new();
    let prefix = if names.first().is_some_and(|name| name.starts_with("arr_")) { "arr_" } else { prefix };
    let more =
        |name: &str| name.strip_prefix(prefix).and_then(|n| n.parse::<usize>().ok()).is_some_and(|n| n >= types.len());
    if let Some((name, _)) = arrays.iter().find(|a| more(&a.0)) {
        let (what, s) = (if of_results { "results" } else { "arguments" }, types.len());
        faults.push(format!("'{name}' is superfluous: the program has {s} {what}"));
    }
    for replica in 0..replicas {
        let types = types_of(replica);
        let mut literals = Vec::with_capacity(types.len());
        for (i, ty) in types.iter().enumerate() {
            let name = if replica == 0 { names[i].clone() } else { format!("{}.replica{replica}", names[i]) };
            let wanted = program.type_data_text(&ty.clone().into());
            match arrays.iter().find(|a| a.0 == name) {
                None if replica > 0 => literals.extend(all[0].get(i).cloned()),
                // A tensor without elements (such as a token) has only one possible value, so it may be missing.
                None if ty.shape.contains(&0) => literals.push(Literal::splat(ty.element, &ty.shape, Scalar::Int(0))),
                None => faults.push(format!("'{name}' of type {wanted} is missing")),
                Some((_, array)) => match fit(array, ty) {
                    Ok(literal) => literals.push(literal),
                    Err(Misfit::Type) => {
                        let found = program.type_data_text(&array.ty().into());
                        faults.push(format!("'{name}' is {found}, expected {wanted}"));
                    }
                    Err(Misfit::Value(value)) => {
                        let element = program.type_data_text(&TypeData::Scalar(ty.element));
                        faults.push(format!("'{name}' has the value {value:?}, which {element} can't represent"));
                    }
                },
            }
        }
        all.push(literals);
    }
    if faults.is_empty() {
        return Ok(all);
    }
    let mut known: Vec<&str> = arrays.iter().map(|a| a.0.as_str()).collect();
    known.truncate(12);
    let has = if known.is_empty() { "nothing".to_owned() } else { known.join(", ") };
    Err(Failure::Usage(format!("{}: {}\nthe archive has {has}", path.display(), faults.join("; "))))
}

/// The reason why an array doesn't fit a tensor type.
#[derive(Clone, PartialEq, Debug)]
enum Misfit {
    /// The shape or the kind of elements differs.
    Type,
    /// This element is out of the type's range.
    Value(Scalar),
}

/// Returns whether an array has the shape and the kind of elements of a tensor.
pub(crate) fn could_be(array: &Literal, ty: &TensorType) -> bool {
    let none = |element| TensorType::new(&[0], element);
    let empty = Literal::from_fn(&none(array.element), |_| Scalar::zero(array.element));
    array.shape == ty.shape && fit(&empty, &none(ty.element)).is_ok()
}

/// Converts `array` to a tensor of type `ty`. The elements may have the same type, or a wider type of the same kind
/// that JAX would have narrowed.
fn fit(array: &Literal, ty: &TensorType) -> Result<Literal, Misfit> {
    if array.shape != ty.shape {
        return Err(Misfit::Type);
    }
    let (from, to) = (array.element, ty.element);
    if from.class() != to.class() || from.bits() <= to.bits() {
        return npz::conform(array, to).ok_or(Misfit::Type);
    }
    let fits = |value: Scalar| match (value, value.round(to)) {
        (Scalar::Float(a), Scalar::Float(b)) => a.is_finite() == b.is_finite(),
        (Scalar::Complex(a, b), Scalar::Complex(c, d)) => {
            a.is_finite() == c.is_finite() && b.is_finite() == d.is_finite()
        }
        (value, narrow) => value == narrow,
    };
    match (0..array.len()).map(|i| array.get(i)).find(|&value| !fits(value)) {
        Some(value) => Err(Misfit::Value(value)),
        None => Ok(Literal::from_fn(ty, |i| array.get(i).round(to))),
    }
}

/// Writes `prefix0`, `prefix1`, … for each replica to an archive.
pub(crate) fn write(path: &Path, prefix: &str, replicas: &[Vec<Literal>]) -> Result<(), Failure> {
    let of = |(r, literals): (usize, &Vec<Literal>)| -> Vec<(String, Literal)> {
        literals.iter().enumerate().map(|(i, l)| (array_name(prefix, i, r), l.clone())).collect()
    };
    let arrays: Vec<(String, Literal)> = replicas.iter().enumerate().flat_map(of).collect();
    npz::write_file(path, &arrays).map_err(Failure::System)
}

#[cfg(test)]
mod tests {
    use super::*;
    use dialect::ir::ElementType;

    #[test]
    fn wider_arrays_are_narrowed_when_they_fit() {
        let ints = |e, v: [i128; 2]| Literal::from_scalars(e, &[2], v.map(Scalar::Int));
        let narrow = |a: &Literal, e| fit(a, &TensorType::new(&[2], e));
        let (i64s, i32s) = (ints(ElementType::I64, [3, -7]), ints(ElementType::I32, [3, -7]));
        assert_eq!(narrow(&i64s, ElementType::I32), Ok(i32s.clone()));
        assert_eq!(
            narrow(&ints(ElementType::I64, [1 << 40, 0]), ElementType::I32),
            Err(Misfit::Value(Scalar::Int(1 << 40)))
        );
        assert_eq!(narrow(&i32s, ElementType::I64), Err(Misfit::Type));
        assert_eq!(narrow(&i64s, ElementType::UI32), Err(Misfit::Type));
        assert_eq!(narrow(&i64s, ElementType::F32), Err(Misfit::Type));
        let wide = Literal::from_scalars(ElementType::F64, &[2], [Scalar::Float(0.1), Scalar::Float(2.0)]);
        assert_eq!(narrow(&wide, ElementType::F32).map(|l| l.get(0)), Ok(Scalar::Float(f64::from(0.1f32))));
        let huge = Literal::from_scalars(ElementType::F64, &[2], [Scalar::Float(1e300), Scalar::Float(f64::INFINITY)]);
        assert_eq!(narrow(&huge, ElementType::F32), Err(Misfit::Value(Scalar::Float(1e300))));
    }
}
