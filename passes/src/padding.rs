//! Determines which ops read the padding at the end of a shard whose dimension doesn't divide.
//!
//! An op that passes a dimension through computes padding from padding, which is harmless. A reduction would include
//! padding in its result, so it must hold the reduction's identity.

use dialect::kernel::Kernel;

/// Returns whether an op of this kernel that reduces over dimension `dim` of operand `operand` reads the operand to the
/// end of a device's shard. Loops over the dimension do; computed positions, such as an embedding's indices, stay
/// inside the tensor.
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
