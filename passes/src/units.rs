//! Numbers formatted for people, in messages and reports.

/// Formats bytes: `4 KiB`, `1.5 MiB`.
pub fn bytes(value: f64) -> String {
    scaled(value, 1024.0, &["B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"])
}

/// Formats seconds: `1.02 us`, `3.5 ms`.
pub fn seconds(value: f64) -> String {
    if value == 0.0 || !value.is_finite() {
        return format!("{value} s");
    }
    scaled(value * 1e9, 1000.0, &["ns", "us", "ms", "s"])
}

/// Formats FLOPs: `1.2 GFLOP`.
pub fn flops(value: f64) -> String {
    scaled(value, 1000.0, &["FLOP", "kFLOP", "MFLOP", "GFLOP", "TFLOP", "PFLOP", "EFLOP"])
}

/// Formats a share: `41 %`.
pub fn percent(part: f64, whole: f64) -> String {
    if whole > 0.0 { format!("{:.0} %", 100.0 * part / whole) } else { "-".to_owned() }
}

/// Formats a share, with two digits if it is small: `0.8 %`.
pub fn small_percent(part: f64, whole: f64) -> String {
    match 100.0 * part / whole {
        share if !share.is_finite() => "-".to_owned(),
        share if share >= 9.95 => format!("{share:.0} %"),
        share => format!("{share:.1} %"),
    }
}

/// Formats the value in the largest unit of which it is at least one once it is rounded: 999.7 ns are `1 us`, not `1000
/// ns`.
fn scaled(mut value: f64, step: f64, units: &[&str]) -> String {
    let mut unit = 0;
    while rounded(value) >= step && unit + 1 < units.len() {
        value /= step;
        unit += 1;
    }
    format!("{} {}", three_digits(value), units[unit])
}

/// Returns the digits after the decimal point of a value with three significant digits. A value that rounds up to the
/// next power of ten has one digit less.
fn decimals(value: f64) -> usize {
    match value {
        v if v >= 99.95 => 0,
        v if v >= 9.995 => 1,
        _ => 2,
    }
}

/// Returns the value as it is printed.
fn rounded(value: f64) -> f64 {
    let power = [1.0, 10.0, 100.0][decimals(value)];
    (value * power).round() / power
}

/// Formats three significant digits, without trailing zeros after the decimal point.
fn three_digits(value: f64) -> String {
    let decimals = decimals(value);
    let text = format!("{value:.decimals$}");
    if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.').to_owned() } else { text }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_keep_three_digits() {
        assert_eq!(bytes(0.0), "0 B");
        assert_eq!(bytes(4096.0), "4 KiB");
        assert_eq!(bytes(1_600_000.0), "1.53 MiB");
        assert_eq!(seconds(1.0182e-6), "1.02 us");
        assert_eq!(seconds(0.25), "250 ms");
        assert_eq!(seconds(3.3e-10), "0.33 ns");
        assert_eq!(flops(2.5e9), "2.5 GFLOP");
        assert_eq!(percent(1.0, 3.0), "33 %");
    }

    #[test]
    fn rounding_carries_over_to_the_next_unit() {
        assert_eq!(seconds(999.4e-9), "999 ns");
        assert_eq!(seconds(999.7e-9), "1 us");
        assert_eq!(seconds(999.96e-6), "1 ms");
        assert_eq!(seconds(0.99999), "1 s");
        assert_eq!(seconds(1e-6), "1 us");
        assert_eq!(seconds(9.999e-6), "10 us");
        assert_eq!(seconds(99.96e-6), "100 us");
        assert_eq!(seconds(1234.0), "1234 s");
        assert_eq!(bytes(1023.7), "1 KiB");
        assert_eq!(bytes(1023.9 * 1024.0), "1 MiB");
        assert_eq!(flops(999_999.0), "1 MFLOP");
        assert_eq!(seconds(f64::INFINITY), "inf s");
        assert_eq!((small_percent(8.0, 1000.0), small_percent(300.0, 1000.0)), ("0.8 %".into(), "30 %".into()));
    }

    #[test]
    fn no_number_reaches_its_unit_times_the_step() {
        for exponent in -90..60 {
            for thousandth in 1000..2000 {
                let value = 2f64.powi(exponent) * f64::from(thousandth) / 1000.0;
                for (text, step) in [(seconds(value), 1000.0), (bytes(value), 1024.0), (flops(value), 1000.0)] {
                    let (number, unit) = text.split_once(' ').expect("a unit");
                    let largest = ["s", "EiB", "EFLOP"].contains(&unit);
                    assert!(number.parse::<f64>().is_ok_and(|n| n < step || largest), "{value:e}: {text}");
                }
            }
        }
    }
}
