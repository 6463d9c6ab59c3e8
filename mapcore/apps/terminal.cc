// SPDX-License-Identifier: Apache-2.0
#include "mapcore/apps/terminal.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <clocale>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <string_view>
#include <utility>

// The macros of ncurses have names such as "timeout" and "move": only functions are used.
#define NCURSES_NOMACROS 1
#include <curses.h>

namespace ondeloc::cli {
namespace {

volatile std::sig_atomic_t end_was_asked = 0;

void ask_end(int) { end_was_asked = 1; }

// The bytes of a first row of at most `width` characters: up to a blank, if there is one.
std::size_t length_of_row(std::string_view line, std::size_t width) {
  std::size_t length = 0, blank = 0;
  for (std::size_t shown = 0; length < line.size(); ++length) {
    const bool begins = (static_cast<unsigned char>(line[length]) & 0xc0U) != 0x80U;
    if (begins && ++shown > width) return blank > 0 ? blank : length;
    if (length > 0 && line[length] == ' ') blank = length;
  }
  return length;
}

// Lines that are too long go on in the next row: nothing scrolls sideways.
std::vector<std::string> rows_of(const std::vector<std::string>& lines, std::size_t width) {
  std::vector<std::string> rows;
  for (std::string_view line : lines) {
    do {
      const std::size_t length = std::max<std::size_t>(1, length_of_row(line, width));
      rows.emplace_back(line.substr(0, length));
      line.remove_prefix(std::min(length, line.size()));
    } while (line.find_first_not_of(' ') != line.npos);
  }
  return rows;
}

}  // namespace

Result<Terminal> Terminal::open() {
  std::setlocale(LC_CTYPE, "");
  SCREEN* screen = newterm(nullptr, stdout, stdin);
  if (screen == nullptr) {
    const char* kind = std::getenv("TERM");
    return Error(
        fmt::format("top: the terminal's kind '{}' is not known here; set TERM, or use --once",
                    kind == nullptr ? "" : kind));
  }
  // Without SA_RESTART, so that waiting for a key ends.
  struct sigaction action {};
  action.sa_handler = ask_end;
  for (const int signal : {SIGINT, SIGTERM, SIGHUP}) sigaction(signal, &action, nullptr);
  cbreak();
  noecho();
  keypad(stdscr, true);
  curs_set(0);
  return Terminal(screen);
}

Terminal::Terminal(Terminal&& other) noexcept
    : screen_(std::exchange(other.screen_, nullptr)),
      lines_(std::move(other.lines_)),
      help_(std::move(other.help_)),
      first_(other.first_) {}

Terminal::~Terminal() {
  if (screen_ == nullptr) return;
  endwin();
  delscreen(static_cast<SCREEN*>(screen_));
}

void Terminal::show(std::vector<std::string> lines, const std::string& help) {
  lines_ = std::move(lines);
  help_ = help;
  scroll(0);  // there may be fewer lines than before
}

void Terminal::draw(const std::vector<std::string>& rows) const {
  werase(stdscr);
  const int height = getmaxy(stdscr) - 1, width = getmaxx(stdscr);
  for (int row = 0; row < height && first_ + row < static_cast<int>(rows.size()); ++row) {
    const std::string& line = rows[static_cast<std::size_t>(first_ + row)];
    if (line.starts_with("job ")) wattr_on(stdscr, A_BOLD, nullptr);
    mvwaddnstr(stdscr, row, 0, line.c_str(), -1);
    wattr_off(stdscr, A_BOLD, nullptr);
  }
  wattr_on(stdscr, A_REVERSE, nullptr);
  mvwaddnstr(stdscr, height, 0, fmt::format("{:<{}}", help_, width).c_str(), width - 1);
  wattr_off(stdscr, A_REVERSE, nullptr);
  wrefresh(stdscr);
}

void Terminal::scroll(int by) {
  const auto rows = rows_of(lines_, static_cast<std::size_t>(std::max(1, getmaxx(stdscr))));
  const int last = std::max(0, static_cast<int>(rows.size()) - (getmaxy(stdscr) - 1));
  first_ = std::clamp(first_ + by, 0, last);
  draw(rows);
}

bool Terminal::wait_for_end(double seconds) {
  using Clock = std::chrono::steady_clock;
  const auto end = Clock::now() + std::chrono::duration<double>(seconds);
  while (end_was_asked == 0 && Clock::now() < end) {
    const std::chrono::duration<double, std::milli> left = end - Clock::now();
    wtimeout(stdscr, std::clamp(static_cast<int>(left.count()), 1, 1000));
    const int page = std::max(1, getmaxy(stdscr) - 2);
    switch (wgetch(stdscr)) {
      case 'q':
      case 'Q':
        return true;
      case KEY_UP:
        scroll(-1);
        break;
      case KEY_DOWN:
        scroll(1);
        break;
      case KEY_PPAGE:
        scroll(-page);
        break;
      case KEY_NPAGE:
        scroll(page);
        break;
      case KEY_RESIZE:
        scroll(0);
        break;
      default:
        break;
    }
  }
  return end_was_asked != 0;
}

}  // namespace ondeloc::cli
