//! Parsing of ops, their regions and the top level; after an error, parsing continues at the next op.

use smallvec::SmallVec;

use super::super::lexer::{Lexer, Tok};
use super::super::syntax::{Piece, Syntax, TypeForm};
use super::{Argument, Binding, Label, Nest, Parse, ParsedOp, Parser, nearest, short, too_many_ops};
use crate::codes;
use crate::diagnostic::{Diagnostic, Span};
use crate::ir::{AttrData, Block, ElementType, LOC_ALIAS, Loc, MAX_OPS, Region, Value};

/// The advice for converting a module of MHLO to StableHLO.
const CONVERT_MHLO: &str =
    "convert the module with mlir-hlo-opt --hlo-legalize-to-stablehlo, or lower it again with a newer JAX";

impl<'s> Parser<'s> {
    pub(super) fn top_level(&mut self) {
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
                        let _ =
                            self.fail::<()>(self.tok.span(), format!("'{}' closes nothing", short(self.token_text())));
                        self.advance();
                    }
                }
            }
        }
        self.program.settle_locations();
        // If the text has a single module, that is the program; several top-level ops are in an implicit module.
        let modules: Vec<_> = self.program.block_ops(body).to_vec();
        if let [only] = modules[..]
            && self.program.op_name(only) == "builtin.module"
        {
            self.program.module = only;
        } else {
            let module = self.program.module;
            self.program.op_mut(module).loc = Loc::WHOLE_TEXT;
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

    /// Returns the slot of location alias `name`; the alias may be defined later.
    fn loc_alias(&mut self, name: &'s str) -> u32 {
        let next = self.program.loc_aliases.len() as u32;
        let slot = *self.loc_aliases.entry(name).or_insert(next);
        if slot == next {
            self.program.loc_aliases.push(Loc::UNKNOWN);
        }
        slot
    }

    /// Returns the location id of `#name`.
    pub(in crate::text) fn loc_of_alias(&mut self, name: &'s str) -> Loc {
        Loc::new(LOC_ALIAS + self.loc_alias(name) as usize)
    }

    /// Parses `loc(…)` if present.
    pub fn optional_loc(&mut self) -> Parse<Option<Loc>> {
        if self.at("loc") { self.location().map(Some) } else { Ok(None) }
    }

    /// Parses an op into `block`; an invalid op is skipped and its results are poisoned.
    fn op_recovering(&mut self, block: Block) {
        let start = self.tok.start;
        if self.op(block).is_ok() {
            return;
        }
        // The names of the results that the op would have defined.
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

    /// Skips the op that starts at `start` and failed before the current token: to the first end of a line, or to the
    /// brace, after which no brace is open.
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
                b'/' if !in_string && bytes.get(at + 1) == Some(&b'/') => {
                    // Braces in a comment don't count.
                    at += bytes[at..].iter().position(|&b| b == b'\n').unwrap_or(bytes.len() - at);
                    continue;
                }
                b'\n' => {
                    in_string = false;
                    if at >= broke && depth <= 0 {
                        break;
                    }
                }
                b'{' if !in_string => depth += 1,
                b'}' if !in_string => {
                    depth -= 1;
                    if depth < 0 && at >= broke {
                        // The end of the enclosing block.
                        break;
                    }
                    // Text that is parsed already isn't parsed again, even if its braces don't match.
                    depth = depth.max(0);
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
        // Names of results: (name, number of results, span).
        let mut names: SmallVec<[(&'s str, u32, Span); 2]> = SmallVec::new();
        if self.tok.kind == Tok::Percent {
            loop {
                let (name, span) = self.value_name()?;
                let count = if self.eat(":") { self.integer()? } else { 1 };
                if !(1..=1 << 20).contains(&count) {
                    return self.fail(span, "expected between 1 and 1048576 results");
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
            successors: Vec::new(),
            results: SmallVec::new(),
            span,
        };
        match self.tok.kind {
            Tok::Str => {
                parsed.name = self.string()?;
                if let Some(def) = self.program.registry().get(&parsed.name) {
                    parsed.def = def;
                } else if let Some(op) = parsed.name.strip_prefix("mhlo.")
                    && let Some(name) = self.name_of_mhlo(op)
                {
                    // Other ops of MHLO are kept as they are, like all unknown ops.
                    let message = format!("'{}' is '{name}' in StableHLO", short(&parsed.name));
                    return self.error(Diagnostic::error(codes::UNKNOWN_OP, span, message).note(CONVERT_MHLO));
                }
                self.generic_rest(&mut parsed)?;
            }
            Tok::Word => {
                let word = self.token_text();
                let found = match word.contains('.') {
                    true => self.program.registry().get(word),
                    false => {
                        ["func.", "builtin."].iter().find_map(|d| self.program.registry().get(&format!("{d}{word}")))
                    }
                };
                let Some(def) = found else {
                    return self.unknown_op(word);
                };
                self.advance();
                (parsed.def, parsed.name) = (def, def.name().to_owned());
                self.pretty_op(&mut parsed)?;
            }
            _ => return self.fail_expected("an op"),
        }
        let loc = self.optional_loc()?.unwrap_or(Loc::of_text(parsed.span));
        self.finish_op(block, parsed, &names, loc, start)
    }

    fn unknown_op<T>(&mut self, word: &str) -> Parse<T> {
        if let Some(op) = word.strip_prefix("mhlo.") {
            let message = match self.name_of_mhlo(op) {
                Some(name) => format!("'{}' is '{name}' in StableHLO", short(word)),
                None => format!("'{}' is an op of MHLO without an equivalent in StableHLO", short(word)),
            };
            let span = self.tok.span();
            return self.error(Diagnostic::error(codes::UNKNOWN_OP, span, message).note(CONVERT_MHLO));
        }
        let near = nearest(word, crate::ops::OPS.iter().map(|op| op.name()));
        let mut d =
            Diagnostic::error(codes::UNKNOWN_OP, self.tok.span(), format!("'{}' is not a known op", short(word)));
        if let Some(near) = near {
            d = d.note(format!("did you mean '{near}'?"));
        }
        let d = d.note(format!("ops of other dialects are read in generic form: \"{}\"(…) : (…) -> …", short(word)));
        self.error(d)
    }

    /// Returns today's name of an op of MHLO, the dialect before StableHLO: most have the same name in StableHLO or
    /// CHLO.
    fn name_of_mhlo(&self, op: &str) -> Option<String> {
        let op = if op == "topk" { "top_k" } else { op };
        let names = ["stablehlo", "chlo"].map(|dialect| format!("{dialect}.{op}"));
        names.into_iter().find(|name| self.program.registry().get(name).is_some())
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
        if self.program.op_count() >= MAX_OPS {
            let failed = self.error(too_many_ops(parsed.span));
            self.fatal = true;
            return failed;
        }
        let p = &mut self.program;
        let name = p.name(&parsed.name);
        let op = p.new_op(parsed.def, &parsed.operands, &parsed.results, &parsed.attrs, &parsed.regions, loc);
        let data = p.op_mut(op);
        data.name = name;
        data.span = parsed.span;
        data.operand_spans = parsed.operand_spans;
        data.text_span = Span::new(start, self.prev_end.max(start));
        data.successors = (!parsed.successors.is_empty()).then(|| parsed.successors.into());
        p.append(block, op);
        let mut first = if parsed.results.is_empty() { Value::new(0) } else { p.result(op, 0) };
        for &(name, count, span) in names {
            let next = Value::new(first.index() + count as usize);
            self.program.values[first..next].iter_mut().for_each(|v| v.span = span);
            self.bind(name, Binding::Values(first, count), span);
            first = next;
        }
        Ok(())
    }

    /// Parses the rest of an op after its name, in generic form.
    pub fn generic_rest(&mut self, op: &mut ParsedOp) -> Parse<()> {
        self.operands_in_parentheses(op)?;
        if self.at("[") {
            self.list("[", "]", |p| p.successor(op))?;
        }
        if self.eat("<") {
            self.attr_dict(op)?;
            self.expect(">")?;
        }
        if self.eat("(") {
            loop {
                let region = if self.at_both("{", "}") && op.name != crate::ops::func::MODULE_NAME {
                    self.advance();
                    self.advance();
                    self.program.new_region(&[])
                } else if op.def.isolated() {
                    self.isolated_region(&[])?
                } else {
                    self.region(&[])?
                };
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
            Syntax::Keys(keys, types) => {
                self.operands(op)?;
                for (key, piece) in keys {
                    [",", key, "="].into_iter().try_for_each(|token| self.expect(token))?;
                    self.piece(op, piece)?;
                }
                self.attr_dict(op)?;
                self.types(op, types)
            }
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
                let word = self.enum_value(kind)?;
                let attr = self.program.attr_enum(kind, word);
                op.set(&mut self.program, name, attr);
                Ok(())
            }
            Piece::Enums(name, kind) => {
                let items = self.list("[", "]", |p| {
                    let word = p.enum_value(kind)?;
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

    /// Parses `: types` and sets the result types.
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
                let results = if self.at("(") { self.list("(", ")", Self::ty)? } else { self.comma_list(Self::ty)? };
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
                    _ => return self.fail(op.span, "expected the result of complex to be a tensor of complex numbers"),
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

    /// Parses `{ ops }` of one block. `args` are the block's arguments if the op's own text names them; otherwise a
    /// label `^bb0(%a: T):` may follow. Names defined inside go out of scope at the end of the region.
    pub fn region(&mut self, args: &[Argument<'s>]) -> Parse<Region> {
        self.region_of(Nest::Region, args)
    }

    fn region_of(&mut self, kind: Nest, args: &[Argument<'s>]) -> Parse<Region> {
        self.nested(kind, |p| {
            let block = p.program.new_block();
            let region = p.program.new_region(&[block]);
            let mark = p.bound.len();
            let outer = std::mem::take(&mut p.labels);
            args.iter().for_each(|&arg| p.block_arg(block, arg));
            let result = p.region_inside(region, block);
            let labels = std::mem::replace(&mut p.labels, outer);
            let missing = labels.iter().filter(|l| !l.1.defined).min_by_key(|l| l.1.span.start);
            let result = match missing {
                Some((name, label)) if result.is_ok() => p.fail(label.span, format!("the region has no block {name}")),
                _ => result,
            };
            while p.bound.len() > mark {
                let (name, old) = p.bound.pop().expect("longer than the prefix");
                match old {
                    Some(binding) => p.values.insert(name, binding),
                    None => p.values.remove(name),
                };
            }
            result.map(|()| region)
        })
    }

    /// Parses a region that can't use values defined outside of it, so that names may be reused.
    pub fn isolated_region(&mut self, args: &[Argument<'s>]) -> Parse<Region> {
        let outer = std::mem::take(&mut self.values);
        let region = self.region_of(Nest::Isolated, args);
        self.values = outer;
        region
    }

    /// Adds an argument to `block` and names it.
    fn block_arg(&mut self, block: Block, arg: Argument<'s>) {
        let value = self.program.add_block_arg(block, arg.ty, arg.loc, arg.span);
        self.bind(arg.name, Binding::Values(value, 1), arg.span);
    }

    /// Parses a successor block `^bb1`, which may be defined later.
    pub fn successor(&mut self, op: &mut ParsedOp) -> Parse<()> {
        if self.tok.kind != Tok::Caret {
            return self.fail_expected("a block, like ^bb1");
        }
        let (name, span) = (self.token_text(), self.tok.span());
        self.advance();
        let program = &mut self.program;
        let label = self.labels.entry(name);
        let label = label.or_insert_with(|| Label { block: program.new_block(), span, defined: false });
        op.successors.push(label.block);
        Ok(())
    }

    /// Parses the label of a block with its arguments: `^bb1(%a: T):`. `entry` is the region's first block, if the
    /// label is for it.
    fn label(&mut self, entry: Option<Block>) -> Parse<Block> {
        let (name, span) = (self.token_text(), self.tok.span());
        self.advance();
        let program = &mut self.program;
        let label = self.labels.entry(name).or_insert_with(|| Label {
            block: entry.unwrap_or_else(|| program.new_block()),
            span,
            defined: false,
        });
        let (block, twice) = (label.block, std::mem::replace(&mut label.defined, true));
        if twice {
            return self.fail(span, format!("the region has two blocks {name}"));
        }
        if self.at("(") {
            self.list("(", ")", |p| {
                let arg = p.argument()?;
                p.block_arg(block, arg);
                Ok(())
            })?;
        }
        self.expect(":")?;
        Ok(block)
    }

    fn region_inside(&mut self, region: Region, entry: Block) -> Parse<()> {
        let opened = self.tok.span();
        self.expect("{")?;
        let (mut first, mut blocks) = (true, vec![entry]);
        loop {
            match self.tok.kind {
                Tok::End => {
                    let d = Diagnostic::error(
                        codes::UNCLOSED_BRACKET,
                        self.tok.span(),
                        "expected '}', found the end of the text",
                    )
                    .also(opened, "opened here")
                    .note("close the region");
                    return self.error(d);
                }
                Tok::Caret => {
                    let block = self.label(first.then_some(entry))?;
                    if !first {
                        blocks.push(block);
                    }
                }
                Tok::Punct if self.at("}") => {
                    self.advance();
                    if blocks.len() > 1 {
                        self.program.set_region_blocks(region, &blocks);
                    }
                    return Ok(());
                }
                _ => {
                    let before = self.tok.start;
                    self.op_recovering(blocks[blocks.len() - 1]);
                    if self.tok.start == before && !self.at("}") {
                        // No op can start here, and skipping to the end of the line doesn't help: skip one token.
                        self.advance();
                    }
                }
            }
            first = false;
        }
    }
}
