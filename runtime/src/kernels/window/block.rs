//! One block of the sum of a product: packs its panels, and computes tiles of the result by panels.

#![allow(unsafe_code, reason = "tensors are read and written by address and stride")]

use std::ops::Range;

use super::form::Form;
use super::loops::{Place, Walk, count, place};
use super::pack::{Panel, Source, pack};
use super::product::{Plan, TASK, Tensors};
use super::tasks::each;
use crate::across::AcrossThreads;
use crate::kernels::micro::{Code, Kernel, Number, ROWS, Run, Tile};

/// Number of tiles in a task, if there are enough of them.
const TILES: usize = 40;

/// Number of panels in a task that packs them itself.
const PANELS: usize = 4;

/// The maximum number of lanes of a panel.
const WIDTH: usize = 32;

/// A part of a sum: some taps, and some steps of the last loop.
pub(super) struct Part {
    pub taps: Range<usize>,
    pub steps: Range<usize>,
}

/// One block of the sum.
pub(super) struct Block<'p, T: Number> {
    plan: &'p Plan,
    code: &'p Code<T>,
    /// The positions of the taps.
    taps: Vec<Place>,
    /// Steps of the last loop.
    steps: Range<usize>,
    adds: bool,
    /// Whether zeros must not replace padding.
    careful: bool,
    tensors: Tensors<T>,
    panels: Vec<Panel>,
    /// Number of elements of all panels.
    packed: usize,
}

/// The rows of a tile.
#[derive(Clone, Copy)]
struct Rows {
    first: usize,
    count: usize,
    /// Whether the large kernel computes them.
    large: bool,
}

/// A tile with the addresses of its rows, and its runs of steps.
struct Prepared<T> {
    rows: Rows,
    bases: [*const T; ROWS],
    outs: [isize; ROWS],
    runs: Range<usize>,
}

/// The steps of the sum of all prepared tiles.
struct Steps<T> {
    runs: Vec<Run>,
    /// The addresses of the rows in mixed runs.
    table: Vec<[*const T; ROWS]>,
    /// The first of the zeros that replace padding.
    zero: *const T,
}

impl<'p, T: Number> Block<'p, T> {
    pub(super) fn new(
        plan: &'p Plan,
        code: &'p Code<T>,
        part: Part,
        adds: bool,
        careful: bool,
        tensors: Tensors<T>,
    ) -> Self {
        let (taps, steps): (Vec<Place>, _) = (part.taps.map(|t| place(&plan.taps, t)).collect(), part.steps);
        let (lanes, depth) = (count(&plan.lanes), taps.len() * steps.len());
        let (mut panels, mut first, mut packed) = (Vec::new(), 0, 0);
        let mut walk = Walk::new(&plan.lanes, 0);
        while first < lanes {
            let rest = lanes - first;
            let (vectors, width) = match rest {
                _ if plan.form == Form::Lanes && rest < code.lanes => (0, 1),
                _ if rest >= 2 * code.lanes => (2, 2 * code.lanes),
                _ if rest > code.lanes && plan.form != Form::Lanes => (2, 2 * code.lanes),
                _ => (1, code.lanes),
            };
            let used = rest.min(width);
            let places: Vec<Place> = (0..used).map(|_| walk.next()).collect();
            panels.push(Panel { first: packed, width, vectors, lanes: places });
            (first, packed) = (first + used, packed + width * depth);
        }
        Self { plan, code, taps, steps, adds, careful, tensors, panels, packed }
    }

    fn depth(&self) -> usize {
        self.taps.len() * self.steps.len()
    }

    /// Returns the rows of the tile with this number.
    fn tile(&self, index: usize) -> Rows {
        let [large, small] = self.code.rows;
        let group = self.group();
        let each = self.tiles_of(group);
        let (first, i) = (index / each * group, index % each);
        let rest = group % large;
        let whole = if rest.div_ceil(small) > 2 { each } else { group / large };
        if i < whole {
            return Rows { first: first + i * large, count: large.min(group - i * large), large: true };
        }
        let done = whole * large + (i - whole) * small;
        Rows { first: first + done, count: small.min(group - done), large: false }
    }

    /// Returns the number of rows that are divided into tiles together.
    fn group(&self) -> usize {
        match (self.plan.form, self.plan.tiles.last()) {
            (Form::Even, Some(l)) => l.size,
            _ => count(&self.plan.tiles),
        }
    }

    /// Returns the number of tiles of a group: large tiles, then up to two small ones if those suffice.
    fn tiles_of(&self, group: usize) -> usize {
        let [large, small] = self.code.rows;
        let rest = (group % large).div_ceil(small);
        group / large + if rest > 2 { 1 } else { rest }
    }

    /// Computes the block.
    ///
    /// # Safety
    ///
    /// The contract of [`Plan::run`] must hold for the tensors.
    pub(super) unsafe fn run(&self, threads: usize) {
        let plan = self.plan;
        let (outer, group) = (count(&plan.outer), self.group());
        let tiles = count(&plan.tiles) / group * self.tiles_of(group);
        let shared = plan.form != Form::Right;
        let mut memory = Aligned::<T>::new(if shared { self.packed * outer } else { 0 });
        if shared {
            // SAFETY: a block has numbers, which are `Send` and `Sync`, references to plans and code, and raw pointers.
            let across = unsafe { AcrossThreads::new((self, memory.start())) };
            let all = self.panels.len();
            each(threads, outer * all, |i| {
                let &(block, to) = across.get();
                let (o, panel) = (i / all, &block.panels[i % all]);
                // SAFETY: `panel.first` and `packed` give each panel different memory, so tasks write different
                // elements.
                unsafe { block.pack(panel, &place(&plan.outer, o), to.add(o * block.packed + panel.first)) }
            });
        }
        // A task is some tiles by some panels. If there are few and large tasks, they are divided further.
        let work = self.depth() * self.code.rows[0] * 2 * self.code.lanes;
        let (mut some_tiles, mut some_panels) = match shared {
            true => (TILES, self.panels.len()),
            false => (tiles, PANELS),
        };
        let tasks = |t: usize, p: usize| outer * tiles.div_ceil(t) * self.panels.len().div_ceil(p);
        while tasks(some_tiles, some_panels) < 8 && some_tiles.min(tiles) * some_panels * work > 2 * TASK {
            match () {
                () if some_panels > 1 && (some_tiles <= 10 || !shared) => some_panels = some_panels.div_ceil(2),
                () if some_tiles > 10 && shared => some_tiles = some_tiles.min(tiles).div_ceil(2),
                () => break,
            }
        }
        let (by_tiles, by_panels) = (tiles.div_ceil(some_tiles), self.panels.len().div_ceil(some_panels));
        // SAFETY: a block has numbers, which are `Send` and `Sync`, references to plans and code, and raw pointers.
        let across = unsafe { AcrossThreads::new((self, memory.start())) };
        each(threads, outer * by_tiles * by_panels, |i| {
            let &(block, packed) = across.get();
            let (o, t, p) = (i / (by_tiles * by_panels), i / by_panels % by_tiles, i % by_panels);
            let tiles = t * some_tiles..((t + 1) * some_tiles).min(tiles);
            let panels = &block.panels[p * some_panels..((p + 1) * some_panels).min(block.panels.len())];
            // SAFETY: the tensors are valid by the contract of `Plan::run`. Each task writes the tiles and panels of
            // its own part of the result, and `from` has all packed panels of the task.
            unsafe {
                let mut own = Aligned::<T>::new(0);
                let from = match shared {
                    true => packed.add(o * block.packed),
                    false => {
                        own = Aligned::new(panels.iter().map(|p| p.width * block.depth()).sum());
                        let start = own.start();
                        for panel in panels {
                            block.pack(panel, &place(&plan.outer, o), start.add(panel.first - panels[0].first));
                        }
                        start.wrapping_sub(panels[0].first)
                    }
                };
                block.task(&place(&plan.outer, o), tiles, panels, from);
                drop(own);
            }
        });
    }

    /// Packs the lanes of a panel.
    ///
    /// # Safety
    ///
    /// `to` must be valid for writes of [`Self::depth`] times the panel's width elements. The contract of [`Plan::run`]
    /// must hold for the tensors.
    unsafe fn pack(&self, panel: &Panel, outer: &Place, to: *mut T) {
        let (plan, product) = (self.plan, &self.plan.product);
        let source = match plan.form {
            Form::Right => Source {
                from: self.tensors.left.wrapping_offset(product.start[0] + outer.left),
                stride: plan.run.left,
                of: |p| p.left,
                guards: &product.guards,
            },
            _ => Source {
                from: self.tensors.right.wrapping_offset(product.start[1] + outer.right),
                stride: plan.run.right,
                of: |p| p.right,
                guards: &[],
            },
        };
        // SAFETY: by this function's contract, `to` has room for the panel and the tensors are valid.
        unsafe { pack(&source, outer, &self.taps, self.steps.clone(), panel, to) };
    }

    /// Computes some tiles by some panels.
    ///
    /// # Safety
    ///
    /// `packed` must have the elements of each of the panels, from its `first` on. The contract of [`Plan::run`] must
    /// hold for the tensors, and no other thread may access these tiles of the result by these panels.
    unsafe fn task(&self, outer: &Place, tiles: Range<usize>, panels: &[Panel], packed: *const T) {
        let plan = self.plan;
        let wide = plan.form == Form::Lanes;
        let stride = if plan.form == Form::Right { plan.run.right } else { plan.run.left };
        let product_guards = &plan.product.guards;
        let zeros: Vec<T> = match plan.form {
            Form::Left | Form::Lanes if !product_guards.is_empty() && !self.careful => {
                let lanes = if wide { count(&plan.lanes) } else { 1 };
                vec![T::default(); self.steps.len() * stride.unsigned_abs() + lanes]
            }
            _ => Vec::new(),
        };
        // If the sum runs backwards, it starts at the end of the zeros.
        let back = if stride < 0 { self.steps.len() * stride.unsigned_abs() } else { 0 };
        let zero = zeros.as_ptr().wrapping_add(back);
        let mut steps = Steps { runs: Vec::new(), table: Vec::new(), zero };
        let mut prepared: Vec<Prepared<T>> = Vec::with_capacity(tiles.len());
        for tile in tiles {
            let rows = self.tile(tile);
            let whole = self.prepare(outer, rows, &mut steps);
            if self.careful && steps.runs[whole.runs.clone()].iter().any(|r| r.mixed) {
                // Single rows skip their padding instead of reading zeros.
                for first in rows.first..rows.first + rows.count {
                    prepared.push(self.prepare(outer, Rows { first, count: 1, large: false }, &mut steps));
                }
            } else {
                prepared.push(whole);
            }
        }
        let mut square = [T::default(); ROWS * WIDTH];
        let apart: [isize; ROWS] = std::array::from_fn(|r| (r * WIDTH) as isize);
        for panel in panels {
            let dense = panel.lanes.len() == panel.width && panel.is_dense(|p| p.out);
            let first = self.plan.product.start[2] + outer.out + panel.lanes[0].out;
            let out = self.tensors.out.wrapping_offset(first);
            for tile in &prepared {
                let small = usize::from(!tile.rows.large);
                let kernel: Kernel<T> = match (panel.vectors, wide) {
                    (0, _) => self.code.single,
                    (n, true) => self.code.wide[small][n - 1],
                    (n, false) => self.code.splat[small][n - 1],
                };
                let direct = dense && tile.rows.count == self.code.rows[if panel.vectors == 0 { 0 } else { small }];
                let given = Tile {
                    bases: &tile.bases,
                    runs: &steps.runs[tile.runs.clone()],
                    table: &steps.table,
                    stride,
                    shift: if wide { panel.lanes[0].left } else { 0 },
                    outs: if direct { &tile.outs } else { &apart },
                    adds: direct && self.adds,
                };
                // SAFETY: `prepare` computed row addresses inside the tensors or in the zeros, and `packed` has the
                // panel's lanes. Results are written inside of the result, or to `square`, which has `ROWS * WIDTH`
                // elements.
                unsafe {
                    let lanes = packed.add(panel.first);
                    if direct {
                        kernel(&given, lanes, out);
                        continue;
                    }
                    kernel(&given, lanes, square.as_mut_ptr());
                    for (row, &at) in square.chunks_exact(WIDTH).zip(&tile.outs[..tile.rows.count]) {
                        for (&value, lane) in row.iter().zip(&panel.lanes) {
                            let to = out.offset(at + lane.out - panel.lanes[0].out);
                            *to = if self.adds { (*to).plus(value) } else { value };
                        }
                    }
                }
            }
        }
    }

    /// Returns a tile with the addresses of its rows, and appends the runs of its sum.
    fn prepare(&self, outer: &Place, rows: Rows, all: &mut Steps<T>) -> Prepared<T> {
        let (plan, product) = (self.plan, &self.plan.product);
        let mut places = [Place::default(); ROWS];
        let mut walk = Walk::new(&plan.tiles, rows.first);
        for r in 0..ROWS {
            // Missing rows repeat the last one.
            places[r] = if r < rows.count { walk.next().plus(outer) } else { places[rows.count - 1] };
        }
        let Steps { runs, table, zero } = all;
        let begin = runs.len();
        let outs = places.map(|p| p.out - outer.out);
        let prepared = |bases, runs: &[Run]| Prepared { rows, bases, outs, runs: begin..runs.len() };
        let (length, start) = (self.steps.len(), self.steps.start as isize);
        if plan.form == Form::Right {
            let bases = places.map(|p| self.tensors.right.wrapping_offset(product.start[1] + p.right));
            for (t, tap) in self.taps.iter().enumerate() {
                let at = tap.right + start * plan.run.right;
                push(runs, begin, t * length, length, at, plan.run.right);
            }
            return prepared(bases, runs);
        }
        let bases = places.map(|p| self.tensors.left.wrapping_offset(product.start[0] + p.left));
        let guards = product.guards.len();
        let (mut low, mut high) = (places[0].at, places[0].at);
        for p in &places[1..rows.count] {
            for g in 0..guards {
                (low[g], high[g]) = (low[g].min(p.at[g]), high[g].max(p.at[g]));
            }
        }
        for (t, tap) in self.taps.iter().enumerate() {
            let (mut from, mut end) = (0, length as i64);
            let (mut all, mut none) = (true, false);
            for (g, guard) in product.guards.iter().enumerate() {
                let at = guard.first + tap.at[g];
                match plan.run.guard {
                    Some((d, by)) if d == g => {
                        // The steps inside are the same for all rows.
                        let inside = steps_inside(at + low[g] + start as i64 * by, by, guard.size, length as i64);
                        (from, end) = (from.max(inside.start), end.min(inside.end));
                    }
                    _ => {
                        all &= at + low[g] >= 0 && at + high[g] < guard.size;
                        none |= at + high[g] < 0 || at + low[g] >= guard.size;
                    }
                }
            }
            if none || from >= end {
                continue;
            }
            let at = tap.left + (start + from as isize) * plan.run.left;
            if all {
                push(runs, begin, t * length + from as usize, (end - from) as usize, at, plan.run.left);
                continue;
            }
            let inside = |p: &Place| {
                product
                    .guards
                    .iter()
                    .enumerate()
                    .all(|(g, guard)| (0..guard.size).contains(&(guard.first + tap.at[g] + p.at[g])))
            };
            let pointers: [*const T; ROWS] = std::array::from_fn(|r| match inside(&places[r]) {
                true => bases[r].wrapping_offset(at),
                false => *zero,
            });
            runs.push(Run { step: (t * length) as u32, len: length as u32, at: table.len() as isize, mixed: true });
            table.push(pointers);
        }
        prepared(bases, runs)
    }
}

/// Appends a run, or extends the last one.
fn push(runs: &mut Vec<Run>, begin: usize, step: usize, len: usize, at: isize, stride: isize) {
    if runs.len() > begin
        && let Some(last) = runs.last_mut()
        && !last.mixed
        && (last.step + last.len) as usize == step
        && last.at + last.len as isize * stride == at
    {
        last.len += len as u32;
        return;
    }
    runs.push(Run { step: step as u32, len: len as u32, at, mixed: false });
}

/// Returns the `i` in `0..length` with `at + i * by` in `0..size`.
fn steps_inside(at: i64, by: i64, size: i64, length: i64) -> Range<i64> {
    let (low, high) = if by > 0 { (-at, size - 1 - at) } else { (at - size + 1, at) };
    let by = by.abs().max(1);
    // The smallest and largest `i` with `low <= i * by <= high`.
    (-(-low).div_euclid(by)).max(0)..(high.div_euclid(by) + 1).min(length)
}

/// Memory aligned to a vector's size.
struct Aligned<T> {
    memory: Vec<T>,
    skipped: usize,
}

impl<T: Number> Aligned<T> {
    fn new(n: usize) -> Self {
        let each = 64 / size_of::<T>();
        let memory: Vec<T> = Vec::with_capacity(if n == 0 { 0 } else { n + each });
        let skipped = memory.as_ptr().align_offset(64).min(each);
        Self { memory, skipped }
    }

    fn start(&mut self) -> *mut T {
        self.memory.as_mut_ptr().wrapping_add(self.skipped)
    }
}
