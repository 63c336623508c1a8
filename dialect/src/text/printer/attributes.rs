//! Printing of attributes.

use std::fmt::Write as _;

use super::{CAUSE, Printer};
use crate::collective::{as_lists, is_compact};
use crate::ir::{Attr, AttrData, ElementType, Name, OpRef, TypeData};

impl Printer<'_> {
    /// Prints an attribute in full form.
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
                crate::text::number::print_float(value, &bytes, element, &mut self.out);
                self.text(" : ");
                self.ty(*ty);
            }
            AttrData::String(s) => self.string(s.as_bytes()),
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
                self.text("dense_resource<");
                match key.as_str().filter(|key| is_word(key)) {
                    Some(key) => self.text(key),
                    None => self.string(key.as_bytes()),
                }
                self.text("> : ");
                self.ty(*ty);
            }
            AttrData::DenseArray(element, values) => self.dense_array(*element, values),
            AttrData::Enum(dialect, kind, value) => self.text(&format!("#{dialect}<{kind} {value}>")),
            AttrData::Struct(..) if self.groups(attr) => {}
            AttrData::Struct(name, fields) => {
                self.text(&format!("#{name}"));
                self.struct_fields(fields);
            }
            AttrData::ConvDims(dims) => {
                self.text("#stablehlo.conv<");
                if dims.is_whole() {
                    self.conv_dims(dims)
                } else {
                    self.raw_conv_dims(dims)
                }
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
                self.text("#sdy<manual_axes");
                self.manual_axes(axes);
                self.text(">");
            }
            AttrData::Axes(axes) => {
                self.text("#sdy<axis_ref_list");
                self.axes(axes);
                self.text(">");
            }
            AttrData::AxesPerDim(dims) => {
                self.text("#sdy<list_of_axis_ref_lists");
                self.axes_per_dim(dims);
                self.text(">");
            }
            AttrData::PropagationEdges(steps) => {
                self.text("#sdy.propagation_edges");
                self.propagation_edges(steps);
            }
            AttrData::Topology(meshes) => self.topology(meshes),
            AttrData::Origin(name, transposed) => {
                self.text("#mpmd.user_origin<");
                self.origin(*name, *transposed);
                self.text(">");
            }
            AttrData::AllToAllParams(params) => {
                self.text("#sdy<all_to_all_param_list");
                self.all_to_all_params(params);
                self.text(">");
            }
        }
    }

    /// Prints device groups along axes of a mesh as lists of devices; returns false for other attributes, and if the
    /// options ask for axes.
    fn groups(&mut self, attr: Attr) -> bool {
        let program = self.program;
        if self.options.group_axes && is_compact(program, attr) && crate::ops::func::num_replicas(program) == 1 {
            return false;
        }
        if let Some(written) = self.lists.get(&attr) {
            self.out.extend_from_within(written.clone());
            return true;
        }
        let Some(lists) = as_lists(program, attr) else { return false };
        let start = self.out.len();
        self.dense_value(&lists);
        self.text(" : ");
        self.type_data(&lists.ty().into());
        self.lists.insert(attr, start..self.out.len());
        true
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
                crate::text::number::print_float(value, &bytes, element, &mut self.out);
            } else {
                let _ = write!(self.out, "{v}");
            }
        }
        self.text(">");
    }

    /// Prints `<key = value, …>`: integers without type, lists without `array`.
    pub fn struct_fields(&mut self, fields: &[(Name, Attr)]) {
        let program = self.program;
        self.text("<");
        self.separated(fields.iter(), |p, &(key, attr)| {
            p.text(program.name_text(key));
            p.text(" = ");
            match program.attr_data(attr) {
                AttrData::DenseArray(ElementType::I64, values) => p.int_list(values),
                AttrData::Int(v, _) => p.text(&v.to_string()),
                AttrData::Float(bits, ty) if *p.program.type_data(*ty) == TypeData::Scalar(ElementType::F64) => {
                    p.text(&crate::text::float_text(f64::from_bits(*bits)));
                }
                _ => p.attr(attr),
            }
        });
        self.text(">");
    }

    /// Prints `raw input_batch_dimension = 0, …`.
    fn raw_conv_dims(&mut self, dims: &crate::ir::ConvDims) {
        let int = |name: &str, value: i64| format!("{name} = {value}");
        let list = |name: &str, values: &[i64]| format!("{name} = {values:?}");
        let fields = [
            int("input_batch_dimension", dims.input_batch),
            int("input_feature_dimension", dims.input_feature),
            list("input_spatial_dimensions", &dims.input_spatial),
            int("kernel_input_feature_dimension", dims.kernel_input_feature),
            int("kernel_output_feature_dimension", dims.kernel_output_feature),
            list("kernel_spatial_dimensions", &dims.kernel_spatial),
            int("output_batch_dimension", dims.output_batch),
            int("output_feature_dimension", dims.output_feature),
            list("output_spatial_dimensions", &dims.output_spatial),
        ];
        self.text(&format!("raw {}", fields.join(", ")));
    }

    /// Prints `[b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f]`.
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

    /// Prints `{a = 1, b}`.
    pub fn dict(&mut self, entries: &[(Name, Attr)]) {
        self.text("{");
        let program = self.program;
        self.separated(entries.iter(), |p, &(key, attr)| {
            let key = program.name_text(key);
            if is_word(key) {
                p.text(key)
            } else {
                p.string(key)
            }
            if !matches!(program.attr_data(attr), AttrData::Unit) {
                p.text(" = ");
                p.attr(attr);
            }
        });
        self.text("}");
    }

    /// Prints ` {…}` with the op's attributes that aren't in `elided`; prints nothing if there are none.
    pub fn attr_dict(&mut self, op: OpRef<'_>, elided: &[&str]) {
        let entries = self.remaining(op, elided, |_| true);
        if !entries.is_empty() {
            self.text(" ");
            self.dict(&entries);
        }
    }

    /// Prints ` attributes {…}`; prints nothing if no attribute remains.
    pub fn attributes_keyword(&mut self, op: OpRef<'_>, elided: &[&str]) {
        let entries = self.remaining(op, elided, |_| true);
        if !entries.is_empty() {
            self.text(" attributes ");
            self.dict(&entries);
        }
    }

    pub(super) fn remaining(&self, op: OpRef<'_>, elided: &[&str], keep: impl Fn(&str) -> bool) -> Vec<(Name, Attr)> {
        let show = |n: &str| !elided.contains(&n) && keep(n) && (self.options.causes || n != CAUSE);
        self.program.op(op.op).attrs.iter().filter(|a| show(self.program.name_text(a.0))).copied().collect()
    }
}

/// Returns whether MLIR reads the text as one word, which needs no quotes.
fn is_word(text: &str) -> bool {
    let letter = |b: u8| b.is_ascii_alphabetic() || b == b'_';
    let good = |(i, b): (usize, u8)| letter(b) || i > 0 && (b.is_ascii_digit() || matches!(b, b'$' | b'.'));
    !text.is_empty() && text.bytes().enumerate().all(good)
}
