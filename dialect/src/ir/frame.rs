//! A location for human readers: the stack of source lines that JAX recorded, innermost first.
//!
//! JAX names an op `loc("jit(f)/path/op"(callsite(inner at callsite(… at outer))))`, where each of the places is
//! `loc("function"("file.py":line:column))`.

use std::borrow::Cow;

use super::entity::Loc;
use super::loc::LocData;
use super::program::Program;

/// One line of source.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Frame<'a> {
    /// The function it is in, when recorded.
    pub function: Option<Cow<'a, str>>,
    /// The file's name.
    pub file: Cow<'a, str>,
    /// Line, from 1.
    pub line: u32,
    /// Column, from 1.
    pub column: u32,
    /// Whether it is a line of the program's own text, because the op has no `loc(…)`.
    pub of_text: bool,
}

/// Locations nest as deep as Python's stack; aliases may form cycles.
const MAX_STEPS: usize = 1000;

impl Program {
    /// Returns the source lines of a location, innermost first.
    pub fn frames(&self, loc: Loc) -> Vec<Frame<'_>> {
        let mut frames = Vec::new();
        // The locations still to visit, the next one last, each with the name around it.
        let mut open = vec![(loc, None)];
        for _ in 0..MAX_STEPS {
            let Some((loc, function)) = open.pop() else { break };
            match &*self.loc_data(loc) {
                LocData::Unknown | LocData::File { start: (0, _), .. } => {}
                &LocData::File { file, start: (line, column), .. } => {
                    let of_text = loc.is_of_text();
                    frames.push(Frame { function, file: self.loc_string(file).shown(), line, column, of_text });
                }
                &LocData::Name(name, child) => open.push((child, Some(self.loc_string(name).shown()))),
                &LocData::CallSite(callee, caller) => open.extend([(caller, None), (callee, None)]),
                LocData::Fused(_, parts) => open.extend(parts.iter().rev().map(|&p| (p, None))),
            }
        }
        frames
    }

    /// Returns the source line that a user would look at: the innermost one outside of installed packages.
    pub fn user_frame(&self, loc: Loc) -> Option<Frame<'_>> {
        let frames = self.frames(loc);
        let installed =
            |f: &Frame<'_>| ["site-packages", "dist-packages", "/lib/python"].iter().any(|p| f.file.contains(p));
        frames.iter().find(|f| !installed(f)).or(frames.first()).cloned()
    }

    /// Returns the outermost name of a location: JAX's path of the op, or the name of an argument. For an inlined op
    /// this is the name in the called function.
    pub fn loc_name(&self, loc: Loc) -> Option<Cow<'_, str>> {
        let mut loc = loc;
        for _ in 0..MAX_STEPS {
            match &*self.loc_data(loc) {
                LocData::Name(name, _) => return Some(self.loc_string(*name).shown()),
                LocData::Fused(_, parts) => loc = *parts.first()?,
                &LocData::CallSite(callee, _) => loc = callee,
                _ => return None,
            }
        }
        None
    }

    /// Returns whether an op was made by reverse-mode differentiation: JAX calls its path `transpose(jvp(…))/…`.
    pub fn made_by_differentiation(&self, loc: Loc) -> bool {
        self.loc_name(loc).is_some_and(|path| path.contains("transpose(jvp("))
    }
}

#[cfg(test)]
mod tests {
    use crate::diagnostic::Diagnostics;

    /// Returns the frames of the first op of a function whose location is `loc`, as `function file:line:column`.
    fn frames(loc: &str) -> (Vec<String>, Option<String>) {
        let text = format!("func.func @f() {{\n  return loc({loc})\n}}\n#a = loc(callsite(#a at \"loop.py\":1:1))\n");
        let mut diagnostics = Diagnostics::default();
        let program = crate::parse(&text, &mut diagnostics);
        assert!(diagnostics.is_empty(), "{diagnostics:?}");
        let (_, block) = program.functions()[0];
        let loc = program.op(program.block_ops(block)[0]).loc;
        let show = |f: super::Frame<'_>| {
            format!("{} {}:{}:{}", f.function.as_deref().unwrap_or("-"), f.file, f.line, f.column)
        };
        (program.frames(loc).into_iter().map(show).collect(), program.user_frame(loc).map(show))
    }

    #[test]
    fn the_call_stack_is_read_innermost_first() {
        let (all, user) = frames(
            r#""jit(f)/dot"(callsite("g"("a/site-packages/lib.py":3:4) at callsite("h"("b.py":5:6 to :9) at "c.py":7:8)))"#,
        );
        assert_eq!(all, ["g a/site-packages/lib.py:3:4", "h b.py:5:6", "- c.py:7:8"]);
        assert_eq!(user.as_deref(), Some("h b.py:5:6"));
    }

    #[test]
    fn fused_and_unknown_places() {
        assert_eq!(frames(r#"fused["x.py":1:2, unknown, "y.py":3:4]"#).0, ["- x.py:1:2", "- y.py:3:4"]);
        assert_eq!(frames("unknown"), (vec![], None));
        assert_eq!(frames(r#""name only""#), (vec![], None));
    }

    #[test]
    fn circles_end() {
        assert!(frames("#a").0.len() <= super::MAX_STEPS);
    }
}
