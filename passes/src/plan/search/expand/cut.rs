//! Minimum cuts: the cheapest yes or no for many questions at once, where a pair may cost more when its answers differ.
//!
//! The costs of answers become capacities as in V. Kolmogorov and R. Zabih, "What energy functions can be minimized via
//! graph cuts?", 2004. The flow is computed as in Y. Boykov and V. Kolmogorov, "An experimental comparison of
//! min-cut/max-flow algorithms for energy minimization in vision", 2004, by a tree that grows from the questions where
//! a yes saves something. Most cuts save little, which the neighboring questions use up. So the costs of a question and
//! of its pairs are computed only when the tree reaches it.

use std::collections::VecDeque;

use crate::plan::heuristics::PLAN;
use dialect::define_id;

const NEVER: u64 = u64::MAX / 4;

define_id!(
    /// A question to be answered yes or no.
    pub(super) Question, "question"
);

impl Question {
    /// Returns the question of this number, among those that a cut begins with.
    pub(super) fn number(number: usize) -> Self {
        Self::new(number)
    }
}

/// Adds the costs of a question to a cut: the cost of a yes, and all pairs that it is in.
pub(super) type Explore<'e> = &'e mut dyn FnMut(&mut Cut, Question);

/// Questions, the costs of their answers, and a flow from questions where a yes saves to questions where it costs.
#[derive(Default)]
pub(super) struct Cut {
    nodes: Vec<Node>,
    /// The number of questions given to `begin`; later ones were added during the cut.
    asked: u32,
    /// The arcs; each arc's reverse is next to it (index xor 1).
    arcs: Vec<Arc>,
    time: u32,
    /// Questions from which the tree may grow.
    active: VecDeque<u32>,
    orphans: Vec<u32>,
    /// An upper bound on the savings of the cheapest answers, in picoseconds: the rest of the savings of single
    /// answers.
    gain: u64,
}

/// A question.
#[derive(Clone, Copy)]
struct Node {
    /// Whether its costs have been added.
    known: bool,
    /// If positive, the remaining savings of a yes, in picoseconds, which haven't flowed yet; if negative, the
    /// remaining cost, which may still take flow.
    rest: i64,
    /// The arc that was added last, or [`NONE`].
    arcs: u32,
    in_tree: bool,
    /// The arc to the parent in the tree, or [`ROOT`].
    parent: u32,
    /// The number of arcs to its root, as known when `checked`.
    distance: u32,
    checked: u32,
    is_active: bool,
}

/// One direction of an edge.
#[derive(Clone, Copy)]
struct Arc {
    to: u32,
    /// The next arc of the same question, or [`NONE`].
    next: u32,
    /// The remaining capacity.
    left: u64,
}

const NONE: u32 = u32::MAX;
/// Instead of the arc to a parent: `ROOT` if a yes saves something by itself, `ORPHAN` if the parent is lost.
const ROOT: u32 = u32::MAX;
const ORPHAN: u32 = u32::MAX - 1;

impl Node {
    fn new(known: bool) -> Self {
        Self { known, rest: 0, arcs: NONE, in_tree: false, parent: ORPHAN, distance: 1, checked: 0, is_active: false }
    }
}

impl Cut {
    /// Begins another cut with this many questions, [`Question::number`]ed from 0 on, without costs. Reuses the memory
    /// of the previous cut.
    pub(super) fn begin(&mut self, questions: usize) {
        self.asked = questions as u32;
        self.nodes.clear();
        self.nodes.resize(questions, Node::new(false));
        self.arcs.clear();
        self.active.clear();
        self.orphans.clear();
        (self.time, self.gain) = (0, 0);
    }

    /// Adds a question whose costs are known from the start.
    pub(super) fn question(&mut self) -> Question {
        self.nodes.push(Node::new(true));
        Question::new(self.nodes.len() - 1)
    }

    /// Returns whether a yes saves something by the costs added so far.
    pub(super) fn yes_saves(&self, q: Question) -> bool {
        self.nodes[q.index()].rest > 0
    }

    /// Adds `seconds` to the cost of a yes over a no.
    pub(super) fn yes_costs(&mut self, q: Question, seconds: f64) {
        let capacity = picoseconds(seconds.abs()) as i64;
        let rest = &mut self.nodes[q.index()].rest;
        *rest = rest.saturating_sub(if seconds > 0.0 { capacity } else { -capacity });
    }

    /// Adds the cost `table[a][b]` of answers `a` and `b` (0 is no, 1 is yes) together. A cut can't express that
    /// differing answers are cheaper than equal ones; then their cost is raised.
    pub(super) fn pair(&mut self, a: Question, b: Question, mut table: [[f64; 2]; 2]) {
        let missing = table[0][0] + table[1][1] - table[0][1] - table[1][0];
        if missing > 0.0 {
            table[0][1] += missing / 2.0;
            table[1][0] += missing / 2.0;
        }
        // The saving of two yeses over the sum of single yeses goes along the arcs. It is split so that a single yes
        // saves something only if it really does.
        let [[no, right], [left, _]] = table;
        let both = (-missing).max(0.0);
        let of_left = both.min((left - no).max(0.0)).max(both - (right - no).max(0.0)).clamp(0.0, both);
        self.yes_costs(a, left - no - of_left);
        self.yes_costs(b, right - no - (both - of_left));
        self.edge(a, b, picoseconds(of_left), picoseconds(both - of_left));
    }

    /// Makes a yes for `a` force a yes for `b`.
    pub(super) fn implies(&mut self, a: Question, b: Question) {
        self.edge(a, b, NEVER, 0);
    }

    /// Adds the cost `forth` of a yes for `a` with a no for `b`, and `back` of the opposite.
    fn edge(&mut self, a: Question, b: Question, forth: u64, back: u64) {
        if forth == 0 && back == 0 {
            return;
        }
        for (from, to, left) in [(a, b, forth), (b, a, back)] {
            let arc = self.arcs.len() as u32;
            let next = std::mem::replace(&mut self.nodes[from.index()].arcs, arc);
            self.arcs.push(Arc { to: to.index() as u32, next, left });
        }
    }

    /// Returns the questions whose answer is yes in the cheapest answers, in order (of equally cheap answers those with
    /// the fewest yeses), and the seconds saved compared to all no. Returns none if they save less than `worth`
    /// seconds. `begin` must have all questions of which a yes may save something; the known costs of the others must
    /// not be savings.
    pub(super) fn solve(&mut self, begin: &[Question], worth: f64, explore: Explore<'_>) -> (Vec<Question>, f64) {
        begin.iter().for_each(|&q| self.ask(q.index() as u32, explore));
        begin.iter().for_each(|&q| self.plant(q.index() as u32));
        (self.asked..self.nodes.len() as u32).for_each(|q| self.plant(q));
        if !self.run(worth, explore) || seconds(self.gain) < worth {
            return (Vec::new(), 0.0);
        }
        let yeses = self.nodes.iter().enumerate().filter(|n| n.1.in_tree).map(|n| Question::new(n.0));
        (yeses.collect(), seconds(self.gain))
    }

    /// Adds the costs of a question, unless that is done.
    fn ask(&mut self, question: u32, explore: Explore<'_>) {
        if std::mem::replace(&mut self.nodes[question as usize].known, true) {
            return;
        }
        explore(self, Question::new(question as usize));
    }

    /// Starts a tree at a question if a yes saves something by itself.
    fn plant(&mut self, question: u32) {
        let node = &mut self.nodes[question as usize];
        if node.known && node.rest > 0 && !node.in_tree {
            (node.in_tree, node.parent) = (true, ROOT);
            (node.checked, node.distance) = (self.time, 1);
            self.gain = self.gain.saturating_add(node.rest.unsigned_abs());
            self.activate(question);
        }
    }

    fn activate(&mut self, question: u32) {
        if !std::mem::replace(&mut self.nodes[question as usize].is_active, true) {
            self.active.push_back(question);
        }
    }

    /// Pushes all possible flow; returns false where the answers can't save `worth` seconds, or after too many paths.
    fn run(&mut self, worth: f64, explore: Explore<'_>) -> bool {
        let mut paths = PLAN.max_paths * self.nodes.len();
        while let Some(&question) = self.active.front() {
            if paths == 0 || seconds(self.gain) < worth {
                return false;
            }
            if let Some(bridge) = self.grow(question, explore) {
                self.augment(bridge);
                paths -= 1;
                self.time += 1;
                while let Some(orphan) = self.orphans.pop() {
                    self.adopt(orphan);
                }
                // The same question may reach more, unless it left the tree.
                continue;
            }
            self.active.pop_front();
            self.nodes[question as usize].is_active = false;
        }
        true
    }

    /// Adds neighbors of a question to the tree until a yes to one costs something; returns the arc to that neighbor.
    fn grow(&mut self, question: u32, explore: Explore<'_>) -> Option<u32> {
        dialect::interrupt::check();
        let q = question as usize;
        if !self.nodes[q].in_tree {
            return None;
        }
        let mut next = self.nodes[q].arcs;
        while next != NONE {
            let arc = next;
            let Arc { to, left, .. } = self.arcs[arc as usize];
            next = self.arcs[arc as usize].next;
            if left == 0 {
                continue;
            }
            let t = to as usize;
            if !self.nodes[t].known {
                let before = self.nodes.len() as u32;
                self.ask(to, explore);
                (before..self.nodes.len() as u32).for_each(|new| self.plant(new));
                self.plant(to);
            }
            let Node { checked, distance, .. } = self.nodes[q];
            let node = &mut self.nodes[t];
            if node.rest < 0 {
                return Some(arc);
            }
            if !node.in_tree {
                (node.in_tree, node.parent, node.checked, node.distance) = (true, arc ^ 1, checked, distance + 1);
                self.activate(to);
            } else if node.parent != ROOT && node.checked <= checked && node.distance > distance + 1 {
                // The path to the root is shorter this way.
                (node.parent, node.checked, node.distance) = (arc ^ 1, checked, distance + 1);
            }
        }
        None
    }

    /// Pushes as much flow as possible along the path from a root to the end of `bridge`.
    fn augment(&mut self, bridge: u32) {
        let to = self.arcs[bridge as usize].to as usize;
        let begin = self.arcs[bridge as usize ^ 1].to;
        let mut most = self.arcs[bridge as usize].left.min(self.nodes[to].rest.unsigned_abs());
        let mut at = begin;
        while self.nodes[at as usize].parent != ROOT {
            let arc = self.nodes[at as usize].parent as usize;
            most = most.min(self.arcs[arc ^ 1].left);
            at = self.arcs[arc].to;
        }
        most = most.min(self.nodes[at as usize].rest.unsigned_abs());
        self.arcs[bridge as usize].left -= most;
        self.arcs[bridge as usize ^ 1].left += most;
        self.nodes[to].rest += most as i64;
        let mut at = begin;
        while self.nodes[at as usize].parent != ROOT {
            let arc = self.nodes[at as usize].parent as usize;
            self.arcs[arc ^ 1].left -= most;
            self.arcs[arc].left += most;
            if self.arcs[arc ^ 1].left == 0 {
                self.leave(at);
            }
            at = self.arcs[arc].to;
        }
        let root = &mut self.nodes[at as usize];
        root.rest -= most as i64;
        if root.rest == 0 {
            self.leave(at);
        }
        self.gain = self.gain.saturating_sub(most);
    }

    /// Removes the parent of a question.
    fn leave(&mut self, question: u32) {
        self.nodes[question as usize].parent = ORPHAN;
        self.orphans.push(question);
    }

    /// Finds another parent for a question in the tree, or removes it from the tree.
    fn adopt(&mut self, orphan: u32) {
        let o = orphan as usize;
        let mut best: Option<(u32, u32)> = None;
        let mut next = self.nodes[o].arcs;
        while next != NONE {
            let arc = next;
            let to = self.arcs[arc as usize].to;
            next = self.arcs[arc as usize].next;
            if self.nodes[to as usize].in_tree
                && self.arcs[arc as usize ^ 1].left > 0
                && let Some(distance) = self.distance_of(to)
                && best.is_none_or(|best| distance < best.0)
            {
                best = Some((distance, arc));
            }
        }
        if let Some((distance, arc)) = best {
            let node = &mut self.nodes[o];
            (node.parent, node.checked, node.distance) = (arc, self.time, distance + 1);
            return;
        }
        let mut next = self.nodes[o].arcs;
        while next != NONE {
            let arc = next;
            let to = self.arcs[arc as usize].to;
            next = self.arcs[arc as usize].next;
            let Node { in_tree, parent, .. } = self.nodes[to as usize];
            if !in_tree {
                continue;
            }
            if self.arcs[arc as usize ^ 1].left > 0 {
                self.activate(to);
            }
            if parent == arc ^ 1 {
                self.leave(to);
            }
        }
        self.nodes[o].in_tree = false;
    }

    /// Returns the number of arcs between a question and the root of its tree; `None` where the path ends at an orphan.
    fn distance_of(&mut self, question: u32) -> Option<u32> {
        let (mut at, mut passed) = (question, 0);
        let known = loop {
            let node = &mut self.nodes[at as usize];
            if node.checked == self.time {
                break node.distance;
            }
            match node.parent {
                ROOT => {
                    (node.checked, node.distance) = (self.time, 1);
                    break 1;
                }
                ORPHAN => return None,
                arc => at = self.arcs[arc as usize].to,
            }
            passed += 1;
        };
        // Stores the distances of all questions on the path.
        let mut at = question;
        for distance in (known + 1..=known + passed).rev() {
            let node = &mut self.nodes[at as usize];
            (node.checked, node.distance) = (self.time, distance);
            at = self.arcs[node.parent as usize].to;
        }
        Some(known + passed)
    }
}

fn seconds(picoseconds: u64) -> f64 {
    picoseconds as f64 * 1e-12
}

fn picoseconds(seconds: f64) -> u64 {
    (seconds * 1e12).min(NEVER as f64 / 2.0) as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn answers_are_the_cheapest() {
        // Random tables of small costs that favor equal answers, compared with exhaustive search.
        let mut random = fastrand::Rng::with_seed(1);
        let mut draw = |n: u64| random.u64(..n);
        let mut unknown = 0;
        let mut cut = Cut::default();
        for _ in 0..2000 {
            let n = 2 + draw(6) as usize;
            let single: Vec<f64> = (0..n).map(|_| draw(9) as f64 - 3.0).collect();
            let mut pairs: Vec<(usize, usize, [[f64; 2]; 2])> = Vec::new();
            for _ in 0..draw(8) {
                let (a, b) = (draw(n as u64) as usize, draw(n as u64) as usize);
                let (x, y, z) = (draw(4).saturating_sub(1) as f64, draw(4) as f64, draw(4) as f64);
                if a != b {
                    pairs.push((a, b, [[x, x.max(y) + z], [y + z, y]]));
                }
            }
            let implied = (draw(n as u64) as usize, draw(n as u64) as usize);
            let cost = |answers: &[bool]| -> f64 {
                let ones: f64 = single.iter().zip(answers).filter(|s| *s.1).map(|s| s.0).sum();
                let twos = pairs.iter().map(|&(a, b, t)| t[usize::from(answers[a])][usize::from(answers[b])]);
                let broken = answers[implied.0] && !answers[implied.1];
                ones + twos.sum::<f64>() + if broken { 1e6 } else { 0.0 }
            };
            // The costs of a question become known when it is reached, as in a move.
            let mut added = vec![false; pairs.len()];
            let mut explored = 0;
            let mut explore = |cut: &mut Cut, q: Question| {
                explored += 1;
                cut.yes_costs(q, single[q.index()]);
                for (&(a, b, table), added) in pairs.iter().zip(&mut added) {
                    if [a, b].contains(&q.index()) && !std::mem::replace(added, true) {
                        cut.pair(Question::number(a), Question::number(b), table);
                    }
                }
            };
            cut.begin(n);
            cut.implies(Question::number(implied.0), Question::number(implied.1));
            let saves =
                |q: usize| single[q] < 0.0 || pairs.iter().any(|&(a, b, t)| [a, b].contains(&q) && t[0][0] > 0.0);
            let begin: Vec<Question> = (0..n).filter(|&q| saves(q)).map(Question::number).collect();
            let (yeses, gain) = cut.solve(&begin, 0.0, &mut explore);
            unknown += n - explored;
            let found = cost(&(0..n).map(|q| yeses.contains(&Question::number(q))).collect::<Vec<_>>());
            let all = (0..1u32 << n).map(|bits| cost(&(0..n).map(|i| bits >> i & 1 == 1).collect::<Vec<_>>()));
            let best = all.fold(f64::INFINITY, f64::min);
            assert!((found - best).abs() < 1e-6, "{found} instead of {best}: {single:?} {pairs:?} {implied:?}");
            let saved = cost(&vec![false; n]) - found;
            assert!((gain - saved).abs() < 1e-6, "{gain} instead of {saved}: {single:?} {pairs:?} {implied:?}");
        }
        assert!(unknown > 1000, "all questions were explored");
    }

    #[test]
    fn answers_that_save_too_little_are_no() {
        let mut explore = |cut: &mut Cut, q: Question| cut.yes_costs(q, -1.0);
        let begin = [Question::number(0)];
        let mut cut = Cut::default();
        cut.begin(1);
        assert_eq!(cut.solve(&begin, 2.0, &mut explore), (Vec::new(), 0.0));
        cut.begin(1);
        assert_eq!(cut.solve(&begin, 1.0, &mut explore), (begin.to_vec(), 1.0));
    }
}
