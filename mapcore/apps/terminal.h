// SPDX-License-Identifier: Apache-2.0
// Lines on a terminal that can be scrolled; a long one takes several rows. This file alone uses
// ncurses. The terminal is given back as it was, also after Ctrl-C. Ownership: owns the screen; one
// at a time. Thread safety: for one thread.
#pragma once

#include <string>
#include <vector>

#include "mapcore/base/result.h"

namespace ondeloc::cli {

class Terminal {
 public:
  // Error: the terminal's kind (TERM) is not known.
  static Result<Terminal> open();
  Terminal(Terminal&& other) noexcept;
  Terminal& operator=(Terminal&&) = delete;
  ~Terminal();

  // The last line of the screen shows `help`.
  void show(std::vector<std::string> lines, const std::string& help);
  // Scrolls and follows changes of the size for that time. True if the user wants to end.
  bool wait_for_end(double seconds);

 private:
  explicit Terminal(void* screen) : screen_(screen) {}
  void draw(const std::vector<std::string>& rows) const;
  void scroll(int by);  // rows

  void* screen_ = nullptr;  // ncurses' SCREEN
  std::vector<std::string> lines_;
  std::string help_;
  int first_ = 0;  // row at the top
};

}  // namespace ondeloc::cli
