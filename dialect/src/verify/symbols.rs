//! Checks of the names of functions and meshes, and of calls.

use rustc_hash::FxHashMap;

use super::Verifier;
use crate::codes;
use crate::diagnostic::Diagnostic;
use crate::ir::{AttrData, Op, OpRef};
use crate::op::Control;
use crate::ops::func;
use crate::text::nearest;

impl<'a> Verifier<'a> {
    /// Checks that names are unique, that calls match their functions, and that no function is recursive.
    pub(super) fn symbols(&mut self) {
        let program = self.program;
        let mut seen: FxHashMap<&str, Op> = FxHashMap::default();
        for &op in program.block_ops(program.body()) {
            let view = program.view(op);
            let needs_name = matches!(view.name(), "func.func" | "sdy.mesh");
            match func::symbol(program, op) {
                Some(name) => {
                    if let Some(&first) = seen.get(name) {
                        let d = Diagnostic::error(
                            codes::DUPLICATE_SYMBOL,
                            view.span(),
                            format!("@{name} is defined twice"),
                        );
                        self.push(d.also(program.op(first).span, "first here").note("give one of them another name"));
                    }
                    seen.entry(name).or_insert(op);
                }
                None if matches!(view.attr("sym_name"), Some(AttrData::String(_))) => {
                    let message = format!("the name of '{}' must be UTF-8 text", view.name());
                    self.error(codes::MISSING_SYMBOL, view, message, "write the name in UTF-8");
                }
                None if needs_name => {
                    self.error(codes::MISSING_SYMBOL, view, format!("'{}' needs a name", view.name()), "add @name")
                }
                None => {}
            }
        }
        self.calls();
    }

    fn calls(&mut self) {
        let program = self.program;
        // The functions that each function calls, in order, each with the calling op.
        let functions: Vec<Op> = func::functions(program).collect();
        let number: FxHashMap<Op, usize> = functions.iter().enumerate().map(|(i, &op)| (op, i)).collect();
        let mut edges: Vec<Vec<(usize, Op)>> = Vec::with_capacity(functions.len());
        for &function in &functions {
            let mut calls = Vec::new();
            if let Some(block) = func::block(program, function) {
                for op in program.ops_under(block) {
                    let view = program.view(op);
                    if view.def().control(view) == Some(Control::Call)
                        && let Some(callee) = self.call(view)
                        && let Some(&to) = number.get(&callee)
                    {
                        calls.push((to, op));
                    }
                }
            }
            edges.push(calls);
        }
        self.recursion(&functions, &edges);
    }

    /// Returns the function that a call names, after checking that the call's types match.
    fn call(&mut self, op: OpRef<'a>) -> Option<Op> {
        let program = self.program;
        let name = func::callee(op)?;
        let Some(&function) = self.functions.get(name) else {
            let mut known: Vec<&str> = self.functions.keys().copied().collect();
            known.sort_unstable();
            let note = match nearest(name, known.into_iter()) {
                Some(near) => format!("did you mean @{near}?"),
                None => "define the function in this module".to_owned(),
            };
            self.error(codes::UNKNOWN_FUNCTION, op, format!("function @{name} is undefined"), &note);
            return None;
        };
        let signature = func::signature(program, function);
        for (what, found, expected) in [
            ("takes", op.type_ids(op.operands()), signature.inputs),
            ("returns", op.result_type_ids(), signature.results),
        ] {
            if found != expected {
                let (found, expected) = (program.types_text(&found), program.types_text(expected));
                let d = Diagnostic::error(
                    codes::CALL_TYPES,
                    op.span(),
                    format!("@{name} {what} {expected}, but the call declares {found}"),
                );
                let d = d.also(program.op(function).span, format!("@{name} is defined here"));
                self.push(d.note("change the call's types to those of the function"));
            }
        }
        Some(function)
    }

    /// Reports recursion by a depth-first search over the calls, with an explicit stack.
    fn recursion(&mut self, functions: &[Op], edges: &[Vec<(usize, Op)>]) {
        #[derive(Clone, Copy, PartialEq)]
        enum State {
            New,
            Open,
            Done,
        }
        let mut state = vec![State::New; functions.len()];
        for root in 0..functions.len() {
            if state[root] != State::New {
                continue;
            }
            state[root] = State::Open;
            let mut stack = vec![(root, 0)];
            while let Some(&(at, next)) = stack.last() {
                let Some(&(to, call)) = edges[at].get(next) else {
                    state[at] = State::Done;
                    stack.pop();
                    continue;
                };
                stack.last_mut().expect("just seen").1 += 1;
                match state[to] {
                    State::New => {
                        state[to] = State::Open;
                        stack.push((to, 0));
                    }
                    State::Open => {
                        let from = stack.iter().position(|s| s.0 == to).unwrap_or(0);
                        let name = |i: usize| func::symbol(self.program, functions[i]).unwrap_or_default();
                        let mut path: Vec<String> = stack[from..].iter().map(|s| format!("@{}", name(s.0))).collect();
                        path.push(format!("@{}", name(to)));
                        let message = format!("recursive functions are not supported: {}", path.join(" calls "));
                        self.error(
                            codes::RECURSION,
                            self.program.view(call),
                            message,
                            "write the repetition as stablehlo.while",
                        );
                    }
                    State::Done => {}
                }
            }
        }
    }
}
