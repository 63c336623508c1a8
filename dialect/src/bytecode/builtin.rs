//! Attributes, types and locations of the builtin dialect, by the codes in MLIR's BuiltinDialectBytecode.td.

use std::rc::Rc;

use super::entries::{Entries, Reader};
use super::value::{
    Attr, AttrKind, Scalar, Type, dense, dimensions, float, joined, number, numbers, quoted, symbol, types,
};
use super::{Fault, Read, affine};
use crate::ir::ElementType;

/// The codes of attributes that the writer uses.
pub(super) const ARRAY: usize = 0;
pub(super) const DICTIONARY: usize = 1;
pub(super) const STRING: usize = 2;
pub(super) const TYPE: usize = 6;
pub(super) const UNIT: usize = 7;
pub(super) const CALL_SITE: usize = 10;
pub(super) const FILE: usize = 11;
pub(super) const FUSED: usize = 12;
pub(super) const FUSED_WITH: usize = 13;
pub(super) const NAME: usize = 14;
pub(super) const UNKNOWN_LOCATION: usize = 15;
pub(super) const LITERAL: usize = 18;
pub(super) const RANGE: usize = 22;

/// The codes of types that the writer uses.
pub(super) const INTEGER: usize = 0;
pub(super) const INDEX: usize = 1;
pub(super) const FIRST_FLOAT: usize = 3;
pub(super) const FLOATS: [ElementType; 4] = [ElementType::BF16, ElementType::F16, ElementType::F32, ElementType::F64];
pub(super) const TENSOR: usize = 13;
pub(super) const ENCODED_TENSOR: usize = 14;

pub(super) fn attr(r: &mut Reader<'_, '_>) -> Read<Attr> {
    let code = r.from.number()?;
    Ok(match code {
        0 => Attr::array(r.attrs()?),
        1 => {
            let n = r.from.count("attributes")?;
            let entries = (0..n).map(|_| Ok((name(r)?, r.attr()?))).collect::<Read<_>>()?;
            Attr::dict(entries)
        }
        2 => Attr::string(r.string()?),
        3 => {
            let string = r.string()?;
            Attr::other(format!("{} : {}", quoted(string), r.ty()?.text))
        }
        4 => Attr::other(symbol(&name_bytes(r)?)),
        5 => {
            let root = symbol(&name_bytes(r)?);
            let nested = r.attrs()?;
            Attr::other(nested.iter().fold(root, |path, part| path + "::" + &part.text))
        }
        6 => {
            let ty = r.ty()?;
            Attr::new(ty.text.clone(), AttrKind::Type(ty.text == "none"))
        }
        7 => Attr::new("unit", AttrKind::Unit),
        8 | 9 => {
            let ty = r.ty()?;
            number_attr(r, &ty)?
        }
        10..=15 | 22 => {
            let text = location(r, code, &mut |r| {
                let child = r.attr()?;
                inside_loc(&child.text).map_or_else(|| r.from.fault("expected a location"), |t| Ok(t.to_owned()))
            })?;
            Attr::other(format!("loc({text})"))
        }
        16 => {
            let ty = r.ty()?;
            let resources = &r.entries.file.resources;
            let key = resources[r.from.index(resources.len(), "resource")?].key;
            Attr::other(format!("dense_resource<{}> : {}", quoted(key), ty.text))
        }
        17 => {
            let (element, _, bytes) = (r.ty()?, r.from.number()?, r.blob()?);
            let values = element.scalar.and_then(|scalar| numbers(scalar, bytes));
            match values {
                Some(values) if values.is_empty() => Attr::other(format!("array<{}>", element.text)),
                Some(values) => Attr::other(format!("array<{}: {}>", element.text, values.join(", "))),
                None => return r.from.fault(format!("{} bytes are not a list of {}", bytes.len(), element.text)),
            }
        }
        18 => {
            let (ty, bytes) = (r.ty()?, r.blob()?);
            literal(r, &ty, bytes)?
        }
        19 => {
            let (ty, all_one) = (r.ty()?, r.from.number()? != 0);
            let count = if all_one { 1 } else { ty.elements().unwrap_or(0) };
            if count > r.from.left() {
                return r.from.fault(format!("expected {count} strings"));
            }
            let strings = (0..count).map(|_| r.string().map(quoted)).collect::<Read<Vec<_>>>()?;
            let value = if all_one { strings.concat() } else { format!("[{}]", strings.join(", ")) };
            Attr::other(format!("dense<{value}> : {}", ty.text))
        }
        20 => {
            let (ty, places, values) = (r.ty()?, r.attr()?, r.attr()?);
            let bare = |a: &Attr| a.text.trim_start_matches("dense<").split("> :").next().unwrap_or("").to_owned();
            Attr::other(format!("sparse<{}, {}> : {}", bare(&places), bare(&values), ty.text))
        }
        21 => {
            let inside = r.attr()?;
            Attr::other(format!("distinct[{}]<{}>", r.start, inside.text))
        }
        23 => Attr::other(affine::map(r)?),
        24 => Attr::other(affine::set(r)?),
        25 => Attr::other(affine::strided(r)?),
        _ => return r.no_code(code, "an attribute of the dialect 'builtin'"),
    })
}

/// Reads the bytes of a string attribute.
fn name_bytes(r: &mut Reader<'_, '_>) -> Read<Vec<u8>> {
    match &r.attr()?.kind {
        AttrKind::Str(bytes) => Ok(bytes.clone()),
        _ => r.from.fault("expected a name that is a string"),
    }
}

/// Reads the name of an attribute in a dictionary.
pub(super) fn name(r: &mut Reader<'_, '_>) -> Read<String> {
    let at = r.from.at;
    String::from_utf8(name_bytes(r)?).map_err(|fault| {
        let name = fault.as_bytes().escape_ascii().to_string();
        Fault::unknown(at, format!("the name of an attribute must be UTF-8 text, found \"{name}\""))
    })
}

/// Reads a number of a type that was read before.
pub(super) fn number_attr(r: &mut Reader<'_, '_>, ty: &Type) -> Read<Attr> {
    let Some(scalar) = ty.scalar else {
        return r.from.fault(format!("the type {} has no numbers", ty.text));
    };
    let bits = r.bits(scalar.bits())?;
    let text = number(scalar, bits);
    Ok(match scalar {
        Scalar::Int(1) => Attr::bool(bits & 1 == 1),
        Scalar::Float(_) => Attr::other(format!("{text} : {}", ty.text)),
        _ => Attr::new(format!("{text} : {}", ty.text), AttrKind::Int(text.parse::<i128>().unwrap_or(0) as i64)),
    })
}

/// Creates a literal of a shaped type from its bytes.
pub(super) fn literal(r: &Reader<'_, '_>, ty: &Type, bytes: &[u8]) -> Read<Attr> {
    let (Some((_, element)), Some(count)) = (&ty.shaped, ty.elements()) else {
        return r.from.fault(format!("a literal can't have the type {}", ty.text));
    };
    let text = dense(ty, element, bytes, count);
    Ok(Attr::new(text, AttrKind::Dense(element.clone(), bytes.to_vec(), count)))
}

/// Returns the text in the parentheses of `loc(…)`; `child` reads the text of an inner location.
fn location(
    r: &mut Reader<'_, '_>,
    code: u64,
    child: &mut dyn FnMut(&mut Reader<'_, '_>) -> Read<String>,
) -> Read<String> {
    Ok(match code {
        10 => {
            let (callee, caller) = (child(r)?, child(r)?);
            format!("callsite({callee} at {caller})")
        }
        11 => format!("{}:{}:{}", r.attr()?.text, r.from.number()?, r.from.number()?),
        12 | 13 => {
            let n = r.from.count("locations")?;
            let parts = (0..n).map(|_| child(r)).collect::<Read<Vec<_>>>()?.join(", ");
            match code {
                12 => format!("fused[{parts}]"),
                _ => format!("fused<{}>[{parts}]", r.attr()?.text),
            }
        }
        14 => {
            let name = r.attr()?.text.clone();
            match child(r)? {
                inner if inner == "unknown" => name,
                inner => format!("{name}({inner})"),
            }
        }
        15 => "unknown".to_owned(),
        22 => {
            let file = r.attr()?.text.clone();
            match r.from.list("numbers", |from| from.number())?[..] {
                [] => format!("{file}:0:0"),
                [line] => format!("{file}:{line}:0"),
                [line, column] => format!("{file}:{line}:{column}"),
                [line, start, end] => format!("{file}:{line}:{start} to :{end}"),
                [line, start, last, end] => format!("{file}:{line}:{start} to {last}:{end}"),
                _ => return r.from.fault("a file location has at most four numbers"),
            }
        }
        _ => return r.no_code(code, "a location"),
    })
}

/// Returns the text of the location with this number, without `loc(…)`; inner locations are named by alias, and their
/// numbers are added to `needs`.
pub(super) fn location_at(entries: &Entries<'_>, index: usize, needs: &mut Vec<usize>) -> Read<String> {
    let entry = &entries.file.attributes[index];
    let mut r = Reader { entries, from: entry.data, start: entry.data.at };
    if !entry.custom || entries.file.dialects[entry.dialect] != "builtin" {
        // A location in MLIR's text.
        let text = entries.attr(index)?;
        return match inside_loc(&text.text) {
            Some(inside) => Ok(inside.to_owned()),
            None => r.from.fault("expected a location"),
        };
    }
    let code = r.from.number()?;
    let count = entries.file.attributes.len();
    let text = location(&mut r, code, &mut |r| {
        let index = r.from.index(count, "attribute")?;
        needs.push(index);
        Ok(name_of_location(index))
    })?;
    r.from.finish("a location")?;
    Ok(text)
}

/// Returns the text in the parentheses of `loc(…)`.
fn inside_loc(text: &str) -> Option<&str> {
    text.strip_prefix("loc(")?.strip_suffix(')')
}

/// Returns the alias `#loc12`.
pub(super) fn name_of_location(index: usize) -> String {
    format!("#loc{index}")
}

/// Float types that got their codes later, from [`FIRST_NARROW`] on.
const NARROW: [(&str, u32); 12] = [
    ("tf32", 19),
    ("f8E5M2", 8),
    ("f8E4M3", 8),
    ("f8E4M3FN", 8),
    ("f8E5M2FNUZ", 8),
    ("f8E4M3FNUZ", 8),
    ("f8E4M3B11FNUZ", 8),
    ("f8E3M4", 8),
    ("f4E2M1FN", 4),
    ("f6E2M3FN", 6),
    ("f6E3M2FN", 6),
    ("f8E8M0FNU", 8),
];
const FIRST_NARROW: u64 = 21;

pub(super) fn ty(r: &mut Reader<'_, '_>) -> Read<Type> {
    let code = r.from.number()?;
    Ok(match code {
        0 => {
            let (at, n) = (r.from.at, r.from.number()?);
            let (prefix, signed) = match n & 3 {
                0 => ("i", Scalar::Int as fn(u32) -> Scalar),
                1 => ("si", Scalar::Int as fn(u32) -> Scalar),
                2 => ("ui", Scalar::Unsigned as fn(u32) -> Scalar),
                _ => return Err(Fault::new(at, "expected an integer type that is signless, signed or unsigned")),
            };
            match n >> 2 {
                width @ 1..=0xff_ffff => Type::number(format!("{prefix}{width}"), signed(width as u32)),
                width => return Err(Fault::new(at, format!("an integer type can't have {width} bits"))),
            }
        }
        1 => Type::number("index", Scalar::Index),
        2 => {
            let (inputs, results) = (r.types()?, r.types()?);
            Type::function(&inputs, &results)
        }
        3 => float("bf16", 16),
        4 => float("f16", 16),
        5 => float("f32", 32),
        6 => float("f64", 64),
        7 => float("f80", 80),
        8 => float("f128", 128),
        9 => Type::new(format!("complex<{}>", r.ty()?.text)),
        10 | 11 => {
            let space = if code == 11 { format!(", {}", r.attr()?.text) } else { String::new() };
            let (sizes, element, layout) = (r.signed_list()?, r.ty()?, r.attr()?);
            let plain = layout.text.starts_with("affine_map<") && {
                let names: Vec<String> = (0..sizes.len()).map(|d| format!("d{d}")).collect();
                layout.text == format!("affine_map<({0}) -> ({0})>", names.join(", "))
            };
            let layout = if plain { String::new() } else { format!(", {}", layout.text) };
            Type::new(format!("memref<{}{}{layout}{space}>", dimensions(&sizes), element.text))
        }
        12 => Type::new("none"),
        13 => Type::tensor(r.signed_list()?, r.ty()?, None),
        14 => {
            let encoding = r.attr()?;
            Type::tensor(r.signed_list()?, r.ty()?, Some(&encoding))
        }
        15 => Type::new(format!("tuple<{}>", types(&r.types()?))),
        16 => Type::new(format!("memref<*x{}>", r.ty()?.text)),
        17 => {
            let (space, element) = (r.attr()?, r.ty()?);
            Type::new(format!("memref<*x{}, {}>", element.text, space.text))
        }
        18 => Type::new(format!("tensor<*x{}>", r.ty()?.text)),
        19 | 20 => {
            let scalable = match code {
                20 => r.from.list("dimensions", |from| Ok(from.byte()? != 0))?,
                _ => Vec::new(),
            };
            let (sizes, element) = (r.signed_list()?, r.ty()?);
            let size = |(i, d): (usize, &i64)| match scalable.get(i) {
                Some(true) => format!("[{d}]x"),
                _ => format!("{d}x"),
            };
            let text: String = sizes.iter().enumerate().map(size).collect();
            Type { shaped: Some((sizes, Rc::clone(&element))), ..Type::new(format!("vector<{text}{}>", element.text)) }
        }
        _ => match code.checked_sub(FIRST_NARROW).and_then(|i| NARROW.get(i as usize)) {
            Some(&(name, bits)) => float(name, bits),
            None => return r.no_code(code, "a type of the dialect 'builtin'"),
        },
    })
}

/// Returns the text between the brackets of a list of these.
pub(super) fn texts(items: &[Rc<Attr>]) -> String {
    joined(items.iter().map(|a| &a.text))
}
