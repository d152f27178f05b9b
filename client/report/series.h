// Cases that differ in one extent: a kernel by size. Pure; thread-safe.
#pragma once

#include <string>
#include <vector>

#include "client/report/evidence.h"

namespace kbench::client {

struct Series {
  struct Point {
    double extent = 0;
    const MeasuredCase* of = nullptr;
  };
  std::string kernel;
  std::string dtype;
  std::string axis;           // the extent that grows: "n", "rows", "s"; "m=n=k" of square matrices
  std::string rest;           // what stays: "depth=30"; empty where nothing else is worth a word
  std::vector<Point> points;  // ascending, at least one

  // "chain fp32, depth=30, by n"
  std::string Title() const;
};

// Points into `evidence`, which has to outlive them. Kernels in the catalog's order. A case that
// belongs to no sweep is a series of one.
std::vector<Series> SeriesOf(const Evidence& evidence);

// "64Mi", "16Ki", "4096": the extent as one types it.
std::string ExtentText(double extent);
// "n=64Mi"; of square matrices "4096".
std::string SizeText(const Series& series, double extent);

}  // namespace kbench::client
