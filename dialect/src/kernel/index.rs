//! Index expressions: where a loop nest reads.

/// A quasi-affine integer expression over the loops, with runtime scalars and indirect loads.
#[derive(Clone, PartialEq, Debug)]
pub enum Index {
    /// Loop `i`.
    Loop(usize),
    /// A constant.
    Const(i64),
    /// Sum.
    Add(Box<Index>, Box<Index>),
    /// Product with a constant.
    Mul(Box<Index>, i64),
    /// Floor division by a positive constant.
    FloorDiv(Box<Index>, i64),
    /// Remainder, never negative, by a positive constant.
    Mod(Box<Index>, i64),
    /// Clamped to `lo..=hi`: start indices of dynamic slices and gathers.
    Clamp(Box<Index>, i64, i64),
    /// An element of an integer operand: rank-0 starts of a dynamic slice, index tables of a gather.
    Load {
        /// Which operand of the op.
        operand: usize,
        /// Where in it.
        index: Vec<Index>,
    },
}

impl Index {
    /// `self + other`
    pub fn plus(self, other: Index) -> Index {
        match (self, other) {
            (Index::Const(a), Index::Const(b)) => Index::Const(a + b),
            (Index::Const(0), x) | (x, Index::Const(0)) => x,
            (a, b) => Index::Add(Box::new(a), Box::new(b)),
        }
    }

    /// `self * factor`
    pub fn times(self, factor: i64) -> Index {
        match (self, factor) {
            (_, 0) => Index::Const(0),
            (x, 1) => x,
            (Index::Const(a), f) => Index::Const(a * f),
            (x, f) => Index::Mul(Box::new(x), f),
        }
    }

    /// `floor(self / by)`
    pub fn floor_div(self, by: i64) -> Index {
        if by == 1 { self } else { Index::FloorDiv(Box::new(self), by) }
    }

    /// `self mod by`
    pub fn modulo(self, by: i64) -> Index {
        if by == 1 { Index::Const(0) } else { Index::Mod(Box::new(self), by) }
    }

    /// Its value: `loops` gives the loops' positions, `load` reads operands.
    pub fn eval(&self, loops: &[i64], load: &mut dyn FnMut(usize, &[i64]) -> i64) -> i64 {
        match self {
            Index::Loop(i) => loops[*i],
            Index::Const(c) => *c,
            Index::Add(a, b) => a.eval(loops, load) + b.eval(loops, load),
            Index::Mul(a, f) => a.eval(loops, load) * f,
            Index::FloorDiv(a, by) => a.eval(loops, load).div_euclid(*by),
            Index::Mod(a, by) => a.eval(loops, load).rem_euclid(*by),
            Index::Clamp(a, lo, hi) => a.eval(loops, load).min(*hi).max(*lo),
            Index::Load { operand, index } => {
                let at: Vec<i64> = index.iter().map(|i| i.eval(loops, load)).collect();
                load(*operand, &at)
            }
        }
    }

    /// Calls `f` on every loop it reads.
    pub fn loops(&self, f: &mut dyn FnMut(usize)) {
        match self {
            Index::Loop(i) => f(*i),
            Index::Const(_) => {}
            Index::Add(a, b) => {
                a.loops(f);
                b.loops(f);
            }
            Index::Mul(a, _) | Index::FloorDiv(a, _) | Index::Mod(a, _) | Index::Clamp(a, _, _) => a.loops(f),
            Index::Load { index, .. } => index.iter().for_each(|i| i.loops(f)),
        }
    }
}
