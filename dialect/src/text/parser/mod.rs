//! The parser: converts MLIR text of StableHLO, Shardy and anything in generic form to a [`Program`].
//!
//! It never stops at the first error: an invalid op is skipped to its end, its results are poisoned so that their uses
//! report nothing, and parsing continues after it. Nesting is limited, so no text overflows the stack.

mod ops;
mod types;

use rustc_hash::FxHashMap;
use smallvec::SmallVec;

use super::count::names_of_op_after;
use super::lexer::{Lexer, Tok, Token};
use crate::codes;
use crate::diagnostic::{Diagnostic, Diagnostics, Span};
use crate::ir::{Attr, AttrData, Block, ByteString, Loc, MAX_OPS, MAX_TEXT, Name, Program, Region, Ty, Value};
use crate::op::{OpDef, Registry};

/// An error that has already been reported.
#[derive(Clone, Copy, Debug)]
pub struct Failed;

/// The result of a parsing function.
pub type Parse<T> = Result<T, Failed>;

/// The deepest nesting of regions inside of a function, and of types, attributes and locations inside of an op.
pub const MAX_NESTING: usize = 128;

/// The kinds of nesting; each has its own limit of [`MAX_NESTING`] levels.
#[derive(Clone, Copy)]
pub(in crate::text) enum Nest {
    /// Regions that can use values defined outside of them.
    Region,
    /// Modules, functions and other regions that can't.
    Isolated,
    /// Types, attributes and locations.
    Data,
}

/// An op while it is being parsed.
pub struct ParsedOp {
    /// Its definition.
    pub def: &'static dyn OpDef,
    /// Its full name.
    pub name: String,
    /// Its operands.
    pub operands: SmallVec<[Value; 3]>,
    /// The operands' spans in the text.
    pub operand_spans: SmallVec<[Span; 3]>,
    /// Its attributes.
    pub attrs: SmallVec<[(Name, Attr); 4]>,
    /// Its regions.
    pub regions: SmallVec<[Region; 1]>,
    /// The successor blocks.
    pub successors: Vec<Block>,
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

    /// Sets an attribute that isn't interned yet.
    pub fn set_data(&mut self, p: &mut Program, name: &str, data: AttrData) {
        let attr = p.intern_attr(data);
        self.set(p, name, attr);
    }
}

/// An argument of a block, as its text states it.
#[derive(Clone, Copy)]
pub struct Argument<'s> {
    /// Its name without `%`.
    pub name: &'s str,
    /// Its name in the text.
    pub span: Span,
    /// Its type.
    pub ty: Ty,
    /// Its location.
    pub loc: Loc,
}

#[derive(Clone, Copy)]
enum Binding {
    Values(Value, u32),
    /// The value is defined by an op that failed to parse.
    Poison,
}

/// A block with a name.
#[derive(Clone, Copy)]
pub(super) struct Label {
    pub block: Block,
    /// The span of its first mention.
    pub span: Span,
    /// Whether its definition was parsed, in addition to branches to it.
    pub defined: bool,
}

/// The parser.
pub struct Parser<'s> {
    pub(super) lexer: Lexer<'s>,
    pub(super) tok: Token,
    /// One past the last byte of the token before the current one.
    pub(super) prev_end: usize,
    /// The program being built.
    pub program: Program,
    diagnostics: &'s mut Diagnostics,
    values: FxHashMap<&'s str, Binding>,
    /// Names bound in the open regions, to be unbound at their end.
    bound: Vec<(&'s str, Option<Binding>)>,
    pub(super) attr_aliases: FxHashMap<&'s str, Attr>,
    pub(super) type_aliases: FxHashMap<&'s str, Ty>,
    loc_aliases: FxHashMap<&'s str, u32>,
    /// The named blocks of the innermost region, so far.
    pub(super) labels: FxHashMap<&'s str, Label>,
    /// The levels of each kind of [`Nest`] around the current token.
    nesting: [usize; 3],
    /// Set once nesting was too deep: further errors are meaningless.
    fatal: bool,
}

/// Parses a module (or bare functions) with the given ops. Reports errors to `diagnostics` and returns the program of
/// all that could be parsed.
pub fn parse_with(text: &str, registry: &Registry, diagnostics: &mut Diagnostics) -> Program {
    if text.len() > MAX_TEXT {
        let message = format!("the text has {} bytes; at most {MAX_TEXT} are supported", text.len());
        diagnostics.push(Diagnostic::error(codes::TEXT_SIZE, Span::default(), message).note("split the module"));
        return Program::with_registry(registry.clone());
    }
    if let Some(span) = names_of_op_after(text, MAX_OPS) {
        diagnostics.push(too_many_ops(span));
        return Program::with_registry(registry.clone());
    }
    let mut lexer = Lexer { text, at: 0 };
    let tok = lexer.next();
    let mut program = Program::with_registry(registry.clone());
    program.source = Some(text.into());
    program.set_text_file("-", 0);
    let mut parser = Parser {
        lexer,
        tok,
        prev_end: 0,
        program,
        diagnostics,
        values: FxHashMap::default(),
        bound: Vec::new(),
        attr_aliases: FxHashMap::default(),
        type_aliases: FxHashMap::default(),
        loc_aliases: FxHashMap::default(),
        labels: FxHashMap::default(),
        nesting: [0; 3],
        fatal: false,
    };
    parser.top_level();
    parser.program
}

/// Returns the error at the first op after [`MAX_OPS`] others.
fn too_many_ops(span: Span) -> Diagnostic {
    Diagnostic::error(codes::OP_LIMIT, span, format!("the program has more than {MAX_OPS} ops"))
        .note("write repeated ops as a while loop, or as a function that is called")
}

/// Calls [`parse_with`] with the standard registry.
pub fn parse(text: &str, diagnostics: &mut Diagnostics) -> Program {
    parse_with(text, &Registry::standard(), diagnostics)
}

impl<'s> Parser<'s> {
    // Tokens ---------------------------------------------------------------------------------------------------

    /// Returns the current token.
    pub fn token(&self) -> Token {
        self.tok
    }

    /// Returns the text of the current token.
    pub fn token_text(&self) -> &'s str {
        &self.lexer.text[self.tok.start..self.tok.end]
    }

    /// Advances to the next token; returns the previous one.
    pub fn advance(&mut self) -> Token {
        let t = self.tok;
        self.prev_end = t.end;
        self.tok = self.lexer.next();
        t
    }

    /// Returns whether the current token is this word or punctuation.
    pub fn at(&self, text: &str) -> bool {
        matches!(self.tok.kind, Tok::Word | Tok::Punct) && self.token_text() == text
    }

    /// Returns whether the current token and the next are these.
    pub fn at_both(&self, first: &str, second: &str) -> bool {
        if !self.at(first) {
            return false;
        }
        let mut ahead = self.lexer;
        let t = ahead.next();
        matches!(t.kind, Tok::Word | Tok::Punct) && &self.lexer.text[t.start..t.end] == second
    }

    /// Consumes this word or punctuation if it is the current token.
    pub fn eat(&mut self, text: &str) -> bool {
        let found = self.at(text);
        if found {
            self.advance();
        }
        found
    }

    /// Consumes this word or punctuation, or fails.
    pub fn expect(&mut self, text: &str) -> Parse<()> {
        if self.eat(text) { Ok(()) } else { self.fail_expected(&format!("'{text}'")) }
    }

    /// Consumes these words and punctuation, in order, or fails.
    pub fn expect_all(&mut self, texts: &[&str]) -> Parse<()> {
        texts.iter().try_for_each(|text| self.expect(text))
    }

    /// Fails at the current token.
    pub fn fail_expected<T>(&mut self, what: &str) -> Parse<T> {
        let found = match self.tok.kind {
            Tok::End => "the end of the text".to_owned(),
            Tok::Bad if self.token_text().starts_with(['"', '@']) => "an unterminated string".to_owned(),
            _ => format!("'{}'", short(self.token_text())),
        };
        let mut d = Diagnostic::error(codes::SYNTAX, self.tok.span(), format!("expected {what}, found {found}"));
        if self.tok.kind == Tok::Bad && found.starts_with("an unterminated") {
            d = d.note("close the string with '\"' on the same line");
        } else if self.tok.kind == Tok::End {
            d = d.note("the text ends before an open bracket or region is closed");
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
        self.error(Diagnostic::error(codes::SYNTAX, span, message))
    }

    /// Calls `f` one level deeper; fails if that is too deep.
    pub(in crate::text) fn nested<T>(&mut self, kind: Nest, f: impl FnOnce(&mut Self) -> Parse<T>) -> Parse<T> {
        if self.nesting[kind as usize] >= MAX_NESTING {
            let d = Diagnostic::error(
                codes::NESTING_DEPTH,
                self.tok.span(),
                format!("nested deeper than {MAX_NESTING} levels"),
            )
            .note(match kind {
                Nest::Data => "flatten the type, attribute or location",
                Nest::Region | Nest::Isolated => "flatten the program: use calls instead of nested regions",
            });
            let failed = self.error(d);
            self.fatal = true;
            return failed;
        }
        self.nesting[kind as usize] += 1;
        let result = f(self);
        self.nesting[kind as usize] -= 1;
        result
    }

    /// Parses a bare word.
    pub fn word(&mut self) -> Parse<&'s str> {
        if self.tok.kind != Tok::Word {
            return self.fail_expected("a word");
        }
        let text = self.token_text();
        self.advance();
        Ok(text)
    }

    /// Parses an integer, possibly negative.
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

    /// Parses a string of any bytes; returns its content.
    pub fn byte_string(&mut self) -> Parse<ByteString> {
        if self.tok.kind != Tok::Str {
            return self.fail_expected("a string");
        }
        let text = self.token_text();
        self.advance();
        Ok(unescape(&text[1..text.len() - 1]).into())
    }

    /// Parses a string that must be UTF-8; returns its content.
    pub fn string(&mut self) -> Parse<String> {
        let span = self.tok.span();
        let bytes = self.byte_string()?;
        self.text_of(bytes.as_bytes(), span)
    }

    /// Returns the text of a name in the program; fails for bytes that aren't UTF-8.
    fn text_of(&mut self, bytes: &[u8], span: Span) -> Parse<String> {
        match std::str::from_utf8(bytes) {
            Ok(text) => Ok(text.to_owned()),
            Err(fault) => {
                let (at, byte) = (fault.valid_up_to(), bytes[fault.valid_up_to()]);
                let message = format!("a name must be UTF-8 text, but its byte {at} (0x{byte:02X}) is invalid");
                let d = Diagnostic::error(codes::SYNTAX, span, message);
                self.error(d.note("write the name in UTF-8; only values of attributes may have any bytes"))
            }
        }
    }

    /// Parses `@name`; returns the name.
    pub fn symbol(&mut self) -> Parse<String> {
        if self.tok.kind != Tok::At {
            return self.fail_expected("a symbol like @name");
        }
        let (text, span) = (&self.token_text()[1..], self.tok.span());
        if text.is_empty() {
            return self.fail(span, "expected a name after '@'");
        }
        self.advance();
        match text.strip_prefix('"') {
            Some(quoted) => self.text_of(&unescape(&quoted[..quoted.len() - 1]), span),
            None => Ok(text.to_owned()),
        }
    }

    /// Parses `f`, then `, f` while commas follow.
    pub fn comma_list<T>(&mut self, mut f: impl FnMut(&mut Self) -> Parse<T>) -> Parse<Vec<T>> {
        let mut items = vec![f(self)?];
        while self.eat(",") {
            items.push(f(self)?);
        }
        Ok(items)
    }

    /// Parses `open`, items separated by commas, `close`.
    pub fn list<T>(&mut self, open: &str, close: &str, f: impl FnMut(&mut Self) -> Parse<T>) -> Parse<Vec<T>> {
        self.expect(open)?;
        if self.eat(close) {
            return Ok(Vec::new());
        }
        let items = self.comma_list(f)?;
        self.expect(close)?;
        Ok(items)
    }

    /// Parses `[0, -1]`.
    pub fn int_list(&mut self) -> Parse<Vec<i64>> {
        self.list("[", "]", Self::integer)
    }

    /// Runs `f`; if it fails, restores the position and removes its diagnostics.
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

    /// Parses `%name` without looking it up; returns the name and its span.
    pub fn value_name(&mut self) -> Parse<(&'s str, Span)> {
        if self.tok.kind != Tok::Percent {
            return self.fail_expected("a value like %0");
        }
        let text = &self.token_text()[1..];
        if text.is_empty() {
            return self.fail(self.tok.span(), "expected a name after '%'");
        }
        let t = self.advance();
        Ok((text, t.span()))
    }

    /// Parses `%name` or `%name#1` and looks it up.
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
                None => Ok((first, span)),
                Some(n) if n < count => Ok((Value::new(first.index() + n as usize), span)),
                Some(n) => self.fail(span, format!("%{name} has {count} results, so number {n} is undefined")),
            },
            None => {
                // Finding a similar name compares with all names, so only the first errors of a text get one.
                let few = self.diagnostics.iter().count() < 20;
                let mut near: Vec<&str> = if few { self.values.keys().copied().collect() } else { Vec::new() };
                near.sort_unstable();
                let near = nearest(name, near.into_iter());
                let mut d = Diagnostic::error(codes::UNDEFINED_VALUE, span, format!("%{name} is not defined here"));
                d = match near {
                    Some(n) => d.note(format!("did you mean %{n}?")),
                    None => d.note("define it before this use, in this region or an enclosing one"),
                };
                self.error(d)
            }
        }
    }

    /// Parses one operand.
    pub fn operand(&mut self, op: &mut ParsedOp) -> Parse<Value> {
        let (value, span) = self.value()?;
        op.operands.push(value);
        op.operand_spans.push(span);
        Ok(value)
    }

    /// Parses `%a, %b`, possibly none; stops before a comma that no value follows.
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

    /// Parses `(%a, %b)`.
    pub fn operands_in_parentheses(&mut self, op: &mut ParsedOp) -> Parse<()> {
        self.expect("(")?;
        self.operands(op)?;
        self.expect(")")
    }

    /// Parses `%a: T`, and its location if it is stated.
    pub fn argument(&mut self) -> Parse<Argument<'s>> {
        let (name, span) = self.value_name()?;
        self.expect(":")?;
        let ty = self.ty()?;
        let loc = self.optional_loc()?.unwrap_or(Loc::of_text(span));
        Ok(Argument { name, span, ty, loc })
    }

    /// Parses `(%a: T, %b: U)`.
    pub fn arguments(&mut self) -> Parse<Vec<Argument<'s>>> {
        self.list("(", ")", Self::argument)
    }

    fn bind(&mut self, name: &'s str, binding: Binding, span: Span) {
        let old = self.values.insert(name, binding);
        if let Some(Binding::Values(v, _)) = old
            && matches!(binding, Binding::Values(..))
        {
            let d = Diagnostic::error(codes::DUPLICATE_VALUE, span, format!("%{name} is defined twice"))
                .also(self.program.value_span(v), "first here")
                .note("give one of them another name");
            let _ = self.error::<()>(d);
        }
        self.bound.push((name, old));
    }

    // Attribute dictionaries -----------------------------------------------------------------------------------

    /// Parses `{a = 1, b}`, if present, into `op`.
    pub fn attr_dict(&mut self, op: &mut ParsedOp) -> Parse<()> {
        if self.at("{") {
            let entries = self.dict_entries()?;
            op.attrs.extend(entries);
        }
        Ok(())
    }

    /// Parses `attributes {…}`, if present, into `op`.
    pub fn attributes_keyword(&mut self, op: &mut ParsedOp) -> Parse<()> {
        if self.eat("attributes") { self.attr_dict(op) } else { Ok(()) }
    }

    /// Parses `{a = 1, b}`.
    pub fn dict_entries(&mut self) -> Parse<Vec<(Name, Attr)>> {
        self.list("{", "}", |p| {
            let key = if p.tok.kind == Tok::Str { p.string()? } else { p.word()?.to_owned() };
            let attr = if p.eat("=") { p.attribute()? } else { p.program.intern_attr(AttrData::Unit) };
            Ok((p.program.name(&key), attr))
        })
    }
}

/// Returns at most 40 characters of `text`, for messages.
pub(crate) fn short(text: &str) -> String {
    if text.chars().count() <= 40 { text.to_owned() } else { text.chars().take(39).chain(['…']).collect() }
}

/// Returns the candidate nearest to `word` by edit distance, if it is near enough to be a likely typo.
pub fn nearest<'a>(word: &str, candidates: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    if word.len() > 64 {
        return None;
    }
    let limit = 1 + word.len() / 6;
    candidates
        .filter(|c| c.len().abs_diff(word.len()) <= limit)
        .map(|c| (distance(word, c), c))
        .filter(|d| d.0 <= limit)
        .min()
        .map(|d| d.1)
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

/// Returns the bytes that an MLIR string's text represents.
fn unescape(text: &str) -> Vec<u8> {
    if !text.contains('\\') {
        return text.as_bytes().to_vec();
    }
    let mut out = Vec::with_capacity(text.len());
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
    out
}
/// Parses `text` as an attribute of `program`; returns `None` if it isn't one.
pub fn attribute_of_text(program: &mut Program, text: &str) -> Option<Attr> {
    let mut diagnostics = Diagnostics::default();
    let mut lexer = Lexer { text, at: 0 };
    let tok = lexer.next();
    let mut parser = Parser {
        lexer,
        tok,
        prev_end: 0,
        program: std::mem::take(program),
        diagnostics: &mut diagnostics,
        values: FxHashMap::default(),
        bound: Vec::new(),
        attr_aliases: FxHashMap::default(),
        type_aliases: FxHashMap::default(),
        loc_aliases: FxHashMap::default(),
        labels: FxHashMap::default(),
        nesting: [0; 3],
        fatal: false,
    };
    let attr = parser.attribute().ok().filter(|_| parser.tok.kind == Tok::End);
    *program = parser.program;
    attr
}
