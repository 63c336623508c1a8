//! The text of `#sdy.op_sharding_rule`. Source: Shardy's dialect documentation.
//!
//! Factors are named i to z, then z_1, z_2, …, in the order of the list of their sizes.

use rustc_hash::FxHashMap;

use super::lexer::Tok;
use super::parser::{Parse, Parser, short};
use super::printer::Printer;
use crate::codes;
use crate::diagnostic::{Diagnostic, Span};
use crate::sharding::{DimFactors, FactorKind, ShardingRule, TensorFactors};

/// The keywords of the lists after the sizes, in order.
const SPECIAL: [&str; 4] = ["reduction", "need_replication", "permutation", "blocked_propagation"];

/// Returns the name of factor `f`.
fn factor_name(f: usize) -> String {
    match f {
        0..=17 => char::from(b'i' + f as u8).to_string(),
        _ => format!("z_{}", f - 17),
    }
}

impl<'s> Parser<'s> {
    /// Parses `<([i, k], [k, j])->([i, j]) {i=8, j=16, k=8} reduction={k}>`.
    pub(super) fn sharding_rule(&mut self) -> Parse<ShardingRule> {
        let start = self.tok.span();
        self.expect("<")?;
        let mut names: FxHashMap<String, u32> = FxHashMap::default();
        let mut rule = ShardingRule::default();
        let mut tensors: Vec<Vec<Vec<Vec<String>>>> = Vec::new();
        for side in 0..2 {
            if side == 1 {
                self.expect("->")?;
            }
            self.expect("(")?;
            // There is at least one tensor.
            tensors.push(self.comma_list(|p| p.list("[", "]", Self::dim_factors))?);
            self.expect(")")?;
        }
        // A rule without factors has no list of sizes.
        if self.at("{") {
            self.list("{", "}", |p| {
                let span = p.tok.span();
                let name = p.word()?.to_owned();
                let expected = factor_name(names.len());
                if name != expected {
                    let d = Diagnostic::error(
                        codes::SHARDING_RULE_FACTOR,
                        span,
                        format!("expected factor {expected}, found {}", short(&name)),
                    );
                    return p.error(d.note("factors are listed in order: i to z, then z_1, z_2, …"));
                }
                p.expect("=")?;
                let size = p.integer()?;
                names.insert(name, rule.factor(size, FactorKind::PassThrough));
                Ok(())
            })?;
        }
        for word in SPECIAL {
            if self.eat(word) {
                self.expect("=")?;
                self.special_factors(word, &names, &mut rule)?;
            }
        }
        if self.eat(",") {
            self.expect("custom")?;
            rule.custom = true;
        }
        if self.tok.kind == Tok::Word {
            return self.fail_expected(
                "'>', or one of reduction, need_replication, permutation and blocked_propagation, in this order",
            );
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
            (Err(f), _) | (_, Err(f)) => return self.fail(start, format!("the rule states no size for factor {f}")),
        }
        Ok(rule)
    }

    /// Parses `{i, k}`: known factors in order, each once, and in only one of the first three lists.
    fn special_factors(&mut self, word: &str, names: &FxHashMap<String, u32>, rule: &mut ShardingRule) -> Parse<()> {
        let mut last: Option<u32> = None;
        self.list("{", "}", |p| {
            let span = p.tok.span();
            let name = p.word()?;
            let Some(&f) = names.get(name) else {
                return p.fail(span, format!("the rule states no size for factor {}", short(name)));
            };
            if last.replace(f).is_some_and(|last| last >= f) {
                return p.fail(span, format!("the factors of {word} must be listed in order, each once"));
            }
            let factor = &mut rule.factors[f as usize];
            let kind = match word {
                "reduction" => FactorKind::Reduction,
                "need_replication" => FactorKind::NeedReplication,
                "permutation" => FactorKind::Permutation,
                _ => {
                    factor.blocked = true;
                    return Ok(());
                }
            };
            if factor.kind != FactorKind::PassThrough {
                return p.fail(span, format!("factor {name} can't be in {word} and in another list"));
            }
            factor.kind = kind;
            Ok(())
        })?;
        Ok(())
    }

    /// Parses `*`, or adjacent factors: `ij`, `z_1k`.
    fn dim_factors(&mut self) -> Parse<Vec<String>> {
        if self.eat("*") {
            return Ok(Vec::new());
        }
        let span = self.tok.span();
        let word = self.word()?;
        let bytes = word.as_bytes();
        let mut factors: Vec<String> = Vec::new();
        let mut at = 0;
        while at < bytes.len() {
            let start = at;
            at += 1;
            if bytes[start] == b'z' && bytes.get(at) == Some(&b'_') {
                at += 1;
                while bytes.get(at).is_some_and(u8::is_ascii_digit) {
                    at += 1;
                }
            }
            let name = &word[start..at.min(word.len())];
            let number = name.strip_prefix("z_");
            let good = match number {
                Some(digits) => !digits.starts_with('0') && digits.parse::<i64>().is_ok(),
                None => matches!(bytes[start], b'i'..=b'z'),
            };
            if !good {
                let place = Span::new(span.start as usize + start, span.start as usize + at);
                let d = Diagnostic::error(
                    codes::SHARDING_RULE_FACTOR,
                    place,
                    format!("expected a factor, found '{}'", short(name)),
                );
                return self.error(d.note("factors are called i to z, then z_1, z_2, …"));
            }
            factors.push(name.to_owned());
        }
        Ok(factors)
    }
}

impl Printer<'_> {
    /// Prints `<([i, k], [k, j])->([i, j]) {i=8, j=16, k=8} reduction={k}>`.
    pub fn sharding_rule(&mut self, rule: &ShardingRule) {
        let name = |f: u32| factor_name(f as usize);
        self.text("<");
        for (side, tensors) in [&rule.operands, &rule.results].into_iter().enumerate() {
            self.list(if side == 0 { "(" } else { "->(" }, tensors.iter(), ")", |p, t| {
                p.list("[", t.iter(), "]", |p, dim| {
                    if dim.is_empty() {
                        p.text("*");
                    }
                    dim.iter().for_each(|&f| p.text(&name(f)));
                });
            });
        }
        if !rule.factors.is_empty() {
            self.list(" {", rule.factors.iter().enumerate(), "}", |p, (i, f)| {
                p.text(&format!("{}={}", name(i as u32), f.size))
            });
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
                self.list(&format!(" {word}={{"), list.into_iter(), "}", |p, f| p.text(&name(f)));
            }
        }
        if rule.custom {
            self.text(", custom");
        }
        self.text(">");
    }
}
