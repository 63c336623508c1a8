//! Attributes and types of StableHLO and CHLO, by the codes in StablehloBytecode.cpp and ChloBytecode.cpp, and their
//! text, which StableHLO's portable form shares.

use super::Read;
use super::builtin::texts;
use super::entries::Reader;
use super::value::{Attr, AttrKind, Type, float_text, joined, list, quoted, types};
use crate::text::words::*;

pub(super) fn attr(r: &mut Reader<'_, '_>) -> Read<Attr> {
    let code = r.from.number()?;
    let word = |r: &mut Reader<'_, '_>, kind, words| Ok(Attr::word("stablehlo", kind, r.one_of(words)?));
    Ok(match code {
        1 => channel(r.from.signed()?, r.from.signed()?),
        2 => return word(r, "comparison_direction", DIRECTIONS),
        3 => return word(r, "comparison_type", COMPARISONS),
        4 => {
            let value = |(i, _): (usize, _)| match i % 3 {
                2 => Ok(list(&r.signed_list()?)),
                _ => Ok(r.from.signed()?.to_string()),
            };
            let values = CONVOLUTION.iter().enumerate().map(value).collect::<Read<Vec<_>>>()?;
            Attr::other(fields("#stablehlo.conv", "raw ", CONVOLUTION, &values))
        }
        5 => lists(r, "#stablehlo.dot", DOT, false)?,
        6 => return word(r, "fft_type", FFTS),
        7 => lists(r, "#stablehlo.gather", GATHER, true)?,
        8 => return word(r, "precision", PRECISIONS),
        9 => return word(r, "rng_algorithm", ALGORITHMS),
        10 => return word(r, "rng_distribution", DISTRIBUTIONS),
        11 => lists(r, "#stablehlo.scatter", SCATTER, true)?,
        12 => return word(r, "transpose", TRANSPOSES),
        13 => bounds(&r.signed_list()?),
        14 => alias(r)?,
        15 => {
            let kinds = [r.ty()?, r.ty()?, r.ty()?].map(|t| t.text.clone());
            let counts = [r.from.signed()?, r.from.signed()?, r.from.signed()?].map(|n| n.to_string());
            let imprecise = (r.from.byte()? != 0).to_string();
            let values: Vec<String> = kinds.into_iter().chain(counts).chain([imprecise]).collect();
            Attr::other(fields("#stablehlo.dot_algorithm", "", DOT_ALGORITHM, &values))
        }
        16 => mode(r)?,
        17 => accuracy(r)?,
        18 => {
            let (mesh, axes) = (r.attr()?, r.attrs()?);
            mesh_axes(&mesh.text, &format!("[{}]", texts(&axes)))
        }
        19 => sub_axis(r)?,
        20 => {
            let name = quoted(r.string()?);
            let part = if r.from.byte()? != 0 { Some(r.attr()?) } else { None };
            axis(&name, part.as_deref())
        }
        21 => {
            let name = quoted(r.string()?);
            mesh_axis(&name, r.from.signed()?)
        }
        22 => {
            let axes = r.attr()?;
            let ids = if r.from.byte()? != 0 { Some(r.attr()?) } else { None };
            mesh(&axes, ids.as_deref())
        }
        _ => return r.no_code(code, "an attribute of the dialect 'stablehlo'"),
    })
}

pub(super) fn chlo_attr(r: &mut Reader<'_, '_>) -> Read<Attr> {
    match r.from.number()? {
        0 => Ok(Attr::word("chlo", "comparison_direction", r.one_of(DIRECTIONS)?)),
        1 => Ok(Attr::word("chlo", "comparison_type", r.one_of(COMPARISONS)?)),
        code => r.no_code(code, "an attribute of the dialect 'chlo'"),
    }
}

pub(super) fn ty(r: &mut Reader<'_, '_>) -> Read<Type> {
    match r.from.number()? {
        0 => Ok(token()),
        1 => future(r),
        code => r.no_code(code, "a type of the dialect 'stablehlo'"),
    }
}

pub(super) fn token() -> Type {
    Type::new("!stablehlo.token")
}

pub(super) fn future(r: &mut Reader<'_, '_>) -> Read<Type> {
    Ok(Type::new(format!("!stablehlo.future<{}>", types(&r.types()?))))
}

/// Returns `#stablehlo.gather<offset_dims = [1], index_vector_dim = 1>`. As in MLIR, empty lists (except in a
/// convolution) and dimension 0 of the index vectors aren't written.
pub(super) fn fields(name: &str, before: &str, keys: &[&str], values: &[String]) -> String {
    let usual = |key: &str, value: &str| value == "[]" || key == "index_vector_dim" && value == "0";
    let written = |(key, value): &(&&str, &String)| !before.is_empty() || !usual(key, value);
    let each = keys.iter().zip(values).filter(written).map(|(key, value)| format!("{key} = {value}"));
    format!("{name}<{before}{}>", joined(each))
}

/// Reads lists with these names, of which the last may be a single number.
fn lists(r: &mut Reader<'_, '_>, name: &str, keys: &[&str], number_last: bool) -> Read<Attr> {
    let value = |i| match number_last && i + 1 == keys.len() {
        true => Ok(r.from.signed()?.to_string()),
        false => Ok(list(&r.signed_list()?)),
    };
    let values = (0..keys.len()).map(value).collect::<Read<Vec<_>>>()?;
    Ok(Attr::other(fields(name, "", keys, &values)))
}

/// Returns `#stablehlo.channel_handle<handle = 1, type = 0>`.
pub(super) fn channel(handle: i64, kind: i64) -> Attr {
    Attr::other(format!("#stablehlo.channel_handle<handle = {handle}, type = {kind}>"))
}

/// Returns `#stablehlo.bounds<4, ?>`.
pub(super) fn bounds(sizes: &[i64]) -> Attr {
    let size = |&n: &i64| if n < 0 { "?".to_owned() } else { n.to_string() };
    Attr::other(format!("#stablehlo.bounds<{}>", joined(sizes.iter().map(size))))
}

/// Reads an operand whose buffer a result reuses.
pub(super) fn alias(r: &mut Reader<'_, '_>) -> Read<Attr> {
    let (result, operand, inside) = (r.signed_list()?, r.from.signed()?, r.signed_list()?);
    Ok(Attr::other(format!(
        "#stablehlo.output_operand_alias<output_tuple_indices = {}, operand_index = {operand}, \
         operand_tuple_indices = {}>",
        list(&result),
        list(&inside)
    )))
}

pub(super) fn mode(r: &mut Reader<'_, '_>) -> Read<Attr> {
    let word = r.one_of(ACCURACIES)?;
    Ok(Attr::new(format!("#stablehlo.result_accuracy_mode<{word}>"), AttrKind::Word(word)))
}

pub(super) fn accuracy(r: &mut Reader<'_, '_>) -> Read<Attr> {
    let (atol, rtol, ulps, mode) = (r.double()?, r.double()?, r.from.signed()?, r.attr()?);
    let float = |name: &str, v: f64| (v != 0.0).then(|| format!("{name} = {}", float_text(v.to_bits(), 64)));
    let ulp = (ulps != 0).then(|| format!("ulps = {ulps}"));
    let mode_text = format!("mode = {}", mode.text);
    let values = [float("atol", atol), float("rtol", rtol), ulp, Some(mode_text)];
    let usual = atol == 0.0 && rtol == 0.0 && ulps == 0 && matches!(mode.kind, AttrKind::Word("DEFAULT"));
    let text = format!("#stablehlo.result_accuracy<{}>", joined(values.iter().flatten()));
    Ok(Attr::new(text, AttrKind::Accuracy(usual)))
}

/// Returns groups of devices along axes of a mesh.
pub(super) fn mesh_axes(mesh: &str, axes: &str) -> Attr {
    Attr::other(format!("#stablehlo.replica_group_mesh_axes<mesh = {mesh}, axes = {axes}>"))
}

pub(super) fn sub_axis(r: &mut Reader<'_, '_>) -> Read<Attr> {
    let (before, size) = (r.from.signed()?, r.from.signed()?);
    Ok(Attr::new(format!("#stablehlo.sub_axis_info<({before}){size}>"), AttrKind::Inner(format!("({before}){size}"))))
}

pub(super) fn axis(name: &str, part: Option<&Attr>) -> Attr {
    let part = match part {
        Some(Attr { kind: AttrKind::Inner(inside), .. }) => format!(", sub_axis_info = {inside}"),
        Some(other) => format!(", sub_axis_info = {}", other.text),
        None => String::new(),
    };
    Attr::other(format!("#stablehlo.axis_ref<name = {name}{part}>"))
}

pub(super) fn mesh_axis(name: &str, size: i64) -> Attr {
    Attr::other(format!("#stablehlo.mesh_axis<name = {name}, size = {size}>"))
}

pub(super) fn mesh(axes: &Attr, ids: Option<&Attr>) -> Attr {
    let ids = ids.map_or(String::new(), |ids| format!(", device_ids = {}", ids.text));
    Attr::other(format!("#stablehlo.mesh<axes = {}{ids}>", axes.text))
}
