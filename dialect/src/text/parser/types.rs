//! Parsing of types.

use crate::codes;
use crate::diagnostic::{Diagnostic, Span};
use crate::ir::{DYNAMIC, ElementType, Quantized, Shape, TensorType, Ty, TypeData};

use super::super::lexer::{Tok, Token};
use super::{Nest, Parse, ParsedOp, Parser, short};

impl<'s> Parser<'s> {
    /// Parses a type.
    pub fn ty(&mut self) -> Parse<Ty> {
        self.nested(Nest::Data, Self::type_inner)
    }

    fn type_inner(&mut self) -> Parse<Ty> {
        let (text, tok) = (self.token_text(), self.tok);
        let data = match tok.kind {
            Tok::Punct if text == "(" => {
                let (inputs, results) = self.functional_type()?;
                TypeData::Function(inputs, results)
            }
            Tok::Bang => {
                self.advance();
                if text == "!stablehlo.token" || text == "!mhlo.token" {
                    TypeData::Token
                } else if let Some(&ty) = self.type_aliases.get(&text[1..]) {
                    return Ok(ty);
                } else if text == "!stablehlo.future" {
                    self.future_type()?
                } else if text == "!mpmd.mesh_tensor" {
                    self.mesh_tensor()?
                } else if text.starts_with("!quant.") {
                    let element = self.quantized(tok)?;
                    TypeData::Scalar(element)
                } else {
                    if self.at("<") {
                        self.skip_balanced()?;
                    }
                    TypeData::Opaque(self.text_from(tok.start))
                }
            }
            Tok::Word if text == "tensor" => {
                self.advance();
                return self.tensor_type();
            }
            Tok::Word if text == "tuple" => {
                self.advance();
                TypeData::Tuple(self.list("<", ">", Self::ty)?)
            }
            Tok::Word if text == "none" => {
                self.advance();
                TypeData::None
            }
            Tok::Word if matches!(text, "memref" | "vector") => {
                self.advance();
                self.skip_balanced()?;
                TypeData::Opaque(self.text_from(tok.start))
            }
            Tok::Word => TypeData::Scalar(self.element_type()?),
            _ => return self.fail_expected("a type"),
        };
        Ok(self.program.intern_type(data))
    }

    /// Parses the rest of a type after `tensor`.
    fn tensor_type(&mut self) -> Parse<Ty> {
        if !self.at("<") {
            return self.fail_expected("'<'");
        }
        let (open, bytes) = (self.tok, self.lexer.text.as_bytes());
        if bytes.get(skip_blanks(bytes, open.end)) == Some(&b'*') {
            self.skip_balanced()?;
            let whole = &self.lexer.text[open.start..self.prev_end];
            return Ok(self.program.intern_type(TypeData::Opaque(format!("tensor{whole}").into())));
        }
        let mut ty = TensorType { shape: self.sizes(open.end)?, ..TensorType::new(&[], ElementType::F32) };
        ty.element = self.element_type()?;
        if ty.elements().is_some_and(|n| n.saturating_mul(ty.element.bytes().max(1)) > 1 << 50) {
            let span = Span::new(open.start, self.prev_end);
            let d = Diagnostic::error(codes::TENSOR_SIZE, span, "the tensor has more than 2^50 bytes");
            return self.error(d.note("no device has that much memory; check the sizes"));
        }
        if self.eat(",") {
            let span = self.tok.span();
            ty.encoding = Some(self.attribute()?);
            self.check_bounds(&ty, span)?;
        }
        self.expect(">")?;
        Ok(self.program.intern_type(ty))
    }

    /// Parses `4x?x`, the sizes of a tensor from byte `at` on. They are read by characters, because `4x8xf32` isn't a
    /// sequence of MLIR tokens.
    fn sizes(&mut self, mut at: usize) -> Parse<Shape> {
        let (text, bytes) = (self.lexer.text, self.lexer.text.as_bytes());
        let mut shape = Shape::new();
        loop {
            at = skip_blanks(bytes, at);
            let start = at;
            let size = match bytes.get(at) {
                Some(b'?') => {
                    at += 1;
                    DYNAMIC
                }
                Some(b'0'..=b'9') => {
                    while bytes.get(at).is_some_and(u8::is_ascii_digit) {
                        at += 1;
                    }
                    match text[start..at].parse::<i64>() {
                        Ok(n) => n,
                        Err(_) => {
                            return self.fail(Span::new(start, at), "the dimension's size doesn't fit in 63 bits");
                        }
                    }
                }
                _ => break,
            };
            if bytes.get(at) != Some(&b'x') {
                let message = "expected 'x' after the dimension's size, then the element type";
                return self.fail(Span::new(start, at), message);
            }
            at += 1;
            shape.push(size);
        }
        self.resume(at);
        Ok(shape)
    }

    /// Checks the upper bounds that an encoding states for dynamic dimensions.
    fn check_bounds(&mut self, ty: &TensorType, span: Span) -> Parse<()> {
        let Some(bounds) = self.program.bounds(ty) else { return Ok(()) };
        if bounds.len() != ty.rank() {
            return self.fail(span, format!("the type has {} bounds for {} dimensions", bounds.len(), ty.rank()));
        }
        match (0..ty.rank()).find(|&d| bounds[d].is_some() && ty.shape[d] != DYNAMIC) {
            Some(d) => {
                let message = format!("dimension {d} has both a size and a bound");
                let e = Diagnostic::error(codes::DIMENSION_BOUND, span, message);
                self.error(e.note("write ? for the bound of a dimension with a static size"))
            }
            None => Ok(()),
        }
    }

    /// Parses `f32`, `complex<f32>`, `!quant…`.
    pub fn element_type(&mut self) -> Parse<ElementType> {
        let (text, tok) = (self.token_text(), self.tok);
        if tok.kind == Tok::Bang {
            self.advance();
            if let Some(&ty) = self.type_aliases.get(&text[1..]) {
                return match self.program.type_data(ty) {
                    &TypeData::Scalar(element) => Ok(element),
                    TypeData::Opaque(text) => {
                        let text = text.clone();
                        Ok(ElementType::Other(self.program.name(&text)))
                    }
                    _ => self.fail(tok.span(), format!("'{text}' is not an element type")),
                };
            }
            if text.starts_with("!quant.") {
                return self.quantized(tok);
            }
            if self.at("<") {
                self.skip_balanced()?;
            }
            let text = self.text_from(tok.start);
            if matches!(&*text, "!stablehlo.token" | "!mhlo.token") {
                return self.fail(tok.span(), "a token is a value, not an element of a tensor");
            }
            return Ok(ElementType::Other(self.program.name(&text)));
        }
        if tok.kind != Tok::Word {
            return self.fail_expected("an element type");
        }
        if text == "complex" {
            self.advance();
            self.expect("<")?;
            let part = self.element_type()?;
            self.expect(">")?;
            return match part {
                ElementType::F32 => Ok(ElementType::C64),
                ElementType::F64 => Ok(ElementType::C128),
                _ => self.fail(tok.span(), "expected complex numbers of f32 or f64"),
            };
        }
        if let Some(e) = ElementType::from_text(text) {
            self.advance();
            return Ok(e);
        }
        let digits =
            text.strip_prefix("si").or(text.strip_prefix("ui")).or(text.strip_prefix('i')).or(text.strip_prefix('f'));
        let known = matches!(text, "tf32" | "f80" | "f128");
        if known || digits.is_some_and(|d| !d.is_empty() && d.bytes().all(|b| b.is_ascii_digit())) {
            self.advance();
            return Ok(ElementType::Other(self.program.name(text)));
        }
        let d = Diagnostic::error(
            codes::UNKNOWN_ELEMENT_TYPE,
            tok.span(),
            format!("'{}' is not an element type", short(text)),
        )
        .note("element types are i1 to i64, ui2 to ui64, f4 to f64, bf16, complex<f32>, complex<f64>");
        self.error(d)
    }

    /// Parses the rest of a type after `!stablehlo.future`: the types of its values.
    fn future_type(&mut self) -> Parse<TypeData> {
        self.expect("<")?;
        let types = self.comma_list(|p| {
            let span = p.tok.span();
            let ty = p.ty()?;
            match p.program.type_data(ty) {
                TypeData::Tensor(_) | TypeData::Token => Ok(ty),
                _ => p.fail(span, "a future holds tensors and tokens"),
            }
        })?;
        self.expect(">")?;
        let types: Vec<String> = types.into_iter().map(|t| self.program.type_text(t)).collect();
        Ok(TypeData::Opaque(format!("!stablehlo.future<{}>", types.join(", ")).into()))
    }

    /// Parses the rest of a type after `!quant.…`; each type has one canonical text, for any spelling.
    fn quantized(&mut self, tok: Token) -> Parse<ElementType> {
        if self.at("<") {
            self.skip_balanced()?;
        }
        let text = self.text_from(tok.start);
        let text: String = match Quantized::parse(&text) {
            Some(Ok(quantized)) => quantized.to_string(),
            Some(Err(message)) => {
                let d = Diagnostic::error(codes::QUANTIZED_TYPE, Span::new(tok.start, self.prev_end), message);
                return self.error(d.note(
                    "write !quant.uniform<i8:f32, 0.5:0>, or with a dimension and values for each of its elements",
                ));
            }
            None => text.into(),
        };
        Ok(ElementType::Other(self.program.name(&text)))
    }

    /// Parses `(A, B) -> C` or `(A) -> (B, C)`.
    pub fn functional_type(&mut self) -> Parse<(Vec<Ty>, Vec<Ty>)> {
        let inputs = self.list("(", ")", Self::ty)?;
        self.expect("->")?;
        let results = if self.at("(") { self.list("(", ")", Self::ty)? } else { vec![self.ty()?] };
        Ok((inputs, results))
    }

    /// Checks the operands' types against the declared ones.
    pub fn check_operands(&mut self, op: &ParsedOp, types: &[Ty]) -> Parse<()> {
        if op.operands.len() != types.len() {
            let message = format!("'{}' has {} operands but {} operand types", op.name, op.operands.len(), types.len());
            return self.fail(op.span, message);
        }
        for (i, (&v, &ty)) in op.operands.iter().zip(types).enumerate() {
            let actual = self.program.value_type(v);
            if actual != ty {
                let (a, t) = (self.program.type_text(actual), self.program.type_text(ty));
                let d = Diagnostic::error(
                    codes::OPERAND_TYPE,
                    op.operand_spans[i],
                    format!("operand {i} is {a}, but the op declares {t}"),
                )
                .also(self.program.value_span(v), format!("defined here as {a}"))
                .note("make the op's type that of the value, or use another value");
                return self.error(d);
            }
        }
        Ok(())
    }

    /// Consumes a whole bracketed group that starts at the current token, with any content.
    pub(in crate::text) fn skip_balanced(&mut self) -> Parse<()> {
        let opened = self.tok.span();
        let mut stack: Vec<u8> = Vec::new();
        loop {
            let text = self.token_text();
            match (self.tok.kind, text) {
                (Tok::End, _) => {
                    let d = Diagnostic::error(
                        codes::UNCLOSED_BRACKET,
                        self.tok.span(),
                        "expected a closing bracket, found the end of the text",
                    )
                    .also(opened, "opened here")
                    .note("close the bracket");
                    return self.error(d);
                }
                // `>=` and `<=` are comparisons, as in a set's constraints.
                (Tok::Punct, "<" | ">") if self.lexer.text[self.tok.end..].starts_with('=') => {}
                (Tok::Punct, "<" | "(" | "[" | "{") => stack.push(text.as_bytes()[0]),
                (Tok::Punct, ">" | ")" | "]" | "}") => {
                    let open = match text {
                        ">" => b'<',
                        ")" => b'(',
                        "]" => b'[',
                        _ => b'{',
                    };
                    if stack.pop() != Some(open) {
                        return self.fail(self.tok.span(), format!("'{text}' has no matching opening bracket"));
                    }
                }
                _ => {}
            }
            self.advance();
            if stack.is_empty() {
                return Ok(());
            }
        }
    }
}

/// Returns the first byte from `at` on that isn't blank.
fn skip_blanks(bytes: &[u8], mut at: usize) -> usize {
    while bytes.get(at).is_some_and(u8::is_ascii_whitespace) {
        at += 1;
    }
    at
}
