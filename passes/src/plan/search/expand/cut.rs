//! Minimum cuts: the cheapest yes or no for many questions at once, where each pair costs more when its answers differ.
//!
//! Dinic's algorithm on residual graphs (E. A. Dinic, 1970); what answers cost is translated to capacities as in
//! V. Kolmogorov and R. Zabih, "What energy functions can be minimized via graph cuts?", 2004.

/// More phases than this are not run; the answer is then no for all.
const MAX_PHASES: usize = 200;
const NEVER: u64 = u64::MAX / 4;
const YES: u32 = 0;
const NO: u32 = 1;

/// A question.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Question(u32);

/// No further arc.
const LAST: u32 = u32::MAX;

struct Arc {
    to: u32,
    /// The next one that leaves the same node.
    next: u32,
    left: u64,
}

/// Questions and what answers cost; costs are in seconds.
pub(super) struct Cut {
    /// Each arc is followed by its reverse.
    arcs: Vec<Arc>,
    /// The first arc that leaves each node.
    first: Vec<u32>,
    /// How much more each yes costs than a no, picoseconds.
    more: Vec<i64>,
}

impl Cut {
    pub(super) fn new() -> Self {
        Self { arcs: Vec::new(), first: vec![LAST; 2], more: vec![0; 2] }
    }

    pub(super) fn question(&mut self) -> Question {
        self.first.push(LAST);
        self.more.push(0);
        Question(self.first.len() as u32 - 1)
    }

    fn arc(&mut self, from: u32, to: u32, capacity: u64) {
        if capacity == 0 {
            return;
        }
        for (from, to, left) in [(from, to, capacity), (to, from, 0)] {
            let next = std::mem::replace(&mut self.first[from as usize], self.arcs.len() as u32);
            self.arcs.push(Arc { to, next, left });
        }
    }

    /// `seconds` more for a yes than for a no.
    pub(super) fn yes_costs(&mut self, q: Question, seconds: f64) {
        let capacity = picoseconds(seconds.abs()) as i64;
        let more = &mut self.more[q.0 as usize];
        *more = more.saturating_add(if seconds > 0.0 { capacity } else { -capacity });
    }

    /// `table[a][b]` for answers `a` and `b` (0 is no, 1 is yes). Where differing answers are cheaper than equal ones
    /// they are taken to cost more than they do.
    pub(super) fn pair(&mut self, a: Question, b: Question, mut table: [[f64; 2]; 2]) {
        let missing = table[0][0] + table[1][1] - table[0][1] - table[1][0];
        if missing > 0.0 {
            table[0][1] += missing / 2.0;
            table[1][0] += missing / 2.0;
        }
        self.yes_costs(a, table[1][0] - table[0][0]);
        self.yes_costs(b, table[1][1] - table[1][0]);
        self.arc(b.0, a.0, picoseconds((-missing).max(0.0)));
    }

    /// A yes for `a` makes one of `b`.
    pub(super) fn implies(&mut self, a: Question, b: Question) {
        self.arc(a.0, b.0, NEVER);
    }

    /// The cheapest answers; of equally cheap ones those with fewest yeses.
    pub(super) fn solve(mut self) -> Vec<bool> {
        for q in 2..self.first.len() as u32 {
            let more = self.more[q as usize];
            if more > 0 { self.arc(q, NO, more as u64) } else { self.arc(YES, q, more.unsigned_abs()) }
        }
        let mut levels = vec![0u32; self.first.len()];
        for _ in 0..MAX_PHASES {
            if !self.level(&mut levels) {
                return levels[2..].iter().map(|&l| l > 0).collect();
            }
            self.block(&levels);
        }
        vec![false; self.first.len() - 2]
    }

    /// How far everything is from yes, 0 for what can't be reached; whether no can be.
    fn level(&self, levels: &mut [u32]) -> bool {
        levels.fill(0);
        levels[YES as usize] = 1;
        // Everything comes into the queue once, so what was taken out may stay in front.
        let mut queue: Vec<u32> = Vec::with_capacity(levels.len());
        queue.push(YES);
        let mut taken = 0;
        while let Some(&at) = queue.get(taken) {
            taken += 1;
            let level = levels[at as usize] + 1;
            let mut arc = self.first[at as usize];
            while arc != LAST {
                let Arc { to, next, left } = self.arcs[arc as usize];
                if left > 0 && levels[to as usize] == 0 {
                    levels[to as usize] = level;
                    queue.push(to);
                }
                arc = next;
            }
        }
        levels[NO as usize] > 0
    }

    /// Fills all shortest paths.
    fn block(&mut self, levels: &[u32]) {
        let mut next = self.first.clone();
        let mut path: Vec<u32> = Vec::new();
        let mut at = YES;
        loop {
            if at == NO {
                let flow = path.iter().map(|&a| self.arcs[a as usize].left).min().unwrap_or(0);
                let mut kept = path.len();
                for (i, &a) in path.iter().enumerate().rev() {
                    self.arcs[a as usize].left -= flow;
                    self.arcs[a as usize ^ 1].left += flow;
                    if self.arcs[a as usize].left == 0 {
                        kept = i;
                    }
                }
                path.truncate(kept);
                at = path.last().map_or(YES, |&a| self.arcs[a as usize].to);
                continue;
            }
            let mut arc = next[at as usize];
            let level = levels[at as usize] + 1;
            let open = |a: &Arc| a.left > 0 && levels[a.to as usize] == level;
            while arc != LAST && !open(&self.arcs[arc as usize]) {
                arc = self.arcs[arc as usize].next;
            }
            next[at as usize] = arc;
            if arc != LAST {
                path.push(arc);
                at = self.arcs[arc as usize].to;
                continue;
            }
            // A dead end.
            let Some(back) = path.pop() else { return };
            at = self.arcs[back as usize ^ 1].to;
            next[at as usize] = self.arcs[back as usize].next;
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
        // All tables of small costs that favor equal answers, against trying everything.
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
            let mut cut = Cut::new();
            let questions: Vec<Question> = (0..n).map(|_| cut.question()).collect();
            questions.iter().zip(&single).for_each(|(&q, &s)| cut.yes_costs(q, s));
            pairs.iter().for_each(|&(a, b, t)| cut.pair(questions[a], questions[b], t));
            cut.implies(questions[implied.0], questions[implied.1]);
            let found = cost(&cut.solve());
            let all = (0..1u32 << n).map(|bits| cost(&(0..n).map(|i| bits >> i & 1 == 1).collect::<Vec<_>>()));
            let best = all.fold(f64::INFINITY, f64::min);
            assert!((found - best).abs() < 1e-6, "{found} instead of {best}: {single:?} {pairs:?} {implied:?}");
        }
    }
}
