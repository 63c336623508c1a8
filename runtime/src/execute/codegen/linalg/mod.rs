//! Writes a per-device program as a module of upstream MLIR: `@main` over tensors, ops as `linalg.generic`, `scf` for
//! control flow, collectives as calls of functions that are only declared.
//!
//! Integers become signless, as in MLIR's arithmetic. bf16 and f16 are computed in f32 and rounded after every op; sums
//! of them are rounded once. Communication is left to the program that links the module: each collective is a private
//! function whose attributes describe it.

mod nest;

use std::borrow::Cow;
use std::fmt::Write as _;

use dialect::codes;
use dialect::diagnostic::Diagnostic;
use dialect::ir::{AttrData, Block, ElementType, Op, OpRef, Program, TensorType, Value};
use dialect::kernel::Kernel;
use dialect::literal::Literal;
use dialect::op::Control;
use dialect::ops::func;
use dialect::scalar::Scalar;
use rustc_hash::FxHashMap;

use super::arith::Write;
use super::small::is_small;
use super::storage;

/// The prefix of the attributes that describe a declared function.
const OURS: &str = "shardc";

/// Returns the program as text.
///
/// # Errors
/// The first op that has no form in linalg: sorts, scatters, decompositions and random bits.
pub fn linalg(program: &Program) -> Result<String, Diagnostic> {
    let no_main = || Diagnostic::error(codes::NO_MAIN, Default::default(), "the module has no function @main");
    let main = func::function(program, "main").ok_or_else(no_main)?;
    let block = func::block(program, main).ok_or_else(no_main)?;
    let mut e = Emitter {
        program,
        out: String::new(),
        declared: String::new(),
        next: 0,
        calls: 0,
        indent: 2,
        names: FxHashMap::default(),
    };
    let (mut params, mut results) = (Vec::new(), Vec::new());
    for (i, &arg) in program.block_args(block).iter().enumerate() {
        e.names.insert(arg, format!("%arg{i}"));
        params.push(format!("%arg{i}: {}", e.ty(arg, main)?));
    }
    let returned = e.block(block)?;
    for &value in &returned {
        results.push(e.ty(value, main)?);
    }
    let names: Vec<String> = returned.iter().map(|v| e.name(*v)).collect();
    let given =
        if names.is_empty() { String::new() } else { format!(" {} : {}", names.join(", "), results.join(", ")) };
    e.line(&format!("return{given}"));
    let arrow = if results.is_empty() { String::new() } else { format!(" -> ({})", results.join(", ")) };
    Ok(format!("module {{\n{}  func.func @main({}){arrow} {{\n{}  }}\n}}\n", e.declared, params.join(", "), e.out))
}

/// Returns the MLIR type of an element inside a tensor.
fn element(ty: ElementType) -> Option<&'static str> {
    match ty {
        ElementType::I1 => Some("i1"),
        // Native code stores floats of a byte and less as bytes, but other tools don't know this representation.
        ty if is_small(ty) => None,
        ty => storage(ty),
    }
}

/// Returns the MLIR type of a tensor; `None` if its element type has no counterpart.
fn tensor(ty: &TensorType) -> Option<String> {
    Some(shaped(&ty.shape, element(ty.element)?))
}

fn shaped(shape: &[i64], element: &str) -> String {
    let dims: String = shape.iter().map(|d| format!("{d}x")).collect();
    format!("tensor<{dims}{element}>")
}

/// Writes the text.
struct Emitter<'a> {
    program: &'a Program,
    out: String,
    /// Declarations of the functions that the linking program has to define.
    declared: String,
    next: usize,
    calls: usize,
    indent: usize,
    names: FxHashMap<Value, String>,
}

impl Write for Emitter<'_> {
    fn value(&mut self, text: &str) -> String {
        let name = self.fresh();
        self.line(&format!("{name} = {text}"));
        name
    }

    fn of(&self, element: &'static str) -> Cow<'static, str> {
        Cow::Borrowed(element)
    }
}

impl Emitter<'_> {
    fn line(&mut self, text: &str) {
        (0..self.indent).for_each(|_| self.out.push_str("  "));
        self.out.push_str(text);
        self.out.push('\n');
    }

    fn fresh(&mut self) -> String {
        self.next += 1;
        format!("%{}", self.next - 1)
    }

    fn name(&self, value: Value) -> String {
        self.names.get(&value).cloned().unwrap_or_default()
    }

    /// Returns the type of a value of `op`.
    fn ty(&self, value: Value, op: Op) -> Result<String, Diagnostic> {
        self.program.tensor_type(value).and_then(tensor).ok_or_else(|| {
            let ty = self.program.type_text(self.program.value_type(value));
            self.refused(self.program.view(op), &format!("has a value of type {ty}, which upstream MLIR lacks"))
        })
    }

    fn refused(&self, op: OpRef<'_>, why: &str) -> Diagnostic {
        Diagnostic::error(codes::NATIVE_COMPILATION, op.span(), format!("'{}' {why}", op.name()))
            .note("'--emit stablehlo' prints any program, '--emit kernels' the loops of it that run natively")
    }

    /// Writes the ops of a block, and returns the operands of its terminator.
    fn block(&mut self, block: Block) -> Result<Vec<Value>, Diagnostic> {
        let program = self.program;
        for &op in program.block_ops(block) {
            if program.view(op).def().terminator() {
                return Ok(program.op(op).operands.to_vec());
            }
            if !program.view(op).gives_scalars() {
                self.op(program.view(op))?;
            }
        }
        Ok(Vec::new())
    }

    fn op(&mut self, op: OpRef<'_>) -> Result<(), Diagnostic> {
        let def = op.def();
        if let (Some(literal), Some(result)) = (def.constant(op), op.results().next()) {
            let ty = self.ty(result, op.op)?;
            let text = dense(literal);
            let v = self.value(&format!("arith.constant dense<{text}> : {ty}"));
            self.names.insert(result, v);
            return Ok(());
        }
        if def.collective(op).is_some() || def.is_device_number() {
            return self.call(op);
        }
        match (def.control(op), def.kernel(op)) {
            (Some(control), _) => self.control(op, control),
            (None, Kernel::Nest(nest)) => self.nest(op, &nest),
            _ => Err(self.refused(op, "has no form in linalg")),
        }
    }

    /// Writes a call of a function that is declared with the op's attributes. The linking program has to define the
    /// function.
    fn call(&mut self, op: OpRef<'_>) -> Result<(), Diagnostic> {
        let short = op.name().rsplit('.').next().unwrap_or_default().to_owned();
        let callee = format!("@shardc_{short}_{}", self.calls);
        self.calls += 1;
        let operands: Vec<String> = op.operands().iter().map(|&v| self.ty(v, op.op)).collect::<Result<_, _>>()?;
        let results: Vec<String> = op.results().map(|v| self.ty(v, op.op)).collect::<Result<_, _>>()?;
        let mut says = vec![format!("{OURS}.op = \"{}\"", op.name())];
        if let Some(kind) = op.def().reduction(op) {
            says.push(format!("{OURS}.reduction = \"{}\"", kind.text()));
        }
        if let Some(collective) = op.def().collective(op) {
            let lists = collective.groups.lists();
            let rows: Vec<String> = lists.iter().map(|list| format!("{list:?}")).collect();
            if let Some(first) = lists.first().filter(|first| lists.iter().all(|list| list.len() == first.len())) {
                let ty = format!("tensor<{}x{}xi64>", lists.len(), first.len());
                says.push(format!("{OURS}.groups = dense<[{}]> : {ty}", rows.join(", ")));
            }
        }
        for &(name, attr) in &self.program.op(op.op).attrs {
            let name = self.program.name_text(name);
            if name == "replica_groups" || name.contains('.') {
                continue;
            }
            // Only attributes of builtin types are written, so that readers need no other dialect.
            if matches!(self.program.attr_data(attr), AttrData::Dense(..) | AttrData::Int(..)) {
                says.push(format!("{OURS}.{name} = {}", self.program.attr_text(attr)));
            }
        }
        let _ = writeln!(
            self.declared,
            "  func.func private {callee}({}) -> ({}) attributes {{{}}}",
            operands.join(", "),
            results.join(", "),
            says.join(", ")
        );
        let names: Vec<String> = op.operands().iter().map(|&v| self.name(v)).collect();
        let text =
            format!("func.call {callee}({}) : ({}) -> ({})", names.join(", "), operands.join(", "), results.join(", "));
        self.define(op, &text);
        Ok(())
    }

    /// Writes an op with as many results as `op`, and names them as the results of `op`.
    fn define(&mut self, op: OpRef<'_>, text: &str) {
        let name = self.fresh();
        let n = op.result_count();
        match n {
            0 => self.line(text),
            1 => self.line(&format!("{name} = {text}")),
            _ => self.line(&format!("{name}:{n} = {text}")),
        }
        for (i, v) in op.results().enumerate() {
            self.names.insert(v, if n == 1 { name.clone() } else { format!("{name}#{i}") });
        }
    }

    fn control(&mut self, op: OpRef<'_>, control: Control) -> Result<(), Diagnostic> {
        match control {
            Control::Identity => {
                for (result, &operand) in op.results().zip(op.operands()) {
                    let name = self.name(operand);
                    self.names.insert(result, name);
                }
                Ok(())
            }
            Control::While => self.repeat(op),
            Control::If | Control::Case => self.branch(op, control == Control::If),
            Control::Call | Control::Manual | Control::Inline => Err(self.refused(op, "must be inlined first")),
        }
    }

    fn repeat(&mut self, op: OpRef<'_>) -> Result<(), Diagnostic> {
        let types: Vec<String> = op.operands().iter().map(|&v| self.ty(v, op.op)).collect::<Result<_, _>>()?;
        let types = types.join(", ");
        let (Some(condition), Some(body)) = (op.block(0), op.block(1)) else {
            return Err(self.refused(op, "has no condition or no body"));
        };
        let mut carried = Vec::new();
        let program = self.program;
        for (&arg, &from) in program.block_args(condition).iter().zip(op.operands()) {
            let name = self.fresh();
            carried.push(format!("{name} = {}", self.name(from)));
            self.names.insert(arg, name);
        }
        let at = self.out.len();
        self.indent += 1;
        let given = self.block(condition)?;
        let args: Vec<String> = program.block_args(condition).iter().map(|&v| self.name(v)).collect();
        let predicate = given.first().map(|&v| self.name(v)).unwrap_or_default();
        let predicate = self.value(&format!("tensor.extract {predicate}[] : tensor<i1>"));
        self.line(&format!("scf.condition({predicate}) {} : {types}", args.join(", ")));
        self.indent -= 1;
        let mut params = Vec::new();
        for &arg in program.block_args(body) {
            let name = self.fresh();
            params.push(format!("{name}: {}", self.ty(arg, op.op)?));
            self.names.insert(arg, name);
        }
        self.line("} do {");
        self.line(&format!("^bb0({}):", params.join(", ")));
        self.indent += 1;
        let next: Vec<String> = self.block(body)?.iter().map(|&v| self.name(v)).collect();
        self.line(&format!("scf.yield {} : {types}", next.join(", ")));
        self.indent -= 1;
        self.line("}");
        // The head is written last, because it names the results.
        let inside = self.out.split_off(at);
        self.define(op, &format!("scf.while ({}) : ({types}) -> ({types}) {{", carried.join(", ")));
        self.out.push_str(&inside);
        Ok(())
    }

    fn branch(&mut self, op: OpRef<'_>, two: bool) -> Result<(), Diagnostic> {
        let results: Vec<String> = op.results().map(|v| self.ty(v, op.op)).collect::<Result<_, _>>()?;
        let results = results.join(", ");
        let by = self.name(op.operands()[0]);
        let count = self.program.op(op.op).regions.len();
        let head = if two {
            let by = self.value(&format!("tensor.extract {by}[] : tensor<i1>"));
            format!("scf.if {by} -> ({results}) {{")
        } else {
            let by = self.value(&format!("tensor.extract {by}[] : tensor<i32>"));
            let by = self.value(&format!("arith.index_cast {by} : i32 to index"));
            format!("scf.index_switch {by} -> {results}")
        };
        let at = self.out.len();
        for i in 0..count {
            let Some(block) = op.block(i) else { return Err(self.refused(op, "has an empty branch")) };
            match (two, i) {
                (true, 0) => {}
                (true, _) => self.line("} else {"),
                // The last branch also runs for every number out of range.
                (false, i) if i + 1 == count => self.line("default {"),
                (false, i) => self.line(&format!("case {i} {{")),
            }
            self.indent += 1;
            let given: Vec<String> = self.block(block)?.iter().map(|&v| self.name(v)).collect();
            self.line(&format!("scf.yield {} : {results}", given.join(", ")));
            self.indent -= 1;
            if !two || i + 1 == count {
                self.line("}");
            }
        }
        let inside = self.out.split_off(at);
        self.define(op, &head);
        self.out.push_str(&inside);
        Ok(())
    }
}

/// Returns the elements of a constant between `dense<` and `>`.
fn dense(literal: &Literal) -> String {
    if literal.is_empty() {
        return String::new();
    }
    if let Some(value) = literal.splat_value() {
        return scalar(value, literal.element);
    }
    if literal.element != ElementType::I1 {
        let hex: String = literal.dense_bytes().iter().map(|b| format!("{b:02X}")).collect();
        return format!("\"0x{hex}\"");
    }
    // Booleans have no standard form as bytes, so they are written one by one.
    fn nested(literal: &Literal, dim: usize, at: &mut usize) -> String {
        if dim == literal.shape.len() {
            *at += 1;
            return scalar(literal.get(*at - 1), literal.element);
        }
        let rows: Vec<String> = (0..literal.shape[dim]).map(|_| nested(literal, dim + 1, at)).collect();
        format!("[{}]", rows.join(", "))
    }
    nested(literal, 0, &mut 0)
}

fn scalar(value: Scalar, ty: ElementType) -> String {
    match value {
        Scalar::Int(v) if ty == ElementType::I1 => (v != 0).to_string(),
        Scalar::Int(v) => v.to_string(),
        Scalar::Float(_) => {
            let one = Literal::scalar(ty, value);
            let hex: String = one.dense_bytes().iter().rev().map(|b| format!("{b:02X}")).collect();
            format!("0x{hex}")
        }
        Scalar::Complex(..) => String::new(),
    }
}
