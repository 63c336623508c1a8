//! Consecutive stages of balanced cost.

/// Returns the stage of each item, in order, for `stages` consecutive stages: the largest sum of any stage is as small
/// as possible, and no stage is empty while there are enough items.
pub(super) fn stages(costs: &[f64], stages: usize) -> Vec<usize> {
    let stages = stages.clamp(1, costs.len().max(1));
    let most = costs.iter().copied().fold(0.0, f64::max);
    // A bound between the largest cost, which some stage has, and the sum of all costs.
    let (mut low, mut high) = (most, costs.iter().sum::<f64>());
    for _ in 0..64 {
        let middle = (low + high) / 2.0;
        match filled(costs, stages, middle) {
            Some(_) => high = middle,
            None => low = middle,
        }
    }
    filled(costs, stages, high).unwrap_or_else(|| (0..costs.len()).map(|i| i.min(stages - 1)).collect())
}

/// Fills stages up to `bound`, each as full as possible; `None` where they are too few.
fn filled(costs: &[f64], stages: usize, bound: f64) -> Option<Vec<usize>> {
    let (mut of, mut stage, mut sum) = (Vec::with_capacity(costs.len()), 0, 0.0);
    for (i, &cost) in costs.iter().enumerate() {
        let left = costs.len() - i;
        let empty_stages = stages - 1 - stage;
        // Sums have rounding errors.
        let full = sum > 0.0 && sum + cost > bound * (1.0 + 1e-12);
        if i > 0 && (full || left == empty_stages) {
            (stage, sum) = (stage + 1, 0.0);
        }
        if stage == stages {
            return None;
        }
        sum += cost;
        of.push(stage);
    }
    Some(of)
}

#[cfg(test)]
mod tests {
    use super::stages;

    /// Returns the least maximum over all ways to divide, by trying all.
    fn least(costs: &[f64], n: usize) -> f64 {
        if n == 1 {
            return costs.iter().sum();
        }
        let each = (1..=costs.len() + 1 - n).map(|k| costs[..k].iter().sum::<f64>().max(least(&costs[k..], n - 1)));
        each.fold(f64::INFINITY, f64::min)
    }

    #[test]
    fn the_largest_stage_is_as_small_as_can_be() {
        let costs = [3.0, 1.0, 4.0, 1.0, 5.0, 9.0, 2.0, 6.0];
        for n in 1..=costs.len() {
            let of = stages(&costs, n);
            assert!(of.windows(2).all(|w| w[1] == w[0] || w[1] == w[0] + 1), "{of:?}");
            assert_eq!(of.last(), Some(&(n - 1)));
            let sums = (0..n).map(|s| costs.iter().zip(&of).filter(|c| *c.1 == s).map(|c| c.0).sum::<f64>());
            assert_eq!(sums.fold(0.0, f64::max), least(&costs, n));
        }
        assert_eq!(stages(&[1.0, 1.0], 4), [0, 1]);
        assert!(stages(&[], 4).is_empty());
        assert_eq!(stages(&[0.0, 0.0, 0.0], 2), [0, 0, 1]);
    }
}
