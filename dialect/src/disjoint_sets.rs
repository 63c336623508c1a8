//! Disjoint sets of small integers.

/// Disjoint sets, each represented by its smallest member.
pub struct DisjointSets {
    parents: Vec<u32>,
}

impl DisjointSets {
    /// Creates one set for each of `0..count`.
    pub fn new(count: u32) -> Self {
        Self { parents: (0..count).collect() }
    }

    /// Returns the smallest member of the set of `at`.
    pub fn root(&mut self, mut at: u32) -> u32 {
        while self.parents[at as usize] != at {
            let above = self.parents[self.parents[at as usize] as usize];
            self.parents[at as usize] = above;
            at = above;
        }
        at
    }

    /// Merges the sets of `a` and `b`.
    pub fn join(&mut self, a: u32, b: u32) {
        let (a, b) = (self.root(a), self.root(b));
        self.parents[a.max(b) as usize] = a.min(b);
    }
}
