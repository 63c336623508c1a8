//! `loc(…)`: read into [`LocData`], printed through aliases behind the module as JAX prints them.

use super::lexer::Tok;
use super::parser::{Parse, Parser};
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

    fn location_inside(&mut self) -> Parse<Loc> {
        self.nested(|p| {
            match p.tok.kind {
                Tok::Hash => {
                    let name = &p.token_text()[1..];
                    p.advance();
                    return Ok(p.loc_of_alias(name));
                }
                Tok::Str => return p.named_location(),
                _ => {}
            }
            if p.eat("unknown") {
                return Ok(Loc::UNKNOWN);
            }
            if p.eat("callsite") {
                p.expect("(")?;
                let callee = p.location_inside()?;
                p.expect("at")?;
                let caller = p.location_inside()?;
                p.expect(")")?;
                return Ok(p.program.intern_loc(LocData::CallSite(callee, caller)));
            }
            if p.eat("fused") {
                let metadata = if p.eat("<") {
                    let attr = p.attribute()?;
                    p.expect(">")?;
                    Some(attr)
                } else {
                    None
                };
                let parts = p.list("[", "]", Self::location_inside)?;
                return Ok(p.program.intern_loc(LocData::Fused(metadata, parts)));
            }
            p.fail_expected("a location")
        })
    }

    /// `"file":1:2`, `"file":1:2 to :4`, `"file":1:2 to 3:4`, `"name"`, `"name"(child)`
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
