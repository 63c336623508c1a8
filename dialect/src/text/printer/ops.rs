//! Printing of ops and their regions.

use std::fmt::Write as _;

use super::super::syntax::{Piece, Syntax, TypeForm};
use super::{Printer, RegionScope};
use crate::bytecode::is_property;
use crate::ir::{AttrData, Block, ElementType, Op, OpRef, Region, Ty, Value};

impl Printer<'_> {
    /// Prints an op: results, name, the rest, location.
    pub fn op(&mut self, op: Op) {
        let view = self.program.view(op);
        if let Some(first) = view.results().next() {
            self.out.push('%');
            let name = self.names.get(&first).cloned().unwrap_or_default();
            match view.result_count() {
                1 => self.text(&name),
                n => {
                    let base = name.split('#').next().unwrap_or_default();
                    let _ = write!(self.out, "{base}:{n}");
                }
            }
            self.text(" = ");
        }
        let written = std::mem::take(&mut self.written);
        if self.options.generic || !self.pretty(view) {
            self.generic(view);
        }
        self.written = written;
        self.trailing_location(self.program.op(op).loc);
    }

    /// Prints the op in its own syntax; returns `false` if it has none.
    fn pretty(&mut self, op: OpRef<'_>) -> bool {
        let mark = self.out.len();
        let name = match op.name() {
            "func.return" => "return",
            "builtin.module" => "module",
            "func.call" if !self.in_nested_region() => "call",
            name => name,
        };
        match op.def().syntax() {
            Syntax::Generic => false,
            Syntax::Custom(custom) => {
                self.text(name);
                let done = (custom.print)(self, op);
                if !done {
                    self.out.truncate(mark);
                }
                done
            }
            Syntax::Keys(keys, types) => {
                let fits = keys.iter().all(|(_, piece)| fits(op, piece)) && fits(op, &Piece::Types(types));
                if !fits || has_regions(op) {
                    return false;
                }
                self.text(name);
                self.piece(op, &Piece::Operands);
                for (key, piece) in keys {
                    [", ", key, " ="].into_iter().for_each(|text| self.text(text));
                    self.piece(op, piece);
                }
                self.piece(op, &Piece::AttrDict);
                self.type_form(op, types);
                true
            }
            Syntax::Pieces(pieces) => {
                if has_regions(op) || !pieces.iter().all(|piece| fits(op, piece)) {
                    return false;
                }
                self.text(name);
                for piece in pieces {
                    self.piece(op, piece);
                }
                true
            }
        }
    }

    /// Returns whether the op is inside another op's region, where MLIR writes `func.call`; directly in a function's
    /// body it writes `call`.
    fn in_nested_region(&self) -> bool {
        self.indent > 2
    }

    fn piece(&mut self, op: OpRef<'_>, piece: &Piece) {
        match *piece {
            Piece::Operands if op.operands().is_empty() => {}
            Piece::Operands => {
                self.space();
                self.values(op.operands());
            }
            Piece::Token(text) => {
                if !matches!(text, "," | ":") {
                    self.space();
                }
                self.text(text);
            }
            Piece::Int(name) => {
                self.written.push(name);
                self.space();
                self.text(&op.int(name).unwrap_or(0).to_string());
            }
            Piece::Ints(name) => {
                self.written.push(name);
                self.space();
                self.int_list(&op.ints(name).unwrap_or_default());
            }
            Piece::Enum(name, _) => {
                self.written.push(name);
                self.space();
                self.text(op.enum_value(name).unwrap_or("?"));
            }
            Piece::Enums(name, _) => {
                self.written.push(name);
                self.space();
                let program = self.program;
                self.text("[");
                if let Some(AttrData::Array(items)) = op.attr(name) {
                    self.separated(items.iter(), |p, &a| p.text(program.attr_data(a).as_enum().unwrap_or("?")));
                }
                self.text("]");
            }
            Piece::Attr(name) => {
                self.written.push(name);
                self.space();
                if let Some(attr) = op.attr_id(name) {
                    self.attr(attr);
                }
            }
            Piece::Optional(name, pieces) => {
                if op.attr(name).is_some() {
                    pieces.iter().for_each(|p| self.piece(op, p));
                }
            }
            Piece::AttrDict => {
                let written = self.written.clone();
                self.attr_dict(op, &written);
            }
            Piece::Types(form) => self.type_form(op, form),
        }
    }

    fn space(&mut self) {
        if !self.out.ends_with([' ', '(', '[']) {
            self.out.push(' ');
        }
    }

    /// Prints ` : types` in the given form.
    pub fn type_form(&mut self, op: OpRef<'_>, form: TypeForm) {
        let operands: Vec<Ty> = op.operands().iter().map(|&v| self.program.value_type(v)).collect();
        let results = op.result_type_ids();
        if form == TypeForm::OperandsOnly && operands.is_empty() {
            return;
        }
        self.text(" : ");
        match form {
            TypeForm::SameOrFunctional
                if !results.is_empty() && operands.iter().all(|&t| t == results[0]) && results.len() == 1 =>
            {
                self.ty(results[0]);
            }
            TypeForm::Arrow if !operands.is_empty() && !results.is_empty() => {
                self.types(&operands);
                self.text(" -> ");
                if let [only] = results[..] {
                    self.ty(only);
                } else {
                    self.text("(");
                    self.types(&results);
                    self.text(")");
                }
            }
            TypeForm::Result if results.len() == 1 => self.ty(results[0]),
            TypeForm::Select
                if operands.len() == 3
                    && results.len() == 1
                    && operands[1] == results[0]
                    && operands[2] == results[0] =>
            {
                self.types(&[operands[0], results[0]]);
            }
            TypeForm::Complex if self.has_parts(&operands, &results) => self.ty(results[0]),
            TypeForm::Pairwise | TypeForm::OperandsOnly => self.types(&operands),
            _ => self.functional_type(&operands, &results),
        }
    }

    /// Returns whether the operands' types follow from the complex result's type.
    fn has_parts(&self, operands: &[Ty], results: &[Ty]) -> bool {
        let tensor = |t: &Ty| self.program.type_data(*t).tensor();
        let &[result] = results else { return false };
        let Some(result) = tensor(&result) else { return false };
        let part = match result.element {
            ElementType::C64 => ElementType::F32,
            ElementType::C128 => ElementType::F64,
            _ => return false,
        };
        operands.iter().all(|o| tensor(o) == Some(&result.with_element(part)))
    }

    fn generic(&mut self, op: OpRef<'_>) {
        let name = op.name().to_owned();
        self.string(&name);
        self.generic_rest(op);
    }

    /// Prints the rest of an op after its name, in generic form.
    pub fn generic_rest(&mut self, op: OpRef<'_>) {
        self.operands_in_parentheses(op);
        if let Some(successors) = &self.program.op(op.op).successors {
            self.list("[", successors.iter(), "]", |p, &block| p.block_name(block));
        }
        let name = op.name();
        let properties = self.remaining(op, &[], |n| is_property(name, n));
        if !properties.is_empty() {
            self.text(" <");
            self.dict(&properties);
            self.text(">");
        }
        let regions = self.program.op(op.op).regions.clone();
        if !regions.is_empty() {
            self.text(" (");
            let counters = self.counters;
            self.separated(regions.iter(), |p, &r| {
                p.counters = counters;
                p.region(r, op, true);
            });
            self.counters = counters;
            self.text(")");
        }
        let discardable = self.remaining(op, &[], |n| !is_property(name, n));
        if !discardable.is_empty() {
            self.text(" ");
            self.dict(&discardable);
        }
        self.text(" : ");
        self.op_type(op);
    }

    // Regions --------------------------------------------------------------------------------------------------

    /// Names the values of an op's region before it is printed, so that its arguments can be printed in a header. Pass
    /// the result to [`Printer::named_region`].
    pub fn name_region(&mut self, region: Region, owner: OpRef<'_>) -> RegionScope {
        let scope = RegionScope { counters: self.counters };
        let arg_name = owner.def().block_arg_name();
        let program = self.program;
        for (i, &block) in program.region_blocks(region).iter().enumerate() {
            self.blocks.insert(block, i);
            self.name_block(block, arg_name);
        }
        scope
    }

    /// Prints `{ ops }` of a region whose values are named already, without a block label.
    pub fn named_region(&mut self, region: Region, scope: RegionScope) {
        self.region_body(region, false);
        self.leave_region(region, scope);
    }

    /// Ends the scope of a region, so that its names can be reused.
    fn leave_region(&mut self, region: Region, scope: RegionScope) {
        for &block in self.program.region_blocks(region) {
            let args = self.program.block_args(block).to_vec();
            let firsts: Vec<Value> =
                self.program.block_ops(block).iter().filter_map(|&op| self.program.results(op).next()).collect();
            for v in args.into_iter().chain(firsts) {
                if let Some(name) = self.names.get(&v) {
                    let base: Box<str> = name.split('#').next().unwrap_or_default().into();
                    self.used.remove(&base);
                }
            }
        }
        self.counters = scope.counters;
    }

    /// Prints `{ ops }`; if `label`, with the block's arguments as `^bb0(…):`.
    pub fn region(&mut self, region: Region, owner: OpRef<'_>, label: bool) {
        let scope = self.name_region(region, owner);
        self.region_body(region, label);
        self.leave_region(region, scope);
    }

    /// Prints a function's region, with a new numbering.
    pub fn isolated_region(&mut self, region: Region, owner: OpRef<'_>, header: impl FnOnce(&mut Self)) {
        let counters = std::mem::take(&mut self.counters);
        let used = std::mem::take(&mut self.used);
        let scope = self.name_region(region, owner);
        header(self);
        self.named_region(region, scope);
        self.counters = counters;
        self.used = used;
    }

    /// Prints `^bb1`.
    pub fn block_name(&mut self, block: Block) {
        let number = self.blocks.get(&block).copied().unwrap_or(0);
        let _ = write!(self.out, "^bb{number}");
    }

    fn region_body(&mut self, region: Region, label: bool) {
        self.text("{");
        let program = self.program;
        for (i, &block) in program.region_blocks(region).iter().enumerate() {
            let args = program.block_args(block);
            let label = label || i > 0;
            if label && !args.is_empty() {
                self.newline();
                self.block_name(block);
                self.text("(");
                self.arguments(args);
                self.text("):");
            } else if label && (i > 0 || program.block_ops(block).is_empty()) {
                // Without the label the text would have no block.
                self.newline();
                self.block_name(block);
                self.text(":");
            }
            self.indent += 1;
            for &op in program.block_ops(block) {
                self.newline();
                self.op(op);
            }
            self.indent -= 1;
        }
        self.newline();
        self.text("}");
    }
}

fn has_regions(op: OpRef<'_>) -> bool {
    !op.program.op(op.op).regions.is_empty()
}

/// Returns whether the op has everything that a piece of its syntax prints.
fn fits(op: OpRef<'_>, piece: &Piece) -> bool {
    match *piece {
        Piece::Int(name) => matches!(op.attr(name), Some(AttrData::Int(..))),
        Piece::Ints(name) => matches!(op.attr(name), Some(AttrData::DenseArray(ElementType::I64, _))),
        Piece::Enum(name, _) => op.enum_value(name).is_some(),
        Piece::Enums(name, _) => match op.attr(name) {
            Some(AttrData::Array(items)) => items.iter().all(|&a| op.program.attr_data(a).as_enum().is_some()),
            _ => false,
        },
        Piece::Attr(name) => op.attr(name).is_some(),
        Piece::Optional(name, pieces) => op.attr(name).is_none() || pieces.iter().all(|piece| fits(op, piece)),
        Piece::Types(TypeForm::Result) => op.operands().is_empty() && op.result_count() == 1,
        Piece::Types(TypeForm::Pairwise) => {
            let results = op.result_type_ids();
            op.operands().iter().map(|&v| op.program.value_type(v)).eq(results)
        }
        Piece::Types(TypeForm::OperandsOnly) => op.result_count() == 0,
        _ => true,
    }
}
