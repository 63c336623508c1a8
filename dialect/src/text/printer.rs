//! The printer: canonical text that MLIR's own parser reads to the same module, and that prints again to the same
//! bytes. Values are named as MLIR names them.

use std::fmt::Write as _;

use rustc_hash::{FxHashMap, FxHashSet};

use super::syntax::{Piece, Syntax, TypeForm};
use crate::ir::{Attr, AttrData, Block, ElementType, Loc, LocData, Name, OpRef, Op, Program, Region, Ty, TypeData, Value};

/// What to print.
#[derive(Clone, Copy, Default, Debug, PartialEq, Eq)]
pub struct PrintOptions {
    /// Locations too.
    pub locations: bool,
    /// Every op in generic form.
    pub generic: bool,
    /// `shardc.cause` attributes too: why a collective is there.
    pub causes: bool,
}

/// Attributes that only [`PrintOptions::causes`] shows.
const CAUSE: &str = "shardc.cause";

#[derive(Clone, Copy, Default)]
struct Counters {
    value: u32,
    argument: u32,
    conflict: u32,
}

/// Writes a program's text. Ops' custom printers use its methods.
pub struct Printer<'p> {
    /// The program.
    pub program: &'p Program,
    pub(super) out: String,
    options: PrintOptions,
    indent: usize,
    /// The printed name of a value's first result, without `%`.
    names: FxHashMap<Value, Box<str>>,
    used: FxHashSet<Box<str>>,
    counters: Counters,
    locs: FxHashMap<Loc, usize>,
    loc_list: Vec<Loc>,
    /// Attributes the pieces of the current op have written.
    written: Vec<&'static str>,
}

/// The text of a program.
pub fn print(program: &Program) -> String {
    print_with(program, PrintOptions::default())
}

/// The text of a program.
pub fn print_with(program: &Program, options: PrintOptions) -> String {
    let mut p = Printer {
        program,
        out: String::new(),
        options,
        indent: 0,
        names: FxHashMap::default(),
        used: FxHashSet::default(),
        counters: Counters::default(),
        locs: FxHashMap::default(),
        loc_list: Vec::new(),
        written: Vec::new(),
    };
    p.op(program.module);
    p.out.push('\n');
    p.location_aliases();
    p.out
}

impl Program {
    fn printer(&self) -> Printer<'_> {
        Printer {
            program: self,
            out: String::new(),
            options: PrintOptions::default(),
            indent: 0,
            names: FxHashMap::default(),
            used: FxHashSet::default(),
            counters: Counters::default(),
            locs: FxHashMap::default(),
            loc_list: Vec::new(),
            written: Vec::new(),
        }
    }

    /// The text of a type.
    pub fn type_text(&self, ty: Ty) -> String {
        let mut p = self.printer();
        p.ty(ty);
        p.out
    }

    /// The text of a list of types: `(tensor<2xf32>, tensor<i32>)`.
    pub fn types_text(&self, types: &[Ty]) -> String {
        let mut p = self.printer();
        p.text("(");
        p.types(types);
        p.text(")");
        p.out
    }

    /// The text of a type that may not be interned.
    pub fn type_data_text(&self, ty: &TypeData) -> String {
        let mut p = self.printer();
        p.type_data(ty);
        p.out
    }

    /// The text of an element type.
    pub fn element_text(&self, element: ElementType) -> String {
        match element {
            ElementType::Other(name) => self.name_text(name).to_owned(),
            e => e.text().unwrap_or("?").to_owned(),
        }
    }

    /// The text of an attribute.
    pub fn attr_text(&self, attr: Attr) -> String {
        let mut p = self.printer();
        p.attr(attr);
        p.out
    }

    /// The text of a sharding without `#sdy.sharding`: `<@mesh, [{"x"}, {}]>`.
    pub fn sharding_text(&self, sharding: &crate::sharding::TensorSharding) -> String {
        let mut p = self.printer();
        p.sharding(sharding);
        p.out
    }

    /// The text of a mesh: `<["x"=2]>`.
    pub fn mesh_text(&self, mesh: &crate::sharding::Mesh) -> String {
        let mut p = self.printer();
        p.mesh(mesh);
        p.out
    }

    /// The text of a location, `loc(…)` without aliases.
    pub fn loc_text(&self, loc: Loc) -> String {
        let mut p = self.printer();
        p.text("loc(");
        p.location_inside(loc, 0);
        p.text(")");
        p.out
    }
}

impl Printer<'_> {
    // Pieces of text -------------------------------------------------------------------------------------------

    /// Appends text as it is.
    pub fn text(&mut self, text: &str) {
        self.out.push_str(text);
    }

    /// Items with commas between.
    pub fn separated<T>(&mut self, items: impl Iterator<Item = T>, mut f: impl FnMut(&mut Self, T)) {
        for (i, item) in items.enumerate() {
            if i > 0 {
                self.text(", ");
            }
            f(self, item);
        }
    }

    /// `[0, 1]`
    pub fn int_list(&mut self, values: &[i64]) {
        self.text("[");
        self.separated(values.iter(), |p, v| {
            let _ = write!(p.out, "{v}");
        });
        self.text("]");
    }

    /// A quoted string.
    pub fn string(&mut self, text: &str) {
        self.out.push('"');
        for b in text.bytes() {
            match b {
                b'"' => self.out.push_str("\\22"),
                b'\\' => self.out.push_str("\\\\"),
                0x20..=0x7e => self.out.push(b as char),
                _ => {
                    let _ = write!(self.out, "\\{b:02X}");
                }
            }
        }
        self.out.push('"');
    }

    /// `@name`, quoted where needed. Nested symbols come as `a::@b`.
    pub fn symbol(&mut self, name: &str) {
        for (i, part) in name.split("::@").enumerate() {
            self.text(if i > 0 { "::@" } else { "@" });
            let mut bytes = part.bytes();
            let plain = bytes.next().is_some_and(|b| b.is_ascii_alphabetic() || b == b'_')
                && bytes.all(|b| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'$' | b'.' | b'-'));
            if plain { self.text(part) } else { self.string(part) }
        }
    }

    /// A new line at the current depth.
    pub fn newline(&mut self) {
        self.out.push('\n');
        for _ in 0..self.indent {
            self.out.push_str("  ");
        }
    }

    // Values ---------------------------------------------------------------------------------------------------

    /// `%0`, `%1#2`
    pub fn value(&mut self, value: Value) {
        self.out.push('%');
        if let Some(name) = self.names.get(&value) {
            self.out.push_str(name);
            return;
        }
        if let crate::ir::ValueSource::Result(op, index) = self.program.value_source(value)
            && let Some(name) = self.names.get(&self.program.result(op, 0))
        {
            let _ = write!(self.out, "{name}#{index}");
            return;
        }
        // Printed outside of its scope: only in messages.
        let _ = write!(self.out, "value{}", value.index());
    }

    /// `%0, %1`
    pub fn values(&mut self, values: &[Value]) {
        self.separated(values.iter(), |p, &v| p.value(v));
    }

    fn unique(&mut self, base: &str) -> Box<str> {
        let mut name: Box<str> = base.into();
        while !self.used.insert(name.clone()) {
            name = format!("{base}_{}", self.counters.conflict).into();
            self.counters.conflict += 1;
        }
        name
    }

    /// Names everything a block defines, before anything inside its ops.
    fn name_block(&mut self, block: Block, arg_name: Option<&str>) {
        for &arg in self.program.block_args(block) {
            let name = match arg_name {
                Some(base) => self.unique(base),
                None => {
                    let n = self.counters.argument;
                    self.counters.argument += 1;
                    self.unique(&format!("arg{n}"))
                }
            };
            self.names.insert(arg, name);
        }
        for &op in self.program.block_ops(block) {
            let Some(first) = self.program.results(op).next() else { continue };
            let view = self.program.view(op);
            let name = match view.def().result_name(view) {
                Some(base) => self.unique(base),
                None => {
                    let n = self.counters.value;
                    self.counters.value += 1;
                    n.to_string().into()
                }
            };
            self.names.insert(first, name);
            if self.program.result_count(op) > 1 {
                // Uses write the number: the first result's entry must not hide it.
                let name = self.names.remove(&first).unwrap_or_default();
                for (i, v) in self.program.results(op).enumerate() {
                    self.names.insert(v, format!("{name}#{i}").into());
                }
            }
        }
    }

    // Types ----------------------------------------------------------------------------------------------------

    /// A type.
    pub fn ty(&mut self, ty: Ty) {
        let data = self.program.type_data(ty);
        self.type_data(data);
    }

    /// `T1, T2`
    pub fn types(&mut self, types: &[Ty]) {
        self.separated(types.iter(), |p, &t| p.ty(t));
    }

    fn type_data(&mut self, data: &TypeData) {
        match data {
            TypeData::Tensor(t) => {
                self.text("tensor<");
                for &d in &t.shape {
                    if d == crate::ir::DYNAMIC {
                        self.text("?x");
                    } else {
                        let _ = write!(self.out, "{d}x");
                    }
                }
                self.element(t.element);
                if let Some(e) = t.encoding {
                    self.text(", ");
                    self.attr(e);
                }
                self.text(">");
            }
            TypeData::Scalar(e) => self.element(*e),
            TypeData::Token => self.text("!stablehlo.token"),
            TypeData::Tuple(items) => {
                self.text("tuple<");
                self.types(items);
                self.text(">");
            }
            TypeData::Function(inputs, results) => self.functional_type(inputs, results),
            TypeData::None => self.text("none"),
            TypeData::Opaque(text) => self.text(text),
        }
    }

    fn element(&mut self, element: ElementType) {
        match element {
            ElementType::Other(name) => self.text(self.program.name_text(name)),
            e => self.text(e.text().unwrap_or("?")),
        }
    }

    /// `(A, B) -> C`
    pub fn functional_type(&mut self, inputs: &[Ty], results: &[Ty]) {
        self.text("(");
        self.types(inputs);
        self.text(") -> ");
        match results {
            [only] if !matches!(self.program.type_data(*only), TypeData::Function(..)) => self.ty(*only),
            _ => {
                self.text("(");
                self.types(results);
                self.text(")");
            }
        }
    }

    /// The types of an op's operands and results.
    pub fn op_type(&mut self, op: OpRef<'_>) {
        let inputs: Vec<Ty> = op.operands().iter().map(|&v| self.program.value_type(v)).collect();
        self.functional_type(&inputs, &op.result_type_ids());
    }

    // Attributes -----------------------------------------------------------------------------------------------

    /// An attribute in full form.
    pub fn attr(&mut self, attr: Attr) {
        let program = self.program;
        match program.attr_data(attr) {
            AttrData::Unit => self.text("unit"),
            AttrData::Bool(b) => self.text(if *b { "true" } else { "false" }),
            AttrData::Int(v, ty) => {
                match program.type_data(*ty) {
                    TypeData::Scalar(e) if e.class() == crate::ir::ElementClass::Unsigned => {
                        let _ = write!(self.out, "{} : ", *v as u64);
                    }
                    _ => {
                        let _ = write!(self.out, "{v} : ");
                    }
                }
                self.ty(*ty);
            }
            AttrData::Float(bits, ty) => {
                let value = f64::from_bits(*bits);
                let element = match program.type_data(*ty) {
                    TypeData::Scalar(e) if e.is_float() => *e,
                    _ => ElementType::F64,
                };
                let mut bytes = Vec::new();
                crate::scalar::Scalar::Float(value).encode(element, &mut bytes);
                super::number::print_float(value, &bytes, element, &mut self.out);
                self.text(" : ");
                self.ty(*ty);
            }
            AttrData::String(s) => self.string(s),
            AttrData::Symbol(s) => self.symbol(s),
            AttrData::Array(items) => {
                self.text("[");
                self.separated(items.iter(), |p, &a| p.attr(a));
                self.text("]");
            }
            AttrData::Dict(entries) => self.dict(entries),
            AttrData::Type(ty) => self.ty(*ty),
            AttrData::Dense(ty, literal) => {
                self.dense_value(literal);
                self.text(" : ");
                self.ty(*ty);
            }
            AttrData::Resource(key, ty) => {
                self.text(&format!("dense_resource<{key}> : "));
                self.ty(*ty);
            }
            AttrData::DenseArray(element, values) => self.dense_array(*element, values),
            AttrData::Enum(dialect, kind, value) => self.text(&format!("#{dialect}<{kind} {value}>")),
            AttrData::Struct(name, fields) => {
                self.text(&format!("#{name}"));
                self.struct_fields(fields);
            }
            AttrData::ConvDims(dims) => {
                self.text("#stablehlo.conv<");
                self.conv_dims(dims);
                self.text(">");
            }
            AttrData::Opaque(text) => self.text(text),
            AttrData::Mesh(mesh) => {
                self.text("#sdy.mesh");
                self.mesh(mesh);
            }
            AttrData::Sharding(s) => {
                self.text("#sdy.sharding");
                self.sharding(s);
            }
            AttrData::ShardingPerValue(list) => {
                self.text("#sdy.sharding_per_value<[");
                self.separated(list.iter(), |p, s| p.sharding(s));
                self.text("]>");
            }
            AttrData::ShardingRule(rule) => {
                self.text("#sdy.op_sharding_rule");
                self.sharding_rule(rule);
            }
            AttrData::ManualAxes(axes) => {
                self.text("#sdy.manual_axes<");
                self.manual_axes(axes);
                self.text(">");
            }
            AttrData::Axes(axes) => {
                self.text("#sdy.axis_ref_list<");
                self.axes(axes);
                self.text(">");
            }
            AttrData::AxesPerDim(dims) => {
                self.text("#sdy.list_of_axis_ref_lists<");
                self.axes_per_dim(dims);
                self.text(">");
            }
            AttrData::AllToAllParams(params) => {
                self.text("#sdy.all_to_all_param_list<");
                self.all_to_all_params(params);
                self.text(">");
            }
        }
    }

    fn dense_array(&mut self, element: ElementType, values: &[i64]) {
        self.text("array<");
        self.element(element);
        for (i, &v) in values.iter().enumerate() {
            self.text(if i == 0 { ": " } else { ", " });
            if element == ElementType::I1 {
                self.text(if v != 0 { "true" } else { "false" });
            } else if element.is_float() {
                let value = f64::from_bits(v as u64);
                let mut bytes = Vec::new();
                crate::scalar::Scalar::Float(value).encode(element, &mut bytes);
                super::number::print_float(value, &bytes, element, &mut self.out);
            } else {
                let _ = write!(self.out, "{v}");
            }
        }
        self.text(">");
    }

    /// `<key = value, …>`: integers without type, lists bare.
    pub fn struct_fields(&mut self, fields: &[(Name, Attr)]) {
        let program = self.program;
        self.text("<");
        self.separated(fields.iter(), |p, &(key, attr)| {
            p.text(program.name_text(key));
            p.text(" = ");
            match program.attr_data(attr) {
                AttrData::DenseArray(ElementType::I64, values) => p.int_list(values),
                AttrData::Int(v, _) => p.text(&v.to_string()),
                _ => p.attr(attr),
            }
        });
        self.text(">");
    }

    /// `[b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f]`
    pub fn conv_dims(&mut self, dims: &crate::ir::ConvDims) {
        let list = |named: [(&str, i64); 2], spatial: &[i64]| {
            let mut items = vec![String::new(); spatial.len() + 2];
            let places = named.iter().map(|n| (n.0.to_owned(), n.1));
            for (text, at) in places.chain(spatial.iter().enumerate().map(|(i, &at)| (i.to_string(), at))) {
                if let Some(item) = items.get_mut(at as usize) {
                    *item = text;
                }
            }
            format!("[{}]", items.join(", "))
        };
        let input = list([("b", dims.input_batch), ("f", dims.input_feature)], &dims.input_spatial);
        let kernel = list([("i", dims.kernel_input_feature), ("o", dims.kernel_output_feature)], &dims.kernel_spatial);
        let output = list([("b", dims.output_batch), ("f", dims.output_feature)], &dims.output_spatial);
        self.text(&format!("{input}x{kernel}->{output}"));
    }

    /// `{a = 1, b}`
    pub fn dict(&mut self, entries: &[(Name, Attr)]) {
        self.text("{");
        let program = self.program;
        self.separated(entries.iter(), |p, &(key, attr)| {
            let key = program.name_text(key);
            let plain = key.bytes().enumerate().all(|(i, b)| b.is_ascii_alphabetic() || b == b'_' || i > 0 && (b.is_ascii_digit() || matches!(b, b'$' | b'.')));
            if plain && !key.is_empty() { p.text(key) } else { p.string(key) }
            if !matches!(program.attr_data(attr), AttrData::Unit) {
                p.text(" = ");
                p.attr(attr);
            }
        });
        self.text("}");
    }

    /// ` {…}` of the op's attributes that are not in `elided`; nothing when none is left.
    pub fn attr_dict(&mut self, op: OpRef<'_>, elided: &[&str]) {
        let entries = self.remaining(op, elided, |_| true);
        if !entries.is_empty() {
            self.text(" ");
            self.dict(&entries);
        }
    }

    /// ` attributes {…}`, nothing when no attribute is left.
    pub fn attributes_keyword(&mut self, op: OpRef<'_>, elided: &[&str]) {
        let entries = self.remaining(op, elided, |_| true);
        if !entries.is_empty() {
            self.text(" attributes ");
            self.dict(&entries);
        }
    }

    fn remaining(&self, op: OpRef<'_>, elided: &[&str], keep: impl Fn(&str) -> bool) -> Vec<(Name, Attr)> {
        let show = |n: &str| !elided.contains(&n) && keep(n) && (self.options.causes || n != CAUSE);
        self.program.op(op.op).attrs.iter().filter(|a| show(self.program.name_text(a.0))).copied().collect()
    }

    // Ops ------------------------------------------------------------------------------------------------------

    /// An op: results, name, the rest, location.
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

    /// The op in its own syntax; `false` when it has none.
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
            Syntax::Pieces(pieces) => {
                if !fits(op, pieces) {
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

    /// Functions default to `call` directly in their body; inside other ops' regions MLIR writes `func.call`.
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

    /// ` : types` in the given form.
    pub fn type_form(&mut self, op: OpRef<'_>, form: TypeForm) {
        let operands: Vec<Ty> = op.operands().iter().map(|&v| self.program.value_type(v)).collect();
        let results = op.result_type_ids();
        if form == TypeForm::OperandsOnly && operands.is_empty() {
            return;
        }
        self.text(" : ");
        match form {
            TypeForm::SameOrFunctional if !results.is_empty() && operands.iter().all(|&t| t == results[0]) && results.len() == 1 => {
                self.ty(results[0]);
            }
            TypeForm::Arrow if !operands.is_empty() && results.len() == 1 => {
                self.types(&operands);
                self.text(" -> ");
                self.ty(results[0]);
            }
            TypeForm::Result if results.len() == 1 => self.ty(results[0]),
            TypeForm::Select if operands.len() == 3 && results.len() == 1 && operands[1] == results[0] && operands[2] == results[0] => {
                self.types(&[operands[0], results[0]]);
            }
            TypeForm::Complex if results.len() == 1 => self.ty(results[0]),
            TypeForm::Pairwise | TypeForm::OperandsOnly => self.types(&operands),
            _ => self.functional_type(&operands, &results),
        }
    }

    fn generic(&mut self, op: OpRef<'_>) {
        let name = op.name().to_owned();
        self.string(&name);
        self.text("(");
        self.values(op.operands());
        self.text(")");
        let known = !std::ptr::eq(
            std::ptr::from_ref(op.def()).cast::<()>(),
            std::ptr::from_ref::<dyn crate::op::OpDef>(&crate::ops::UNKNOWN).cast::<()>(),
        );
        // Names with a dialect are discardable attributes, the others an op's own properties.
        let properties = if known { self.remaining(op, &[], |n| !n.contains('.')) } else { Vec::new() };
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
        let discardable = self.remaining(op, &[], |n| !known || n.contains('.'));
        if !discardable.is_empty() {
            self.text(" ");
            self.dict(&discardable);
        }
        self.text(" : ");
        self.op_type(op);
    }

    // Regions --------------------------------------------------------------------------------------------------

    /// Names the values of an op's region ahead of printing it, so that its arguments can be written in a header.
    /// Give the result to [`Printer::named_region`].
    pub fn name_region(&mut self, region: Region, owner: OpRef<'_>) -> RegionScope {
        let scope = RegionScope { counters: self.counters };
        if let Some(&block) = self.program.region_blocks(region).first() {
            let arg_name = owner.def().block_arg_name();
            self.name_block(block, arg_name);
        }
        scope
    }

    /// Prints `{ ops }` of a region named before, without a block label.
    pub fn named_region(&mut self, region: Region, scope: RegionScope) {
        self.region_body(region, false);
        self.leave_region(region, scope);
    }

    /// Ends the scope of a region: its names are free again.
    fn leave_region(&mut self, region: Region, scope: RegionScope) {
        if let Some(&block) = self.program.region_blocks(region).first() {
            let args = self.program.block_args(block).to_vec();
            let firsts: Vec<Value> = self.program.block_ops(block).iter().filter_map(|&op| self.program.results(op).next()).collect();
            for v in args.into_iter().chain(firsts) {
                if let Some(name) = self.names.get(&v) {
                    let base: Box<str> = name.split('#').next().unwrap_or_default().into();
                    self.used.remove(&base);
                }
            }
        }
        self.counters = scope.counters;
    }

    /// Prints `{ ops }`; with `label` the block's arguments as `^bb0(…):`.
    pub fn region(&mut self, region: Region, owner: OpRef<'_>, label: bool) {
        let scope = self.name_region(region, owner);
        self.region_body(region, label);
        self.leave_region(region, scope);
    }

    /// Prints a function's region: numbering starts anew.
    pub fn isolated_region(&mut self, region: Region, owner: OpRef<'_>, header: impl FnOnce(&mut Self)) {
        let counters = std::mem::take(&mut self.counters);
        let used = std::mem::take(&mut self.used);
        let scope = self.name_region(region, owner);
        header(self);
        self.named_region(region, scope);
        self.counters = counters;
        self.used = used;
    }

    fn region_body(&mut self, region: Region, label: bool) {
        self.text("{");
        let program = self.program;
        if let Some(&block) = program.region_blocks(region).first() {
            let args = program.block_args(block);
            if label && !args.is_empty() {
                self.newline();
                self.text("^bb0(");
                self.separated(args.iter(), |p, &a| {
                    p.value(a);
                    p.text(": ");
                    p.ty(program.value_type(a));
                    p.trailing_location(program.value_loc(a));
                });
                self.text("):");
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

    // Locations ------------------------------------------------------------------------------------------------

    /// ` loc(#loc1)`, when asked for.
    pub fn trailing_location(&mut self, loc: Loc) {
        if self.options.locations {
            self.text(" loc(");
            self.location_alias(loc);
            self.text(")");
        }
    }

    fn location_alias(&mut self, loc: Loc) {
        let loc = self.program.canonical_loc(loc);
        if loc == Loc::UNKNOWN {
            self.text("unknown");
            return;
        }
        let n = self.loc_number(loc);
        let _ = write!(self.out, "#loc{n}");
    }

    fn loc_number(&mut self, loc: Loc) -> usize {
        if let Some(&n) = self.locs.get(&loc) {
            return n;
        }
        self.loc_list.push(loc);
        self.locs.insert(loc, self.loc_list.len());
        self.loc_list.len()
    }

    /// The definitions of all aliases used, each perhaps using more.
    fn location_aliases(&mut self) {
        let mut next = 0;
        while next < self.loc_list.len() {
            let loc = self.loc_list[next];
            next += 1;
            let _ = write!(self.out, "#loc{next} = loc(");
            self.location_data(loc, &mut |p, l| p.location_alias(l));
            self.text(")\n");
        }
    }

    fn location_inside(&mut self, loc: Loc, depth: usize) {
        if depth > 64 {
            self.text("unknown");
            return;
        }
        self.location_data(loc, &mut |p, l| p.location_inside(l, depth + 1));
    }

    fn location_data(&mut self, loc: Loc, child: &mut dyn FnMut(&mut Self, Loc)) {
        let program = self.program;
        match program.loc_data(loc) {
            LocData::Unknown => self.text("unknown"),
            LocData::File { file, start, end } => {
                self.string(program.name_text(*file));
                let _ = write!(self.out, ":{}:{}", start.0, start.1);
                match end {
                    Some(end) if end.0 == start.0 => {
                        let _ = write!(self.out, " to :{}", end.1);
                    }
                    Some(end) => {
                        let _ = write!(self.out, " to {}:{}", end.0, end.1);
                    }
                    None => {}
                }
            }
            LocData::Name(name, inner) => {
                self.string(program.name_text(*name));
                if program.canonical_loc(*inner) != Loc::UNKNOWN {
                    self.text("(");
                    child(self, *inner);
                    self.text(")");
                }
            }
            LocData::CallSite(callee, caller) => {
                self.text("callsite(");
                child(self, *callee);
                self.text(" at ");
                child(self, *caller);
                self.text(")");
            }
            LocData::Fused(metadata, parts) => {
                self.text("fused");
                if let Some(m) = metadata {
                    self.text("<");
                    self.attr(*m);
                    self.text(">");
                }
                self.text("[");
                self.separated(parts.iter(), |p, &l| child(p, l));
                self.text("]");
            }
        }
    }
}

/// The numbering to go back to behind a region.
pub struct RegionScope {
    counters: Counters,
}

/// Whether the op has everything its pieces write.
fn fits(op: OpRef<'_>, pieces: &[Piece]) -> bool {
    pieces.iter().all(|piece| match *piece {
        Piece::Int(name) => matches!(op.attr(name), Some(AttrData::Int(..))),
        Piece::Ints(name) => matches!(op.attr(name), Some(AttrData::DenseArray(ElementType::I64, _))),
        Piece::Enum(name, _) => op.enum_value(name).is_some(),
        Piece::Enums(name, _) => match op.attr(name) {
            Some(AttrData::Array(items)) => items.iter().all(|&a| op.program.attr_data(a).as_enum().is_some()),
            _ => false,
        },
        Piece::Attr(name) => op.attr(name).is_some(),
        Piece::Optional(name, pieces) => op.attr(name).is_none() || fits(op, pieces),
        Piece::Types(TypeForm::Result) => op.operands().is_empty() && op.result_count() == 1,
        Piece::Types(TypeForm::Pairwise) => {
            let results = op.result_type_ids();
            op.operands().iter().map(|&v| op.program.value_type(v)).eq(results)
        }
        Piece::Types(TypeForm::OperandsOnly) => op.result_count() == 0,
        _ => true,
    }) && op.program.op(op.op).regions.is_empty()
}
