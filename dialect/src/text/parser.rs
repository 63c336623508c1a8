//! The parser: MLIR text of StableHLO, Shardy and anything in generic form, to a [`Program`].
//!
//! It never stops at the first mistake: a broken op is skipped to its end, what it defined is poisoned so that uses
//! of it stay quiet, and parsing goes on behind it. Nesting is limited, so no text overflows the stack.

use rustc_hash::FxHashMap;
use smallvec::SmallVec;

use super::lexer::{Lexer, Tok, Token};
use super::syntax::{Piece, Syntax, TypeForm};
use crate::diagnostic::{Diagnostic, Diagnostics, Span};
use crate::ir::{Attr, AttrData, Block, ElementType, LOC_ALIAS, Loc, Name, Program, Region, TensorType, Ty, TypeData, Value};
use crate::op::{OpDef, Registry};

/// A diagnostic has been given already.
#[derive(Clone, Copy, Debug)]
pub struct Failed;

/// What a parsing function gives.
pub type Parse<T> = Result<T, Failed>;

/// Regions, types and attributes nest no deeper than this.
pub const MAX_NESTING: usize = 128;

/// Texts are no longer than this.
pub const MAX_TEXT: usize = 1 << 30;

/// An op while its text is read.
pub struct ParsedOp {
    /// What it means.
    pub def: &'static dyn OpDef,
    /// Its full name.
    pub name: String,
    /// Its operands.
    pub operands: SmallVec<[Value; 3]>,
    /// Where they stand.
    pub operand_spans: SmallVec<[Span; 3]>,
    /// Its attributes.
    pub attrs: SmallVec<[(Name, Attr); 4]>,
    /// Its regions.
    pub regions: SmallVec<[Region; 1]>,
    /// The types of its results.
    pub results: SmallVec<[Ty; 2]>,
    /// Its name in the text.
    pub span: Span,
}

impl ParsedOp {
    /// Adds an attribute.
    pub fn set(&mut self, p: &mut Program, name: &str, attr: Attr) {
        let name = p.name(name);
        self.attrs.push((name, attr));
    }
}

#[derive(Clone, Copy)]
enum Binding {
    Values(Value, u32),
    /// Defined by an op that failed.
    Poison,
}

/// The parser.
pub struct Parser<'s> {
    pub(super) lexer: Lexer<'s>,
    pub(super) tok: Token,
    prev_end: usize,
    /// The program being built.
    pub program: Program,
    registry: &'s Registry,
    diagnostics: &'s mut Diagnostics,
    values: FxHashMap<&'s str, Binding>,
    /// Names bound in the open regions, to be unbound at their end.
    bound: Vec<(&'s str, Option<Binding>)>,
    pub(super) attr_aliases: FxHashMap<&'s str, Attr>,
    type_aliases: FxHashMap<&'s str, Ty>,
    loc_aliases: FxHashMap<&'s str, u32>,
    nesting: usize,
    /// Set once nesting was too deep: everything else is noise.
    fatal: bool,
}

/// Parses a module (or bare functions) with the given ops. Errors are in `diagnostics`; the program holds what could
/// be read.
pub fn parse_with(text: &str, registry: &Registry, diagnostics: &mut Diagnostics) -> Program {
    if text.len() > MAX_TEXT {
        let message = format!("the text has {} bytes; at most {MAX_TEXT} are read", text.len());
        diagnostics.push(Diagnostic::error("limit", Span::default(), message).note("split the module"));
        return Program::new();
    }
    let mut lexer = Lexer { text, at: 0 };
    let tok = lexer.next();
    let mut program = Program::new();
    program.source = Some(text.into());
    let mut parser = Parser {
        lexer,
        tok,
        prev_end: 0,
        program,
        registry,
        diagnostics,
        values: FxHashMap::default(),
        bound: Vec::new(),
        attr_aliases: FxHashMap::default(),
        type_aliases: FxHashMap::default(),
        loc_aliases: FxHashMap::default(),
        nesting: 0,
        fatal: false,
    };
    parser.top_level();
    parser.program
}

/// [`parse_with`] the standard ops.
pub fn parse(text: &str, diagnostics: &mut Diagnostics) -> Program {
    static STANDARD: std::sync::LazyLock<Registry> = std::sync::LazyLock::new(Registry::standard);
    parse_with(text, &STANDARD, diagnostics)
}

impl<'s> Parser<'s> {
    // Tokens ---------------------------------------------------------------------------------------------------

    /// The current token.
    pub fn token(&self) -> Token {
        self.tok
    }

    /// The text of the current token.
    pub fn token_text(&self) -> &'s str {
        &self.lexer.text[self.tok.start..self.tok.end]
    }

    /// Goes to the next token; gives the one left behind.
    pub fn advance(&mut self) -> Token {
        let t = self.tok;
        self.prev_end = t.end;
        self.tok = self.lexer.next();
        t
    }

    /// Whether the current token is this word or punctuation.
    pub fn at(&self, text: &str) -> bool {
        matches!(self.tok.kind, Tok::Word | Tok::Punct) && self.token_text() == text
    }

    /// Whether the current token and the next are these.
    pub fn at_both(&self, first: &str, second: &str) -> bool {
        if !self.at(first) {
            return false;
        }
        let mut ahead = self.lexer;
        let t = ahead.next();
        matches!(t.kind, Tok::Word | Tok::Punct) && &self.lexer.text[t.start..t.end] == second
    }

    /// Passes this word or punctuation if it stands here.
    pub fn eat(&mut self, text: &str) -> bool {
        let found = self.at(text);
        if found {
            self.advance();
        }
        found
    }

    /// Passes this word or punctuation, else fails.
    pub fn expect(&mut self, text: &str) -> Parse<()> {
        if self.eat(text) { Ok(()) } else { self.fail_expected(&format!("'{text}'")) }
    }

    /// Fails at the current token.
    pub fn fail_expected<T>(&mut self, what: &str) -> Parse<T> {
        let found = match self.tok.kind {
            Tok::End => "the end of the text".to_owned(),
            Tok::Bad if self.token_text().starts_with(['"', '@']) => "a string without an end".to_owned(),
            _ => format!("'{}'", short(self.token_text())),
        };
        let mut d = Diagnostic::error("parse", self.tok.span(), format!("expected {what}, found {found}"));
        if self.tok.kind == Tok::Bad && found.starts_with("a string") {
            d = d.note("close the string with '\"' on the same line");
        } else if self.tok.kind == Tok::End {
            d = d.note("the text ends too early: something opened before is not closed");
        }
        self.error(d)
    }

    /// Records a diagnostic and fails.
    pub fn error<T>(&mut self, d: Diagnostic) -> Parse<T> {
        if !self.fatal {
            self.diagnostics.push(d);
        }
        Err(Failed)
    }

    /// Fails with a message at `span`.
    pub fn fail<T>(&mut self, span: Span, message: impl Into<String>) -> Parse<T> {
        self.error(Diagnostic::error("parse", span, message))
    }

    /// One level deeper; fails when too deep.
    pub(super) fn nested<T>(&mut self, f: impl FnOnce(&mut Self) -> Parse<T>) -> Parse<T> {
        if self.nesting >= MAX_NESTING {
            let d = Diagnostic::error("limit", self.tok.span(), format!("nested deeper than {MAX_NESTING} levels"))
                .note("flatten the program: calls instead of regions in regions");
            let failed = self.error(d);
            self.fatal = true;
            return failed;
        }
        self.nesting += 1;
        let result = f(self);
        self.nesting -= 1;
        result
    }

    /// Passes a bare word.
    pub fn word(&mut self) -> Parse<&'s str> {
        if self.tok.kind != Tok::Word {
            return self.fail_expected("a word");
        }
        let text = self.token_text();
        self.advance();
        Ok(text)
    }

    /// Passes an integer, perhaps negative.
    pub fn integer(&mut self) -> Parse<i64> {
        let start = self.tok.start;
        let negative = self.eat("-");
        if self.tok.kind != Tok::Int {
            return self.fail_expected("an integer");
        }
        let text = self.token_text();
        let span = Span::new(start, self.tok.end);
        self.advance();
        let magnitude = match text.strip_prefix("0x") {
            Some(hex) => u64::from_str_radix(hex, 16).ok().map(i128::from),
            None => text.parse::<u64>().ok().map(i128::from),
        };
        let value = magnitude.map(|m| if negative { -m } else { m });
        match value {
            Some(v) if v >= i128::from(i64::MIN) && v <= i128::from(u64::MAX) => Ok(v as i64),
            _ => self.fail(span, "the integer doesn't fit in 64 bits"),
        }
    }

    /// Passes a string; gives its content.
    pub fn string(&mut self) -> Parse<String> {
        if self.tok.kind != Tok::Str {
            return self.fail_expected("a string");
        }
        let text = self.token_text();
        self.advance();
        Ok(unescape(&text[1..text.len() - 1]))
    }

    /// Passes `@name`; gives the name.
    pub fn symbol(&mut self) -> Parse<String> {
        if self.tok.kind != Tok::At {
            return self.fail_expected("a symbol like @name");
        }
        let text = &self.token_text()[1..];
        if text.is_empty() {
            return self.fail(self.tok.span(), "a symbol needs a name after '@'");
        }
        self.advance();
        Ok(if let Some(quoted) = text.strip_prefix('"') { unescape(&quoted[..quoted.len() - 1]) } else { text.to_owned() })
    }

    /// `f`, then `, f` as often as there are commas.
    pub fn comma_list<T>(&mut self, mut f: impl FnMut(&mut Self) -> Parse<T>) -> Parse<Vec<T>> {
        let mut items = vec![f(self)?];
        while self.eat(",") {
            items.push(f(self)?);
        }
        Ok(items)
    }

    /// `open`, items between commas, `close`.
    pub fn list<T>(&mut self, open: &str, close: &str, f: impl FnMut(&mut Self) -> Parse<T>) -> Parse<Vec<T>> {
        self.expect(open)?;
        if self.eat(close) {
            return Ok(Vec::new());
        }
        let items = self.comma_list(f)?;
        self.expect(close)?;
        Ok(items)
    }

    /// `[0, -1]`
    pub fn int_list(&mut self) -> Parse<Vec<i64>> {
        self.list("[", "]", Self::integer)
    }

    /// Runs `f`; when it fails, steps back and takes its diagnostics back.
    pub(super) fn attempt<T>(&mut self, f: impl FnOnce(&mut Self) -> Parse<T>) -> Option<T> {
        let (lexer, tok, prev, nesting, fatal) = (self.lexer, self.tok, self.prev_end, self.nesting, self.fatal);
        let kept = self.diagnostics.clone();
        match f(self) {
            Ok(v) => Some(v),
            Err(Failed) => {
                (self.lexer, self.tok, self.prev_end, self.nesting, self.fatal) = (lexer, tok, prev, nesting, fatal);
                *self.diagnostics = kept;
                None
            }
        }
    }

    /// Continues reading tokens at byte `at`.
    pub(super) fn resume(&mut self, at: usize) {
        self.prev_end = at;
        self.lexer.at = at;
        self.tok = self.lexer.next();
    }

    // Values ---------------------------------------------------------------------------------------------------

    /// Passes `%name` without looking it up; gives name and place.
    pub fn value_name(&mut self) -> Parse<(&'s str, Span)> {
        if self.tok.kind != Tok::Percent {
            return self.fail_expected("a value like %0");
        }
        let text = &self.token_text()[1..];
        if text.is_empty() {
            return self.fail(self.tok.span(), "a value needs a name after '%'");
        }
        let t = self.advance();
        Ok((text, t.span()))
    }

    /// Passes `%name` or `%name#1` and looks it up.
    pub fn value(&mut self) -> Parse<(Value, Span)> {
        let (name, mut span) = self.value_name()?;
        let mut number = None;
        if self.tok.kind == Tok::Hash && self.tok.start == span.end as usize {
            let text = &self.token_text()[1..];
            span = span.to(self.tok.span());
            match text.parse::<u32>() {
                Ok(n) => number = Some(n),
                Err(_) => return self.fail(self.tok.span(), "expected a result number like #1"),
            }
            self.advance();
        }
        match self.values.get(name).copied() {
            Some(Binding::Poison) => Err(Failed),
            Some(Binding::Values(first, count)) => match number {
                None if count == 1 => Ok((first, span)),
                None => {
                    let d = Diagnostic::error("value", span, format!("%{name} stands for {count} results"))
                        .note(format!("say which: %{name}#0 to %{name}#{}", count.saturating_sub(1)));
                    self.error(d)
                }
                Some(n) if n < count => Ok((Value::new(first.index() + n as usize), span)),
                Some(n) => self.fail(span, format!("%{name} has {count} results, so there is no number {n}")),
            },
            None => {
                // Looking for a near name walks all of them: only for the first mistakes of a text.
                let few = self.diagnostics.iter().count() < 20;
                let mut near: Vec<&str> = if few { self.values.keys().copied().collect() } else { Vec::new() };
                near.sort_unstable();
                let near = nearest(name, near.into_iter());
                let mut d = Diagnostic::error("value", span, format!("%{name} is not defined here"));
                d = match near {
                    Some(n) => d.note(format!("a value called %{n} is in scope")),
                    None => d.note("define it before this use, in this region or one around it"),
                };
                self.error(d)
            }
        }
    }

    /// Passes one operand.
    pub fn operand(&mut self, op: &mut ParsedOp) -> Parse<Value> {
        let (value, span) = self.value()?;
        op.operands.push(value);
        op.operand_spans.push(span);
        Ok(value)
    }

    /// Passes `%a, %b`, perhaps none; stops before a comma that no value follows.
    pub fn operands(&mut self, op: &mut ParsedOp) -> Parse<()> {
        if self.tok.kind != Tok::Percent {
            return Ok(());
        }
        loop {
            self.operand(op)?;
            let mut ahead = self.lexer;
            if !(self.at(",") && ahead.next().kind == Tok::Percent) {
                return Ok(());
            }
            self.advance();
        }
    }

    fn bind(&mut self, name: &'s str, binding: Binding, span: Span) {
        let old = self.values.insert(name, binding);
        if let Some(Binding::Values(v, _)) = old
            && matches!(binding, Binding::Values(..))
        {
            let d = Diagnostic::error("value", span, format!("%{name} is defined twice"))
                .also(self.program.value_span(v), "first here")
                .note("give one of them another name");
            let _ = self.error::<()>(d);
        }
        self.bound.push((name, old));
    }

    // Types ----------------------------------------------------------------------------------------------------

    /// Passes a type.
    pub fn ty(&mut self) -> Parse<Ty> {
        self.nested(Self::type_inner)
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
                } else {
                    if self.at("<") {
                        self.skip_balanced()?;
                    }
                    TypeData::Opaque(self.lexer.text[tok.start..self.prev_end].into())
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
                TypeData::Opaque(self.lexer.text[tok.start..self.prev_end].into())
            }
            Tok::Word => TypeData::Scalar(self.element_type()?),
            _ => return self.fail_expected("a type"),
        };
        Ok(self.program.intern_type(data))
    }

    fn tensor_type(&mut self) -> Parse<Ty> {
        if !self.at("<") {
            return self.fail_expected("'<'");
        }
        // Sizes are read by characters: `4x8xf32` is no sequence of MLIR tokens.
        let text = self.lexer.text;
        let open = self.tok;
        let mut at = open.end;
        let mut ty = TensorType::new(&[], ElementType::F32);
        let bytes = text.as_bytes();
        let blank = |mut at: usize| {
            while bytes.get(at).is_some_and(u8::is_ascii_whitespace) {
                at += 1;
            }
            at
        };
        if bytes.get(blank(at)) == Some(&b'*') {
            self.skip_balanced()?;
            let whole = text[open.start..self.prev_end].to_owned();
            return Ok(self.program.intern_type(TypeData::Opaque(format!("tensor{whole}").into())));
        }
        loop {
            at = blank(at);
            let start = at;
            let size = match bytes.get(at) {
                Some(b'?') => {
                    at += 1;
                    crate::ir::DYNAMIC
                }
                Some(b'0'..=b'9') => {
                    while bytes.get(at).is_some_and(u8::is_ascii_digit) {
                        at += 1;
                    }
                    match text[start..at].parse::<i64>() {
                        Ok(n) => n,
                        Err(_) => return self.fail(Span::new(start, at), "the dimension's size doesn't fit in 63 bits"),
                    }
                }
                _ => break,
            };
            if bytes.get(at) != Some(&b'x') {
                return self.fail(Span::new(start, at), "expected 'x' after the dimension's size, then the element type");
            }
            at += 1;
            ty.shape.push(size);
        }
        self.resume(at);
        ty.element = self.element_type()?;
        if ty.elements().is_some_and(|n| n.saturating_mul(ty.element.bytes().max(1)) > 1 << 50) {
            let d = Diagnostic::error("limit", Span::new(open.start, self.prev_end), "a tensor of more than 2^50 bytes")
                .note("no device holds it; check the sizes");
            return self.error(d);
        }
        if self.eat(",") {
            ty.encoding = Some(self.attribute()?);
        }
        self.expect(">")?;
        Ok(self.program.intern_type(ty))
    }

    /// Passes `f32`, `complex<f32>`, `!quant…`.
    pub fn element_type(&mut self) -> Parse<ElementType> {
        let (text, tok) = (self.token_text(), self.tok);
        if tok.kind == Tok::Bang {
            self.advance();
            if self.at("<") {
                self.skip_balanced()?;
            }
            let name = self.program.name(&self.lexer.text[tok.start..self.prev_end]);
            return Ok(ElementType::Other(name));
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
                _ => self.fail(tok.span(), "complex numbers are of f32 or f64"),
            };
        }
        if let Some(e) = ElementType::from_text(text) {
            self.advance();
            return Ok(e);
        }
        let digits = text.strip_prefix("si").or(text.strip_prefix("ui")).or(text.strip_prefix('i')).or(text.strip_prefix('f'));
        let known = matches!(text, "tf32" | "f80" | "f128");
        if known || digits.is_some_and(|d| !d.is_empty() && d.bytes().all(|b| b.is_ascii_digit())) {
            self.advance();
            return Ok(ElementType::Other(self.program.name(text)));
        }
        let d = Diagnostic::error("type", tok.span(), format!("'{}' is no element type", short(text)))
            .note("known are i1 to i64, ui2 to ui64, f4 to f64, bf16, complex<f32>, complex<f64>");
        self.error(d)
    }

    /// Passes `(A, B) -> C` or `(A) -> (B, C)`.
    pub fn functional_type(&mut self) -> Parse<(Vec<Ty>, Vec<Ty>)> {
        let inputs = self.list("(", ")", Self::ty)?;
        self.expect("->")?;
        let results = if self.at("(") { self.list("(", ")", Self::ty)? } else { vec![self.ty()?] };
        Ok((inputs, results))
    }

    /// Checks the operands' types against those the text declares.
    pub fn check_operands(&mut self, op: &ParsedOp, types: &[Ty]) -> Parse<()> {
        if op.operands.len() != types.len() {
            let message = format!("'{}' has {} operands but {} operand types", op.name, op.operands.len(), types.len());
            return self.fail(op.span, message);
        }
        for (i, (&v, &ty)) in op.operands.iter().zip(types).enumerate() {
            let actual = self.program.value_type(v);
            if actual != ty {
                let (a, t) = (self.program.type_text(actual), self.program.type_text(ty));
                let d = Diagnostic::error("type", op.operand_spans[i], format!("operand {i} is {a}, but the op says {t}"))
                    .also(self.program.value_span(v), format!("defined here as {a}"))
                    .note("make the op's type that of the value, or use another value");
                return self.error(d);
            }
        }
        Ok(())
    }

    /// Passes everything of a bracketed group the current token opens, whatever is inside.
    pub(super) fn skip_balanced(&mut self) -> Parse<()> {
        let opened = self.tok.span();
        let mut stack: Vec<u8> = Vec::new();
        loop {
            let text = self.token_text();
            match (self.tok.kind, text) {
                (Tok::End, _) => {
                    let d = Diagnostic::error("parse", self.tok.span(), "expected a closing bracket, found the end of the text")
                        .also(opened, "opened here")
                        .note("close the bracket");
                    return self.error(d);
                }
                (Tok::Punct, "<" | "(" | "[" | "{") => stack.push(text.as_bytes()[0]),
                (Tok::Punct, ">" | ")" | "]" | "}") => {
                    let open = match text {
                        ">" => b'<',
                        ")" => b'(',
                        "]" => b'[',
                        _ => b'{',
                    };
                    if stack.pop() != Some(open) {
                        return self.fail(self.tok.span(), format!("'{text}' closes nothing that is open"));
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

    // Attribute dictionaries -----------------------------------------------------------------------------------

    /// Passes `{a = 1, b}` if it stands here, into `op`.
    pub fn attr_dict(&mut self, op: &mut ParsedOp) -> Parse<()> {
        if self.at("{") {
            let entries = self.dict_entries()?;
            op.attrs.extend(entries);
        }
        Ok(())
    }

    /// Passes `attributes {…}` if it stands here, into `op`.
    pub fn attributes_keyword(&mut self, op: &mut ParsedOp) -> Parse<()> {
        if self.eat("attributes") { self.attr_dict(op) } else { Ok(()) }
    }

    /// Passes `{a = 1, b}`.
    pub fn dict_entries(&mut self) -> Parse<Vec<(Name, Attr)>> {
        self.list("{", "}", |p| {
            let key = if p.tok.kind == Tok::Str { p.string()? } else { p.word()?.to_owned() };
            let attr = if p.eat("=") { p.attribute()? } else { p.program.intern_attr(AttrData::Unit) };
            Ok((p.program.name(&key), attr))
        })
    }

    // Ops ------------------------------------------------------------------------------------------------------

    fn top_level(&mut self) {
        let body = self.program.body();
        loop {
            match self.tok.kind {
                Tok::End => break,
                Tok::Hash => {
                    let _ = self.alias_definition().map_err(|_| self.skip_line());
                }
                Tok::Bang => {
                    let _ = self.type_alias_definition().map_err(|_| self.skip_line());
                }
                Tok::Punct if self.at("{-#") => {
                    if self.resources().is_err() {
                        break;
                    }
                }
                _ => {
                    let before = self.tok.start;
                    self.op_recovering(body);
                    if self.at("}") || self.tok.start == before {
                        let _ = self.fail::<()>(self.tok.span(), format!("'{}' closes nothing", short(self.token_text())));
                        self.advance();
                    }
                }
            }
        }
        // One module in the text is the program itself; several top-level ops stand in an implicit one.
        let modules: Vec<_> = self.program.block_ops(body).to_vec();
        if let [only] = modules[..]
            && self.program.op_name(only) == "builtin.module"
        {
            self.program.module = only;
        }
    }

    fn skip_line(&mut self) {
        let rest = &self.lexer.text[self.tok.start..];
        let at = rest.find('\n').map_or(self.lexer.text.len(), |n| self.tok.start + n + 1);
        self.resume(at);
    }

    fn alias_definition(&mut self) -> Parse<()> {
        let name = &self.token_text()[1..];
        self.advance();
        self.expect("=")?;
        if self.at("loc") {
            let loc = self.location()?;
            let slot = self.loc_alias(name);
            self.program.loc_aliases[slot as usize] = loc;
        } else {
            let attr = self.attribute()?;
            self.attr_aliases.insert(name, attr);
        }
        Ok(())
    }

    fn type_alias_definition(&mut self) -> Parse<()> {
        let name = &self.token_text()[1..];
        self.advance();
        self.expect("=")?;
        let ty = self.ty()?;
        self.type_aliases.insert(name, ty);
        Ok(())
    }

    /// The slot of location alias `name`; it may be defined later.
    fn loc_alias(&mut self, name: &'s str) -> u32 {
        let next = self.program.loc_aliases.len() as u32;
        let slot = *self.loc_aliases.entry(name).or_insert(next);
        if slot == next {
            self.program.loc_aliases.push(Loc::UNKNOWN);
        }
        slot
    }

    /// The location id of `#name`.
    pub(super) fn loc_of_alias(&mut self, name: &'s str) -> Loc {
        Loc(LOC_ALIAS + self.loc_alias(name))
    }

    /// Passes `loc(…)` if it stands here.
    pub fn optional_loc(&mut self) -> Parse<Option<Loc>> {
        if self.at("loc") { self.location().map(Some) } else { Ok(None) }
    }

    /// Reads an op into `block`; a broken one is skipped and its results poisoned.
    fn op_recovering(&mut self, block: Block) {
        let start = self.tok.start;
        if self.op(block).is_ok() {
            return;
        }
        // What it would have defined.
        let mut lexer = Lexer { text: self.lexer.text, at: start };
        let mut t = lexer.next();
        let mut names = Vec::new();
        while t.kind == Tok::Percent {
            names.push(&self.lexer.text[t.start + 1..t.end]);
            t = lexer.next();
            while t.kind == Tok::Int || t.kind == Tok::Punct && matches!(&self.lexer.text[t.start..t.end], ":" | ",") {
                t = lexer.next();
            }
        }
        if t.kind == Tok::Punct && &self.lexer.text[t.start..t.end] == "=" {
            for name in names {
                let old = self.values.insert(name, Binding::Poison);
                self.bound.push((name, old));
            }
        }
        self.skip_op(start);
    }

    /// Goes behind the op that starts at `start` and broke before the current token: to the first line's end, or
    /// its last brace's, that leaves no brace open.
    fn skip_op(&mut self, start: usize) {
        let broke = self.tok.start.max(start + 1).min(self.lexer.text.len());
        if self.fatal {
            self.resume(self.lexer.text.len());
            return;
        }
        let bytes = self.lexer.text.as_bytes();
        let (mut depth, mut at, mut in_string) = (0i64, start, false);
        while at < bytes.len() {
            match bytes[at] {
                b'\\' if in_string => at += 1,
                b'"' => in_string = !in_string,
                b'\n' => {
                    in_string = false;
                    if at >= broke && depth <= 0 {
                        break;
                    }
                }
                b'{' if !in_string => depth += 1,
                b'}' if !in_string => {
                    depth -= 1;
                    if depth < 0 {
                        // The end of the block around it.
                        break;
                    }
                }
                _ => {}
            }
            at += 1;
        }
        while !self.lexer.text.is_char_boundary(at.min(bytes.len())) {
            at += 1;
        }
        self.resume(at.min(bytes.len()));
    }

    fn op(&mut self, block: Block) -> Parse<()> {
        let start = self.tok.start;
        // Names of results: (name, how many, where).
        let mut names: SmallVec<[(&'s str, u32, Span); 2]> = SmallVec::new();
        if self.tok.kind == Tok::Percent {
            loop {
                let (name, span) = self.value_name()?;
                let count = if self.eat(":") { self.integer()? } else { 1 };
                if !(1..=1 << 20).contains(&count) {
                    return self.fail(span, "an op has between 1 and 1048576 results");
                }
                names.push((name, count as u32, span));
                if !self.eat(",") {
                    break;
                }
            }
            self.expect("=")?;
        }
        let span = self.tok.span();
        let mut parsed = ParsedOp {
            def: &crate::ops::UNKNOWN,
            name: String::new(),
            operands: SmallVec::new(),
            operand_spans: SmallVec::new(),
            attrs: SmallVec::new(),
            regions: SmallVec::new(),
            results: SmallVec::new(),
            span,
        };
        match self.tok.kind {
            Tok::Str => {
                parsed.name = self.string()?;
                if let Some(def) = self.registry.get(&parsed.name) {
                    parsed.def = def;
                }
                self.nested(|p| p.generic_op(&mut parsed))?;
            }
            Tok::Word => {
                let word = self.token_text();
                let found = match word.contains('.') {
                    true => self.registry.get(word),
                    false => ["func.", "builtin."].iter().find_map(|d| self.registry.get(&format!("{d}{word}"))),
                };
                let Some(def) = found else {
                    return self.unknown_op(word);
                };
                self.advance();
                (parsed.def, parsed.name) = (def, def.name().to_owned());
                self.nested(|p| p.pretty_op(&mut parsed))?;
            }
            _ => return self.fail_expected("an op"),
        }
        let loc = self.optional_loc()?.unwrap_or(Loc::UNKNOWN);
        self.finish_op(block, parsed, &names, loc, start)
    }

    fn unknown_op<T>(&mut self, word: &str) -> Parse<T> {
        let near = nearest(word, crate::ops::OPS.iter().map(|op| op.name()));
        let mut d = Diagnostic::error("op", self.tok.span(), format!("'{}' is no known op", short(word)));
        if let Some(near) = near {
            d = d.note(format!("did you mean '{near}'?"));
        }
        let d = d.note(format!("ops of other dialects are read in generic form: \"{}\"(…) : (…) -> …", short(word)));
        self.error(d)
    }

    fn finish_op(
        &mut self,
        block: Block,
        parsed: ParsedOp,
        names: &[(&'s str, u32, Span)],
        loc: Loc,
        start: usize,
    ) -> Parse<()> {
        let named: u64 = names.iter().map(|n| u64::from(n.1)).sum();
        if !names.is_empty() && named != parsed.results.len() as u64 {
            let message = format!("'{}' has {} results, but {named} are named", parsed.name, parsed.results.len());
            return self.fail(names[0].2.to(parsed.span), message);
        }
        for (i, a) in parsed.attrs.iter().enumerate() {
            if parsed.attrs[..i].iter().any(|b| b.0 == a.0) {
                let message = format!("attribute '{}' is given twice", self.program.name_text(a.0));
                return self.fail(parsed.span, message);
            }
        }
        let p = &mut self.program;
        let op = p.new_op(parsed.def, &parsed.name, &parsed.operands, &parsed.results, &parsed.attrs, &parsed.regions, loc);
        let data = p.op_mut(op);
        data.span = parsed.span;
        data.operand_spans = parsed.operand_spans;
        data.text_span = Span::new(start, self.prev_end.max(start));
        p.append(block, op);
        let mut first = if parsed.results.is_empty() { Value::new(0) } else { p.result(op, 0) };
        for &(name, count, span) in names {
            for i in 0..count as usize {
                self.program.values[first.index() + i].span = span;
            }
            self.bind(name, Binding::Values(first, count), span);
            first = Value::new(first.index() + count as usize);
        }
        Ok(())
    }

    fn generic_op(&mut self, op: &mut ParsedOp) -> Parse<()> {
        self.expect("(")?;
        self.operands(op)?;
        self.expect(")")?;
        if self.at("[") {
            return self.fail(self.tok.span(), "branches between blocks are not supported");
        }
        if self.eat("<") {
            self.attr_dict(op)?;
            self.expect(">")?;
        }
        if self.eat("(") {
            loop {
                let region = if op.def.isolated() { self.isolated_region(&[])? } else { self.region(&[])? };
                op.regions.push(region);
                if !self.eat(",") {
                    break;
                }
            }
            self.expect(")")?;
        }
        self.attr_dict(op)?;
        self.expect(":")?;
        let (inputs, results) = self.functional_type()?;
        self.check_operands(op, &inputs)?;
        op.results.extend(results);
        Ok(())
    }

    fn pretty_op(&mut self, op: &mut ParsedOp) -> Parse<()> {
        match op.def.syntax() {
            Syntax::Generic => self.fail(op.span, format!("'{0}' has no short form; write \"{0}\"(…)", op.name)),
            Syntax::Custom(custom) => (custom.parse)(self, op),
            Syntax::Pieces(pieces) => pieces.iter().try_for_each(|piece| self.piece(op, piece)),
        }
    }

    fn piece(&mut self, op: &mut ParsedOp, piece: &Piece) -> Parse<()> {
        match *piece {
            Piece::Operands => self.operands(op),
            Piece::Token(text) => self.expect(text),
            Piece::Int(name) => {
                let value = self.integer()?;
                let attr = self.program.attr_i64(value);
                op.set(&mut self.program, name, attr);
                Ok(())
            }
            Piece::Ints(name) => {
                let values = self.int_list()?;
                let attr = self.program.attr_i64s(&values);
                op.set(&mut self.program, name, attr);
                Ok(())
            }
            Piece::Enum(name, kind) => {
                let word = self.word()?;
                let attr = self.program.attr_enum(kind, word);
                op.set(&mut self.program, name, attr);
                Ok(())
            }
            Piece::Enums(name, kind) => {
                let items = self.list("[", "]", |p| {
                    let word = p.word()?;
                    Ok(p.program.attr_enum(kind, word))
                })?;
                let attr = self.program.intern_attr(AttrData::Array(items));
                op.set(&mut self.program, name, attr);
                Ok(())
            }
            Piece::Attr(name) => {
                let attr = self.attribute()?;
                op.set(&mut self.program, name, attr);
                Ok(())
            }
            Piece::Optional(_, pieces) => {
                let here = match pieces {
                    [Piece::Token(a), Piece::Token(b), ..] => self.at_both(a, b),
                    [Piece::Token(a), ..] => self.at(a),
                    _ => false,
                };
                if here { pieces.iter().try_for_each(|p| self.piece(op, p)) } else { Ok(()) }
            }
            Piece::AttrDict => self.attr_dict(op),
            Piece::Types(form) => self.types(op, form),
        }
    }

    /// Passes `: types` and fills in the result types.
    pub fn types(&mut self, op: &mut ParsedOp, form: TypeForm) -> Parse<()> {
        if form == TypeForm::OperandsOnly && op.operands.is_empty() {
            return Ok(());
        }
        self.expect(":")?;
        match form {
            TypeForm::Functional => self.functional(op),
            TypeForm::SameOrFunctional if self.at("(") => self.functional(op),
            TypeForm::SameOrFunctional => {
                let ty = self.ty()?;
                let operands = vec![ty; op.operands.len()];
                op.results.push(ty);
                self.check_operands(op, &operands)
            }
            TypeForm::Arrow if self.at("(") => self.functional(op),
            TypeForm::Arrow => {
                let types = self.comma_list(Self::ty)?;
                self.expect("->")?;
                let results = self.comma_list(Self::ty)?;
                op.results.extend(results);
                self.check_operands(op, &types)
            }
            TypeForm::Result => {
                let ty = self.ty()?;
                op.results.push(ty);
                Ok(())
            }
            TypeForm::Select if self.at("(") => self.functional(op),
            TypeForm::Select => {
                let predicate = self.ty()?;
                self.expect(",")?;
                let ty = self.ty()?;
                op.results.push(ty);
                self.check_operands(op, &[predicate, ty, ty])
            }
            TypeForm::Complex if self.at("(") => self.functional(op),
            TypeForm::Complex => {
                let ty = self.ty()?;
                let part = match self.program.type_data(ty).tensor() {
                    Some(t) if t.element == ElementType::C64 => t.with_element(ElementType::F32),
                    Some(t) if t.element == ElementType::C128 => t.with_element(ElementType::F64),
                    _ => return self.fail(op.span, "the result of complex is a tensor of complex numbers"),
                };
                let part = self.program.intern_type(part);
                op.results.push(ty);
                self.check_operands(op, &[part, part])
            }
            TypeForm::Pairwise => {
                let types = self.comma_list(Self::ty)?;
                op.results.extend(types.iter().copied());
                self.check_operands(op, &types)
            }
            TypeForm::OperandsOnly => {
                let types = self.comma_list(Self::ty)?;
                self.check_operands(op, &types)
            }
        }
    }

    fn functional(&mut self, op: &mut ParsedOp) -> Parse<()> {
        let (inputs, results) = self.functional_type()?;
        self.check_operands(op, &inputs)?;
        op.results.extend(results);
        Ok(())
    }

    // Regions --------------------------------------------------------------------------------------------------

    /// Passes `{ ops }` of one block. `args` are the block's arguments when the op's own text names them; otherwise
    /// a label `^bb0(%a: T):` may. Values defined inside end with it.
    pub fn region(&mut self, args: &[(&'s str, Span, Ty, Loc)]) -> Parse<Region> {
        self.nested(|p| {
            let block = p.program.new_block();
            let region = p.program.new_region(&[block]);
            let mark = p.bound.len();
            for &(name, span, ty, loc) in args {
                p.block_arg(block, name, span, ty, loc);
            }
            let result = p.region_inside(block);
            while p.bound.len() > mark {
                let (name, old) = p.bound.pop().expect("longer than the mark");
                match old {
                    Some(binding) => p.values.insert(name, binding),
                    None => p.values.remove(name),
                };
            }
            result.map(|()| region)
        })
    }

    /// The same for a region that doesn't see the values around it: names may be used again.
    pub fn isolated_region(&mut self, args: &[(&'s str, Span, Ty, Loc)]) -> Parse<Region> {
        let outer = std::mem::take(&mut self.values);
        let region = self.region(args);
        self.values = outer;
        region
    }

    /// Adds an argument to `block` and names it.
    pub fn block_arg(&mut self, block: Block, name: &'s str, span: Span, ty: Ty, loc: Loc) -> Value {
        let value = self.program.add_block_arg(block, ty, loc, span);
        self.bind(name, Binding::Values(value, 1), span);
        value
    }

    fn region_inside(&mut self, block: Block) -> Parse<()> {
        let opened = self.tok.span();
        self.expect("{")?;
        let mut first = true;
        loop {
            match self.tok.kind {
                Tok::End => {
                    let d = Diagnostic::error("parse", self.tok.span(), "expected '}', found the end of the text")
                        .also(opened, "opened here")
                        .note("close the region");
                    return self.error(d);
                }
                Tok::Caret if first => {
                    self.advance();
                    if self.at("(") {
                        self.list("(", ")", |p| {
                            let (name, span) = p.value_name()?;
                            p.expect(":")?;
                            let ty = p.ty()?;
                            let loc = p.optional_loc()?.unwrap_or(Loc::UNKNOWN);
                            p.block_arg(block, name, span, ty, loc);
                            Ok(())
                        })?;
                    }
                    self.expect(":")?;
                }
                Tok::Caret => return self.fail(self.tok.span(), "regions of several blocks are not supported"),
                Tok::Punct if self.at("}") => {
                    self.advance();
                    return Ok(());
                }
                _ => {
                    let before = self.tok.start;
                    self.op_recovering(block);
                    if self.tok.start == before && !self.at("}") {
                        // Nothing here can start an op and no line end helps: pass one token.
                        self.advance();
                    }
                }
            }
            first = false;
        }
    }
}

/// At most 40 characters of `text`, for messages.
pub(crate) fn short(text: &str) -> String {
    if text.chars().count() <= 40 { text.to_owned() } else { text.chars().take(39).chain(['…']).collect() }
}

/// The candidate nearest to `word` by edit distance, if it is near enough to be meant.
pub fn nearest<'a>(word: &str, candidates: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    if word.len() > 64 {
        return None;
    }
    let limit = 1 + word.len() / 6;
    candidates.filter(|c| c.len().abs_diff(word.len()) <= limit).map(|c| (distance(word, c), c)).filter(|d| d.0 <= limit).min().map(|d| d.1)
}

fn distance(a: &str, b: &str) -> usize {
    let b: Vec<char> = b.chars().collect();
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, x) in a.chars().enumerate() {
        let mut diagonal = row[0];
        row[0] = i + 1;
        for (j, &y) in b.iter().enumerate() {
            let cost = diagonal + usize::from(x != y);
            diagonal = row[j + 1];
            row[j + 1] = cost.min(row[j] + 1).min(diagonal + 1);
        }
    }
    row[b.len()]
}

/// The characters an MLIR string stands for.
pub(super) fn unescape(text: &str) -> String {
    if !text.contains('\\') {
        return text.to_owned();
    }
    let mut out = Vec::new();
    let bytes = text.as_bytes();
    let mut at = 0;
    while at < bytes.len() {
        if bytes[at] != b'\\' || at + 1 >= bytes.len() {
            out.push(bytes[at]);
            at += 1;
            continue;
        }
        let hex = |i: usize| bytes.get(i).and_then(|&b| (b as char).to_digit(16));
        match (bytes[at + 1], hex(at + 1), hex(at + 2)) {
            (_, Some(a), Some(b)) => {
                out.push((a * 16 + b) as u8);
                at += 3;
                continue;
            }
            (b'n', ..) => out.push(b'\n'),
            (b't', ..) => out.push(b'\t'),
            (c, ..) => out.push(c),
        }
        at += 2;
    }
    String::from_utf8_lossy(&out).into_owned()
}
/// The attribute `text` says, in `program`; `None` when it is no attribute.
pub fn attribute_of_text(program: &mut Program, text: &str) -> Option<Attr> {
    let mut diagnostics = Diagnostics::default();
    let registry = Registry::standard();
    let mut lexer = Lexer { text, at: 0 };
    let tok = lexer.next();
    let mut parser = Parser {
        lexer,
        tok,
        prev_end: 0,
        program: std::mem::take(program),
        registry: &registry,
        diagnostics: &mut diagnostics,
        values: FxHashMap::default(),
        bound: Vec::new(),
        attr_aliases: FxHashMap::default(),
        type_aliases: FxHashMap::default(),
        loc_aliases: FxHashMap::default(),
        nesting: 0,
        fatal: false,
    };
    let attr = parser.attribute().ok().filter(|_| parser.tok.kind == Tok::End);
    *program = parser.program;
    attr
}
