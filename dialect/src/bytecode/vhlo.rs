//! Attributes and types of StableHLO's portable form, by the codes in VhloBytecode.cpp, converted to their equivalents.

use std::rc::Rc;

use super::builtin::{literal, name, number_attr};
use super::entries::Reader;
use super::op_attributes::Named;
use super::properties::{Conversion, DefaultValue, Property, SplitAttribute};
use super::quant;
use super::stablehlo::{self as hlo, token};
use super::value::{Attr, AttrKind, Scalar, Type, dimensions, float, list, symbol, types};
use super::{Fault, Read};
use crate::text::words;

pub(super) fn attr(r: &mut Reader<'_, '_>) -> Read<Attr> {
    let code = r.from.number()?;
    let word = |r: &mut Reader<'_, '_>, kind, words| Ok(Attr::word("stablehlo", kind, r.one_of(words)?));
    Ok(match code {
        1 => Attr::array(r.attrs()?),
        2 => Attr::bool(r.from.number()? != 0),
        3 => return word(r, "comparison_direction", words::DIRECTIONS),
        4 => return word(r, "comparison_type", words::COMPARISONS),
        5 => {
            // The dialect stores the version as a number.
            let version = r.from.number()?;
            Attr::new(format!("{version} : i32"), AttrKind::Int(version as i64))
        }
        6 => {
            let n = r.from.count("attributes")?;
            Attr::dict((0..n).map(|_| Ok((name(r)?, r.attr()?))).collect::<Read<_>>()?)
        }
        7 => return word(r, "fft_type", words::FFTS),
        8 | 9 => {
            let ty = r.ty()?;
            number_attr(r, &ty)?
        }
        10 => hlo::alias(r)?,
        11 => return word(r, "precision", words::PRECISIONS),
        12 => return word(r, "rng_algorithm", words::ALGORITHMS),
        13 => return word(r, "rng_distribution", words::DISTRIBUTIONS),
        14 => Attr::string(r.string()?),
        15 => {
            let (ty, bytes) = (r.ty()?, r.blob()?);
            literal(r, &ty, bytes)?
        }
        16 => return word(r, "transpose", words::TRANSPOSES),
        17 => {
            let ty = r.ty()?;
            Attr::new(ty.text.clone(), AttrKind::Type(ty.text == "none"))
        }
        18 => hlo::bounds(&r.signed_list()?),
        19 => hlo::mode(r)?,
        20 => hlo::accuracy(r)?,
        21 => hlo::sub_axis(r)?,
        22 => {
            let name = r.attr()?;
            let part = if r.from.number()? != 0 { Some(r.attr()?) } else { None };
            hlo::axis(&name.text, part.as_deref())
        }
        23 => {
            let (mesh, axes) = (r.attr()?, r.attr()?);
            // The mesh itself, or its name.
            let mesh = match &mesh.kind {
                AttrKind::Str(name) => symbol(name),
                _ => mesh.text.clone(),
            };
            hlo::mesh_axes(&mesh, &axes.text)
        }
        24 => {
            let name = r.attr()?;
            hlo::mesh_axis(&name.text, r.from.signed()?)
        }
        25 => {
            let (axes, ids) = (r.attr()?, r.optional_attr()?);
            hlo::mesh(&axes, ids.as_deref())
        }
        _ => return r.no_code(code, "an attribute of the dialect 'vhlo'"),
    })
}

/// The codes of integers: unsigned ones have different codes.
const INTEGERS: [(u64, u32); 6] = [(31, 2), (10, 4), (11, 8), (12, 16), (13, 32), (14, 64)];
const UNSIGNED: [(u64, u32); 6] = [(32, 2), (15, 4), (16, 8), (17, 16), (18, 32), (19, 64)];
const FLOATS: [(u64, &str, u32); 16] = [
    (2, "bf16", 16),
    (3, "f16", 16),
    (4, "f32", 32),
    (5, "f64", 64),
    (6, "f8E4M3FN", 8),
    (7, "f8E5M2", 8),
    (27, "f8E4M3FNUZ", 8),
    (28, "f8E5M2FNUZ", 8),
    (29, "f8E4M3B11FNUZ", 8),
    (34, "tf32", 19),
    (35, "f8E4M3", 8),
    (36, "f8E3M4", 8),
    (37, "f4E2M1FN", 4),
    (38, "f6E2M3FN", 6),
    (39, "f6E3M2FN", 6),
    (40, "f8E8M0FNU", 8),
];

pub(super) fn ty(r: &mut Reader<'_, '_>) -> Read<Type> {
    let code = r.from.number()?;
    if let Some(&(_, bits)) = INTEGERS.iter().find(|i| i.0 == code) {
        return Ok(Type::number(format!("i{bits}"), Scalar::Int(bits)));
    }
    if let Some(&(_, bits)) = UNSIGNED.iter().find(|i| i.0 == code) {
        return Ok(Type::number(format!("ui{bits}"), Scalar::Unsigned(bits)));
    }
    if let Some(&(_, name, bits)) = FLOATS.iter().find(|f| f.0 == code) {
        return Ok(float(name, bits));
    }
    Ok(match code {
        0 => Type::number("i1", Scalar::Int(1)),
        1 => Type::new(format!("complex<{}>", r.ty()?.text)),
        8 => {
            let (inputs, results) = (r.types()?, r.types()?);
            Type::function(&inputs, &results)
        }
        9 => Type::number("index", Scalar::Index),
        20 => Type::tensor(r.signed_list()?, r.ty()?, None),
        21 => {
            let encoding = r.attr()?;
            Type::tensor(r.signed_list()?, r.ty()?, Some(&encoding))
        }
        22 => token(),
        23 => Type::new(format!("tuple<{}>", types(&r.types()?))),
        24 => quant::uniform(r)?,
        25 => Type::new(format!("tensor<*x{}>", r.ty()?.text)),
        26 => Type::new("!shape.witness"),
        30 => quant::per_axis(r)?,
        33 => Type::new("none"),
        41 => {
            let (sizes, element) = (r.signed_list()?, r.ty()?);
            Type::new(format!("memref<{}{}>", dimensions(&sizes), element.text))
        }
        42 => hlo::future(r)?,
        _ => return r.no_code(code, "a type of the dialect 'vhlo'"),
    })
}

/// Returns today's attributes of an op, properties and others, without those that have their default value.
pub(super) fn upgraded(table: &[Property], attributes: Named, at: usize) -> Read<(Named, Named)> {
    let (mut today, mut others) = (Named::new(), Named::new());
    let mut split: Vec<&SplitAttribute> = Vec::new();
    let layouts = ["operand_layouts", "result_layouts"];
    let empty = |name: &str| attributes.iter().any(|(n, a)| n == name && is_default(a, DefaultValue::Empty));
    let no_layouts = layouts.iter().all(|name| empty(name));
    for (name, value) in &attributes {
        let Some(property) = table.iter().find(|p| p.name == name) else {
            others.push((name.clone(), value.clone()));
            continue;
        };
        let has_default = property.default.is_some_and(|default| is_default(value, default));
        if has_default || no_layouts && layouts.contains(&property.name) {
            continue;
        }
        let wrong = |what: &str| Fault::new(at, format!("expected the attribute '{name}' to be {what}"));
        let form = |attr: Attr| (name.clone(), Rc::new(attr));
        today.push(match property.conversion {
            Conversion::Same if property.until < u32::MAX => continue,
            Conversion::Same | Conversion::Segments(_) => (name.clone(), value.clone()),
            Conversion::Integers => {
                let ints = value.integers().ok_or_else(|| wrong("a literal of integers"))?;
                form(Attr::other(array("i64", ints.iter())))
            }
            Conversion::Truths => {
                let truths = value.truths().ok_or_else(|| wrong("a literal of truth values"))?;
                form(Attr::other(array("i1", truths.iter())))
            }
            Conversion::Symbol => form(symbol_attr(value).ok_or_else(|| wrong("a string"))?),
            Conversion::Symbols => match &value.kind {
                AttrKind::Array(items) => {
                    let symbols: Option<Vec<_>> = items.iter().map(|a| symbol_attr(a).map(Rc::new)).collect();
                    form(Attr::array(symbols.ok_or_else(|| wrong("a list of strings"))?))
                }
                _ => return Err(wrong("a list of strings")),
            },
            Conversion::Flag => match value.kind {
                AttrKind::Bool(true) => form(Attr::new("unit", AttrKind::Unit)),
                _ => return Err(wrong("true or false")),
            },
            Conversion::Channel => match value.kind {
                AttrKind::Int(handle) => ("channel_handle".to_owned(), Rc::new(hlo::channel(handle, 0))),
                _ => return Err(wrong("a number")),
            },
            Conversion::Part(whole) => {
                if !split.contains(&whole) {
                    split.push(whole);
                }
                continue;
            }
        });
    }
    for whole in split {
        today.extend(assemble(whole, &attributes, at)?.map(|attr| (whole.name.to_owned(), Rc::new(attr))));
    }
    Ok((today, others))
}

/// Returns an attribute assembled from its parts; `None` if a part is the type `none`.
fn assemble(whole: &SplitAttribute, attributes: &Named, at: usize) -> Read<Option<Attr>> {
    let mut values = Vec::new();
    for name in whole.parts {
        let value = match attributes.iter().find(|a| a.0 == *name).map(|a| &a.1) {
            // An older version of the op didn't have the part.
            None => "[]".to_owned(),
            Some(value) => match (&value.kind, value.integers()) {
                (AttrKind::Type(true), _) => return Ok(None),
                (AttrKind::Int(n), _) => n.to_string(),
                (_, Some(ints)) => list(&ints),
                (AttrKind::Type(false) | AttrKind::Bool(_), _) => value.text.clone(),
                _ => {
                    return Err(Fault::new(
                        at,
                        format!("the attribute '{name}' is neither a number nor a list of numbers"),
                    ));
                }
            },
        };
        values.push(value);
    }
    Ok(Some(Attr::other(hlo::fields(whole.open, whole.before, whole.keys, &values))))
}

fn symbol_attr(value: &Attr) -> Option<Attr> {
    match &value.kind {
        AttrKind::Str(name) => Some(Attr::other(symbol(name))),
        _ => None,
    }
}

/// Returns the text `array<i64: 1, 2>`.
fn array<T: ToString>(element: &str, values: impl Iterator<Item = T>) -> String {
    let values: Vec<String> = values.map(|v| v.to_string()).collect();
    match values.is_empty() {
        true => format!("array<{element}>"),
        false => format!("array<{element}: {}>", values.join(", ")),
    }
}

/// Returns whether an attribute has the default value, which isn't written.
fn is_default(value: &Attr, default: DefaultValue) -> bool {
    match (default, &value.kind) {
        (DefaultValue::Int(n), AttrKind::Int(found)) => n == *found,
        (DefaultValue::False, AttrKind::Bool(found)) => !found,
        (DefaultValue::Empty, AttrKind::Str(text)) => text.is_empty(),
        (DefaultValue::Empty, AttrKind::Array(items)) => items.is_empty(),
        (DefaultValue::Empty, AttrKind::Dict(entries)) => entries.is_empty(),
        (DefaultValue::Empty, AttrKind::Dense(_, bytes, _)) => bytes.is_empty(),
        (DefaultValue::All(n), AttrKind::Dense(..)) => {
            value.integers().is_some_and(|ints| !ints.is_empty() && ints.iter().all(|&i| i == n))
        }
        (DefaultValue::AllFalse, AttrKind::Dense(..)) => {
            value.truths().is_some_and(|truths| !truths.is_empty() && truths.iter().all(|&t| !t))
        }
        (DefaultValue::Word(word), AttrKind::Word(found)) => word == *found,
        (DefaultValue::Words(word), AttrKind::Array(items)) => {
            items.iter().all(|item| matches!(item.kind, AttrKind::Word(found) if found == word))
        }
        (DefaultValue::Accuracy, AttrKind::Accuracy(is_default)) => *is_default,
        _ => false,
    }
}
