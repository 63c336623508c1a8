//! Printing of attributes.

use std::fmt::Write as _;

use super::{CAUSE, Printer};
use crate::collective::{as_lists, is_compact};
use crate::ir::{Attr, AttrData, ElementClass, ElementType, Name, OpRef, Ty, TypeData};
use crate::scalar::Scalar;
use crate::text::number::print_float;

impl Printer<'_> {
    /// Prints an attribute in full form.
    pub fn attr(&mut self, attr: Attr) {
        let program = self.program;
        match program.attr_data(attr) {
            AttrData::Unit => self.text("unit"),
            AttrData::Bool(b) => self.text(if *b { "true" } else { "false" }),
            AttrData::Int(v, ty) => {
                let number = match program.type_data(*ty) {
                    TypeData::Scalar(e) if e.class() == ElementClass::Unsigned => (*v as u64).to_string(),
                    _ => v.to_string(),
                };
                self.typed(*ty, |p| p.text(&number));
            }
            AttrData::Float(bits, ty) => {
                let element = match program.type_data(*ty) {
                    TypeData::Scalar(e) if e.is_float() => *e,
                    _ => ElementType::F64,
                };
                self.typed(*ty, |p| p.float(*bits, element));
            }
            AttrData::String(s) => self.string(s.as_bytes()),
            AttrData::Symbol(s) => self.symbol(s),
            AttrData::Array(items) => self.list("[", items.iter(), "]", |p, &a| p.attr(a)),
            AttrData::Dict(entries) => self.dict(entries),
            AttrData::Type(ty) => self.ty(*ty),
            AttrData::Dense(ty, literal) => self.typed(*ty, |p| p.dense_value(literal)),
            AttrData::Resource(key, ty) => self.typed(*ty, |p| {
                p.enclosed("dense_resource<", ">", |p| match key.as_str().filter(|key| is_word(key)) {
                    Some(key) => p.text(key),
                    None => p.string(key.as_bytes()),
                });
            }),
            AttrData::DenseArray(element, values) => self.dense_array(*element, values),
            AttrData::Opaque(text) => self.text(text),
            AttrData::Struct(..) if self.groups(attr) => {}
            AttrData::Enum(dialect, kind, value) => self.text(&format!("#{dialect}<{kind} {value}>")),
            AttrData::Struct(name, fields) => {
                self.text(&format!("#{name}"));
                self.struct_fields(fields);
            }
            AttrData::ConvDims(dims) => self.enclosed("#stablehlo.conv<", ">", |p| match dims.is_whole() {
                true => p.conv_dims(dims),
                false => p.raw_conv_dims(dims),
            }),
            AttrData::Mesh(mesh) => self.enclosed("#sdy.mesh", "", |p| p.mesh(mesh)),
            AttrData::Sharding(sharding) => self.enclosed("#sdy.sharding", "", |p| p.sharding(sharding)),
            AttrData::ShardingPerValue(list) => {
                self.list("#sdy.sharding_per_value<[", list.iter(), "]>", |p, s| p.sharding(s));
            }
            AttrData::ShardingRule(rule) => self.enclosed("#sdy.op_sharding_rule", "", |p| p.sharding_rule(rule)),
            AttrData::ManualAxes(axes) => self.enclosed("#sdy<manual_axes", ">", |p| p.manual_axes(axes)),
            AttrData::Axes(axes) => self.enclosed("#sdy<axis_ref_list", ">", |p| p.axes(axes)),
            AttrData::AxesPerDim(dims) => self.enclosed("#sdy<list_of_axis_ref_lists", ">", |p| p.axes_per_dim(dims)),
            AttrData::PropagationEdges(steps) => {
                self.enclosed("#sdy.propagation_edges", "", |p| p.propagation_edges(steps));
            }
            AttrData::AllToAllParams(params) => {
                self.enclosed("#sdy<all_to_all_param_list", ">", |p| p.all_to_all_params(params));
            }
            AttrData::Topology(meshes) => self.topology(meshes),
            AttrData::Origin(name, transposed) => {
                self.enclosed("#mpmd.user_origin<", ">", |p| p.origin(*name, *transposed));
            }
        }
    }

    /// Prints `open`, then by `f`, then `close`.
    fn enclosed(&mut self, open: &str, close: &str, f: impl FnOnce(&mut Self)) {
        self.text(open);
        f(self);
        self.text(close);
    }

    /// Prints by `f`, then ` : T`.
    fn typed(&mut self, ty: Ty, f: impl FnOnce(&mut Self)) {
        f(self);
        self.text(" : ");
        self.ty(ty);
    }

    /// Prints the float whose value as an `f64` has these bits, as an element of type `element`.
    fn float(&mut self, bits: u64, element: ElementType) {
        let (value, mut bytes) = (f64::from_bits(bits), Vec::new());
        Scalar::Float(value).encode(element, &mut bytes);
        print_float(value, &bytes, element, &mut self.out);
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
                self.float(v as u64, element);
            } else {
                let _ = write!(self.out, "{v}");
            }
        }
        self.text(">");
    }

    /// Prints `<key = value, …>`: integers without type, lists without `array`.
    pub fn struct_fields(&mut self, fields: &[(Name, Attr)]) {
        let program = self.program;
        self.list("<", fields.iter(), ">", |p, &(key, attr)| {
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
