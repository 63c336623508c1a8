//! The lines of the user's own program behind diagnostics about a text, from the locations in the text.

use dialect::diagnostic::Diagnostics as Plains;
use dialect::ir::Op;

use crate::compiler::Compiler;
use crate::diagnostic::Diagnostics;
use crate::source::Source;

/// A line of the program that generated the text.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Frame {
    /// The file's name.
    pub file: String,
    /// The line, from 1.
    pub line: u32,
    /// The column, from 1.
    pub column: u32,
}

impl Compiler {
    /// Returns, for each diagnostic about `source`, the user's line that generated the code at its first label: the
    /// line of the innermost op that contains it. The text is parsed again, because passes change the program that
    /// diagnostics are about.
    pub fn frames(&self, source: &Source, found: &Diagnostics) -> Vec<Option<Frame>> {
        let at: Vec<Option<usize>> = found.iter().map(|d| d.place.as_ref().map(|p| p.range.start)).collect();
        if at.iter().all(Option::is_none) {
            return vec![None; at.len()];
        }
        let program = dialect::parse_with(&source.text, self.ops(), &mut Plains::default());
        let mut ops: Vec<Op> = program.ops_under(program.body());
        ops.sort_by_key(|&op| program.op(op).text_span.start);
        let around = |at: usize| {
            let before = ops.partition_point(|&op| program.op(op).text_span.start as usize <= at);
            // Of the ops that start before it, take the last one that hasn't ended yet.
            let open = ops[..before].iter().rev().find(|&&op| at < program.op(op).text_span.end as usize)?;
            let frame = program.user_frame(program.op(*open).loc).filter(|frame| !frame.of_text)?;
            Some(Frame { file: frame.file.into_owned(), line: frame.line, column: frame.column })
        };
        at.into_iter().map(|at| around(at?)).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_fault_names_the_line_of_the_innermost_op_around_it() {
        let text = r#"
          func.func @main(%a: tensor<4xf32>, %p: tensor<i1>) -> tensor<4xf32> {
            %0 = "stablehlo.if"(%p) ({
              %1 = stablehlo.add %a, %p : (tensor<4xf32>, tensor<i1>) -> tensor<4xf32> loc("inner.py":3:4)
              stablehlo.return %1 : tensor<4xf32> loc("inner.py":5:6)
            }, {
              stablehlo.return %a : tensor<4xf32> loc("inner.py":7:8)
            }) : (tensor<i1>) -> tensor<4xf32> loc("outer.py":1:2)
            %2 = stablehlo.add %0, %p : (tensor<4xf32>, tensor<i1>) -> tensor<4xf32>
            return %0 : tensor<4xf32>
          }"#;
        let (compiler, source) = (Compiler::standard(), Source::new("a", text));
        let found = compiler.parse(source.clone()).diagnostics;
        let place =
            |f: Option<Frame>| f.map_or("nowhere".to_owned(), |f| format!("{}:{}:{}", f.file, f.line, f.column));
        let frames = compiler.frames(&source, &found).into_iter().map(place);
        let lines: Vec<_> = found.iter().map(|d| d.place.as_ref().map_or(0, |p| p.line)).zip(frames).collect();
        assert_eq!(lines, [(4, "inner.py:3:4".to_owned()), (9, "nowhere".to_owned())], "{found}");
    }
}
