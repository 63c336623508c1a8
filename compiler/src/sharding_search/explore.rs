//! The search over candidates.
//!
//! The search starts with a single axis and tries each role for it. The best candidates get one more axis, up to three;
//! other sizes are tried only for the best. If the mesh is given, its axes get roles one after the other, and axes of
//! the best candidates are divided into parts with two roles. All of these are priced with greedy plans. The best of
//! them, and the well-known recipes, are then planned in full. Single changes improve the best until none helps:
//! another size or role of an axis, or arguments that are stored differently. In the end, shardings of results and of
//! values inside the program are added to the best candidates, as long as each saves enough. The order is fixed and
//! ties go to the first candidate, so the answer depends only on the program unless time runs out.

mod pins;

use std::collections::HashSet;

use super::axis::{self, Axis};
use super::candidate::Candidate;
use super::survey::{AxisUse, Role, Survey};
use super::trial::{Effort, Measure, Trial};

/// The maximum number of axes of a proposed mesh.
const AXES: usize = 3;
/// The number of candidates that get another axis or other sizes.
const BEAM: usize = 4;
/// The number of candidates planned in full after the recipes.
const FINALISTS: usize = 6;
/// The maximum number of rounds in which single changes improve the best candidate.
const ROUNDS: usize = 6;
/// A well-known recipe.
#[derive(Clone, PartialEq, Debug)]
pub(super) struct Recipe {
    pub(super) name: &'static str,
    pub(super) candidate: Candidate,
}

/// The result of a search.
pub(super) struct Explored {
    /// The candidates planned in full, the best first.
    pub(super) ranked: Vec<(Candidate, Measure)>,
    /// The recipes among them.
    pub(super) recipes: Vec<Recipe>,
}

/// The meshes that may be proposed.
pub(super) enum Meshes {
    /// Any mesh with this number of devices.
    Devices(i64),
    /// Only this mesh.
    Given(Vec<(String, i64)>),
}

/// Searches for the best candidates that need at most `memory` bytes per device.
pub(super) fn explore(trial: &mut Trial<'_>, meshes: &Meshes, memory: f64) -> Explored {
    let survey = trial.survey;
    let stored = survey.arguments.iter().any(|argument| argument.is_stored && !argument.fixed);
    let resizes = matches!(meshes, Meshes::Devices(_));
    let mut explorer = Explorer { trial, survey, memory, stored, resizes, seen: Vec::new(), known: HashSet::new() };
    let recipes = match meshes {
        Meshes::Devices(devices) => explorer.any(*devices),
        Meshes::Given(axes) => explorer.given(axes),
    };
    explorer.finish(recipes)
}

struct Explorer<'a, 't> {
    trial: &'a mut Trial<'t>,
    survey: &'a Survey,
    memory: f64,
    /// Whether any parameters can be stored in shards.
    stored: bool,
    /// Whether the search may choose the mesh.
    resizes: bool,
    /// All candidates priced with greedy plans.
    seen: Vec<(Candidate, Measure)>,
    known: HashSet<Candidate>,
}

impl Explorer<'_, '_> {
    /// Prices new candidates with greedy plans. Records and returns those that can be compiled, the best first.
    fn look(&mut self, candidates: Vec<Candidate>) -> Vec<(Candidate, Measure)> {
        let mut new: Vec<Candidate> = Vec::new();
        for candidate in candidates {
            if self.known.insert(candidate.clone()) {
                new.push(candidate);
            }
        }
        let measures = self.trial.all(&new, Effort::Greedy);
        let mut found: Vec<_> = new.into_iter().zip(measures).filter_map(|(c, m)| Some((c, m?))).collect();
        self.seen.extend(found.iter().cloned());
        self.sort(&mut found);
        found
    }

    fn sort(&self, list: &mut [(Candidate, Measure)]) {
        let key = |m: &Measure| m.key(self.memory);
        list.sort_by(|a, b| {
            let (a, b) = (key(&a.1), key(&b.1));
            a.0.cmp(&b.0).then(a.1.total_cmp(&b.1))
        });
    }

    /// Returns the uses of an axis with this role: without storing parameters, and with it if the role allows it.
    fn uses(&self, role: usize) -> impl Iterator<Item = (Option<usize>, bool)> + use<> {
        let both = self.stored && self.survey.roles[role].kind.is_of_data();
        [(Some(role), false), (Some(role), true)].into_iter().take(if both { 2 } else { 1 })
    }

    /// Explores all meshes with this number of devices; returns the recipes.
    fn any(&mut self, devices: i64) -> Vec<Recipe> {
        let roles = self.survey.roles.len();
        let all: Vec<(Option<usize>, bool)> = (0..roles).flat_map(|role| self.uses(role)).collect();
        self.look(all.iter().map(|&u| self.candidate(&[(u, devices)])).collect());
        // Two axes: try every pair of uses, at first with about equal sizes.
        let half = divisors(devices).filter(|d| d * d >= devices).min().unwrap_or(devices);
        let mut pairs = Vec::new();
        for (i, &first) in all.iter().enumerate() {
            for &second in &all[i + 1..] {
                let sizes = if half * half == devices { vec![half] } else { vec![half, devices / half] };
                pairs.extend(
                    sizes
                        .into_iter()
                        .filter(|&s| s > 1 && s < devices)
                        .map(|size| self.candidate(&[(first, size), (second, devices / size)])),
                );
            }
        }
        let mut best = self.look(pairs);
        best.truncate(BEAM);
        let other = best.iter().flat_map(|(c, _)| self.sizes(c, devices)).collect();
        best.extend(self.look(other));
        self.sort(&mut best);
        // Three axes: divide one axis of a pair.
        for count in 2..AXES {
            let mut next = Vec::new();
            for (candidate, _) in best.iter().filter(|c| c.0.axes.len() == count).take(BEAM) {
                for a in 0..count {
                    let size = candidate.axes[a].size;
                    for part in divisors(size).filter(|&d| d > 1 && d < size) {
                        for &added in all.iter().filter(|u| !candidate.axes.iter().any(|x| (x.role, x.stores) == **u)) {
                            let mut axes: Vec<_> =
                                candidate.axes.iter().map(|x| ((x.role, x.stores), x.size)).collect();
                            axes[a].1 = size / part;
                            axes.push((added, part));
                            next.push(self.candidate(&axes));
                        }
                    }
                }
            }
            best.extend(self.look(next));
            self.sort(&mut best);
        }
        self.recipes()
    }

    /// Explores one mesh: axes get their roles one after the other, and only the best candidates continue.
    fn given(&mut self, axes: &[(String, i64)]) -> Vec<Recipe> {
        let idle = |(name, size): &(String, i64)| Axis {
            name: name.clone(),
            size: *size,
            role: None,
            stores: false,
            part: None,
        };
        let start = Candidate { axes: axes.iter().map(idle).collect(), ..Candidate::default() };
        let mut beam = vec![start.clone()];
        beam.extend(self.look(vec![start]).into_iter().map(|c| c.0));
        let all: Vec<(Option<usize>, bool)> = (0..self.survey.roles.len()).flat_map(|role| self.uses(role)).collect();
        for _ in 0..axes.len() {
            let mut next = Vec::new();
            for candidate in &beam {
                for a in (0..axes.len()).filter(|&a| candidate.axes[a].role.is_none() && axes[a].1 > 1) {
                    for &(role, stores) in &all {
                        let mut changed = candidate.clone();
                        (changed.axes[a].role, changed.axes[a].stores) = (role, stores);
                        next.push(changed);
                    }
                }
            }
            beam = self.look(next).into_iter().map(|c| c.0).take(BEAM).collect();
        }
        self.parts(&all);
        self.recipes()
    }

    /// Explores the best candidates with an axis divided into parts of different uses.
    fn parts(&mut self, all: &[(Option<usize>, bool)]) {
        loop {
            let mut best = self.seen.clone();
            self.sort(&mut best);
            best.truncate(BEAM);
            let mut next = Vec::new();
            for candidate in best.iter().map(|c| &c.0).filter(|c| c.axes.len() < AXES) {
                // An axis may be too large for the dimension that it shards, so one part may be unused. More than one
                // unused part isn't tried.
                let idle = (None, false);
                let idles = !candidate.axes.iter().any(|axis| axis.part.is_some() || axis.does() == idle);
                for (a, axis) in candidate.axes.iter().enumerate() {
                    let own = axis.does();
                    // Start with about equal parts in one order.
                    let half = divisors(axis.size).find(|d| d * d >= axis.size).filter(|&d| d < axis.size);
                    for &other in all.iter().chain(idles.then_some(&idle)).filter(|&&other| other != own) {
                        let axes = half.map(|major| axis::divided(&candidate.axes, a, major, [own, other]));
                        next.extend(axes.map(|axes| Candidate { axes, ..candidate.clone() }));
                    }
                }
            }
            let found = self.look(next);
            let others = found.iter().take(BEAM).flat_map(|(c, _)| self.other_parts(c)).collect();
            self.look(others);
            if found.is_empty() {
                break;
            }
        }
    }

    /// Returns the candidate with a factor moved between two parts of one axis, with their uses exchanged, or with both
    /// changes.
    fn other_parts(&self, candidate: &Candidate) -> Vec<Candidate> {
        let mut list = Vec::new();
        let exchanged = |axes: &[Axis], a: usize| {
            let mut axes = axes.to_vec();
            let (first, second) = (axes[a].does(), axes[a + 1].does());
            (axes[a].role, axes[a].stores) = second;
            (axes[a + 1].role, axes[a + 1].stores) = first;
            axes
        };
        for a in 0..candidate.axes.len().saturating_sub(1) {
            let (one, next) = (&candidate.axes[a], &candidate.axes[a + 1]);
            if one.part.is_none() || one.whole() != next.whole() {
                continue;
            }
            let mut sizes = vec![candidate.axes.clone()];
            for (from_minor, size) in [(true, next.size), (false, one.size)] {
                let factors = divisors(size).filter(|&factor| factor > 1);
                sizes.extend(factors.filter_map(|factor| axis::moved(&candidate.axes, a, from_minor, factor)));
            }
            list.extend(sizes.iter().map(|axes| exchanged(axes, a)));
            list.extend(sizes);
        }
        list.into_iter().map(|axes| Candidate { axes, ..candidate.clone() }).collect()
    }

    /// Returns a candidate with these uses and sizes. Axes are named after their uses, and axes of data come first.
    fn candidate(&self, axes: &[((Option<usize>, bool), i64)]) -> Candidate {
        let mut axes: Vec<_> = axes.iter().filter(|axis| axis.1 > 1).copied().collect();
        axes.sort_by_key(|&((role, stores), _)| (role.map(|r| (self.survey.roles[r].kind, r)), stores));
        let mut named: Vec<Axis> = Vec::new();
        for ((role, stores), size) in axes {
            let kind = role.map_or("unused", |role| self.survey.roles[role].kind.text());
            let same = |name: &String| named.iter().any(|axis| axis.name == *name);
            let numbered = (2..).map(|n| format!("{kind}{n}"));
            let name = std::iter::once(kind.to_owned()).chain(numbered).find(|name| !same(name)).unwrap_or_default();
            named.push(Axis { name, size, role, stores, part: None });
        }
        Candidate { axes: named, ..Candidate::default() }
    }

    /// Returns the candidate with a factor of at most `most` moved from one axis to another.
    fn sizes(&self, candidate: &Candidate, most: i64) -> Vec<Candidate> {
        let mut list = Vec::new();
        let count = candidate.axes.len();
        for (from, to) in (0..count).flat_map(|a| (0..count).map(move |b| (a, b))).filter(|(a, b)| a != b) {
            for part in
                divisors(candidate.axes[from].size).skip(1).filter(|&d| d <= most && d < candidate.axes[from].size)
            {
                let mut changed = candidate.clone();
                changed.axes[from].size /= part;
                changed.axes[to].size *= part;
                list.push(changed);
            }
        }
        list
    }

    /// Returns the well-known recipes among the candidates seen, each with its best sizes.
    fn recipes(&mut self) -> Vec<Recipe> {
        let mut seen = self.seen.clone();
        self.sort(&mut seen);
        let does = |candidate: &Candidate, wanted: &[(AxisUse, bool)]| {
            // Megatron shards dimensions inside a layer, not the features that pass from one layer to the next.
            let inside = |role: &Role| !self.survey.main.is_some_and(|main| role.classes.contains(&main));
            let of = |axis: &Axis| {
                let role = &self.survey.roles[axis.role?];
                (role.kind != AxisUse::Model || inside(role)).then_some((role.kind, axis.stores))
            };
            let mut axes: Vec<&Axis> = candidate.axes.iter().filter(|axis| axis.size > 1).collect();
            axes.sort_by_key(|axis| axis.does());
            axes.dedup_by_key(|axis| axis.does());
            let used: Vec<_> = axes.into_iter().map(of).collect();
            used.len() == wanted.len() && wanted.iter().all(|w| used.contains(&Some(*w)))
        };
        let named: [(&str, &[(AxisUse, bool)]); 6] = [
            ("DP", &[(AxisUse::Data, false)]),
            ("FSDP", &[(AxisUse::Data, true)]),
            ("Megatron TP", &[(AxisUse::Model, false)]),
            ("expert parallel", &[(AxisUse::Expert, false)]),
            ("DP x TP", &[(AxisUse::Data, false), (AxisUse::Model, false)]),
            ("FSDP x TP", &[(AxisUse::Data, true), (AxisUse::Model, false)]),
        ];
        let find = |(name, wanted): &(&'static str, &[(AxisUse, bool)])| {
            let found = seen.iter().find(|c| does(&c.0, wanted))?;
            Some(Recipe { name, candidate: found.0.clone() })
        };
        named.iter().filter_map(find).collect()
    }

    /// Plans the best candidates in full, and improves the best of these.
    fn finish(mut self, recipes: Vec<Recipe>) -> Explored {
        let mut seen = std::mem::take(&mut self.seen);
        self.sort(&mut seen);
        let mut finalists: Vec<Candidate> = recipes.iter().map(|recipe| recipe.candidate.clone()).collect();
        // Parts of axes get places of their own, so that they don't displace whole axes.
        let (parts, whole): (Vec<_>, Vec<_>) =
            seen.into_iter().partition(|(c, _)| c.axes.iter().any(|axis| axis.part.is_some()));
        for (candidate, _) in whole.into_iter().take(FINALISTS).chain(parts.into_iter().take(FINALISTS / 2)) {
            if !finalists.contains(&candidate) {
                finalists.push(candidate);
            }
        }
        let mut ranked = self.plan(finalists);
        for _ in 0..ROUNDS {
            let Some((best, measure)) = ranked.first().cloned() else { break };
            if self.trial.is_over(Effort::Full) {
                self.trial.cut = true;
                break;
            }
            let mut changed = self.changes(&best);
            changed.retain(|candidate| !ranked.iter().any(|(other, _)| other == candidate));
            ranked.extend(self.plan(changed));
            self.sort(&mut ranked);
            if !ranked[0].1.beats(&measure, self.memory) {
                break;
            }
        }
        self.pin(&mut ranked);
        let recipes = recipes.into_iter().filter(|recipe| ranked.iter().any(|(c, _)| *c == recipe.candidate)).collect();
        Explored { ranked, recipes }
    }

    fn plan(&mut self, candidates: Vec<Candidate>) -> Vec<(Candidate, Measure)> {
        let measures = self.trial.all(&candidates, Effort::Full);
        let mut found: Vec<_> = candidates.into_iter().zip(measures).filter_map(|(c, m)| Some((c, m?))).collect();
        self.sort(&mut found);
        if let Some((_, best)) = found.first()
            && self.trial.progress.best_s().is_none_or(|known| best.step < known)
        {
            self.trial.progress.found(best.step);
        }
        found
    }

    /// Returns candidates that differ in one property.
    fn changes(&self, candidate: &Candidate) -> Vec<Candidate> {
        // Of the sizes, only the nearest are tried.
        let mut list = match self.resizes {
            true => self.sizes(candidate, divisors(candidate.devices()).nth(1).unwrap_or(1)),
            false => Vec::new(),
        };
        for a in 0..candidate.axes.len() {
            let Some(role) = candidate.axes[a].role else { continue };
            for (other, stores) in self.uses(role).filter(|u| u.1 != candidate.axes[a].stores) {
                let mut changed = candidate.clone();
                (changed.axes[a].role, changed.axes[a].stores) = (other, stores);
                list.push(changed);
            }
        }
        for (a, from_minor) in (0..candidate.axes.len()).flat_map(|a| [(a, true), (a, false)]) {
            let size = candidate.axes.get(a + usize::from(from_minor)).map_or(1, |axis| axis.size);
            let factor = divisors(size).nth(1).unwrap_or(1);
            if factor > 1
                && let Some(axes) = axis::moved(&candidate.axes, a, from_minor, factor)
            {
                list.push(Candidate { axes, ..candidate.clone() });
            }
        }
        // Arguments with the same type and classes are decided together.
        let mut groups: Vec<Vec<usize>> = Vec::new();
        let arguments = &self.survey.arguments;
        for i in (0..arguments.len()).filter(|&i| !arguments[i].fixed && arguments[i].is_stored) {
            let like = |group: &&mut Vec<usize>| {
                let (a, b) = (&arguments[group[0]], &arguments[i]);
                (&a.shape, &a.classes) == (&b.shape, &b.classes)
            };
            match groups.iter_mut().find(like) {
                Some(group) => group.push(i),
                None => groups.push(vec![i]),
            }
        }
        for group in groups {
            let placed = candidate.argument(self.survey, group[0]);
            for a in 0..candidate.axes.len() {
                let mut changed = candidate.clone();
                if placed.iter().flatten().any(|&axis| axis == a) {
                    changed.without.extend(group.iter().map(|&i| (i, a)));
                } else {
                    changed.without.retain(|&(i, axis)| axis != a || !group.contains(&i));
                }
                changed.without.sort_unstable();
                if changed != *candidate {
                    list.push(changed);
                }
            }
        }
        list
    }
}

/// Returns the divisors of a number in ascending order.
fn divisors(n: i64) -> impl Iterator<Item = i64> {
    (1..=n).filter(move |d| n % d == 0)
}
