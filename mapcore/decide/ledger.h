// SPDX-License-Identifier: Apache-2.0
// Adds up what remapping has cost and saved so far, against a step that keeps the mapping of its
// start. Thread safety: a value, one thread.
#pragma once

namespace ondeloc {

// Prevents the loop from paying again and again for phases that end before their migrations have
// paid off (the argument of ski rental: A. R. Karlin et al., Algorithmica 3, 1988). The ledger adds
// up the predicted seconds of the mappings in force, migrations included, and those of the mapping
// at the start. The first remap is on credit. A further remap that would raise the first sum more
// than 1 % above the second has to gain against the start mapping, not only against the present
// one.
class Ledger {
 public:
  void add(double cost_now, double cost_start);
  void add_migration(double seconds);
  // The next remap is on credit again.
  void renew_credit() { credit_ = -1; }
  // Predicted seconds lost (> 0) or saved (< 0) against the mapping at the start.
  double balance() const { return own_ - start_; }
  // The cost that a new mapping is judged by, on traffic that costs `cost_start` under the mapping
  // at the start: `cost_new`, but not less than `cost_start` while earlier migrations are unpaid.
  double cost_to_count(double cost_new, double cost_start, double migration) const;
  // True if more was lost than the migration back to the start would cost.
  bool should_go_back(double migration) const;

 private:
  double own_ = 0, start_ = 0;
  double credit_ = -1;  // the first migration; negative before the first migration
};

}  // namespace ondeloc
