//! A custom call's attributes for layouts, for results that share memory with operands, and for its interface version.
//! Source: the StableHLO specification, `custom_call`, and the constraints of its implementation.

use crate::ir::{AttrData, OpRef, Ty, TypeData};
use crate::op::Problem;
use crate::ops::support::constraint::{Checked, require};

/// Checks all of these attributes.
pub(super) fn check(op: OpRef<'_>) -> Checked<()> {
    layouts(op)?;
    aliases(op)?;
    // Calls of the typed interface take a dictionary, all earlier versions a string.
    let typed = op.int("api_version") == Some(4);
    let fits = match op.attr("backend_config") {
        Some(AttrData::Dict(_)) => typed,
        Some(AttrData::String(text)) => !typed || text.is_empty(),
        _ => true,
    };
    require!(
        fits,
        "expected backend_config to be {wanted}",
        wanted = if typed { "a dictionary, because api_version is 4" } else { "a string, because api_version isn't 4" }
    );
    Ok(())
}

/// Checks that operands and results have one layout per value, or neither has any; a layout lists the dimensions from
/// minor to major.
fn layouts(op: OpRef<'_>) -> Checked<()> {
    let list = |name| match op.attr(name) {
        Some(AttrData::Array(items)) => Some(items),
        _ => None,
    };
    let (operands, results) = match (list("operand_layouts"), list("result_layouts")) {
        (None, None) => return Ok(()),
        (Some(operands), Some(results)) => (operands, results),
        _ => return Err(Problem::new("expected both operand_layouts and result_layouts, or neither")),
    };
    let result_types = match op.result_type_ids()[..] {
        // The elements of a single tuple count as results.
        [only] => match op.program.type_data(only) {
            TypeData::Tuple(items) => items.clone(),
            _ => vec![only],
        },
        ref several => several.to_vec(),
    };
    for (what, types, layouts) in [("operand", op.type_ids(op.operands()), operands), ("result", result_types, results)]
    {
        let valid = types.len() == layouts.len();
        require!(valid, "expected {} {what}_layouts, one for each value, found {}", types.len(), layouts.len());
        for (i, (&ty, &layout)) in types.iter().zip(layouts).enumerate() {
            let dims = op.program.attr_ints(layout).unwrap_or_default();
            let rank = match op.program.type_data(ty) {
                TypeData::Tensor(t) => t.rank(),
                TypeData::Tuple(_) => return Err(Problem::new(format!("{what} {i} is a tuple, which has no layout"))),
                _ => 0,
            };
            let mut sorted = dims.clone();
            sorted.sort_unstable();
            require!(
                sorted.iter().copied().eq(0..rank as i64),
                "expected the layout of {what} {i} to order the {rank} dimensions of {ty}, found {dims:?}",
                ty = op.program.type_text(ty)
            );
        }
    }
    Ok(())
}

/// Checks results, or tuple elements of them, that share memory with operands: both must exist and have the same type.
fn aliases(op: OpRef<'_>) -> Checked<()> {
    let Some(AttrData::Array(items)) = op.attr("output_operand_aliases") else { return Ok(()) };
    for &item in items {
        let AttrData::Struct(_, fields) = op.program.attr_data(item) else { continue };
        let field = |name: &str| fields.iter().find(|f| op.program.name_text(f.0) == name).map(|f| f.1);
        let path = |name: &str| field(name).and_then(|a| op.program.attr_ints(a)).unwrap_or_default();
        let number = field("operand_index").and_then(|a| op.program.attr_data(a).as_int()).unwrap_or(0);
        let operand = usize::try_from(number).ok().and_then(|i| op.operands().get(i)).ok_or_else(|| {
            Problem::new(format!("expected operand_index in 0..{}, found {number}", op.operands().len()))
        })?;
        let results = op.result_type_ids();
        let mut to = path("output_tuple_indices");
        let result = match results[..] {
            [only] => Some(only),
            // The first index is the result's number.
            _ if to.is_empty() => None,
            _ => usize::try_from(to.remove(0)).ok().and_then(|i| results.get(i)).copied(),
        };
        let given = part(op, op.program.value_type(*operand), &path("operand_tuple_indices"))
            .ok_or_else(|| Problem::new(format!("operand_tuple_indices don't name a part of operand {number}")))?;
        let made = result
            .and_then(|ty| part(op, ty, &to))
            .ok_or_else(|| Problem::new("output_tuple_indices don't name a part of the result"))?;
        require!(
            given == made,
            "a result of {made} can't share the memory of {given}",
            given = op.program.type_text(given),
            made = op.program.type_text(made)
        );
    }
    Ok(())
}

/// Returns the type of the tuple element at the indices.
fn part(op: OpRef<'_>, mut ty: Ty, path: &[i64]) -> Option<Ty> {
    for &index in path {
        let TypeData::Tuple(items) = op.program.type_data(ty) else { return None };
        ty = *items.get(usize::try_from(index).ok()?)?;
    }
    Some(ty)
}
