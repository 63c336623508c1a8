//! Which ops read the padding at the end of a shard whose dimension doesn't divide.
//!
//! An op that passes a dimension through computes padding from padding, which is harmless. A reduction would include it
//! in its result: there padding must hold the reduction's identity.

use dialect::kernel::Kernel;

/// Whether an op of this kernel that reduces over dimension `dim` of operand `operand` reads it to the end of a device's shard. Loops
/// over it do; computed positions, such as an embedding's indices, stay inside the tensor.
pub(crate) fn reads_padding(kernel: &Kernel, operand: usize, dim: usize) -> bool {
    match kernel {
        Kernel::Nest(nest) => {
            let mut reads = nest.inputs.iter().filter(|input| input.operand == operand);
            reads.any(|input| {
                let mut reduced = false;
                input.index[dim].loops(&mut |i| reduced |= i >= nest.parallel);
                reduced
            })
        }
        _ => true,
    }
}
