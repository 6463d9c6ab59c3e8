! SPDX-License-Identifier: Apache-2.0
! mpif.h: blocking, non-blocking and persistent sends of Fortran's own datatypes, on the world and on a split of it.
program fortran_mpif
  use counts
  use iso_c_binding
  implicit none
  include 'mpif.h'
  integer :: rank, ranks, ierr, t, round, part, requests(2), part_rank, part_size
  integer :: statuses(MPI_STATUS_SIZE, 2)
  double precision :: dout(1000), din(1000)
  integer :: iout(1000), iin(1000)
  complex :: cout(10), cin(10)

  call MPI_Init(ierr)
  call MPI_Comm_rank(MPI_COMM_WORLD, rank, ierr)
  call MPI_Comm_size(MPI_COMM_WORLD, ranks, ierr)
  call counts_begin(rank, ranks)
  dout = 1; iout = 2; cout = (1.0, 2.0)
  do round = 1, 20
    do t = 1, ranks - 1
      call exchange(MPI_COMM_WORLD, mod(rank + t, ranks), mod(rank + ranks - t, ranks), mod(rank + t, ranks))
    end do
    ! Both halves keep the order of the world: member m of my half is world rank 2 m + parity.
    call MPI_Comm_split(MPI_COMM_WORLD, mod(rank, 2), rank, part, ierr)
    call MPI_Comm_rank(part, part_rank, ierr)
    call MPI_Comm_size(part, part_size, ierr)
    do t = 1, part_size - 1
      call exchange(part, mod(part_rank + t, part_size), mod(part_rank + part_size - t, part_size), &
                    2 * mod(part_rank + t, part_size) + mod(rank, 2))
    end do
    call MPI_Comm_free(part, ierr)
  end do
  call counts_end()
  call MPI_Finalize(ierr)

contains

  subroutine exchange(comm, to, from, world_to)
    integer, intent(in) :: comm, to, from, world_to
    integer :: i
    if (counts_dry() /= 0) return
    call MPI_Irecv(din, 1000, MPI_DOUBLE_PRECISION, from, 1, comm, requests(1), ierr)
    call MPI_Send(dout, 1000, MPI_DOUBLE_PRECISION, to, 1, comm, ierr)
    call MPI_Wait(requests(1), statuses(:, 1), ierr)
    call counts_add(world_to, 8000_c_long_long)
    call MPI_Irecv(iin, 17, MPI_INTEGER, from, 2, comm, requests(1), ierr)
    call MPI_Isend(iout, 17, MPI_INTEGER, to, 2, comm, requests(2), ierr)
    call MPI_Waitall(2, requests, statuses, ierr)
    call counts_add(world_to, 68_c_long_long)
    call MPI_Sendrecv(cout, 10, MPI_COMPLEX, to, 3, cin, 10, MPI_COMPLEX, from, 3, comm, statuses(:, 1), ierr)
    call counts_add(world_to, 80_c_long_long)
    if (counts_persistent() == 0) return
    call MPI_Recv_init(iin, 5, MPI_INTEGER, from, 4, comm, requests(1), ierr)
    call MPI_Send_init(iout, 5, MPI_INTEGER, to, 4, comm, requests(2), ierr)
    do i = 1, 4
      if (mod(i, 2) == 0) then
        call MPI_Startall(2, requests, ierr)
      else
        call MPI_Start(requests(1), ierr)
        call MPI_Start(requests(2), ierr)
      end if
      call MPI_Waitall(2, requests, statuses, ierr)
      call counts_add(world_to, 20_c_long_long)
    end do
    call MPI_Request_free(requests(1), ierr)
    call MPI_Request_free(requests(2), ierr)
  end subroutine
end program
