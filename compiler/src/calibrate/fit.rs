//! Lines through measurements: a start-up and seconds for each unit of work, by least squares without outliers.

/// A measurement.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Point {
    /// The work: bytes, FLOPs or ops.
    pub(super) work: f64,
    /// Seconds of it.
    pub(super) seconds: f64,
}

/// The line of measurements.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Fit {
    /// Seconds without any work; `None` if all measurements are of about the same work, so that it is unknown.
    pub(super) start: Option<f64>,
    /// Seconds for each unit of work.
    pub(super) per: f64,
    /// The median difference of a measurement from the line, as a share of the measurement.
    pub(super) error: f64,
    /// The number of measurements that were left out, because they are far from the line through the others.
    pub(super) outliers: usize,
}

/// Measurements of work within this factor don't determine a start-up.
const RANGE: f64 = 2.0;

/// A measurement farther from the line than this number of standard deviations counts nothing; Tukey's constant, at
/// which the fit of normally distributed errors has 95 % of the precision of plain least squares.
const TUKEY: f64 = 4.685;

/// Turns the median of absolute differences into a standard deviation, if the differences are normally distributed.
const OF_MEDIAN: f64 = 1.4826;

/// The smallest standard deviation of relative differences that is assumed, because clocks tick.
const LEAST: f64 = 1e-3;

/// The number of times that weights are computed again; they change little after the first few.
const ROUNDS: usize = 30;

/// Returns the median.
pub(super) fn median(values: impl IntoIterator<Item = f64>) -> f64 {
    quantile(values, 0.5)
}

/// Returns the value below which this share of the values is; between two values it is interpolated. 0 without values.
pub(super) fn quantile(values: impl IntoIterator<Item = f64>, share: f64) -> f64 {
    let mut values: Vec<f64> = values.into_iter().collect();
    values.sort_by(f64::total_cmp);
    let at = share * values.len().saturating_sub(1) as f64;
    let (low, high) = (at.floor() as usize, at.ceil() as usize);
    match (values.get(low), values.get(high)) {
        (Some(low), Some(high)) => low + (high - low) * at.fract(),
        _ => 0.0,
    }
}

/// Returns the line of these measurements; `None` without measurements of any work, or if more work takes no longer.
///
/// Differences count relative to the measurement, because small and large work matter alike. The first line is that of
/// Theil and Sen (medians of the slopes between all pairs), which up to a quarter of outliers hardly move; then follow
/// least squares with Tukey's weights. A negative start-up is none.
pub(super) fn line(points: &[Point]) -> Option<Fit> {
    let useful = |p: &&Point| p.work > 0.0 && p.work.is_finite() && p.seconds > 0.0 && p.seconds.is_finite();
    let points: Vec<Point> = points.iter().filter(useful).copied().collect();
    let least = points.iter().map(|p| p.work).fold(f64::INFINITY, f64::min);
    let most = points.iter().map(|p| p.work).fold(0.0, f64::max);
    if points.is_empty() {
        return None;
    }
    if most < RANGE * least {
        let per = median(points.iter().map(|p| p.seconds / p.work));
        return Some(judged(&points, None, per, usize::MAX));
    }
    let slopes = points.iter().enumerate().flat_map(|(i, a)| {
        points[..i].iter().filter(|b| b.work != a.work).map(|b| (a.seconds - b.seconds) / (a.work - b.work))
    });
    let mut per = median(slopes);
    let mut start = median(points.iter().map(|p| p.seconds - per * p.work)).max(0.0);
    for _ in 0..ROUNDS {
        (start, per) = weighted(&points, &weights(&points, start, per))?;
    }
    let kept = weights(&points, start, per).iter().filter(|w| **w > 0.0).count();
    (per > 0.0 && per.is_finite()).then(|| judged(&points, Some(start), per, kept))
}

/// Two rates: up to some work, and of what is more.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Bend {
    /// The work up to which the first rate holds.
    pub(super) at: f64,
    /// Seconds for each unit of work up to it.
    pub(super) near: f64,
    /// Seconds for each further unit.
    pub(super) far: f64,
    /// The median difference of a measurement, as a share of the measurement.
    pub(super) error: f64,
}

/// The measurements that are needed on each side of a bend.
const EACH_SIDE: usize = 3;

/// A bend must reduce the error of one line to this share of it.
const BETTER: f64 = 0.75;

/// The factor between the rates of both sides that is the least to count as a bend.
const APART: f64 = 1.25;

/// Returns the bend at which two rates fit measurements best, if they fit clearly better than one line and the second
/// rate is clearly slower.
pub(super) fn bend(points: &[Point], one: &Fit) -> Option<Bend> {
    let mut works: Vec<f64> = points.iter().map(|p| p.work).collect();
    works.sort_by(f64::total_cmp);
    works.dedup();
    let of = |at: &f64| {
        let (near, far): (Vec<Point>, Vec<Point>) = points.iter().partition(|p| p.work <= *at);
        if near.len() < EACH_SIDE || far.len() < EACH_SIDE {
            return None;
        }
        let first = line(&near)?;
        let start = first.start.unwrap_or(0.0);
        let until = start + first.per * at;
        let per = median(far.iter().map(|p| (p.seconds - until) / (p.work - at)));
        let time = |p: &Point| if p.work <= *at { start + first.per * p.work } else { until + per * (p.work - at) };
        let error = median(points.iter().map(|p| (time(p) / p.seconds - 1.0).abs()));
        (per > APART * first.per).then_some(Bend { at: *at, near: first.per, far: per, error })
    };
    let best = works.iter().filter_map(of).min_by(|a, b| a.error.total_cmp(&b.error))?;
    (best.error < BETTER * one.error).then_some(best)
}

fn judged(points: &[Point], start: Option<f64>, per: f64, kept: usize) -> Fit {
    let error = median(points.iter().map(|p| difference(p, start.unwrap_or(0.0), per).abs()));
    Fit { start, per, error, outliers: points.len().saturating_sub(kept) }
}

/// The difference of a measurement from a line, as a share of the measurement.
fn difference(point: &Point, start: f64, per: f64) -> f64 {
    (start + per * point.work) / point.seconds - 1.0
}

/// Tukey's weights of measurements.
fn weights(points: &[Point], start: f64, per: f64) -> Vec<f64> {
    let differences: Vec<f64> = points.iter().map(|p| difference(p, start, per)).collect();
    let deviation = (OF_MEDIAN * median(differences.iter().map(|d| d.abs()))).max(LEAST);
    let weight = |d: &f64| {
        let share = d / (TUKEY * deviation);
        if share.abs() < 1.0 { (1.0 - share * share).powi(2) } else { 0.0 }
    };
    differences.iter().map(weight).collect()
}

/// The line of least squares, of differences relative to the measurements.
fn weighted(points: &[Point], weights: &[f64]) -> Option<(f64, f64)> {
    // Solves the normal equations of a / t + b * x / t = 1.
    let (mut aa, mut ab, mut bb, mut a1, mut b1) = (0.0, 0.0, 0.0, 0.0, 0.0);
    for (p, weight) in points.iter().zip(weights) {
        let (a, b) = (1.0 / p.seconds, p.work / p.seconds);
        aa += weight * a * a;
        ab += weight * a * b;
        bb += weight * b * b;
        a1 += weight * a;
        b1 += weight * b;
    }
    let determinant = aa * bb - ab * ab;
    let through_zero = (bb > 0.0).then(|| (0.0, b1 / bb));
    if determinant <= 1e-12 * aa * bb {
        return through_zero;
    }
    let (start, per) = ((a1 * bb - b1 * ab) / determinant, (aa * b1 - ab * a1) / determinant);
    if start >= 0.0 { Some((start, per)) } else { through_zero }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn points(of: &[(f64, f64)]) -> Vec<Point> {
        of.iter().map(|&(work, seconds)| Point { work, seconds }).collect()
    }

    fn close(value: f64, expected: f64, share: f64) {
        assert!((value / expected - 1.0).abs() <= share, "{value} is not {expected}");
    }

    #[test]
    fn a_line_is_found_over_six_orders_of_magnitude() {
        let exact: Vec<(f64, f64)> =
            (6..28).step_by(2).map(|p| f64::from(1 << p)).map(|x| (x, 20e-6 + x / 4e9)).collect();
        let fit = line(&points(&exact)).unwrap();
        close(fit.start.unwrap(), 20e-6, 1e-9);
        close(1.0 / fit.per, 4e9, 1e-9);
        assert_eq!(fit.outliers, 0);
        // With 5 % of noise in turn.
        let noisy: Vec<(f64, f64)> =
            exact.iter().enumerate().map(|(i, p)| (p.0, p.1 * [1.05, 0.97, 1.0, 0.95, 1.02][i % 5])).collect();
        let fit = line(&points(&noisy)).unwrap();
        close(fit.start.unwrap(), 20e-6, 0.05);
        close(1.0 / fit.per, 4e9, 0.05);
        assert!(fit.error < 0.05);
    }

    #[test]
    fn outliers_on_both_sides_are_left_out() {
        let mut of: Vec<(f64, f64)> = (10..26).map(|p| f64::from(1 << p)).map(|x| (x, 1e-5 + x / 1e10)).collect();
        of[2].1 *= 30.0;
        of[9].1 *= 0.1;
        of[14].1 *= 5.0;
        let fit = line(&points(&of)).unwrap();
        close(fit.start.unwrap(), 1e-5, 1e-6);
        close(1.0 / fit.per, 1e10, 1e-6);
        assert_eq!(fit.outliers, 3);
    }

    #[test]
    fn what_does_not_determine_a_line_is_not_invented() {
        assert_eq!(line(&[]), None);
        assert_eq!(line(&points(&[(0.0, 1.0), (1.0, 0.0), (f64::NAN, 1.0)])), None);
        // More work takes less time.
        assert_eq!(line(&points(&[(1.0, 4.0), (2.0, 1.0), (40.0, 1e-3)])).filter(|fit| fit.per <= 0.0), None);
        // One size has a rate, but no start-up.
        let fit = line(&points(&[(100.0, 1.0), (100.0, 1.1), (100.0, 9.0)])).unwrap();
        assert_eq!((fit.start, fit.per), (None, 1.1 / 100.0));
        // A start-up can't be negative.
        let fit = line(&points(&[(1.0, 1.0), (2.0, 2.1), (4.0, 4.5), (8.0, 9.3)])).unwrap();
        assert_eq!(fit.start, Some(0.0));
        close(fit.per, 1.07, 0.1);
    }

    #[test]
    fn a_cache_bends_the_line() {
        let seconds = |x: f64| 1e-6 + x.min(65536.0) / 1e10 + (x - 65536.0).max(0.0) / 2e9;
        let of: Vec<(f64, f64)> = (10..24).map(|p| f64::from(1 << p)).map(|x| (x, seconds(x))).collect();
        let points = points(&of);
        let found = bend(&points, &line(&points).unwrap()).expect("two rates");
        assert_eq!(found.at, 65536.0);
        close(1.0 / found.near, 1e10, 1e-6);
        close(1.0 / found.far, 2e9, 1e-6);
        assert!(found.error < 1e-6);
        // A straight line has no bend, and neither has one that gets faster.
        let straight: Vec<Point> = points.iter().map(|p| Point { seconds: 1e-6 + p.work / 1e9, ..*p }).collect();
        assert_eq!(bend(&straight, &line(&straight).unwrap()), None);
        let faster = |x: f64| x.min(65536.0) / 1e9 + (x - 65536.0).max(0.0) / 5e9;
        let faster: Vec<Point> = points.iter().map(|p| Point { seconds: faster(p.work), ..*p }).collect();
        assert_eq!(bend(&faster, &line(&faster).unwrap()), None);
    }

    #[test]
    fn quantiles_are_interpolated() {
        assert_eq!(quantile([4.0, 1.0, 3.0, 2.0], 0.5), 2.5);
        assert_eq!((quantile([1.0, 2.0, 3.0], 1.0), quantile([7.0], 0.9), quantile([], 0.5)), (3.0, 7.0, 0.0));
    }
}
