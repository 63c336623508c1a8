//! `loc(…)`: parsed into [`LocData`], printed through aliases after the module, as JAX prints them.

use super::lexer::Tok;
use super::parser::{Nest, Parse, Parser};
use crate::ir::{AttrData, Loc, LocData};

impl<'s> Parser<'s> {
    /// Parses `loc(…)`.
    pub fn location(&mut self) -> Parse<Loc> {
        self.expect("loc")?;
        self.expect("(")?;
        let loc = self.location_inside()?;
        self.expect(")")?;
        Ok(loc)
    }

    /// Parses a location, without recursion along call sites, because a chain of calls may be as long as the program.
    fn location_inside(&mut self) -> Parse<Loc> {
        // The callee of each open call site, once it is parsed.
        let mut open: Vec<Option<Loc>> = Vec::new();
        loop {
            if self.eat("callsite") {
                self.expect("(")?;
                open.push(None);
                continue;
            }
            let mut loc = self.nested(Nest::Data, Self::plain_location)?;
            loop {
                match open.pop() {
                    None => return Ok(loc),
                    Some(None) => {
                        self.expect("at")?;
                        open.push(Some(loc));
                        break;
                    }
                    Some(Some(callee)) => {
                        self.expect(")")?;
                        loc = self.program.intern_loc(LocData::CallSite(callee, loc));
                    }
                }
            }
        }
    }

    /// Parses a location other than a call site.
    fn plain_location(&mut self) -> Parse<Loc> {
        match self.tok.kind {
            Tok::Hash => {
                let name = &self.token_text()[1..];
                self.advance();
                return Ok(self.loc_of_alias(name));
            }
            Tok::Str => return self.named_location(),
            _ => {}
        }
        if self.eat("unknown") {
            return Ok(Loc::UNKNOWN);
        }
        if self.eat("fused") {
            let metadata = if self.eat("<") {
                let attr = self.attribute()?;
                self.expect(">")?;
                Some(attr)
            } else {
                None
            };
            let parts = self.list("[", "]", Self::location_inside)?;
            return Ok(self.program.intern_loc(LocData::Fused(metadata, parts)));
        }
        self.fail_expected("a location")
    }

    /// Parses `"file":1:2`, `"file":1:2 to :4`, `"file":1:2 to 3:4`, `"name"` or `"name"(child)`.
    fn named_location(&mut self) -> Parse<Loc> {
        let name = AttrData::String(self.byte_string()?);
        let name = self.program.intern_attr(name);
        if self.eat("(") {
            let child = self.location_inside()?;
            self.expect(")")?;
            return Ok(self.program.intern_loc(LocData::Name(name, child)));
        }
        if !self.eat(":") {
            return Ok(self.program.intern_loc(LocData::Name(name, Loc::UNKNOWN)));
        }
        let line = self.integer()? as u32;
        self.expect(":")?;
        let start = (line, self.integer()? as u32);
        let end = if self.eat("to") {
            let line = if self.at(":") { start.0 } else { self.integer()? as u32 };
            self.expect(":")?;
            Some((line, self.integer()? as u32))
        } else {
            None
        };
        Ok(self.program.intern_loc(LocData::File { file: name, start, end }))
    }
}
