//! Shardy's attributes: `#sdy.sharding<…>`, meshes, axes, manual axes, sharding rules. Source: Shardy's dialect
//! documentation and the forms JAX prints.

use rustc_hash::FxHashMap;
use smallvec::SmallVec;

use super::lexer::{Tok, Token};
use super::parser::{Parse, Parser};
use super::printer::Printer;
use crate::diagnostic::{Diagnostic, Span};
use crate::ir::{AllToAllParam, AttrData, Name};
use crate::sharding::{
    AxisList, AxisRef, DimFactors, DimSharding, FactorKind, Mesh, MeshRef, ReductionKind, ShardingRule, SubAxis,
    TensorFactors, TensorSharding,
};

impl<'s> Parser<'s> {
    /// What follows `#sdy.kind`.
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
            "manual_axes" => {
                self.expect("<")?;
                let axes = self.manual_axes()?;
                self.expect(">")?;
                Ok(AttrData::ManualAxes(axes))
            }
            "op_sharding_rule" => Ok(AttrData::ShardingRule(Box::new(self.sharding_rule()?))),
            "axis_ref_list" => {
                self.expect("<")?;
                let axes = self.axes()?;
                self.expect(">")?;
                Ok(AttrData::Axes(axes))
            }
            "list_of_axis_ref_lists" => {
                self.expect("<")?;
                let axes = self.axes_per_dim()?;
                self.expect(">")?;
                Ok(AttrData::AxesPerDim(axes))
            }
            "all_to_all_param_list" => {
                self.expect("<")?;
                let params = self.all_to_all_params()?;
                self.expect(">")?;
                Ok(AttrData::AllToAllParams(params))
            }
            _ => {
                if self.at("<") {
                    self.skip_balanced()?;
                }
                Ok(AttrData::Opaque(self.lexer.text[start.start..self.prev_end()].into()))
            }
        }
    }

    /// Passes `<["x"=2, "y"=4], device_ids=[…]>`.
    pub fn mesh(&mut self) -> Parse<Mesh> {
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
            self.expect("device_ids")?;
            self.expect("=")?;
            mesh.device_ids = Some(self.int_list()?);
        }
        self.expect(">")?;
        Ok(mesh)
    }

    /// Passes `<@mesh, [{"x"}, {?}], replicated={…}, unreduced={…}>`.
    pub fn sharding(&mut self) -> Parse<TensorSharding> {
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
        while self.eat(",") {
            if self.eat("replicated") {
                self.expect("=")?;
                sharding.replicated = self.axes()?;
            } else {
                self.expect("unreduced")?;
                self.expect("=")?;
                sharding.kind = self.reduction_kind();
                sharding.unreduced = self.axes()?;
            }
        }
        self.expect(">")?;
        Ok(sharding)
    }

    /// Passes `sum`, `max` or `min` if it stands here.
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
                Ok(p) => dim.priority = Some(p),
                Err(_) => return self.fail_expected("a priority like p1"),
            }
            self.advance();
        }
        Ok(dim)
    }

    /// Passes `"x"` or `"x":(1)2`.
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
            let d = Diagnostic::error("mesh", start.to(Span::new(self.prev_end(), self.prev_end())), "a sub-axis has pre-size >= 1 and size > 1");
            return self.error(d.note("\"x\":(pre)size is the part of x with `pre` to its left"));
        }
        Ok(AxisRef { name, sub: Some(SubAxis { pre, size }) })
    }

    /// Passes `{"x", "y":(1)2}`.
    pub fn axes(&mut self) -> Parse<AxisList> {
        Ok(self.list("{", "}", Self::axis)?.into())
    }

    /// Passes `[{"x"}, {}]`.
    pub fn axes_per_dim(&mut self) -> Parse<Vec<AxisList>> {
        self.list("[", "]", Self::axes)
    }

    /// Passes `{"x", "y"}` of whole axes.
    pub fn manual_axes(&mut self) -> Parse<Vec<Name>> {
        self.list("{", "}", |p| {
            let text = p.string()?;
            Ok(p.program.name(&text))
        })
    }

    /// Passes `[{"b"}: 0->2, …]`.
    pub fn all_to_all_params(&mut self) -> Parse<Vec<AllToAllParam>> {
        self.list("[", "]", |p| {
            let axes = p.axes()?;
            p.expect(":")?;
            let from = p.integer()?;
            p.expect("->")?;
            Ok(AllToAllParam { axes, from, to: p.integer()? })
        })
    }

    /// Passes `<([i, k], [k, j])->([i, j]) {i=8, j=16, k=8} reduction={k}>`.
    fn sharding_rule(&mut self) -> Parse<ShardingRule> {
        let start = self.tok.span();
        self.expect("<")?;
        let mut names: FxHashMap<String, u32> = FxHashMap::default();
        let mut rule = ShardingRule::default();
        let mut tensors: Vec<Vec<Vec<Vec<String>>>> = Vec::new();
        for side in 0..2 {
            if side == 1 {
                self.expect("->")?;
            }
            tensors.push(self.list("(", ")", |p| p.list("[", "]", Self::dim_factors))?);
        }
        // A rule without factors has no list of them.
        if self.at("{") {
            self.list("{", "}", |p| {
                let name = p.word()?.to_owned();
                p.expect("=")?;
                let size = p.integer()?;
                names.insert(name, rule.factor(size, FactorKind::PassThrough));
                Ok(())
            })?;
        }
        loop {
            let word = self.token_text();
            if self.eat(",") {
                self.expect("custom")?;
                rule.custom = true;
                continue;
            }
            if self.tok.kind != Tok::Word {
                break;
            }
            self.advance();
            self.expect("=")?;
            for name in self.list("{", "}", |p| Ok(p.word()?.to_owned()))? {
                let Some(&f) = names.get(&name) else {
                    return self.fail(start, format!("factor {name} has no size"));
                };
                let factor = &mut rule.factors[f as usize];
                match word {
                    "reduction" => factor.kind = FactorKind::Reduction,
                    "need_replication" => factor.kind = FactorKind::NeedReplication,
                    "permutation" => factor.kind = FactorKind::Permutation,
                    "blocked_propagation" => factor.blocked = true,
                    _ => return self.fail(start, format!("'{word}' is no kind of factors")),
                }
            }
        }
        self.expect(">")?;
        let resolve = |tensors: &Vec<Vec<Vec<String>>>| -> Result<Vec<TensorFactors>, String> {
            let dim = |d: &Vec<String>| -> Result<DimFactors, String> {
                d.iter().map(|f| names.get(f).copied().ok_or_else(|| f.clone())).collect()
            };
            tensors.iter().map(|t| t.iter().map(dim).collect::<Result<TensorFactors, _>>()).collect()
        };
        match (resolve(&tensors[0]), resolve(&tensors[1])) {
            (Ok(operands), Ok(results)) => (rule.operands, rule.results) = (operands, results),
            (Err(f), _) | (_, Err(f)) => return self.fail(start, format!("factor {f} has no size")),
        }
        Ok(rule)
    }

    /// `*`, or factors written together: `ij`, `z_1k`.
    fn dim_factors(&mut self) -> Parse<Vec<String>> {
        if self.eat("*") {
            return Ok(Vec::new());
        }
        let word = self.word()?;
        let mut factors: Vec<String> = Vec::new();
        let mut chars = word.chars().peekable();
        while let Some(c) = chars.next() {
            let mut name = c.to_string();
            if chars.peek() == Some(&'_') {
                name.push('_');
                chars.next();
                while let Some(d) = chars.peek().filter(|d| d.is_ascii_digit()) {
                    name.push(*d);
                    chars.next();
                }
            }
            factors.push(name);
        }
        Ok(factors)
    }
}

impl Printer<'_> {
    /// `"x"` or `"x":(1)2`
    pub fn axis(&mut self, axis: AxisRef) {
        let name = self.program.name_text(axis.name).to_owned();
        self.string(&name);
        if let Some(sub) = axis.sub {
            self.text(&format!(":({}){}", sub.pre, sub.size));
        }
    }

    /// `{"x", "y"}`
    pub fn axes(&mut self, axes: &[AxisRef]) {
        self.text("{");
        self.separated(axes.iter(), |p, &a| p.axis(a));
        self.text("}");
    }

    /// `[{"x"}, {}]`
    pub fn axes_per_dim(&mut self, dims: &[AxisList]) {
        self.text("[");
        self.separated(dims.iter(), |p, a| p.axes(a));
        self.text("]");
    }

    /// `[{"b"}: 0->2]`
    pub fn all_to_all_params(&mut self, params: &[AllToAllParam]) {
        self.text("[");
        self.separated(params.iter(), |p, a| {
            p.axes(&a.axes);
            p.text(&format!(": {}->{}", a.from, a.to));
        });
        self.text("]");
    }

    /// `<["x"=2], device_ids=[1, 0]>`
    pub fn mesh(&mut self, mesh: &Mesh) {
        self.text("<[");
        self.separated(mesh.axes.iter(), |p, a| {
            let name = p.program.name_text(a.0).to_owned();
            p.string(&name);
            p.text(&format!("={}", a.1));
        });
        self.text("]");
        if let Some(ids) = &mesh.device_ids {
            self.text(", device_ids=");
            self.int_list(ids);
        }
        self.text(">");
    }

    /// `<@mesh, [{"x"}, {?}]>`
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
        self.text(", [");
        self.separated(s.dims.iter(), |p, d| {
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
        self.text("]");
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

    /// `{"x", "y"}`
    pub fn manual_axes(&mut self, axes: &[Name]) {
        let full: SmallVec<[AxisRef; 4]> = axes.iter().map(|&n| AxisRef::full(n)).collect();
        self.axes(&full);
    }

    /// `<([i, k], [k, j])->([i, j]) {i=8, j=16, k=8} reduction={k}>`
    pub fn sharding_rule(&mut self, rule: &ShardingRule) {
        let name = |f: u32| match f {
            0..=17 => char::from(b'i' + f as u8).to_string(),
            _ => format!("z_{}", f - 17),
        };
        self.text("<");
        for (side, tensors) in [&rule.operands, &rule.results].into_iter().enumerate() {
            self.text(if side == 0 { "(" } else { "->(" });
            self.separated(tensors.iter(), |p, t| {
                p.text("[");
                p.separated(t.iter(), |p, dim| {
                    if dim.is_empty() {
                        p.text("*");
                    }
                    dim.iter().for_each(|&f| p.text(&name(f)));
                });
                p.text("]");
            });
            self.text(")");
        }
        if !rule.factors.is_empty() {
            self.text(" {");
            self.separated(rule.factors.iter().enumerate(), |p, (i, f)| p.text(&format!("{}={}", name(i as u32), f.size)));
            self.text("}");
        }
        let with = |f: &dyn Fn(&crate::sharding::Factor) -> bool| -> Vec<u32> {
            (0..rule.factors.len()).filter(|&i| f(&rule.factors[i])).map(|i| i as u32).collect()
        };
        for (word, list) in [
            ("reduction", with(&|f| f.kind == FactorKind::Reduction)),
            ("need_replication", with(&|f| f.kind == FactorKind::NeedReplication)),
            ("permutation", with(&|f| f.kind == FactorKind::Permutation)),
            ("blocked_propagation", with(&|f| f.blocked)),
        ] {
            if !list.is_empty() {
                self.text(&format!(" {word}={{"));
                self.separated(list.into_iter(), |p, f| p.text(&name(f)));
                self.text("}");
            }
        }
        if rule.custom {
            self.text(", custom");
        }
        self.text(">");
    }
}
