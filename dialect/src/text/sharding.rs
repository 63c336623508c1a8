//! Shardy's attributes: `#sdy.sharding<…>`, meshes, axes, manual axes, sharding rules. Source: Shardy's dialect
//! documentation and the syntax that JAX prints.

use smallvec::SmallVec;

use super::lexer::{Tok, Token};
use super::parser::{Parse, Parser};
use super::printer::Printer;
use crate::codes;
use crate::diagnostic::{Diagnostic, Span};
use crate::ir::{AllToAllParam, AttrData, Name};
use crate::sharding::{AxisList, AxisRef, DimSharding, Mesh, MeshRef, ReductionKind, SubAxis, TensorSharding};

impl<'s> Parser<'s> {
    /// Parses the rest of an attribute after `#sdy.kind`.
    pub(super) fn sdy_attribute(&mut self, kind: &str, start: Token) -> Parse<AttrData> {
        match kind {
            "sharding" => Ok(AttrData::Sharding(self.sharding()?)),
            "sharding_per_value" => {
                self.expect("<")?;
                let list = self.list("[", "]", Self::sharding)?;
                self.expect(">")?;
                Ok(AttrData::ShardingPerValue(list))
            }
            "mesh" => Ok(AttrData::Mesh(self.mesh()?)),
            "manual_axes" | "axis_ref_list" | "list_of_axis_ref_lists" | "all_to_all_param_list" => {
                self.expect("<")?;
                let data = self.bare_attribute(kind)?;
                self.expect(">")?;
                Ok(data)
            }
            "propagation_edges" => Ok(AttrData::PropagationEdges(self.propagation_edges()?)),
            "op_sharding_rule" => Ok(AttrData::ShardingRule(Box::new(self.sharding_rule()?))),
            _ => {
                if self.at("<") {
                    self.skip_balanced()?;
                }
                Ok(AttrData::Opaque(self.text_from(start.start)))
            }
        }
    }

    /// Parses `#sdy<manual_axes{"x"}>`: the attributes that MLIR writes inside the dialect's brackets.
    pub(super) fn sdy_bare_attribute(&mut self) -> Parse<AttrData> {
        self.expect("<")?;
        let kind = self.word()?;
        let data = self.bare_attribute(kind)?;
        self.expect(">")?;
        Ok(data)
    }

    fn bare_attribute(&mut self, kind: &str) -> Parse<AttrData> {
        Ok(match kind {
            "manual_axes" => AttrData::ManualAxes(self.manual_axes()?),
            "axis_ref_list" => AttrData::Axes(self.axes()?),
            "list_of_axis_ref_lists" => AttrData::AxesPerDim(self.axes_per_dim()?),
            "all_to_all_param_list" => AttrData::AllToAllParams(self.all_to_all_params()?),
            _ => {
                return self
                    .fail_expected("manual_axes, axis_ref_list, list_of_axis_ref_lists or all_to_all_param_list");
            }
        })
    }

    /// Parses `<["x"=2, "y"=4], device_ids=[…]>`.
    pub fn mesh(&mut self) -> Parse<Mesh> {
        if self.tok.kind == Tok::Hash {
            let span = self.tok.span();
            let attr = self.attribute()?;
            return match self.program.attr_data(attr) {
                AttrData::Mesh(mesh) => Ok(mesh.clone()),
                _ => self.fail(span, "expected a mesh like <[\"x\"=2]>"),
            };
        }
        self.expect("<")?;
        let mut mesh = Mesh::default();
        self.expect("[")?;
        while !self.eat("]") {
            let name = self.string()?;
            self.expect("=")?;
            let size = self.integer()?;
            mesh.axes.push((self.program.name(&name), size));
            if !self.at("]") {
                self.expect(",")?;
            }
        }
        if self.eat(",") {
            self.expect_all(&["device_ids", "="])?;
            let ids = self.int_list()?;
            // The default order isn't stored.
            let usual = !mesh.axes.is_empty() && ids.iter().copied().eq(0..mesh.devices());
            mesh.device_ids = (!usual).then_some(ids);
        }
        self.expect(">")?;
        Ok(mesh)
    }

    /// Parses `<@mesh, [{"x"}, {?}], replicated={…}, unreduced={…}>`.
    pub fn sharding(&mut self) -> Parse<TensorSharding> {
        if self.tok.kind == Tok::Hash {
            let span = self.tok.span();
            let attr = self.attribute()?;
            return match self.program.attr_data(attr) {
                AttrData::Sharding(sharding) => Ok(sharding.clone()),
                _ => self.fail(span, "expected a sharding like <@mesh, [{\"x\"}]>"),
            };
        }
        self.expect("<")?;
        let mesh = if self.eat("mesh") {
            MeshRef::Inline(Box::new(self.mesh()?))
        } else {
            let name = self.symbol()?;
            MeshRef::Symbol(self.program.name(&name))
        };
        self.expect(",")?;
        let dims = self.list("[", "]", Self::dim_sharding)?;
        let mut sharding = TensorSharding::with_dims(mesh, dims.into());
        let mut seen = [false, false];
        while self.eat(",") {
            let which = usize::from(!self.at("replicated"));
            if seen[which] || which == 1 && !self.at("unreduced") {
                return self.fail_expected("replicated={…} or unreduced={…}, each once");
            }
            seen[which] = true;
            self.advance();
            self.expect("=")?;
            if which == 0 {
                sharding.replicated = self.axes()?;
            } else {
                sharding.kind = self.reduction_kind();
                sharding.unreduced = self.axes()?;
            }
        }
        self.expect(">")?;
        Ok(sharding)
    }

    /// Parses `sum`, `max` or `min` if it is here.
    pub fn reduction_kind(&mut self) -> ReductionKind {
        if self.eat("max") {
            ReductionKind::Max
        } else if self.eat("min") {
            ReductionKind::Min
        } else {
            self.eat("sum");
            ReductionKind::Sum
        }
    }

    fn dim_sharding(&mut self) -> Parse<DimSharding> {
        let mut dim = DimSharding::default();
        self.expect("{")?;
        while !self.eat("}") {
            if self.eat("?") {
                dim.open = true;
                self.expect("}")?;
                break;
            }
            dim.axes.push(self.axis()?);
            if !self.at("}") {
                self.expect(",")?;
            }
        }
        if self.tok.kind == Tok::Word
            && let Some(priority) = self.token_text().strip_prefix('p')
        {
            match priority.parse() {
                Ok(p) if priority == "0" || !priority.starts_with('0') => dim.priority = Some(p),
                _ => return self.fail_expected("a priority like p1"),
            }
            self.advance();
        }
        Ok(dim)
    }

    /// Parses `"x"` or `"x":(1)2`.
    pub fn axis(&mut self) -> Parse<AxisRef> {
        let text = self.string()?;
        let name = self.program.name(&text);
        if !self.eat(":") {
            return Ok(AxisRef::full(name));
        }
        let start = self.tok.span();
        self.expect("(")?;
        let pre = self.integer()?;
        self.expect(")")?;
        let size = self.integer()?;
        if pre < 1 || size < 2 {
            let d = Diagnostic::error(
                codes::SUB_AXIS_SIZE,
                start.to(Span::new(self.prev_end, self.prev_end)),
                "a sub-axis has pre-size >= 1 and size > 1",
            );
            return self.error(d.note("\"x\":(pre)size is the part of x with `pre` to its left"));
        }
        Ok(AxisRef { name, sub: Some(SubAxis { pre, size }) })
    }

    /// Parses `{"x", "y":(1)2}`.
    pub fn axes(&mut self) -> Parse<AxisList> {
        Ok(self.list("{", "}", Self::axis)?.into())
    }

    /// Parses `[{"x"}, {}]`.
    pub fn axes_per_dim(&mut self) -> Parse<Vec<AxisList>> {
        self.list("[", "]", Self::axes)
    }

    /// Parses `{"x", "y"}` of whole axes.
    pub fn manual_axes(&mut self) -> Parse<Vec<Name>> {
        self.list("{", "}", |p| {
            let text = p.string()?;
            Ok(p.program.name(&text))
        })
    }

    /// Parses `[{"b"}: 0->2, …]`.
    pub fn all_to_all_params(&mut self) -> Parse<Vec<AllToAllParam>> {
        self.list("[", "]", |p| {
            let axes = p.axes()?;
            p.expect(":")?;
            let from = p.integer()?;
            p.expect("->")?;
            Ok(AllToAllParam { axes, from, to: p.integer()? })
        })
    }
}

impl Printer<'_> {
    /// Prints `"x"` or `"x":(1)2`.
    pub fn axis(&mut self, axis: AxisRef) {
        let name = self.program.name_text(axis.name).to_owned();
        self.string(&name);
        if let Some(sub) = axis.sub {
            self.text(&format!(":({}){}", sub.pre, sub.size));
        }
    }

    /// Prints `{"x", "y"}`.
    pub fn axes(&mut self, axes: &[AxisRef]) {
        self.list("{", axes.iter(), "}", |p, &a| p.axis(a));
    }

    /// Prints `[{"x"}, {}]`.
    pub fn axes_per_dim(&mut self, dims: &[AxisList]) {
        self.list("[", dims.iter(), "]", |p, a| p.axes(a));
    }

    /// Prints `[{"b"}: 0->2]`.
    pub fn all_to_all_params(&mut self, params: &[AllToAllParam]) {
        self.list("[", params.iter(), "]", |p, a| {
            p.axes(&a.axes);
            p.text(&format!(": {}->{}", a.from, a.to));
        });
    }

    /// Prints `<["x"=2], device_ids=[1, 0]>`.
    pub fn mesh(&mut self, mesh: &Mesh) {
        self.list("<[", mesh.axes.iter(), "]", |p, a| {
            let name = p.program.name_text(a.0).to_owned();
            p.string(&name);
            p.text(&format!("={}", a.1));
        });
        if let Some(ids) = &mesh.device_ids {
            self.text(", device_ids=");
            self.int_list(ids);
        }
        self.text(">");
    }

    /// Prints `<@mesh, [{"x"}, {?}]>`.
    pub fn sharding(&mut self, s: &TensorSharding) {
        self.text("<");
        match &s.mesh {
            MeshRef::Symbol(name) => {
                let name = self.program.name_text(*name).to_owned();
                self.symbol(&name);
            }
            MeshRef::Inline(mesh) => {
                self.text("mesh");
                self.mesh(mesh);
            }
        }
        self.list(", [", s.dims.iter(), "]", |p, d| {
            p.text("{");
            p.separated(d.axes.iter(), |p, &a| p.axis(a));
            if d.open {
                p.text(if d.axes.is_empty() { "?" } else { ", ?" });
            }
            p.text("}");
            if let Some(priority) = d.priority {
                p.text(&format!("p{priority}"));
            }
        });
        if !s.replicated.is_empty() {
            self.text(", replicated=");
            self.axes(&s.replicated);
        }
        if !s.unreduced.is_empty() {
            self.text(", unreduced=");
            if s.kind != ReductionKind::Sum {
                self.text(s.kind.text());
            }
            self.axes(&s.unreduced);
        }
        self.text(">");
    }

    /// Prints `{"x", "y"}`.
    pub fn manual_axes(&mut self, axes: &[Name]) {
        let full: SmallVec<[AxisRef; 4]> = axes.iter().map(|&n| AxisRef::full(n)).collect();
        self.axes(&full);
    }
}
