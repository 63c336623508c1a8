#!/bin/sh
# Slurm: sbatch slurm.sh model.mlir in.npz
# Four tasks, each with a quarter of the devices: of a program for 8 devices two, and a core for each.
#SBATCH --job-name=shardc
#SBATCH --ntasks=4
#SBATCH --cpus-per-task=2

# Open MPI finds the other tasks by PMIx; an MPICH by PMI2 (--mpi=pmi2). shardc says so if launcher and library don't fit.
exec srun --mpi="${SHARDC_PMI:-pmix}" --kill-on-bad-exit=1 "${SHARDC:-shardc}" run "$1" --inputs "$2" --outputs out.npz
