//! Products over windows: for each position of the parallel loops, the sum over the other loops of an element of the
//! left tensor, which is read through windows, times an element of the right tensor.
//!
//! Windows aren't copied. The elements of one side are read in place, for a tile of positions at a time; those of the
//! other side are packed into panels of vectors ([`micro`](super::micro)). The [`Form`] determines the sides. The sum
//! is divided into blocks, and tiles and panels into tasks, by sizes only, so results don't depend on the number of
//! threads.

#![allow(unsafe_code, reason = "tensors are read and written by address and stride")]

use std::ops::Range;

use smallvec::SmallVec;

use super::pack::{Panel, Source, pack};
use super::tasks::each;
use crate::across::AcrossThreads;
use crate::kernels::micro::{Code, Kernel, Number, ROWS, Run, Tile};

/// The maximum number of guarded dimensions of the left tensor.
pub(super) const GUARDS: usize = 4;

/// The maximum number of steps of the sum in one block. This many vectors of the packed side stay in a core's cache.
const DEPTH: usize = 512;

/// Number of tiles in a task, if there are enough of them.
const TILES: usize = 40;

/// Number of panels in a task that packs them itself.
const PANELS: usize = 4;

/// The maximum number of zeros that replace padding, in elements.
const ZEROS: usize = 1 << 16;

/// The maximum number of lanes of a panel.
const WIDTH: usize = 32;

/// The number of multiplications that are worth a task.
const TASK: usize = 1 << 18;

/// A loop: its number of positions and its stride in each tensor, in elements.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Loop {
    pub size: usize,
    pub left: isize,
    pub right: isize,
    pub out: isize,
    /// The guarded dimension of the left tensor in which it moves, and its step there.
    pub guard: Option<(usize, i64)>,
}

/// A dimension of the left tensor of which only positions `0..size` exist; others are padding. The loops' first
/// positions are at `first`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Guard {
    pub first: i64,
    pub size: i64,
}

/// A product over windows.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Product {
    /// Loops that index both tensors.
    pub batch: Vec<Loop>,
    /// Loops that index only the left tensor.
    pub rows: Vec<Loop>,
    /// Loops that index only the right tensor.
    pub columns: Vec<Loop>,
    /// Loops of the sum.
    pub sum: Vec<Loop>,
    pub guards: Vec<Guard>,
    /// The offsets of the first elements of the left tensor, the right tensor and the result.
    pub start: [isize; 3],
    /// Whether to add to the existing result.
    pub adds: bool,
}

/// The side that is read in place.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Form {
    /// Tiles are of rows. Rows in the padding point to zeros.
    Left,
    /// Tiles are of rows that reach into padding alike, so that the sum skips it.
    Even,
    /// Tiles are of columns, and the left side is packed, with its padding.
    Right,
    /// Tiles are of rows, and the vectors run along a loop that all tensors have: no element is used twice.
    Lanes,
}

/// The plan of a product.
#[derive(Clone, Debug)]
pub(super) struct Plan {
    product: Product,
    form: Form,
    /// The loops of the tiles, of the vectors, and around both.
    tiles: Vec<Loop>,
    lanes: Vec<Loop>,
    outer: Vec<Loop>,
    /// The loops of the sum without the last one, outermost first.
    taps: Vec<Loop>,
    run: Loop,
    /// The plan to use if zeros can't replace padding, because they are multiplied with values that aren't finite.
    careful: Option<Box<Plan>>,
}

/// A position of some loops.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Place {
    pub left: isize,
    pub right: isize,
    pub out: isize,
    /// Positions in the guarded dimensions.
    pub at: [i64; GUARDS],
}

impl Place {
    pub(super) fn plus(&self, other: &Place) -> Place {
        let at = std::array::from_fn(|i| self.at[i] + other.at[i]);
        Place { left: self.left + other.left, right: self.right + other.right, out: self.out + other.out, at }
    }
}

/// Returns position `index` of all the loops together.
fn place(loops: &[Loop], mut index: usize) -> Place {
    let mut place = Place::default();
    for l in loops.iter().rev() {
        let i = index % l.size;
        index /= l.size;
        place.left += l.left * i as isize;
        place.right += l.right * i as isize;
        place.out += l.out * i as isize;
        if let Some((guard, by)) = l.guard {
            place.at[guard] += by * i as i64;
        }
    }
    place
}

/// The positions from `index` on.
struct Walk<'l> {
    loops: &'l [Loop],
    at: SmallVec<[usize; 6]>,
    place: Place,
}

impl<'l> Walk<'l> {
    fn new(loops: &'l [Loop], index: usize) -> Self {
        let mut rest = index;
        let mut at: SmallVec<[usize; 6]> = SmallVec::from_elem(0, loops.len());
        for (at, l) in at.iter_mut().zip(loops).rev() {
            (*at, rest) = (rest % l.size, rest / l.size);
        }
        Self { loops, at, place: place(loops, index) }
    }

    /// Returns the current position and moves to the next.
    fn next(&mut self) -> Place {
        let here = self.place;
        for (at, l) in self.at.iter_mut().zip(self.loops).rev() {
            *at += 1;
            // A loop that ends restarts, and the loop around it advances.
            let back = if *at == l.size { l.size as isize } else { 0 };
            self.place.left += l.left * (1 - back);
            self.place.right += l.right * (1 - back);
            self.place.out += l.out * (1 - back);
            if let Some((guard, by)) = l.guard {
                self.place.at[guard] += by * (1 - back as i64);
            }
            if back == 0 {
                break;
            }
            *at = 0;
        }
        here
    }
}

/// Returns whether all numbers are finite.
pub(super) fn are_finite<T: Number>(numbers: &[T]) -> bool {
    // Processes a block at a time without branches, so that the loop vectorizes.
    numbers.chunks(1024).all(|block| block.iter().fold(true, |all, x| all & x.is_finite()))
}

pub(super) fn count(loops: &[Loop]) -> usize {
    loops.iter().map(|l| l.size).product()
}

impl Plan {
    pub(super) fn new(product: Product) -> Self {
        let form = Form::of(&product);
        let mut plan = Self::of(product, form);
        if !plan.product.guards.is_empty() && plan.form != Form::Even {
            let form = if form == Form::Right { Form::Left } else { form };
            plan.careful = Some(Box::new(Self::of(plan.product.clone(), form)));
        }
        plan
    }

    fn of(product: Product, form: Form) -> Self {
        let mut sum: Vec<Loop> = product.sum.iter().copied().filter(|l| l.size != 1).collect();
        sum.sort_by_key(|l| std::cmp::Reverse(l.left.unsigned_abs()));
        // If tiles may read padding, the last loop is one that isn't guarded, so that its elements are read in one run.
        let free = |l: &Loop| l.guard.is_none() && (product.guards.is_empty() || few_zeros(l));
        let last = match form {
            Form::Even => sum.len().checked_sub(1),
            Form::Right => {
                let near = |l: &Loop| l.guard.is_none() && l.size.saturating_mul(l.right.unsigned_abs()) <= ZEROS;
                (0..sum.len()).filter(|&i| near(&sum[i])).min_by_key(|&i| sum[i].right.unsigned_abs())
            }
            Form::Left | Form::Lanes => (0..sum.len()).rev().find(|&i| free(&sum[i])),
        };
        let last = last.map(|i| sum.remove(i));
        if form == Form::Right {
            sum.sort_by_key(|l| std::cmp::Reverse(l.right.unsigned_abs()));
        }
        let one = |l: &Loop| Loop { size: 1, out: 0, guard: None, ..*l };
        // A loop of one step moves like the loop around it, so that runs of both can be joined.
        let none = Loop { size: 1, left: 1, right: 1, out: 0, guard: None };
        let run = last.unwrap_or_else(|| sum.last().map_or(none, one));
        let (mut outer, rows, columns) = (product.batch.clone(), product.rows.clone(), product.columns.clone());
        let (mut tiles, mut lanes) = (rows, columns);
        match form {
            Form::Left => {}
            Form::Even => {
                // The loop along the tile comes last.
                if let Some(along) = even_rows(&product) {
                    tiles.retain(|l| *l != along);
                    tiles.push(along);
                }
            }
            Form::Right => std::mem::swap(&mut tiles, &mut lanes),
            Form::Lanes => {
                let along = wide_loop(&product).map(|i| outer.remove(i));
                outer.append(&mut lanes);
                lanes.extend(along);
            }
        }
        Self { product, form, tiles, lanes, outer, taps: sum, run, careful: None }
    }

    /// Computes the result, or adds to the existing result.
    ///
    /// # Safety
    ///
    /// The tensors must be valid for all elements that the loops reach, apart from the padding. No other thread may
    /// write `left` or `right` or access the result meanwhile.
    pub(super) unsafe fn run<T: Number>(&self, left: *const T, right: &[T], out: *mut T, adds: bool, threads: usize) {
        let careful = self.careful.as_deref().filter(|_| !are_finite(right));
        let tensors = Tensors { left, right: right.as_ptr(), out };
        // SAFETY: `compute` has the contract of this function.
        unsafe { careful.unwrap_or(self).compute(tensors, adds, threads, careful.is_some()) }
    }

    /// Does the same as [`Self::run`] with this plan. If `careful`, zeros don't replace padding.
    ///
    /// # Safety
    ///
    /// The contract of [`Self::run`] must hold for these tensors.
    unsafe fn compute<T: Number>(&self, tensors: Tensors<T>, adds: bool, threads: usize, careful: bool) {
        let product = &self.product;
        let out = tensors.out;
        let mut adds = adds || product.adds;
        let results = [&product.batch, &product.rows, &product.columns].iter().map(|l| count(l)).product::<usize>();
        if results == 0 {
            return;
        }
        if count(&product.sum) == 0 {
            if !adds {
                // Iterates directly along the loop whose elements are nearest to each other, because its positions need
                // no division.
                let mut outer = [&product.batch[..], &product.rows, &product.columns].concat();
                let near = (0..outer.len()).filter(|&i| outer[i].size > 1).min_by_key(|&i| outer[i].out.unsigned_abs());
                let near = near.map(|i| outer.remove(i));
                let (size, step) = near.map_or((1, 1), |l| (l.size, l.out));
                let lines = count(&outer);
                // SAFETY: this is only a raw pointer.
                let out = unsafe { AcrossThreads::new(out) };
                let some = (TASK / 16).div_ceil(size);
                each(threads, lines.div_ceil(some), |task| {
                    let mut walk = Walk::new(&outer, task * some);
                    for _ in task * some..lines.min((task + 1) * some) {
                        let to = out.get().wrapping_offset(product.start[2] + walk.next().out);
                        // SAFETY: the loops' positions are inside of the result, and each task writes different lines.
                        unsafe {
                            if step == 1 {
                                std::slice::from_raw_parts_mut(to, size).fill(T::default());
                            } else {
                                (0..size as isize).for_each(|k| *to.offset(k * step) = T::default());
                            }
                        }
                    }
                });
            }
            return;
        }
        let code = T::code();
        for block in self.blocks() {
            let job = Job::new(self, &code, block, (adds, careful), tensors);
            // SAFETY: the contract of `Plan::run` holds for the tensors, and blocks run one after the other.
            unsafe { job.run(threads) };
            adds = true;
        }
    }

    /// Returns the blocks of the sum: ranges of taps and of the positions of the last loop.
    fn blocks(&self) -> Vec<(Range<usize>, Range<usize>)> {
        let (taps, steps) = (count(&self.taps), self.run.size);
        let parts = |n: usize, most: usize| {
            let each = n.div_ceil(n.div_ceil(most));
            (0..n.div_ceil(each)).map(move |i| i * each..((i + 1) * each).min(n))
        };
        if steps > DEPTH {
            return (0..taps).flat_map(|t| parts(steps, DEPTH).map(move |steps| (t..t + 1, steps))).collect();
        }
        parts(taps, (DEPTH / steps).max(1)).map(|taps| (taps, 0..steps)).collect()
    }
}

impl Form {
    fn of(product: &Product) -> Self {
        if wide_loop(product).is_some() {
            return Self::Lanes;
        }
        let guarded = product.sum.iter().any(|l| l.size > 1 && l.guard.is_some())
            || product.rows.iter().chain(&product.batch).any(|l| l.guard.is_some());
        let free = product.sum.iter().filter(|l| l.size > 1 && l.guard.is_none());
        let near = free.min_by_key(|l| l.left.unsigned_abs());
        let zeros = near.is_none_or(few_zeros);
        let columns = count(&product.columns);
        // If neighboring elements of the result are in different rows, vectors along the rows are stored at once.
        if guarded && columns >= ROWS && product.rows.iter().any(|l| l.out == 1 && l.size >= 8) {
            return Self::Right;
        }
        // Few columns leave most of a vector empty.
        if columns < 4 && count(&product.rows) > 4 * columns {
            return Self::Right;
        }
        match () {
            () if !guarded => Self::Left,
            () if near.is_some() && zeros => Self::Left,
            () if even_rows(product).is_some_and(|l| l.size >= 6 || l.left == 1 || columns < 16) => Self::Even,
            () if near.is_none() && columns < 16 => Self::Left,
            () => Self::Right,
        }
    }
}

/// Returns whether a tile's sum along this loop can read zeros instead of padding.
fn few_zeros(l: &Loop) -> bool {
    l.size.min(DEPTH).saturating_mul(l.left.unsigned_abs()) <= ZEROS
}

/// Returns the row loop for tiles along which padding doesn't change: the one whose elements are nearest.
fn even_rows(product: &Product) -> Option<Loop> {
    let long = product.rows.iter().filter(|l| l.guard.is_none() && l.size >= 3);
    long.min_by_key(|l| l.left.unsigned_abs()).copied()
}

/// Returns the batch loop along which vectors are read, if each element is multiplied with few others.
fn wide_loop(product: &Product) -> Option<usize> {
    let along = |l: &Loop| l.left == 1 && l.guard.is_none() && l.size >= 4;
    let found = product.batch.iter().position(along)?;
    (count(&product.columns) <= 4).then_some(found)
}

/// The tensors of a product.
#[derive(Clone, Copy)]
struct Tensors<T> {
    left: *const T,
    right: *const T,
    out: *mut T,
}

/// One block of the sum.
struct Job<'p, T: Number> {
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

/// The rows of a tile, and its runs of steps.
struct Ready<T> {
    bases: [*const T; ROWS],
    outs: [isize; ROWS],
    rows: usize,
    large: bool,
    runs: Range<usize>,
}

impl<'p, T: Number> Job<'p, T> {
    fn new(
        plan: &'p Plan,
        code: &'p Code<T>,
        (taps, steps): (Range<usize>, Range<usize>),
        (adds, careful): (bool, bool),
        tensors: Tensors<T>,
    ) -> Self {
        let taps: Vec<Place> = taps.map(|t| place(&plan.taps, t)).collect();
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

    /// Returns the tile with this number: its first row, its number of rows, and whether it is a large one.
    fn tile(&self, index: usize) -> (usize, usize, bool) {
        let [large, small] = self.code.rows;
        let group = self.group();
        let each = self.tiles_of(group);
        let (first, i) = (index / each * group, index % each);
        let rest = group % large;
        let whole = if rest.div_ceil(small) > 2 { each } else { group / large };
        if i < whole {
            (first + i * large, large.min(group - i * large), true)
        } else {
            let done = whole * large + (i - whole) * small;
            (first + done, small.min(group - done), false)
        }
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
    unsafe fn run(&self, threads: usize) {
        let plan = self.plan;
        let (outer, group) = (count(&plan.outer), self.group());
        let tiles = count(&plan.tiles) / group * self.tiles_of(group);
        let shared = plan.form != Form::Right;
        let mut memory = Aligned::<T>::new(if shared { self.packed * outer } else { 0 });
        if shared {
            // SAFETY: a job has numbers, which are `Send` and `Sync`, references to plans and code, and raw pointers.
            let across = unsafe { AcrossThreads::new((self, memory.start())) };
            let all = self.panels.len();
            each(threads, outer * all, |i| {
                let &(job, to) = across.get();
                let (o, panel) = (i / all, &job.panels[i % all]);
                // SAFETY: `panel.first` and `packed` give each panel different memory, so tasks write different
                // elements.
                unsafe { job.pack(panel, &place(&plan.outer, o), to.add(o * job.packed + panel.first)) }
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
        // SAFETY: a job has numbers, which are `Send` and `Sync`, references to plans and code, and raw pointers.
        let across = unsafe { AcrossThreads::new((self, memory.start())) };
        each(threads, outer * by_tiles * by_panels, |i| {
            let &(job, packed) = across.get();
            let (o, t, p) = (i / (by_tiles * by_panels), i / by_panels % by_tiles, i % by_panels);
            let tiles = t * some_tiles..((t + 1) * some_tiles).min(tiles);
            let panels = &job.panels[p * some_panels..((p + 1) * some_panels).min(job.panels.len())];
            // SAFETY: the tensors are valid by the contract of `Plan::run`. Each task writes the tiles and panels of
            // its own part of the result, and `from` has all packed panels of the task.
            unsafe {
                let mut own = Aligned::<T>::new(0);
                let from = match shared {
                    true => packed.add(o * job.packed),
                    false => {
                        own = Aligned::new(panels.iter().map(|p| p.width * job.depth()).sum());
                        let start = own.start();
                        for panel in panels {
                            job.pack(panel, &place(&plan.outer, o), start.add(panel.first - panels[0].first));
                        }
                        start.wrapping_sub(panels[0].first)
                    }
                };
                job.task(&place(&plan.outer, o), tiles, panels, from);
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
        let (mut runs, mut table) = (Vec::new(), Vec::new());
        let mut ready: Vec<Ready<T>> = Vec::with_capacity(tiles.len());
        for tile in tiles {
            let (first, rows, large) = self.tile(tile);
            let whole = self.ready(outer, (first, rows, large), zero, &mut runs, &mut table);
            if self.careful && runs[whole.runs.clone()].iter().any(|r| r.mixed) {
                // Single rows skip their padding instead of reading zeros.
                for row in first..first + rows {
                    ready.push(self.ready(outer, (row, 1, false), zero, &mut runs, &mut table));
                }
            } else {
                ready.push(whole);
            }
        }
        let mut square = [T::default(); ROWS * WIDTH];
        let apart: [isize; ROWS] = std::array::from_fn(|r| (r * WIDTH) as isize);
        for panel in panels {
            let dense = panel.lanes.len() == panel.width && panel.is_dense(|p| p.out);
            let first = self.plan.product.start[2] + outer.out + panel.lanes[0].out;
            let out = self.tensors.out.wrapping_offset(first);
            for tile in &ready {
                let small = usize::from(!tile.large);
                let kernel: Kernel<T> = match (panel.vectors, wide) {
                    (0, _) => self.code.single,
                    (n, true) => self.code.wide[small][n - 1],
                    (n, false) => self.code.splat[small][n - 1],
                };
                let direct = dense && tile.rows == self.code.rows[if panel.vectors == 0 { 0 } else { small }];
                let given = Tile {
                    bases: &tile.bases,
                    runs: &runs[tile.runs.clone()],
                    table: &table,
                    stride,
                    shift: if wide { panel.lanes[0].left } else { 0 },
                    outs: if direct { &tile.outs } else { &apart },
                    adds: direct && self.adds,
                };
                // SAFETY: `ready` computed row addresses inside the tensors or in the zeros, and `packed` has the
                // panel's lanes. Results are written inside of the result, or to `square`, which has `ROWS * WIDTH`
                // elements.
                unsafe {
                    let lanes = packed.add(panel.first);
                    if direct {
                        kernel(&given, lanes, out);
                        continue;
                    }
                    kernel(&given, lanes, square.as_mut_ptr());
                    for (row, &at) in square.chunks_exact(WIDTH).zip(&tile.outs[..tile.rows]) {
                        for (&value, lane) in row.iter().zip(&panel.lanes) {
                            let to = out.offset(at + lane.out - panel.lanes[0].out);
                            *to = if self.adds { (*to).plus(value) } else { value };
                        }
                    }
                }
            }
        }
    }

    /// Returns the addresses of a tile's rows, and the runs of its sum.
    fn ready(
        &self,
        outer: &Place,
        (first, rows, large): (usize, usize, bool),
        zero: *const T,
        runs: &mut Vec<Run>,
        table: &mut Vec<[*const T; ROWS]>,
    ) -> Ready<T> {
        let (plan, product) = (self.plan, &self.plan.product);
        let mut places = [Place::default(); ROWS];
        let mut walk = Walk::new(&plan.tiles, first);
        for r in 0..ROWS {
            // Missing rows repeat the last one.
            places[r] = if r < rows { walk.next().plus(outer) } else { places[rows - 1] };
        }
        let begin = runs.len();
        let outs = places.map(|p| p.out - outer.out);
        let ready = |bases, runs: &[Run]| Ready { bases, outs, rows, large, runs: begin..runs.len() };
        let (length, start) = (self.steps.len(), self.steps.start as isize);
        if plan.form == Form::Right {
            let bases = places.map(|p| self.tensors.right.wrapping_offset(product.start[1] + p.right));
            for (t, tap) in self.taps.iter().enumerate() {
                let at = tap.right + start * plan.run.right;
                push(runs, begin, t * length, length, at, plan.run.right);
            }
            return ready(bases, runs);
        }
        let bases = places.map(|p| self.tensors.left.wrapping_offset(product.start[0] + p.left));
        let guards = product.guards.len();
        let (mut low, mut high) = (places[0].at, places[0].at);
        for p in &places[1..rows] {
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
                false => zero,
            });
            runs.push(Run { step: (t * length) as u32, len: length as u32, at: table.len() as isize, mixed: true });
            table.push(pointers);
        }
        ready(bases, runs)
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
