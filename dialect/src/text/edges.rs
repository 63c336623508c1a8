//! The text of `#sdy.propagation_edges`: for each step of propagation and each axis, the source value and the target
//! values, as Shardy records them on request. Source: Shardy's dialect documentation.

use super::parser::{Parse, Parser};
use super::printer::Printer;
use crate::ir::{EdgeValue, PropagationStep};

impl Parser<'_> {
    /// Parses `<[{step-2 = [{"y" = operand-1 -> [operand-0, result-0]}]}, …]>`.
    pub(super) fn propagation_edges(&mut self) -> Parse<Vec<PropagationStep>> {
        self.expect("<")?;
        let steps = self.list("[", "]", |p| {
            p.expect_all(&["{", "step", "-"])?;
            let index = p.integer()?;
            p.expect("=")?;
            let axes = p.list("[", "]", |p| {
                p.expect("{")?;
                let axis = p.axis()?;
                p.expect("=")?;
                let source = p.edge_value()?;
                p.expect("->")?;
                let targets = p.list("[", "]", Self::edge_value)?;
                p.expect("}")?;
                Ok((axis, source, targets))
            })?;
            p.expect("}")?;
            Ok(PropagationStep { index, axes })
        })?;
        self.expect(">")?;
        Ok(steps)
    }

    /// Parses `operand-0` or `result-1`.
    fn edge_value(&mut self) -> Parse<EdgeValue> {
        let is_result = self.at("result");
        if !is_result && !self.at("operand") {
            return self.fail_expected("operand-… or result-…");
        }
        self.advance();
        self.expect("-")?;
        let index = self.integer()?;
        Ok(if is_result { EdgeValue::Result(index) } else { EdgeValue::Operand(index) })
    }
}

impl Printer<'_> {
    /// Prints `<[{step-2 = [{"y" = operand-1 -> [operand-0, result-0]}]}]>`.
    pub fn propagation_edges(&mut self, steps: &[PropagationStep]) {
        let text = |v: &EdgeValue| match v {
            EdgeValue::Operand(i) => format!("operand-{i}"),
            EdgeValue::Result(i) => format!("result-{i}"),
        };
        self.list("<[", steps.iter(), "]>", |p, step| {
            p.list(&format!("{{step-{} = [", step.index), step.axes.iter(), "]}", |p, (axis, source, targets)| {
                p.text("{");
                p.axis(*axis);
                p.list(&format!(" = {} -> [", text(source)), targets.iter(), "]}", |p, target| p.text(&text(target)));
            });
        });
    }
}
