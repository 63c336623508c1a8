//! Checks of a user's `sdy.sharding_rule`.

use super::Verifier;
use crate::codes;
use crate::ir::{AttrData, OpRef, TypeData};
use crate::ops::sdy;
use crate::sharding::{FactorKind, ShardingRule, TensorFactors};

impl<'a> Verifier<'a> {
    /// Checks that the rule maps every value and dimension, and that its factors are consistent.
    pub(super) fn rule(&mut self, op: OpRef<'a>, rule: &ShardingRule) {
        let operands: Vec<&TypeData> = op.operand_types().collect();
        let results: Vec<&TypeData> = op.result_types().collect();
        let mut used = vec![false; rule.factors.len()];
        for (what, types, mappings) in [("operand", operands, &rule.operands), ("result", results, &rule.results)] {
            if types.len() != mappings.len() {
                let message =
                    format!("the sharding rule maps {} {what}s, but the op has {}", mappings.len(), types.len());
                self.rule_error(op, message);
                continue;
            }
            for (i, (ty, mapping)) in types.into_iter().zip(mappings).enumerate() {
                self.mapping(op, rule, ty, mapping, &format!("{what} {i}"), &mut used);
                let reduces = mapping.iter().flatten().any(|&f| rule.factors[f as usize].kind == FactorKind::Reduction);
                if what == "result" && reduces {
                    self.rule_error(op, format!("result {i} is mapped to a reduction factor"));
                }
            }
        }
        if let Some(unused) = used.iter().position(|&u| !u) {
            self.rule_error(op, format!("factor {unused} of the sharding rule is in no mapping"));
        }
    }

    /// Checks that `shardc.reduction` is a known keyword and that the op has a custom rule with reduction factors.
    pub(super) fn stated_reduction(&mut self, op: OpRef<'a>) {
        if op.attr(sdy::REDUCTION).is_none() {
            return;
        }
        let reduces = match op.attr(sdy::SHARDING_RULE) {
            Some(AttrData::ShardingRule(rule)) => rule.factors.iter().any(|f| f.kind == FactorKind::Reduction),
            _ => false,
        };
        let (message, note) = if sdy::stated_reduction(op).is_none() {
            ("shardc.reduction must be the name of a reduction", "write \"sum\", \"max\" or \"min\"")
        } else if !reduces {
            let note = "name them in sdy.sharding_rule, as in {i=8, j=4} reduction={j}, or remove shardc.reduction";
            ("the op has shardc.reduction, but its sharding rule has no reduction factors", note)
        } else if op.def().reduction(op) != sdy::stated_reduction(op) {
            (
                "the op has shardc.reduction, but its reduction is known",
                "remove shardc.reduction: it is for ops that shardc doesn't define",
            )
        } else {
            return;
        };
        let span = super::place::AttrRange::of_op(op).find(self.program, sdy::REDUCTION);
        self.push(crate::diagnostic::Diagnostic::error(codes::SHARDING_RULE, span, message).note(note));
    }

    fn mapping(
        &mut self,
        op: OpRef<'a>,
        rule: &ShardingRule,
        ty: &TypeData,
        mapping: &TensorFactors,
        what: &str,
        used: &mut [bool],
    ) {
        let Some(tensor) = ty.tensor() else {
            return self.rule_error(op, format!("{what} is not a tensor, so a sharding rule can't map it"));
        };
        if mapping.len() != tensor.rank() {
            let message =
                format!("{what} has {} dimensions, but the sharding rule maps {}", tensor.rank(), mapping.len());
            return self.rule_error(op, message);
        }
        mapping.iter().flatten().for_each(|&f| used[f as usize] = true);
        if !tensor.is_static() {
            return self
                .rule_error(op, format!("{what} has dimensions of unknown size, so a sharding rule can't map it"));
        }
        let mut own = vec![false; rule.factors.len()];
        for (d, dim) in mapping.iter().enumerate() {
            for &f in dim {
                if std::mem::replace(&mut own[f as usize], true) {
                    self.rule_error(op, format!("{what} has the same factor in two places"));
                }
                if dim.len() > 1 && rule.factors[f as usize].size == 1 {
                    self.rule_error(op, format!("dimension {d} of {what} has a factor of size 1 among others"));
                }
            }
        }
    }

    fn rule_error(&mut self, op: OpRef<'a>, message: String) {
        let span = super::place::AttrRange::of_op(op).find(self.program, "sdy.sharding_rule");
        let d = crate::diagnostic::Diagnostic::error(codes::SHARDING_RULE, span, message);
        self.push(d.note("([i, k],[k, j])->([i, j]) {i=8, j=16, k=8} reduction={k} is the rule of a matrix product"));
    }
}
