//! `dense<…>`: splats, nested lists, hex blobs; and their printing.

use super::lexer::Tok;
use super::number;
use super::parser::{Nest, Parse, Parser};
use super::printer::Printer;
use crate::codes;
use crate::diagnostic::{Diagnostic, Span};
use crate::ir::{Attr, AttrData, ElementClass, ElementType, Shape, TypeData};
use crate::literal::Literal;
use crate::scalar::Scalar;

/// An element before its type is known.
#[derive(Clone, Copy)]
pub(super) struct Element {
    kind: Tok,
    negative: bool,
    // Half the size of usize, because there may be millions of elements.
    start: u32,
    end: u32,
}

impl Parser<'_> {
    /// Parses `dense<…> : type`.
    pub fn dense(&mut self) -> Parse<Attr> {
        let start = self.tok.span();
        self.expect_all(&["dense", "<"])?;
        let mut elements = Vec::new();
        let mut shape = Shape::new();
        let mut blob = None;
        let is_list = self.at("[");
        if self.tok.kind == Tok::Str {
            let span = self.tok.span();
            let text = self.token_text();
            blob = Some((Self::hex_bytes(&text[1..text.len() - 1]), span));
            self.advance();
        } else if is_list {
            self.dense_list(&mut elements, &mut shape, 0)?;
        } else if !self.at(">") {
            self.dense_element(&mut elements)?;
        }
        self.expect_all(&[">", ":"])?;
        let ty_span = self.tok.span();
        let ty = self.ty()?;
        let tensor = match self.program.type_data(ty) {
            TypeData::Tensor(t) if !matches!(t.element, ElementType::Other(_)) => t.clone(),
            // Elements of an unknown type, or a vector: stored as text.
            TypeData::Tensor(_) | TypeData::Opaque(_) => {
                let text = self.text_from(start.start as usize);
                return Ok(self.program.intern_attr(AttrData::Opaque(text)));
            }
            _ => return self.fail(ty_span, "expected a tensor type for a dense literal"),
        };
        let (Some(count), element) = (tensor.elements(), tensor.element) else {
            return self.fail(ty_span, "expected a static type for a dense literal");
        };
        let whole = start.to(ty_span);
        if let Some((bytes, span)) = blob {
            let Some(bytes) = bytes else {
                return self.fail(span, "expected a string of hex digits like \"0x0A0B\"");
            };
            let literal = match blob_literal(bytes, element, &tensor.shape, count) {
                Some(l) => l,
                None => return self.fail(span, format!("the hex string doesn't hold {count} elements of the type")),
            };
            return Ok(self.program.intern_attr(AttrData::Dense(ty, literal)));
        }
        let per = if element.is_complex() { 2 } else { 1 };
        let splat = !is_list && elements.len() == per;
        if !splat
            && (elements.len() != count.saturating_mul(per) || is_list && shape[..] != tensor.shape[..] && count > 0)
        {
            let d = Diagnostic::error(
                codes::LITERAL_SHAPE,
                whole,
                format!("a literal of shape {:?} can't have the type {}", &shape[..], self.program.type_text(ty)),
            )
            .note("give as many elements as the type has, or one for all: dense<0>");
            return self.error(d);
        }
        let mut bytes = Vec::with_capacity(elements.len() / per * element.bytes());
        for e in elements.chunks(per) {
            match self.element_value(e, element) {
                Some(value) => value.encode(element, &mut bytes),
                None => {
                    let message = format!("not a value of {}", self.program.element_text(element));
                    return self.fail(Span { start: e[0].start, end: e[per - 1].end }, message);
                }
            }
        }
        let literal = Literal::from_bytes(element, &tensor.shape, bytes);
        Ok(self.program.intern_attr(AttrData::Dense(ty, literal)))
    }

    pub(super) fn dense_list(&mut self, elements: &mut Vec<Element>, shape: &mut Shape, depth: usize) -> Parse<()> {
        let start = self.tok.span();
        self.expect("[")?;
        if shape.len() <= depth {
            shape.push(-1);
        }
        let mut count = 0;
        if !self.at("]") {
            loop {
                if self.at("[") {
                    self.nested(Nest::Data, |p| p.dense_list(elements, shape, depth + 1))?;
                } else {
                    self.dense_element(elements)?;
                }
                count += 1;
                if !self.eat(",") {
                    break;
                }
            }
        }
        self.expect("]")?;
        if shape[depth] >= 0 && shape[depth] != count {
            return self.fail(start, format!("a row of {count} elements among rows of {}", shape[depth]));
        }
        shape[depth] = count;
        Ok(())
    }

    pub(super) fn dense_element(&mut self, elements: &mut Vec<Element>) -> Parse<()> {
        if self.eat("(") {
            self.dense_element(elements)?;
            self.expect(",")?;
            self.dense_element(elements)?;
            return self.expect(")");
        }
        let start = self.tok.start;
        let negative = self.eat("-");
        if !matches!(self.tok.kind, Tok::Int | Tok::Float | Tok::Str) && !self.at("true") && !self.at("false") {
            return self.fail_expected("a number, true or false");
        }
        let t = self.advance();
        let start = if negative { start } else { t.start };
        elements.push(Element { kind: t.kind, negative, start: start as u32, end: t.end as u32 });
        Ok(())
    }

    pub(super) fn element_value(&self, e: &[Element], element: ElementType) -> Option<Scalar> {
        let text =
            |e: &Element| self.lexer.text[e.start as usize..e.end as usize].trim_start_matches(['-', ' ', '\n', '\t']);
        let first = e.first()?;
        match element.class() {
            ElementClass::Complex => {
                let part = if element == ElementType::C64 { ElementType::F32 } else { ElementType::F64 };
                let value = |e: &Element| number::float(text(e), e.negative, part);
                Some(Scalar::Complex(value(first)?, value(e.get(1)?)?))
            }
            ElementClass::Float if !matches!(first.kind, Tok::Word | Tok::Str) => {
                Some(Scalar::Float(number::float(text(first), first.negative, element)?))
            }
            ElementClass::Bool | ElementClass::Signed | ElementClass::Unsigned => {
                let value = match (first.kind, text(first)) {
                    (Tok::Word, word) => i128::from(word == "true"),
                    (Tok::Int, digits) => match digits.strip_prefix("0x") {
                        Some(hex) => i128::from(u64::from_str_radix(hex, 16).ok()?),
                        None => i128::from(digits.parse::<u64>().ok()?),
                    },
                    _ => return None,
                };
                let value = if first.negative { -value } else { value };
                let bits = element.bits();
                let low = if element.class() == ElementClass::Unsigned { 0 } else { -(1i128 << (bits - 1)) };
                (value >= low && value < 1i128 << bits).then_some(Scalar::Int(value).round(element))
            }
            _ => None,
        }
    }
}

/// Creates a literal from raw bytes: one element is a splat; `i1` is packed in bits, or one byte each.
fn blob_literal(bytes: Vec<u8>, element: ElementType, shape: &[i64], count: usize) -> Option<Literal> {
    let n = element.bytes();
    if element == ElementType::I1 && count > 1 && bytes.len() == count.div_ceil(8) {
        let bits = (0..count).map(|i| bytes[i / 8] >> (i % 8) & 1).collect::<Vec<u8>>();
        return Some(Literal::from_bytes(element, shape, bits));
    }
    let fits = Some(bytes.len()) == count.checked_mul(n) || bytes.len() == n && count > 0;
    // Bits beyond a narrow type's width would give one value two encodings.
    let bytes = match element.bits() {
        8.. => bytes,
        1 => bytes.into_iter().map(|b| u8::from(b != 0)).collect(),
        bits => bytes.into_iter().map(|b| b & ((1 << bits) - 1)).collect(),
    };
    fits.then(|| Literal::from_bytes(element, shape, bytes))
}

/// The largest number of elements of a literal that is printed as text; larger ones are printed as hex.
const MAX_ELEMENTS_AS_TEXT: usize = 100;

impl Printer<'_> {
    /// Prints `dense<…>` without the type.
    pub fn dense_value(&mut self, literal: &Literal) {
        self.text("dense<");
        let n = literal.len();
        if literal.stored_bytes().is_empty() {
            // An empty literal has no element to print; an empty splat has one, which MLIR keeps, too.
        } else if all_equal(literal) {
            self.dense_item(literal, 0);
        } else if n > MAX_ELEMENTS_AS_TEXT && literal.element.bits() >= 8 {
            self.text("\"0x");
            for b in literal.dense_bytes().iter() {
                let digits = b"0123456789ABCDEF";
                self.out.push(digits[usize::from(b >> 4)] as char);
                self.out.push(digits[usize::from(b & 15)] as char);
            }
            self.text("\"");
        } else {
            let mut at = 0;
            self.nested_list(literal, 0, &mut at);
        }
        self.text(">");
    }

    fn nested_list(&mut self, literal: &Literal, depth: usize, at: &mut usize) {
        if depth == literal.shape.len() {
            self.dense_item(literal, *at);
            *at += 1;
            return;
        }
        self.text("[");
        for i in 0..literal.shape[depth] {
            if i > 0 {
                self.text(", ");
            }
            self.nested_list(literal, depth + 1, at);
        }
        self.text("]");
    }

    fn dense_item(&mut self, literal: &Literal, index: usize) {
        let (bytes, element) = (literal.element_bytes(index), literal.element);
        match literal.get(index) {
            Scalar::Int(v) if element == ElementType::I1 => self.text(if v != 0 { "true" } else { "false" }),
            Scalar::Int(v) => self.text(&v.to_string()),
            Scalar::Float(v) => number::print_float(v, bytes, element, &mut self.out),
            Scalar::Complex(re, im) => {
                let (part, half) =
                    (if element == ElementType::C64 { ElementType::F32 } else { ElementType::F64 }, bytes.len() / 2);
                self.text("(");
                number::print_float(re, &bytes[..half], part, &mut self.out);
                self.text(",");
                number::print_float(im, &bytes[half..], part, &mut self.out);
                self.text(")");
            }
        }
    }
}

fn all_equal(literal: &Literal) -> bool {
    let bytes = literal.stored_bytes();
    let n = literal.element.bytes();
    bytes.chunks(n).all(|c| c == &bytes[..n])
}
