! SPDX-License-Identifier: Apache-2.0
! mpi_f08: sends, a derived type and persistent requests.
program fortran_f08
  use mpi_f08
  use counts
  use iso_c_binding
  implicit none
  integer :: rank, ranks, t, to, from, i, round
  type(MPI_Request) :: requests(2)
  type(MPI_Datatype) :: row
  double precision :: matrix(20, 20), column(20)

  call MPI_Init()
  call MPI_Comm_rank(MPI_COMM_WORLD, rank)
  call MPI_Comm_size(MPI_COMM_WORLD, ranks)
  call counts_begin(rank, ranks)
  matrix = rank
  do round = 1, 20
    call MPI_Type_vector(round, 1, 20, MPI_DOUBLE_PRECISION, row)
    call MPI_Type_commit(row)
    do t = 1, ranks - 1
      to = mod(rank + t, ranks)
      from = mod(rank + ranks - t, ranks)
      call MPI_Irecv(column, 20, MPI_DOUBLE_PRECISION, from, 1, MPI_COMM_WORLD, requests(1))
      call MPI_Isend(matrix, 1, row, to, 1, MPI_COMM_WORLD, requests(2))
      call MPI_Waitall(2, requests, MPI_STATUSES_IGNORE)
      call counts_add(to, int(8 * round, c_long_long))
      if (counts_persistent() == 0) cycle
      call MPI_Recv_init(column, 20, MPI_DOUBLE_PRECISION, from, 2, MPI_COMM_WORLD, requests(1))
      call MPI_Ssend_init(matrix, 20, MPI_DOUBLE_PRECISION, to, 2, MPI_COMM_WORLD, requests(2))
      do i = 1, 3
        call MPI_Startall(2, requests)
        call MPI_Waitall(2, requests, MPI_STATUSES_IGNORE)
        call counts_add(to, 160_c_long_long)
      end do
      call MPI_Request_free(requests(1))
      call MPI_Request_free(requests(2))
    end do
    call MPI_Type_free(row)
  end do
  call counts_end()
  call MPI_Finalize()
end program
