//! Minimum cuts: the cheapest yes or no for many questions at once, where a pair may cost more when its answers differ.
//!
//! The costs of answers become capacities as in V. Kolmogorov and R. Zabih, "What energy functions can be minimized via graph
//! cuts?", 2004. The flow is found as in Y. Boykov and V. Kolmogorov, "An experimental comparison of min-cut/max-flow
//! algorithms for energy minimization in vision", 2004: layers of a model make long chains, along which two trees, from yes and
//! from no, grow towards each other once, where Dinic's algorithm would begin anew for each length of a path.

use std::collections::VecDeque;

use dialect::define_id;

/// After so many paths for each question the search gives up, and every answer is no.
const MAX_PATHS: usize = 200;
const NEVER: u64 = u64::MAX / 4;

define_id!(
    /// A question to be answered yes or no.
    pub(super) Question, "question"
);

impl Question {
    /// The question of this number, of those that a cut begins with.
    pub(super) fn number(number: usize) -> Self {
        Self::new(number)
    }

    fn node(self) -> u32 {
        self.index() as u32
    }
}

/// Questions and the costs of their answers, in seconds.
pub(super) struct Cut {
    /// From, to, capacity.
    edges: Vec<(u32, u32, u64)>,
    /// How much more each yes costs than a no, in picoseconds.
    more: Vec<i64>,
}

impl Cut {
    /// With so many questions, [`Question::number`]ed from 0 on.
    pub(super) fn new(questions: usize) -> Self {
        Self { edges: Vec::with_capacity(4 * questions), more: vec![0; questions] }
    }

    pub(super) fn question(&mut self) -> Question {
        self.more.push(0);
        Question::new(self.more.len() - 1)
    }

    fn edge(&mut self, from: Question, to: Question, capacity: u64) {
        if capacity > 0 {
            self.edges.push((from.node(), to.node(), capacity));
        }
    }

    /// A yes costs `seconds` more than a no.
    pub(super) fn yes_costs(&mut self, q: Question, seconds: f64) {
        let capacity = picoseconds(seconds.abs()) as i64;
        let more = &mut self.more[q.index()];
        *more = more.saturating_add(if seconds > 0.0 { capacity } else { -capacity });
    }

    /// Answers `a` and `b` (0 is no, 1 is yes) cost `table[a][b]` together. Where differing answers are cheaper than
    /// equal ones, which a cut can't express, their cost is raised.
    pub(super) fn pair(&mut self, a: Question, b: Question, mut table: [[f64; 2]; 2]) {
        let missing = table[0][0] + table[1][1] - table[0][1] - table[1][0];
        if missing > 0.0 {
            table[0][1] += missing / 2.0;
            table[1][0] += missing / 2.0;
        }
        self.yes_costs(a, table[1][0] - table[0][0]);
        self.yes_costs(b, table[1][1] - table[1][0]);
        self.edge(b, a, picoseconds((-missing).max(0.0)));
    }

    /// A yes for `a` forces a yes for `b`.
    pub(super) fn implies(&mut self, a: Question, b: Question) {
        self.edge(a, b, NEVER);
    }

    /// The cheapest answers, of equally cheap ones those with the fewest yeses, and by how many seconds they are cheaper
    /// than no to all. All no where they are cheaper by less than `worth` seconds.
    pub(super) fn solve(self, worth: f64) -> (Vec<bool>, f64) {
        let questions = self.more.len();
        let gain = self
            .more
            .iter()
            .filter(|more| **more < 0)
            .fold(0, |sum: u64, more| sum.saturating_add(more.unsigned_abs()));
        let mut flow = Flow::new(self, gain);
        match seconds(gain) >= worth && flow.run(worth) {
            true => (flow.side.iter().map(|&side| side == Side::Yes).collect(), seconds(flow.gain)),
            false => (vec![false; questions], 0.0),
        }
    }
}

/// The tree a question is in: one grows from yes, one from no. In the end the first has all questions whose answer is yes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Side {
    Neither,
    Yes,
    No,
}

/// One direction of an edge.
#[derive(Clone, Copy)]
struct Arc {
    to: u32,
    /// The index of its reverse.
    back: u32,
    /// What may still flow.
    left: u64,
}

/// Instead of the arc to a parent: the parent is yes or no itself; there is none.
const ROOT: u32 = u32::MAX;
const ORPHAN: u32 = u32::MAX - 1;

/// A flow from yes to no through questions, and what more may flow.
struct Flow {
    /// The arcs that leave a question are adjacent.
    arcs: Vec<Arc>,
    /// Index of each question's first arc; one more entry for the end.
    first: Vec<u32>,
    /// What may still flow from yes to each question, or, below 0, from it to no.
    rest: Vec<i64>,
    side: Vec<Side>,
    /// The arc from each question to the parent in its tree, or [`ROOT`] or [`ORPHAN`].
    parent: Vec<u32>,
    /// How many arcs each question is away from its root, as far as known when `checked`.
    distance: Vec<u32>,
    checked: Vec<u32>,
    time: u32,
    /// Questions whose trees may grow from them.
    active: VecDeque<u32>,
    is_active: Vec<bool>,
    orphans: Vec<u32>,
    /// The most that the cheapest answers can save, exactly what they do once nothing more flows: what is left of the flow
    /// from yes.
    gain: u64,
}

impl Flow {
    fn new(cut: Cut, gain: u64) -> Self {
        let Cut { edges, more } = cut;
        let questions = more.len();
        let mut first = vec![0u32; questions + 1];
        for &(from, to, _) in &edges {
            first[from as usize + 1] += 1;
            first[to as usize + 1] += 1;
        }
        for question in 0..questions {
            first[question + 1] += first[question];
        }
        let mut at = first.clone();
        let mut place = |question: u32| {
            let place = at[question as usize];
            at[question as usize] += 1;
            place
        };
        let mut arcs = vec![Arc { to: 0, back: 0, left: 0 }; 2 * edges.len()];
        for (from, to, left) in edges {
            let (forth, back) = (place(from), place(to));
            arcs[forth as usize] = Arc { to, back, left };
            arcs[back as usize] = Arc { to: from, back: forth, left: 0 };
        }
        let rest: Vec<i64> = more.iter().map(|more| more.saturating_neg()).collect();
        let side: Vec<Side> = rest
            .iter()
            .map(|rest| match rest.signum() {
                1 => Side::Yes,
                -1 => Side::No,
                _ => Side::Neither,
            })
            .collect();
        let active: VecDeque<u32> = (0..questions as u32).filter(|&q| rest[q as usize] != 0).collect();
        Self {
            arcs,
            first,
            is_active: rest.iter().map(|rest| *rest != 0).collect(),
            parent: side.iter().map(|side| if *side == Side::Neither { ORPHAN } else { ROOT }).collect(),
            rest,
            side,
            distance: vec![1; questions],
            checked: vec![0; questions],
            time: 0,
            active,
            orphans: Vec::new(),
            gain,
        }
    }

    fn arcs_of(&self, question: u32) -> std::ops::Range<usize> {
        self.first[question as usize] as usize..self.first[question as usize + 1] as usize
    }

    /// What may still flow along an arc away from yes: along it in the tree of yes, against it in that of no.
    fn left(&self, arc: usize, side: Side) -> u64 {
        let arc = if side == Side::Yes { arc } else { self.arcs[arc].back as usize };
        self.arcs[arc].left
    }

    fn activate(&mut self, question: u32) {
        if !std::mem::replace(&mut self.is_active[question as usize], true) {
            self.active.push_back(question);
        }
    }

    /// Lets all flow that can; false where the answers can't save `worth` seconds, or too many paths were found.
    fn run(&mut self, worth: f64) -> bool {
        let mut paths = MAX_PATHS * self.rest.len();
        while let Some(&question) = self.active.front() {
            if let Some(bridge) = self.grow(question) {
                self.augment(bridge);
                if paths == 0 || seconds(self.gain) < worth {
                    return false;
                }
                paths -= 1;
                self.time += 1;
                while let Some(orphan) = self.orphans.pop() {
                    self.adopt(orphan);
                }
                // The same question may reach more, unless it is in no tree now.
                continue;
            }
            self.active.pop_front();
            self.is_active[question as usize] = false;
        }
        true
    }

    /// Adds neighbors of a question to its tree, until one is in the other tree: returns the arc from that of yes to that of
    /// no.
    fn grow(&mut self, question: u32) -> Option<usize> {
        let q = question as usize;
        let side = self.side[q];
        if side == Side::Neither {
            return None;
        }
        for arc in self.arcs_of(question) {
            if self.left(arc, side) == 0 {
                continue;
            }
            let Arc { to, back, .. } = self.arcs[arc];
            let t = to as usize;
            if self.side[t] == Side::Neither {
                self.side[t] = side;
                self.parent[t] = back;
                self.checked[t] = self.checked[q];
                self.distance[t] = self.distance[q] + 1;
                self.activate(to);
            } else if self.side[t] != side {
                return Some(if side == Side::Yes { arc } else { back as usize });
            } else if self.checked[t] <= self.checked[q] && self.distance[t] > self.distance[q] + 1 {
                // Nearer to the root this way.
                self.parent[t] = back;
                self.checked[t] = self.checked[q];
                self.distance[t] = self.distance[q] + 1;
            }
        }
        None
    }

    /// Lets flow as much as can along the path from yes through `bridge` to no.
    fn augment(&mut self, bridge: usize) {
        let ends = [self.arcs[self.arcs[bridge].back as usize].to, self.arcs[bridge].to];
        let sides = [Side::Yes, Side::No];
        let mut most = self.arcs[bridge].left;
        for (end, side) in ends.into_iter().zip(sides) {
            let mut at = end;
            while self.parent[at as usize] != ROOT {
                let arc = self.parent[at as usize] as usize;
                most = most.min(self.left(self.arcs[arc].back as usize, side));
                at = self.arcs[arc].to;
            }
            most = most.min(self.rest[at as usize].unsigned_abs());
        }
        self.arcs[bridge].left -= most;
        let back = self.arcs[bridge].back as usize;
        self.arcs[back].left += most;
        for (end, side) in ends.into_iter().zip(sides) {
            let mut at = end;
            while self.parent[at as usize] != ROOT {
                let arc = self.parent[at as usize] as usize;
                let back = self.arcs[arc].back as usize;
                let [along, against] = if side == Side::Yes { [back, arc] } else { [arc, back] };
                self.arcs[along].left -= most;
                self.arcs[against].left += most;
                if self.arcs[along].left == 0 {
                    self.leave(at);
                }
                at = self.arcs[arc].to;
            }
            let rest = &mut self.rest[at as usize];
            *rest -= rest.signum() * most as i64;
            if *rest == 0 {
                self.leave(at);
            }
        }
        self.gain = self.gain.saturating_sub(most);
    }

    /// Takes the parent away from a question.
    fn leave(&mut self, question: u32) {
        self.parent[question as usize] = ORPHAN;
        self.orphans.push(question);
    }

    /// Finds another parent for a question in its tree, or takes it out of the tree.
    fn adopt(&mut self, orphan: u32) {
        let side = self.side[orphan as usize];
        let mut best: Option<(u32, usize)> = None;
        for arc in self.arcs_of(orphan) {
            let Arc { to, back, .. } = self.arcs[arc];
            if self.side[to as usize] == side
                && self.left(back as usize, side) > 0
                && let Some(distance) = self.distance_of(to)
                && best.is_none_or(|best| distance < best.0)
            {
                best = Some((distance, arc));
            }
        }
        let o = orphan as usize;
        if let Some((distance, arc)) = best {
            self.parent[o] = arc as u32;
            (self.checked[o], self.distance[o]) = (self.time, distance + 1);
            return;
        }
        for arc in self.arcs_of(orphan) {
            let Arc { to, back, .. } = self.arcs[arc];
            let t = to as usize;
            if self.side[t] != side {
                continue;
            }
            if self.left(back as usize, side) > 0 {
                self.activate(to);
            }
            if self.parent[t] == back {
                self.leave(to);
            }
        }
        self.side[o] = Side::Neither;
    }

    /// How many arcs a question is away from the root of its tree; `None` where the way ends at an orphan.
    fn distance_of(&mut self, question: u32) -> Option<u32> {
        let (mut at, mut passed) = (question, 0);
        let known = loop {
            let a = at as usize;
            if self.checked[a] == self.time {
                break self.distance[a];
            }
            match self.parent[a] {
                ROOT => {
                    (self.checked[a], self.distance[a]) = (self.time, 1);
                    break 1;
                }
                ORPHAN => return None,
                arc => at = self.arcs[arc as usize].to,
            }
            passed += 1;
        };
        // What was passed on the way is known from now on, too.
        let mut at = question;
        for distance in (known + 1..=known + passed).rev() {
            (self.checked[at as usize], self.distance[at as usize]) = (self.time, distance);
            at = self.arcs[self.parent[at as usize] as usize].to;
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
        // All tables of small costs that favor equal answers, compared with exhaustive search.
        let mut random = fastrand::Rng::with_seed(1);
        let mut draw = |n: u64| random.u64(..n);
        for _ in 0..500 {
            let n = 2 + draw(5) as usize;
            let single: Vec<f64> = (0..n).map(|_| draw(9) as f64 - 4.0).collect();
            let mut pairs: Vec<(usize, usize, [[f64; 2]; 2])> = Vec::new();
            for _ in 0..draw(8) {
                let (a, b) = (draw(n as u64) as usize, draw(n as u64) as usize);
                let (x, y, z) = (draw(4) as f64, draw(4) as f64, draw(4) as f64);
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
            let mut cut = Cut::new(0);
            let questions: Vec<Question> = (0..n).map(|_| cut.question()).collect();
            questions.iter().zip(&single).for_each(|(&q, &s)| cut.yes_costs(q, s));
            pairs.iter().for_each(|&(a, b, t)| cut.pair(questions[a], questions[b], t));
            cut.implies(questions[implied.0], questions[implied.1]);
            let found = cost(&cut.solve(0.0).0);
            let all = (0..1u32 << n).map(|bits| cost(&(0..n).map(|i| bits >> i & 1 == 1).collect::<Vec<_>>()));
            let best = all.fold(f64::INFINITY, f64::min);
            assert!((found - best).abs() < 1e-6, "{found} instead of {best}: {single:?} {pairs:?} {implied:?}");
        }
    }
}
