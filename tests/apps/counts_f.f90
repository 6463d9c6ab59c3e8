! SPDX-License-Identifier: Apache-2.0
! counts.h for Fortran.
module counts
  use iso_c_binding
  implicit none
  interface
    subroutine counts_begin(world_rank, world_size) bind(C)
      import :: c_int
      integer(c_int), value :: world_rank, world_size
    end subroutine
    subroutine counts_add(world_destination, bytes) bind(C)
      import :: c_int, c_long_long
      integer(c_int), value :: world_destination
      integer(c_long_long), value :: bytes
    end subroutine
    subroutine counts_add_from(world_source, bytes) bind(C)
      import :: c_int, c_long_long
      integer(c_int), value :: world_source
      integer(c_long_long), value :: bytes
    end subroutine
    subroutine counts_end() bind(C)
    end subroutine
    function counts_dry() bind(C) result(dry)
      import :: c_int
      integer(c_int) :: dry
    end function
    function counts_persistent() bind(C) result(persistent)
      import :: c_int
      integer(c_int) :: persistent
    end function
  end interface
end module
