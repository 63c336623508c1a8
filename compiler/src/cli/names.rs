//! Matching of an archive's arrays with arguments or results: by the names that shardc gives, by names in the program,
//! or by order.

use dialect::ir::{Program, TensorType, Value};
use dialect::ops::func;

use super::arrays::{array_name, could_be};
use crate::jax_name;
use runtime::npz::Arrays;

/// The array of each argument or result of the first replica.
pub(crate) struct Names {
    /// Their names in the archive, in the order of the program.
    pub(crate) names: Vec<String>,
    /// A note on how they were matched, if it wasn't by `arg0` or `arr_0`.
    pub(crate) note: Option<String>,
}

/// The prefix of NumPy's names for arrays that were saved without names.
const POSITIONAL: &str = "arr_";

/// The maximum number of names that a message lists.
const SHOWN: usize = 12;

/// Finds the arrays of the arguments (prefix `arg`) or results (prefix `out`). The caller checks arrays with such
/// names.
pub(crate) fn find(program: &Program, arrays: &Arrays, prefix: &str, types: &[TensorType]) -> Result<Names, String> {
    let is_called = |name: &str, prefix: &str| name.strip_prefix(prefix).is_some_and(|n| n.parse::<usize>().is_ok());
    for prefix in [prefix, POSITIONAL] {
        if types.is_empty() || arrays.iter().any(|a| is_called(&a.0, prefix)) {
            let names = (0..types.len()).map(|i| array_name(prefix, i, 0)).collect();
            return Ok(Names { names, note: None });
        }
    }
    let written = if prefix == "arg" { argument_names(program) } else { Vec::new() };
    if let Some(names) = by_name(arrays, &written, types.len()) {
        return Ok(Names {
            names,
            note: Some("arrays are matched to arguments by the names of the program".to_owned()),
        });
    }
    if arrays.len() == types.len() && types.iter().zip(arrays).all(|(ty, (_, array))| could_be(array, ty)) {
        let names: Vec<String> = arrays.iter().map(|a| a.0.clone()).collect();
        let pair = |(i, name): (usize, &String)| format!("{prefix}{i} is '{name}'");
        let pairs = listed(names.iter().enumerate().map(pair));
        let note = format!("no array is called {prefix}0: arrays are taken in the order of the archive, {pairs}");
        return Ok(Names { names, note: Some(note) });
    }
    let text = |ty: &TensorType| program.type_data_text(&ty.clone().into());
    let expected = types.iter().enumerate().map(|(i, ty)| {
        let own = written.get(i).map_or(String::new(), |name| format!(" or {name}"));
        format!("{prefix}{i}{own}: {}", text(ty))
    });
    let there = arrays.iter().map(|(name, array)| format!("{name}: {}", text(&array.ty())));
    let there = if arrays.is_empty() { "nothing".to_owned() } else { listed(there) };
    Err(format!(
        "its arrays are neither called {prefix}0, {prefix}1, … nor do they match in their order; expected {}\nthe \
        archive has {there}",
        listed(expected)
    ))
}

/// Joins the first items of a list with commas, and states how many more there are.
fn listed(items: impl ExactSizeIterator<Item = String>) -> String {
    let more = items.len().saturating_sub(SHOWN);
    let shown: Vec<String> = items.take(SHOWN).collect();
    let more = if more > 0 { format!(", and {more} more") } else { String::new() };
    shown.join(", ") + &more
}

/// Returns the names that JAX gave the arguments; empty unless all have one.
fn argument_names(program: &Program) -> Vec<String> {
    let main = func::function(program, "main").and_then(|main| func::block(program, main));
    let arguments = main.map_or(&[][..], |block| program.block_args(block));
    let name = |&value: &Value| jax_name(program, value).map(|name| name.into_owned());
    arguments.iter().map(name).collect::<Option<_>>().unwrap_or_default()
}

/// Returns the array of each name: the one with exactly this name, or with the same name up to punctuation, `params.w`
/// for `params['w']`, or the only one that matches the end of the name, `w`.
fn by_name(arrays: &Arrays, written: &[String], count: usize) -> Option<Vec<String>> {
    if written.len() != count {
        return None;
    }
    let parts: Vec<Vec<String>> = arrays.iter().map(|a| words(&a.0)).collect();
    let mut taken = vec![false; arrays.len()];
    let mut names = Vec::with_capacity(count);
    for name in written {
        let wanted = words(name);
        let exact = arrays.iter().position(|a| a.0 == *name);
        let alike = || parts.iter().position(|p| !p.is_empty() && *p == wanted);
        let mut ends = parts.iter().enumerate().filter(|(_, p)| !p.is_empty() && wanted.ends_with(p));
        let end = ends.next().filter(|_| ends.next().is_none()).map(|(i, _)| i);
        let at = exact.or_else(alike).or(end).filter(|&i| !taken[i])?;
        taken[at] = true;
        names.push(arrays[at].0.clone());
    }
    Some(names)
}

/// Returns the words of a name, without punctuation.
fn words(name: &str) -> Vec<String> {
    let parts = name.split(|c: char| !c.is_alphanumeric() && c != '_');
    parts.filter(|part| !part.is_empty()).map(str::to_owned).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use dialect::ir::ElementType;
    use dialect::literal::Literal;
    use dialect::scalar::Scalar;

    fn arrays(names: &[&str]) -> Arrays {
        let array =
            |name: &&str| (name.to_string(), Literal::from_scalars(ElementType::F32, &[1], [Scalar::Float(0.0)]));
        names.iter().map(array).collect()
    }

    #[test]
    fn arrays_are_matched_by_names_that_differ_in_punctuation() {
        let written = ["params['w']".to_owned(), "params['b']".to_owned(), "x".to_owned()];
        let check = |names: &[&str]| by_name(&arrays(names), &written, 3);
        assert_eq!(
            check(&["x", "params['b']", "params['w']"]),
            Some(vec!["params['w']".into(), "params['b']".into(), "x".into()])
        );
        assert_eq!(check(&["params.w", "params/b", "x"]), Some(vec!["params.w".into(), "params/b".into(), "x".into()]));
        assert_eq!(check(&["w", "b", "x"]), Some(vec!["w".into(), "b".into(), "x".into()]));
        // One array for two arguments, a missing array, and a name that matches two arrays.
        assert_eq!(check(&["params", "b", "x"]), None);
        assert_eq!(check(&["w", "x"]), None);
        assert_eq!(by_name(&arrays(&["w", "['w']"]), &["params['w']".to_owned()], 1), None);
    }
}
