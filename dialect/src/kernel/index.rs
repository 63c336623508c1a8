//! Index expressions: the positions at which a loop nest reads.
//!
//! To search an expression use [`Index::any`] or [`Index::visit`]; to rewrite it over other loops use
//! [`Index::substitute`]. To reason about its positions use its [affine form](super::Affine).

/// A quasi-affine integer expression over the loops, with runtime scalars and indirect loads.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
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
        /// The operand of the op.
        operand: usize,
        /// The position in the operand.
        index: Vec<Index>,
    },
}

impl Index {
    /// Returns `self + other`.
    pub fn plus(self, other: Index) -> Index {
        match (self, other) {
            (Index::Const(a), Index::Const(b)) => Index::Const(a + b),
            (Index::Const(0), x) | (x, Index::Const(0)) => x,
            (a, b) => Index::Add(Box::new(a), Box::new(b)),
        }
    }

    /// Returns `self * factor`.
    pub fn times(self, factor: i64) -> Index {
        match (self, factor) {
            (_, 0) => Index::Const(0),
            (x, 1) => x,
            (Index::Const(a), f) => Index::Const(a * f),
            (x, f) => Index::Mul(Box::new(x), f),
        }
    }

    /// Returns `floor(self / by)`.
    pub fn floor_div(self, by: i64) -> Index {
        if by == 1 { self } else { Index::FloorDiv(Box::new(self), by) }
    }

    /// Returns `self mod by`.
    pub fn modulo(self, by: i64) -> Index {
        if by == 1 { Index::Const(0) } else { Index::Mod(Box::new(self), by) }
    }

    /// Evaluates it: `loops` has the loops' positions, `load` reads operands.
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

    /// Calls `f` on the expression and on everything inside it, outermost first; `f` returns whether to look inside.
    pub fn visit<'i>(&'i self, f: &mut impl FnMut(&'i Index) -> bool) {
        if !f(self) {
            return;
        }
        match self {
            Index::Loop(_) | Index::Const(_) => {}
            Index::Add(a, b) => {
                a.visit(f);
                b.visit(f);
            }
            Index::Mul(a, _) | Index::FloorDiv(a, _) | Index::Mod(a, _) | Index::Clamp(a, _, _) => a.visit(f),
            Index::Load { index, .. } => index.iter().for_each(|i| i.visit(f)),
        }
    }

    /// Returns whether `is` holds for the expression or any expression inside it.
    pub fn any(&self, mut is: impl FnMut(&Index) -> bool) -> bool {
        let mut found = false;
        self.visit(&mut |i| {
            found = found || is(i);
            !found
        });
        found
    }

    /// Calls `f` on every loop in it, once per occurrence.
    pub fn loops(&self, f: &mut impl FnMut(usize)) {
        self.visit(&mut |i| {
            if let Index::Loop(l) = i {
                f(*l);
            }
            true
        });
    }

    /// Calls `f` on every loop that moves the position directly, but not on loops that only determine the position of a
    /// load.
    pub fn own_loops(&self, f: &mut impl FnMut(usize)) {
        self.visit(&mut |i| {
            if let Index::Loop(l) = i {
                f(*l);
            }
            !matches!(i, Index::Load { .. })
        });
    }

    /// Calls `f` on every load in it (operand and index), outermost first.
    pub fn loads<'i>(&'i self, f: &mut impl FnMut(usize, &'i [Index])) {
        self.visit(&mut |i| {
            if let Index::Load { operand, index } = i {
                f(*operand, index);
            }
            true
        });
    }

    /// Returns whether it depends on loop `l`.
    pub fn depends_on(&self, l: usize) -> bool {
        self.any(|i| matches!(i, Index::Loop(x) if *x == l))
    }

    /// Returns the same position over other loops and operands: `loops` returns the expression that replaces a loop,
    /// `operands` the new number of an operand.
    pub fn substitute(
        &self,
        loops: &mut impl FnMut(usize) -> Index,
        operands: &mut impl FnMut(usize) -> usize,
    ) -> Index {
        match self {
            Index::Loop(l) => loops(*l),
            Index::Const(c) => Index::Const(*c),
            Index::Add(a, b) => a.substitute(loops, operands).plus(b.substitute(loops, operands)),
            Index::Mul(a, f) => a.substitute(loops, operands).times(*f),
            Index::FloorDiv(a, by) => a.substitute(loops, operands).floor_div(*by),
            Index::Mod(a, by) => a.substitute(loops, operands).modulo(*by),
            Index::Clamp(a, lo, hi) => Index::Clamp(Box::new(a.substitute(loops, operands)), *lo, *hi),
            Index::Load { operand, index } => {
                let index = index.iter().map(|i| i.substitute(loops, operands)).collect();
                Index::Load { operand: operands(*operand), index }
            }
        }
    }
}
