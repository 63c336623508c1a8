//! The header of a `.npy` array: a Python dict of dtype, order and shape. Decodes the bytes that follow it.
//!
//! Reads only the dicts that NumPy writes, by a parser that neither recurses nor allocates more than the length of the
//! text. After [`Header::read`], the number of elements fits an i64 even if zeros in the shape are left out.

use std::io::Read;

use bytes::Bytes;
use dialect::ir::{ElementType, Shape};
use dialect::literal::Literal;

/// The first bytes of every array.
pub(super) const MAGIC: &[u8] = b"\x93NUMPY";

/// Longer headers are rejected, because no array of numbers needs one.
const MAX_TEXT: usize = 1 << 16;

/// The maximum number of dimensions in NumPy.
const MAX_RANK: usize = 64;

/// The description of an array that precedes its data.
#[derive(Debug, PartialEq)]
pub(super) struct Header {
    /// Element type of the array.
    pub(super) element: ElementType,
    /// Sizes of the dimensions.
    pub(super) shape: Shape,
    /// Whether the first index varies fastest (Fortran order).
    fortran: bool,
    /// Whether numbers are big-endian.
    big_endian: bool,
}

impl Header {
    /// Reads a header. Afterwards the reader is at the start of the data.
    pub(super) fn read(r: &mut impl Read) -> Result<Self, String> {
        let mut fixed = [0; 8];
        let cut = |_| "the file ends inside the array's header".to_owned();
        r.read_exact(&mut fixed).map_err(cut)?;
        if !fixed.starts_with(MAGIC) {
            return Err("not an .npy array: the magic string is missing".into());
        }
        let length = match fixed[6] {
            1 => {
                let mut b = [0; 2];
                r.read_exact(&mut b).map_err(cut)?;
                u16::from_le_bytes(b) as usize
            }
            2 | 3 => {
                let mut b = [0; 4];
                r.read_exact(&mut b).map_err(cut)?;
                u32::from_le_bytes(b) as usize
            }
            version => return Err(format!("version {version} of the .npy format is not supported (1, 2 and 3 are)")),
        };
        if length > MAX_TEXT {
            return Err(format!("the header has {length} bytes; at most {MAX_TEXT} are supported"));
        }
        let mut text = vec![0; length];
        r.read_exact(&mut text).map_err(cut)?;
        Self::parse(std::str::from_utf8(&text).map_err(|_| "the header is not text".to_owned())?)
    }

    /// Parses the text of the dict.
    fn parse(text: &str) -> Result<Self, String> {
        let mut dict = Cursor { rest: text.trim() };
        let (mut descr, mut fortran, mut shape) = (None, None, None);
        dict.expect('{')?;
        while !dict.eat('}') {
            let key = dict.string()?;
            dict.expect(':')?;
            match key {
                "descr" => descr = Some(dict.dtype()?),
                "fortran_order" => fortran = Some(dict.boolean()?),
                "shape" => shape = Some(dict.shape()?),
                _ => return Err(format!("unexpected '{key}' in the header")),
            }
            if !dict.eat(',') {
                dict.expect('}')?;
                break;
            }
        }
        match (descr, fortran, shape) {
            (Some((element, big_endian)), Some(fortran), Some(shape)) => {
                Ok(Self { element, shape, fortran, big_endian })
            }
            _ => Err("the header lacks one of 'descr', 'fortran_order' and 'shape'".into()),
        }
    }

    /// Returns the header for writing a literal: row-major and little-endian.
    pub(super) fn of(literal: &Literal) -> Result<Self, String> {
        let element = literal.element;
        if element.bytes() == 0 {
            return Err("an array of an unknown element type can't be written".into());
        }
        Ok(Self { element, shape: literal.shape.clone(), fortran: false, big_endian: false })
    }

    /// Encodes the header as NumPy does: version 1.0, padded so that the data starts at a multiple of 64 bytes.
    pub(super) fn encode(&self) -> Vec<u8> {
        let dims: String = self.shape.iter().map(|d| format!("{d}, ")).collect();
        let dims = if self.shape.len() > 1 { dims.trim_end_matches(", ") } else { dims.trim_end() };
        let descr = dtype_text(self.element);
        let mut text = format!("{{'descr': '{descr}', 'fortran_order': False, 'shape': ({dims}), }}");
        let fixed = MAGIC.len() + 4;
        let whole = (fixed + text.len() + 1).next_multiple_of(64);
        text.extend(std::iter::repeat_n(' ', whole - fixed - text.len() - 1));
        text.push('\n');
        // Even 1,000 dimensions of 19 digits fit the 16 bits of a version 1.0 length.
        let length = text.len() as u16;
        [MAGIC, &[1, 0], &length.to_le_bytes(), text.as_bytes()].concat()
    }

    /// Returns the size of the data in bytes; `None` if it exceeds the address space.
    pub(super) fn data_bytes(&self) -> Option<usize> {
        let elements = self.shape.iter().try_fold(1usize, |n, &d| n.checked_mul(usize::try_from(d).ok()?));
        elements?.checked_mul(self.element.bytes())
    }

    /// Returns the array with this data, which must have [`Header::data_bytes`] bytes. Copies it only if literals
    /// represent elements differently from the file.
    pub(super) fn literal(&self, data: Bytes) -> Literal {
        let width = self.element.bytes();
        let as_kept = !self.big_endian
            && (!self.fortran || self.shape.len() < 2)
            && (self.element != ElementType::I1 || data.iter().all(|&b| b < 2));
        if as_kept {
            return Literal::from_bytes(self.element, &self.shape, data);
        }
        let mut data = Vec::from(data);
        if self.big_endian {
            let number = if self.element.is_complex() { width / 2 } else { width };
            data.chunks_exact_mut(number).for_each(<[u8]>::reverse);
        }
        if self.element == ElementType::I1 {
            data.iter_mut().for_each(|b| *b = u8::from(*b != 0));
        }
        if self.fortran && self.shape.len() > 1 {
            data = row_major(&data, &self.shape, width);
        }
        Literal::from_bytes(self.element, &self.shape, data)
    }
}

/// Reorders elements of `width` bytes from Fortran order (first index fastest) to row-major.
fn row_major(data: &[u8], shape: &[i64], width: usize) -> Vec<u8> {
    let mut out = Vec::with_capacity(data.len());
    let mut strides = vec![width; shape.len()];
    for d in 1..shape.len() {
        strides[d] = strides[d - 1] * shape[d - 1] as usize;
    }
    let mut index = vec![0; shape.len()];
    let mut at = 0;
    while out.len() < data.len() {
        out.extend_from_slice(&data[at..at + width]);
        for d in (0..shape.len()).rev() {
            index[d] += 1;
            at += strides[d];
            if index[d] < shape[d] {
                break;
            }
            at -= strides[d] * shape[d] as usize;
            index[d] = 0;
        }
    }
    out
}

/// The element type for a dtype's kind and width. Raw bytes of unknown type are `ui8`.
const DTYPES: &[(&str, ElementType)] = &[
    ("b1", ElementType::I1),
    ("i1", ElementType::I8),
    ("i2", ElementType::I16),
    ("i4", ElementType::I32),
    ("i8", ElementType::I64),
    ("u1", ElementType::UI8),
    ("u2", ElementType::UI16),
    ("u4", ElementType::UI32),
    ("u8", ElementType::UI64),
    ("f1", ElementType::F8E5M2),
    ("f2", ElementType::F16),
    ("f4", ElementType::F32),
    ("f8", ElementType::F64),
    ("c8", ElementType::C64),
    ("c16", ElementType::C128),
    ("V2", ElementType::BF16),
    ("V1", ElementType::UI8),
];

/// Returns the dtype as which an element type is written.
fn dtype_text(element: ElementType) -> String {
    let stored = match element {
        ElementType::Index => ElementType::I64,
        ElementType::I2 | ElementType::I4 => ElementType::I8,
        ElementType::UI2 | ElementType::UI4 => ElementType::UI8,
        other => other,
    };
    let known = DTYPES.iter().find(|&&(text, e)| e == stored && text != "f1");
    let kind = known.map_or("V1", |&(text, _)| text);
    let order = if stored.bytes() == 1 || stored == ElementType::BF16 { '|' } else { '<' };
    format!("{order}{kind}")
}

/// The unread part of a header's text.
struct Cursor<'a> {
    rest: &'a str,
}

impl<'a> Cursor<'a> {
    fn eat(&mut self, c: char) -> bool {
        let after = self.rest.trim_start().strip_prefix(c);
        self.rest = after.unwrap_or(self.rest);
        after.is_some()
    }

    fn expect(&mut self, c: char) -> Result<(), String> {
        if self.eat(c) { Ok(()) } else { Err(format!("expected '{c}' in the header, found '{}'", self.found())) }
    }

    /// Returns the start of the unread part, for messages.
    fn found(&self) -> String {
        self.rest.trim_start().chars().take(20).collect()
    }

    fn string(&mut self) -> Result<&'a str, String> {
        let quote = if self.eat('"') { '"' } else { self.expect('\'').map(|()| '\'')? };
        let (text, rest) = self.rest.split_once(quote).ok_or("a string in the header is unterminated")?;
        self.rest = rest;
        Ok(text)
    }

    fn boolean(&mut self) -> Result<bool, String> {
        let rest = self.rest.trim_start();
        for (text, value) in [("True", true), ("False", false)] {
            if let Some(after) = rest.strip_prefix(text) {
                self.rest = after;
                return Ok(value);
            }
        }
        Err(format!("expected True or False in the header, found '{}'", self.found()))
    }

    /// Reads the element type, and whether it is big-endian.
    fn dtype(&mut self) -> Result<(ElementType, bool), String> {
        if self.rest.trim_start().starts_with('[') {
            return Err("records (structured dtypes) are not tensors".into());
        }
        let text = self.string()?;
        let kind = text.trim_start_matches(['<', '>', '|', '=']);
        let known = DTYPES.iter().find(|&&(name, _)| name == kind);
        let element = known.map(|&(_, e)| e).ok_or_else(|| {
            format!(
                "dtype '{text}' is not supported; convert the array to bool, int, uint, float, complex, or bf16 as \
                '|V2'"
            )
        })?;
        Ok((element, text.starts_with('>')))
    }

    /// Reads a tuple of sizes.
    fn shape(&mut self) -> Result<Shape, String> {
        self.expect('(')?;
        let mut shape = Shape::new();
        let mut elements = 1i64;
        while !self.eat(')') {
            let rest = self.rest.trim_start();
            let (digits, after) = rest.split_at(rest.find(|c: char| !c.is_ascii_digit()).unwrap_or(rest.len()));
            let size: i64 =
                digits.parse().map_err(|_| format!("expected a size in the shape, found '{}'", self.found()))?;
            // Python 2 wrote long integers with an L.
            self.rest = after.strip_prefix('L').unwrap_or(after);
            shape.push(size);
            elements = elements.checked_mul(size.max(1)).ok_or("the number of elements of the shape overflows")?;
            if shape.len() > MAX_RANK {
                return Err(format!("more than {MAX_RANK} dimensions"));
            }
            if !self.eat(',') {
                self.expect(')')?;
                break;
            }
        }
        Ok(shape)
    }
}
