//! `dense_resource<key>` and the `{-# dialect_resources: … #-}` trailer that holds the data.
//!
//! The attribute holds the key until the trailer is parsed; then every use becomes a plain dense literal.

use rustc_hash::FxHashMap;

use super::parser::{Parse, Parser};
use crate::diagnostic::Span;
use crate::ir::{Attr, AttrData, ByteString, Name, Op, Program, Ty};
use crate::literal::Literal;

/// The data of the trailer: the bytes and the span of each key.
type Blobs = FxHashMap<ByteString, (Vec<u8>, Span)>;

/// The attribute that replaces each attribute.
type Filled = FxHashMap<Attr, Attr>;

impl Parser<'_> {
    /// Parses `dense_resource<key> : type`.
    pub(super) fn dense_resource(&mut self) -> Parse<AttrData> {
        self.expect_all(&["dense_resource", "<"])?;
        let key = self.resource_key()?;
        self.expect_all(&[">", ":"])?;
        let ty = self.ty()?;
        Ok(AttrData::Resource(key, ty))
    }

    fn resource_key(&mut self) -> Parse<ByteString> {
        if self.tok.kind == super::lexer::Tok::Str { self.byte_string() } else { Ok(self.word()?.into()) }
    }

    /// Parses the trailer and fills in the resources that it defines.
    pub(super) fn resources(&mut self) -> Parse<()> {
        self.expect("{-#")?;
        let mut blobs = Blobs::default();
        while !self.eat("#-}") {
            // `dialect_resources: { builtin: { key: "0x…" } }`, `external_resources: { … }`
            self.resource_key()?;
            self.expect(":")?;
            self.list("{", "}", |p| {
                p.resource_key()?;
                p.expect(":")?;
                p.list("{", "}", |p| p.resource(&mut blobs))
            })?;
            self.eat(",");
        }
        let mut filled = Filled::default();
        for op in (0..self.program.op_count()).map(Op::new) {
            for i in 0..self.program.op(op).attrs.len() {
                let attr = self.program.op(op).attrs[i].1;
                match fill(&mut self.program, attr, &blobs, &mut filled) {
                    Ok(new) if new == attr => {}
                    Ok(new) => self.program.op_mut(op).attrs[i].1 = new,
                    Err((span, message)) => return self.fail(span, message),
                }
            }
        }
        Ok(())
    }

    /// Parses `key: "0x…"`.
    fn resource(&mut self, blobs: &mut Blobs) -> Parse<()> {
        let key = self.resource_key()?;
        self.expect(":")?;
        let span = self.tok.span();
        let content = self.byte_string()?;
        let Some(bytes) = content.as_str().and_then(Self::hex_bytes) else { return Ok(()) };
        match blobs.insert(key.clone(), (bytes, span)) {
            None => Ok(()),
            Some(_) => self.fail(span, format!("the resource '{}' is defined twice", key.shown())),
        }
    }
}

/// Replaces the resources in an attribute by literals. Parsing has limited their nesting.
fn fill(program: &mut Program, attr: Attr, blobs: &Blobs, filled: &mut Filled) -> Result<Attr, (Span, String)> {
    if let Some(&known) = filled.get(&attr) {
        return Ok(known);
    }
    let new = match program.attr_data(attr) {
        AttrData::Resource(key, ty) => match blobs.get(key) {
            Some((bytes, span)) => {
                let literal = literal(program, *ty, bytes);
                let wrong = || format!("resource '{}' doesn't have as many bytes as its type", key.shown());
                AttrData::Dense(*ty, literal.ok_or_else(|| (*span, wrong()))?)
            }
            None => return Ok(attr),
        },
        AttrData::Array(items) => {
            let items = items.clone().into_iter().map(|item| fill(program, item, blobs, filled));
            AttrData::Array(items.collect::<Result<_, _>>()?)
        }
        AttrData::Dict(entries) => AttrData::Dict(fill_entries(program, entries.clone(), blobs, filled)?),
        AttrData::Struct(name, fields) => {
            let name = name.clone();
            AttrData::Struct(name, fill_entries(program, fields.clone(), blobs, filled)?)
        }
        _ => return Ok(attr),
    };
    let new = program.intern_attr(new);
    filled.insert(attr, new);
    Ok(new)
}

fn fill_entries(
    program: &mut Program,
    entries: Vec<(Name, Attr)>,
    blobs: &Blobs,
    filled: &mut Filled,
) -> Result<Vec<(Name, Attr)>, (Span, String)> {
    entries.into_iter().map(|(name, value)| Ok((name, fill(program, value, blobs, filled)?))).collect()
}

/// Returns the literal of a tensor from a resource, whose first four bytes are its alignment.
fn literal(program: &Program, ty: Ty, bytes: &[u8]) -> Option<Literal> {
    let tensor = program.type_data(ty).tensor()?;
    let data = bytes.get(4..).unwrap_or(&[]);
    (tensor.bytes() == Some(data.len())).then(|| Literal::from_bytes(tensor.element, &tensor.shape, data.to_vec()))
}
