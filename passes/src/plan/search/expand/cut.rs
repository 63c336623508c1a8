//! Minimum cuts: the cheapest yes or no for many questions at once, where a pair may cost more when its answers differ.
//!
//! Dinic's algorithm on residual graphs (E. A. Dinic, 1970); the costs of answers become capacities as in V. Kolmogorov
//! and R. Zabih, "What energy functions can be minimized via graph cuts?", 2004.

use dialect::define_id;

/// After this many phases the search gives up, and every answer is no.
const MAX_PHASES: usize = 200;
const NEVER: u64 = u64::MAX / 4;
const YES: u32 = 0;
const NO: u32 = 1;
/// The node of the first question.
const FIRST: usize = 2;

define_id!(
    /// A question to be answered yes or no: the number of its node, since a cut is all about nodes by number.
    pub(super) Question, "question"
);

impl Question {
    /// The question of this number, of those that a cut begins with.
    pub(super) fn number(number: usize) -> Self {
        Self::new(FIRST + number)
    }

    fn node(self) -> u32 {
        self.index() as u32
    }
}

/// One direction of an edge.
#[derive(Clone, Copy)]
struct Arc {
    to: u32,
    /// The index of its reverse.
    back: u32,
    left: u64,
}

/// The edges as a residual graph: the arcs that leave a node are adjacent, those of later edges first, since walking
/// them takes nearly all the time.
struct Residual {
    arcs: Vec<Arc>,
    /// Index of each node's first arc; one more entry for the end.
    first: Vec<u32>,
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
        Self { edges: Vec::with_capacity(4 * questions), more: vec![0; FIRST + questions] }
    }

    pub(super) fn question(&mut self) -> Question {
        self.more.push(0);
        Question::new(self.more.len() - 1)
    }

    fn edge(&mut self, from: u32, to: u32, capacity: u64) {
        if capacity > 0 {
            self.edges.push((from, to, capacity));
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
        self.edge(b.node(), a.node(), picoseconds((-missing).max(0.0)));
    }

    /// A yes for `a` forces a yes for `b`.
    pub(super) fn implies(&mut self, a: Question, b: Question) {
        self.edge(a.node(), b.node(), NEVER);
    }

    /// The cheapest answers, of equally cheap ones those with the fewest yeses, and by how many seconds they are cheaper
    /// than no to all. All no where they are cheaper by less than `worth` seconds.
    pub(super) fn solve(mut self, worth: f64) -> (Vec<bool>, f64) {
        let nodes = self.more.len();
        for q in FIRST as u32..nodes as u32 {
            let more = self.more[q as usize];
            if more > 0 { self.edge(q, NO, more as u64) } else { self.edge(YES, q, more.unsigned_abs()) }
        }
        let mut residual = Residual::new(nodes, &self.edges);
        let (mut levels, mut queue) = (vec![0u32; nodes], Vec::with_capacity(nodes));
        for _ in 0..MAX_PHASES {
            if !residual.level(&mut levels, &mut queue) {
                return (levels[FIRST..].iter().map(|&l| l > 0).collect(), residual.gain());
            }
            residual.block(&levels);
            if residual.gain() < worth {
                break;
            }
        }
        (vec![false; nodes - FIRST], 0.0)
    }
}

impl Residual {
    fn new(nodes: usize, edges: &[(u32, u32, u64)]) -> Self {
        let mut first = vec![0u32; nodes + 1];
        for &(from, to, _) in edges {
            first[from as usize + 1] += 1;
            first[to as usize + 1] += 1;
        }
        for node in 0..nodes {
            first[node + 1] += first[node];
        }
        let mut at = first.clone();
        let mut place = |node: u32| {
            let place = at[node as usize];
            at[node as usize] += 1;
            place
        };
        let mut arcs = vec![Arc { to: 0, back: 0, left: 0 }; 2 * edges.len()];
        for &(from, to, left) in edges.iter().rev() {
            let (forth, back) = (place(from), place(to));
            arcs[forth as usize] = Arc { to, back, left };
            arcs[back as usize] = Arc { to: from, back: forth, left: 0 };
        }
        Self { arcs, first }
    }

    /// The distance of nodes from yes, 0 for those not reached; returns whether no can be reached. Nodes at least as
    /// far away as no are on no shortest path and aren't visited.
    fn level(&self, levels: &mut [u32], queue: &mut Vec<u32>) -> bool {
        levels.fill(0);
        levels[YES as usize] = 1;
        queue.clear();
        queue.push(YES);
        let mut done = 0;
        while let Some(&at) = queue.get(done) {
            done += 1;
            let next = levels[at as usize] + 1;
            for arc in &self.arcs[self.first[at as usize] as usize..self.first[at as usize + 1] as usize] {
                if arc.left > 0 && levels[arc.to as usize] == 0 {
                    levels[arc.to as usize] = next;
                    if arc.to == NO {
                        return true;
                    }
                    queue.push(arc.to);
                }
            }
        }
        false
    }

    /// The most seconds that the cheapest answers can save, exactly what they do once nothing more flows: what is left of
    /// the arcs from [`YES`].
    fn gain(&self) -> f64 {
        let arcs = self.first[YES as usize] as usize..self.first[YES as usize + 1] as usize;
        self.arcs[arcs].iter().map(|arc| arc.left).fold(0, u64::saturating_add) as f64 * 1e-12
    }

    /// Saturates all shortest paths (a blocking flow).
    fn block(&mut self, levels: &[u32]) {
        let mut next = self.first.clone();
        let mut path: Vec<u32> = Vec::new();
        let mut at = YES;
        loop {
            if at == NO {
                let flow = path.iter().map(|&a| self.arcs[a as usize].left).min().unwrap_or(0);
                let mut kept = path.len();
                for (i, &a) in path.iter().enumerate().rev() {
                    let back = self.arcs[a as usize].back;
                    self.arcs[a as usize].left -= flow;
                    self.arcs[back as usize].left += flow;
                    if self.arcs[a as usize].left == 0 {
                        kept = i;
                    }
                }
                path.truncate(kept);
                at = path.last().map_or(YES, |&a| self.arcs[a as usize].to);
                continue;
            }
            let (wanted, end) = (levels[at as usize] + 1, self.first[at as usize + 1]);
            let arcs = &self.arcs[next[at as usize] as usize..end as usize];
            if let Some(skipped) = arcs.iter().position(|a| a.left > 0 && levels[a.to as usize] == wanted) {
                let arc = next[at as usize] + skipped as u32;
                next[at as usize] = arc;
                path.push(arc);
                at = self.arcs[arc as usize].to;
                continue;
            }
            // A dead end.
            next[at as usize] = end;
            let Some(back) = path.pop() else { return };
            at = self.arcs[self.arcs[back as usize].back as usize].to;
            next[at as usize] = back + 1;
        }
    }
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
