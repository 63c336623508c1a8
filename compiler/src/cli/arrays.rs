//! The arrays that a program takes and returns, in archives. Each replica has its own.

use std::path::Path;

use dialect::ir::{Program, TensorType};
use dialect::literal::Literal;
use runtime::npz;

use super::session::Failure;

/// The name of array `i` of a replica: `arg0` for the first replica, `arg0.replica1` for the next.
fn array_name(prefix: &str, i: usize, replica: usize) -> String {
    if replica == 0 { format!("{prefix}{i}") } else { format!("{prefix}{i}.replica{replica}") }
}

/// Reads `prefix0`, `prefix1`, … as tensors of `types` from an archive, for each replica: its own arrays if there are
/// any, else those of the first replica.
pub(crate) fn read(
    program: &Program,
    path: &Path,
    prefix: &str,
    types: &[TensorType],
    replicas: usize,
) -> Result<Vec<Vec<Literal>>, Failure> {
    let arrays = npz::read_file(path).map_err(Failure::Usage)?;
    let mut all: Vec<Vec<Literal>> = Vec::with_capacity(replicas);
    let mut faults = Vec::new();
    for replica in 0..replicas {
        let mut literals = Vec::with_capacity(types.len());
        for (i, ty) in types.iter().enumerate() {
            let name = array_name(prefix, i, replica);
            let wanted = program.type_data_text(&ty.clone().into());
            match arrays.iter().find(|a| a.0 == name) {
                None if replica > 0 => literals.extend(all[0].get(i).cloned()),
                None => faults.push(format!("'{name}' is missing, which is {wanted}")),
                Some((_, array)) => match fit(array, ty) {
                    Some(literal) => literals.push(literal),
                    None => {
                        let found = program.type_data_text(&array.ty().into());
                        faults.push(format!("'{name}' is {found}, expected {wanted}"));
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
    Err(Failure::Usage(format!("{}: {}\nit holds {has}", path.display(), faults.join("; "))))
}

/// `array` as a tensor of type `ty`: the same elements, or wider ones of the same kind that JAX would have narrowed.
/// `None` if an integer doesn't fit.
fn fit(array: &Literal, ty: &TensorType) -> Option<Literal> {
    if array.shape != ty.shape {
        return None;
    }
    let (from, to) = (array.element, ty.element);
    if from.class() != to.class() || from.bits() <= to.bits() {
        return npz::conform(array, to);
    }
    let narrowed = Literal::from_fn(ty, |i| array.get(i).round(to));
    let fits = to.is_float() || to.is_complex() || (0..array.len()).all(|i| array.get(i) == narrowed.get(i));
    fits.then_some(narrowed)
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
    use dialect::scalar::Scalar;

    #[test]
    fn wider_arrays_are_narrowed_when_they_fit() {
        let ints = |e, v: [i128; 2]| Literal::from_scalars(e, &[2], v.map(Scalar::Int));
        let narrow = |a: &Literal, e| fit(a, &TensorType::new(&[2], e));
        let (i64s, i32s) = (ints(ElementType::I64, [3, -7]), ints(ElementType::I32, [3, -7]));
        assert_eq!(narrow(&i64s, ElementType::I32), Some(i32s.clone()));
        assert_eq!(narrow(&ints(ElementType::I64, [1 << 40, 0]), ElementType::I32), None);
        assert_eq!(narrow(&i32s, ElementType::I64), None);
        assert_eq!(narrow(&i64s, ElementType::UI32), None);
        assert_eq!(narrow(&i64s, ElementType::F32), None);
        let wide = Literal::from_scalars(ElementType::F64, &[2], [Scalar::Float(0.1), Scalar::Float(2.0)]);
        assert_eq!(narrow(&wide, ElementType::F32).map(|l| l.get(0)), Some(Scalar::Float(f64::from(0.1f32))));
    }
}
