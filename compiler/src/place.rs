//! Source locations of ops and names of values, for people: lines and names of the user's own program, if JAX recorded
//! them.

use std::borrow::Cow;

use dialect::collective::{AxisGroups, Groups};
use dialect::diagnostic::Span;
use dialect::ir::{Frame, Loc, LocData, Op, Program, Value, ValueSource};
use dialect::sharding::axis::set_of;
use dialect::sharding::{AxisPart, Mesh, digit, index};

use crate::module::main_block;
use crate::source::Source;

/// `model.py:12:5`, else `model.mlir:4:10`. An op made by the compiler gets the location of its first operand's op.
pub(crate) fn place(program: &Program, source: &Source, op: Op) -> Option<String> {
    let argument = |value| place_of(program, source, program.value_loc(value), program.value_span(value));
    place_or(program, source, op, argument)
}

/// Like [`place`], but an op that the compiler derived from an argument of `@main` gets the argument's name: `%arg0
/// ("params['up']")`.
pub(crate) fn place_or_argument(program: &Program, source: &Source, op: Op) -> Option<String> {
    let main = main_block(program);
    let arguments = main.map_or(&[][..], |block| program.block_args(block));
    place_or(program, source, op, |value| match arguments.contains(&value) {
        true => Some(value_name(program, value)),
        false => place_of(program, source, program.value_loc(value), program.value_span(value)),
    })
}

fn place_or(program: &Program, source: &Source, op: Op, argument: impl Fn(Value) -> Option<String>) -> Option<String> {
    let mut data = program.op(op);
    // Chains of compiler-made ops are short; the bound guards against cycles.
    for _ in 0..64 {
        if let Some(place) = place_of(program, source, data.loc, data.span) {
            return Some(place);
        }
        let Some(&first) = data.operands.first() else { break };
        match program.value_source(first) {
            ValueSource::Result(op, _) => data = program.op(op),
            ValueSource::Arg(..) => return argument(first),
        }
    }
    // Fall back to the line of the text from which the compiler created the op.
    program.user_frame(program.op(op).loc).map(written)
}

fn written(frame: Frame<'_>) -> String {
    format!("{}:{}:{}", frame.file, frame.line, frame.column)
}

/// Returns the line that a location or a span names. Lines of the text itself come from spans, because compiler-made
/// ops copy the locations of the text.
pub(crate) fn place_of(program: &Program, source: &Source, loc: Loc, span: Span) -> Option<String> {
    if let Some(frame) = program.user_frame(loc).filter(|frame| !frame.of_text) {
        return Some(written(frame));
    }
    source.contains(span).then(|| {
        let (line, column) = source.position(span.start as usize);
        format!("{}:{line}:{column}", source.name)
    })
}

/// Replaces every number in the text by `#`, so that names in equal layers are equal: `params['layers'][#]['up']`.
pub fn layer_pattern(text: &str) -> String {
    let mut pattern = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '0'..='9' if pattern.ends_with('#') => {}
            '0'..='9' => pattern.push('#'),
            _ => pattern.push(c),
        }
    }
    pattern
}

/// Returns a value's name in JAX: `params['up']`.
pub fn jax_name(program: &Program, value: Value) -> Option<Cow<'_, str>> {
    match &*program.loc_data(program.value_loc(value)) {
        LocData::Name(name, child) if matches!(*program.loc_data(*child), LocData::Unknown) => {
            Some(program.loc_string(*name).shown())
        }
        _ => None,
    }
}

/// Returns a value's name: from the text, with JAX's name, or else from its op: `%arg0 ("params['up']")`.
pub fn value_name(program: &Program, value: Value) -> String {
    let jax = jax_name(program, value);
    let text = written_name(program, value);
    match (text, jax, program.value_source(value)) {
        (Some(text), Some(jax), _) if text != jax => format!("{text} (\"{jax}\")"),
        (Some(text), ..) => text,
        (None, Some(jax), _) => format!("\"{jax}\""),
        (None, None, ValueSource::Result(op, _)) => format!("the result of {}", program.op_name(op)),
        (None, None, ValueSource::Arg(_, i)) => format!("argument {i}"),
    }
}

/// Returns the `values` that a user calls `name`: `params['up']` as in JAX, `%12` or `%0#1` as in the text, or the
/// latter without `%`. The values of a function that was inlined several times occur several times.
pub fn values_called(program: &Program, values: &[Value], name: &str) -> Vec<Value> {
    let name = name.trim();
    let plain = name.trim_matches('"');
    let shown = |v: Value| jax_name(program, v).as_deref() == Some(plain) || value_name(program, v) == name;
    let (text, result) = match name.split_once('#') {
        Some((text, i)) => (text, i.parse::<u32>().ok()),
        None => (name, None),
    };
    let in_text = |v: Value, written: &dyn Fn(&str) -> bool| {
        let at = match program.value_source(v) {
            ValueSource::Result(_, i) => i,
            ValueSource::Arg(..) => 0,
        };
        result.is_none_or(|r| r == at) && written_name(program, v).is_some_and(|own| written(&own))
    };
    let as_written = |v: Value| in_text(v, &|own| own == text);
    let without_percent = |v: Value| in_text(v, &|own| own.strip_prefix('%') == Some(text));
    let ways: [&dyn Fn(Value) -> bool; 3] = [&shown, &as_written, &without_percent];
    let found = ways.iter().map(|way| values.iter().copied().filter(|&v| way(v)).collect::<Vec<_>>());
    { found }.find(|found| !found.is_empty()).unwrap_or_default()
}

/// Returns a hint for a user who named a value that isn't among `values`.
pub fn near_values(program: &Program, values: &[Value], name: &str) -> String {
    let jax = values.iter().filter_map(|&v| jax_name(program, v).map(Cow::into_owned));
    let names: Vec<String> = values.iter().filter_map(|&v| written_name(program, v)).chain(jax).collect();
    let word = name.trim_matches(['%', '"']);
    let has_word = |n: &&str| n.split(|c: char| !c.is_alphanumeric() && c != '_').any(|part| part == word);
    let names = || names.iter().map(String::as_str);
    let near = names().find(has_word).or_else(|| dialect::text::nearest(name, names()));
    near.map_or_else(
        || "values are written as in the text: %12, %arg0, %0#1, or as in JAX: params['w']".to_owned(),
        |n| format!("did you mean {n}?"),
    )
}

/// Returns a value's name in the source text.
pub fn written_name(program: &Program, value: Value) -> Option<String> {
    let span = program.value_span(value);
    let text = program.source.as_ref()?.get(span.start as usize..span.end as usize)?;
    // `%0:2` names two results.
    let name = text.split([':', '#']).next()?;
    name.starts_with('%').then(|| name.to_owned())
}

/// Returns the axes of `mesh` along which the devices of `groups` differ, in the syntax of a sharding: `"x"`,
/// `"y":(1)2`. For a permute, whose groups are pairs, returns every axis along which data moves. Groups given as axes
/// name their axes; groups given as lists are analyzed.
pub(crate) fn axes_of_groups(program: &Program, mesh: &Mesh, groups: &Groups, permute: bool) -> Vec<String> {
    if let Some(axes) = groups.axes() {
        return named(axes);
    }
    let positions = mesh.positions();
    // With several replicas, each has its own copy of the mesh.
    let at = |device: i64| positions.get(device.rem_euclid(mesh.devices().max(1)) as usize).copied().unwrap_or(0);
    let looked_at = if permute { groups.count() } else { groups.count().min(1) };
    let mut names = Vec::new();
    for (axis, &(name, size)) in mesh.axes.iter().enumerate() {
        let coordinate = [digit(mesh, AxisPart::whole(axis as u32, size as u32))];
        let mut seen: Vec<i64> = Vec::new();
        let mut moves = false;
        for group in groups.iter().take(looked_at) {
            let coordinates = group.map(|device| index(&coordinate, at(device)));
            let mut own: Vec<i64> = coordinates.collect();
            own.sort_unstable();
            own.dedup();
            moves |= own.len() > 1;
            seen.extend(own);
        }
        if !moves {
            continue;
        }
        seen.sort_unstable();
        seen.dedup();
        let name = program.name_text(name);
        let count = seen.len() as i64;
        if permute || count == size {
            names.push(name.to_owned());
        } else {
            // Every `step`-th coordinate: the sub-axis that has `step` values to its right.
            let step = (seen[1] - seen[0]).max(1);
            names.push(format!("{name}:({}){count}", (size / (count * step)).max(1)));
        }
    }
    names
}

/// Returns the axes of groups in mesh order, with adjacent sub-axes of one axis merged.
fn named(groups: &AxisGroups) -> Vec<String> {
    let (names, sizes): (Vec<&str>, Vec<i64>) = groups.mesh().names().zip(groups.mesh().sizes()).unzip();
    let name = |part: &AxisPart| {
        let (name, whole) = (names[part.axis as usize], sizes[part.axis as usize]);
        if i64::from(part.size) == whole { name.to_owned() } else { format!("{name}:({}){}", part.pre, part.size) }
    };
    set_of(groups.axes().iter().copied()).iter().map(name).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_in_equal_layers_have_one_pattern() {
        assert_eq!(layer_pattern("params['layers'][12]['w1']"), "params['layers'][#]['w#']");
        assert_eq!(layer_pattern(""), "");
    }

    #[test]
    fn groups_are_named_by_their_axes() {
        let mut p = Program::new();
        let mesh = Mesh { axes: [(p.name("x"), 2), (p.name("y"), 4)].into_iter().collect(), device_ids: None };
        let check = |groups: &[&[i64]], permute| {
            let groups: Vec<Vec<i64>> = groups.iter().map(|g| g.to_vec()).collect();
            axes_of_groups(&p, &mesh, &Groups::of_lists(&groups), permute)
        };
        assert_eq!(check(&[&[0, 1, 2, 3], &[4, 5, 6, 7]], false), ["y"]);
        assert_eq!(check(&[&[0, 4], &[1, 5]], false), ["x"]);
        assert_eq!(check(&[&[0, 1, 2, 3, 4, 5, 6, 7]], false), ["x", "y"]);
        assert_eq!(check(&[&[0, 1], &[2, 3]], false), ["y:(2)2"]);
        assert_eq!(check(&[&[0, 2], &[1, 3]], false), ["y:(1)2"]);
        assert_eq!(check(&[&[0, 0], &[1, 2], &[2, 1]], true), ["y"]);
        assert_eq!(check(&[&[0]], false), [""; 0]);
    }
}
