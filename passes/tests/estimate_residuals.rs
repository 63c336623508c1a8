//! The table of residuals, and ranges compared with numbers calculated by hand.

use dialect::diagnostic::Diagnostics;
use shardc_passes::estimate::residuals::{Kind, RESIDUALS};
use shardc_passes::estimate::{Chip, Estimate, Machine, Residual, Target, Targets, estimate, estimate_ranges};

#[test]
fn every_row_is_of_a_chip_and_its_rows_are_together() {
    let chips: Vec<&str> = Targets::standard().chips().map(|chip| chip.name).collect();
    for (i, row) in RESIDUALS.iter().enumerate() {
        assert!(chips.contains(&row.chip), "{}", row.chip);
        assert!(0.0 < row.low && row.low <= row.high && row.high.is_finite(), "{row:?}");
        assert!(!row.source.is_empty(), "{row:?}");
        let same = |other: &&Residual| (other.chip, other.kind) == (row.chip, row.kind);
        assert_eq!(RESIDUALS.iter().filter(same).count(), 1, "{row:?}");
        let before = RESIDUALS[..i].iter().rposition(|other| other.chip == row.chip);
        assert!(before.is_none_or(|at| at + 1 == i), "the rows of {} are apart", row.chip);
    }
    let of_chip = |name: &str| Residual::of_chip(Chip::named(name).unwrap());
    let kinds: Vec<Kind> = of_chip("v5e").iter().map(|row| row.kind).collect();
    assert_eq!(kinds, [Kind::Product, Kind::Other, Kind::LargeCollective]);
    assert!(of_chip("mi300x").is_empty());
    // A machine that has the name of a chip but not its figures was never measured.
    static CHIP: Chip = Chip { hbm_bandwidth: 1e12, ..shardc_passes::estimate::chip::CHIPS[4] };
    assert!(CHIP.name == "v5e" && Residual::of_chip(&CHIP).is_empty());
}

/// Prices a product, and a sum of the result on two devices if `sums`.
fn priced(target: &str, sums: bool, price: fn(&dialect::ir::Program, &Machine) -> Estimate) -> Estimate {
    let sum = if sums {
        "%1 = \"stablehlo.all_reduce\"(%0) <{replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>}> ({
          ^bb0(%p: tensor<bf16>, %q: tensor<bf16>):
            %s = stablehlo.add %p, %q : tensor<bf16>
            stablehlo.return %s : tensor<bf16>
          }) : (tensor<4096x4096xbf16>) -> tensor<4096x4096xbf16>"
    } else {
        "%1 = stablehlo.dot_general %0, %0, contracting_dims = [1] x [0] : (tensor<4096x4096xbf16>, tensor<4096x4096xbf16>) -> tensor<4096x4096xbf16>"
    };
    let text = format!(
        "func.func @main(%a: tensor<4096x4096xbf16>) -> tensor<4096x4096xbf16> {{
           %0 = stablehlo.dot_general %a, %a, contracting_dims = [1] x [0] : (tensor<4096x4096xbf16>, tensor<4096x4096xbf16>) -> tensor<4096x4096xbf16>
           {sum}
           return %1 : tensor<4096x4096xbf16>
         }}"
    );
    let mut diagnostics = Diagnostics::default();
    let program = dialect::parse(&text, &mut diagnostics);
    dialect::verify(&program, &mut diagnostics);
    assert!(diagnostics.is_empty(), "{diagnostics:?}");
    price(&program, &Machine::new(Target::parse(target).unwrap(), &[2]).unwrap())
}

#[test]
fn a_range_has_the_factors_of_each_kind_of_op() {
    let close = |found: f64, expected: f64| assert!((found - expected).abs() < 1e-9 * expected, "{found}, {expected}");
    let products = priced("v5e:1x2", false, estimate_ranges);
    let range = products.ranges.unwrap();
    close(products.step_seconds, 2.0 * 2.0 * 4096f64.powi(3) / (0.935 * 197e12));
    close(range.step.low, 0.8 * products.step_seconds);
    close(range.step.high, 1.1 * products.step_seconds);
    assert_eq!(range.compute, range.step);
    assert!(range.exposed.low <= range.exposed.high && range.exposed.high < 1e-9 * products.step_seconds);
    // The sum waits for its product.
    let sum = priced("v5e:1x2", true, estimate_ranges);
    let range = sum.ranges.unwrap();
    close(range.step.high, 1.1 * sum.compute_seconds + 1.21 * sum.communication_seconds);
    close(range.exposed.low, 0.69 * sum.communication_seconds);
    close(range.exposed.high, 1.21 * sum.communication_seconds);
}

#[test]
fn a_kind_of_op_that_was_never_measured_leaves_no_range() {
    assert_eq!(priced("v5p:1x1x2", false, estimate_ranges).ranges.map(|r| r.step.low > 0.0), Some(true));
    for (target, sums) in [("v4:1x1x2", true), ("mi300x:2", false), ("flat", false)] {
        assert_eq!(priced(target, sums, estimate_ranges).ranges, None, "{target}");
    }
    assert_eq!(priced("v5e:1x2", false, estimate).ranges, None);
}
