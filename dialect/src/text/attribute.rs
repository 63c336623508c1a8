//! The text of attributes: builtin ones, StableHLO's enums and parameter structs, and all others as opaque text.

use super::lexer::{Lexer, Tok};
use super::parser::{Nest, Parse, Parser};
use super::words::{ENUMS, STRUCTS};
use crate::codes;
use crate::diagnostic::{Diagnostic, Span};
use crate::ir::{Attr, AttrData, ConvDims, ElementType, Name, TypeData};

/// The value of each hex digit; 255 for any other byte.
const HEX: [u8; 256] = {
    let mut table = [255; 256];
    let digits = b"0123456789abcdef";
    let mut i = 0;
    while i < 16 {
        table[digits[i] as usize] = i as u8;
        table[digits[i].to_ascii_uppercase() as usize] = i as u8;
        i += 1;
    }
    table
};

/// Appends a string's text, with control characters as escapes like `\0A`.
fn escape_controls(text: &str, out: &mut String) {
    let mut escaped = false;
    for c in text.chars() {
        match (c.is_ascii_control(), escaped) {
            (true, true) => out.push_str(&format!("{:02X}", c as u32)),
            (true, false) => out.push_str(&format!("\\{:02X}", c as u32)),
            (false, _) => out.push(c),
        }
        escaped = c == '\\' && !escaped;
    }
}

impl<'s> Parser<'s> {
    /// Parses an attribute.
    pub fn attribute(&mut self) -> Parse<Attr> {
        let data = self.nested(Nest::Data, Self::attribute_data)?;
        match data {
            Ok(attr) => Ok(attr),
            Err(data) => Ok(self.program.intern_attr(data)),
        }
    }

    /// Parses an attribute: returns an existing id (an alias), or data to intern.
    fn attribute_data(&mut self) -> Parse<Result<Attr, AttrData>> {
        let text = self.token_text();
        let data = match self.tok.kind {
            Tok::Str => AttrData::String(self.byte_string()?),
            Tok::At => self.symbol_attribute()?,
            Tok::Hash => return self.hash_attribute(),
            Tok::Int | Tok::Float => self.number_attribute()?,
            Tok::Punct if text == "-" => self.number_attribute()?,
            Tok::Punct if text == "[" => AttrData::Array(self.list("[", "]", Self::attribute)?),
            Tok::Punct if text == "{" => {
                let mut entries = self.dict_entries()?;
                entries.sort_by(|a, b| self.program.name_text(a.0).cmp(self.program.name_text(b.0)));
                AttrData::Dict(entries)
            }
            Tok::Word => match text {
                "unit" => {
                    self.advance();
                    AttrData::Unit
                }
                "true" | "false" => {
                    self.advance();
                    AttrData::Bool(text == "true")
                }
                "dense" => return self.dense().map(Ok),
                "dense_resource" => self.dense_resource()?,
                "array" => self.dense_array()?,
                "loc" => {
                    let start = self.tok.start;
                    self.location()?;
                    AttrData::Opaque(self.text_from(start))
                }
                "sparse" => return self.sparse().map(Ok),
                "affine_map" | "affine_set" | "strided" | "distinct" => {
                    let start = self.tok.start;
                    self.advance();
                    self.skip_balanced()?;
                    if self.at("<") {
                        self.skip_balanced()?;
                    }
                    AttrData::Opaque(self.text_from(start))
                }
                _ => AttrData::Type(self.ty()?),
            },
            Tok::Bang => AttrData::Type(self.ty()?),
            Tok::Punct if text == "(" => AttrData::Type(self.ty()?),
            _ => return self.fail_expected("an attribute"),
        };
        Ok(Err(data))
    }

    fn symbol_attribute(&mut self) -> Parse<AttrData> {
        let mut path = self.symbol()?;
        while self.eat("::") {
            path.push_str("::@");
            path.push_str(&self.symbol()?);
        }
        Ok(AttrData::Symbol(path.into()))
    }

    fn number_attribute(&mut self) -> Parse<AttrData> {
        let start = self.tok.start;
        let negative = self.eat("-");
        let (kind, text, span) = (self.tok.kind, self.token_text(), self.tok.span());
        if !matches!(kind, Tok::Int | Tok::Float) {
            return self.fail_expected("a number");
        }
        self.advance();
        let ty = if self.eat(":") { Some(self.ty()?) } else { None };
        let element = match ty.map(|t| self.program.type_data(t)) {
            Some(TypeData::Scalar(e)) => *e,
            Some(_) => return self.fail(span, "expected an integer or float type for a number"),
            None if kind == Tok::Int => ElementType::I64,
            None => ElementType::F64,
        };
        let ty = match ty {
            Some(t) => t,
            None => self.program.intern_type(TypeData::Scalar(element)),
        };
        let span = Span::new(start, span.end as usize);
        if element.is_float() {
            let value = match super::number::float(text, negative, element) {
                Some(v) => v,
                None => return self.fail(span, "the number doesn't fit its type"),
            };
            return Ok(AttrData::Float(value.to_bits(), ty));
        }
        let bits = match text.strip_prefix("0x") {
            Some(hex) => u64::from_str_radix(hex, 16).ok(),
            None => text.parse::<u64>().ok(),
        };
        match bits {
            Some(v) if kind == Tok::Int && element == ElementType::I1 && v < 2 => Ok(AttrData::Bool(v == 1)),
            Some(v) if kind == Tok::Int && (!negative || v <= 1 << 63) => {
                Ok(AttrData::Int(if negative { (v as i64).wrapping_neg() } else { v as i64 }, ty))
            }
            _ => self.fail(span, "expected an integer of at most 64 bits"),
        }
    }

    /// Parses `array<i64: 1, 2>`.
    fn dense_array(&mut self) -> Parse<AttrData> {
        self.expect_all(&["array", "<"])?;
        let element = self.element_type()?;
        let mut values = Vec::new();
        if self.eat(":") {
            values = self.comma_list(|p| match p.token_text() {
                "true" | "false" => Ok(i64::from(p.word()? == "true")),
                _ if element.is_float() => {
                    let start = p.tok.start;
                    let negative = p.eat("-");
                    let t = p.advance();
                    match super::number::float(&p.lexer.text[t.start..t.end], negative, element) {
                        Some(v) => Ok(v.to_bits() as i64),
                        None => p.fail(Span::new(start, t.end), "expected a number"),
                    }
                }
                _ => p.integer(),
            })?;
        }
        self.expect(">")?;
        Ok(AttrData::DenseArray(element, values))
    }

    /// Parses `#alias`, `#stablehlo<kind VALUE>`, `#stablehlo.name<…>`, `#sdy.…`.
    fn hash_attribute(&mut self) -> Parse<Result<Attr, AttrData>> {
        let (tok, name) = (self.tok, &self.token_text()[1..]);
        if let Some(&attr) = self.attr_aliases.get(name) {
            self.advance();
            return Ok(Ok(attr));
        }
        if let Some(kind) = name.strip_prefix("sdy.") {
            self.advance();
            return self.sdy_attribute(kind, tok).map(Err);
        }
        self.advance();
        if let Some(kind) = name.strip_prefix("mpmd.")
            && let Some(data) = self.mpmd_attribute(kind)?
        {
            return Ok(Err(data));
        }
        // Names of aliases have no dot; an attribute of a dialect may have no parameters.
        if !self.at("<") && name.contains('.') {
            return Ok(Err(AttrData::Opaque(self.text_from(tok.start))));
        }
        if !self.at("<") {
            let d =
                Diagnostic::error(codes::UNKNOWN_ALIAS, tok.span(), format!("attribute alias #{name} is not defined"))
                    .note("define it before its first use: #alias = …");
            return self.error(d);
        }
        if name == "sdy"
            && let Some(data) = self.attempt(Self::sdy_bare_attribute)
        {
            return Ok(Err(data));
        }
        if matches!(name, "stablehlo" | "chlo" | "mhlo" | "vhlo") {
            let span = self.tok.span();
            if let Some(data) = self.attempt(|p| p.enum_attribute(name)) {
                if let AttrData::Enum(_, kind, value) = &data {
                    let place = span.to(Span::new(self.prev_end, self.prev_end));
                    self.known_value(kind, value, place)?;
                }
                return Ok(Err(data));
            }
        }
        if name == "stablehlo.conv" {
            self.expect("<")?;
            let dims = if self.eat("raw") { self.raw_conv_dims()? } else { self.conv_dims()? };
            self.expect(">")?;
            return Ok(Err(AttrData::ConvDims(dims)));
        }
        if name == "stablehlo.bounds"
            && let Some(bounds) = self.attempt(Self::bounds)
        {
            return Ok(Err(AttrData::Opaque(bounds.into())));
        }
        if matches!(name, "stablehlo.type_extensions" | "mhlo.type_extensions")
            && let Some(bounds) = self.attempt(Self::older_bounds)
        {
            return Ok(Err(AttrData::Opaque(bounds.into())));
        }
        if let Some(keys) = STRUCTS.iter().find(|s| s.0 == name).map(|s| s.1) {
            let fields = self.known_fields(name, keys)?;
            return Ok(Err(AttrData::Struct(name.into(), fields)));
        }
        if let Some(fields) = self.attempt(Self::struct_fields) {
            return Ok(Err(AttrData::Struct(name.into(), fields)));
        }
        self.skip_balanced()?;
        Ok(Err(AttrData::Opaque(self.text_from(tok.start))))
    }

    /// Parses `<4, ?>`, the upper bound of each dynamic dimension, and returns the whole attribute's text.
    fn bounds(&mut self) -> Parse<String> {
        self.bound_list("<", ">")
    }

    /// Parses `<bounds = [4, ?]>`.
    fn older_bounds(&mut self) -> Parse<String> {
        self.expect_all(&["<", "bounds", "="])?;
        let bounds = self.bound_list("[", "]")?;
        self.expect(">")?;
        Ok(bounds)
    }

    fn bound_list(&mut self, open: &str, close: &str) -> Parse<String> {
        let items =
            self.list(open, close, |p| if p.eat("?") { Ok("?".to_owned()) } else { Ok(p.integer()?.to_string()) })?;
        Ok(format!("#stablehlo.bounds<{}>", items.join(", ")))
    }

    /// Parses the fields of a struct with known keys, each at most once.
    fn known_fields(&mut self, name: &str, keys: &[&str]) -> Parse<Vec<(Name, Attr)>> {
        let start = self.tok.span();
        let mut spans = Vec::new();
        let mut fields = self.struct_fields_at(&mut spans)?;
        for (i, &(key, _)) in fields.iter().enumerate() {
            let text = self.program.name_text(key).to_owned();
            if !keys.contains(&text.as_str()) {
                let d = Diagnostic::error(
                    codes::UNKNOWN_ATTRIBUTE_FIELD,
                    spans[i],
                    format!("#{name} has no field '{text}'"),
                );
                return self.error(d.note(format!("it has {}", keys.join(", "))));
            }
            if fields[..i].iter().any(|f| f.0 == key) {
                return self.fail(spans[i], format!("#{name} has the field '{text}' twice"));
            }
        }
        if fields.is_empty() && name == "stablehlo.channel_handle" {
            return self.fail(start, "a channel handle has both a handle and a type");
        }
        // An omitted field is the same as an empty one.
        fields.retain(|f| !matches!(self.program.attr_data(f.1), AttrData::DenseArray(_, v) if v.is_empty()));
        Ok(fields)
    }

    /// Returns the text between byte `start` and the current token, with aliases expanded and comments replaced by
    /// blanks: the form in which unknown text is stored.
    pub(super) fn text_from(&self, start: usize) -> Box<str> {
        let text = self.lexer.text;
        let mut lexer = Lexer { text, at: start };
        let (mut out, mut at) = (String::new(), start);
        while lexer.at < self.prev_end {
            let t = lexer.next();
            if t.end > self.prev_end {
                break;
            }
            let gap = &text[at..t.start];
            out.push_str(if gap.contains("//") { " " } else { gap });
            let whole = &text[t.start..t.end];
            match t.kind {
                Tok::Hash => match self.attr_aliases.get(&whole[1..]) {
                    Some(&attr) => out.push_str(&self.program.attr_text(attr)),
                    None => out.push_str(whole),
                },
                Tok::Bang => match self.type_aliases.get(&whole[1..]) {
                    Some(&ty) => out.push_str(&self.program.type_text(ty)),
                    None => out.push_str(whole),
                },
                // Bytecode ends such a text with a zero byte.
                Tok::Str | Tok::At if whole.contains(|c: char| c.is_ascii_control()) => {
                    escape_controls(whole, &mut out)
                }
                _ => out.push_str(whole),
            }
            at = t.end;
        }
        out.into()
    }

    /// Parses a value of one of StableHLO's enums.
    pub fn enum_value(&mut self, kind: &str) -> Parse<&'s str> {
        let span = self.tok.span();
        let word = self.word()?;
        self.known_value(kind, word, span)?;
        Ok(word)
    }

    fn known_value(&mut self, kind: &str, value: &str, span: Span) -> Parse<()> {
        let Some((_, values)) = ENUMS.iter().find(|e| e.0 == kind).filter(|e| !e.1.contains(&value)) else {
            return Ok(());
        };
        let d = Diagnostic::error(
            codes::UNKNOWN_ENUM_VALUE,
            span,
            format!("'{}' is not a valid {}", super::parser::short(value), kind.replace('_', " ")),
        );
        self.error(d.note(format!("the values are {}", values.join(", "))))
    }

    fn enum_attribute(&mut self, dialect: &str) -> Parse<AttrData> {
        self.expect("<")?;
        let kind = self.word()?;
        let value = self.word()?;
        self.expect(">")?;
        Ok(AttrData::Enum(dialect.into(), kind.into(), value.into()))
    }

    /// Parses `<key = value, …>` with lists of integers, integers, words, and attributes.
    pub fn struct_fields(&mut self) -> Parse<Vec<(Name, Attr)>> {
        self.struct_fields_at(&mut Vec::new())
    }

    fn struct_fields_at(&mut self, spans: &mut Vec<Span>) -> Parse<Vec<(Name, Attr)>> {
        let mut fields = Vec::new();
        self.expect("<")?;
        while !self.eat(">") {
            spans.push(self.tok.span());
            fields.push(self.struct_field()?);
            if !self.at(">") {
                self.expect(",")?;
            }
        }
        Ok(fields)
    }

    fn struct_field(&mut self) -> Parse<(Name, Attr)> {
        let key = self.word()?;
        self.expect("=")?;
        let attr = match self.tok.kind {
            Tok::Punct if self.at("[") => match self.attempt(Self::int_list) {
                Some(ints) => self.program.attr_i64s(&ints),
                None => self.attribute()?,
            },
            // `(1)2`: a part of an axis.
            Tok::Punct if self.at("(") => {
                self.expect("(")?;
                let pre = self.integer()?;
                self.expect(")")?;
                let part = format!("({pre}){}", self.integer()?);
                self.program.intern_attr(AttrData::Opaque(part.into()))
            }
            Tok::Word if !matches!(self.token_text(), "dense" | "array" | "true" | "false") => {
                let word = self.word()?;
                self.program.intern_attr(AttrData::Opaque(word.into()))
            }
            _ => self.attribute()?,
        };
        Ok((self.program.name(key), attr))
    }

    /// Parses `input_batch_dimension = 0, …`, with every field once, by name.
    fn raw_conv_dims(&mut self) -> Parse<ConvDims> {
        let (start, mut seen) = (self.tok.span(), Vec::new());
        let mut dims = ConvDims::default();
        self.comma_list(|p| {
            let span = p.tok.span();
            let word = p.word()?;
            if seen.contains(&word) {
                return p.fail(span, format!("'{word}' is given twice"));
            }
            seen.push(word);
            p.expect("=")?;
            match word {
                "input_batch_dimension" => dims.input_batch = p.integer()?,
                "input_feature_dimension" => dims.input_feature = p.integer()?,
                "input_spatial_dimensions" => dims.input_spatial = p.int_list()?,
                "kernel_input_feature_dimension" => dims.kernel_input_feature = p.integer()?,
                "kernel_output_feature_dimension" => dims.kernel_output_feature = p.integer()?,
                "kernel_spatial_dimensions" => dims.kernel_spatial = p.int_list()?,
                "output_batch_dimension" => dims.output_batch = p.integer()?,
                "output_feature_dimension" => dims.output_feature = p.integer()?,
                "output_spatial_dimensions" => dims.output_spatial = p.int_list()?,
                _ => return p.fail(span, format!("'{word}' is not a dimension of a convolution")),
            }
            Ok(())
        })?;
        if seen.len() == 9 {
            Ok(dims)
        } else {
            self.fail(start, format!("expected all 9 kinds of dimensions, found {}", seen.len()))
        }
    }

    /// Parses `[b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f]`.
    pub fn conv_dims(&mut self) -> Parse<ConvDims> {
        let start = self.tok.span();
        let input = self.conv_dim_list("b", "f")?;
        self.expect("x")?;
        let kernel = self.conv_dim_list("i", "o")?;
        self.expect("->")?;
        let output = self.conv_dim_list("b", "f")?;
        let whole = start.to(Span::new(self.prev_end, self.prev_end));
        match (input, kernel, output) {
            (Some((ib, i_f, is)), Some((ki, ko, ks)), Some((ob, of, os))) => Ok(ConvDims {
                input_batch: ib,
                input_feature: i_f,
                input_spatial: is,
                kernel_input_feature: ki,
                kernel_output_feature: ko,
                kernel_spatial: ks,
                output_batch: ob,
                output_feature: of,
                output_spatial: os,
            }),
            _ => self.fail(whole, "each list names its two letters once and the spatial dimensions 0, 1, … once"),
        }
    }

    /// Parses a list; returns the positions of two letters and of the spatial numbers, or `None` if one is missing or
    /// duplicated.
    fn conv_dim_list(&mut self, first: &str, second: &str) -> Parse<Option<(i64, i64, Vec<i64>)>> {
        // An unknown dimension `?` only takes up a position.
        let items = self.list("[", "]", |p| {
            let t = p.advance();
            Ok(p.lexer.text[t.start..t.end].to_owned())
        })?;
        let find = |what: &str| {
            let mut hits = items.iter().enumerate().filter(|i| i.1 == what).map(|i| i.0 as i64);
            hits.next().filter(|_| hits.next().is_none())
        };
        let spatial: Option<Vec<i64>> = (0..items.len().saturating_sub(2)).map(|n| find(&n.to_string())).collect();
        Ok(find(first).zip(find(second)).zip(spatial).map(|((a, b), s)| (a, b, s)))
    }

    /// Returns the bytes of a quoted string of MLIR hex digits: `"0x0A0B"`.
    pub(super) fn hex_bytes(text: &str) -> Option<Vec<u8>> {
        let digits = text.strip_prefix("0x")?;
        if !digits.len().is_multiple_of(2) {
            return None;
        }
        let mut bad = 0;
        let bytes = digits
            .as_bytes()
            .chunks_exact(2)
            .map(|c| {
                let (high, low) = (HEX[usize::from(c[0])], HEX[usize::from(c[1])]);
                bad |= high | low;
                high << 4 | low
            })
            .collect();
        (bad < 16).then_some(bytes)
    }
}
