// The two distributions that intervals and tests need. Pure; thread-safe.
#pragma once

namespace kbench::stats {

// The z with P(Z <= z) = p of a standard normal; p in (0, 1). NormalQuantile(0.975) = 1.95996.
double NormalQuantile(double p);

// P(|T| >= |t|) of Student's t with `degrees` of freedom (a real number above 0).
double StudentTwoSided(double t, double degrees);

}  // namespace kbench::stats
