#!/bin/sh
# SPDX-License-Identifier: MIT
# hpcc.sh N: HPCC with matrices of N x N. HPCC reads hpccinf.txt in the working directory and writes hpccoutf.txt there.
set -eu
cd "$(mktemp -d)"
columns=$((SLURM_NTASKS > 1 ? SLURM_NTASKS / 2 : 1))
sed -e "s/@N@/$1/" -e "s/@P@/$((SLURM_NTASKS > 1 ? 2 : 1))/" -e "s/@Q@/$columns/" /usr/local/vm/lab/hpccinf.txt > hpccinf.txt
exec hpcc
