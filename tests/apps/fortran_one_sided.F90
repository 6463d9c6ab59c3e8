! SPDX-License-Identifier: Apache-2.0
! One-sided communication by mpi_f08 or, with ONE_SIDED_MPIF, by mpif.h: windows that are made and freed again.
program fortran_one_sided
#ifndef ONE_SIDED_MPIF
  use mpi_f08
#endif
  use counts
  use iso_c_binding
  implicit none
#ifdef ONE_SIDED_MPIF
  include 'mpif.h'
  integer :: window, request
#else
  type(MPI_Win) :: window
  type(MPI_Request) :: request
#endif
  integer :: rank, ranks, ierr, round, t
  integer, asynchronous :: new(1), expected(1), found(1)
  integer(MPI_ADDRESS_KIND) :: at, bytes
  double precision, asynchronous :: own(64), got(64), memory(64)

  call MPI_Init(ierr)
  call MPI_Comm_rank(MPI_COMM_WORLD, rank, ierr)
  call MPI_Comm_size(MPI_COMM_WORLD, ranks, ierr)
  call counts_begin(rank, ranks)
  own = 1; memory = 0; new = 1; expected = 0
  bytes = 512
  do round = 1, 3
    call MPI_Win_create(memory, bytes, 8, MPI_INFO_NULL, MPI_COMM_WORLD, window, ierr)
    call MPI_Win_fence(0, window, ierr)
    do t = 0, ranks - 1
      if (counts_dry() == 0) call transfer_to(t)
    end do
    call MPI_Win_fence(0, window, ierr)
    call MPI_Win_lock_all(0, window, ierr)
    do t = 0, ranks - 1
      if (counts_dry() == 0) call update(t)
    end do
    call MPI_Win_unlock_all(window, ierr)
    call MPI_Win_free(window, ierr)
  end do
  call counts_end()
  call MPI_Finalize(ierr)

contains

  subroutine transfer_to(target)
    integer, intent(in) :: target
    at = 0
    call MPI_Put(own, 2 + round, MPI_DOUBLE_PRECISION, target, at, 2 + round, MPI_DOUBLE_PRECISION, window, ierr)
    call counts_add(target, int(8 * (2 + round), c_long_long))
    at = 16
    call MPI_Get(got, 5, MPI_DOUBLE_PRECISION, target, at, 5, MPI_DOUBLE_PRECISION, window, ierr)
    call counts_add_from(target, 40_c_long_long)
    at = 32
    call MPI_Accumulate(own, 2, MPI_DOUBLE_PRECISION, target, at, 2, MPI_DOUBLE_PRECISION, MPI_SUM, window, ierr)
    call counts_add(target, 16_c_long_long)
  end subroutine

  ! Inside MPI_Win_lock_all.
  subroutine update(target)
    integer, intent(in) :: target
    at = 40
    call MPI_Fetch_and_op(own, got, MPI_DOUBLE_PRECISION, target, at, MPI_SUM, window, ierr)
    call counts_add(target, 8_c_long_long)
    call counts_add_from(target, 8_c_long_long)
    call MPI_Get_accumulate(own, 3, MPI_DOUBLE_PRECISION, got, 3, MPI_DOUBLE_PRECISION, target, at, 3, &
                            MPI_DOUBLE_PRECISION, MPI_SUM, window, ierr)
    call counts_add(target, 24_c_long_long)
    call counts_add_from(target, 24_c_long_long)
    at = 56
    call MPI_Compare_and_swap(new, expected, found, MPI_INTEGER, target, at, window, ierr)
    call counts_add(target, 8_c_long_long)
    call counts_add_from(target, 4_c_long_long)
    at = 48
    call MPI_Rput(own, 1, MPI_DOUBLE_PRECISION, target, at, 1, MPI_DOUBLE_PRECISION, window, request, ierr)
    call counts_add(target, 8_c_long_long)
    call MPI_Wait(request, MPI_STATUS_IGNORE, ierr)
  end subroutine
end program
