// The options that say what is measured and how: shared by the verbs that submit. Owned by the
// verb; used from one thread.
#pragma once

#include <string>

#include "client/arguments.h"
#include "client/submission.h"

namespace kbench::client {

class MeasureOptions {
 public:
  void Declare(Arguments& arguments);
  // The request; kernels, dtypes and sizes are the verb's to fill in.
  absl::StatusOr<kbench::v1::JobSpec> Spec() const;

  // How long a submit that is told to come later is tried again (client/patience.h).
  absl::StatusOr<double> PatienceSeconds() const;

  // The first option given that says what or how to measure ("--mode"); empty when none was. Not
  // --margin, which also judges what is stored.
  std::string FirstGiven() const;

  Submission what;

 private:
  bool quick_ = false;
  bool precise_ = false;
  std::string wait_for_queue_;
};

// Declares --fail-on.
void DeclareFailOn(Arguments& arguments, std::string* fail_on);

}  // namespace kbench::client
