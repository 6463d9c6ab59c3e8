// SPDX-License-Identifier: Apache-2.0
// Whether a program went on faster or more slowly after ranks had moved. The cost model predicts a
// gain; the bytes that the ranks send in a second show it, because a program with the same pattern
// sends as much in each of its own steps.
//
// The pace of an interval is its bytes over its seconds. The trial compares the mean pace of the
// intervals before the moves with that of the intervals after them, within one phase. Each interval
// counts by its length, because a short one tells less: the variance of a pace is taken to be
// inversely proportional to the length. The first interval of a phase and the first one after moves
// do not count: the one has the end of another phase, the other the moves themselves. Nor does an
// interval in which the mapper took clearly more CPU time than usual, for a search or a report:
// where ranks use all CPUs, it took that time from them. The program is slower if the mean has
// fallen by more than 1 % and Student's test of the two weighted samples says so: at each look the
// chance is 0.5 % if the moves changed nothing, and the error costs no more than the way back. By
// the same test the moves fall short if the mean is below the pace that half of their promise would
// give. The use of the test for a mapping is not published elsewhere.
//
// A trial lasts for twelve intervals. Each further twelve intervals are compared with the pace
// before the moves too, until the phase ends or ranks move, because the kernel may move memory that
// was left behind to a worse node later. They only tell if the moves fall short. Nobody moves back
// for a loss in them: programs become slower by themselves in hours. From the end of the trial on
// the moves also fall short unless the program is faster than before them by Student's test,
// because the pace of an uneven program may hide a loss.
// Thread safety: a value, one thread.
#pragma once

#include <limits>
#include <optional>

namespace ondeloc {

class Trial {
 public:
  // An interval with traffic under the mapping in force.
  struct Look {
    double bytes = 0, seconds = 0;
    bool is_new_phase = false;
    double own = 0;  // CPU seconds that the mapper took
  };
  void add(const Look& look);
  // To be called if ranks moved. `promised`: the predicted gain as a share of the time.
  void moved(double promised);
  // To be called if the memory of the moved ranks was brought to them. A trial of the moves that is
  // on begins again.
  void brought();
  // To be called if ranks moved back to where they were before the trial, because it failed. If
  // they had left memory behind, their promise is not broken: it was one of moves with memory.
  void moved_back(bool had_left_memory = false);
  // To be called if the mapping changed for another reason: no comparison is possible.
  void forget();

  // The share of the time that the program lost since the moves: 0.03 if it needs 3 % more now.
  // Empty if it is not slower, or if this is not known.
  std::optional<double> loss() const;
  // The share of the present time that the program would save if the promise were kept: 0.102 if
  // moves that promised 12 % saved 2 %. Empty if they saved at least half of the promise; during
  // the trial also if this is not known. After the trial it is that of the last twelve intervals
  // that were compared. Once the pace of a new phase is known, or at once if nothing has judged
  // these moves, it is the promise, because each pattern may need the memory.
  std::optional<double> shortfall() const;
  // True if shortfall() is that promise.
  bool is_shortfall_assumed() const { return !is_on() && is_assumed_; }
  // True if the phase of the last moves ended before they could be judged.
  bool is_unjudged() const { return is_unjudged_; }
  // True from moves until the end of their trial: twelve intervals, or a new phase.
  bool is_on() const { return before_.looks > 0 && !is_over_; }
  // True if the next interval with traffic holds the moves and does not count.
  bool skips() const { return skips_; }
  bool has_passed() const { return has_passed_; }
  // True if once a phase ended before the moves in it could be judged.
  bool had_no_result() const { return had_no_result_; }
  // True during the first six intervals with traffic.
  bool is_early() const { return taken_in_ <= 6; }
  // True if moves that come now can be judged: two intervals of the phase counted.
  bool knows_pace() const;
  // The largest promise that was not kept, a share of the time.
  double broken_promise() const { return broken_; }

 private:
  struct Pace {
    int looks = 0;
    double seconds = 0, bytes = 0, squares = 0;  // squares: seconds x pace^2
    void add(double bytes_sent, double in_seconds);
    double mean() const { return bytes / seconds; }
    double deviation() const;  // sum of seconds x squared difference to the mean
  };

  void end_phase();
  double promise() const;  // share of the time
  // If half of the promise is kept, a share of the pace before the moves.
  double pace_of_half() const;
  // The part of the promise that is not seen, a share of the present time; < 0: more is seen.
  double unseen() const;
  // Paces that differ by more are different by Student's test.
  double doubt() const;
  bool is_below(double share) const;  // of the pace before the moves, by that test
  std::optional<double> missed() const;
  std::optional<double> not_shown() const;

  Pace before_;  // in the phase before the moves; empty if nothing is compared with it
  Pace now_;     // since the phase began or ranks moved
  Pace latest_;  // the part of now_ that is compared: at most twelve intervals
  double promised_ = 0, broken_ = 0;
  std::optional<double> missed_;  // the shortfall, while no trial is on
  double least_own_ = std::numeric_limits<double>::infinity();  // of all looks, seconds
  int taken_in_ = 0;
  bool skips_ = false;
  bool is_over_ = false;  // the trial of the last moves; before_ is watched further
  bool has_passed_ = false, had_no_result_ = false;
  bool is_assumed_ = false;   // missed_, because a phase ended
  bool is_unjudged_ = false;  // the last moves
};

}  // namespace ondeloc
