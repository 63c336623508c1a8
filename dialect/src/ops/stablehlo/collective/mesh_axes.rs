//! Groups given by axes of a mesh instead of rows. Source: the StableHLO specification, "Replica groups".

use crate::collective::as_lists;
use crate::ir::build::Builder;
use crate::ir::{Attr, AttrData, Name, Op, Ty, Value};

/// Rewrites an op whose groups are given by axes of a mesh, with the groups as rows; gives its results.
pub(super) fn in_rows(op: Op, build: &mut Builder<'_>) -> Option<Vec<Value>> {
    let rows = as_lists(build.program, build.program.attr(op, super::GROUPS)?)?;
    let ty = build.program.intern_type(rows.ty());
    let rows = build.program.intern_attr(AttrData::Dense(ty, rows));
    let data = build.program.op(op).clone();
    let types: Vec<Ty> =
        build.program.results(op).collect::<Vec<_>>().into_iter().map(|v| build.program.value_type(v)).collect();
    let key = build.program.name(super::GROUPS);
    let attrs: Vec<(Name, Attr)> = data.attrs.iter().map(|&(n, a)| (n, if n == key { rows } else { a })).collect();
    let made = build.raw(data.def, data.def.name(), &data.operands, &types, &attrs, &data.regions);
    build.program.op_mut(made).span = data.span;
    Some(build.program.results(made).collect())
}
