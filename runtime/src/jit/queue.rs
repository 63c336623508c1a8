//! Compiles kernels, and the functions that they call, on all cores.
//!
//! The functions that a kernel calls are known when the kernel has been parsed. They are queued after the kernels, each
//! once, and any thread takes them.

use std::collections::{BTreeSet, VecDeque};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;

use super::abi::{FileType, Processor};
use super::cache::{Cache, Entry};
use super::lower::Parameter;
use super::math;
use super::workbench::{self, Workbench};

/// A unit of compilation.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Unit<'t> {
    /// A text with one kernel, and its number.
    Kernel(usize, &'t str),
    /// A function, by its symbol.
    Function(String),
}

/// The units to compile, and the results.
pub(super) struct Queue<'t> {
    processor: &'t Processor,
    cache: Option<&'t Cache>,
    /// Returns the cache key of a text.
    key: &'t (dyn Fn(&str) -> String + Sync),
    state: Mutex<State<'t>>,
    changed: Condvar,
}

#[derive(Default)]
struct State<'t> {
    waiting: VecDeque<Unit<'t>>,
    /// The number of units that are being compiled.
    busy: usize,
    functions: BTreeSet<String>,
    done: Vec<(Unit<'t>, Result<Entry, String>)>,
}

/// A unit that is being compiled. Dropping it, also after a panic, informs the queue.
struct Taken<'q, 't> {
    queue: &'q Queue<'t>,
    unit: Unit<'t>,
}

impl Drop for Taken<'_, '_> {
    fn drop(&mut self) {
        self.queue.lock().busy -= 1;
        self.queue.changed.notify_all();
    }
}

impl<'t> Queue<'t> {
    /// Creates an empty queue.
    pub(super) fn new(
        processor: &'t Processor,
        cache: Option<&'t Cache>,
        key: &'t (dyn Fn(&str) -> String + Sync),
    ) -> Self {
        Self { processor, cache, key, state: Mutex::default(), changed: Condvar::new() }
    }

    /// Adds a unit, and the functions it calls. A unit in the cache isn't compiled.
    pub(super) fn add(&self, unit: Unit<'t>) {
        if let Unit::Function(symbol) = &unit
            && !self.lock().functions.insert(symbol.clone())
        {
            return;
        }
        let kept = self.cache.and_then(|cache| cache.read(&self.key_of(&unit)?));
        let calls = kept.as_ref().map(|entry| entry.calls.clone());
        let mut state = self.lock();
        match kept {
            Some(entry) => state.done.push((unit, Ok(entry))),
            None => state.waiting.push_back(unit),
        }
        drop(state);
        self.changed.notify_one();
        calls.into_iter().flatten().for_each(|symbol| self.add(Unit::Function(symbol)));
    }

    /// Compiles all waiting units. Returns the entries of kernels, in their order, then those of functions.
    pub(super) fn finish(self) -> Result<Vec<Entry>, String> {
        let waiting = self.lock().waiting.len();
        // A single kernel may call functions, which another thread compiles meanwhile.
        let calls = |unit: &Unit<'_>| matches!(unit, Unit::Kernel(_, text) if text.contains("math."));
        let most = if self.lock().waiting.iter().any(calls) { waiting + 1 } else { waiting };
        let threads = crate::rates::cores().min(most);
        if waiting > 0 {
            let worker = || {
                workbench::with(self.processor, |workbench| {
                    self.work(workbench);
                    Ok(())
                })
            };
            thread::scope(|scope| {
                // If the system can't start a thread, fewer threads compile.
                let start = |_| thread::Builder::new().spawn_scoped(scope, worker).ok();
                let others: Vec<_> = (1..threads).filter_map(start).collect();
                let mine = worker();
                let join = |other: thread::ScopedJoinHandle<'_, _>| {
                    other.join().unwrap_or_else(|_| Err("the compiler of kernels panicked".to_owned()))
                };
                others.into_iter().map(join).fold(mine, Result::and)
            })?;
            self.cache.inspect(|cache| cache.trim());
        }
        let mut done = self.state.into_inner().unwrap_or_else(PoisonError::into_inner).done;
        done.sort_unstable_by(|a, b| a.0.cmp(&b.0));
        done.into_iter().map(|(_, entry)| entry).collect()
    }

    fn work(&self, workbench: &mut Workbench<'_>) {
        while let Some(taken) = self.take() {
            let entry = self.compile(workbench, &taken.unit);
            if let (Ok(entry), Some(cache), Some(key)) = (&entry, self.cache, self.key_of(&taken.unit)) {
                cache.write(&key, entry);
            }
            self.lock().done.push((taken.unit.clone(), entry));
        }
    }

    /// Waits for the next unit and returns it; `None` if there won't be any.
    fn take(&self) -> Option<Taken<'_, 't>> {
        let mut state = self.lock();
        loop {
            if let Some(unit) = state.waiting.pop_front() {
                state.busy += 1;
                return Some(Taken { queue: self, unit });
            }
            if state.busy == 0 {
                return None;
            }
            state = self.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
    }

    fn compile(&self, workbench: &mut Workbench<'_>, unit: &Unit<'t>) -> Result<Entry, String> {
        let text = match unit {
            Unit::Kernel(_, text) => text,
            Unit::Function(symbol) => {
                let ir = workbench.function(symbol)?;
                let object = workbench.emit(ir, FileType::Object)?;
                return Ok(Entry { name: symbol.clone(), operands: 0, scalars: 0, calls: Vec::new(), object });
            }
        };
        let read = workbench.read(text)?;
        let [signature] = &read.signatures[..] else {
            return Err(format!("expected a text with one kernel, found {}", read.signatures.len()));
        };
        let (operands, scalars) = (signature.count(Parameter::Pointer), signature.count(Parameter::Scalar));
        let (name, calls) = (signature.name.clone(), read.calls.clone());
        calls.iter().for_each(|symbol| self.add(Unit::Function(symbol.clone())));
        let ir = workbench.kernels(read)?;
        let object = workbench.emit(ir, FileType::Object)?;
        Ok(Entry { name, operands, scalars, calls, object })
    }

    /// Returns the cache key of a unit. A function's key is that of its text, which describes how it is computed.
    fn key_of(&self, unit: &Unit<'_>) -> Option<String> {
        match unit {
            Unit::Kernel(_, text) => Some((self.key)(text)),
            Unit::Function(symbol) => math::definition(symbol).map(|text| (self.key)(&text)),
        }
    }

    fn lock(&self) -> MutexGuard<'_, State<'t>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
