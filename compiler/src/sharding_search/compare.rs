//! The reasons why a proposal is better than the well-known recipes: where the seconds are spent.

use super::explore::Explored;
use super::survey::Survey;
use super::trial::Measure;
use crate::units;

/// The threshold for naming a kind of collective: the difference of its seconds as a fraction of a step.
const WORTH_NAMING: f64 = 0.01;

/// Returns a sentence for each recipe that was planned.
pub(super) fn reasons(explored: &Explored, survey: &Survey, memory: f64) -> Vec<String> {
    let Some((best, measure)) = explored.ranked.first() else { return Vec::new() };
    let of = |recipe: &super::explore::Recipe| {
        let (candidate, own) = explored.ranked.iter().find(|(c, _)| *c == recipe.candidate)?;
        let named = format!("{} ({})", recipe.name, candidate.text(survey));
        match candidate == best {
            true => Some(format!("{named} is the best that was found")),
            false => Some(format!("{named} {}", reason(own, measure, memory))),
        }
    };
    explored.recipes.iter().filter_map(of).collect()
}

/// `takes 12 ms, 20 % more: 1.5 ms more exposed communication (all_gather 4 ms instead of 2 ms), 0.5 ms more compute`
fn reason(other: &Measure, best: &Measure, memory: f64) -> String {
    let difference = other.step - best.step;
    let mut text = match difference.abs() <= 5e-3 * best.step {
        true => format!("takes as long, {}", units::seconds(other.step)),
        false => format!("takes {}, {}", units::seconds(other.step), percent(difference, best.step)),
    };
    let mut parts: Vec<(f64, String)> = Vec::new();
    let mut part = |seconds: f64, what: String| {
        if seconds.abs() >= WORTH_NAMING * best.step {
            let more = if seconds > 0.0 { "more" } else { "less" };
            parts.push((seconds.abs(), format!("{} {more} {what}", units::seconds(seconds.abs()))));
        }
    };
    part(other.compute - best.compute, "compute".to_owned());
    let kinds = other.kinds.keys().chain(best.kinds.keys().filter(|kind| !other.kinds.contains_key(*kind)));
    let mut named: Vec<(f64, String)> = Vec::new();
    for kind in kinds {
        let (own, its) = (other.kinds.get(kind).copied(), best.kinds.get(kind).copied());
        let (own, its) = (own.unwrap_or_default(), its.unwrap_or_default());
        let difference = own.0 - its.0;
        if difference.abs() >= WORTH_NAMING * best.step {
            let (now, then) = (units::bytes(own.1), units::bytes(its.1));
            let seconds = format!("{} instead of {}", units::seconds(own.0), units::seconds(its.0));
            named.push((difference.abs(), format!("{kind} of {now} instead of {then}, {seconds}")));
        }
    }
    named.sort_by(|a, b| b.0.total_cmp(&a.0));
    let named: Vec<String> = named.into_iter().map(|n| n.1).take(2).collect();
    let named = if named.is_empty() { String::new() } else { format!(" ({})", named.join("; ")) };
    part(other.exposed - best.exposed, format!("exposed communication{named}"));
    parts.sort_by(|a, b| b.0.total_cmp(&a.0));
    if !parts.is_empty() {
        text.push_str(": ");
        text.push_str(&parts.into_iter().map(|p| p.1).collect::<Vec<_>>().join(", "));
    }
    if other.peak > memory {
        text.push_str(&format!("; it needs {} of memory and does not fit", units::bytes(other.peak)));
    }
    text
}

/// `20 % more`, `7 % less`
fn percent(difference: f64, whole: f64) -> String {
    let more = if difference > 0.0 { "more" } else { "less" };
    format!("{} {more}", units::percent(difference.abs(), whole))
}
