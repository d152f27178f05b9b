#include "proto/support/cell_key.h"

namespace kbench {

v1::CellKey CellOf(const v1::Result& result) {
  v1::CellKey cell;
  cell.set_kernel(result.case_().kernel());
  cell.set_implementation(result.implementation());
  cell.set_dtype(result.case_().dtype());
  cell.set_shape(result.case_().shape());
  cell.set_mode(result.case_().mode().empty() ? "cold" : result.case_().mode());
  cell.set_device(result.device());
  return cell;
}

}  // namespace kbench
