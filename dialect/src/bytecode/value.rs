//! Decoded attributes and types: their text, and the data that other attributes need.

use std::fmt::Write;
use std::rc::Rc;

/// An attribute.
pub(super) struct Attr {
    /// Its text in MLIR's syntax.
    pub(super) text: String,
    pub(super) kind: AttrKind,
}

/// The data of an attribute in addition to its text.
pub(super) enum AttrKind {
    Bool(bool),
    Int(i64),
    Str(Vec<u8>),
    Array(Vec<Rc<Attr>>),
    /// Names and values.
    Dict(Vec<(String, Rc<Attr>)>),
    /// A literal: its element type, its bytes as in memory, and the number of elements that they represent.
    Dense(Rc<Type>, Vec<u8>, usize),
    /// A type, and whether it is `none`.
    Type(bool),
    /// The keyword of an enum.
    Word(&'static str),
    /// A list of axes or a similar attribute: the text that other attributes contain.
    Inner(String),
    /// The factors of each dimension of a tensor.
    Factors(Vec<Vec<i64>>),
    /// Numbers that refer to parts of another attribute.
    Numbers(Vec<i64>),
    /// An accuracy: two tolerances, units in the last place, and the mode.
    Accuracy(bool),
    Unit,
    Other,
}

impl Attr {
    pub(super) fn new(text: impl Into<String>, kind: AttrKind) -> Self {
        Self { text: text.into(), kind }
    }

    pub(super) fn other(text: impl Into<String>) -> Self {
        Self::new(text, AttrKind::Other)
    }

    pub(super) fn string(bytes: &[u8]) -> Self {
        Self::new(quoted(bytes), AttrKind::Str(bytes.to_vec()))
    }

    pub(super) fn bool(value: bool) -> Self {
        Self::new(if value { "true" } else { "false" }, AttrKind::Bool(value))
    }

    /// Returns an enum's keyword, `#stablehlo<precision HIGH>`.
    pub(super) fn word(dialect: &str, kind: &str, word: &'static str) -> Self {
        Self::new(format!("#{dialect}<{kind} {word}>"), AttrKind::Word(word))
    }

    pub(super) fn array(items: Vec<Rc<Attr>>) -> Self {
        let text = format!("[{}]", joined(items.iter().map(|a| &a.text)));
        Self::new(text, AttrKind::Array(items))
    }

    pub(super) fn dict(entries: Vec<(String, Rc<Attr>)>) -> Self {
        let text = format!("{{{}}}", joined(entries.iter().map(|(name, value)| entry(name, value))));
        Self::new(text, AttrKind::Dict(entries))
    }

    /// Returns the integers of a literal of 64-bit integers.
    pub(super) fn integers(&self) -> Option<Vec<i64>> {
        let AttrKind::Dense(element, bytes, count) = &self.kind else { return None };
        if element.scalar != Some(Scalar::Int(64)) {
            return None;
        }
        let ints: Vec<i64> = bytes.as_chunks().0.iter().map(|&b| i64::from_le_bytes(b)).collect();
        spread(ints, *count)
    }

    /// Returns the values of a literal of booleans.
    pub(super) fn truths(&self) -> Option<Vec<bool>> {
        let AttrKind::Dense(element, bytes, count) = &self.kind else { return None };
        (element.scalar == Some(Scalar::Int(1))).then_some(())?;
        spread(unpacked(bytes, *count), *count)
    }
}

/// Expands a single element to `count` elements.
fn spread<T: Clone>(values: Vec<T>, count: usize) -> Option<Vec<T>> {
    match values.len() {
        n if n == count => Some(values),
        // The limit prevents a splat from filling memory; such long lists don't occur in programs.
        1 if count < 1 << 16 => Some(vec![values[0].clone(); count]),
        _ => None,
    }
}

/// Returns booleans that are stored in one byte each, or packed in bits; one byte may represent all of them.
pub(super) fn unpacked(bytes: &[u8], count: usize) -> Vec<bool> {
    if count != bytes.len() && count.div_ceil(8) == bytes.len() {
        return (0..count).map(|i| bytes[i / 8] >> (i % 8) & 1 == 1).collect();
    }
    bytes.iter().map(|&b| b != 0).collect()
}

/// A type.
pub(super) struct Type {
    /// Its text in MLIR's syntax.
    pub(super) text: String,
    /// The kind of number, if it is a number.
    pub(super) scalar: Option<Scalar>,
    /// The sizes and the element type, if it is a tensor or a vector.
    pub(super) shaped: Option<(Vec<i64>, Rc<Type>)>,
}

/// The kinds of numbers in attributes.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Scalar {
    /// A signless integer of this many bits.
    Int(u32),
    /// An unsigned integer of this many bits.
    Unsigned(u32),
    Index,
    /// A float of this many bits.
    Float(u32),
}

impl Scalar {
    pub(super) fn bits(self) -> u32 {
        match self {
            Self::Int(bits) | Self::Unsigned(bits) | Self::Float(bits) => bits,
            Self::Index => 64,
        }
    }
}

impl Type {
    pub(super) fn new(text: impl Into<String>) -> Self {
        Self { text: text.into(), scalar: None, shaped: None }
    }

    pub(super) fn number(text: impl Into<String>, scalar: Scalar) -> Self {
        Self { scalar: Some(scalar), ..Self::new(text) }
    }

    /// Returns a tensor type; sizes below 0 are unknown.
    pub(super) fn tensor(sizes: Vec<i64>, element: Rc<Type>, encoding: Option<&Attr>) -> Self {
        let encoding = encoding.map_or(String::new(), |e| format!(", {}", e.text));
        let text = format!("tensor<{}{}{encoding}>", dimensions(&sizes), element.text);
        Self { shaped: Some((sizes, element)), ..Self::new(text) }
    }

    pub(super) fn function(inputs: &[Rc<Type>], results: &[Rc<Type>]) -> Self {
        Self::new(format!("({}) -> ({})", types(inputs), types(results)))
    }

    /// Returns the number of elements, if it is known.
    pub(super) fn elements(&self) -> Option<usize> {
        let sizes = &self.shaped.as_ref()?.0;
        sizes.iter().try_fold(1usize, |n, &d| n.checked_mul(usize::try_from(d).ok()?))
    }
}

/// Returns the type of a float by name and bits.
pub(super) fn float(name: &str, bits: u32) -> Type {
    Type::number(name, Scalar::Float(bits))
}

/// Returns the text `4x?x`.
pub(super) fn dimensions(sizes: &[i64]) -> String {
    let size = |&d: &i64| if d < 0 { "?x".to_owned() } else { format!("{d}x") };
    sizes.iter().map(size).collect()
}

pub(super) fn types(types: &[Rc<Type>]) -> String {
    joined(types.iter().map(|t| &t.text))
}

/// Joins items with commas.
pub(super) fn joined<T: AsRef<str>>(items: impl Iterator<Item = T>) -> String {
    let mut out = String::new();
    for item in items {
        if !out.is_empty() {
            out.push_str(", ");
        }
        out.push_str(item.as_ref());
    }
    out
}

/// Returns the text `[0, 1]`.
pub(super) fn list(values: &[i64]) -> String {
    format!("[{}]", joined(values.iter().map(i64::to_string)))
}

/// Returns the text `name = value`.
pub(super) fn entry(name: &str, value: &Attr) -> String {
    let plain = name.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'.' | b'$'))
        && name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_');
    let name = if plain { name.to_owned() } else { quoted(name.as_bytes()) };
    if matches!(value.kind, AttrKind::Unit) { name } else { format!("{name} = {}", value.text) }
}

/// Returns the text `@name`.
pub(super) fn symbol(name: &[u8]) -> String {
    let plain = |b: &u8| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'$' | b'.' | b'-');
    let first = name.first().is_some_and(|b| b.is_ascii_alphabetic() || *b == b'_');
    match std::str::from_utf8(name) {
        Ok(text) if first && name.iter().all(plain) => format!("@{text}"),
        _ => format!("@{}", quoted(name)),
    }
}

/// Returns a quoted string with unprintable bytes as two hex digits.
pub(super) fn quoted(bytes: &[u8]) -> String {
    let mut out = String::with_capacity(bytes.len() + 2);
    out.push('"');
    for &b in bytes {
        match b {
            b'"' | b'\\' => write!(out, "\\{b:02X}").expect("a string takes everything"),
            0x20..=0x7e => out.push(char::from(b)),
            _ => write!(out, "\\{b:02X}").expect("a string takes everything"),
        }
    }
    out.push('"');
    out
}

/// Returns the text of a float with these bits: decimal for finite f32 and f64, otherwise hex.
pub(super) fn float_text(bits: u64, width: u32) -> String {
    let decimal = match width {
        32 => Some(f32::from_bits(bits as u32)).filter(|v| v.is_finite()).map(|v| format!("{v:e}")),
        64 => Some(f64::from_bits(bits)).filter(|v| v.is_finite()).map(|v| format!("{v:e}")),
        _ => None,
    };
    match decimal {
        Some(text) if text.contains('.') => text,
        Some(text) => text.replacen('e', ".0e", 1),
        None => format!("0x{bits:0width$X}", width = width.div_ceil(4) as usize),
    }
}

/// The largest number of elements of a literal that is written as text; larger ones are written in hex.
const SHOWN: usize = 32;

/// Returns `dense<…> : tensor<…>` of the bytes as in memory.
pub(super) fn dense(ty: &Type, element: &Type, bytes: &[u8], count: usize) -> String {
    let shown = match element.scalar {
        Some(Scalar::Int(1)) => {
            let values = unpacked(bytes, count);
            (values.len() <= SHOWN).then(|| values.iter().map(bool::to_string).collect::<Vec<_>>())
        }
        Some(scalar) if bytes.len() <= SHOWN * 8 => numbers(scalar, bytes),
        _ => None,
    };
    let value = match shown {
        _ if bytes.is_empty() => String::new(),
        Some(values) if values.len() == 1 && (count != 1 || ty.shaped.as_ref().is_none_or(|s| s.0.is_empty())) => {
            values[0].clone()
        }
        Some(values) if values.len() == count => {
            let sizes = ty.shaped.as_ref().map_or(&[][..], |s| &s.0);
            nested(sizes, &mut values.iter())
        }
        _ => hex(&[], bytes),
    };
    format!("dense<{value}> : {}", ty.text)
}

/// Returns the numbers in these bytes as text.
pub(super) fn numbers(scalar: Scalar, bytes: &[u8]) -> Option<Vec<String>> {
    let width = scalar.bits().div_ceil(8).next_power_of_two() as usize;
    if width > 8 || !bytes.len().is_multiple_of(width) {
        return None;
    }
    let number = |chunk: &[u8]| {
        let mut word = [0; 8];
        word[..width].copy_from_slice(chunk);
        number(scalar, u64::from_le_bytes(word))
    };
    Some(bytes.chunks(width).map(number).collect())
}

/// Returns the text of a number with these bits.
pub(super) fn number(scalar: Scalar, bits: u64) -> String {
    let unused = 64 - scalar.bits().clamp(1, 64);
    match scalar {
        Scalar::Int(1) => (bits & 1 == 1).to_string(),
        Scalar::Int(_) | Scalar::Index => ((bits << unused) as i64 >> unused).to_string(),
        Scalar::Unsigned(_) => (bits << unused >> unused).to_string(),
        Scalar::Float(width) => float_text(bits << unused >> unused, width),
    }
}

fn nested<'a>(sizes: &[i64], values: &mut impl Iterator<Item = &'a String>) -> String {
    match sizes {
        [] => values.next().cloned().unwrap_or_default(),
        [size, inner @ ..] => {
            let items: Vec<String> = (0..*size).map(|_| nested(inner, values)).collect();
            format!("[{}]", items.join(", "))
        }
    }
}

/// Returns the text `"0x0A0B"`.
pub(super) fn hex(before: &[u8], bytes: &[u8]) -> String {
    const DIGITS: &[u8; 16] = b"0123456789ABCDEF";
    let mut out = String::with_capacity(2 * (before.len() + bytes.len()) + 4);
    out.push_str("\"0x");
    for b in before.iter().chain(bytes) {
        out.push(char::from(DIGITS[usize::from(b >> 4)]));
        out.push(char::from(DIGITS[usize::from(b & 15)]));
    }
    out.push('"');
    out
}
