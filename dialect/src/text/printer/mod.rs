//! The printer: canonical text that MLIR's own parser reads as the same module, and that prints again to the same
//! bytes. Values are named as in MLIR's output.

mod attributes;
mod ops;

use std::fmt::Write as _;

use rustc_hash::{FxHashMap, FxHashSet};

use crate::ir::{Attr, Block, ElementType, Loc, LocData, Name, OpRef, Program, Ty, TypeData, Value};

/// The options of printing.
#[derive(Clone, Copy, Default, Debug, PartialEq, Eq)]
pub struct PrintOptions {
    /// Print locations.
    pub locations: bool,
    /// Print each location at its use, instead of aliases after the module.
    pub local_scope: bool,
    /// Print every op in generic form.
    pub generic: bool,
    /// Print `shardc.cause` attributes, which state why a collective was inserted.
    pub causes: bool,
    /// Print collectives' groups along axes of a mesh as `#stablehlo.replica_group_mesh_axes`, whose size doesn't
    /// depend on the number of devices, instead of the lists of devices that JAX writes. The pairs of permutes, for
    /// which the specification has no such syntax, become `#shardc.permutation` and `#shardc.pairs`, which only shardc
    /// reads.
    pub group_axes: bool,
}

/// The attribute that states why a collective was inserted; it is printed only with [`PrintOptions::causes`].
pub const CAUSE: &str = "shardc.cause";

#[derive(Clone, Copy, Default)]
struct Counters {
    value: u32,
    argument: u32,
    conflict: u32,
}

/// Prints a program's text. Ops' custom printers use its methods.
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
    /// The number of each block in regions of several blocks.
    blocks: FxHashMap<Block, usize>,
    locs: FxHashMap<Loc, usize>,
    loc_list: Vec<Loc>,
    /// The ranges of the text that have the lists of devices printed for groups along axes.
    lists: FxHashMap<Attr, std::ops::Range<usize>>,
    /// The attributes that the pieces of the current op have printed.
    written: Vec<&'static str>,
}

/// Prints a program.
pub fn print(program: &Program) -> String {
    print_with(program, PrintOptions::default())
}

/// Prints a program with the given options.
pub fn print_with(program: &Program, options: PrintOptions) -> String {
    let mut p = Printer { options, ..program.printer() };
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
            blocks: FxHashMap::default(),
            locs: FxHashMap::default(),
            loc_list: Vec::new(),
            lists: FxHashMap::default(),
            written: Vec::new(),
        }
    }

    /// Returns the text of a type.
    pub fn type_text(&self, ty: Ty) -> String {
        let mut p = self.printer();
        p.ty(ty);
        p.out
    }

    /// Returns the text of a list of types: `(tensor<2xf32>, tensor<i32>)`.
    pub fn types_text(&self, types: &[Ty]) -> String {
        let mut p = self.printer();
        p.text("(");
        p.types(types);
        p.text(")");
        p.out
    }

    /// Returns the text of a type, which need not be interned.
    pub fn type_data_text(&self, ty: &TypeData) -> String {
        let mut p = self.printer();
        p.type_data(ty);
        p.out
    }

    /// Returns the text of an element type.
    pub fn element_text(&self, element: ElementType) -> String {
        match element {
            ElementType::Other(name) => self.name_text(name).to_owned(),
            e => e.text().unwrap_or("?").to_owned(),
        }
    }

    /// Returns the text of an attribute.
    pub fn attr_text(&self, attr: Attr) -> String {
        let mut p = self.printer();
        p.attr(attr);
        p.out
    }

    /// Returns the text of an attribute, printed with the given options.
    pub(crate) fn attr_text_with(&self, attr: Attr, options: PrintOptions) -> String {
        let mut p = Printer { options, ..self.printer() };
        p.attr(attr);
        p.out
    }

    /// Returns all attributes of an op that are printed.
    pub(crate) fn printed_attributes(&self, op: OpRef<'_>, options: PrintOptions) -> Vec<(Name, Attr)> {
        Printer { options, ..self.printer() }.remaining(op, &[], |_| true)
    }

    /// Returns the text of a sharding without `#sdy.sharding`: `<@mesh, [{"x"}, {}]>`.
    pub fn sharding_text(&self, sharding: &crate::sharding::TensorSharding) -> String {
        let mut p = self.printer();
        p.sharding(sharding);
        p.out
    }

    /// Returns the text of a mesh: `<["x"=2]>`.
    pub fn mesh_text(&self, mesh: &crate::sharding::Mesh) -> String {
        let mut p = self.printer();
        p.mesh(mesh);
        p.out
    }

    /// Returns the text of a location, `loc(…)` without aliases.
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

    /// Appends text unchanged.
    pub fn text(&mut self, text: &str) {
        self.out.push_str(text);
    }

    /// Prints items separated by commas.
    pub fn separated<T>(&mut self, items: impl Iterator<Item = T>, mut f: impl FnMut(&mut Self, T)) {
        for (i, item) in items.enumerate() {
            if i > 0 {
                self.text(", ");
            }
            f(self, item);
        }
    }

    /// Prints `open`, items separated by commas, `close`.
    pub fn list<T>(&mut self, open: &str, items: impl Iterator<Item = T>, close: &str, f: impl FnMut(&mut Self, T)) {
        self.text(open);
        self.separated(items, f);
        self.text(close);
    }

    /// Prints `[0, 1]`.
    pub fn int_list(&mut self, values: &[i64]) {
        self.list("[", values.iter(), "]", |p, v| {
            let _ = write!(p.out, "{v}");
        });
    }

    /// Prints a quoted string.
    pub fn string(&mut self, text: impl AsRef<[u8]>) {
        self.out.push('"');
        for &b in text.as_ref() {
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

    /// Prints `@name`, quoted if necessary. Nested symbols are passed as `a::@b`.
    pub fn symbol(&mut self, name: &str) {
        for (i, part) in name.split("::@").enumerate() {
            self.text(if i > 0 { "::@" } else { "@" });
            let mut bytes = part.bytes();
            let plain = bytes.next().is_some_and(|b| b.is_ascii_alphabetic() || b == b'_')
                && bytes.all(|b| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'$' | b'.'));
            if plain { self.text(part) } else { self.string(part) }
        }
    }

    /// Prints a new line with the current indentation.
    pub fn newline(&mut self) {
        self.out.push('\n');
        for _ in 0..self.indent {
            self.out.push_str("  ");
        }
    }

    // Values ---------------------------------------------------------------------------------------------------

    /// Prints `%0`, `%1#2`.
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
        // The value is printed outside of its scope, which happens only in messages.
        let _ = write!(self.out, "value{}", value.index());
    }

    /// Prints `%0, %1`.
    pub fn values(&mut self, values: &[Value]) {
        self.separated(values.iter(), |p, &v| p.value(v));
    }

    /// Prints `(%a, %b)`.
    pub fn operands_in_parentheses(&mut self, op: OpRef<'_>) {
        self.text("(");
        self.values(op.operands());
        self.text(")");
    }

    /// Prints `%a: T, %b: U`, with locations if the options ask for them.
    pub fn arguments(&mut self, args: &[Value]) {
        let program = self.program;
        self.separated(args.iter(), |p, &arg| {
            p.value(arg);
            p.text(": ");
            p.ty(program.value_type(arg));
            p.trailing_location(program.value_loc(arg));
        });
    }

    fn unique(&mut self, base: &str) -> Box<str> {
        let mut name: Box<str> = base.into();
        while !self.used.insert(name.clone()) {
            name = format!("{base}_{}", self.counters.conflict).into();
            self.counters.conflict += 1;
        }
        name
    }

    /// Names the values that a block defines, before the values inside its ops.
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
                // Uses print the number, so the first result's entry must not hide it.
                let name = self.names.remove(&first).unwrap_or_default();
                for (i, v) in self.program.results(op).enumerate() {
                    self.names.insert(v, format!("{name}#{i}").into());
                }
            }
        }
    }

    // Types ----------------------------------------------------------------------------------------------------

    /// Prints a type.
    pub fn ty(&mut self, ty: Ty) {
        let data = self.program.type_data(ty);
        self.type_data(data);
    }

    /// Prints `T1, T2`.
    pub fn types(&mut self, types: &[Ty]) {
        self.separated(types.iter(), |p, &t| p.ty(t));
    }

    pub(super) fn type_data(&mut self, data: &TypeData) {
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
            TypeData::MeshTensor(t) => self.mesh_tensor(t),
            TypeData::Opaque(text) => self.text(text),
        }
    }

    fn element(&mut self, element: ElementType) {
        match element {
            ElementType::Other(name) => self.text(self.program.name_text(name)),
            e => self.text(e.text().unwrap_or("?")),
        }
    }

    /// Prints `(A, B) -> C`.
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

    /// Prints the types of an op's operands and results.
    pub fn op_type(&mut self, op: OpRef<'_>) {
        let inputs: Vec<Ty> = op.operands().iter().map(|&v| self.program.value_type(v)).collect();
        self.functional_type(&inputs, &op.result_type_ids());
    }

    // Locations ------------------------------------------------------------------------------------------------

    /// Prints ` loc(#loc1)`, if the options ask for locations.
    pub fn trailing_location(&mut self, loc: Loc) {
        if self.options.locations {
            self.text(" loc(");
            match self.options.local_scope {
                true => self.location_inside(self.program.canonical_loc(loc), 0),
                false => self.location_alias(loc),
            }
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
        let n = self.locs.len() + 1;
        self.locs.insert(loc, n);
        n
    }

    /// Prints the definitions of all used aliases, each after those that it uses, because MLIR requires definitions
    /// before uses.
    fn location_aliases(&mut self) {
        let program = self.program;
        let mut defined: FxHashSet<Loc> = FxHashSet::default();
        // Locations with their inner locations that are still undefined; a stack, because they may nest as deep as the
        // program is long.
        let mut open: Vec<(Loc, Vec<Loc>)> = Vec::new();
        for used in std::mem::take(&mut self.loc_list) {
            let mut next = Some(used);
            loop {
                if let Some(loc) = next.take().filter(|&loc| loc != Loc::UNKNOWN && defined.insert(loc)) {
                    let mut inside = program.loc_data(loc).children();
                    inside.reverse();
                    open.push((loc, inside));
                }
                let Some((loc, inside)) = open.last_mut() else { break };
                let loc = *loc;
                if let Some(child) = inside.pop() {
                    next = Some(program.canonical_loc(child));
                    continue;
                }
                open.pop();
                let n = self.loc_number(loc);
                let _ = write!(self.out, "#loc{n} = loc(");
                self.location_data(loc, &mut |p, l| p.location_alias(l));
                self.text(")\n");
            }
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
        match &*program.loc_data(loc) {
            LocData::Unknown => self.text("unknown"),
            LocData::File { file, start, end } => {
                self.string(program.loc_string(*file).as_bytes());
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
                self.string(program.loc_string(*name).as_bytes());
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
                self.list("[", parts.iter(), "]", |p, &l| child(p, l));
            }
        }
    }
}

/// The numbering to restore after a region.
pub struct RegionScope {
    counters: Counters,
}
