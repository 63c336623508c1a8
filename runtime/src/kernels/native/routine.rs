//! Scalar computations of an op's region, as machine code that native code calls.

#![allow(unsafe_code, reason = "machine code takes addresses of elements")]

use dialect::buffers::{has_code, operation_has_code};
use dialect::ir::ElementType;
use dialect::kernel::{Arg, Body, Inst};
use dialect::scalar::{Scalar, ScalarOp};
use smallvec::SmallVec;

use crate::jit::KernelFn;

/// The number of elements that a call of a [`Routine`] computes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Times {
    /// One element.
    One,
    /// As many neighboring elements as the caller passes, at most [`MOST`].
    Many,
}

/// The maximum number of elements that a routine computes in one call.
pub(crate) const MOST: usize = 1 << 30;

/// A body without index expressions that native code calls. It is machine code after [`Routine::link`] was called.
/// Before that, and for types without machine code, it is evaluated.
pub(crate) struct Routine {
    body: Body,
    times: Times,
    /// For each input, whether the results depend on it.
    reads: Vec<bool>,
    code: Option<KernelFn>,
}

/// Addresses of elements: inputs, accumulators, then results. More than 8 are rare.
pub(crate) type Places = SmallVec<[*mut u8; 8]>;

impl Routine {
    pub(crate) fn new(body: Body, times: Times) -> Self {
        Self { reads: reads(&body), body, times, code: None }
    }

    pub(crate) fn body(&self) -> &Body {
        &self.body
    }

    pub(crate) fn times(&self) -> Times {
        self.times
    }

    /// Returns whether there is machine code for all of its operations and types.
    pub(crate) fn compiles(&self) -> bool {
        let body = &self.body;
        let inst = |inst: &Inst| match inst {
            Inst::Op { op, args, ty } => {
                let from = match (op, args.first()) {
                    (ScalarOp::Select, _) | (_, None) => *ty,
                    (_, Some(&a)) => body.arg_type(a),
                };
                operation_has_code(*op, from, *ty)
            }
            Inst::Const(_, ty) => has_code(*ty),
            Inst::Index(..) => false,
        };
        body.insts.iter().all(inst) && body.inputs.iter().chain(&body.accumulators).all(|&ty| has_code(ty))
    }

    /// Stores the machine code of its body, which takes a range of elements for [`Times::Many`].
    pub(crate) fn link(&mut self, code: KernelFn) {
        self.code = Some(code);
    }

    /// Computes `count` neighboring elements.
    ///
    /// # Safety
    ///
    /// `places` must have an address for each input, accumulator and result of the body, valid for `count` aligned
    /// elements of its type (`count` is 1 for [`Times::One`]). Addresses of inputs that the body doesn't read may be
    /// invalid. The results must not overlap other elements, and no other thread may access them.
    #[inline]
    pub(crate) unsafe fn call(&self, places: &[*mut u8], count: usize) {
        debug_assert!(count <= if self.times == Times::One { 1 } else { MOST });
        match (&self.code, self.times) {
            // SAFETY: `link` was given the code of this body, and the addresses are valid by this function's contract.
            (Some(code), Times::One) => unsafe { code.call(places, &[]) },
            // SAFETY: `link` was given the code of this body for a range, and the addresses are valid for `count`
            // elements by this function's contract.
            (Some(code), Times::Many) => unsafe { code.call(places, &[0, count as i64]) },
            // SAFETY: `evaluate` has the contract of this function.
            (None, _) => unsafe { self.evaluate(places, count) },
        }
    }

    /// Does the same as [`Routine::call`], by evaluating the body.
    ///
    /// # Safety
    ///
    /// The same as for [`Routine::call`].
    unsafe fn evaluate(&self, places: &[*mut u8], count: usize) {
        let body = &self.body;
        let read = |ty: ElementType, at: *mut u8, i: usize| {
            let n = ty.bytes();
            // SAFETY: `i < count`, so the element is valid by this function's contract.
            Scalar::decode(ty, unsafe { std::slice::from_raw_parts(at.add(i * n), n) })
        };
        let (inputs, rest) = places.split_at(body.inputs.len());
        let (accumulators, results) = rest.split_at(body.accumulators.len());
        let mut bytes = Vec::with_capacity(16);
        for i in 0..count {
            let input = |(o, &ty): (usize, &ElementType)| match self.reads[o] {
                true => read(ty, inputs[o], i),
                false => Scalar::zero(ty),
            };
            let accumulator = |(&ty, &at): (&ElementType, &*mut u8)| read(ty, at, i);
            let given: Vec<Scalar> = body.inputs.iter().enumerate().map(input).collect();
            let before: Vec<Scalar> = body.accumulators.iter().zip(accumulators).map(accumulator).collect();
            let values = body.eval(&given, &before);
            for ((&arg, value), &to) in body.results.iter().zip(values).zip(results) {
                let ty = body.arg_type(arg);
                bytes.clear();
                value.encode(ty, &mut bytes);
                // SAFETY: `i < count`, so the element is valid by this function's contract.
                unsafe { std::ptr::copy_nonoverlapping(bytes.as_ptr(), to.add(i * ty.bytes()), bytes.len()) };
            }
        }
    }

    /// Returns, for each input, whether the results depend on it.
    pub(crate) fn reads(&self) -> &[bool] {
        &self.reads
    }
}

fn reads(body: &Body) -> Vec<bool> {
    let mut insts = vec![false; body.insts.len()];
    let mut inputs = vec![false; body.inputs.len()];
    let mut mark = |arg: Arg, insts: &mut [bool]| match arg {
        Arg::Input(i) => inputs[i] = true,
        Arg::Inst(i) => insts[i] = true,
        Arg::Accumulator(_) => {}
    };
    body.results.iter().for_each(|&r| mark(r, &mut insts));
    for i in (0..insts.len()).rev() {
        if let (true, Inst::Op { args, .. }) = (insts[i], &body.insts[i]) {
            args.iter().for_each(|&a| mark(a, &mut insts));
        }
    }
    inputs
}

/// Returns the address of elements that are only read, as one of [`Places`].
pub(crate) fn read<T>(from: &[T]) -> *mut u8 {
    from.as_ptr().cast_mut().cast()
}

/// Returns the address of elements that are written.
pub(crate) fn write<T>(to: &mut [T]) -> *mut u8 {
    to.as_mut_ptr().cast()
}
