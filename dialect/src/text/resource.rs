//! `dense_resource<key>` and the `{-# dialect_resources: … #-}` trailer that holds the data.
//!
//! The attribute holds the key until the trailer is parsed; then every use becomes a plain dense literal.

use super::parser::{Parse, Parser};
use crate::diagnostic::Span;
use crate::ir::{AttrData, Op};
use crate::literal::Literal;

impl Parser<'_> {
    /// Parses `dense_resource<key> : type`.
    pub(super) fn dense_resource(&mut self) -> Parse<AttrData> {
        self.expect("dense_resource")?;
        self.expect("<")?;
        let key = self.resource_key()?;
        self.expect(">")?;
        self.expect(":")?;
        let ty = self.ty()?;
        Ok(AttrData::Resource(key.into(), ty))
    }

    fn resource_key(&mut self) -> Parse<String> {
        if self.tok.kind == super::lexer::Tok::Str { self.string() } else { Ok(self.word()?.to_owned()) }
    }

    /// Parses the trailer and fills in what it defines.
    pub(super) fn resources(&mut self) -> Parse<()> {
        self.expect("{-#")?;
        let mut blobs: Vec<(String, Vec<u8>, Span)> = Vec::new();
        while !self.eat("#-}") {
            // `dialect_resources: { builtin: { key: "0x…" } }`, `external_resources: { … }`
            self.resource_key()?;
            self.expect(":")?;
            self.list("{", "}", |p| {
                p.resource_key()?;
                p.expect(":")?;
                p.list("{", "}", |p| {
                    let key = p.resource_key()?;
                    p.expect(":")?;
                    let span = p.tok.span();
                    let content = p.string()?;
                    if blobs.iter().any(|b| b.0 == key) {
                        let message = format!("the resource '{key}' is defined twice");
                        return p.fail(span, message);
                    }
                    if let Some(bytes) = Self::hex_bytes(&content) {
                        blobs.push((key, bytes, span));
                    }
                    Ok(())
                })
            })?;
            self.eat(",");
        }
        for index in 0..self.program.op_count() {
            let op = Op::new(index);
            for i in 0..self.program.op(op).attrs.len() {
                let AttrData::Resource(key, ty) = self.program.attr_data(self.program.op(op).attrs[i].1).clone() else {
                    continue;
                };
                let Some((_, bytes, span)) = blobs.iter().find(|b| *b.0 == *key) else { continue };
                let span = *span;
                let tensor = self.program.type_data(ty).tensor().cloned();
                // The first four bytes are the alignment.
                let data = bytes.get(4..).unwrap_or(&[]).to_vec();
                match tensor {
                    Some(t) if t.bytes() == Some(data.len()) => {
                        let literal = Literal::from_bytes(t.element, &t.shape, data);
                        let attr = self.program.intern_attr(AttrData::Dense(ty, literal));
                        self.program.op_mut(op).attrs[i].1 = attr;
                    }
                    _ => {
                        return self.fail(span, format!("resource '{key}' doesn't hold as many bytes as its type has"));
                    }
                }
            }
        }
        Ok(())
    }
}
