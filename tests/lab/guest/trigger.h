// SPDX-License-Identifier: MIT
// Tells the lab (tests/lab/plugin/trigger.h) what to do. Without the lab the instruction does
// nothing.
#pragma once
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>

enum { LAB_ON = 1, LAB_OFF, LAB_MARK, LAB_DUMP, LAB_LABEL, LAB_DISTANCE };

#define LAB_TRIGGER(command, tag) \
  __asm__ volatile(".byte 0x0f,0x1f,0x80," #tag "," #command ",0x4c,0x4e" ::: "memory")

// For a command and a tag that the compiler does not know: the instruction is made at run time.
static inline int lab_trigger(unsigned command, unsigned tag) {
  const unsigned char code[] = {0x0f, 0x1f, 0x80, (unsigned char)tag, (unsigned char)command,
                                0x4c, 0x4e, 0xc3};
  void* page =
      mmap(0, 4096, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (page == MAP_FAILED) return -1;
  memcpy(page, code, sizeof code);
  void (*call)(void);
  memcpy(&call, &page, sizeof call);
  call();
  return munmap(page, 4096);
}
